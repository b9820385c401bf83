"""From lines to blocks: paragraphs, headings, lists, footnotes."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from chunking_lib.formats.pdf_lines import Item, Line, Table
from chunking_lib.formats.pdf_tables import BULLET, NUMBER

__all__ = ["LARGER", "Block", "Style", "footnotes", "runs_on", "split_footnotes", "to_blocks"]

LARGER = 1.05  # a heading is larger than the body by more than this
_END = re.compile("[.!?…:。！？][)\\]\"'”’»」]*[¹²³⁰-⁹*†‡]*$")
_BULLETS = frozenset("•‣◦▪●○■□\uf0b7\uf0a7")
_MARK = re.compile("[¹²³⁰-⁹*†‡§]")


@dataclass(slots=True)
class Block:
    """A block. A list has `items`, each with its mark and depth; other text is one item."""

    kind: str  # paragraph, heading, list, table, footnote, turned
    items: list[list[Line]] = field(default_factory=list)
    marks: list[str] = field(default_factory=list)
    indent: float = 0
    table: Table | None = None

    @property
    def last(self) -> Line:
        return self.items[-1][-1]

    def go_on(self, after: Block) -> None:
        """Take in the block that goes on where this one stopped."""
        if after.kind == "list":
            self.items += after.items
            self.marks += after.marks
        else:
            self.items[-1] += after.items[0]

    def edges(self) -> list[float]:
        """Return where the items of a list begin, from left to right: its levels."""
        found: list[float] = []
        for edge in sorted(item[0].box.x0 for item in self.items):
            if not found or edge - found[-1] > 3:
                found.append(edge)
        return found


class Style:
    """What is usual in the document: the size of its text, the distance of lines at each size."""

    def __init__(self, regions: Sequence[Sequence[Item]], body: float) -> None:
        self.body = body
        steps: defaultdict[float, Counter[float]] = defaultdict(Counter)
        for region in regions:
            for above, line in zip(region, region[1:], strict=False):
                if isinstance(above, Line) and isinstance(line, Line) and above.size == line.size:
                    steps[line.size][round(line.box.bottom - above.box.bottom, 1)] += 1
        self._steps = {size: self._usual(size, counts) for size, counts in steps.items()}

    def _usual(self, size: float, counts: Counter[float]) -> float:
        """Return the smallest distance that is no exception."""
        least = min(counts.total() / 10, max(counts.values()))
        often = [step for step, count in counts.items() if count >= least]
        # Of a rare size there may be single lines only; those are blocks.
        return min(often) if size == self.body or min(often) < 1.7 * size else 1.4 * size

    def heading(self, line: Line) -> bool:
        return line.size > LARGER * self.body or line.bold

    def goes_on(self, above: Line, line: Line) -> bool:
        """Say whether two lines have the same look and the distance of lines in a paragraph."""
        step = line.box.bottom - above.box.bottom
        usual = self._steps.get(line.size, 1.4 * line.size)
        return above.size == line.size and above.bold == line.bold and step < 1.15 * usual


def split_footnotes(region: Sequence[Item], body: float) -> tuple[list[Item], list[Line]]:
    """Part a region from the footnotes at its end: small lines, the first of which has a mark."""
    start = place = len(region)
    while place and isinstance(line := region[place - 1], Line) and line.size <= 0.9 * body:
        place -= 1
        if _marked(line):
            start = place
    return list(region[:start]), [item for item in region[start:] if isinstance(item, Line)]


def _marked(line: Line) -> bool:
    text = line.text
    raised = line.words[0].first_size < 0.8 * line.size and text[0].isalnum()
    return raised or _MARK.match(text) is not None


def to_blocks(region: Sequence[Item], style: Style) -> list[Block]:
    """Make blocks of a region without its footnotes, from top to bottom."""
    blocks: list[Block] = []
    above: Line | None = None
    for item in region:
        if isinstance(item, Table):
            blocks.append(Block("table", table=item))
            above = None
            continue
        block = blocks[-1] if above is not None else None
        near = above is not None and style.goes_on(above, item)
        mark = _item_mark(item)
        listed = block is not None and block.kind == "list"
        # A number or a dash may also be where the line of a paragraph happened to break.
        begins = not near or listed or mark in _BULLETS or (above and _END.search(above.text))
        if mark and begins and not style.heading(item):
            if block is None or not listed or block.items[0][0].size != item.size:
                blocks.append(Block("list"))
            blocks[-1].items.append([item])
            blocks[-1].marks.append(mark)
            blocks[-1].indent = _text_left(item)
        elif block and above and near and not _new_paragraph(block, above, item):
            block.items[-1].append(item)
        else:
            blocks.append(Block("heading" if style.heading(item) else "paragraph", [[item]]))
        above = item
    return blocks


def footnotes(lines: Sequence[Line]) -> list[Block]:
    """Make a block of each footnote."""
    blocks: list[Block] = []
    for line in lines:
        if _marked(line):
            blocks.append(Block("footnote", [[line]]))
        else:
            blocks[-1].items[-1].append(line)
    return blocks


def _item_mark(line: Line) -> str:
    """Return the bullet or number that a line begins with."""
    first = line.words[0].text
    if len(line.words) > 1 and (BULLET.match(first) or NUMBER.match(first)):
        return first
    return first[0] if BULLET.match(first) and len(first) > 1 else ""


def _text_left(line: Line) -> float:
    return line.words[1].box.x0 if len(line.words) > 1 else line.box.x0


def _new_paragraph(block: Block, above: Line, line: Line) -> bool:
    """Say whether a line at the usual distance begins a paragraph all the same.

    Nothing but its place says so: it is indented, or the line above ended early; or, after a list,
    it stands left of the text of the item.
    """
    if block.kind == "list":
        hanging = block.indent - block.items[-1][0].box.x0 > 0.8 * line.size
        return hanging and line.box.x0 < block.indent - 0.4 * line.size
    if block.kind != "paragraph" or not _END.search(above.text):
        return False
    indented = 0.8 * line.size < line.box.x0 - above.box.x0 < 5 * line.size
    right = max(other.box.x1 for other in (*block.items[-1], line))
    early = right - above.box.x1 > 0.25 * (right - above.box.x0)
    return indented or early


def runs_on(before: Block, after: Block) -> bool:
    """Say whether a block that stops at the end of a column or page goes on in the next."""
    if before.kind == after.kind == "list":
        return before.last.size == after.last.size
    if before.kind not in ("paragraph", "list") or after.kind != "paragraph":
        return False
    line, first = before.last, after.items[0][0]
    if line.size != first.size or _END.search(line.text):
        return False
    full = line.box.x1 >= max(other.box.x1 for other in before.items[-1]) - line.size
    return first.text[0].islower() or (full and before.kind == "paragraph")
