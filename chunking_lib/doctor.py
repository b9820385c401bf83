"""Says in plain words what the course is missing on this computer, and how to mend it.

Run it with `make doctor` or `python -m chunking_lib doctor`. It needs nothing but Python
itself, so it can speak when the packages are not there.
"""

from __future__ import annotations

import hashlib
import importlib.machinery
import json
import os
import re
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Literal, NamedTuple

from chunking_lib import models

__all__ = ["Finding", "examine", "main", "shadowing"]

ROOT = Path(__file__).resolve().parent.parent
GIGABYTE = 1_000_000_000


class Finding(NamedTuple):
    """One thing looked at. A `note` may be lived with, a `problem` stops the course."""

    state: Literal["ok", "note", "problem"]
    what: str
    remedy: str = ""


def main() -> int:
    """Print every finding; return 1 if one is a problem, else 0."""
    findings = list(examine())
    for finding in findings:
        print(f"{finding.state:8} {finding.what}")
        if finding.remedy:
            print(f"{'':8} -> {finding.remedy}")
    problems = sum(finding.state == "problem" for finding in findings)
    if problems:
        word = "problem" if problems == 1 else "problems"
        print(f"\n{problems} {word} to mend: follow the arrows, then run the doctor again.")
        return 1
    print("\nReady.")
    return 0


def examine(root: Path = ROOT) -> Iterator[Finding]:
    """Look at everything the course needs, the cheap things first."""
    yield _python()
    yield from _other_python(root)
    if (root / "requirements.lock").is_file():
        yield from _packages(root)
        yield _kernel()
        yield from _data(root / "data")
        for folder in ("notebooks", "notebooks/solutions"):
            yield from _shadows(root / folder)
        yield _disk(root)
    else:
        yield Finding("note", "this is the library alone, without notebooks and data")
    yield _cache()
    yield _weights()


def shadowing(folder: Path) -> list[Path]:
    """Files in `folder` that Python would import there instead of the module they are named after.

    A notebook's kernel looks into the notebook's folder first: a file `random.py` beside it
    breaks every package that imports `random`.
    """
    elsewhere = [path for path in sys.path if Path(path).resolve() != folder.resolve()]
    found = []
    for path in sorted(folder.iterdir()):
        if not (path.suffix == ".py" or (path / "__init__.py").is_file()):
            continue
        name = path.stem
        if name in sys.stdlib_module_names or importlib.machinery.PathFinder.find_spec(
            name, elsewhere
        ):
            found.append(path)
    return found


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < (3, 11):  # noqa: UP036 - it may be started by any Python
        return Finding(
            "problem",
            f"Python {version} is too old",
            "install Python 3.11, 3.12 or 3.13, then: make clean; make lab PYTHON=python3.12",
        )
    if sys.version_info >= (3, 14):
        return Finding(
            "note",
            f"Python {version} is newer than what the course was tried with",
            "if a package fails, use Python 3.11, 3.12 or 3.13",
        )
    return Finding("ok", f"Python {version} in {sys.prefix}")


def _other_python(root: Path) -> Iterator[Finding]:
    """Say so if `make lab` made an environment and this is another."""
    environment = root / ".venv"
    if environment.is_dir() and Path(sys.prefix).resolve() != environment.resolve():
        yield Finding(
            "note",
            "this is not the Python that `make lab` set up for the course",
            "run `make doctor`, or: .venv/bin/python -m chunking_lib doctor",
        )


def _packages(root: Path) -> Iterator[Finding]:
    # make installs when the lock is newer than this stamp. A package that went missing later does
    # not change that, so the stamp has to go.
    again = "rm -f .venv/.locked; " if (root / ".venv").is_dir() else ""
    install = (
        f"run `{again}make lab`, or: "
        f"{sys.executable} -m pip install -r requirements.lock, then: "
        f"{sys.executable} -m pip install --no-deps -r requirements-nodeps.lock"
    )
    missing, different, same = [], [], 0
    for lock in ("requirements.lock", "requirements-nodeps.lock"):
        for line in (root / lock).read_text(encoding="utf-8").splitlines():
            requirement, _, marker = line.partition(";")
            name, _, wanted = requirement.strip().partition("==")
            if not wanted or not _applies(marker.strip()):
                continue
            try:
                found = metadata.version(name).partition("+")[0]  # 2.13.0+cpu is 2.13.0
            except metadata.PackageNotFoundError:
                missing.append(name)
                continue
            if found == wanted:
                same += 1
            else:
                different.append(f"{name} {found} (tested: {wanted})")
    if missing:
        are = "package is" if len(missing) == 1 else "packages are"
        yield Finding("problem", f"{len(missing)} {are} missing: {_few(missing)}", install)
    if different:
        yield Finding(
            "note",
            f"packages in another version than the tested one: {_few(different)}",
            f"if a notebook's outputs differ, {install}",
        )
    if same:
        yield Finding("ok", f"{same} packages in the tested version")
    try:
        metadata.version("chunking-lib")
    except metadata.PackageNotFoundError:
        yield Finding(
            "problem",
            "chunking_lib is not installed, so notebooks cannot import it",
            f"run `make lab`, or: {sys.executable} -m pip install --no-deps -e .",
        )


def _applies(marker: str) -> bool:
    """Whether a line of the lock with this marker is for this system and Python."""
    if not marker:
        return True
    try:
        from packaging.markers import Marker
    except ImportError:  # packaging itself is missing, and will be reported
        return False
    return Marker(marker).evaluate()


def _few(names: list[str], limit: int = 5) -> str:
    rest = len(names) - limit
    return ", ".join(names[:limit]) + (f" and {rest} more" if rest > 0 else "")


def _kernel() -> Finding:
    spec = Path(sysconfig.get_path("data")) / "share" / "jupyter" / "kernels" / "python3"
    if not (spec / "kernel.json").is_file():
        return Finding(
            "problem",
            "Jupyter has no kernel named python3 in this environment",
            f"{sys.executable} -m ipykernel install --sys-prefix",
        )
    return Finding("ok", "Jupyter kernel python3")


def _data(data: Path) -> Iterator[Finding]:
    """Compare every document with the manifest: what notebooks print depends on each letter."""
    restore = "get it again: git restore data"
    try:
        hashes = json.loads((data / "manifest.json").read_text(encoding="utf-8"))["sha256"]
    except (OSError, ValueError, KeyError):
        yield Finding("problem", f"no list of documents in {data}", restore)
        return
    missing, changed = [], []
    for name, expected in hashes.items():
        try:
            found = hashlib.sha256((data / name).read_bytes()).hexdigest()
        except OSError:
            missing.append(name)
            continue
        if found != expected:
            changed.append(name)
    if missing:
        yield Finding("problem", f"missing in {data}: {_few(missing)}", restore)
    if changed:
        yield Finding("note", f"changed in {data}: {_few(changed)}; outputs will differ", restore)
    if not missing and not changed:
        documents = sum(name.startswith("corpus/") for name in hashes)
        yield Finding("ok", f"{documents} documents and their questions, as published")


def _shadows(notebooks: Path) -> Iterator[Finding]:
    for path in shadowing(notebooks) if notebooks.is_dir() else []:
        yield Finding(
            "problem",
            f"{path} hides the module {path.stem} from the notebooks",
            "rename or move it",
        )


def _disk(root: Path) -> Finding:
    free = shutil.disk_usage(root).free / GIGABYTE
    if free < 0.5:
        return Finding("problem", f"the disk has {free:.1f} GB free", "free at least 1 GB")
    return Finding("ok", f"{free:.0f} GB of disk free")


def _cache() -> Finding:
    folder = models.cache_folder()
    if not folder.is_absolute():
        return Finding(
            "problem",
            f"CHUNKING_CACHE={folder} is relative, and notebooks run in another folder",
            f"set it to the whole path: {folder.resolve()}",
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        # A class may share one folder that only the teacher can write to.
        state: Literal["note", "problem"] = "note" if os.access(folder, os.R_OK) else "problem"
        return Finding(
            state,
            f"the weights' folder {folder} cannot be written to ({error.strerror})",
            "fine if the weights are in it; else set CHUNKING_CACHE to another folder",
        )
    return Finding("ok", f"weights are kept in {folder}")


def _weights() -> Finding:
    name = models.MINILM
    problem = models.verify(name)
    if not problem:
        return Finding("ok", f"the weights of {name} are complete, every SHA-256 is right")
    if re.search("is missing$", problem):
        if models.cache_folder().name == name:
            return Finding(
                "problem",
                problem,
                f"CHUNKING_CACHE must name the folder that holds {name}, not {name} itself",
            )
        return Finding("problem", problem, f"{sys.executable} -m chunking_lib fetch {name}")
    again = f"{sys.executable} -m chunking_lib fetch {name}"
    return Finding("problem", problem, f"delete that folder, then: {again}")
