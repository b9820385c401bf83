"""Text whose blocks have blank lines between them: what `split_html` and `split_pdf` share."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from chunking_lib.chunk import Chunk, Document
from chunking_lib.formats.find_blocks import Block, Piece, to_pieces
from chunking_lib.length import Length
from chunking_lib.recursive import DEFAULT_SEPARATORS, split_recursive
from chunking_lib.separators import ListedCuts, Separator
from chunking_lib.spans import Builder, check_size, merge_pieces, run_builder

__all__ = ["Section", "split_blocks"]

# Words, for a heading and the text below it: not cut at the blank line between them.
_WORDS = (re.compile(r"(?<=\S)(?=\s)"), *DEFAULT_SEPARATORS[3:])
_BLANK = re.compile(r"\n\s*\n")
_LONGEST_TITLE = 200  # a longer one is shortened in contexts, or each chunk would repeat it
_DEEPEST = 30  # lists in lists; what is deeper is cut at its lines


@dataclass(slots=True)
class Section:
    """The blocks below one heading, with the places of the headings that stand right above them."""

    path: list[str] = field(default_factory=list)
    heads: list[tuple[int, int]] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)

    def pieces(self, text: str) -> list[Piece]:
        """Return the blocks with what leads to each; the headings lead to the first."""
        found = list(to_pieces(text, self.blocks))
        if not self.heads:
            return found
        start, (last, end) = self.heads[0][0], self.heads[-1]
        first = found[0]._replace(start=start) if found else Piece(start, last, last, end)
        return [first, *found[1:]]


def split_blocks(
    document: Document,
    sections: Sequence[Section],
    *,
    size: int,
    overlap: int,
    length: Length,
) -> list[Chunk]:
    """Merge the blocks of each section up to `size`, and cut those that are too long by themselves.

    Such a block is cut at its rows, its items or its lines; only what of these is too long is cut
    inside, by `split_recursive`, and there alone is overlap.
    """
    check_size(size, overlap, length)
    text = document.text
    cutter = _Cutter(text, size, overlap, length)
    listed = [(section, section.pieces(text)) for section in sections]

    def cut(builder: Builder) -> None:
        for _, pieces in listed:
            cutter.cut_pieces(builder, pieces)

    chunks = run_builder(text, document.id, cut, size=size, overlap=0, length=length, strip=True)
    return list(_described(text, chunks, listed, size, length))


class _Places(ListedCuts):
    """The cuts at places that are known."""

    def __init__(self, places: Sequence[int], end: int) -> None:
        self.drops, self.end = False, end
        self._cuts = self._nexts = array("q", places)


@dataclass(slots=True)
class _Cutter:
    text: str
    size: int
    overlap: int
    length: Length

    def cut_pieces(self, builder: Builder, pieces: Sequence[Piece]) -> None:
        known = {piece.start: piece for piece in pieces}
        places = _Places([piece.start for piece in pieces[1:]], pieces[-1].end)
        merge_pieces(
            builder, places, pieces[0].start, lambda start, _: self.cut(builder, known[start])
        )

    def cut(self, builder: Builder, piece: Piece, depth: int = 0) -> None:
        """Cut a piece that is too long."""
        start, body, end = piece.start, piece.body, piece.end
        if builder.fits(start, end):  # white space around it was too much
            builder.add(start, end)
            return
        if start < body and builder.fits(body, end):
            self._cut_lines(builder, start, body)
            builder.add(body, end)
            return
        unit = piece.rows or body  # the header of a table leads to its first row
        places = self._units(unit, end, piece.rows > 0) if depth < _DEEPEST else []
        if not places:
            self._cut_unit(builder, start, unit, end)
            return
        if start < unit and builder.fits(unit, places[0]) and not builder.fits(start, places[0]):
            self._cut_lines(builder, start, unit)
            start = unit

        def too_long(first: int, last: int) -> None:
            inner = unit if first == start else first
            self.cut(builder, Piece(first, inner, inner, last), depth + 1)

        merge_pieces(builder, _Places(places, end), start, too_long)

    def _cut_unit(self, builder: Builder, start: int, unit: int, end: int) -> None:
        """Cut a row, item or line that is too long, with what leads to it in front if that fits."""
        if start < unit and builder.fits(unit, end):
            self._cut_lines(builder, start, unit)
            builder.add(unit, end)
        elif start < unit and builder.fits(start, unit):
            self._cut_text(builder, start, end, _WORDS)
        else:
            self._cut_lines(builder, start, unit)
            self._cut_lines(builder, unit, end)

    def _cut_lines(self, builder: Builder, start: int, end: int) -> None:
        """Cut between lines, and inside those alone that are too long."""

        def too_long(first: int, last: int) -> None:
            if builder.fits(first, last):
                builder.add(first, last)
            else:
                self._cut_text(builder, first, last)

        merge_pieces(builder, _Places(self._units(start, end, True), end), start, too_long)

    def _units(self, start: int, end: int, every: bool) -> list[int]:
        """Return where the rows, items or lines of a block begin, all but the first.

        Unless `every` line is wanted, one belongs to the line above that is indented less: an item
        has its inner lists. Below a first line like that, the inner ones are what it is cut into.
        """
        starts = []
        place = self.text.find("\n", start, end) + 1
        while 0 < place < end:
            starts.append(place)
            place = self.text.find("\n", place, end) + 1
        if every or not starts:
            return starts
        indents = [_indent(self.text, place) for place in starts]
        least = max(min(indents), _indent(self.text, start))
        return [place for place, indent in zip(starts, indents, strict=True) if indent <= least]

    def _cut_text(
        self,
        builder: Builder,
        start: int,
        end: int,
        separators: Sequence[Separator] = DEFAULT_SEPARATORS,
    ) -> None:
        for chunk in split_recursive(
            self.text[start:end],
            size=self.size,
            overlap=self.overlap,
            length=self.length,
            separators=separators,
        ):
            oversize = bool(chunk.metadata.get("oversize"))
            builder.add(start + chunk.start, start + chunk.end, oversize=oversize)


def _indent(text: str, place: int) -> int:
    start = place
    while place < len(text) and text[place] in " \t":
        place += 1
    return place - start


def _described(
    text: str,
    chunks: Sequence[Chunk],
    listed: Sequence[tuple[Section, list[Piece]]],
    size: int,
    length: Length,
) -> Iterator[Chunk]:
    """Yield the chunks with their path, and with what they need from above as their context."""
    known = [(section, piece) for section, pieces in listed for piece in pieces]
    at = 0
    for chunk in chunks:
        while at + 1 < len(known) and known[at + 1][1].start <= chunk.start:
            at += 1
        section, piece = known[at]
        # Of the headings that stand in the section, a chunk may be cut out of the first.
        begun = [head for head in section.heads if head[0] < chunk.end]
        path = section.path[: len(section.path) - len(section.heads) + len(begun)]
        shown = [chunk.start <= head[0] and head[1] <= chunk.end for head in begun]
        shown = [False] * (len(path) - len(begun)) + shown
        above = [_short(title) for title, here in zip(path, shown, strict=True) if not here]
        context = [" > ".join(above)] if above else []
        if piece.lead < piece.body <= chunk.start:
            context.append(_BLANK.sub("\n", text[piece.lead : piece.body].strip()))
        if piece.rows and chunk.start >= piece.rows:
            header = text[piece.body : piece.rows].rstrip()
            if length(header) <= size:
                context.append(header)
        metadata = {"path": path, **chunk.metadata}
        # Not `replace`, which takes twice the time.
        place = (chunk.start, chunk.end, chunk.source)
        yield Chunk(chunk.text, *place, context="\n\n".join(context), metadata=metadata)


def _short(title: str) -> str:
    return title if len(title) <= _LONGEST_TITLE else title[: _LONGEST_TITLE - 1].rstrip() + "…"
