"""One splitter for every file: chosen, as the loader is, by the end of the file's name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path, PurePath

from chunking_lib.chunk import Chunk, Document
from chunking_lib.formats.code import split_code
from chunking_lib.formats.code_grammars import SUFFIXES
from chunking_lib.formats.html_split import split_html
from chunking_lib.formats.json_split import split_json
from chunking_lib.formats.load import load_document
from chunking_lib.formats.markdown import split_markdown
from chunking_lib.formats.pdf_split import split_pdf
from chunking_lib.length import Length
from chunking_lib.recursive import split_recursive

__all__ = ["split_document"]

_SPLITTERS: dict[str, Callable[..., list[Chunk]]] = {
    ".htm": split_html,
    ".html": split_html,
    ".json": split_json,
    ".markdown": split_markdown,
    ".md": split_markdown,
    ".pdf": split_pdf,
    ".xhtml": split_html,
    **dict.fromkeys(SUFFIXES, split_code),
}


def split_document(
    source: Document | Path, *, size: int = 1000, length: Length = len
) -> list[Chunk]:
    r"""Split a document with the splitter for its kind, which the end of its id tells.

    1. Markdown, HTML, PDF, JSON and the languages of `split_code` have a splitter of their own.
    2. Everything else is plain text, for `split_recursive`.

    There is no overlap: a splitter that cuts where a document has its seams does not need it.

    Args:
        source: a document of `load_document`; or a file, which is then loaded. Offsets refer to the
            text of the document.
        size: the most a chunk may measure, without its context, in units of `length`, 1 or more.
        length: measures a text; see `split_recursive`.
    Raises:
        ValueError: an argument outside these bounds, a source that is neither, or a file that
            cannot be read.
        RuntimeError: a package for this kind of document that is not installed.

    >>> page = Document("# Fares\n\nA single is 2.40.\n", id="fares.md")
    >>> split_document(page)[0].metadata["path"]
    ['Fares']
    >>> note = Document("# no heading in a plain text", id="note.txt")
    >>> split_document(note)[0].metadata
    {}
    """
    if not isinstance(source, Document | Path):
        raise ValueError(
            f"source={source!r} must be a Document, with an id that tells its kind, or a Path"
        )
    document = load_document(source) if isinstance(source, Path) else source
    splitter = _SPLITTERS.get(PurePath(document.id).suffix.lower(), split_recursive)
    return splitter(document, size=size, length=length)
