"""The text of a PDF, cut between its blocks, rows and items, with the pages of the chunks."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from pathlib import Path
from typing import Any

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
    3. The page of a chunk is the one it begins on. Its boxes, for a viewer that marks the chunk,
       are one for each block or part of a block, and one more where a block goes on in the next
       column or page. A line or row of which a part is in the chunk is marked whole.

    Args:
        source: a document of `load_pdf`, or the file. Offsets refer to the text of the document.
        size: the most a chunk may measure, without its context, in units of `length`, 1 or more.
        overlap: the most that the parts of a text that was cut inside share, 0 to `size` - 1.
            Whole blocks, rows and items are never repeated.
        length: measures a text; see `split_recursive`.
    Returns:
        The chunks, in order. `metadata["page"]` counts from 1 and is the first page whose span in
        the document's `metadata["pages"]` the start of the chunk lies in; without such spans there
        is none. `metadata["boxes"]` has `[page, x0, top, x1, bottom]` for each box, in points (1/72
        inch) from the top left corner of what is seen of the page; a document without the
        `metadata["line_boxes"]` of `load_pdf` has none. `context` has the caption and the header of
        a table of which the chunk is a later part (a header longer than `size` apart), and the
        heading of a text of which it is one.
    Raises:
        ValueError: an argument outside these bounds, or a file that cannot be read.
        RuntimeError: pdfplumber is not installed.

    >>> report = Document("One, on page\n\ntwo.", metadata={"pages": [(0, 12), (14, 18)]})
    >>> [(chunk.text, chunk.metadata["page"]) for chunk in split_pdf(report, size=12)]
    [('One, on page', 1), ('two.', 2)]

    Source: the merging is that of `split_recursive`; pages as spans of one text, and boxes of its
    lines, are our own.
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
    _add_boxes(document, chunks)
    return chunks


def _add_boxes(document: Document, chunks: Sequence[Chunk]) -> None:
    """Add the places on the pages to the chunks, if the document has those of its lines."""
    lines = document.metadata.get("line_boxes")
    if not lines:
        return
    starts = [line[0] for line in lines]
    for chunk in chunks:
        first, last = bisect_right(starts, chunk.start) - 1, bisect_left(starts, chunk.end)
        boxes: list[list[Any]] = []
        for start, *place in lines[first:last]:
            new_block = document.text.endswith("\n\n", 0, start)
            if boxes and not new_block and _is_below(boxes[-1], place):
                page, x0, top, x1, bottom = boxes[-1]
                boxes[-1] = [page, min(x0, place[1]), top, max(x1, place[3]), max(bottom, place[4])]
            else:
                boxes.append(place)
        chunk.metadata["boxes"] = boxes


def _is_below(box: Sequence[float], line: Sequence[float]) -> bool:
    """Say whether a line stands below a box, on its page and in its column."""
    page, x0, _, x1, bottom = box
    return line[0] == page and (line[2] + line[4]) / 2 > bottom and line[1] < x1 and x0 < line[3]
