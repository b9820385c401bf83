"""The text of a PDF, cut between its blocks, rows and items, with the pages of the chunks."""

from __future__ import annotations

from pathlib import Path

from chunking_lib.chunk import Chunk, Document
from chunking_lib.formats.find_blocks import find_blocks
from chunking_lib.formats.pdf import load_pdf
from chunking_lib.formats.split_blocks import Section, split_blocks
from chunking_lib.length import Length
from chunking_lib.spans import check_size

__all__ = ["split_pdf"]


def split_pdf(
    source: str | Path | Document, *, size: int = 1000, overlap: int = 0, length: Length = len
) -> list[Chunk]:
    r"""Split the text of a PDF between its blocks, whatever page they stand on.

    1. Paragraphs, lists and tables are merged from left to right, as many as fit. A caption, or
       another short line without an end, as headings are, stays with the block below it.
    2. A block that is too long is cut between its rows, items or lines. Only a row, item or line
       that is too long by itself is cut inside, by `split_recursive`.
    3. The page of a chunk is the one it begins on.

    Args:
        source: a document of `load_pdf`, or the file. Offsets refer to the text of the document.
        size: the most a chunk may measure, without its context, in units of `length`, 1 or more.
        overlap: the most that the parts of a text that was cut inside share, 0 to `size` - 1.
            Whole blocks, rows and items are never repeated.
        length: measures a text; see `split_recursive`.
    Returns:
        The chunks, in order. `metadata["page"]` counts from 1 and is the first page whose span in
        the document's `metadata["pages"]` the start of the chunk lies in; without such spans there
        is none. `context` has the caption and the header of a table of which the chunk is a later
        part (a header longer than `size` apart), and the heading of a text of which it is one.
    Raises:
        ValueError: an argument outside these bounds, or a file that cannot be read.
        RuntimeError: pdfplumber is not installed.

    >>> report = Document("One, on page\n\ntwo.", metadata={"pages": [(0, 12), (14, 18)]})
    >>> [(chunk.text, chunk.metadata["page"]) for chunk in split_pdf(report, size=12)]
    [('One, on page', 1), ('two.', 2)]

    Source: the merging is that of `split_recursive`; pages as spans of one text are our own.
    """
    check_size(size, overlap, length)
    document = source if isinstance(source, Document) else load_pdf(source)
    blocks = list(find_blocks(document.text))
    sections = [Section(blocks=blocks)] if blocks else []
    chunks = split_blocks(document, sections, size=size, overlap=overlap, length=length)
    pages = document.metadata.get("pages", [])
    first = 0
    for chunk in chunks:
        del chunk.metadata["path"]  # headings are plain lines: there is no path to tell
        while first < len(pages) and pages[first][1] <= chunk.start:
            first += 1
        if first < len(pages) and pages[first][0] <= chunk.start:
            chunk.metadata["page"] = first + 1
    return chunks
