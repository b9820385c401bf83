"""The blocks of a text, told by blank lines, and which of them belong together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice, zip_longest
from typing import NamedTuple

__all__ = ["Block", "Piece", "find_blocks", "to_pieces"]

_RULE = re.compile(r"\|(?: *:?-+:? *\|)+[ \r]*\Z")
# A caption or a heading: characters at most, and how it does not end.
_LEAD = 100
_ENDED = re.compile("[.!?…。！？][)\\]\"'”’»」]*[¹²³⁰-⁹*†‡]*\\Z")
_LEADS = 3  # so many before a block: chapter, section, caption


class Block(NamedTuple):
    """Lines without a blank one among them; `rows` is where a table's rows begin, else 0."""

    start: int
    end: int
    one_line: bool
    rows: int


class Piece(NamedTuple):
    """A block that begins at `body`, the captions from `lead` on, and what else leads to it."""

    start: int
    lead: int
    body: int
    end: int
    rows: int = 0


def find_blocks(text: str) -> Iterator[Block]:
    r"""Yield the blocks of a text, from top to bottom.

    >>> text = "One\n\n| a |\n| --- |\n| 1 |\n"
    >>> [text[block.rows : block.end] for block in find_blocks(text)]
    ['One', '| 1 |']
    """
    lines: list[tuple[int, int]] = []
    place = 0
    while place <= len(text):
        found = text.find("\n", place)
        end = found if found >= 0 else len(text)
        blank = place == end or text[place:end].isspace()
        if not blank:
            lines.append((place, end))
        if lines and (blank or end == len(text)):
            yield _block(text, lines)
            lines = []
        place = end + 1


def _block(text: str, lines: Sequence[tuple[int, int]]) -> Block:
    start, end = lines[0][0], lines[-1][1]
    table = len(lines) > 2 and text[start] == "|" and _RULE.match(text[slice(*lines[1])])
    return Block(start, end, len(lines) == 1, lines[2][0] if table else 0)


def to_pieces(text: str, blocks: Sequence[Block]) -> Iterator[Piece]:
    """Yield each block with the short lines above it that have no end: captions, headings.

    A short line above a table leads to it in any case.
    """
    leads: list[int] = []
    for block, after in zip_longest(blocks, islice(blocks, 1, None)):
        if after and _leads(text, block, after):
            leads.append(block.start)
            continue
        apart = max(len(leads) - _LEADS, 0)
        for i in range(apart):
            yield Piece(leads[i], leads[i], leads[i], leads[i + 1])
        start = leads[apart] if leads else block.start
        yield Piece(start, start, block.start, block.end, block.rows)
        leads = []


def _leads(text: str, block: Block, after: Block) -> bool:
    if not block.one_line or block.end - block.start > _LEAD or text[block.start] in "|>":
        return False
    line = text[block.start : block.end].rstrip()
    return after.rows > 0 or (not line.startswith("- ") and not _ENDED.search(line))
