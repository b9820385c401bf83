"""Where source code may be cut: the syntax tree, read as lists of statements and members."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from tree_sitter import Node

from chunking_lib.formats.code_grammars import BINDERS, CLAUSES, LISTS

__all__ = ["Piece", "Source", "begins_line", "find_pieces", "list_pieces"]

_BLOCK = 256
_CONTINUATION = bytes(range(0x80, 0xC0))  # all but the first byte of a character
_CLOSERS = frozenset(")]};,. \t\r\n\f\v?")


class Piece(NamedTuple):
    """Sibling nodes that stay together, and the place where the text of the first begins."""

    start: int
    nodes: Sequence[Node]


class Source:
    """A text and the bytes that were parsed; the parser counts bytes, everything else characters.

    >>> source = Source("é = 1", "é = 1".encode())
    >>> source.place(3), source.place(6)
    (2, 5)
    """

    def __init__(self, text: str, data: bytes) -> None:
        self.text, self._data = text, data
        # The characters before each block of bytes; in ASCII a byte is a character.
        counts = (
            []
            if len(data) == len(text)
            else [
                len(data[at : at + _BLOCK].translate(None, _CONTINUATION))
                for at in range(0, len(data), _BLOCK)
            ]
        )
        self._before = list(accumulate(counts, initial=0))
        self._ascii = len(data) == len(text)

    def place(self, offset: int) -> int:
        """Return the character that the byte at `offset` begins."""
        if self._ascii:
            return offset
        block, rest = divmod(offset, _BLOCK)
        first = block * _BLOCK
        return self._before[block] + len(
            self._data[first : first + rest].translate(None, _CONTINUATION)
        )

    def start(self, node: Node) -> int:
        return self.place(node.start_byte)

    def end(self, node: Node) -> int:
        """Return where a node ends; some have the line end, or blank lines, in them."""
        end, start = self.place(node.end_byte), self.place(node.start_byte)
        while end > start and self.text[end - 1].isspace():
            end -= 1
        return end

    def read(self, node: Node) -> str:
        return self.text[self.start(node) : self.end(node)]

    def adjoins(self, node: Node, after: Node) -> bool:
        """Say whether there is no blank line between two nodes."""
        between = self.text[self.end(node) : self.start(after)]
        return len(between.rstrip(" \t").splitlines()) <= 1

    def closed(self, place: int, limit: int) -> int:
        """Return the place behind the closing brackets, and the like, that follow `place`."""
        while place < limit and self.text[place] in _CLOSERS:
            place += 1
        return place


def begins_line(text: str, place: int) -> int | None:
    r"""Return the start of the line if nothing but blanks stands before `place`, else None.

    >>> begins_line("a\n  b c", 4), begins_line("a\n  b c", 6)
    (2, None)
    """
    while place and text[place - 1] in " \t\f\v\ufeff":
        place -= 1
    return place if not place or text[place - 1] in "\r\n" else None


def list_pieces(source: Source, children: Iterable[Node], *, lines: bool) -> list[Piece]:
    """Group the children of a list: each group may be parted from its neighbours.

    1. A group begins with a named node that begins a line; without `lines`, with any named node.
    2. Comments, attributes and decorators go with what follows.
    3. A comment behind something on its line, and what is not named (commas, brackets), goes with
       what is before.
    """
    pieces: list[Piece] = []
    nodes: list[Node] = []
    bound = False
    for child in _in_list(children):
        if child.is_named:
            start = source.start(child)
            at = begins_line(source.text, start)
            binder = child.type in BINDERS
            behind = at is None and (lines or binder)
            if not bound and not behind:
                nodes = []
                pieces.append(Piece(start if at is None else at, nodes))
            bound = binder and (bound or not behind)
        nodes.append(child)
    return pieces


def _in_list(children: Iterable[Node]) -> Iterator[Node]:
    """Yield the children; Go has a list of statements between the brackets of a block."""
    for child in children:
        if child.type == "statement_list":
            yield from child.children
        else:
            yield child


def find_pieces(
    source: Source, nodes: Sequence[Node], *, lines: bool, fits: Callable[[Node], bool]
) -> Iterator[list[Piece]]:
    """Yield the pieces of the outermost lists below `nodes`; of those that fit, none.

    A list in which nothing may be cut is looked into. A clause that begins a line is a piece
    without nodes, and looked into as well.
    """
    stack = list(reversed(nodes))
    while stack:
        node = stack.pop()
        kind = node.type
        if kind in LISTS or node.is_error:
            whole = fits(node)
            pieces = [] if whole else list_pieces(source, node.children, lines=lines)
            yield pieces
            if whole or pieces:
                continue
        elif kind in CLAUSES:
            at = begins_line(source.text, source.start(node))
            if at is not None:
                yield [Piece(at, ())]
        if node.named_child_count:
            stack.extend(reversed(node.named_children))
