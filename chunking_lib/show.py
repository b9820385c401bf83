"""Looking at chunks: coloured in their text, as a table, and their sizes as a plot.

In a notebook the objects show themselves as HTML; `print` and a terminal get plain text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from chunking_lib.boundaries import Boundaries
from chunking_lib.chunk import Chunk, Document, is_blank, text_and_source
from chunking_lib.length import Length, TokenLength

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["View", "chunk_table", "html_table", "plot_sizes", "show_chunks"]

# Okabe and Ito's colours, told apart by colour-blind readers. Laid thinly over whatever background
# the theme has, under the theme's own text colour: at least 9:1 in contrast, in light and in dark.
_COLOURS = ("230 159 0", "86 180 233", "0 158 115", "204 121 167")
_TINTS = [f"rgb({colour} / .32)" for colour in _COLOURS]

# Where styles are stripped (GitHub), the brackets, <ins> and <del> still say what is what.
_STYLE = (
    "<style>"
    ".chunks .text{white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:plaintext;"
    "line-height:1.8;margin:.3em 0}"
    ".chunks ins{text-decoration:underline dotted 2px;text-underline-offset:3px}"
    ".chunks del{text-decoration:line-through;opacity:.75}"
    ".chunks b.at{font-size:80%;user-select:none;padding:1px 0}"
    ".chunks b.at sub{font-weight:400;opacity:.85}"
    ".chunks i{opacity:.6;font-style:normal;user-select:none}"
    ".chunks th,.chunks td{text-align:start!important;vertical-align:top}"
    + "".join(f".chunks .c{n}{{background:{tint}}}" for n, tint in enumerate(_TINTS))
    + "".join(
        f".chunks .c{a}{b}{{background:repeating-linear-gradient("
        f"135deg,{_TINTS[a]} 0 5px,{_TINTS[b]} 5px 10px)}}"
        for a in range(len(_TINTS))
        for b in range(len(_TINTS))
    )
    + "</style>"
)

# What cannot be shown, or would change how the rest is shown: controls, lone surrogates, and the
# characters that turn the direction of what follows. One character each, so that places stay.
_ODD = dict.fromkeys(
    [*range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A), *range(0xD800, 0xE000)],
    "\N{REPLACEMENT CHARACTER}",
) | {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"}


_LINE_END = "<i>↵</i>"


@dataclass(frozen=True)
class View:
    """Something to look at: HTML in a notebook, text elsewhere."""

    html: str
    text: str

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return self.text


def show_chunks(
    text: str | Document, chunks: Iterable[Chunk], *, title: str = "", limit: int = 4000
) -> View:
    """Show the chunks in the text that they were cut from.

    `[1` begins chunk 1, with its length beside it, and `]` ends it. What two chunks share is shown
    once, hatched and underlined, in plain text between « and »; what lies in no chunk is struck
    through, in plain text between ~ and ~. White space between chunks is left as it is; a line end
    at the edge of a chunk shows as ↵. The first line counts what is shared and what is lost.

    Args:
        text: the text or document that was split.
        chunks: its chunks.
        title: a heading.
        limit: how many characters of the text to show.
    Raises:
        ValueError: a limit below 1; a chunk that ends after the text.

    >>> chunks = [Chunk("Mind the ", 0, 9), Chunk("the step", 5, 13)]
    >>> show_chunks("Mind the step. Thank you", chunks)
    2 chunks | 8 to 9 characters, mean 8.5 | 4 shared | 9 lost
    [1|Mind [2|«the »1]step]~. Thank you~
    """
    words, _ = text_and_source(text)
    chunks = list(chunks)
    _check(title, limit)
    for number, chunk in enumerate(chunks, 1):
        if chunk.end > len(words):
            raise ValueError(
                f"chunk {number} ends at {chunk.end}, but the text has {len(words)} characters"
            )
    shown = Boundaries(words).before(limit)
    html, plain = [], []
    for part in _parts(chunks, shown):
        html.append(part.html(words, chunks))
        plain.append(part.plain(words))
    counts, shared, lost = _count(words, chunks)
    left_out = ""
    if shown < len(words):
        later = sum(chunk.start >= shown for chunk in chunks)
        left_out = f"… {len(words) - shown:,} more characters, {later:,} more chunks"
    return View(
        f'{_STYLE}<div class="chunks">{_heading(title)}'
        f"<small>{counts.replace(' | ', ' · ')} · {_mark('ins', shared, 'shared')}"
        f" · {_mark('del', lost, 'lost')}</small>"
        f'<div class="text" dir="auto">{"".join(html)}</div><small>{left_out}</small></div>',
        "\n".join(
            line
            for line in (
                _safe(title),
                f"{counts} | {shared:,} shared | {lost:,} lost",
                "".join(plain),
                left_out,
            )
            if line
        ),
    )


@dataclass(frozen=True)
class _Part:
    """A run of the text with the same chunks open over it, or the edge of a chunk."""

    start: int
    end: int
    open: tuple[int, ...] = ()
    begins: int | None = None
    ends: int | None = None

    def plain(self, text: str) -> str:
        if self.begins is not None:
            return f"[{self.begins + 1}|"
        if self.ends is not None:
            return f"{self.ends + 1}]" if self.open else "]"
        words = text[self.start : self.end]
        left, right = "", ""
        if len(self.open) > 1:
            left, right = "«", "»"
        elif not self.open and not is_blank(words):
            left, right = "~", "~"
        return f"{left}{_safe(words)}{right}"

    def html(self, text: str, chunks: Sequence[Chunk]) -> str:
        if self.begins is not None:
            chunk = chunks[self.begins]
            same = text[chunk.start : chunk.end] == chunk.text
            about = f"chunk {self.begins + 1}: {chunk.start:,} to {chunk.end:,}"
            about += "" if same else ", not word for word"
            label = f"[{self.begins + 1}<sub>{'' if same else '≈'}{len(chunk.text)}</sub> "
            colour = self.begins % len(_COLOURS)
            return f'<b class="at c{colour}" title="{about}"><bdi>{label}</bdi></b>'
        if self.ends is not None:
            colour = self.ends % len(_COLOURS)
            return f'<b class="at c{colour}"><bdi>{self.plain(text)}</bdi></b>'
        words = text[self.start : self.end]
        shown = _edges(words)
        if not self.open:
            return shown if is_blank(words) else f'<del title="in no chunk">{shown}</del>'
        first, last = self.open[0] % len(_COLOURS), self.open[-1] % len(_COLOURS)
        if len(self.open) == 1:
            return f'<span class="c{first}">{shown}</span>'
        names = ", ".join(str(number + 1) for number in self.open[:9])
        names += ", …" * (len(self.open) > 9)
        return f'<ins class="c{first}{last}" title="in chunks {names}">{shown}</ins>'


def _parts(chunks: Sequence[Chunk], shown: int) -> Iterator[_Part]:
    """Yield the text up to `shown` in parts: the chunks may overlap in any way, in any order."""
    begins: dict[int, list[int]] = {}
    ends: dict[int, list[int]] = {}
    for number, chunk in enumerate(chunks):
        begins.setdefault(chunk.start, []).append(number)
        ends.setdefault(chunk.end, []).append(number)
    places = sorted(place for place in {0, shown, *begins, *ends} if place <= shown)
    open_: list[int] = []
    for place, following in zip(places, [*places[1:], shown], strict=True):
        for number in ends.get(place, []):
            if number in open_:
                open_.remove(number)
                yield _Part(place, place, tuple(open_), ends=number)
        # A chunk that begins where the shown text ends is not shown.
        for number in begins.get(place, []) if place < shown else []:
            yield _Part(place, place, begins=number)
            if chunks[number].end == place:  # rebuilt from nothing
                yield _Part(place, place, tuple(open_), ends=number)
            else:
                open_.append(number)
        if place < following:
            yield _Part(place, following, tuple(open_))


def _count(text: str, chunks: Sequence[Chunk]) -> tuple[str, int, int]:
    """Return the sizes in words, the characters said again, and the readable ones in no chunk."""
    shared = lost = reached = 0
    for start, end in sorted((chunk.start, chunk.end) for chunk in chunks):
        lost += _readable(text[reached:start])
        shared += max(0, min(reached, end) - start)
        reached = max(reached, end)
    lost += _readable(text[reached:])
    if not chunks:
        return "0 chunks", shared, lost
    sizes = [len(chunk.text) for chunk in chunks]
    named = f"{len(chunks):,} chunk{'s' * (len(chunks) > 1)}"
    spread = f"{min(sizes):,} to {max(sizes):,} characters, mean {sum(sizes) / len(sizes):,.1f}"
    return f"{named} | {spread}", shared, lost


def _readable(text: str) -> int:
    return 0 if is_blank(text) else sum(not is_blank(character) for character in text)


def _safe(text: str) -> str:
    return text.replace("\r\n", "\n").translate(_ODD)


def _edges(words: str) -> str:
    """Return a run of text as HTML, with the line ends at its edges made visible."""
    words = _safe(words)
    inner = words.strip()
    start = words.find(inner) if inner else len(words)
    end = start + len(inner)
    before, after = escape(words[:start]), escape(words[end:])
    return "".join(
        [
            before.replace("\n", f"{_LINE_END}<br>"),
            # Not a line end in <pre>: where styles are stripped, long lines must still wrap.
            escape(inner).replace("\n", "<br>"),
            after.replace("\n", f"{_LINE_END}<br>"),
        ]
    )


def _mark(tag: str, number: int, name: str) -> str:
    """Show a number in the colours of what it counts, unless there is nothing to count."""
    words = f"{number:,} {name}"
    return f'<{tag} class="c01">{words}</{tag}>' if number else words


def _check(title: str, limit: int) -> None:
    if not isinstance(title, str):
        raise ValueError(f"title={title!r} must be a str")
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise ValueError(f"limit={limit!r} must be a whole number of 1 or more")


def _heading(title: str) -> str:
    return f"<div><strong><bdi>{escape(_safe(title))}</bdi></strong></div>" if title else ""


def chunk_table(chunks: Iterable[Chunk], *, title: str = "", limit: int = 20) -> View:
    """Show the chunks as a table: place, length, first words, and what else they know.

    Args:
        chunks: the chunks.
        title: a heading.
        limit: how many rows to show.
    Raises:
        ValueError: a limit below 1.

    >>> chunk_table([Chunk("Mind the step", 0, 13, metadata={"page": 2})])
    chunk  start  end  length  text           metadata
    1      0      13   13      Mind the step  page: 2
    """
    _check(title, limit)
    chunks = list(chunks)
    rows = [["chunk", "start", "end", "length", "text", "metadata"]]
    for number, chunk in enumerate(chunks[:limit], 1):
        words = _safe(" ".join(chunk.text.split()))
        known = {"context": chunk.context} if chunk.context else {}
        known |= {"derived": "yes"} if chunk.derived else {}
        about = "; ".join(f"{key}: {value}" for key, value in (known | chunk.metadata).items())
        rows.append(
            [
                *map(str, (number, chunk.start, chunk.end, len(chunk.text))),
                words if len(words) <= 60 else f"{words[: Boundaries(words).before(59)]}…",
                _safe(" ".join(about.split())),
            ]
        )
    if not any(row[5] for row in rows[1:]):
        rows = [row[:5] for row in rows]
    left_out = f"… {len(chunks) - limit:,} more chunks" if len(chunks) > limit else ""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    table = html_table([[f"<bdi>{escape(cell)}</bdi>" for cell in row] for row in rows])
    return View(
        f'{_STYLE}<div class="chunks">{_heading(title)}{table}<small>{left_out}</small></div>',
        "\n".join(filter(None, [_safe(title), *lines, left_out])),
    )


def html_table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of cells as a table, the first of them its head; the cells are HTML already.

    >>> html_table([["a"], ["1"]])
    '<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>1</td></tr></tbody></table>'
    """
    head, *body = [
        "".join(f"<{tag}>{cell}</{tag}>" for cell in row)
        for tag, row in zip(["th"] + ["td"] * len(rows), rows, strict=False)
    ]
    lines = "".join(f"<tr>{cells}</tr>" for cells in body)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"


def plot_sizes(
    chunks: Sequence[Chunk] | Mapping[str, Sequence[Chunk]],
    *,
    size: int | None = None,
    length: Length = len,
) -> Figure:
    """Plot how long the chunks are: a histogram, or one below the other for several splits.

    Args:
        chunks: the chunks of one split, or of several by name.
        size: the limit, drawn as a line; what is longer is drawn in red.
        length: measures a chunk.
    Raises:
        ValueError: no chunks.
        RuntimeError: matplotlib is not installed.

    >>> figure = plot_sizes({"small": [Chunk("ab", 0, 2)], "large": [Chunk("abcd", 0, 4)]}, size=3)
    >>> [axes.get_title(loc="left") for axes in figure.axes]
    ['small: 1 chunk, mean 2', 'large: 1 chunk, mean 4, 1 over the limit']
    """
    try:
        from matplotlib import pyplot
        from matplotlib.ticker import MaxNLocator
    except ImportError as error:
        raise RuntimeError("matplotlib is not installed: pip install matplotlib") from error

    splits = chunks if isinstance(chunks, Mapping) else {"": chunks}
    sizes = {name: [length(chunk.text) for chunk in split] for name, split in splits.items()}
    if not any(sizes.values()):
        raise ValueError("chunks=[] must hold at least one chunk")
    longest = max(max(values, default=0) for values in sizes.values())
    top = max(longest, size or 0)
    step = max(1, -(-top // 40))  # whole numbers, at most about 40 bars
    # A bar ends at the limit, so that no bar stands on both sides of it.
    first = (top if size is None else size) % step - step + 0.5
    edges = [first + step * number for number in range(top // step + 3)]
    # A white ground of its own: no single text colour has enough contrast on the white of one
    # JupyterLab theme and the near-black of the other.
    figure, axes = pyplot.subplots(
        len(sizes),
        sharex=True,
        squeeze=False,
        layout="constrained",
        figsize=(7, 0.9 + 1.1 * len(sizes)),
        facecolor="white",
    )
    for axis, (name, values) in zip(axes[:, 0], sizes.items(), strict=True):
        over = [value for value in values if size is not None and value > size]
        axis.hist(values, bins=edges, color="#0072B2")
        axis.hist(over, bins=edges, color="#D55E00")
        axis.set_title(_label(name, values, len(over)), loc="left", fontsize=10, color="black")
        axis.set(facecolor="white", xlim=(0, edges[-1]))
        axis.tick_params(colors="#333333")
        axis.yaxis.set_major_locator(MaxNLocator(nbins=2, integer=True))
        axis.spines[["top", "right"]].set_visible(False)
        if size is not None:
            axis.axvline(size + 0.5, color="#333333", linestyle="--", linewidth=1)
    unit = "characters" if length is len else "tokens" if isinstance(length, TokenLength) else ""
    label = f"length in {unit}" if unit else "length"
    if size is not None:
        label += f" (dashed line: size {size:,})"
    axes[-1, 0].set_xlabel(label, color="black")
    pyplot.close(figure)  # or a notebook shows it twice
    return figure


def _label(name: str, values: Sequence[int], over: int) -> str:
    mean = f", mean {sum(values) / len(values):,.0f}" if values else ""
    limit = f", {over:,} over the limit" if over else ""
    count = f"{len(values):,} chunk{'s' * (len(values) != 1)}"
    return f"{name + ': ' if name else ''}{count}{mean}{limit}"
