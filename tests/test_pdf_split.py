"""`split_pdf`: blocks, rows and pages; the cases about PDF, loader and splitter."""

import json
import re
import time
import unicodedata
from collections import Counter
from itertools import accumulate
from pathlib import Path

import case_checks
import pdfplumber
import pytest
import test_loaders
from case_checks import CASES, passes
from corpus import FOLDER
from hypothesis import given
from hypothesis import strategies as st
from lengths import LENGTHS
from strategies import texts
from test_loaders import grid, lines, pdf

from chunking_lib.chunk import Chunk, Document, check_chunks
from chunking_lib.formats.pdf import load_pdf
from chunking_lib.formats.pdf_split import split_pdf

REPORTS = ["annual_report_2023.pdf", "annual_report_2024.pdf"]
PAGES = st.lists(
    st.lists(
        st.sampled_from(
            [
                "Heading",
                "A sentence that ends.",
                "Words that run on and on, with no end to them at all. And more of them.",
                "| a | b |\n| --- | --- |\n| 1 | 2 |\n| 333333 | 4 |\n| 5 | 猫 |",
                "- one\n- two that is longer\n  - inner\n- three",
                "猫が好き。犬も好き。",
                "👩\u200d👧 é",
            ]
        ),
        max_size=4,
    ),
    max_size=6,
)
sizes = st.integers(1, 60) | st.integers(1, 300)


def made(pages: list[list[str]]) -> Document:
    """Make a document as `load_pdf` does: with the span of each page."""
    spans, parts, end = [], [], 0
    for page in pages:
        begin = end
        for i, block in enumerate(page):
            if parts:
                parts.append("\n\n")
                end += 2
                begin = end if i == 0 else begin
            parts.append(block)
            end += len(block)
        spans.append((begin, end))
    return Document("".join(parts), id="made.pdf", metadata={"pages": spans})


def assert_promises(document: Document, chunks: list[Chunk], size: int, length=len) -> None:
    text = document.text
    assert check_chunks(document, chunks, size=size, length=length) == []
    pages = document.metadata["pages"]
    for chunk in chunks:
        inside = [n for n, (start, end) in enumerate(pages, 1) if start <= chunk.start < end]
        oversize = {"oversize": True} if length(chunk.text) > size else {}
        boxes = chunk.metadata.get("boxes")
        assert chunk.metadata == {
            "page": inside[0],
            **oversize,
            **({"boxes": boxes} if "line_boxes" in document.metadata else {}),
        }
        assert chunk.source == document.id and not chunk.derived
    edges = {place for chunk in chunks for place in (chunk.start, chunk.end)}
    for match in re.finditer(r"(?m)^(?:\||-| +-).*$", text):  # rows and items
        if length(match[0].strip()) <= size:
            first = match.end() - len(match[0].lstrip())
            assert not edges & set(range(first + 1, match.end()))


@given(PAGES, sizes)
def test_documents_of_every_kind(pages, size):
    document = made(pages)
    chunks = split_pdf(document, size=size)
    assert_promises(document, chunks, size)
    assert split_pdf(document, size=size) == chunks


@pytest.mark.parametrize("name", LENGTHS)
@given(pages=PAGES, size=sizes)
def test_any_length(name, pages, size):
    document, length = made(pages), LENGTHS[name]
    chunks = split_pdf(document, size=size, length=length)
    assert check_chunks(document, chunks, size=size, length=length) == []


@given(texts, sizes, st.integers(0, 59))
def test_documents_that_no_loader_made(text, size, overlap):
    chunks = split_pdf(Document(text), size=size, overlap=min(overlap, size - 1))
    assert check_chunks(text, chunks, size=size, overlap=overlap) == []
    assert all("page" not in chunk.metadata for chunk in chunks)


@pytest.mark.parametrize("name", REPORTS)
def test_the_reports_of_the_course(name):
    document = load_pdf(FOLDER / name)
    for size in (20, 40, 100, 300, 1000, 10**6):
        assert_promises(document, split_pdf(document, size=size), size)
        length = LENGTHS["tokens"]
        chunks = split_pdf(document, size=size, length=length)
        assert_promises(document, chunks, size, length)
    chunks = split_pdf(FOLDER / name, size=400)
    assert chunks == split_pdf(document, size=400)
    assert [c.metadata["page"] for c in chunks] == sorted(c.metadata["page"] for c in chunks)
    # A later part of a table says which one it is, and what its columns are.
    parts = [c for c in chunks if c.text.startswith("|") and "| --- |" not in c.text]
    assert parts and all(re.match(r"Table \d\. .*\n\n\| .*\n\| ---", c.context) for c in parts)


# ------------------------------------------------------------------------------ each rule


def read(text: str, **options) -> list[tuple[str, str]]:
    return [(c.context, c.text) for c in split_pdf(Document(text), **options)]


def test_short_lines_stay_with_what_follows():
    text = "One two three.\n\nFour five six seven.\n\nHead\n\nEight nine ten.\n\nEleven"
    assert [text for _, text in read(text, size=42)] == [
        "One two three.\n\nFour five six seven.",
        "Head\n\nEight nine ten.\n\nEleven",
    ]
    # Not an endless number of them: these may be no headings at all.
    text = "\n\n".join(["One.", *"ABCDEFGH", "Two."])
    assert [text for _, text in read(text, size=16)] == [
        "One.\n\nA\n\nB\n\nC",
        "D\n\nE",
        "F\n\nG\n\nH\n\nTwo.",
    ]


def test_the_heading_of_a_text_that_is_cut():
    text = "Head\n\nOne two three four five."
    assert read(text, size=18) == [("", "Head\n\nOne two"), ("Head", "three four five.")]


def test_tables_repeat_caption_and_header():
    text = "Table 1. All.\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |\n| 5 | 6 |\n\nAfter."
    header = "| a | b |\n| --- | --- |"
    assert read(text, size=50) == [
        ("", f"Table 1. All.\n\n{header}\n| 1 | 2 |"),
        (f"Table 1. All.\n\n{header}", "| 3 | 4 |\n| 5 | 6 |"),
        ("", "After."),
    ]


def test_the_page_is_the_one_a_chunk_begins_on():
    document = Document(
        "aa bb\n\ncc dd\n\nee", metadata={"pages": [(0, 5), (5, 5), (7, 12), (14, 16)]}
    )
    chunks = split_pdf(document, size=5)
    assert [(c.text, c.metadata["page"]) for c in chunks] == [("aa bb", 1), ("cc dd", 3), ("ee", 4)]
    assert [c.metadata["page"] for c in split_pdf(document)] == [1]
    # A note of page 1 behind a paragraph that goes on to page 2: spans overlap, the first counts.
    document = Document("aa bb\n\nnn\n\ncc", metadata={"pages": [(0, 9), (3, 13)]})
    assert [c.metadata["page"] for c in split_pdf(document, size=3)] == [1, 1, 1, 2]


def letters_in(path: Path, boxes: list[list[float]]) -> Counter[str]:
    """Count the letters that are printed inside the boxes."""
    found: Counter[str] = Counter()
    with pdfplumber.open(path) as opened:
        for page, x0, top, x1, bottom in boxes:
            for char in opened.pages[page - 1].chars:
                x, y = (char["x0"] + char["x1"]) / 2, (char["top"] + char["bottom"]) / 2
                if x0 <= x <= x1 and top <= y <= bottom:
                    found += letters(char["text"])
    return found


def letters(text: str) -> Counter[str]:
    return Counter(char for char in unicodedata.normalize("NFKC", text) if char.isalnum())


def test_what_is_printed_in_the_boxes_is_the_chunk():
    path = FOLDER / REPORTS[1]
    document = load_pdf(path)
    assert {box[1] for box in document.metadata["line_boxes"]} == set(range(1, 9))
    for chunk in split_pdf(document):
        assert letters_in(path, chunk.metadata["boxes"]) == letters(chunk.text)
    # Lines are marked whole: there is more where a chunk is cut inside a paragraph.
    for chunk in split_pdf(document, size=150)[::5]:
        assert letters(chunk.text) <= letters_in(path, chunk.metadata["boxes"])


def test_boxes_of_columns_pages_lists_and_tables(tmp_path):
    left = [f"left line {i} of the column" for i in range(8)]
    right = [f"right line {i} of the column" for i in range(8)]
    first = [
        (50, 60, "A title that goes over both of the columns", 14),
        *lines(*left),
        *lines(*right, x=230, top=104),
    ]
    second = [
        *lines("and it ends here."),
        *lines("- one", "- two", top=124),
        *grid([50, 150, 250], [160, 180, 200]),
        *((x, y, f"cell {x}") for x in (55, 155) for y in (164, 184)),
    ]
    document = saved(tmp_path, first, second)
    path = tmp_path / "made.pdf"
    (whole,) = split_pdf(document)
    boxes = whole.metadata["boxes"]
    # The title, a paragraph in two columns and on the next page, a list, a table.
    assert [box[0] for box in boxes] == [1, 1, 1, 2, 2, 2]
    assert boxes[1][3] < boxes[2][1] and boxes[2][2] < boxes[1][4]
    assert boxes[1][1:3] == pytest.approx([50, 100], abs=0.2)
    assert boxes[5][1:] == pytest.approx([50, 160, 250, 200], abs=0.2)
    assert letters_in(path, boxes) == letters(whole.text)
    last = split_pdf(document, size=40)[-1]
    assert last.text == "| cell 55 | cell 155 |"
    assert last.metadata["boxes"][0] == pytest.approx([2, 50, 180, 250, 200], abs=0.2)
    for chunk in split_pdf(document, size=30):
        assert letters(chunk.text) <= letters_in(path, chunk.metadata["boxes"])


def test_boxes_survive_json_and_are_none_without_a_pdf(tmp_path):
    document = saved(tmp_path, lines("One."), [], lines("Two.", x=60))
    one, two = document.metadata["line_boxes"]
    assert one == pytest.approx([0, 1, 50, 100, 74, 110], abs=0.2)
    assert two == pytest.approx([6, 3, 60, 100, 84, 110], abs=0.2)
    again = Document(document.text, metadata=json.loads(json.dumps(document.metadata)))
    (chunk,) = split_pdf(again)
    assert chunk.metadata["boxes"] == [one[1:], two[1:]]
    for metadata in ({}, {"pages": [(0, 10)]}):
        (chunk,) = split_pdf(Document("One.\n\nTwo.", metadata=metadata))
        assert "boxes" not in chunk.metadata


def test_faults(tmp_path: Path):
    for options, message in (
        ({"size": 0}, "size=0 must be a whole number of 1 or more"),
        ({"size": 5, "overlap": 5}, "overlap=5 must be smaller than size=5"),
        ({"length": 3}, "length=3 must be a callable from a text to a number"),
        ({"length": lambda text: None}, "=None must be a number of 0 or more"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            split_pdf(Document("x"), **options)
    with pytest.raises(ValueError, match=r"gone\.pdf: No such file"):
        split_pdf(tmp_path / "gone.pdf")
    with pytest.raises(ValueError, match=r"notice_pier_closure\.pdf: no text layer.*OCR"):
        split_pdf(str(FOLDER / "notice_pier_closure.pdf"))
    assert split_pdf(Document("", metadata={"pages": [(0, 0)]})) == []


# ------------------------------------------------------------------------------ cases


def saved(tmp_path: Path, *pages: list[tuple[object, ...] | str]) -> Document:
    path = tmp_path / "made.pdf"
    path.write_bytes(pdf(*pages))
    return load_pdf(path)


def pages_of(document: Document, chunk: Chunk, part: str) -> list[int]:
    """Return the pages that a part of a chunk stands on."""
    start = chunk.start + chunk.text.index(part)
    end = start + len(part)
    return [
        n
        for n, span in enumerate(document.metadata["pages"], 1)
        if span[0] < end and start < span[1]
    ]


def test_pdf_page_numbers_of_chunks(tmp_path):
    case = CASES["pdf_page_numbers_of_chunks"]
    pages = json.loads(case["input"])
    document = saved(tmp_path, *[lines(*filter(None, page)) for page in pages])
    chunks = split_pdf(document, size=case["parameters"]["chunk_size"])
    for part, expected in case["right_value"]["exact"]["pages"].items():
        (chunk,) = [c for c in chunks if part in c.text]
        assert pages_of(document, chunk, part) == expected
        assert chunk.metadata["page"] == expected[0]


@pytest.mark.parametrize("blank", [0, 1, 3])
@pytest.mark.parametrize("size", [12, 30, 1000])
def test_pdf_page_numbers_of_chunks_with_blank_pages(tmp_path, blank, size):
    """Each word tells the page it is printed on."""
    pages, printed = [], []
    for number in range(1, 9):
        pages += [[]] * (blank if number in (1, 4, 8) else 0)
        pages.append(lines(f"It is page{len(pages) + 1} here and here."))
        printed.append(len(pages))
    document = saved(tmp_path, *pages)
    chunks = split_pdf(document, size=size)
    assert check_chunks(document, chunks, size=size) == []
    for chunk in chunks:
        page = chunk.metadata["page"]
        assert page in printed
        assert all(int(found) >= page for found in re.findall(r"page(\d+)", chunk.text))
        if found := re.match(r"It is page(\d+)", chunk.text):
            assert int(found[1]) == page


def test_pdf_running_headers(tmp_path):
    case = CASES["pdf_running_headers"]
    document = saved(
        tmp_path,
        *[
            [(50, 30, head), *lines(body), (50, 770, foot, 8)]
            for head, body, foot in json.loads(case["input"])
        ],
    )
    chunks = split_pdf(document, size=case["parameters"]["chunk_size"])
    passes("pdf_running_headers", document.text, chunks)
    assert case_checks.absent(document.text, chunks, "ACME Handbook") == ""
    assert [c.metadata["page"] for c in chunks] == [1]


REST = ["part", "which", "does", "not", "end", "here", "but", "goes"]


@pytest.mark.parametrize(
    ("head", "foot"),
    [
        ("ACME Handbook", "Page {} of 6"),
        ("ACME Handbook, page {}", ""),
        ("", "{}"),
        ("Chapter 1", "- {} -"),
        ("ACME | {}", "Draft of 3 May 2024"),
    ],
)
def test_pdf_running_headers_of_every_kind(tmp_path, head, foot):
    words = ["First", "Second", "Third", "Fourth", "Fifth", "Sixth"]
    pages = [
        [
            *([(50, 30, head.format(number))] if head else []),
            *lines(f"{word} part, which does not end here but goes", top=100),
            *([(50, 770, foot.format(number), 8)] if foot else []),
        ]
        for number, word in enumerate(words, 1)
    ]
    document = saved(tmp_path, *pages)
    chunks = split_pdf(document, size=60)
    text = " ".join(c.text for c in chunks)
    assert re.findall(r"\w+", text) == [word for first in words for word in (first, *REST)]


def test_pdf_nul_and_controls(tmp_path, monkeypatch):
    case = CASES["pdf_nul_and_controls"]
    # Codes that the PDF says are these characters: it is what a text layer can hold.
    codes = {**test_loaders._CODES, "\0": 8, "\x07": 9}
    monkeypatch.setattr(test_loaders, "_CODES", codes)
    document = saved(tmp_path, lines(json.loads(case["input"])))
    chunks = split_pdf(document, size=case["parameters"]["chunk_size"])
    passes("pdf_nul_and_controls", document.text, chunks)
    assert any("fine" in c.text for c in chunks) and "A" in document.text


@pytest.mark.parametrize(
    "code", [*range(1, 9), 11, 12, *range(14, 32), 127, 0x85, 0x9F, 0xAD, 0xFEFF]
)
def test_pdf_nul_and_controls_of_every_kind(tmp_path, monkeypatch, code):
    monkeypatch.setattr(test_loaders, "_CODES", {**test_loaders._CODES, chr(code): 8})
    document = saved(
        tmp_path, lines(f"Quay{chr(code)}side and pier.", f"{chr(code)}The end{chr(code)}")
    )
    for size in (5, 1000):
        chunks = split_pdf(document, size=size)
        assert check_chunks(document, chunks, size=size) == []
        assert not any(chr(code) in c.text for c in chunks)
    assert re.findall("[a-z]+", document.text.lower())[-2:] == ["the", "end"]


# ------------------------------------------------------------------------------ time


def test_the_time_is_linear():
    """Counted in characters that are measured: a longer report costs no more for each."""
    text = load_pdf(FOLDER / REPORTS[0]).text

    def cost(times: int) -> float:
        counted = 0

        def length(piece: str) -> int:
            nonlocal counted
            counted += len(piece)
            return len(piece.split())

        split_pdf(Document(text * times), size=50, length=length)
        return counted / times

    assert cost(20) < 1.3 * cost(2)


@pytest.mark.slow
def test_five_megabytes_take_seconds():
    text = load_pdf(FOLDER / REPORTS[0]).text
    ends = [0, *accumulate([len(text)] * (5_000_000 // len(text)))]
    pages = list(zip(ends, ends[1:], strict=False))
    document = Document(text * len(pages), metadata={"pages": pages})
    started = time.process_time()
    chunks = split_pdf(document)
    assert time.process_time() - started < 60
    assert {c.metadata["page"] for c in chunks} == set(range(1, len(pages) + 1))
