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
    2. Text, Markdown and source code are read as UTF-8 and kept as they are, but for a byte order
       mark at the start.

    The id of the document is the name of the file.

    Args:
        path: the file.
    Raises:
        ValueError: a file that cannot be read, or not by any loader; the message names the file and
            the reason.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix in _LOADERS:
        return _LOADERS[suffix](path)
    if suffix not in _PLAIN:
        named = repr(suffix) if suffix else "a name without an ending"
        known = ", ".join(sorted([*_LOADERS, *_PLAIN]))
        raise ValueError(f"{path}: no loader for {named}; there is one for {known}")
    return Document(decode(read_file(path), str(path)), id=path.name)
