"""The drawings of a PDF, and the words that belong to them."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

import regex

from chunking_lib.formats.pdf_lines import Box, Line
from chunking_lib.formats.pdf_page import Page

__all__ = ["CAPTION", "Figure", "find_figures"]

# "Figure 3", "Abb. 2:", "Photo:"; not "Figure 3 shows", for a sentence goes on in small letters.
CAPTION = regex.compile(
    r"(?:fig(?:ures?|s)?|abb(?:ildung)?|bild|foto|karte|grafik|diagramm|schaubild|chart|graph"
    r"|diagram|map|plan|plate|photo(?:graph)?|picture|image|illustration|exhibit|figur[ae]?|carte"
    r"|imagen|gráfico|mapa|immagine|图|圖|図)\.?"
    r"(?:\s*:|(?:\s*\d[\d.-]*[a-z]?|\s+[ivxlc]+)(?:\s*[.:)|–—]|(?!\w|\s*(?-i:\p{Ll}))))",
    regex.IGNORECASE,
)


class Figure(NamedTuple):
    """A drawing: its place and that of its labels, the labels, and the places of its shapes."""

    box: Box
    labels: list[Line]
    shapes: list[Box]


def find_figures(page: Page, body: float) -> tuple[list[Figure], list[Line]]:
    """Return the drawings of a page, and its pieces without their words and numbers.

    1. Shapes that touch make a drawing; one or two lines, a box, or stripes behind rows do not,
       nor do a frame alone and the colour of the whole page.
    2. Small text inside belongs to it, and so do short texts of that size close by (labels of
       axes, a legend), and what is close to these; but no caption, nor what is beyond it.
    """
    captions = [piece.box for piece in page.pieces if CAPTION.match(piece.text)]
    pieces = list(page.pieces)
    figures = []
    for drawing, shapes in _drawings(page):
        room = _room(drawing, captions)
        others = [piece for piece in pieces if room.holds(piece.box)]
        found = {p for p in others if p.size < 0.8 * body and drawing.near(p.box)}
        limit = max((piece.size for piece in found), default=0.7 * body)
        figure, labels = drawing, found
        while True:
            for piece in found:
                figure = figure.around(piece.box)
            found = {
                piece
                for piece in others
                if piece not in labels
                and piece.size <= limit
                and len(piece.words) <= 8
                and figure.near(piece.box, 2 * piece.size)
            }
            if not found:
                break
            labels = labels | found
        figures.append(Figure(figure, [piece for piece in pieces if piece in labels], shapes))
        pieces = [piece for piece in pieces if piece not in labels]
    return figures, pieces


def _room(drawing: Box, captions: Sequence[Box]) -> Box:
    """Return where the labels of a drawing may stand: up to the captions above and below."""
    top, bottom = -inf, inf
    middle = (drawing.top + drawing.bottom) / 2
    for caption in captions:
        if caption.x0 < drawing.x1 and drawing.x0 < caption.x1:
            if caption.top > middle:
                bottom = min(bottom, caption.top)
            else:
                top = max(top, caption.bottom)
    return Box(-inf, top, inf, bottom)


def _drawings(page: Page) -> list[tuple[Box, list[Box]]]:
    groups: list[tuple[Box, list[tuple[Box, bool]]]] = []
    done: list[tuple[Box, list[tuple[Box, bool]]]] = []
    for shape in sorted(shape for shape in page.shapes if not _covers(page.frame, shape[0])):
        box, members = shape[0], [shape]
        apart = []
        for group in groups:
            if group[0].near(box, 3):
                box = box.around(group[0])
                # Add the short list to the long one: thousands of shapes may make one drawing.
                members, rest = sorted((group[1], members), key=len, reverse=True)
                members += rest
            elif group[0].x1 + 3 < shape[0].x0:  # shapes come from left to right: none touches it
                done.append(group)
            else:
                apart.append(group)
        groups = [*apart, (box, members)]
    found = []
    for box, members in done + groups:
        edges = {(round(member.x0), round(member.x1)) for member, _ in members}
        curved = any(curve for _, curve in members)
        large = min(box.x1 - box.x0, box.bottom - box.top) > 20
        filled = any(_is_inside(box, member) for member, _ in members)
        if large and filled and len(edges) > 1 and len(members) >= (3 if curved else 5):
            found.append((box, [member for member, _ in members]))
    return found


def _covers(frame: Box, shape: Box) -> bool:
    """Say whether this is the colour of the page: it touches everything, and belongs to nothing."""
    width, height = frame.x1 - frame.x0, frame.bottom - frame.top
    return shape.x1 - shape.x0 > 0.9 * width and shape.bottom - shape.top > 0.9 * height


def _is_inside(box: Box, shape: Box) -> bool:
    """Say whether a shape is more than a part of the frame around a drawing."""
    x, y = (shape.x0 + shape.x1) / 2, (shape.top + shape.bottom) / 2
    return box.x0 + 3 < x < box.x1 - 3 and box.top + 3 < y < box.bottom - 3
