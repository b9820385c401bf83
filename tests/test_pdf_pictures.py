"""Pictures of PDFs: which there are, where they are, which words go with them."""

import json
import re
import warnings
from pathlib import Path

import pikepdf
import pytest
from corpus import FOLDER
from PIL import Image
from test_loaders import FILLER, lines, pdf

from chunking_lib.chunk import Document, check_chunks
from chunking_lib.formats.pdf import load_pdf
from chunking_lib.formats.pdf_figures import CAPTION
from chunking_lib.formats.pdf_pictures import (
    Picture,
    find_pictures,
    picture_chunks,
    save_pictures,
)

REPORTS = ["annual_report_2023.pdf", "annual_report_2024.pdf"]
RED, BLUE = "FF0000", "0000FF"


def photo(x: float, top: float, width: float, height: float, color: str = RED) -> str:
    """Draw a raster image of one pixel in this size."""
    place = f"{width} 0 0 {height} {x} {800 - top - height} cm"
    return f"q {place} BI /W 1 /H 1 /CS /RGB /BPC 8 /F /AHx ID {color}> EI Q"


def chart(top: float = 120, x: float = 100) -> list[tuple[object, ...] | str]:
    """Draw bars above an axis, with labels below and at the left: from x - 18 to x + 160."""
    base = 680 - (top - 120)
    return [
        *(f"{x + 30 * i} {base - 80} 20 {20 + 10 * i} re f" for i in range(5)),
        f"{x - 5} {base - 80} m {x + 160} {base - 80} l S",
        f"{x - 5} {base - 80} m {x - 5} {base} l S",
        *((x + 5 + 30 * i, top + 83, f"b{i}", 6) for i in range(5)),
        (x + 50, top + 94, "Month", 6),
        (x - 12, top + 50, "Boardings", 6, "turned"),
    ]


def saved(folder: Path, *pages: list[tuple[object, ...] | str]) -> Path:
    path = folder / "made.pdf"
    path.write_bytes(pdf(*pages))
    return path


def found(folder: Path, *pages: list[tuple[object, ...] | str]) -> list[Picture]:
    path = saved(folder, *pages)
    document = load_pdf(path)
    pictures = find_pictures(path, document)
    for picture in pictures:
        assert document.text[picture.start : picture.end] == picture.caption
    return pictures


def colors(path: Path) -> set[tuple[int, ...]]:
    with Image.open(path) as image:
        return {color for _, color in image.convert("RGB").getcolors(1 << 20)}


# ------------------------------------------------------------------------------ the reports


@pytest.mark.parametrize("name", REPORTS)
def test_the_chart_of_a_report(name, tmp_path):
    document = load_pdf(FOLDER / name)
    (picture,) = find_pictures(FOLDER / name, document)
    assert picture.page == 5
    assert picture.caption.startswith("Figure 1. Ferry boardings")
    assert document.text[picture.start : picture.end] == picture.caption
    assert document.text[picture.end : picture.end + 2] == "\n\n"
    labels = picture.labels.split("; ")
    assert {"Jan", "Dec", "400", "0", "Boardings, thousands"} < set(labels)
    assert "Jan" not in re.findall(r"\w+", document.text[picture.start - 200 : picture.end])
    (file,) = save_pictures(FOLDER / name, tmp_path / "new" / "folder")
    assert file == tmp_path / "new" / "folder" / f"{name[:-4]}-p5-1.png"
    x0, top, x1, bottom = picture.box
    with Image.open(file) as image:
        width, height = image.size
        assert abs(width - (x1 - x0) * 150 / 72) < 2 and abs(height - (bottom - top) * 150 / 72) < 2
        # Nothing is cut off: what touches the edge is the white of the page.
        edges = [image.crop(box) for box in ((0, 0, width, 1), (0, height - 1, width, height))]
        edges += [image.crop(box) for box in ((0, 0, 1, height), (width - 1, 0, width, height))]
        assert all(edge.convert("L").getextrema()[0] > 200 for edge in edges)
    # Nor is anything of the text in it.
    for _, page, left, above, right, below in document.metadata["line_boxes"]:
        assert page != 5 or right < x0 or x1 < left or below <= top or bottom <= above


# ------------------------------------------------------------------------------ each rule


@pytest.mark.parametrize(
    "captions",
    [
        ["Figure 1. Boats."],
        ["Fig. 2a: boats and", "a second line of it"],
        ["Abb. 3"],
        ["Photo 4 Boats at sea"],
    ],
)
@pytest.mark.parametrize("top", [240, 98])
def test_captions_below_and_above(tmp_path, captions, top):
    page = [
        *lines("The first words of the page.", top=60),
        photo(50, 130, 200, 100),
        *lines(*captions, top=top),
        *FILLER,
    ]
    (picture,) = found(tmp_path, page)
    assert picture.caption == " ".join(captions)
    assert picture[:2] == (1, (50, 130, 250, 230)) and picture.labels == ""


@pytest.mark.parametrize(
    ("text", "size"),
    [("Figure 1 shows a sentence of the text.", 10), ("Safety", 14), ("Plans for 2025.", 10)],
)
def test_without_a_caption(tmp_path, text, size):
    above = "The first words of the page."
    page = [*lines(above), photo(50, 130, 200, 100), *lines(text, top=236, size=size), *FILLER]
    (picture,) = found(tmp_path, page)
    assert picture.caption == ""
    assert picture.start == picture.end == len(above)
    # With nothing above it, it stands where the page starts.
    second = [photo(50, 60, 200, 100, BLUE), *lines("Another page.", top=300)]
    assert [p.start for p in found(tmp_path, page, second)][1] == len(load_text(tmp_path)) - 14


def load_text(folder: Path) -> str:
    return load_pdf(folder / "made.pdf").text


def test_small_print_close_by_is_a_caption(tmp_path):
    small = "Boats at the quay, 2019."
    page = [photo(50, 130, 200, 100), *lines(small, top=233, size=8), *FILLER]
    assert found(tmp_path, page)[0].caption == small
    # A credit is nearer, but the caption says that it is one.
    page += lines("Figure 1. Boats.", top=246)
    assert found(tmp_path, page)[0].caption == "Figure 1. Boats."
    # What is far away, or beside it, belongs to something else.
    for place in ({"top": 260}, {"top": 180, "x": 260}, {"top": 236, "x": 300}):
        page = [photo(50, 130, 200, 100), *lines(small, size=8, **place), *FILLER]
        assert found(tmp_path, page)[0].caption == ""
    page = [photo(50, 130, 200, 100), *lines("0 2 4 6 Day", top=233, size=8), *FILLER]
    assert found(tmp_path, page)[0].caption == ""


@pytest.mark.parametrize("gap", [-16, 106])
def test_only_pictures_side_by_side_share_a_caption(tmp_path, gap):
    page = [*FILLER, *lines("The start.", top=40)]
    for number, top in enumerate((80, 210), 1):
        page += [photo(50, top, 200, 100), *lines(f"Figure {number}. Boats.", top=top + gap)]
    captions = ["Figure 1. Boats.", "Figure 2. Boats."]
    assert [picture.caption for picture in found(tmp_path, page)] == captions
    wide = "Fig. 1: boats at left, piers at right"
    row = [photo(50, 80, 90, 100), photo(150, 80, 90, 90), *lines(wide, top=80 + gap), *FILLER]
    assert [picture.caption for picture in found(tmp_path, row)] == [wide, wide]
    column = [photo(50, 80, 90, 100), photo(50, 200, 90, 100), *lines("Fig. 1: a", top=184)]
    assert [p.caption for p in found(tmp_path, [*column, *FILLER])] == ["Fig. 1: a", ""]


def test_a_chart_with_its_labels(tmp_path):
    page = [*lines("Before."), *chart(), *lines("Figure 1. Boats.", top=235), *FILLER]
    (picture,) = found(tmp_path, page)
    assert picture.labels == "b0; b1; b2; b3; b4; Month; Boardings"
    assert picture.caption == "Figure 1. Boats."
    assert picture.box == (pytest.approx((80, 118, 262, 222), abs=4))
    assert load_text(tmp_path).startswith("Before.\n\nFigure 1. Boats.\n\n")


@pytest.mark.parametrize("top", [225, 232])
def test_a_caption_in_the_print_of_the_labels_stays_in_the_text(tmp_path, top):
    caption = lines("Figure 1. Boats", "by month.", top=top, size=6)
    caption = [caption[0], (50, top + 7, "by month.", 6)]
    (picture,) = found(tmp_path, [*lines("Before."), *chart(), *caption, *FILLER])
    assert picture.caption == "Figure 1. Boats by month."
    assert picture.labels.endswith("Month; Boardings")


def test_strips_and_what_is_drawn_on_a_photo_are_one_picture(tmp_path):
    strips = [photo(50, 120 + 20 * i, 300, 20, f"{i:02x}0000") for i in range(10)]
    (picture,) = found(tmp_path, [*strips, *chart(150), *lines("Words.", top=60), *FILLER])
    assert picture.box == (50, 120, 350, 320)
    assert picture.labels.startswith("b0; ")


def test_what_is_no_picture(tmp_path):
    logo = photo(500, 20, 60, 40, BLUE)
    assert found(tmp_path, [*FILLER, photo(50, 100, 300, 30), photo(50, 200, 30, 90)]) == []
    assert found(tmp_path, *[[*FILLER, logo]] * 3) == []
    assert found(tmp_path, *[[*FILLER, *chart()]] * 3) == []
    moved = photo(40, 20, 60, 40, BLUE)
    assert found(tmp_path, [*FILLER, logo], [*FILLER, moved], FILLER, FILLER) == []
    assert len(found(tmp_path, [*FILLER, logo], FILLER, FILLER)) == 1
    # A background has running text on it, or is as wide as the page and has a title.
    assert found(tmp_path, [photo(40, 380, 400, 200), *FILLER]) == []
    assert found(tmp_path, [photo(-9, 50, 620, 200), *lines("A title", top=80), *FILLER]) == []
    assert len(found(tmp_path, [photo(-9, 50, 620, 200), *FILLER])) == 1
    # A title on a picture, or a caption, does not make it a background.
    for words in ("A title", "Figure 1. " + "Words and words. " * 3):
        page = [photo(40, 60, 500, 200), *lines(words, top=70), *FILLER]
        assert len(found(tmp_path, page)) == 1
    assert found(tmp_path, FILLER) == []


def test_a_frame_around_text_and_a_page_in_colour(tmp_path):
    """Neither makes a drawing, and so small text on it is text."""
    edges = [f"{x} {400 + 20 * i} m {x} {420 + 20 * i} l S" for x in (50, 350) for i in range(5)]
    frame = [*edges, *(f"50 {y} m 350 {y} l S" for y in (400, 500))]
    small = lines("for quay in quays:", "    sail(quay)", top=320, size=7)
    filler = [(x, top + 150, *rest) for x, top, *rest in FILLER]
    assert found(tmp_path, [*frame, *small, *filler]) == []
    assert load_text(tmp_path).startswith("for quay in quays:\n\nsail(quay)\n\n")
    colour = "0.9 g 0 0 600 800 re f 0 g"
    page = [colour, *chart(), *lines("Figure 1. Boats.", top=235), *FILLER, (50, 700, "Note.", 7)]
    (picture,) = found(tmp_path, page)
    assert picture.box == pytest.approx((80, 118, 262, 222), abs=4)
    assert load_text(tmp_path).endswith("\n\nNote.\n")


def test_pictures_on_a_page_with_nothing_else(tmp_path):
    path = saved(tmp_path, FILLER, [photo(0, 0, 600, 800)], lines("The end of it."))
    (picture,) = find_pictures(path)
    start = load_pdf(path).metadata["pages"][1][0]
    assert picture == (2, (0, 0, 600, 800), "", start, start, "")


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
@pytest.mark.parametrize("crop", [None, [20, 30, 590, 780]])
def test_turned_and_cropped_pages(tmp_path, turn, crop):
    page = [photo(60, 130, 200, 100), *FILLER]
    path = saved(tmp_path, page)
    with pikepdf.open(path, allow_overwriting_input=True) as opened:
        (only,) = opened.pages
        x, y = 100, -50  # the corner of a page need not be at zero
        only.MediaBox = [x, y, 600 + x, 800 + y]
        only.contents_add(f"1 0 0 1 {x} {y} cm".encode(), prepend=True)
        if crop:
            only.CropBox = [crop[0] + x, crop[1] + y, crop[2] + x, crop[3] + y]
        only.Rotate = turn
        opened.save(path)
    (picture,) = find_pictures(path)
    x0, top, x1, bottom = picture.box
    assert (x1 - x0, bottom - top) == ((200, 100) if turn % 180 == 0 else (100, 200))
    (file,) = save_pictures(path, tmp_path, resolution=72)
    assert colors(file) == {(255, 0, 0)}
    with Image.open(file) as image:
        assert image.size == (x1 - x0, bottom - top)


def test_a_page_that_is_turned_to_be_read(tmp_path):
    """A wide page is often a high one that is turned: its text is upright for the reader."""
    caption = [(280, 300, "Figure 1. Boats.", 10, "turned")]
    text = [(20 + 12 * i, 500, "Words that say the size of it.", 10, "turned") for i in range(3)]
    path = saved(tmp_path, [photo(60, 300, 200, 100), *caption, *text])
    with pikepdf.open(path, allow_overwriting_input=True) as opened:
        opened.pages[0].Rotate = 90
        opened.save(path)
    (picture,) = find_pictures(path)
    assert picture.caption == "Figure 1. Boats."


@pytest.mark.parametrize("resolution", [1, 36, 300])
def test_files_and_their_resolution(tmp_path, resolution):
    pages = [
        [photo(50, 130, 200, 100), photo(300, 130, 144, 72, BLUE), *FILLER],
        [*FILLER, photo(50, 130, 72, 72, "00FF00")],
    ]
    path = saved(tmp_path, *pages)
    files = save_pictures(str(path), str(tmp_path / "out"), resolution=resolution)
    assert [f.name for f in files] == ["made-p1-1.png", "made-p1-2.png", "made-p2-1.png"]
    assert [p.box[0] for p in find_pictures(path)] == [50, 300, 50]
    before = [file.read_bytes() for file in files]
    assert save_pictures(path, tmp_path / "out", resolution=resolution) == files
    assert [file.read_bytes() for file in files] == before
    for file, width in zip(files, (200, 144, 72), strict=True):
        with Image.open(file) as image:
            assert width * resolution / 72 <= image.width <= width * resolution / 72 + 2


def test_what_a_caption_begins_with():
    for text in (
        "Figure 1",
        "FIG. 12.3:",
        "Figure 2-1. x",
        "Abb. 2 Schiffe",
        "图1 船",
        "Figure IV. A",
    ):
        assert CAPTION.match(text), text
    for text in (
        "Figure 1 shows",
        "Figure 12a shows",
        "Table 1. Boats",
        "Figures of the year",
        "Graphic Design",
        "Map of the 3 piers",
        "Plan I agreed to",
        "The Figure 1.",
    ):
        assert not CAPTION.match(text), text


# ------------------------------------------------------------------------------ chunks

TEXT = "The pier.\n\nFigure 1. Boats.\n\nThe end.\n"
BOX = (50.0, 130.0, 250.0, 230.0)
WITH = Picture(2, BOX, "Figure 1. Boats.", 11, 27, "")
CHART = WITH._replace(labels="Jan; Feb")
LABELS = Picture(3, BOX, "", 9, 9, "Jan; Feb")
SILENT = Picture(4, BOX, "", 9, 9, "")
NAMES = ["a.png", "out/b.png"]


def described(path: Path) -> str:
    assert isinstance(path, Path)
    return f"Seen: {path.name}"


def test_chunks_of_pictures():
    document = Document(TEXT, id="report.pdf")
    one, two, three = picture_chunks(document, [WITH, CHART, LABELS])
    assert (one.text, one.start, one.end, one.context) == ("Figure 1. Boats.", 11, 27, "")
    assert not one.derived and one.source == "report.pdf"
    boxes = [[2, *BOX]]
    assert one.metadata == {"page": 2, "boxes": boxes, "kind": "picture"}
    assert check_chunks(TEXT[11:27], [one.__class__(one.text, 0, 16)]) == []
    assert two.embedding_text == "Labels: Jan; Feb\n\nFigure 1. Boats."
    assert (three.text, three.start, three.end, three.derived) == ("Jan; Feb", 9, 9, True)
    assert three.context == ""
    assert json.loads(json.dumps(one.metadata)) == one.metadata
    assert picture_chunks(document, []) == []


def test_chunks_with_files_and_descriptions():
    document = Document(TEXT)
    one, two = picture_chunks(document, [WITH, LABELS], NAMES, describe=described)
    assert (one.text, one.metadata["picture"]) == ("Figure 1. Boats.", "a.png")
    assert (two.text, two.metadata["picture"]) == ("Seen: b.png", "b.png")
    assert two.derived and two.context == "Labels: Jan; Feb"
    # A description without a word in it is none.
    two = picture_chunks(document, [WITH, LABELS], NAMES, describe=lambda path: " ")[1]
    assert (two.text, two.context) == ("Jan; Feb", "")
    assert len(picture_chunks(document, [WITH, SILENT], NAMES, describe=described)) == 2


def test_a_picture_without_words_is_reported():
    document = Document(TEXT, id="report.pdf")
    message = r"2 of 3 pictures of 'report\.pdf' have no words .* on page 4, 4"
    with pytest.warns(UserWarning, match=message):
        chunks = picture_chunks(document, [SILENT, WITH, SILENT])
    assert [chunk.text for chunk in chunks] == ["Figure 1. Boats."]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        picture_chunks(document, [WITH])


def test_from_a_file_to_chunks(tmp_path):
    pages = [
        [*lines("Before."), *chart(), *lines("Figure 1. Boats.", top=235), *FILLER],
        [*lines("A photo."), photo(50, 130, 200, 100), *FILLER],
    ]
    path = saved(tmp_path, *pages)
    document, files = load_pdf(path), save_pictures(path, tmp_path)
    chunks = picture_chunks(document, find_pictures(path, document), files, describe=described)
    assert [chunk.text for chunk in chunks] == ["Figure 1. Boats.", "Seen: made-p2-1.png"]
    assert [chunk.metadata["page"] for chunk in chunks] == [1, 2]
    assert {chunk.source for chunk in chunks} == {"made.pdf"}


def test_faults(tmp_path):
    path = saved(tmp_path, [*FILLER, photo(50, 130, 200, 100)])
    with pytest.raises(ValueError, match=r"document='x' does not have the text of .*made\.pdf"):
        find_pictures(path, Document("Else.", id="x"))
    for resolution in (0, -1, 1.5, "150", True, None):
        with pytest.raises(ValueError, match=f"resolution={resolution!r} must be a whole number"):
            save_pictures(path, tmp_path, resolution=resolution)
    for call in (find_pictures, lambda source: save_pictures(source, tmp_path)):
        with pytest.raises(ValueError, match=r"gone\.pdf: No such file"):
            call(tmp_path / "gone.pdf")
        with pytest.raises(ValueError, match=r"notice_pier_closure\.pdf: no text layer"):
            call(FOLDER / "notice_pier_closure.pdf")
    document = Document(TEXT)
    for pictures, files, describe, message in (
        ([WITH], NAMES, None, "files has 2 files for 1 pictures"),
        ([WITH], (), described, "describe needs files"),
        ([WITH, LABELS], NAMES, lambda path: None, "gave None, which is no text"),
        ([WITH._replace(start=3, end=19)], (), None, "which is not the text at 3"),
    ):
        with pytest.raises(ValueError, match=message):
            picture_chunks(document, pictures, files, describe=describe)
