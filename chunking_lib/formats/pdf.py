"""PDF: the text of a report in reading order, without what is printed around it on each page."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from chunking_lib.chunk import Document
from chunking_lib.formats.pdf_blocks import (
    Block,
    Style,
    footnotes,
    runs_on,
    split_footnotes,
    to_blocks,
)
from chunking_lib.formats.pdf_figures import without_figures
from chunking_lib.formats.pdf_hyphens import Compounds
from chunking_lib.formats.pdf_lines import Item, Line
from chunking_lib.formats.pdf_order import regions
from chunking_lib.formats.pdf_page import Page, read_page
from chunking_lib.formats.pdf_tables import NUMBER, aligned_tables
from chunking_lib.formats.source import pipe_table, read_file

__all__ = ["load_pdf"]


def load_pdf(path: str | Path, *, id: str | None = None) -> Document:
    """Make a document of the text layer of a PDF.

    1. Headers and footers are left out: lines near the edge of the page that repeat at the same
       height on other pages, numbers apart. So are the words inside drawings.
    2. Columns are read one after the other. Lines become paragraphs by their size, their distance
       and their place; a paragraph goes on over the end of a column or page.
    3. A word broken at the end of a line is joined, unless the document has it with a hyphen.
    4. Tables, with rules or with aligned columns, become pipe tables; bullets become `- `. A
       footnote follows the last paragraph that begins on its page. Headings are plain lines.

    A PDF says where each character stands and little else: all of this is inferred, and a page that
    is laid out in an unusual way can come out wrong. Turned text comes
    last on its page.

    Args:
        path: the file.
        id: the id of the document; by default the name of the file.
    Raises:
        ValueError: a file that cannot be read: missing, empty, broken, no PDF, encrypted with a
            password, or without a text layer. The message names the file and the reason.
        RuntimeError: pdfplumber is not installed.

    `metadata["pages"]` has a span `(start, end)` of the text for each page. Where a footnote comes
    after a paragraph that goes on to the next page, the spans of the two pages overlap.
    `metadata["pages_without_text"]`, if present, lists pages that hold nothing but pictures.
    """
    pages = _read(path)
    if not any(page.pieces or page.tables for page in pages):
        raise ValueError(
            f"{path}: no text layer, only pictures of pages; run OCR first (for example OCRmyPDF)"
        )
    text, spans = _write(pages)
    metadata: dict[str, object] = {"pages": spans}
    unread = [p.number for p in pages if p.pictures and not (p.pieces or p.tables)]
    if unread:
        metadata["pages_without_text"] = unread
    return Document(text, id=Path(path).name if id is None else id, metadata=metadata)


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
    except ImportError as error:
        raise RuntimeError("reading a PDF needs pdfplumber: pip install pdfplumber") from error
    pages = []
    try:
        with pdfplumber.open(io.BytesIO(data)) as pdf:
            for number, page in enumerate(pdf.pages, start=1):
                pages.append(read_page(page, number))
                page.close()
    except Exception as error:  # the parser raises whatever it stumbles over
        causes = [error, error.__cause__, *error.args]
        if any(isinstance(cause, PDFPasswordIncorrect) for cause in causes):
            raise ValueError(f"{path}: encrypted; it needs a password") from error
        raise ValueError(f"{path}: broken PDF ({type(error).__name__}: {error})") from error
    if not pages:
        raise ValueError(f"{path}: broken PDF (no pages found)")
    return pages


def _running(pages: Sequence[Page]) -> set[tuple[str, int]]:
    """Return header and footer lines: the text, and the height in steps of three points."""
    seen: Counter[tuple[str, int]] = Counter()
    for page in pages:
        seen.update({_place(line) for line in page.pieces if _at_edge(line, page)})
    # Left and right pages often take turns, and a first page has none.
    least = max(2, len(pages) // 3)
    return {place for place, count in seen.items() if count >= least}


def _at_edge(line: Line, page: Page) -> bool:
    return line.box.bottom < 0.12 * page.height or line.box.top > 0.88 * page.height


def _place(line: Line) -> tuple[str, int]:
    text = re.sub(r"\d+|^[ivxlc]+$", "#", line.text)
    return text, round(line.box.top / 3)


def _write(pages: Sequence[Page]) -> tuple[str, list[tuple[int, int]]]:
    """Return the text, and the span of each page in it."""
    sizes: Counter[float] = Counter()
    for page in pages:
        for line in page.pieces:
            sizes[line.size] += len(line.text)
    body = sizes.most_common(1)[0][0] if sizes else 10.0
    running = _running(pages)
    layout, turned = [], []
    for page in pages:
        page.pieces = [
            line for line in page.pieces if not (_at_edge(line, page) and _place(line) in running)
        ]
        lines = without_figures(page, body)
        turned.append([line for line in lines if line.turned])
        items: list[Item] = [*(line for line in lines if not line.turned), *page.tables]
        layout.append([aligned_tables(region) for region in regions(items)] if items else [])
    style = Style([region for page_regions in layout for region in page_regions], body)
    compounds = Compounds(_texts(pages))
    parts: list[str] = []
    spans: dict[int, tuple[int, int]] = {}
    end = 0
    for block in _flow(layout, turned, style):
        for text, number in _fragments(block, compounds):
            start = spans.get(number, (end, end))[0]
            parts.append(text)
            end += len(text)
            spans[number] = (start, end)
        parts.append("\n\n")
        end += 2
    text = "".join(parts[:-1]) + "\n"
    found, last = [], 0
    for page in pages:
        found.append(spans.get(page.number, (last, last)))
        last = found[-1][1]
    return text, found


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


def _fragments(block: Block, compounds: Compounds) -> Iterator[tuple[str, int]]:
    """Yield the text of a block in pieces, each with the number of its page."""
    if block.table is not None:
        rows = [["".join(compounds.glue(cell)) for cell in row] for row in block.table.rows]
        yield pipe_table(rows), block.table.page
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
            yield before + text, line.page
            before = ""
