"""PDF: the text of a report in reading order, without what is printed around it on each page."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from chunking_lib.chunk import Document
from chunking_lib.formats.pdf_blocks import (
    LARGER,
    Block,
    Style,
    footnotes,
    runs_on,
    split_footnotes,
    to_blocks,
)
from chunking_lib.formats.pdf_figures import Figure, find_figures
from chunking_lib.formats.pdf_hyphens import Compounds
from chunking_lib.formats.pdf_lines import Box, Item, Line
from chunking_lib.formats.pdf_order import regions
from chunking_lib.formats.pdf_page import Page, read_page
from chunking_lib.formats.pdf_tables import NUMBER, aligned_tables
from chunking_lib.formats.source import pipe_table, read_file

__all__ = ["Placed", "Report", "load_pdf", "read_pdf"]

_Place = tuple[str, int]
# The number itself, which is written after a "#", and maybe words as in "Page 1 of 2".
_PAGE_NUMBER = re.compile(r"(?=.*#)(?:[\W\d_]|page|of)+", re.IGNORECASE)


class Placed(NamedTuple):
    """A line or row as it stands in the text, and on a page."""

    start: int
    end: int
    block: Block
    page: int
    box: Box


class Report(NamedTuple):
    """A PDF that was read: its text, with the place of each part of it, and its drawings."""

    pages: list[Page]
    text: str
    spans: list[tuple[int, int]]
    lines: list[Placed]
    figures: list[list[Figure]]
    body: float  # the size of most of the text


def load_pdf(path: str | Path, *, id: str | None = None) -> Document:
    """Make a document of the text layer of a PDF.

    1. Headers and footers are left out, but no page is emptied: lines near the edge, no larger than
       the text, that stand at the same height on three pages or more, and on a third of all. One
       number may count up with the pages; of page numbers alone, two are enough. So are the words
       inside drawings.
    2. Columns are read one after the other. Lines become paragraphs by their size, their distance
       and their place; a paragraph goes on over the end of a column or page.
    3. A word broken at the end of a line is joined, unless the document has it with a hyphen.
    4. Tables, with rules or with aligned columns, become pipe tables; bullets become `- `. A
       footnote follows the last paragraph that begins on its page. Headings are plain lines.

    A PDF says where each character stands and little else: all of this is inferred, and a page that
    is laid out in an unusual way can come out wrong. Turned text comes last on its page. Where the
    file does not say which letter it shows, there is U+FFFD.

    Args:
        path: the file.
        id: the id of the document; by default the name of the file.
    Raises:
        ValueError: a file that cannot be read: missing, empty, no PDF, encrypted with a password,
            broken (one page is enough, and so are 50 MB of content on it), without a text layer, or
            with one of which more than half is no letters. The message names the file, the reason
            and, if there is one, the page.
        RuntimeError: pdfplumber is not installed.

    `metadata["pages"]` has a span `(start, end)` of the text for each page. Where a footnote comes
    after a paragraph that goes on to the next page, the spans of the two pages overlap.
    `metadata["line_boxes"]` has `[start, page, x0, top, x1, bottom]` for each line and each row of
    a table: where it starts in the text, its page, and its box in points (1/72 inch) from the top
    left corner of what is seen of the page. `metadata["pages_without_text"]`, if present, lists
    pages that hold nothing but pictures, and `metadata["pages_with_unknown_letters"]` those with a
    U+FFFD of this kind.
    """
    report = read_pdf(path)
    pages = report.pages
    metadata: dict[str, object] = {
        "pages": report.spans,
        "line_boxes": [
            [line.start, line.page, *pages[line.page - 1].seen(line.box)] for line in report.lines
        ],
    }
    found = {
        "pages_without_text": [
            p.number for p in pages if p.pictures and not (p.pieces or p.tables)
        ],
        "pages_with_unknown_letters": [p.number for p in pages if p.unmapped],
    }
    metadata |= {name: numbers for name, numbers in found.items() if numbers}
    return Document(report.text, id=Path(path).name if id is None else id, metadata=metadata)


def read_pdf(path: str | Path) -> Report:
    """Read a PDF as `load_pdf` does, which says how, and keep what was found on the way."""
    pages = _read(path)
    _check_letters(path, pages)
    return _write(pages)


def _check_letters(path: str | Path, pages: Sequence[Page]) -> None:
    letters, unmapped = sum(p.letters for p in pages), sum(p.unmapped for p in pages)
    if 2 * unmapped > letters:
        raise ValueError(
            f"{path}: the file does not say which letters {unmapped} of its {letters} characters "
            "are; run OCR on its pages (for example OCRmyPDF with --force-ocr)"
        )
    if any(page.pieces or page.tables for page in pages):
        return
    if any(page.pictures or page.shapes for page in pages):
        raise ValueError(
            f"{path}: no text layer, only pictures of pages; run OCR first (for example OCRmyPDF)"
        )
    raise ValueError(f"{path}: no text layer, and no pictures: nothing was found on its pages")


def _read(path: str | Path) -> list[Page]:
    """Read every page, or say why not."""
    data = read_file(path)
    if not data:
        raise ValueError(f"{path}: the file is empty")
    if b"%PDF-" not in data[:1024]:
        raise ValueError(f"{path}: not a PDF file")
    try:
        import pdfplumber
        from pdfminer.pdfdocument import PDFPasswordIncorrect

        from chunking_lib.formats.pdf_streams import check_content, check_tree
    except ImportError as error:
        raise RuntimeError("reading a PDF needs pdfplumber: pip install pdfplumber") from error
    pages: list[Page] = []
    where = ""
    try:
        with pdfplumber.open(io.BytesIO(data)) as pdf:
            check_tree(pdf)
            for number, page in enumerate(pdf.pages, start=1):
                where = f"page {number}: "
                check_content(page.page_obj)
                pages.append(read_page(page, number))
                page.close()
    except Exception as error:  # the parser raises whatever it stumbles over
        causes = [error, error.__cause__, *error.args]
        if any(isinstance(cause, PDFPasswordIncorrect) for cause in causes):
            raise ValueError(f"{path}: encrypted; it needs a password") from error
        raise ValueError(f"{path}: broken PDF ({where}{type(error).__name__}: {error})") from error
    if not pages:
        raise ValueError(f"{path}: broken PDF (no pages found)")
    return pages


def _drop_running(pages: Sequence[Page], body: float) -> None:
    """Take the headers and footers out of the pages, but for a page that has nothing else."""
    seen: Counter[_Place] = Counter()
    for page in pages:
        seen.update({place for line in page.pieces for place in _places(line, page, body)})

    def runs(place: _Place) -> bool:
        least = 2 if _PAGE_NUMBER.fullmatch(place[0]) else 3
        # Left and right pages often take turns, and a first page has none.
        return seen[place] >= max(least, len(pages) // 3)

    for page in pages:
        kept = [line for line in page.pieces if not any(map(runs, _places(line, page, body)))]
        if kept or page.tables:
            page.pieces = kept


def _places(line: Line, page: Page, body: float) -> Iterator[_Place]:
    """Yield what a header or footer would have in common with others; nothing if it cannot be one.

    That is its height, in steps of three points, and its text: as it is, or with one number
    written as its distance to the number of the page.
    """
    at_edge = line.box.bottom < 0.12 * page.height or line.box.top > 0.88 * page.height
    if not at_edge or line.size > LARGER * body:
        return
    height = round(line.box.top / 3)
    yield re.sub("^[ivxlc]+$", "#", line.text), height
    for number in islice(re.finditer(r"\d{1,9}", line.text), 9):  # a header has no more of them
        distance = f"#{int(number[0]) - page.number}"
        yield line.text[: number.start()] + distance + line.text[number.end() :], height


def _write(pages: list[Page]) -> Report:
    """Write the text of all pages."""
    sizes: Counter[float] = Counter()
    for page in pages:
        for line in page.pieces:
            sizes[line.size] += len(line.text)
    body = sizes.most_common(1)[0][0] if sizes else 10.0
    _drop_running(pages, body)
    layout, turned, figures = [], [], []
    for page in pages:
        drawn, lines = find_figures(page, body)
        figures.append(drawn)
        turned.append([line for line in lines if line.turned])
        items: list[Item] = [*(line for line in lines if not line.turned), *page.tables]
        layout.append([aligned_tables(region) for region in regions(items)] if items else [])
    style = Style([region for page_regions in layout for region in page_regions], body)
    compounds = Compounds(_texts(pages))
    parts: list[str] = []
    placed: list[Placed] = []
    spans: dict[int, tuple[int, int]] = {}
    end = 0
    for block in _flow(layout, turned, style):
        for text, number, box in _fragments(block, compounds):
            start = spans.get(number, (end, end))[0]
            parts.append(text)
            placed.append(Placed(end, end + len(text), block, number, box))
            end += len(text)
            spans[number] = (start, end)
        parts.append("\n\n")
        end += 2
    text = "".join(parts[:-1]) + "\n"
    found, last = [], 0
    for page in pages:
        found.append(spans.get(page.number, (last, last)))
        last = found[-1][1]
    return Report(pages, text, found, placed, figures, body)


def _texts(pages: Sequence[Page]) -> Iterator[str]:
    for page in pages:
        yield from (line.text for line in page.pieces)
        for table in page.tables:
            yield from (line for row in table.rows for cell in row for line in cell)


def _flow(layout: list[list[list[Item]]], turned: list[list[Line]], style: Style) -> list[Block]:
    """Return the blocks of all pages, put together where they go on in the next column or page."""
    blocks: list[Block] = []
    notes: list[Block] = []  # wait for the end of the paragraph that runs over the page
    last: Block | None = None
    for page_regions, aside in zip(layout, turned, strict=False):
        below: list[Block] = []
        for region in page_regions:
            items, small = split_footnotes(region, style.body)
            found = to_blocks(items, style)
            if last and found and runs_on(last, found[0]):
                last.go_on(found.pop(0))
            if found:
                blocks += [*notes, *found]
                notes, last = [], found[-1]
            below += footnotes(small)
        notes += below
        notes += [Block("turned", [[line]]) for line in aside]
    return blocks + notes


def _fragments(block: Block, compounds: Compounds) -> Iterator[tuple[str, int, Box]]:
    """Yield the text of a block in lines and rows, each with its page and its place there."""
    if block.table is not None:
        rows = [["".join(compounds.glue(cell)) for cell in row] for row in block.table.rows]
        first, rule, *others = pipe_table(rows).split("\n")
        texts = [f"{first}\n{rule}", *(f"\n{row}" for row in others)]
        for text, box in zip(texts, block.table.places, strict=True):
            yield text, block.table.page, box
    edges = block.edges()
    for i, lines in enumerate(block.items):
        texts = [line.text for line in lines]
        before = "\n" if i else ""
        if block.kind == "list":
            mark = block.marks[i]
            texts[0] = texts[0].removeprefix(mark).lstrip()
            depth = sum(edge < lines[0].box.x0 - 3 for edge in edges)
            before += f"{'  ' * depth}{mark if NUMBER.match(mark) else '-'} "
        for text, line in zip(compounds.glue(texts), lines, strict=False):
            yield before + text, line.page, line.box
            before = ""
