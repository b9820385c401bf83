"""What a PDF is made of: boxes, words, lines and tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = ["Box", "Item", "Line", "Table", "Word", "merge_lines"]


class Box(NamedTuple):
    """A rectangle, in points from the top left corner of the page."""

    x0: float
    top: float
    x1: float
    bottom: float

    def near(self, other: Box, distance: float = 0) -> bool:
        return (
            self.x0 - distance <= other.x1
            and other.x0 <= self.x1 + distance
            and self.top - distance <= other.bottom
            and other.top <= self.bottom + distance
        )

    def holds(self, other: Box) -> bool:
        """Say whether the middle of `other` lies inside."""
        x, y = (other.x0 + other.x1) / 2, (other.top + other.bottom) / 2
        return self.x0 <= x <= self.x1 and self.top <= y <= self.bottom

    def around(self, other: Box) -> Box:
        return Box(
            min(self.x0, other.x0),
            min(self.top, other.top),
            max(self.x1, other.x1),
            max(self.bottom, other.bottom),
        )


class Word(NamedTuple):
    """A word, the size most of it has, and the size of its first character."""

    text: str
    box: Box
    size: float
    bold: bool
    first_size: float


@dataclass(slots=True, eq=False)
class Line:
    """Words on one base line, from left to right."""

    words: list[Word]
    page: int
    turned: bool = False  # it does not run from left to right
    box: Box = field(init=False)
    size: float = field(init=False)
    bold: bool = field(init=False)
    text: str = field(init=False)

    def __post_init__(self) -> None:
        self.words.sort(key=lambda word: word.box.x0)
        sizes: Counter[float] = Counter()
        for word in self.words:
            sizes[word.size] += len(word.text)
        self.size = sizes.most_common(1)[0][0]
        main = [word for word in self.words if word.size == self.size]
        self.bold = all(word.bold for word in main)
        # The height of the main text alone: a raised footnote mark must not move the line.
        self.box = Box(
            self.words[0].box.x0,
            min(word.box.top for word in main),
            max(word.box.x1 for word in self.words),
            max(word.box.bottom for word in main),
        )
        self.text = " ".join(word.text for word in self.words)

    def split(self, gap: float) -> list[list[Word]]:
        """Return the words in groups, divided where more than `gap` sizes are left free."""
        groups = [[self.words[0]]]
        for word in self.words[1:]:
            if word.box.x0 - groups[-1][-1].box.x1 > gap * self.size:
                groups.append([])
            groups[-1].append(word)
        return groups


@dataclass(slots=True, eq=False)
class Table:
    """A table; a cell is a list of lines. Each row has its place."""

    rows: list[list[list[str]]]
    places: list[Box]
    box: Box
    page: int


Item = Line | Table


def merge_lines(pieces: Iterable[Line]) -> list[Line]:
    """Put together what stands on one base line, and sort the lines from top to bottom."""
    lines: list[list[Line]] = []
    boxes: list[Box] = []
    for piece in sorted(pieces, key=lambda piece: (piece.box.top, piece.box.x0)):
        box = piece.box
        for i in range(len(lines) - 1, max(len(lines) - 6, -1), -1):
            shared = min(box.bottom, boxes[i].bottom) - max(box.top, boxes[i].top)
            if shared > 0.5 * min(box.bottom - box.top, boxes[i].bottom - boxes[i].top):
                lines[i].append(piece)
                if piece.size > lines[i][0].size:  # a small mark came first
                    boxes[i] = box
                break
        else:
            lines.append([piece])
            boxes.append(box)
    merged = [Line([word for part in line for word in part.words], line[0].page) for line in lines]
    return sorted(merged, key=lambda line: line.box.top)
