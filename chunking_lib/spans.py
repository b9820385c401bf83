"""The parts that the splitters share: checks of their arguments, and chunks as they are made."""

from __future__ import annotations

import operator
import re
import sys
from collections.abc import Callable

from chunking_lib.boundaries import Boundaries
from chunking_lib.chunk import Chunk, is_blank, make_chunk
from chunking_lib.length import (
    CharacterRuler,
    Length,
    NotAdditive,
    Ruler,
    checked_length,
    make_ruler,
)
from chunking_lib.separators import AnyCuts

__all__ = [
    "Builder",
    "check_keep",
    "check_length",
    "check_size",
    "cut_hard",
    "merge_pieces",
    "run_builder",
]

_SPACE = re.compile(r"\s")
# Two letters or digits of one word, in scripts that put blanks between words.
_LETTER = r"[^\W_\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
_INSIDE_WORD = re.compile(_LETTER * 2)
_WORD_START = re.compile(r"(?<=\s)\S")


def check_size(size: int, overlap: int, length: Length = len) -> None:
    """Raise a `ValueError` unless `size` is 1 or more and `overlap` lies in 0 to `size` - 1."""
    for name, value, least in (("size", size, 1), ("overlap", overlap, 0)):
        try:
            # What NumPy counts with is a whole number too, and no `int`.
            whole = -1 if isinstance(value, bool) else operator.index(value)
        except TypeError:
            whole = -1
        if whole < least:
            raise ValueError(f"{name}={value!r} must be a whole number of {least} or more")
    size, overlap = operator.index(size), operator.index(overlap)
    if overlap >= size:
        raise ValueError(f"overlap={overlap} must be smaller than size={size}")
    if not callable(length):
        raise ValueError(f"length={length!r} must be a callable from a text to a number")
    limit = getattr(length, "limit", None)
    if limit is not None and size > limit:
        raise ValueError(f"size={size} must be {limit} or less: the model reads no more tokens")


def check_length(length: Length, sample: str) -> None:
    """Raise a `ValueError` unless `length` measures `sample` with a number of 0 or more."""
    checked_length(length)(sample)


def check_keep(keep: str) -> None:
    """Raise a `ValueError` unless `keep` is one of the three rules."""
    if keep not in ("start", "end", "none"):
        raise ValueError(f"keep={keep!r} must be 'start', 'end' or 'none'")


class Builder:
    """Turns the cuts of a splitter into chunks, with overlap, in order, none of them blank."""

    def __init__(
        self,
        text: str,
        source: str,
        ruler: Ruler,
        boundaries: Boundaries,
        *,
        size: int,
        overlap: int = 0,
        strip: bool = True,
        windows: bool = False,
    ) -> None:
        self.text, self.ruler, self.boundaries = text, ruler, boundaries
        self.chunks: list[Chunk] = []
        self._source, self.size, self.overlap, self._strip = source, size, overlap, strip
        #: Windows overlap to the character; other chunks begin with a word.
        self.windows = windows
        #: Of characters, what is within reach fits; tokens are counted again as they will stand.
        self.exact = isinstance(ruler, CharacterRuler)

    def open(self, start: int) -> int:
        """Return where a chunk begins whose own text begins at `start`: earlier, by the overlap.

        The overlap begins with a whole word if there is one to be had, else in the middle of what
        is there (Chinese, a long number). It is never the whole chunk before: that would be a copy.
        A window begins wherever the overlap does.
        """
        if not self.chunks:
            return start
        before = self.chunks[-1]
        earliest = self.ruler.reach_back(before.end, self.overlap)
        first = max(earliest, before.start + 1)
        word = self._word_start(first, before.end)
        exact = earliest == first and not _SPACE.search(self.text, first, before.end)
        if self.windows or (word is None and exact):
            word = self.boundaries.after(first)
        # A shorter text need not measure less: part of a word can be more tokens than the word.
        while word is not None and word < before.end:
            if self.ruler.measure(word, before.end) <= self.overlap:
                break
            word = self._word_start(word + 1, before.end)
        return start if word is None or word >= before.end else word

    def shrink(self, opened: int, start: int, end: int) -> int:
        """Return an opening at or after `opened` from which a chunk may reach to `end`."""
        while opened < start and self.ruler.reach(opened) < end:
            word = self._word_start(opened + 1, self.chunks[-1].end)
            opened = start if word is None else word
        return opened

    def fits(self, start: int, end: int) -> bool:
        """Say whether a chunk made of these places keeps the size, measured as it will stand."""
        return self.ruler.fits(*self.trim(start, end))

    def add(self, start: int, end: int, *, oversize: bool = False) -> None:
        """Make a chunk, unless there is nothing to read in it."""
        start, end = self.trim(start, end)
        # A chunk that ends where the last one did has nothing new.
        if start >= end or (self.chunks and end <= self.chunks[-1].end):
            return
        piece = self.text[start:end]
        if not "!" <= piece[0] <= "~" and is_blank(piece):
            return
        chunk = make_chunk(piece, start, end, self._source)
        if oversize:
            chunk.metadata["oversize"] = True
        self.chunks.append(chunk)

    def _word_start(self, earliest: int, end: int) -> int | None:
        """Return the first place from `earliest` on, before `end`, where a word starts."""
        for match in _WORD_START.finditer(self.text, earliest, end):
            if self.boundaries.at(match.start()):
                return match.start()
        return None

    def trim(self, start: int, end: int) -> tuple[int, int]:
        """Leave white space at both ends out, where that cuts no cluster."""
        if not self._strip:
            return start, end
        text, first, last = self.text, start, end
        while first < last and text[first].isspace():
            first += 1
        while last > first and text[last - 1].isspace():
            last -= 1
        # Only a combining mark joins the space before it, only a prepended one the space after it.
        if first != start and first < last and text[first] >= "\u0300":
            first = self.boundaries.before(first)
        if last != end and first < last and text[last - 1] >= "\u0600":
            last = self.boundaries.after(last)
        return first, last


def cut_hard(builder: Builder, start: int, end: int) -> None:
    """Cut text without separators: each chunk reaches as far as it may, clusters stay whole."""
    reach, boundaries = builder.ruler.reach, builder.boundaries
    while start < end:
        opened = builder.open(start) if builder.overlap else start
        cut = min(end, boundaries.before(reach(opened)))
        if cut <= start:  # the overlap leaves no room
            opened = builder.shrink(opened, start, boundaries.after(start + 1))
            cut = min(end, boundaries.before(reach(opened)))
        if builder.windows and not builder.exact:
            cut = _between_words(builder, start, cut)
        while cut > start and not (builder.exact or builder.fits(opened, cut)):
            cut = boundaries.before(cut - 1)
        oversize = cut <= start
        if oversize:  # one cluster, as a rule longer than the size
            opened, cut = start, boundaries.after(start + 1)
            oversize = builder.ruler.measure(*builder.trim(opened, cut)) > builder.size
        builder.add(opened, cut, oversize=oversize)
        start = cut


def _between_words(builder: Builder, start: int, cut: int) -> int:
    """Return the last place between words up to `cut`; `cut` if there is none behind `start`."""
    place = cut
    while place > start and _INSIDE_WORD.match(builder.text, place - 1):
        place -= 1
    place = builder.boundaries.before(place)
    return place if place > start else cut


def merge_pieces(
    builder: Builder,
    cuts: AnyCuts,
    start: int,
    too_long: Callable[[int, int], None],
) -> None:
    """Merge the pieces between `cuts` from left to right, as many as fit into one chunk.

    The pieces are never listed: the last cut within reach ends the chunk. A piece that does not fit
    by itself is handed to `too_long`.
    """
    while True:
        if cuts.drops:
            start = cuts.skip(start)
        if start >= cuts.end:
            return
        opened = builder.open(start) if builder.overlap else start
        found = _last_fitting(builder, cuts, opened, start)
        if found is None:
            # The first piece does not fit, at least not behind so much overlap.
            piece_end, after = cuts.first(start)
            if opened < start:
                opened = builder.shrink(opened, start, piece_end)
                found = _last_fitting(builder, cuts, opened, start)
            if found is None:
                too_long(start, piece_end)
                start = after
                continue
        builder.add(opened, found[0])
        start = found[1]


def _last_fitting(
    builder: Builder, cuts: AnyCuts, opened: int, start: int
) -> tuple[int, int] | None:
    """Return the last cut that a chunk may reach, or the end; None if not even the first."""
    found = builder.ruler.last_cut(cuts, opened, start)
    if not builder.exact:
        while found and not builder.fits(opened, found[0]):
            found = cuts.last(start, found[0] - 1)
    return found


def run_builder(
    text: str,
    source: str,
    cut: Callable[[Builder], None],
    *,
    size: int,
    overlap: int,
    length: Length,
    strip: bool,
    windows: bool = False,
) -> list[Chunk]:
    """Run `cut` with the fastest ruler, and again with a surer one if that proves wrong."""
    boundaries = Boundaries(text)
    # No text is longer than `maxsize`, and no float could hold what is far beyond it.
    size, overlap = (min(operator.index(value), sys.maxsize) for value in (size, overlap))
    check_length(length, text[:20])
    for sure in (False, True):
        ruler = make_ruler(text, boundaries, size, length, sure=sure)
        builder = Builder(
            text,
            source,
            ruler,
            boundaries,
            size=size,
            overlap=overlap,
            strip=strip,
            windows=windows,
        )
        try:
            cut(builder)
            break
        except NotAdditive:
            continue
    return builder.chunks
