"""How a stretch of source code is cut: what fits stays whole, the rest goes down the tree."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from tree_sitter import Node

from chunking_lib.boundaries import Boundaries
from chunking_lib.chunk import Chunk
from chunking_lib.formats.code_grammars import BINDERS
from chunking_lib.formats.code_names import defines
from chunking_lib.formats.code_tree import Piece, Source, begins_line, find_pieces, list_pieces
from chunking_lib.recursive import DEFAULT_SEPARATORS
from chunking_lib.separators import ListedCuts, find_cuts, for_line_ends
from chunking_lib.spans import Builder, cut_hard, merge_pieces

__all__ = ["Cutter", "cut_lines", "join_crumbs"]

_REST_OF_LINE = re.compile(r"[ \t]*(?:\r?\n|\r)")
_LINE_ENDS = re.compile(r"\r?\n|\r")
_BLANK_LINES = re.compile(r"(?:\n|\r(?!\n))(?:[ \t]*(?:\r?\n|\r))+")
_DECORATED = "decorated_definition"
_NO_PARTS: dict[int, Sequence[Node]] = {}
_HAVE_DOCSTRING = frozenset({"class_definition", "function_definition"})
_CRUMB = 4  # a chunk is a crumb if it has less than this part of the size
_DEEPEST = 40  # lists in lists; what is nested deeper is cut between lines


class _Places(ListedCuts):
    """Cuts at these places, as far as no grapheme cluster is there."""

    def __init__(self, places: Iterable[int], end: int, boundaries: Boundaries) -> None:
        self.drops, self.end = False, end
        found = sorted(set(places))
        self._cuts = array("q", found if boundaries.free else filter(boundaries.at, found))
        self._nexts = self._cuts


class Cutter:
    """Cuts a stretch of the text and the nodes that begin in it, then the parts of it."""

    def __init__(self, builder: Builder, source: Source, found: list[tuple[Piece, int]]) -> None:
        self._builder, self._source, self._found = builder, source, found
        self._text = source.text
        #: Where text may be cut between parts, of all that was taken apart.
        self.places: list[int] = []

    def _fits(self, start: int, end: int) -> bool:
        start, end = self._tight(start, end)
        return self._builder.ruler.measure(start, end) <= self._builder.size

    def _fits_node(self, node: Node) -> bool:
        return self._fits(self._source.start(node), self._source.end(node))

    def _tight(self, start: int, end: int) -> tuple[int, int]:
        """Leave blank lines at the start out, and white space at the end; keep the indentation."""
        text, first = self._text, start
        while end > start and text[end - 1].isspace():
            end -= 1
        while first < end and text[first].isspace():
            first += 1
        line = max(text.rfind(mark, start, first) for mark in "\r\n") + 1
        return max(start, line), self._builder.boundaries.after(end)

    def cut(
        self,
        start: int,
        end: int,
        nodes: Sequence[Node],
        depth: int = 0,
        lines: bool = True,
    ) -> None:
        """Make chunks of the text between two places, in which `nodes` stand.

        Without `lines`, it is known that no part of it begins a line.
        """
        builder, parts = self._builder, _NO_PARTS
        if not depth:  # taken apart in any case, for the names of what is in the file
            parts, lines = self._parts(start, end, nodes, lines)
        if self._fits(start, end):
            # Blank lines at the end stay where there is room for them.
            whole = builder.ruler.measure(start, end) <= builder.size
            builder.add(*((start, end) if whole else self._tight(start, end)))
            return
        places = self._around(start, end, nodes)
        if depth <= _DEEPEST and (not places or self._leaves_crumb(start, end, nodes, *places)):
            if depth:
                parts, lines = self._parts(start, end, nodes, lines)
            places = self._with_head(start, end, nodes, parts) if parts else places
        if not places:
            marks = _BLANK_LINES if _BLANK_LINES.search(self._text, start, end) else _LINE_ENDS
            self.places += (mark.end() for mark in marks.finditer(self._text, start, end))
            cut_lines(builder, start, end)
            return
        self.places += places
        merge_pieces(
            builder,
            _Places(places, end, builder.boundaries),
            start,
            lambda first, last: self.cut(first, last, parts.get(first, ()), depth + 1, lines),
        )

    def _parts(
        self, start: int, end: int, nodes: Sequence[Node], lines: bool
    ) -> tuple[dict[int, Sequence[Node]], bool]:
        """Return the nodes of each part by the place where it begins, and whether parts are lines.

        Cuts between lines are better than cuts in a line, and lists that are too long better than
        those that could stay whole.
        """
        source, pieces = self._source, list[Piece]()
        first, last = self._tight(start, end)
        lines = lines and any(self._text.find(mark, first, last) >= 0 for mark in "\n\r")
        choices = (True, False) if lines else (False,)
        for lines in choices:
            if not lines:  # several statements on one line
                beside = list_pieces(source, nodes, lines=False)
                pieces = beside if len(beside) > 1 else []
            for fits in (self._fits_node, lambda node: False):
                if not pieces:
                    lists = list(find_pieces(source, nodes, lines=lines, fits=fits))
                    pieces = [one for found in lists for one in found if start <= one.start < end]
                    if not lists:  # nor will there be any the next time
                        break
            if pieces:
                break
        limits = [*(piece.start for piece in pieces), end][1:]
        self._found += zip(pieces, limits, strict=True)
        return {piece.start: piece.nodes for piece in pieces}, lines

    def _around(self, start: int, end: int, nodes: Sequence[Node]) -> list[int]:
        """Return the cuts around a node that fits without the comments or brackets about it."""
        named = [node for node in nodes if node.is_named]
        if not named:
            return []
        last = self._source.end(named[-1])
        blank = _REST_OF_LINE.match(self._text, last, end)
        heads = self._heads(start, nodes)
        for stop in (end, blank.end() if blank else last):
            if (head := self._first_fit(heads, stop)) is not None:
                return [head, stop]
        return []

    def _leaves_crumb(
        self, start: int, end: int, nodes: Sequence[Node], head: int, stop: int
    ) -> bool:
        """Say whether a node that stays whole leaves brackets, or a short comment, alone.

        A comment before a definition is told by its path what it is about; one before data is not.
        """
        if self._text[stop:end].strip():
            return True
        short = self._builder.ruler.measure(start, head) * _CRUMB < self._builder.size
        main = next((node for node in nodes if node.type not in BINDERS), None)
        return start < head and short and main is not None and not defines(main)

    def _with_head(
        self, start: int, end: int, nodes: Sequence[Node], parts: dict[int, Sequence[Node]]
    ) -> list[int]:
        """Return the cuts before the parts, so that what is before the first has its place.

        A docstring stays with decorators and signature, if those fit together, else its first
        paragraph does; then as many of the comments before them as fit.
        """
        places = [*parts, end]
        tries = [(places[0], self._heads(start, nodes, inside=True))]
        docstring = parts[places[0]]
        if _is_docstring(docstring):
            heads, last = self._heads(start, nodes), self._source.end(docstring[0])
            if self._first_fit(heads, places[1]) is None:
                marks = _BLANK_LINES.finditer(self._text, places[0], last)
                places[1:1] = [mark.end() for mark in marks]
            tries.insert(0, (places[1], heads))
        for stop, heads in tries:
            if (head := self._first_fit(heads, stop)) is not None:
                return [head, *(place for place in places if place >= stop)]
        return places[:-1]

    def _heads(self, start: int, nodes: Sequence[Node], *, inside: bool = False) -> list[int]:
        """Return `start`, and the lines of the comments before a node and its own.

        Comments without a blank line between them are one. Decorators of Python are part of the
        node: with `inside`, their lines too.
        """
        leading: list[Node] = []
        for node in nodes:
            leading += node.children if inside and node.type == _DECORATED else [node]
            if node.type not in BINDERS:
                break
        heads = {start}
        for before, node in zip([None, *leading], leading, strict=False):
            place = begins_line(self._text, self._source.start(node))
            comments = before and "comment" in before.type and "comment" in node.type
            joined = before and comments and self._source.adjoins(before, node)
            if place is not None and place > start and not joined:
                heads.add(place)
        return sorted(heads)

    def _first_fit(self, heads: list[int], stop: int) -> int | None:
        """Return the first place from which the text up to `stop` fits."""
        heads = heads[: bisect_left(heads, stop)]
        at = bisect_left(heads, True, key=lambda head: self._fits(head, stop))
        return heads[at] if at < len(heads) else None


def join_crumbs(builder: Builder, chunks: Sequence[Chunk], places: Iterable[int]) -> list[Chunk]:
    """Return the chunks, less those of under a quarter of the size that need not be so short.

    A crumb joins its neighbour in the same definition. Where the two do not fit together, the cut
    moves to the place between parts that is nearest to the middle.
    """
    cuts, joined = sorted(set(filter(builder.boundaries.at, places))), list(chunks[:1])
    for chunk in chunks[1:]:
        last, spans = joined[-1], list[tuple[int, int]]()
        same = chunk.metadata["path"] == last.metadata["path"]
        if same and any(_is_crumb(builder, one.start, one.end) for one in (last, chunk)):
            spans = _spread(builder, cuts, last.start, chunk.end)
        joined[-1:] = [
            replace(last, text=builder.text[start:end], start=start, end=end)
            for start, end in spans
        ] or [last, chunk]
    return joined


def _is_crumb(builder: Builder, start: int, end: int) -> bool:
    return builder.ruler.measure(start, end) * _CRUMB < builder.size


def _spread(builder: Builder, cuts: list[int], start: int, end: int) -> list[tuple[int, int]]:
    """Return one chunk if that fits, else two if a cut makes none of them a crumb, else nothing."""
    measure = builder.ruler.measure
    whole = measure(start, end)
    if whole <= builder.size:
        return [(start, end)]
    inside = cuts[bisect_right(cuts, start) : bisect_left(cuts, end)]
    middle = bisect_left(inside, whole, key=lambda cut: 2 * measure(start, cut))
    for cut in reversed(inside[max(middle - 1, 0) : middle + 1]):
        halves = [(start, cut), (cut, end)]
        fit = all(measure(*half) <= builder.size for half in halves)
        if fit and not any(_is_crumb(builder, *half) for half in halves):
            return halves
    return []


def _is_docstring(nodes: Sequence[Node]) -> bool:
    """Say whether this is the docstring of a function or a class in Python."""
    if not nodes or nodes[0].type != "expression_statement":
        return False
    strings = [child.type for child in nodes[0].children] == ["string"]
    block = nodes[0].parent
    above = block.parent if block else None
    return strings and above is not None and above.type in _HAVE_DOCSTRING


def cut_lines(builder: Builder, start: int, end: int, level: int = 0) -> None:
    """Cut between paragraphs, lines, words; the white space stays with what is before it."""
    for number in range(level, len(DEFAULT_SEPARATORS)):
        separator = for_line_ends(DEFAULT_SEPARATORS[number], builder.text)
        if separator == "":
            break
        cuts = find_cuts(builder.text, start, end, separator, "end", builder.boundaries)
        if cuts:
            merge_pieces(builder, cuts, start, partial(cut_lines, builder, level=number + 1))
            return
    cut_hard(builder, start, end)
