"""The tables of an HTML page, written as Markdown."""

from __future__ import annotations

from collections.abc import Mapping

from chunking_lib.formats.html_blocks import Block, Piece, number_of, one_line, to_blocks
from chunking_lib.formats.source import pipe_table

__all__ = ["write_part", "write_table"]

_RULE = "| --- |"  # stands in every table that is written
_MARKS = 3  # characters around a cell
# A table may be that many times as long as what its cells say, and a little more: spans and empty
# cells could make it thousands of times as long.
_MOST_TIMES, _AND = 20, 1000


def write_part(tag: str, attributes: Mapping[str, str], pieces: list[Piece]) -> list[Block]:
    """Hand a cell, a row or a caption to the table around it."""
    kind = "td" if tag == "th" else tag
    return [Block(kind, parts=to_blocks(pieces), attributes=attributes)]


def write_table(_tag: str, attributes: Mapping[str, str], pieces: list[Piece]) -> list[Block]:
    """Write a pipe table after its caption and after what stands in no cell.

    A table that holds another, says that it is one for looks only, or would repeat cells and hold
    empty ones to more than 20 times of what it says, is no table to a reader: its cells are written
    one after the other.
    """
    before: list[Block] = []
    rows: list[list[Block]] = [[]]  # the first one for cells that stand in no row
    for block in to_blocks(pieces):
        if block.kind == "tr":
            rows.append([part for part in block.parts if part.kind == "td"])
            before += [part for part in block.parts if part.kind != "td"]
        elif block.kind == "td":
            rows[0].append(block)
        else:
            before += block.parts if block.kind == "caption" else [block]
    rows = [row for row in rows if row]
    inside = [part for row in rows for cell in row for part in cell.parts]
    if not inside:
        return before
    looks = attributes.get("role") in ("presentation", "none")
    nests = any(_RULE in part.text for part in inside)  # the inner one may be in a list or a quote
    grid = [] if looks or nests else _grid(rows)
    return [*before, Block("table", pipe_table(grid))] if grid else [*before, *inside]


def _grid(rows: list[list[Block]]) -> list[list[str]]:
    """Repeat each cell in the columns and rows that it spans; return no row if that is too much."""
    texts = [[one_line(cell.parts) for cell in row] for row in rows]
    said = sum(len(text) + _MARKS for row in texts for text in row)
    room = _MOST_TIMES * said + _AND
    # A cell alone in its row may say that it spans 100 columns: no further than the others go.
    widths = [sum(_span(cell, "colspan") for cell in row) for row in rows if len(row) > 1]
    widest = max(widths, default=1)
    grid: list[list[str]] = []
    below: dict[int, tuple[int, str]] = {}  # by column: rows still to fill, and with what
    for index, row in enumerate(rows):
        filled: dict[int, str] = {}
        for column, (left, text) in list(below.items()):
            filled[column] = text
            below[column] = (left - 1, text)
            if left == 1:
                del below[column]
        column = 0
        for cell, text in zip(row, texts[index], strict=True):
            width = min(_span(cell, "colspan"), widest if len(row) == 1 else 1000)
            height = min(_span(cell, "rowspan"), len(rows) - index)
            room -= (len(text) + _MARKS) * width * height
            if room < 0:
                return []
            while column in filled:
                column += 1
            for place in range(column, column + width):
                filled.setdefault(place, text)
                if height > 1:
                    below[place] = (height - 1, text)
        columns = max(filled, default=-1) + 1
        room -= _MARKS * (columns - len(filled))
        if room < 0:
            return []
        grid.append([filled.get(column, "") for column in range(columns)])
    columns = max(map(len, grid))
    empty = sum(columns - len(cells) for cells in grid)
    return grid if _MARKS * empty <= room else []


def _span(cell: Block, name: str) -> int:
    return min(max(number_of(cell.attributes, name, 1), 1), 1000)
