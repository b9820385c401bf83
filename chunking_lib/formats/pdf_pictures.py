"""The pictures of a PDF, raster images and drawings, with the captions that make them findable."""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import reduce
from itertools import groupby
from math import ceil, floor
from operator import add
from pathlib import Path
from typing import NamedTuple

from chunking_lib.chunk import Chunk, Document, is_blank
from chunking_lib.formats.pdf import Report, read_pdf
from chunking_lib.formats.pdf_figures import CAPTION, Figure
from chunking_lib.formats.pdf_lines import Box
from chunking_lib.formats.pdf_page import Page
from chunking_lib.formats.source import read_file

__all__ = ["Picture", "find_pictures", "picture_chunks", "save_pictures"]

_LEAST = 36.0  # half an inch: what is lower or narrower is an icon or an ornament
_LABEL_WORDS = 15  # a longer text on a drawing is no label; the drawing is its background
_CAPTION_WORDS = 60
_EDGE = 2.0  # lines are thick, and drawn on both sides of the place that the file names


class Picture(NamedTuple):
    """A picture of a PDF, and the words that go with it.

    Args:
        page: counts from 1.
        box: x0, top, x1, bottom in points (1/72 inch), from the top left corner of what is seen of
            the page; labels included.
        caption: as it stands in the text of the document; empty if there is none.
        start: where the caption starts in that text; without one, the place of the picture there.
        end: where the caption ends; without one, the same as `start`.
        labels: the words of a drawing, which are left out of the text, with "; " between them.
    """

    page: int
    box: tuple[float, float, float, float]
    caption: str
    start: int
    end: int
    labels: str


class _Shown(NamedTuple):
    """A picture on its page; `look` is the same wherever the same is shown again."""

    box: Box
    labels: tuple[str, ...]
    look: Hashable


class _Text(NamedTuple):
    """A block of the text, and the place of what stands of it on one page."""

    box: Box
    start: int
    end: int
    words: int
    caption: bool  # it begins as captions do
    small: bool  # it is set in smaller print, and is more than the numbers of an axis


def find_pictures(source: str | Path, document: Document | None = None) -> list[Picture]:
    """Find the raster images and the drawings of a PDF, with their captions.

    1. What touches is one picture. No pictures are: what is lower or narrower than half an inch;
       what looks the same on half of the pages, and two at least (a logo); and a background, which
       is what has a text of more than 15 words on it, or any text if it is as wide as the page.
    2. A caption is a block right above or below that begins as captions do ("Figure 3.", "Abb. 2:";
       up to three lines away), or a text in smaller print (up to one and a half). Nearest pairs are
       made first, and below goes before above. Only pictures that stand side by side share one.
    3. A picture without a caption stands behind the block of text above it on the page, or else
       where the text of the page starts.

    A caption at the side, or in the print of the text and without a number, is not seen as one.
    Labels as large as the text are text for `load_pdf`; outside a drawing they are not in its box.

    Args:
        source: the file.
        document: what `load_pdf` made of it, if offsets are to be checked against its text.
    Returns:
        The pictures, page by page and from top to bottom.
    Raises:
        ValueError: a file that `load_pdf` cannot read, or the document of another file.
        RuntimeError: pdfplumber is not installed.

    >>> import chunking_lib
    >>> corpus = Path(chunking_lib.__file__).parents[1] / "data" / "corpus"
    >>> [(p.page, p.caption[:33]) for p in find_pictures(corpus / "annual_report_2023.pdf")]
    [(5, 'Figure 1. Ferry boardings in 2023')]

    Source: our own rules, tried on the reports of the course.
    """
    report = read_pdf(source)
    if document is not None and document.text != report.text:
        raise ValueError(f"document={document.id!r} does not have the text of {source}")
    looks = [_shown(page, drawn) for page, drawn in zip(report.pages, report.figures, strict=True)]
    repeats = Counter(look for page in looks for look in {shown.look for shown in page})
    often = max(2, len(looks) / 2)
    texts = _texts(report)
    pictures: list[Picture] = []
    for page, shown in zip(report.pages, looks, strict=True):
        here = texts.get(page.number, [])
        rare = [one for one in shown if repeats[one.look] < often]
        joined = _joined(one for one in rare if not _is_background(one.box, page, here))
        large = [one for one in joined if min(_sides(one.box)) >= _LEAST]
        pictures += _with_words(report, page, large, here)
    return pictures


def _with_words(
    report: Report, page: Page, shown: Iterable[_Shown], texts: Sequence[_Text]
) -> Iterator[Picture]:
    """Yield the pictures of a page with their captions and places in the text."""
    ordered = sorted(shown, key=lambda one: (one.box.top, one.box.x0))
    captions = _captions([one.box for one in ordered], texts, report.body)
    for number, (box, labels, _) in enumerate(ordered):
        if number in captions:
            start, end = captions[number].start, captions[number].end
        else:
            start = end = _place(box, texts, report.spans[page.number - 1][0])
        caption = report.text[start:end]
        yield Picture(page.number, page.seen(box), caption, start, end, "; ".join(labels))


def _shown(page: Page, figures: Sequence[Figure]) -> list[_Shown]:
    """Return everything that is drawn on a page, as far as it can be seen."""
    found = []
    for box, content in page.pictures:
        found.append(_Shown(box, (), (content, *sorted(map(round, _sides(box))))))
    for figure in figures:
        box = Box(*map(add, figure.box, (-_EDGE, -_EDGE, _EDGE, _EDGE)))
        look = tuple(sorted(tuple(map(round, shape)) for shape in figure.shapes))
        found.append(_Shown(box, tuple(label.text for label in figure.labels), look))
    cut = [one._replace(box=_within(one.box, page.frame)) for one in found]
    return [one for one in cut if min(_sides(one.box)) > 0]


def _sides(box: Box) -> tuple[float, float]:
    return box.x1 - box.x0, box.bottom - box.top


def _within(box: Box, frame: Box) -> Box:
    """Return the part of a box that lies in a frame; it has no sides if there is none."""
    return Box(
        max(box.x0, frame.x0),
        max(box.top, frame.top),
        min(box.x1, frame.x1),
        min(box.bottom, frame.bottom),
    )


def _texts(report: Report) -> dict[int, list[_Text]]:
    """Return the blocks of the text by the number of their page, in order."""
    found: defaultdict[int, list[_Text]] = defaultdict(list)
    for _, group in groupby(report.lines, key=lambda line: id(line.block)):
        lines = list(group)
        block, start, end = lines[0].block, lines[0].start, lines[-1].end
        text = report.text[start:end]
        words = text.split()
        plain = block.kind in ("paragraph", "heading")
        caption = plain and CAPTION.match(text) is not None
        sizes = [line.size for item in block.items for line in item]
        named = 2 * sum(any(map(str.isalpha, word)) for word in words) > len(words)
        small = plain and max(sizes) < 0.95 * report.body and named
        for number, part in groupby(lines, key=lambda line: line.page):
            box = reduce(Box.around, (line.box for line in part))
            found[number].append(_Text(box, start, end, len(words), caption, small))
    return found


def _is_background(box: Box, page: Page, texts: Iterable[_Text]) -> bool:
    """Say whether this is what a text is printed on."""
    inside = [text for text in texts if box.holds(text.box) and not text.caption]
    wide = box.x0 <= page.frame.x0 + 1 and box.x1 >= page.frame.x1 - 1
    return any(wide or text.words > _LABEL_WORDS for text in inside)


def _joined(shown: Iterable[_Shown]) -> list[_Shown]:
    """Put together what touches: the strips of an image, a photo and the arrows on it."""
    groups: list[_Shown] = []
    for one in shown:
        apart = []
        for group in groups:
            if group.box.near(one.box, 1):
                box, labels = one.box.around(group.box), group.labels + one.labels
                one = _Shown(box, labels, None)
            else:
                apart.append(group)
        groups = [*apart, one]
    return groups


def _captions(boxes: Sequence[Box], texts: Sequence[_Text], body: float) -> dict[int, _Text]:
    """Return the captions of pictures, by the number of the picture."""
    pairs = []
    for number, box in enumerate(boxes):
        for text in texts:
            above = text.box.bottom <= (box.top + box.bottom) / 2
            gap = box.top - text.box.bottom if above else text.box.top - box.bottom
            beside = text.box.x1 <= box.x0 or box.x1 <= text.box.x0
            small = text.small and text.words <= _CAPTION_WORDS
            reach = 3 * body if text.caption else 1.5 * body if small and gap > -_EDGE else 0
            if not beside and gap < reach:
                pairs.append((not text.caption, max(gap, 0), above, number, text))
    found: dict[int, _Text] = {}
    for *_, number, text in sorted(pairs):
        others = [boxes[other] for other, its in found.items() if its == text]
        if number not in found and all(_side_by_side(boxes[number], other) for other in others):
            found[number] = text
    return found


def _side_by_side(one: Box, other: Box) -> bool:
    return one.top < other.bottom and other.top < one.bottom


def _place(box: Box, texts: Iterable[_Text], start: int) -> int:
    """Return where a picture without a caption stands in the text."""
    middle = (box.top + box.bottom) / 2
    above = [
        text
        for text in texts
        if text.box.bottom <= middle and text.box.x0 < box.x1 and box.x0 < text.box.x1
    ]
    return max(above, key=lambda text: text.box.bottom).end if above else start


def save_pictures(source: str | Path, folder: str | Path, *, resolution: int = 150) -> list[Path]:
    """Write each picture of a PDF as a PNG, as it is seen on the page.

    A file is named after the PDF, the page and the number of the picture on it, such as
    `report-p5-1.png`; one of that name is replaced. The same PDF gives the same bytes.

    Args:
        source: the file.
        folder: where to; it is made if it is not there.
        resolution: pixels for an inch, 1 or more.
    Returns:
        The files, in the order of `find_pictures`.
    Raises:
        ValueError: a file that `load_pdf` cannot read, or another resolution.
        OSError: a file that cannot be written.
        RuntimeError: pdfplumber is not installed.

    >>> import chunking_lib, tempfile
    >>> corpus = Path(chunking_lib.__file__).parents[1] / "data" / "corpus"
    >>> files = save_pictures(corpus / "annual_report_2023.pdf", tempfile.mkdtemp())
    >>> [file.name for file in files]
    ['annual_report_2023-p5-1.png']

    Source: pages are drawn by PDFium, the renderer of Chrome.
    """
    whole = hasattr(resolution, "__index__") and not isinstance(resolution, bool)
    if not whole or resolution < 1:
        raise ValueError(f"resolution={resolution!r} must be a whole number of 1 or more")
    pictures = find_pictures(source)
    import pypdfium2  # type: ignore[import-untyped]  # comes with pdfplumber

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    scale = resolution / 72
    with pypdfium2.PdfDocument(read_file(source)) as pdf:
        for page, group in groupby(pictures, key=lambda picture: picture.page):
            image = pdf[page - 1].render(scale=scale).to_pil()
            for number, picture in enumerate(group, start=1):
                x0, top, x1, bottom = (scale * edge for edge in picture.box)
                files.append(folder / f"{Path(source).stem}-p{page}-{number}.png")
                image.crop((floor(x0), floor(top), ceil(x1), ceil(bottom))).save(files[-1])
    return files


def picture_chunks(
    document: Document,
    pictures: Sequence[Picture],
    files: Sequence[str | Path] = (),
    *,
    describe: Callable[[Path], str] | None = None,
) -> list[Chunk]:
    r"""Make a chunk of each picture, so that a search for its words finds it.

    1. The text is the caption, verbatim; the labels of a drawing are its context.
    2. Without a caption it is what `describe` says, and without that the labels. Nobody wrote this
       text in the document, so these chunks are `derived`.
    3. A picture without any words makes no chunk; a warning names its page.

    The caption is a part of the document's text, and so of the chunks of `split_pdf` too.

    Args:
        document: what `load_pdf` made of the file.
        pictures: those of `find_pictures`.
        files: those of `save_pictures`, one for each picture, in the same order; or none.
        describe: gives a text for the file of a picture, such as a model's description.
    Returns:
        The chunks, in the order of the pictures. Their metadata have `page`, `boxes` as in
        `split_pdf`, `kind`, which is "picture", and with `files` the name of the file as `picture`.
    Raises:
        ValueError: pictures of another document, another number of files, or `describe` without
            files or with something else than a text.

    >>> text = "The pier.\n\nFigure 1. Boats by month.\n"
    >>> picture = Picture(2, (72, 90, 300, 200), "Figure 1. Boats by month.", 11, 36, "Jan; Feb")
    >>> [chunk] = picture_chunks(Document(text), [picture], ["out/report-p2-1.png"])
    >>> chunk.embedding_text
    'Labels: Jan; Feb\n\nFigure 1. Boats by month.'
    >>> chunk.metadata["page"], chunk.metadata["picture"]
    (2, 'report-p2-1.png')

    Source: multi-vector retrieval in LangChain, which indexes summaries of images; our captions.
    """
    paths: list[Path | None] = [Path(file) for file in files]
    if paths and len(paths) != len(pictures):
        raise ValueError(f"files has {len(paths)} files for {len(pictures)} pictures")
    if describe and pictures and not paths:
        raise ValueError("describe needs files: those of save_pictures")
    chunks, silent = [], []
    for picture, path in zip(pictures, paths or [None] * len(pictures), strict=True):
        start, end = picture.start, picture.end
        if document.text[start:end] != picture.caption:
            raise ValueError(f"pictures has {picture.caption!r}, which is not the text at {start}")
        text, labels = picture.caption, picture.labels
        if not text and describe and path:
            text = describe(path)
            if not isinstance(text, str):
                raise ValueError(f"describe={describe!r} gave {text!r}, which is no text")
        if is_blank(text):
            text, labels = labels, ""
        if is_blank(text):
            silent.append(picture.page)
            continue
        metadata: dict[str, object] = {
            "page": picture.page,
            "boxes": [[picture.page, *picture.box]],
            "kind": "picture",
        }
        if path:
            metadata["picture"] = path.name
        context = f"Labels: {labels}" if labels else ""
        derived = not picture.caption
        chunks.append(Chunk(text, start, end, document.id, context, derived, metadata))
    if silent:
        warnings.warn(
            f"{len(silent)} of {len(pictures)} pictures of {document.id!r} have no words and are "
            f"in no chunk: on page {', '.join(map(str, silent))}; `describe` can give them some",
            stacklevel=2,
        )
    return chunks
