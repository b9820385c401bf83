"""What is printed on a page of a PDF: words, lines, tables and figures, by where they stand."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

from chunking_lib.formats.html_blocks import clean
from chunking_lib.formats.pdf_lines import Box, Line, Table, Word, merge_lines
from chunking_lib.formats.pdf_tables import find_ruled, read_ruled

__all__ = ["Page", "read_page"]

_UNMAPPED = re.compile(r"\(cid:\d+\)")  # how pdfminer writes a code without a letter
_CONTROLS = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_EDGES = ("x0", "top", "x1", "bottom")
_BOLD = re.compile("bold|black|heavy|demi", re.IGNORECASE)


@dataclass(slots=True)
class Page:
    """A page: pieces of lines, ruled tables, and the boxes of what is drawn.

    Boxes are as in pdfplumber; `frame` is the part of the page that a reader sees.
    """

    number: int
    height: float
    frame: Box
    pieces: list[Line]
    tables: list[Table]
    shapes: list[tuple[Box, bool]]  # and whether it is a curve
    pictures: list[tuple[Box, str]]  # and letters that are the same for the same picture
    letters: int  # characters that are no blanks
    unmapped: int  # of these, those of which the file does not say which letter they are

    def seen(self, box: Box) -> Box:
        """Return a box as a reader sees it: cut at the edges of `frame`, from its corner."""
        frame = self.frame
        x0, x1 = (min(max(x, frame.x0), frame.x1) - frame.x0 for x in (box.x0, box.x1))
        top, bottom = (
            min(max(y, frame.top), frame.bottom) - frame.top for y in (box.top, box.bottom)
        )
        return Box(*(round(edge, 1) for edge in (x0, top, x1, bottom)))


def read_page(page: Any, number: int) -> Page:
    """Read a page of pdfplumber.

    A piece of a line ends where a gap is wider than between words: at the edge of a column or of a
    table cell. Words inside ruled tables go into the table. A character without a letter is U+FFFD.
    """
    unmapped = [char for char in page.chars if _UNMAPPED.fullmatch(char["text"])]
    for character in unmapped:
        character["text"] = "\ufffd"
    letters = sum(not char["text"].isspace() for char in page.chars)
    characters, turned = _upright(page.chars)
    words = list(_words(page, characters))
    tables, shapes = [], []
    for found in find_ruled(page):
        table = read_ruled(found, words, number)
        if table is not None:
            tables.append(table)
            words = [word for word in words if not table.box.holds(word.box)]
    for kind in (page.lines, page.rects, page.curves):
        for shape in kind:
            box = Box(*(shape[name] for name in _EDGES))
            if not any(table.box.near(box, 1) for table in tables):
                shapes.append((box, kind is page.curves))
    pieces = [
        Line(group, number)
        for line in merge_lines([Line([word], number) for word in words])
        for group in line.split(0.8)
    ]
    pieces += [Line([word], number, turned=True) for word in _turned(turned)]
    pictures = [
        (Box(*(image[name] for name in _EDGES)), _fingerprint(image["stream"].get_rawdata()))
        for image in page.images
    ]
    return Page(
        number, page.height, _frame(page), pieces, tables, shapes, pictures, letters, len(unmapped)
    )


def _fingerprint(data: bytes | None) -> str:
    return hashlib.sha256(data or b"").hexdigest()


def _frame(page: Any) -> Box:
    """Return what is seen of a page; pdfplumber does not turn the crop box of a turned page."""
    x0, y0, x1, y1 = _sorted(page.page_obj.mediabox)
    left, low, right, high = _sorted(page.page_obj.cropbox)
    cuts = [max(cut, 0) for cut in (left - x0, y1 - high, x1 - right, low - y0)]
    turns = page.rotation // 90  # each of them brings what was below to the left
    from_left, from_top, from_right, from_bottom = cuts[-turns:] + cuts[:-turns]
    box = Box(*page.bbox)
    return Box(
        box.x0 + from_left, box.top + from_top, box.x1 - from_right, box.bottom - from_bottom
    )


def _sorted(corners: tuple[float, ...]) -> tuple[float, ...]:
    (x0, x1), (y0, y1) = sorted(corners[::2]), sorted(corners[1::2])
    return x0, y0, x1, y1


def _upright(characters: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], ...]:
    """Drop what is printed twice to look bold, and set turned text apart.

    The second print is moved by a tenth of the size, but by no more than half the width of the
    character: in "ll", which is narrow, the second "l" stands a whole width away.
    """
    kept: list[dict[str, Any]] = []
    turned: list[dict[str, Any]] = []
    seen: defaultdict[tuple[str, int, int], list[tuple[float, float]]] = defaultdict(list)
    for character in characters:
        # Upside down and vertical text are "upright" too, but do not run to the right.
        if not character["upright"] or character["adv"] * character["matrix"][0] < 0:
            turned.append(character)
            continue
        text, left, top = character["text"], character["x0"], character["top"]
        width, step = character["x1"] - left, character["size"] / 10 or 1
        if kept and kept[-1]["text"] == " " and _covers(character, kept[-1]):
            kept.pop()  # how some programs write a soft hyphen that is not used
        if not text.isspace():
            x, y = round(left / step), round(top / step)
            near = [seen.get((text, x + i, y + j), ()) for i in (0, -1, 1) for j in (0, -1, 1)]
            # Measured again: a cell of the grid is elsewhere for text of another size.
            if any(abs(u - left) <= width / 2 and abs(v - top) < 2 * step for u, v in chain(*near)):
                continue
            seen[text, x, y].append((left, top))
        kept.append(character)
    return kept, turned


def _covers(character: dict[str, Any], space: dict[str, Any]) -> bool:
    apart: float = abs(character["x0"] - space["x0"])
    level: float = abs(character["top"] - space["top"])
    return level < 1 and apart < (space["x1"] - space["x0"]) / 2


def _turned(characters: list[dict[str, Any]]) -> Iterator[Word]:
    """Yield runs of turned text, in the order of the file, each as if it were one word."""
    runs: list[tuple[str, Box, float]] = []
    for character in characters:
        box = Box(*(character[name] for name in _EDGES))
        size = max(box.x1 - box.x0, box.bottom - box.top)
        if runs and box.near(runs[-1][1], size):
            runs[-1] = runs[-1][0] + character["text"], runs[-1][1].around(box), size
        else:
            runs.append((character["text"], box, size))
    for text, box, size in runs:
        if text := " ".join(_tidy(text).split()):
            yield Word(text, box, round(size * 2) / 2, False, size)


def _words(page: Any, characters: list[dict[str, Any]]) -> Iterator[Word]:
    from pdfplumber.utils.text import extract_words

    # A space is about a quarter of the size; some files have gaps only and no spaces.
    for word in extract_words(characters, x_tolerance_ratio=0.15, return_chars=True):
        text = _tidy(word["text"])
        if not text:
            continue
        parts = word["chars"]
        size = Counter(round(part["size"] * 2) / 2 for part in parts).most_common(1)[0][0]
        bold = sum(bool(_BOLD.search(part["fontname"])) for part in parts) * 2 > len(parts)
        box = Box(*(word[name] for name in _EDGES))
        yield Word(text, box, size, bold, parts[0]["size"])


def _tidy(text: str) -> str:
    """Bring text into the form NFC; ligatures become letters. A soft hyphen at the end stays.

    Control characters are debris of the text layer: a database refuses the whole batch for a NUL.
    """
    text = _CONTROLS.sub("", text)
    for ligature in set(re.findall("[\ufb00-\ufb06]", text)):
        text = text.replace(ligature, unicodedata.normalize("NFKC", ligature))
    end = "\u00ad" if text.endswith("\u00ad") else ""
    return unicodedata.normalize("NFC", clean(text).strip()) + end
