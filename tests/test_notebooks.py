"""What every notebook promises, read from its file. nbval runs them; see the Makefile."""

import re
from pathlib import Path

import nbformat
import pytest

import chunking_lib
from chunking_lib.doctor import shadowing

NOTEBOOKS = Path(__file__).resolve().parent.parent / "notebooks"
MAX_LINES = 25

# What an output must not show: where it was made, when it was made by accident, or a secret.
FORBIDDEN = {
    "an absolute path": r"(?<![\w/:.<])/(?:home|root|Users|tmp|work|usr|opt|var|private|mnt)/",
    "a Windows path": r"\b[A-Z]:\\",
    "an address of a machine": r"\b(?:localhost|127\.0\.0\.1|0\.0\.0\.0|192\.168\.\d+\.\d+):\d+",
    "a memory address": r"\bat 0x[0-9a-f]{6,16}\b",
    "a key": r"\b(?:sk-[A-Za-z0-9_-]{16,}|hf_[A-Za-z0-9]{20,}|AKIA[0-9A-Z]{16}|ghp_\w{30,})",
}


def load(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=nbformat.NO_CONVERT)


def every_notebook(function):
    paths = sorted(NOTEBOOKS.glob("*.ipynb"))
    return pytest.mark.parametrize("path", paths, ids=lambda path: path.stem)(function)


def code_cells(path: Path) -> list[nbformat.NotebookNode]:
    return [c for c in load(path).cells if c.cell_type == "code" and c.source.strip()]


def texts(output: nbformat.NotebookNode) -> list[str]:
    """Everything in an output that a reader could read."""
    if output.output_type == "stream":
        return [output.text]
    if output.output_type == "error":
        return [output.evalue, *output.traceback]
    return [value for mime, value in output.data.items() if not mime.startswith("image/")]


def test_there_are_notebooks():
    assert list(NOTEBOOKS.glob("*.ipynb"))


@every_notebook
def test_format_is_valid_and_cells_have_ids(path):
    notebook = load(path)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) >= (4, 5)
    ids = [cell.id for cell in notebook.cells]
    assert len(ids) == len(set(ids))


@every_notebook
def test_metadata_is_the_same_on_every_machine(path):
    """`make run` writes it so; an editor may have written more."""
    metadata = load(path).metadata
    assert metadata.kernelspec.name == "python3"
    assert set(metadata) <= {"kernelspec", "language_info"}
    assert set(metadata.language_info) == {"name"}


@every_notebook
def test_cells_ran_once_from_first_to_last(path):
    counts = [cell.execution_count for cell in code_cells(path)]
    assert counts == list(range(1, len(counts) + 1)), "run `make run`"


@every_notebook
def test_outputs_are_in_the_file(path):
    """A notebook without outputs would pass nbval without comparing anything."""
    cells = code_cells(path)
    assert cells
    assert sum(bool(cell.outputs) for cell in cells) >= len(cells) / 3, "run `make run`"


@every_notebook
def test_no_error_stands_in_an_output(path):
    for cell in code_cells(path):
        if "raises-exception" not in cell.metadata.get("tags", []):
            assert all(output.output_type != "error" for output in cell.outputs), cell.source


@every_notebook
def test_nothing_is_written_to_stderr(path):
    """Warnings name files of the machine, and a reader takes them for faults."""
    for cell in code_cells(path):
        for output in cell.outputs:
            assert output.get("name") != "stderr", f"{cell.source}\n->\n{output.text}"


@every_notebook
@pytest.mark.parametrize("what", FORBIDDEN)
def test_outputs_do_not_depend_on_the_machine(path, what):
    for cell in code_cells(path):
        for text in (text for output in cell.outputs for text in texts(output)):
            found = re.search(FORBIDDEN[what], str(text))
            assert not found, f"{what}: {found and found[0]!r} in the output of\n{cell.source}"


@every_notebook
def test_cells_are_short(path):
    for cell in code_cells(path):
        lines = cell.source.count("\n") + 1
        assert lines <= MAX_LINES or "copy-this" in cell.metadata.get("tags", []), (
            f"{lines} lines:\n{cell.source}"
        )


@every_notebook
def test_it_begins_with_navigation_title_and_versions(path):
    cells = load(path).cells
    assert cells[0].cell_type == "markdown"
    assert "](../README.md" in cells[0].source, "the first cell links to the index"
    assert re.search(r"\]\(#copy-this", cells[0].source, re.IGNORECASE)
    headings = [
        line
        for cell in cells
        if cell.cell_type == "markdown"
        for line in re.sub(r"(?ms)^(```|~~~).*?^\1", "", cell.source).splitlines()
        if line.startswith("# ")
    ]
    assert len(headings) == 1, "one title, and all other headings below it"
    setup = code_cells(path)[0]
    assert "chunking_lib" in setup.source
    shown = "".join(text for output in setup.outputs for text in texts(output))
    assert chunking_lib.__version__ in shown, "the first code cell prints the library's version"
    assert shown.strip().count("\n") == 0, "in one line"


@every_notebook
def test_links_inside_the_repository_lead_somewhere(path):
    for cell in load(path).cells:
        if cell.cell_type == "markdown":
            for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", cell.source):
                if "://" not in target and not target.startswith(("mailto:", "attachment:")):
                    assert (path.parent / target).exists(), f"{target} in\n{cell.source}"


# --- case env_shadowed_module -----------------------------------------------------------


def test_env_shadowed_module():
    assert shadowing(NOTEBOOKS) == []


def test_shadowing_finds_what_hides_a_module(tmp_path):
    for name in ("random.py", "chonkie.py", "my_notes.py", "01_character.ipynb", "data.txt"):
        (tmp_path / name).touch()
    (tmp_path / "json").mkdir()
    (tmp_path / "json" / "__init__.py").touch()
    (tmp_path / "images").mkdir()
    assert [path.name for path in shadowing(tmp_path)] == ["chonkie.py", "json", "random.py"]


@pytest.mark.parametrize(
    "name",
    [
        "01_character",
        "02_recursive",
        "03_document_specific",
        "04_semantic",
        "05_agentic",
        "06_section_and_topic",
        "07_contextual",
        "08_late",
    ],
)
def test_what_is_said_of_the_scores_stands_in_their_table(name):
    cells = {cell.id: cell for cell in load(NOTEBOOKS / f"{name}.ipynb").cells}
    shown = "".join(text for output in cells["score"].outputs for text in texts(output))
    numbers = re.findall(r"[−-]?\d[\d,]*\.?\d*", cells["measured"].source)
    assert len(numbers) > 8
    for number in numbers:
        plain = number.replace("−", "-").rstrip(".,")
        assert re.search(rf"(?<![\d.,-]){re.escape(plain)}(?![\d])", shown), number
