"""Splitting at headings: each chunk inside one section, with the path of its headings."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile

from chunking_lib.boundaries import Boundaries
from chunking_lib.chunk import Chunk, Document, is_blank
from chunking_lib.formats.find_blocks import Block, find_blocks
from chunking_lib.formats.split_blocks import Section, split_blocks
from chunking_lib.heading_lines import read_lines
from chunking_lib.headings import Heading, Marker, find_headings
from chunking_lib.length import Length
from chunking_lib.spans import check_size
from chunking_lib.turns import check_whole

__all__ = ["split_sections"]


def split_sections(
    text: str | Document,
    *,
    size: int = 1000,
    overlap: int = 0,
    min_size: int = 0,
    length: Length = len,
    markers: Sequence[Marker] | None = None,
) -> list[Chunk]:
    r"""Split a text at its headings, as `find_headings` finds them.

    1. A section is a heading and what stands below it, up to the next heading. A heading with
       nothing below it but a deeper heading goes with that one. What stands above the first heading
       is a section without one.
    2. Each section is a chunk. With `min_size`, from top to bottom, a section joins the chunk
       before it if one of the two is below `min_size`, they fit together, and its heading is not
       higher than the one that chunk begins with.
    3. A section that is too long is cut between its paragraphs, as few times as can be, and a
       paragraph that is too long between its lines, then as by `split_recursive`. A heading stays
       with the text below it. Code in a fence stays whole if it fits by itself.

    `metadata["path"]` has the titles above a chunk: [] above the first heading, and for sections
    that were joined, those they share. `context` has those that do not stand in the chunk, as
    "A > B"; it does not count towards the size.

    Of a Markdown file `split_markdown` knows more: tables, lists, fences that are cut.

    Args:
        text: a text or a document; offsets refer to it.
        size: the most a chunk may measure, in units of `length`, 1 or more.
        overlap: the most that two parts of one paragraph share, 0 to `size` - 1.
        min_size: sections below it are joined with others, 0 to `size`; 0 for none. For each that
            joins, the whole chunk is measured anew.
        length: measures a text; see `split_recursive`.
        markers: what else is a heading; see `find_headings`.
    Raises:
        ValueError: an argument outside these bounds.

    >>> text = "Fares.\n\nArticle 1 Adults\n\nA day is 6.50.\n\nArticle 2 Dogs\n\nFree.\n"
    >>> for chunk in split_sections(text):
    ...     print(chunk.metadata["path"], repr(chunk.text))
    [] 'Fares.'
    ['Article 1 Adults'] 'Article 1 Adults\n\nA day is 6.50.'
    ['Article 2 Dogs'] 'Article 2 Dogs\n\nFree.'

    Source: what does not fit is cut as in `split_html` and `split_pdf`.
    """
    document = text if isinstance(text, Document) else Document(text)
    check_size(size, overlap, length)
    check_whole("min_size", min_size, 0)
    if min_size > size:
        raise ValueError(f"min_size={min_size} must be at most size={size}")
    parts = list(_find_parts(document.text, find_headings(document, markers=markers)))
    groups = _join_small(document.text, parts, min_size, size, length)
    codes = _find_code(document.text)
    sections = [_to_section(document.text, group, codes) for group in groups]
    return split_blocks(document, sections, size=size, overlap=overlap, length=length)


@dataclass(slots=True)
class _Part:
    """A section: its place, the headings it begins with, and all that are above its text."""

    start: int
    end: int
    heads: list[Heading]
    path: list[Heading]

    @property
    def level(self) -> int:
        return self.heads[0].level if self.heads else 0


def _find_parts(text: str, headings: Sequence[Heading]) -> Iterator[_Part]:
    """Yield the sections, none of them blank."""
    boundaries = Boundaries(text)
    # White space that carries an accent belongs to the heading.
    headings = [
        head._replace(start=boundaries.before(head.start), end=boundaries.after(head.end))
        for head in headings
    ]
    end = headings[0].start if headings else len(text)
    if not is_blank(text[:end]):
        yield _Part(0, end, [], [])
    above: list[Heading] = []
    heads: list[Heading] = []
    for head, after in pairwise([*headings, Heading(len(text), len(text), 0, "")]):
        while above and above[-1].level >= head.level:
            above.pop()
        above.append(head)
        heads.append(head)
        if after.level > head.level and is_blank(text[head.end : after.start]):
            continue
        yield _Part(heads[0].start, after.start, heads, list(above))
        heads = []


def _join_small(
    text: str, parts: Sequence[_Part], min_size: int, size: int, length: Length
) -> list[list[_Part]]:
    groups: list[list[_Part]] = []
    long = 0  # the length of the last group
    for part in parts:
        own = length(text[part.start : part.end].strip()) if min_size else 0
        if groups and min(long, own) < min_size and part.level >= groups[-1][0].level:
            both = length(text[groups[-1][0].start : part.end].strip())
            if both <= size:
                groups[-1].append(part)
                long = both
                continue
        groups.append([part])
        long = own
    return groups


def _to_section(text: str, group: Sequence[_Part], codes: Sequence[tuple[int, int]]) -> Section:
    """Return sections as one, below the headings that they share."""
    first = group[0]
    shared = first.path
    for part in group[1:]:
        pairs = zip(shared, part.path, strict=False)
        shared = [one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)]
    heads = [(head.start, head.end) for head in first.heads if head in shared]
    body = heads[-1][1] if heads else first.start
    blocks = _to_blocks(text, body, group[-1].end, codes)
    return Section([head.title for head in shared], heads, list(blocks))


def _to_blocks(
    text: str, start: int, end: int, codes: Sequence[tuple[int, int]]
) -> Iterator[Block]:
    """Yield the blocks between two places; a blank line in a fence ends none."""
    last: Block | None = None
    for found in find_blocks(text[start:end]):
        rows = start + found.rows if found.rows else 0
        block = Block(start + found.start, start + found.end, found.one_line, rows)
        number = bisect_right(codes, (block.start, len(text))) - 1
        inside = number >= 0 and block.start < codes[number][1]
        if last and inside and codes[number][0] < last.end:
            last = Block(last.start, block.end, False, 0)
            continue
        if last:
            yield last
        last = block
    if last:
        yield last


def _find_code(text: str) -> list[tuple[int, int]]:
    """Return where the fences are."""
    codes: list[tuple[int, int]] = []
    open_ = False
    for line in read_lines(text):
        if line.code and open_:
            codes[-1] = (codes[-1][0], line.end)
        elif line.code:
            codes.append((line.start, line.end))
        open_ = line.code
    return codes
