"""Build the three PDFs of the corpus and the text that a good loader must get out of them.

    python make_pdfs.py            build corpus/*.pdf and canonical/*.pdf.txt, then check them
    python make_pdfs.py --check    build in a temporary folder, check, compare with what is here

Each annual report is set from one source (``annual_report_<year>.src.txt``). The PDF and its
canonical text are written from the same parsed blocks, so they agree by construction;
:func:`check_report` reads the finished PDF back with two other programs and makes sure of it.
The rules of the canonical text are in ``../canonical/PDF.md``, the marks of the source format in
:func:`parse_source`.

Pinned versions, Python 3.11: reportlab 5.1.0, pillow 13.0.0, pypdfium2 5.15.2, pdfplumber 0.11.10,
pyphen 0.18.1. Fonts: Liberation 2, from /usr/share/fonts/truetype/liberation (Debian package
fonts-liberation); their SHA-256 sums are in :data:`FONT_SUMS`. With these versions and fonts a
rebuild gives the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import random
import re
import sys
import tempfile
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pdfplumber
import pypdfium2
import pyphen
from PIL import Image, ImageDraw, ImageFilter, ImageFont
from reportlab import rl_config
from reportlab.lib.colors import HexColor
from reportlab.lib.pagesizes import A4
from reportlab.lib.utils import ImageReader
from reportlab.pdfbase import pdfmetrics, ttfonts
from reportlab.pdfgen.canvas import Canvas

BUILD = Path(__file__).resolve().parent
DATA = BUILD.parent
FONT_DIR = Path("/usr/share/fonts/truetype/liberation")
REPORTS = ("annual_report_2023", "annual_report_2024")
NOTICE = "notice_pier_closure"

#: Font name in this script -> (file, first 16 hex digits of its SHA-256).
FONT_SUMS = {
    "Serif": ("LiberationSerif-Regular.ttf", "1c9c77c2cd0f3c2d"),
    "SerifItalic": ("LiberationSerif-Italic.ttf", "ccd19036f8e8599e"),
    "Sans": ("LiberationSans-Regular.ttf", "f8ace1f892b2bd9d"),
    "SansBold": ("LiberationSans-Bold.ttf", "361c61b82d575c5c"),
}

PAGE_W, PAGE_H = A4
LEFT, RIGHT = 79.0, PAGE_W - 79.0
TOP, BOTTOM = PAGE_H - 92.0, 78.0
GUTTER = 22.0
TEAL, INK, GREY = HexColor("#0b5563"), HexColor("#1a1a1a"), HexColor("#5f6b6d")
PALE, RULE, SAND = HexColor("#e3eef0"), HexColor("#8aa5aa"), HexColor("#d9a441")

NBSP, SHY, FI, FL = "\u00a0", "\u00ad", "\ufb01", "\ufb02"
#: reportlab turns a no-break space into a plain one; it travels under this code instead.
NBSP_ALIAS = 0xE0A0
#: After a true hyphen at which a line may end; never drawn.
MAY_BREAK = "\ue001"
FOOTNOTE_MARKS = "¹²³"


@dataclass(frozen=True)
class Style:
    """How a text is set: fonts, size, line distance, space above, colour, justified or not."""

    font: str
    size: float
    leading: float
    before: float
    italic: str | None = None
    colour: HexColor = INK
    justify: bool = False
    indent: float = 0.0


STYLES = {
    "chapter": Style("SansBold", 19, 23, 20, colour=TEAL),
    "section": Style("SansBold", 12, 15, 12, colour=TEAL),
    "body": Style("Serif", 11, 15.2, 7, "SerifItalic", justify=True),
    "column": Style("Serif", 10.5, 14.2, 5, "SerifItalic", justify=True),
    "bullet": Style("Serif", 11, 15.2, 4, "SerifItalic", indent=14),
    "footnote": Style("Serif", 8.5, 10.6, 4, "SerifItalic", colour=GREY),
    "tabletitle": Style("SansBold", 9, 12, 12),
    "caption": Style("SerifItalic", 9.5, 12.2, 5),
}
#: In columns the headings stand closer.
COLUMN_STYLES = {
    "chapter": Style("SansBold", 19, 23, 16, colour=TEAL),
    "section": Style("SansBold", 12, 15, 9, colour=TEAL),
}


# --------------------------------------------------------------------------------------------------
# Source


@dataclass
class Block:
    """One block of the source: what is drawn and what goes into the canonical text."""

    kind: str
    text: str = ""
    rows: list[list[str]] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)
    ruled: bool = False
    items: list[str] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)


def parse_source(path: Path) -> list[Block]:
    r"""Read a source file into blocks.

    ``!cover <role> text``; ``@page one|two`` starts a page with that many columns; ``#`` chapter,
    ``##`` section; ``- `` bullet; ``^ `` footnote; ``!table ruled|plain widths`` followed by the
    title line and pipe rows; ``!figure bars|lines`` followed by ``y``, ``x``, ``series``, pipe
    rows and ``caption``. Every other line is a paragraph. In text, ``*x*`` is italic, ``~`` a
    no-break space, ``\-`` a soft hyphen, ``\=`` a true hyphen at which a line may end (it may
    not at others).
    """
    blocks: list[Block] = []
    text = path.read_text(encoding="utf-8")
    for mark, char in (("~", NBSP), ("\\-", SHY), ("\\=", "-" + MAY_BREAK)):
        text = text.replace(mark, char)
    lines = iter(text.split("\n"))
    current: Block | None = None
    for line in lines:
        if line.startswith("|") and current is not None:
            current.rows.append([cell.strip() for cell in line.strip("|").split("|")])
        elif (
            current is not None
            and current.kind == "figure"
            and (m := re.match(r"(y|x|series|caption) (.+)", line))
        ):
            if m[1] == "caption":
                current.text = m[2]
            else:
                current.options[m[1]] = m[2]
        elif not line:
            continue
        elif m := re.match(r"!cover (\w+) (.+)", line):
            blocks.append(Block("cover", m[2], options={"role": m[1]}))
        elif m := re.match(r"@page (one|two)", line):
            blocks.append(Block("page", m[1]))
        elif m := re.match(r"(##?) (.+)", line):
            blocks.append(Block("chapter" if m[1] == "#" else "section", m[2]))
        elif line.startswith("- "):
            if blocks[-1].kind != "bullets":
                blocks.append(Block("bullets"))
            blocks[-1].items.append(line[2:])
        elif line.startswith("^ "):
            blocks.append(Block("footnote", line[2:]))
        elif m := re.match(r"!table (ruled|plain) ([\d ]+)", line):
            current = Block(
                "table", next(lines), ruled=m[1] == "ruled", widths=[float(w) for w in m[2].split()]
            )
            blocks.append(current)
        elif m := re.match(r"!figure (bars|lines)", line):
            current = Block("figure", options={"kind": m[1]})
            blocks.append(current)
        else:
            blocks.append(Block("paragraph", line))
    return blocks


# --------------------------------------------------------------------------------------------------
# Lines


def ligate(text: str) -> str:
    """Put in the two ligatures that the font has (not after another f, where it has none)."""
    return re.sub(r"(?<!f)fl", FL, re.sub(r"(?<!f)fi", FI, text))


def width_of(text: str, font: str, size: float) -> float:
    """Width of a text in points."""
    return float(pdfmetrics.stringWidth(text.replace(NBSP, " "), font, size))


@dataclass
class Fragment:
    """A piece of a word that is never broken: runs of (font, text), and what may follow it.

    ``after`` is "space", "auto" (a hyphen is put in), "true" (the fragment ends in its own hyphen),
    "soft" (a soft hyphen is put in), "none" or "end".
    """

    runs: list[tuple[str, str]]
    after: str
    width: float = 0.0


@dataclass
class Line:
    """A line ready to draw."""

    runs: list[tuple[str, str]]
    natural: float
    spaces: int
    last: bool
    ends: str


HYPHENATOR = pyphen.Pyphen(lang="en_GB", left=3, right=3)


def cut_word(
    chars: list[tuple[str, str]], hyphenate: bool
) -> Iterator[tuple[list[tuple[str, str]], str]]:
    """Cut one word, given as (font, character) pairs, at its break points."""
    word = "".join(c for _, c in chars)
    breaks: dict[int, str] = {}
    if hyphenate:
        for m in re.finditer(f"[{SHY}{MAY_BREAK}]", word):
            breaks[m.end()] = "soft" if m[0] == SHY else "true"
        plain = word.rstrip(".,;:?!)”’")
        if re.fullmatch(r"[a-z]{7,}", plain):
            for position in HYPHENATOR.positions(plain):
                breaks[int(position)] = "auto"
    start = 0
    for position in [*sorted(breaks), len(word)]:
        piece = [(f, c) for f, c in chars[start:position] if c not in (SHY, MAY_BREAK)]
        yield piece, breaks.get(position, "none")
        start = position


def fragments(text: str, style: Style) -> list[Fragment]:
    """Cut a text into fragments, with their widths."""
    chars: list[tuple[str, str]] = []
    italic = False
    for c in text:
        if c == "*":
            italic = not italic
        else:
            chars.append((style.italic if italic and style.italic else style.font, c))
    words: list[list[tuple[str, str]]] = [[]]
    for f, c in chars:
        if c == " ":
            words.append([])
        else:
            words[-1].append((f, c))
    result: list[Fragment] = []
    for word in words:
        for piece, after in cut_word(word, style.justify):
            runs: list[tuple[str, str]] = []
            for f, c in piece:
                if runs and runs[-1][0] == f:
                    runs[-1] = (f, runs[-1][1] + c)
                else:
                    runs.append((f, c))
            runs = [(f, ligate(t)) for f, t in runs]
            result.append(Fragment(runs, after, sum(width_of(t, f, style.size) for f, t in runs)))
        result[-1].after = "space"
    result[-1].after = "end"
    return result


def break_lines(text: str, style: Style, width: float) -> list[Line]:
    """Break a text into lines, by the set of breaks that costs least."""
    parts = fragments(text, style)
    space = width_of(" ", style.font, style.size)
    hyphen = width_of("-", style.font, style.size)
    # best[j]: least cost of setting parts[:j], with the break before part j
    best: list[tuple[float, int]] = [(0.0, -1)] + [(float("inf"), -1)] * len(parts)
    for i in range(len(parts)):
        if best[i][0] == float("inf"):
            continue
        natural, spaces = 0.0, 0
        for j in range(i + 1, len(parts) + 1):
            part = parts[j - 1]
            natural += part.width
            room = width - natural - (hyphen if part.after in ("auto", "soft") else 0.0)
            shrink = 0.12 * space * spaces if style.justify else 0.0
            if room < -shrink - 0.01 and j > i + 1:
                break
            if part.after != "none":
                cost = best[i][0]
                if part.after == "end":
                    cost += 0.0 if spaces or j == 1 else 60.0
                elif style.justify:
                    ratio = room / (0.5 * space * spaces) if spaces else 12.0
                    cost += (1 + 9 * abs(ratio) ** 3) ** 1.2
                    cost += {"auto": 4.0, "soft": -200.0, "true": -400.0}.get(part.after, 0.0)
                    if (
                        i
                        and parts[i - 1].after in ("auto", "true", "soft")
                        and part.after in ("auto", "true", "soft")
                    ):
                        cost += 60.0
                else:
                    cost += (room / space) ** 2
                if cost < best[j][0]:
                    best[j] = (cost, i)
            if part.after == "space":
                natural += space
                spaces += 1
    cuts = [len(parts)]
    while cuts[0]:
        cuts.insert(0, best[cuts[0]][1])
    lines: list[Line] = []
    for i, j in pairwise(cuts):
        runs: list[tuple[str, str]] = []
        for k in range(i, j):
            extra = " " if parts[k].after == "space" and k < j - 1 else ""
            if k == j - 1:
                extra = {"auto": "-", "soft": SHY}.get(parts[k].after, "")
            for n, (f, t) in enumerate(parts[k].runs):
                t += extra if n == len(parts[k].runs) - 1 else ""
                if runs and runs[-1][0] == f:
                    runs[-1] = (f, runs[-1][1] + t)
                else:
                    runs.append((f, t))
        natural = sum(width_of(t, f, style.size) for f, t in runs)
        spaces = sum(t.count(" ") for _, t in runs)
        lines.append(Line(runs, natural, spaces, j == len(parts), parts[j - 1].after))
    return lines


def draw_line(
    canvas: Canvas, line: Line, style: Style, x: float, baseline: float, width: float
) -> None:
    """Draw one line, its spaces widened or narrowed if it is justified."""
    text = canvas.beginText(x, baseline)
    text.setFillColor(style.colour)
    if style.justify and line.spaces and (not line.last or line.natural > width):
        text.setWordSpace((width - line.natural) / line.spaces)
    for font, run in line.runs:
        text.setFont(font, style.size)
        text.textOut(run.replace(NBSP, chr(NBSP_ALIAS)))
    text.setWordSpace(0)
    canvas.drawText(text)


# --------------------------------------------------------------------------------------------------
# Pages


@dataclass
class Piece:
    """What is placed in one go: a line of text, a table or a figure."""

    block: int
    height: float
    before: float
    glued: bool
    draw: Callable[[Canvas, float, float], None]
    words: str
    line: Line | None = None


@dataclass
class Placed:
    """A piece and the place of its upper left corner."""

    piece: Piece
    page: int
    frame: int
    x: float
    y: float


def text_pieces(
    index: int, text: str, style: Style, width: float, keep: bool = False, mark: str = ""
) -> list[Piece]:
    """The lines of a text; ``keep`` ties the last line to what follows, ``mark`` hangs a bullet."""
    lines = break_lines(text, style, width - style.indent)
    pieces = []
    for n, line in enumerate(lines):

        def draw(
            canvas: Canvas, x: float, y: float, line: Line = line, first: bool = n == 0
        ) -> None:
            baseline = y - style.leading * 0.76
            if mark and first:
                bullet = Line([(style.font, mark)], 0.0, 0, True, "end")
                draw_line(canvas, bullet, style, x, baseline, width)
            draw_line(canvas, line, style, x + style.indent, baseline, width - style.indent)

        glued = keep or (len(lines) > 1 and (n == 0 or n == len(lines) - 2))
        if n == len(lines) - 1:
            glued = keep
        words = "".join(t for _, t in line.runs)
        pieces.append(
            Piece(index, style.leading, style.before if n == 0 else 0.0, glued, draw, words, line)
        )
    return pieces


def table_piece(index: int, block: Block, width: float) -> Piece:
    """A table under its title: ruled, or plain with its columns kept apart by space alone."""
    title, size, row_h = STYLES["tabletitle"], 9.0, 18.0 if block.ruled else 16.0
    head = 17.0
    total = sum(block.widths)
    if total > width + 0.5:
        raise ValueError(f"table too wide: {block.text}")

    def draw(canvas: Canvas, x: float, y: float) -> None:
        canvas.setFillColor(INK)
        canvas.setFont(title.font, title.size)
        canvas.drawString(x, y - 9, block.text)
        top = y - head
        if block.ruled:
            canvas.setFillColor(PALE)
            canvas.rect(x, top - row_h, total, row_h, stroke=0, fill=1)
        for r, row in enumerate(block.rows):
            font = "SansBold" if r == 0 or row[0].startswith("All ") else "Sans"
            canvas.setFillColor(INK)
            canvas.setFont(font, size)
            left = x
            for c, (cell, w) in enumerate(zip(row, block.widths, strict=True)):
                base = top - r * row_h - row_h * 0.66
                pad = 6.0 if block.ruled else 0.0
                if c == 0:
                    canvas.drawString(left + pad, base, cell)
                else:
                    # the mark of a footnote or restatement hangs outside, so that the digits align
                    m = re.fullmatch(r"(.*?)([¹²³]| \(r\))?", cell)
                    assert m is not None
                    hang = m[2] or ""
                    room = 15.0 if block.ruled or any("(r)" in q[c] for q in block.rows) else pad
                    right = left + w - max(room, 8.0)
                    canvas.drawString(right - width_of(m[1], font, size), base, m[1] + hang)
                left += w
        if block.ruled:
            canvas.setStrokeColor(RULE)
            canvas.setLineWidth(0.6)
            bottom = top - row_h * len(block.rows)
            for r in range(len(block.rows) + 1):
                canvas.line(x, top - r * row_h, x + total, top - r * row_h)
            left = x
            for w in [*block.widths, 0.0]:
                canvas.line(left, top, left, bottom)
                left += w

    words = block.text + " " + " ".join(" ".join(row) for row in block.rows)
    return Piece(index, head + row_h * len(block.rows) + 5, title.before, False, draw, words)


def figure_piece(index: int, block: Block, width: float) -> list[Piece]:
    """A bar or line chart, and its caption tied to it."""
    height, size = 158.0, 7.5
    labels = [row[0] for row in block.rows]
    series = [[float(row[c]) for row in block.rows] for c in range(1, len(block.rows[0]))]
    limit = 400.0

    def draw(canvas: Canvas, x: float, y: float) -> None:
        x0, x1, y0, y1 = x + 42, x + width - 6, y - height + 30, y - 12
        step = (x1 - x0) / len(labels)
        canvas.setStrokeColor(GREY)
        canvas.setLineWidth(0.7)
        canvas.line(x0, y0, x1, y0)
        canvas.line(x0, y0, x0, y1)
        canvas.setFillColor(GREY)
        canvas.setFont("Sans", size)
        for tick in range(0, int(limit) + 1, 100):
            ty = y0 + (y1 - y0) * tick / limit
            canvas.line(x0 - 3, ty, x0, ty)
            canvas.drawRightString(x0 - 6, ty - 2.6, str(tick))
        for n, label in enumerate(labels):
            canvas.drawCentredString(x0 + (n + 0.5) * step, y0 - 10, label)
        canvas.drawCentredString((x0 + x1) / 2, y0 - 22, block.options["x"])
        canvas.saveState()
        canvas.translate(x + 9, (y0 + y1) / 2)
        canvas.rotate(90)
        canvas.drawCentredString(0, 0, block.options["y"])
        canvas.restoreState()
        if block.options["kind"] == "bars":
            for n, value in enumerate(series[0]):
                h = (y1 - y0) * value / limit
                canvas.setFillColor(TEAL)
                canvas.rect(x0 + n * step + step * 0.2, y0, step * 0.6, h, stroke=0, fill=1)
                canvas.setFillColor(GREY)
                canvas.drawCentredString(x0 + (n + 0.5) * step, y0 + h + 3, f"{value:.0f}")
            return
        names = block.options["series"].split()
        for k, (name, values, colour) in enumerate(zip(names, series, (SAND, TEAL), strict=True)):
            points = [
                (x0 + (n + 0.5) * step, y0 + (y1 - y0) * v / limit) for n, v in enumerate(values)
            ]
            canvas.setStrokeColor(colour)
            canvas.setFillColor(colour)
            canvas.setLineWidth(1.6)
            path = canvas.beginPath()
            path.moveTo(*points[0])
            for point in points[1:]:
                path.lineTo(*point)
            canvas.drawPath(path, stroke=1, fill=0)
            for px, py in points:
                canvas.circle(px, py, 2.1, stroke=0, fill=1)
            canvas.line(x0 + 16, y1 - 6 - 12 * k, x0 + 34, y1 - 6 - 12 * k)
            canvas.setFillColor(GREY)
            canvas.drawString(x0 + 38, y1 - 8.6 - 12 * k, name)

    chart = Piece(index, height, 12, True, draw, "")
    return [chart, *text_pieces(index, block.text, STYLES["caption"], width)]


def pieces_of(index: int, block: Block, columns: int) -> list[Piece]:
    """All pieces of a block, for a page with one or two columns."""
    width = RIGHT - LEFT if columns == 1 else (RIGHT - LEFT - GUTTER) / 2
    if block.kind in ("chapter", "section"):
        style = (COLUMN_STYLES if columns == 2 else STYLES)[block.kind]
        return text_pieces(index, block.text, style, width, keep=True)
    if block.kind == "paragraph":
        style = STYLES["column" if columns == 2 else "body"]
        return text_pieces(index, block.text, style, width, keep=block.text.endswith(":"))
    if block.kind == "bullets":
        pieces = [
            p
            for item in block.items
            for p in text_pieces(index, item, STYLES["bullet"], width, True, "•")
        ]
        pieces[-1].glued = False  # a list stays on one page
        return pieces
    if block.kind == "table":
        return [table_piece(index, block, width)]
    if block.kind == "figure":
        return figure_piece(index, block, width)
    raise ValueError(block.kind)


Layout = tuple[list[Placed], dict[int, list[int]], int]


def balanced(blocks: list[Block]) -> Layout:
    """The layout whose two-column page ends highest, so that its columns are about equally long."""
    for floor in range(400, -1, -2):
        try:
            layout = lay_out(blocks, float(floor))
        except OverflowError:
            continue
        inner = [(a, b) for a, b in pairwise(layout[0]) if a.page == b.page and a.frame != b.frame]
        if all(a.piece.block == b.piece.block and not bad_break(a.piece) for a, b in inner):
            return layout
    raise OverflowError("the two-column page is too full, or no paragraph can run on")


def bad_break(piece: Piece) -> bool:
    """Whether a column or page may not end with this line: it ends a sentence or is hyphenated."""
    assert piece.line is not None
    return piece.line.ends != "space" or bool(re.search(r"[.!?:]['”’]?[¹²³]?$", piece.words))


def lay_out(blocks: list[Block], floor: float) -> Layout:
    """Place all blocks, on a two-column page not lower than ``floor`` over the bottom.

    Returns the placed pieces, the footnotes (block numbers) by page, and the number of pages.
    """
    notes = {b.text[0]: i for i, b in enumerate(blocks) if b.kind == "footnote"}
    note_h = {
        i: sum(p.height for p in text_pieces(i, blocks[i].text, STYLES["footnote"], RIGHT - LEFT))
        for i in notes.values()
    }
    reserved: dict[int, float] = {}
    for _ in range(6):
        placed: list[Placed] = []
        page, frame, columns, y = 1, 0, 1, TOP
        unit: list[Piece] = []
        for index, block in enumerate(blocks):
            if block.kind in ("cover", "footnote"):
                continue
            if block.kind == "page":
                page, frame, columns, y = page + 1, 0, {"one": 1, "two": 2}[block.text], TOP
                continue
            for piece in pieces_of(index, block, columns):
                unit.append(piece)
                if piece.glued:
                    continue

                fresh = y == TOP
                limit = BOTTOM + reserved.get(page, 0.0) + (floor if columns == 2 else 0.0)
                height = sum(p.height + p.before for p in unit)
                if y - height < limit and not fresh:
                    if frame + 1 < columns:
                        frame += 1
                    elif columns == 2:
                        raise OverflowError(
                            f"two-column page {page} overflows at block {index}: {block.text[:40]}"
                        )
                    else:
                        page, frame = page + 1, 0
                    y, fresh = TOP, True
                for n, p in enumerate(unit):
                    y -= 0.0 if fresh and n == 0 else p.before
                    x = LEFT + frame * ((RIGHT - LEFT - GUTTER) / 2 + GUTTER)
                    placed.append(Placed(p, page, frame, x, y))
                    y -= p.height
                unit = []
        on_page: dict[int, list[int]] = {}
        for item in placed:
            for mark in FOOTNOTE_MARKS:
                if mark in item.piece.words:
                    on_page.setdefault(item.page, []).append(notes[mark])
        wanted = {p: 14.0 + sum(note_h[i] + 3 for i in ids) for p, ids in on_page.items()}
        # room once kept is not given back, or a mark could move to the next page and back for ever
        wanted = {
            p: max(wanted.get(p, 0.0), reserved.get(p, 0.0))
            for p in wanted.keys() | reserved.keys()
        }
        if wanted == reserved:
            return placed, on_page, page
        reserved = wanted
    raise RuntimeError("footnotes do not settle")


def draw_furniture(canvas: Canvas, name: str, page: int, pages: int) -> None:
    """Running header and footer."""
    canvas.setFillColor(GREY)
    canvas.setFont("Sans", 8)
    canvas.drawString(LEFT, PAGE_H - 52, "Merrow Sound Transit")
    canvas.drawRightString(RIGHT, PAGE_H - 52, name)
    canvas.setStrokeColor(RULE)
    canvas.setLineWidth(0.5)
    canvas.line(LEFT, PAGE_H - 58, RIGHT, PAGE_H - 58)
    canvas.drawCentredString(PAGE_W / 2, 40, f"Page {page} of {pages}")


def draw_cover(canvas: Canvas, blocks: list[Block]) -> None:
    """The title page: a coloured panel with the titles and some waves, and the imprint."""
    canvas.setFillColor(TEAL)
    canvas.rect(0, 360, PAGE_W, 380, stroke=0, fill=1)
    canvas.setLineWidth(2.2)
    for row, colour in enumerate((SAND, PALE, PALE)):
        canvas.setStrokeColor(colour)
        path = canvas.beginPath()
        y = 410 - 13 * row
        path.moveTo(-20 - 14 * row, y)
        for n in range(12):
            x = -20 - 14 * row + n * 58
            path.curveTo(x + 18, y + 15, x + 40, y - 15, x + 58, y)
        canvas.drawPath(path, stroke=1, fill=0)
    y_line = 300.0
    for block in blocks:
        role = block.options["role"]
        if role == "kicker":
            canvas.setFillColor(PALE)
            canvas.setFont("SansBold", 15)
            canvas.drawString(LEFT, 660, block.text)
        elif role == "title":
            canvas.setFillColor(HexColor("#ffffff"))
            canvas.setFont("SansBold", 38)
            canvas.drawString(LEFT, 560, block.text)
        elif role == "subtitle":
            canvas.setFillColor(PALE)
            canvas.setFont("Sans", 14)
            canvas.drawString(LEFT, 528, block.text)
        else:
            style = (
                Style("Serif", 12, 17, 0)
                if role == "line"
                else Style("Sans", 9, 12, 0, colour=GREY)
            )
            if role == "imprint":
                y_line = 112.0
            for piece in text_pieces(0, block.text, style, RIGHT - LEFT - 40):
                piece.draw(canvas, LEFT, y_line)
                y_line -= style.leading
            y_line -= 9


def build_report(source: Path, target: Path) -> tuple[str, list[list[str]]]:
    """Write one report. Returns its canonical text, and for each page the texts set on it."""
    blocks = parse_source(source)
    covers = [b for b in blocks if b.kind == "cover"]
    name = next(b.text for b in covers if b.options["role"] == "title")
    placed, notes, pages = balanced(blocks)
    canvas = Canvas(str(target), pagesize=A4, invariant=1, pageCompression=1, lang="en-GB")
    canvas.setTitle(name)
    canvas.setAuthor("Merrow Sound Transit")
    canvas.setSubject("Trams and ferries of Port Ellery")
    on_page: list[list[str]] = []
    for page in range(1, pages + 1):
        draw_furniture(canvas, name, page, pages)
        here = [item for item in placed if item.page == page]
        if page == 1:
            draw_cover(canvas, covers)
            on_page.append([b.text for b in covers])
        else:
            on_page.append([item.piece.words for item in here])
        for item in here:
            item.piece.draw(canvas, item.x, item.y)
        if page in notes:
            style = STYLES["footnote"]
            lines = [text_pieces(i, blocks[i].text, style, RIGHT - LEFT) for i in notes[page]]
            y = BOTTOM - 6 + sum(p.height for group in lines for p in group)
            canvas.setStrokeColor(RULE)
            canvas.setLineWidth(0.5)
            canvas.line(LEFT, y + 4, LEFT + 90, y + 4)
            for p in [p for group in lines for p in group]:
                p.draw(canvas, LEFT, y)
                y -= p.height
                on_page[-1].append(p.words)
        canvas.showPage()
    canvas.save()
    check_breaks(blocks, placed)
    return canonical_report(blocks, placed, notes), on_page


# --------------------------------------------------------------------------------------------------
# Canonical text


def clean(text: str) -> str:
    """Marks of the source out, ligatures and no-break spaces to plain letters and spaces, NFC."""
    for char, plain in (("*", ""), (SHY, ""), (MAY_BREAK, ""), (NBSP, " "), (FI, "fi"), (FL, "fl")):
        text = text.replace(char, plain)
    return unicodedata.normalize("NFC", text)


def pipe_table(rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "|" + " --- |" * len(rows[0]))
    return "\n".join(lines)


def canonical_report(blocks: list[Block], placed: list[Placed], notes: dict[int, list[int]]) -> str:
    """The blocks in reading order; footnotes come before the first block of a later page."""
    first_page = {
        i: min(q.page for q in placed if q.piece.block == i)
        for i in {q.piece.block for q in placed}
    }
    waiting = sorted(notes.items())
    out: list[str] = []
    for index, block in enumerate(blocks):
        if block.kind == "cover":
            out.append(block.text)
        if index not in first_page:
            continue
        while waiting and waiting[0][0] < first_page[index]:
            out.extend(blocks[i].text for i in waiting.pop(0)[1])
        if block.kind == "bullets":
            out.append("\n".join("- " + item for item in block.items))
        elif block.kind == "table":
            out.extend([block.text, pipe_table(block.rows)])
        else:
            out.append(block.text)
    for _, ids in waiting:
        out.extend(blocks[i].text for i in ids)
    return clean("\n\n".join(out)) + "\n"


# --------------------------------------------------------------------------------------------------
# Checks


def check_breaks(blocks: list[Block], placed: list[Placed]) -> None:
    """Make sure that a loader can put the lines together again.

    Where a paragraph runs over a column or page end there is no hyphen and no end of a sentence.
    Every compound broken at its own hyphen also stands unbroken elsewhere in the report, and no
    word that was hyphenated is found there with a hyphen.
    """
    text = clean(" ".join([b.text for b in blocks] + [i for b in blocks for i in b.items]))
    spans = 0
    for a, b in pairwise(placed):
        if a.piece.block == b.piece.block and (a.page, a.frame) != (b.page, b.frame):
            assert not bad_break(a.piece), (
                f"page {a.page} ends with a hyphen or a sentence: {a.piece.words}"
            )
            spans += 1
            print(f"  paragraph runs from page {a.page}/{a.frame + 1} to {b.page}/{b.frame + 1}")
    assert spans, "no paragraph runs over a page or column end"
    ends: dict[str, list[str]] = {"auto": [], "true": [], "soft": []}
    for a, b in pairwise(placed):
        if a.piece.line is not None and a.piece.line.ends in ends:
            head, tail = (
                clean(a.piece.words).split()[-1],
                clean(b.piece.words).split()[0].rstrip(".,;:)"),
            )
            kind = a.piece.line.ends
            joined = head + tail if kind != "auto" else head[:-1] + tail
            ends[kind].append(head + "|" + tail)
            if kind == "true":
                assert len(re.findall(r"(?<![\w-])" + re.escape(joined), text)) > 1, (
                    f"{joined} stands only once"
                )
            else:
                hyphened = head.rstrip("-") + "-" + tail
                assert hyphened.lower() not in text.lower(), f"{hyphened} is also a compound"
    for kind, found in ends.items():
        print(f"  line ends, {kind}: {len(found)}: {' '.join(found)}")
        assert found, f"no line ends in a hyphen of the kind {kind}"


def squeeze(text: str) -> str:
    """A text without spaces, hyphens and ligatures, to compare what is left."""
    return re.sub(r"[\s\u00ad\u0002\ufffe\uffff•-]", "", clean(text))


def check_report(pdf: Path, source: Path, canonical: str, on_page: list[list[str]]) -> None:
    """Read a report back with pypdfium2 and pdfplumber."""
    document = pypdfium2.PdfDocument(pdf)
    assert 6 <= len(document) <= 8, f"{len(document)} pages"
    assert pdf.stat().st_size < 200_000, f"{pdf.stat().st_size} bytes"
    texts = [page.get_textpage().get_text_range() for page in document]
    for number, (extracted, wanted) in enumerate(zip(texts, on_page, strict=True), 1):
        packed = squeeze(extracted)
        for part in wanted:
            assert squeeze(part) in packed, f"page {number}: not in one piece: {part!r}"
            for word in clean(part).split():
                assert squeeze(word) in packed, f"page {number}: {word!r} is missing"
        assert squeeze(f"Page {number} of {len(document)}") in packed
        assert squeeze("Merrow Sound Transit") in packed
    # and the other way round: the canonical text is made of exactly the words that were set
    whole = "".join(squeeze(p) for page in on_page for p in page)
    left = (
        re.sub(r"^\|(?: --- \|)+$", "", canonical, flags=re.M).replace(" | ", " ").replace("|", "")
    )
    assert sorted(whole) == sorted(squeeze(left)), "canonical text and pages differ"
    blocks = parse_source(source)
    tables = [b for b in blocks if b.kind == "table"]
    with pdfplumber.open(pdf) as plumber:
        chars = [c["text"] for page in plumber.pages for c in page.chars]
        for char, what in (
            (FI, "fi ligature"),
            (FL, "fl ligature"),
            (NBSP, "no-break space"),
            (SHY, "soft hyphen"),
        ):
            print(f"  {what}: {chars.count(char)}")
            assert char in chars, what
        found = [t.extract() for page in plumber.pages for t in page.find_tables()]
        for table in tables:
            if table.ruled:
                assert table.rows in found, f"{table.text}: not read back"
            else:
                check_columns(plumber, table)
        extra = [t for t in found if t not in [b.rows for b in tables]]
        print(
            f"  ruled tables read back: {len(found) - len(extra)}; other grids found: {len(extra)}"
        )


def check_columns(plumber: pdfplumber.pdf.PDF, table: Block) -> None:
    """Look whether the cells of an unruled table align: left in column 1, right in the others."""
    for page in plumber.pages:
        lines = page.extract_text_lines(return_chars=False)
        start = next((n for n, line in enumerate(lines) if line["text"] == table.text), None)
        if start is None:
            continue
        rows = lines[start + 1 : start + 1 + len(table.rows)]
        assert [r["text"] for r in rows] == [" ".join(r) for r in table.rows], table.text
        assert len({round(r["x0"], 1) for r in rows}) == 1, table.text
        words = page.extract_words(keep_blank_chars=True, x_tolerance=3)
        edges = LEFT
        for c, width in enumerate(table.widths):
            edges += width
            if c:
                ends = set()
                for row, line in zip(table.rows, rows, strict=True):
                    hits = [
                        w
                        for w in words
                        if abs(w["top"] - line["top"]) < 3
                        and w["text"] == row[c]
                        and edges - width < w["x1"] <= edges + 8
                    ]
                    assert hits, f"{table.text}: {row[c]} not alone in its column"
                    if not re.search(r"[¹²³]|\(r\)", row[c]):
                        ends.add(round(hits[0]["x1"], 1))
                assert len(ends) == 1, f"{table.text}: column {c} does not align: {ends}"
        return
    raise AssertionError(f"{table.text}: not found")


# --------------------------------------------------------------------------------------------------
# The scanned notice


def notice_blocks() -> list[tuple[str, str]]:
    """(role, text) of each block of the notice."""
    result = []
    for line in (BUILD / f"{NOTICE}.src.txt").read_text(encoding="utf-8").splitlines():
        m = re.match(r"!(\w+) (.+)", line)
        result.append((m[1], m[2]) if m else ("text", line))
    return result


def build_notice(target: Path) -> str:
    """Draw the notice, spoil it as a scanner does, and wrap it in a PDF without a text layer."""
    w, h = 1060, 1500  # A4 at about 128 dots an inch
    page = Image.new("L", (w, h), 246)
    pen = ImageDraw.Draw(page)
    fonts = {
        "kicker": ("LiberationSans-Bold.ttf", 26),
        "number": ("LiberationSans-Regular.ttf", 24),
        "title": ("LiberationSans-Bold.ttf", 46),
        "dates": ("LiberationSans-Bold.ttf", 34),
        "text": ("LiberationSerif-Regular.ttf", 29),
        "sign": ("LiberationSerif-Italic.ttf", 28),
    }
    x, y, right = 120, 130, w - 120
    previous = ""
    for role, text in notice_blocks():
        font = ImageFont.truetype(
            str(FONT_DIR / fonts[role][0]), fonts[role][1], layout_engine=ImageFont.Layout.BASIC
        )
        y += 34 if role != previous and previous else 18 if previous == "text" else 8
        line = ""
        for word in [*text.split(), ""]:
            if not word or pen.textlength(f"{line} {word}".strip(), font=font) > right - x:
                pen.text((x, y), line, font=font, fill=38)
                y += round(fonts[role][1] * 1.36)
                line = word
            else:
                line = f"{line} {word}".strip()
        if role == "number":
            pen.line((x, y + 14, right, y + 14), fill=60, width=3)
            y += 20
        previous = role
    page = page.rotate(-0.9, resample=Image.Resampling.BICUBIC, fillcolor=232)
    page = page.filter(ImageFilter.GaussianBlur(0.6))
    dice = random.Random(61)  # the grain must be the same in each build
    grain = Image.frombytes("L", (w, h), dice.randbytes(w * h)).filter(
        ImageFilter.GaussianBlur(0.8)
    )
    page = Image.blend(page, grain, 0.11)
    shade = Image.linear_gradient("L").resize((w, h)).point(lambda v: 255 - v // 9)
    page = Image.composite(page, Image.new("L", (w, h), 150), shade)
    jpeg = io.BytesIO()
    page.save(jpeg, "JPEG", quality=38, optimize=True, dpi=(128, 128))
    canvas = Canvas(str(target), pagesize=A4, invariant=1, pageCompression=1, lang="en-GB")
    canvas.setTitle("Scan 2025-10-06")
    canvas.drawImage(ImageReader(io.BytesIO(jpeg.getvalue())), 0, 0, PAGE_W, PAGE_H)
    canvas.save()
    return clean("\n\n".join(text for _, text in notice_blocks())) + "\n"


def check_notice(pdf: Path) -> None:
    """One page, no text, small."""
    document = pypdfium2.PdfDocument(pdf)
    assert len(document) == 1
    assert not document[0].get_textpage().get_text_range().strip(), "the notice has a text layer"
    assert pdf.stat().st_size < 150_000, f"{pdf.stat().st_size} bytes"


# --------------------------------------------------------------------------------------------------


def set_up_fonts() -> None:
    """Register the fonts and let a no-break space through to the text layer."""
    rl_config.useA85 = 0  # pictures and streams as bytes, a fifth smaller
    for name, (file, digest) in FONT_SUMS.items():
        path = FONT_DIR / file
        seen = hashlib.sha256(path.read_bytes()).hexdigest()[: len(digest)]
        if seen != digest:
            print(f"note: {file} is another version ({seen}); the bytes of the PDFs will differ")
        font = ttfonts.TTFont(name, str(path))
        font.face.charToGlyph[NBSP_ALIAS] = font.face.charToGlyph[32]
        font.face.charWidths[NBSP_ALIAS] = font.face.charWidths[32]
        pdfmetrics.registerFont(font)
    original = ttfonts.makeToUnicodeCMap
    ttfonts.makeToUnicodeCMap = lambda name, subset: original(
        name, [0xA0 if code == NBSP_ALIAS else code for code in subset]
    )


def build(corpus: Path, canonical: Path) -> None:
    """Build and check everything."""
    for name in REPORTS:
        source, pdf = BUILD / f"{name}.src.txt", corpus / f"{name}.pdf"
        print(name)
        text, on_page = build_report(source, pdf)
        (canonical / f"{name}.pdf.txt").write_text(text, encoding="utf-8", newline="\n")
        check_report(pdf, source, text, on_page)
        print(f"  {len(on_page)} pages, {len(text.split())} words, {pdf.stat().st_size} bytes")
    pdf = corpus / f"{NOTICE}.pdf"
    text = build_notice(pdf)
    (canonical / f"{NOTICE}.pdf.txt").write_text(text, encoding="utf-8", newline="\n")
    check_notice(pdf)
    print(f"{NOTICE}\n  {len(text.split())} words, {pdf.stat().st_size} bytes")


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "--check",
        action="store_true",
        help="rebuild elsewhere and compare with the committed files",
    )
    arguments = parser.parse_args()
    set_up_fonts()
    corpus, canonical = DATA / "corpus", DATA / "canonical"
    if not arguments.check:
        build(corpus, canonical)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        build(Path(folder), Path(folder))
        different = 0
        for name in (*REPORTS, NOTICE):
            for file, home in ((f"{name}.pdf", corpus), (f"{name}.pdf.txt", canonical)):
                if (Path(folder) / file).read_bytes() != (home / file).read_bytes():
                    print(f"differs: {file}")
                    different += 1
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
