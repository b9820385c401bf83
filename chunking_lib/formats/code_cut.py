"""How a stretch of source code is cut: what fits stays whole, the rest goes down the tree."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import partial

from tree_sitter import Node

from chunking_lib.boundaries import Boundaries
from chunking_lib.formats.code_grammars import BINDERS
from chunking_lib.formats.code_tree import Piece, Source, begins_line, find_pieces, list_pieces
from chunking_lib.recursive import DEFAULT_SEPARATORS
from chunking_lib.separators import ListedCuts, find_cuts, for_line_ends
from chunking_lib.spans import Builder, cut_hard, merge_pieces

__all__ = ["Cutter", "cut_lines"]

_REST_OF_LINE = re.compile(r"[ \t]*(?:\r?\n|\r)")
_DECORATED = "decorated_definition"
_NO_PARTS: dict[int, Sequence[Node]] = {}
_HAVE_DOCSTRING = frozenset({"class_definition", "function_definition"})
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
        if not places and depth <= _DEEPEST:
            if depth:
                parts, lines = self._parts(start, end, nodes, lines)
            places = self._with_head(start, end, nodes, parts) if parts else []
        if not places:
            cut_lines(builder, start, end)
            return
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

    def _with_head(
        self, start: int, end: int, nodes: Sequence[Node], parts: dict[int, Sequence[Node]]
    ) -> list[int]:
        """Return the cuts before the parts, so that what is before the first has its place.

        A docstring stays with decorators and signature, if those fit together; then as many of the
        comments before them as fit.
        """
        places = [*parts, end]
        tries = [(places[0], self._heads(start, nodes, inside=True))]
        if _is_docstring(parts[places[0]]):
            tries.insert(0, (places[1], self._heads(start, nodes)))
        for stop, heads in tries:
            if (head := self._first_fit(heads, stop)) is not None:
                return [head, *(place for place in places if place >= stop)]
        return places[:-1]

    def _heads(self, start: int, nodes: Sequence[Node], *, inside: bool = False) -> list[int]:
        """Return `start`, and the lines of the comments before a node and its own.

        Decorators of Python are part of the node: with `inside`, their lines too.
        """
        leading: list[Node] = []
        for node in nodes:
            leading += node.children if inside and node.type == _DECORATED else [node]
            if node.type not in BINDERS:
                break
        places = (begins_line(self._text, self._source.start(node)) for node in leading)
        return sorted({start, *(place for place in places if place is not None and place > start)})

    def _first_fit(self, heads: list[int], stop: int) -> int | None:
        """Return the first place from which the text up to `stop` fits."""
        heads = heads[: bisect_left(heads, stop)]
        at = bisect_left(heads, True, key=lambda head: self._fits(head, stop))
        return heads[at] if at < len(heads) else None


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
