"""HTML cut below its headings, between its blocks, rows and items."""

from __future__ import annotations

import re
from pathlib import Path

from chunking_lib.chunk import Chunk, Document
from chunking_lib.formats.find_blocks import find_blocks
from chunking_lib.formats.html import load_html
from chunking_lib.formats.html_links import unlink
from chunking_lib.formats.split_blocks import Section, split_blocks
from chunking_lib.length import Length
from chunking_lib.spans import check_size

__all__ = ["split_html"]

_HEADING = re.compile(r"(#{1,6}) +(\S.*)")


def split_html(
    source: str | bytes | Path | Document,
    *,
    size: int = 1000,
    overlap: int = 0,
    length: Length = len,
) -> list[Chunk]:
    r"""Split an HTML page at its headings, and each section between its blocks.

    1. A section is a heading and what stands below it, up to the next heading. A heading that has
       nothing below it but a deeper one goes with that.
    2. The blocks of a section (paragraphs, lists, tables) are merged from left to right, as many
       as fit. A caption, or another short line without an end, stays with the block below it.
    3. A block that is too long is cut between its rows, items or lines, with the inner lists of an
       item in one piece if they fit. Only a row, item or line that is too long by itself is cut
       inside, by `split_recursive`.

    Args:
        source: a document of `load_html`, or what `load_html` takes. Offsets refer to the text of
            the document. What is kept of a page is the choice of `load_html`: pass on its document
            to keep links or navigation.
        size: the most a chunk may measure, without its context, in units of `length`, 1 or more.
        overlap: the most that the parts of a text that was cut inside share, 0 to `size` - 1.
            Whole blocks, rows and items are never repeated.
        length: measures a text; see `split_recursive`.
    Returns:
        The chunks, in order. `metadata["path"]` lists the headings above a chunk, outermost first,
        with the words of links alone; `context` has those that do not stand in the chunk itself,
        then the caption and the header of a table of which the chunk is a later part. A heading of
        more than 200 characters is shortened there, and a table's header that is longer than `size`
        left out.
    Raises:
        ValueError: an argument outside these bounds, or a page that cannot be read.

    >>> page = "<h1>Piers</h1><p>Two steps.</p><h2>Gull Quay</h2><p>No ramp.</p>"
    >>> for chunk in split_html(page):
    ...     print(chunk.metadata["path"], repr(chunk.context), repr(chunk.text))
    ['Piers'] '' '# Piers\n\nTwo steps.'
    ['Piers', 'Gull Quay'] 'Piers' '## Gull Quay\n\nNo ramp.'
    >>> [chunk] = split_html(load_html("<p>See <a href='/fares'>fares</a>.", links=True))
    >>> chunk.text
    'See [fares](/fares).'

    Source: sections as in LangChain's `HTMLHeaderTextSplitter`, tables as in unstructured's
    `chunk_by_title`, which repeats a header, too, but only one of `<th>` or `<thead>`, and as part
    of the text.
    """
    check_size(size, overlap, length)
    document = source if isinstance(source, Document) else load_html(source)
    sections = _sections(document.text)
    return split_blocks(document, sections, size=size, overlap=overlap, length=length)


def _sections(text: str) -> list[Section]:
    sections: list[Section] = []
    levels: list[int] = []  # of the headings on the path
    for block in find_blocks(text):
        heading = _HEADING.match(text, block.start, block.end) if block.one_line else None
        if heading is None:
            if not sections:
                sections.append(Section())
            sections[-1].blocks.append(block)
            continue
        level, above = len(heading[1]), len(levels)
        while levels and levels[-1] >= level:
            levels.pop()
        path = sections[-1].path[: len(levels)] if sections else []
        path.append(unlink(heading[2].rstrip()))
        if sections and not sections[-1].blocks and len(levels) == above:
            heads = sections.pop().heads  # nothing but headings so far
        else:
            heads = []
        sections.append(Section(path, [*heads, (block.start, block.end)]))
        levels.append(level)
    return sections
