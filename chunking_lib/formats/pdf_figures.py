"""The drawings of a PDF, and the words that belong to them."""

from __future__ import annotations

from chunking_lib.formats.pdf_lines import Box, Line
from chunking_lib.formats.pdf_page import Page

__all__ = ["without_figures"]


def without_figures(page: Page, body: float) -> list[Line]:
    """Return the pieces of a page without the words and numbers of its drawings.

    1. Shapes that touch make a drawing; one or two lines, a box, or stripes behind rows do not.
    2. Small text inside belongs to it, and so do short texts of that size close by (labels of
       axes, a legend), and what is close to these.
    """
    pieces = list(page.pieces)
    for figure in _drawings(page):
        small = [p for p in pieces if p.size < 0.8 * body and figure.near(p.box)]
        limit = max((piece.size for piece in small), default=0.7 * body)
        for piece in small:
            figure = figure.around(piece.box)
        pieces = [piece for piece in pieces if piece not in small]
        while near := [
            piece
            for piece in pieces
            if piece.size <= limit
            and len(piece.words) <= 8
            and figure.near(piece.box, 2 * piece.size)
        ]:
            for piece in near:
                figure = figure.around(piece.box)
            pieces = [piece for piece in pieces if piece not in near]
    return pieces


def _drawings(page: Page) -> list[Box]:
    groups: list[tuple[Box, list[tuple[Box, bool]]]] = []
    done: list[tuple[Box, list[tuple[Box, bool]]]] = []
    for shape in sorted(page.shapes):
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
        if large and len(edges) > 1 and len(members) >= (3 if curved else 5):
            found.append(box)
    return found
