"""What the tests of each notebook's exercises, recipes and prose share."""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parent.parent

# In front of a recipe: connections to this computer alone, as to a server it starts.
OFFLINE = """
import socket
connect = socket.socket.connect
def refuse(self, address, *rest):
    if address[0] not in ("127.0.0.1", "::1"):
        raise OSError(f"a recipe opened a connection to {address}")
    return connect(self, address, *rest)
socket.socket.connect = refuse
"""


@cache
def cells(path):
    """The cells of a notebook, by id."""
    return {cell.id: cell for cell in nbformat.read(path, as_version=4).cells}


class Lesson:
    """A notebook and its solutions, by the name of the notebook's file."""

    def __init__(self, name):
        self.notebook = ROOT / "notebooks" / f"{name}.ipynb"
        self.solutions = ROOT / "notebooks" / "solutions" / f"{name}_solutions.ipynb"

    def output(self, name, path=None):
        """What a cell of the notebook shows as text."""
        outputs = cells(path or self.notebook)[name].outputs
        return "".join(o.get("text") or o.get("data", {}).get("text/plain", "") for o in outputs)

    def prose(self, name):
        """The words of a cell, on one line."""
        return " ".join(cells(self.notebook)[name].source.split())

    def check_stub(self, name, capsys):
        """A stub neither passes nor raises, and says so as in the file."""
        exec(cells(self.notebook)[name].source, {})
        shown = capsys.readouterr().out
        assert shown.startswith("Not yet")
        assert "passed" not in shown
        assert self.output(name) == shown

    def check_solution(self, name, capsys, begins="passed: 1"):
        """A solution passes, as in the file."""
        names = {}
        if "setup" in cells(self.solutions):
            exec(cells(self.solutions)["setup"].source, names)
        exec(cells(self.solutions)[name].source, names)
        shown = capsys.readouterr().out
        assert shown.startswith(begins)
        assert self.output(name, self.solutions) == shown

    def check_recipe(self, name, folder, **environment):
        """A recipe runs alone, in a process of its own, and prints what is in the file."""
        cell = cells(self.notebook)[name]
        assert "recipe" in cell.metadata.tags
        script = folder / "recipe.py"
        script.write_text(OFFLINE + cell.source, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-X", "utf8", str(script)],
            capture_output=True,
            text=True,
            cwd=folder,
            env=os.environ | environment,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout == self.output(name)

    def check_recipes(self, names, plain):
        """These are all the recipes, and the plain ones do without the library."""
        known = cells(self.notebook)
        assert [i for i, c in known.items() if "recipe" in c.metadata.get("tags", [])] == names
        for name in plain:
            assert "chunking_lib" not in known[name].source
