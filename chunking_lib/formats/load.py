"""One door for every file: the loader is chosen by the end of the file's name."""

from __future__ import annotations

from pathlib import Path

from chunking_lib.chunk import Document
from chunking_lib.formats.html import load_html
from chunking_lib.formats.json import load_json
from chunking_lib.formats.pdf import load_pdf
from chunking_lib.formats.source import decode, read_file

__all__ = ["load_document"]

_LOADERS = {
    ".htm": load_html,
    ".html": load_html,
    ".xhtml": load_html,
    ".json": load_json,
    ".pdf": load_pdf,
}
# Read as they are. Markup and code are part of the text, and splitters make use of them.
# fmt: off
_PLAIN = frozenset({
    ".c", ".cc", ".cpp", ".cs", ".css", ".csv", ".go", ".h", ".hpp", ".ini", ".java", ".js",
    ".jsonl", ".jsx", ".kt", ".log", ".lua", ".markdown", ".md", ".php", ".pl", ".py", ".pyi", ".r",
    ".rb", ".rs", ".rst", ".scala", ".sh", ".sql", ".swift", ".tex", ".text", ".toml", ".ts",
    ".tsv", ".tsx", ".txt", ".xml", ".yaml", ".yml",
})
# fmt: on


def load_document(path: str | Path) -> Document:
    """Load a file with the loader for the end of its name.

    1. HTML, JSON and PDF go through `load_html`, `load_json` and `load_pdf`.
    2. Text, Markdown and source code are read as UTF-8, or as UTF-16 if they have its byte order
       mark or begin with two plain letters of it. They are kept as they are, without the mark.

    The id of the document is the name of the file.

    Args:
        path: the file.
    Raises:
        ValueError: a file that cannot be read, not by any loader, or as text but has a NUL in it;
            the message names the file and the reason.
    """
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{path}: a folder, not a file")
    suffix = path.suffix.lower()
    if suffix in _LOADERS:
        return _LOADERS[suffix](path)
    if suffix not in _PLAIN:
        named = repr(suffix) if suffix else "a name without an ending"
        raise ValueError(
            f"{path}: no loader for {named}, but for HTML, JSON, PDF, and for text, "
            "Markdown and code such as .txt, .md and .py"
        )
    text = decode(read_file(path), str(path))
    if "\0" in text:
        raise ValueError(f"{path}: not a text: it has a NUL at {text.index(chr(0))}")
    return Document(text, id=path.name)
