"""Tables of a PDF, with rules around their cells or with columns only."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce
from statistics import median
from typing import Any

from chunking_lib.formats.pdf_lines import Box, Item, Line, Table, Word, merge_lines

__all__ = ["BULLET", "NUMBER", "aligned_tables", "find_ruled", "read_ruled"]

BULLET = re.compile("[•‣◦▪●○■□\uf0b7\uf0a7]|[–*·-]$")
NUMBER = re.compile(r"\(?(?:\d{1,3}|[A-Za-z]|[ivx]{2,5})[.)]$")
# Wider than any space between words, in sizes of the text.
_GAP = 1.0


def find_ruled(page: Any) -> list[Any]:
    """Return what pdfplumber finds between rules."""
    # To pair thousands of strokes of a drawing takes minutes, and gives no table.
    if not 1 < len(page.lines) + len(page.rects) + len(page.curves) < 2000:
        return []
    most = page.width * page.height / 3

    def is_no_background(thing: dict[str, Any]) -> bool:
        filled = thing["object_type"] == "rect" and not thing["stroke"]
        return not filled or thing["width"] * thing["height"] < most

    return page.filter(is_no_background).find_tables()  # type: ignore[no-any-return]


def read_ruled(found: Any, words: Sequence[Word], number: int) -> Table | None:
    """Read a table whose cells have rules around them; None for boxes that are no table."""
    cells: dict[Box, list[str]] = {Box(*cell): [] for cell in found.cells}
    for cell in cells:
        inside = [Line([word], number) for word in words if cell.holds(word.box)]
        cells[cell] = [line.text for line in merge_lines(inside)]
    lefts = sorted({cell.x0 for cell in cells})
    tops = sorted({cell.top for cell in cells})
    # A cell that spans columns or rows is repeated in each.
    rows = [[_cell_at(cells, left, top) for left in lefts] for top in tops]
    filled = sum(map(bool, cells.values()))
    filled_rows = sum(map(any, rows))
    filled_columns = sum(map(any, zip(*rows, strict=True)))
    if len(tops) < 2 or len(lefts) < 2 or 3 * filled < len(cells):
        return None
    if 2 * filled_rows < len(tops) or 2 * filled_columns < len(lefts):
        return None
    # What is left empty is the space between double rules.
    columns = [i for i, column in enumerate(zip(*rows, strict=True)) if any(column)]
    box = Box(*found.bbox)
    places = [
        box._replace(top=top, bottom=bottom)
        for row, top, bottom in zip(rows, tops, [*tops[1:], box.bottom], strict=True)
        if any(row)
    ]
    rows = [[row[i] for i in columns] for row in rows if any(row)]
    return Table(rows, places, box, number)


def _cell_at(cells: dict[Box, list[str]], left: float, top: float) -> list[str]:
    for cell, lines in cells.items():
        if cell.x0 <= left < cell.x1 and cell.top <= top < cell.bottom:
            return lines
    return []


def aligned_tables(items: Sequence[Item]) -> list[Item]:
    """Return a region from top to bottom, with lines that make a table in a `Table`.

    A table without rules is a run of lines with wide gaps, where the pieces between the gaps stand
    below each other in columns.
    """
    ordered: list[Item] = [*merge_lines(item for item in items if isinstance(item, Line))]
    ordered += [item for item in items if isinstance(item, Table)]
    ordered.sort(key=lambda item: item.box.top)
    found: list[Item] = []
    start = 0
    while start < len(ordered):
        run: list[Line] = []
        for item in ordered[start:]:
            if not isinstance(item, Line) or not _may_be_row(run, item):
                break
            run.append(item)
        table, used = _aligned(run)
        found.append(table or ordered[start])
        start += used or 1
    return found


def _may_be_row(run: Sequence[Line], line: Line) -> bool:
    """Say whether a line may be a row of the table in `run`, or the end of its last row."""
    first = line.words[0].text
    if BULLET.match(first) or NUMBER.match(first):
        return False
    step = line.box.bottom - run[-1].box.bottom if run else 0
    # Without a gap, only what stands close below a row can belong to it.
    return step < 3 * line.size if len(line.split(_GAP)) > 1 else 0 < step < 1.5 * line.size


def _aligned(lines: Sequence[Line]) -> tuple[Table | None, int]:
    """Make a table of lines whose pieces stand in columns; return the number of lines used too."""
    rows = [line.split(_GAP) for line in lines]
    count = max(map(len, rows), default=0)
    full = [i for i, row in enumerate(rows) if len(row) == count]
    steps = [lines[i].box.bottom - lines[i - 1].box.bottom for i in full if i]
    if count < 2 or not steps or 2 * len(full) < len(rows):
        return None, 0
    columns = [
        (min(rows[i][n][0].box.x0 for i in full), max(rows[i][n][-1].box.x1 for i in full))
        for n in range(count)
    ]
    if any(left[1] >= right[0] for left, right in zip(columns, columns[1:], strict=False)):
        return None, 0
    cells: list[list[list[str]]] = []
    boxes: list[Box] = []
    used = 0
    for line, row in zip(lines, rows, strict=True):
        places = [_column(columns, group) for group in row]
        # Nearer than rows are to each other, and not a whole row: the rest of cells above.
        wraps = used and line.box.bottom - lines[used - 1].box.bottom < 0.8 * median(steps)
        if not (wraps and len(row) < count):
            if len(row) == 1:
                break
            cells.append([[] for _ in columns])
            boxes.append(line.box)
        for place, group in zip(places, row, strict=True):
            cells[-1][place].append(" ".join(word.text for word in group))
        used, boxes[-1] = used + 1, boxes[-1].around(line.box)
    if len(cells) * count < 6:
        return None, 0
    return Table(cells, boxes, reduce(Box.around, boxes), lines[0].page), used


def _column(columns: Sequence[tuple[float, float]], group: Sequence[Word]) -> int:
    """Return the column that the group overlaps most, or is nearest to."""
    left, right = group[0].box.x0, group[-1].box.x1
    return max(
        range(len(columns)), key=lambda i: min(right, columns[i][1]) - max(left, columns[i][0])
    )
