"""`load_pdf` keeps what a page holds, or says what cannot be read."""

import base64
import io
import re
import zlib
from collections.abc import Callable
from pathlib import Path

import pikepdf
import pytest
from test_loaders import END, FILLER, lines, pdf

from chunking_lib.chunk import Document
from chunking_lib.formats import pdf_streams
from chunking_lib.formats.pdf import load_pdf
from chunking_lib.formats.pdf_lines import Box


def load(tmp_path: Path, data: bytes) -> Document:
    path = tmp_path / "made.pdf"
    path.write_bytes(data)
    return load_pdf(path)


def helvetica(data: bytes) -> bytes:
    courier, other = b"/BaseFont  /Courier >>", b"/BaseFont /Helvetica>>"
    assert courier in data and len(courier) == len(other)
    return data.replace(courier, other)


def words(document: Document) -> list[str]:
    return re.findall(r"\w+", document.text)


# ------------------------------------------------------------------------------ letters


@pytest.mark.parametrize("size", [3, 6, 7.5, 8, 9, 12, 40])
@pytest.mark.parametrize("moved", [None, 0, 0.03])
def test_double_letters_stay_and_a_second_print_goes(tmp_path, size, moved):
    text = "Bills fill: ill iii 1,111"
    page = [(50, 200, text, size)]
    if moved is not None:
        page.append((50 + moved * size, 200 + moved * size / 2, text, size))
    # In Helvetica, "l" and "i" are a fifth of the size wide.
    data = helvetica(pdf(page))
    assert load(tmp_path, data).text == f"{text}\n"


def test_double_letters_of_a_narrow_font_stay(tmp_path):
    narrow = "BT /R 10 Tf 40 Tz 50 600 Td (Bills fill: ill iii 1,111) Tj ET"
    data = helvetica(pdf([narrow]))
    assert load(tmp_path, data).text == "Bills fill: ill iii 1,111\n"


def test_a_letter_below_one_of_another_size_stays(tmp_path):
    page = [(20, 100 + 11 * i, "ill", 10 + i % 3 / 2) for i in range(60)]
    assert load(tmp_path, pdf(page)).text.count("ill") == 60


@pytest.mark.parametrize("font", [-10, 10])
def test_text_that_is_upside_down_is_not_reversed(tmp_path, font):
    turn = "-1 0 0 -1" if font > 0 else "1 0 0 1"
    upside_down = f"BT /R {font} Tf {turn} 400 700 Tm (Upside down, all of it) Tj ET"
    text = load(tmp_path, pdf([upside_down, *FILLER])).text
    assert text == f"{END}\n\nUpside down, all of it\n"


def test_text_that_is_upside_down_is_no_small_print_of_a_drawing(tmp_path):
    bars = [f"{100 + 30 * i} 600 20 {40 + 10 * i} re f" for i in range(5)]
    upside_down = "BT /R 10 Tf -1 0 0 -1 200 630 Tm (Mind the step) Tj ET"
    text = load(tmp_path, pdf([*bars, upside_down, *FILLER])).text
    assert text == f"{END}\n\nMind the step\n"


# Codes of two bytes, and nothing that says which letters they are.
MUTE = b"""<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /Identity-H /DescendantFonts [
<< /Type /Font /Subtype /CIDFontType2 /BaseFont /X /FontDescriptor << /FontBBox [0 0 9 9] >>
/CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> >> ] >>"""


def with_mute_font(tmp_path: Path, *pages: list[tuple[object, ...] | str]) -> Document:
    """Load pages on which the bold font has no letters."""
    saved = io.BytesIO()
    with pikepdf.open(io.BytesIO(pdf(*pages))) as made:
        font = made.make_indirect(pikepdf.Object.parse(MUTE))
        for page in made.pages:
            page.Resources.Font.B = font
        made.save(saved)
    return load(tmp_path, saved.getvalue())


def test_letters_that_the_file_does_not_tell(tmp_path):
    with pytest.raises(ValueError, match=r"made\.pdf: .* 5 of its 9 characters .*OCR"):
        with_mute_font(tmp_path, lines("Page"), [(50, 100, "abcdefghij", 10, "bold")])
    document = with_mute_font(tmp_path, lines("Pages"), [(50, 100, "abcdefghij", 10, "bold")])
    assert document.text.split() == ["Pages", "\ufffd" * 5]
    assert document.metadata["pages_with_unknown_letters"] == [2]
    # As text, it is text.
    document = load(tmp_path, pdf(lines("What is (cid:7)?")))
    assert document.text == "What is (cid:7)?\n"
    assert "pages_with_unknown_letters" not in document.metadata


# ------------------------------------------------------------------------------ headers, footers

ORDINALS = ["First", "Second", "Third", "Fourth", "Fifth", "Sixth"]


@pytest.mark.parametrize(
    ("edges", "size"),
    [
        (["Chapter 1", "Chapter 2", "Chapter 3"], 14),
        (["The same heading"] * 4, 11),
        (["Total due: 100 EUR", "Total due: 2500 EUR"], 10),
        (["Total due: 100 EUR", "Total due: 2500 EUR", "Total due: 17 EUR"], 10),
        (["2021 350 17", "2022 410 19"], 10),
        (["100", "2500", "17", "46"], 10),
        (["Dear traveller,"] * 2, 10),
        (["Zone 1", "Zone 2"], 10),
        (["Fares"] * 3 + ["", "", "", ""] * 3, 10),
    ],
)
@pytest.mark.parametrize("top", [30, 760])
def test_what_is_no_running_line_stays(tmp_path, edges, size, top):
    pages = [[*([(50, top, edge, size)] if edge else []), *FILLER] for edge in edges]
    text = load(tmp_path, pdf(*pages)).text
    assert all(text.count(edge) >= edges.count(edge) for edge in edges if edge)


@pytest.mark.parametrize(
    "edges",
    [
        ["The report"] * 3,
        ["", "", *["The report"] * 3, ""],
        ["Report, 7 of 9", "Report, 8 of 9", "Report, 9 of 9"],
        ["Page 1 of 2", "Page 2 of 2"],
        ["- 17 -", "- 18 -"],
        ["i", "ii", "iii", "1", "2", "3"],
        ["1, Rules", "Rules, 2", "3, Rules", "Rules, 4", "5, Rules", "Rules, 6"],
    ],
)
@pytest.mark.parametrize("top", [30, 760])
def test_running_lines_go(tmp_path, edges, top):
    pages = [
        [(50, top, edge), *lines(f"{word}.")]
        for edge, word in zip(edges, ORDINALS[: len(edges)], strict=True)
    ]
    assert words(load(tmp_path, pdf(*pages))) == ORDINALS[: len(edges)]


@pytest.mark.parametrize("count", [1, 2, 3, 6])
def test_no_page_is_emptied(tmp_path, count):
    pages = [
        [*lines("Dear traveller,", f"your refund {n} was refused.", top=30), (50, 770, f"{n}")]
        for n in range(1, count + 1)
    ]
    document = load(tmp_path, pdf(*pages))
    assert document.text.count("Dear traveller, your refund") == count
    assert all(start < end for start, end in document.metadata["pages"])


# ------------------------------------------------------------------------------ broken pages


def rewritten(change: Callable[[pikepdf.Pdf], None]) -> bytes:
    """Return a PDF of three pages that `change` was let loose on, written as it leaves it."""
    saved = io.BytesIO()
    with pikepdf.open(io.BytesIO(pdf(*[lines(f"{word} page.") for word in ORDINALS[:3]]))) as made:
        change(made)
        as_it_is = pikepdf.StreamDecodeLevel.none
        made.save(saved, compress_streams=False, stream_decode_level=as_it_is)
    return saved.getvalue()


def repack(stream: pikepdf.Stream, damage: Callable[[bytes], bytes], ascii85: bool = False) -> None:
    packed = damage(zlib.compress(stream.read_bytes() + b"\n" * 50))
    names = [pikepdf.Name.FlateDecode]
    if ascii85:
        packed, names = base64.a85encode(packed) + b"~>", [pikepdf.Name.ASCII85Decode, *names]
    stream.write(packed, filter=pikepdf.Array(names))


def into_a_form(made: pikepdf.Pdf, damage: Callable[[bytes], bytes]) -> None:
    """Let pages 2 and 3 show the content of page 2, which stands in one form."""
    page = made.pages[1]
    form = made.make_stream(page.Contents.read_bytes(), Subtype=pikepdf.Name.Form)
    form.BBox, form.Resources = pikepdf.Array([0, 0, 600, 800]), page.Resources
    repack(form, damage)
    calls = made.make_stream(b"/X Do")
    resources = pikepdf.Dictionary(XObject=pikepdf.Dictionary(X=form))
    for shown in made.pages[1:]:
        shown.Contents, shown.Resources = calls, resources


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def garble(data: bytes) -> bytes:
    return data[:20] + b"\xff" * 9 + data[29:]


def without_check_sum(data: bytes) -> bytes:
    return data[:-4]


DAMAGES: dict[str, Callable[[pikepdf.Pdf], None]] = {
    "damaged": lambda made: repack(made.pages[1].Contents, garble),
    "the end is missing": lambda made: repack(made.pages[1].Contents, cut),
    "damaged: ": lambda made: repack(made.pages[1].Contents, garble, ascii85=True),
    "its content is damaged": lambda made: into_a_form(made, garble),
}


@pytest.mark.parametrize("message", DAMAGES)
def test_a_page_that_is_broken_is_named(tmp_path, message):
    data = rewritten(DAMAGES[message])
    with pytest.raises(ValueError, match=rf"made\.pdf: broken PDF \(page 2: .*{message}"):
        load(tmp_path, data)


@pytest.mark.parametrize(
    ("entry", "wrong", "message"),
    [
        ("/Kids [6 0 R 8 0 R 10 0 R]", "/Kids [6 0 R 99 0 R 8 0 R]", "page 2 is missing"),
        ("/Kids [6 0 R 8 0 R 10 0 R]", "/Kids [6 0 R 8 0 R 4 0 R] ", "page 3 is missing"),
        ("/Contents 11 0 R", "/Contents 99 0 R", "page 3: .*content is missing"),
        ("/Contents 9 0 R", "/Contents 4 0 R", "page 2: .*content is missing"),
    ],
)
def test_a_page_that_is_missing_is_named(tmp_path, entry, wrong, message):
    data = pdf(*[lines(f"{word} page.") for word in ORDINALS[:3]])
    damaged = data.replace(entry.encode(), wrong.encode())
    assert damaged != data and len(damaged) == len(data)
    with pytest.raises(ValueError, match=rf"broken PDF \(.*{message}"):
        load(tmp_path, damaged)


def test_what_can_be_read_all_the_same(tmp_path):
    def harmless(made: pikepdf.Pdf) -> None:
        repack(made.pages[0].Contents, without_check_sum)
        repack(made.pages[1].Contents, bytes, ascii85=True)
        del made.pages[2].obj.Contents

    assert load(tmp_path, rewritten(harmless)).text == "First page.\n\nSecond page.\n"
    document = load(tmp_path, rewritten(lambda made: into_a_form(made, bytes)))
    assert document.text == "First page.\n\nSecond page.\n\nSecond page.\n"


def test_content_that_unpacks_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(pdf_streams, "_MOST", 10_000)
    blanks = zlib.compress(b" " * 10_001)
    data = rewritten(lambda made: repack(made.pages[2].Contents, lambda _: blanks))
    with pytest.raises(ValueError, match=r"page 3: .*unpacks to more than 10,000 bytes"):
        load(tmp_path, data)


def test_pages_without_text_say_what_they_are(tmp_path):
    with pytest.raises(ValueError, match="no text layer, and no pictures"):
        load(tmp_path, pdf([], []))
    with pytest.raises(ValueError, match="only pictures of pages; run OCR"):
        load(tmp_path, pdf(["50 50 m 60 60 70 80 90 90 c S"]))


# ------------------------------------------------------------------------------ work


def test_shapes_that_touch_no_other_cost_the_same_for_each(tmp_path, monkeypatch):
    compared = 0
    near = Box.near

    def counted(self: Box, other: Box, distance: float = 0) -> bool:
        nonlocal compared
        compared += 1
        return near(self, other, distance)

    monkeypatch.setattr(Box, "near", counted)

    def cost(columns: int) -> float:
        nonlocal compared
        compared = 0
        squares = [f"{9 * i} {9 * j} 2 2 re f" for i in range(columns) for j in range(20)]
        load(tmp_path, pdf([*squares, *FILLER]))
        return compared / len(squares)

    assert cost(60) < 1.3 * cost(20)
