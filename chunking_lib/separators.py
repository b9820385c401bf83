"""Where the separators of a text are, and which cuts they allow."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from functools import lru_cache

from chunking_lib.boundaries import Boundaries

__all__ = ["AnyCuts", "Cuts", "Separator", "check_separators", "find_cuts", "for_line_ends"]

Separator = str | re.Pattern[str]

_MOST = 100  # each separator may nest the split one level deeper; the interpreter's stack is finite


def check_separators(separators: Iterable[Separator]) -> tuple[Separator, ...]:
    """Return the separators as a tuple; raise a `ValueError` if one is no string or pattern."""
    listed = isinstance(separators, Iterable) and not isinstance(separators, str)
    found = tuple(separators) if listed else ()
    texts = [one.pattern if isinstance(one, re.Pattern) else one for one in found]
    if not listed or not all(isinstance(text, str) for text in texts):
        raise ValueError(
            f"separators={separators!r} must be a list of strings or of patterns of `re`"
        )
    if len(found) > _MOST:
        raise ValueError(f"separators has {len(found)} entries and must have {_MOST} or fewer")
    return found


def for_line_ends(separator: Separator, text: str) -> Separator:
    r"""Return the separator as it stands in `text`: in a text of Windows, `\n` is `\r\n`.

    >>> for_line_ends("\n\n", "one\r\n\r\ntwo")
    '\r\n\r\n'
    """
    if not isinstance(separator, str) or "\n" not in separator or "\r" in separator:
        return separator
    # To look for one character costs a tenth of counting pairs.
    windows = text.count("\r\n") if "\r" in text else 0
    if not windows:
        return separator
    if windows == text.count("\n"):
        return separator.replace("\n", "\r\n")
    return re.compile(re.escape(separator).replace("\\\n", "(?:\r\n|\n)"))


class Cuts:
    """The cuts that one separator allows between two places: this class asks `str.find`.

    A cut is a pair: where the chunk before ends and where the next one starts. Both are the same
    place, unless separators are dropped.

    A separator that repeats itself, like a blank line, needs care: which of five line ends in a row
    are the separators is counted from the first.
    """

    def __init__(
        self,
        text: str,
        start: int,
        end: int,
        separator: str,
        period: int,
        keep: str,
        boundaries: Boundaries,
    ) -> None:
        self._text, self._separator = text, separator
        self._before = None if boundaries.free else boundaries.before
        self._width, self._unit = len(separator), separator[:period]
        # Cuts lie at the start of the separator, or behind it.
        self._shift = self._width if keep == "end" else 0
        self._gap = self._width if keep == "none" else 0
        self.drops = keep == "none"
        self._repeats = period < self._width
        #: Where the last piece ends: before the separators at the very end, if they are dropped.
        self.end = end
        if (
            self._gap
            and text.endswith(separator, start, end)
            and (end - self._run_start(end, start)) % self._width == 0
            and self._usable(end - self._width)
        ):
            self.end = self._first_of_run(end - self._width, start)

    def _run_start(self, place: int, floor: int) -> int:
        """Return where the repetition of the separator, or of its unit, begins."""
        unit = self._unit
        while place - len(unit) >= floor and self._text.startswith(unit, place - len(unit)):
            place -= len(unit)
        return place

    def _first_of_run(self, cut: int, start: int) -> int:
        """Return the first of several dropped separators in a row: no piece lies between them."""
        while (
            cut - self._gap >= start
            and self._text.startswith(self._separator, cut - self._gap)
            and self._usable(cut - self._gap)
        ):
            cut -= self._gap
        return cut

    def _usable(self, cut: int) -> bool:
        before = self._before
        if before is None:
            return True
        return before(cut) == cut and (not self._gap or before(cut + self._gap) == cut + self._gap)

    def skip(self, start: int) -> int:
        """Return the place behind the separators at `start`, where they are dropped."""
        while self._text.startswith(self._separator, start, self.end) and self._usable(start):
            start += self._width
        return start

    def last(self, start: int, limit: int) -> tuple[int, int] | None:
        """Return the last cut behind `start` and not behind `limit`."""
        text, end, before = self._text, self.end, self._before
        if limit >= end:
            limit = end - 1
        while limit > start:
            top = limit - self._shift + self._width
            found = text.rfind(self._separator, start, top if top < end else end)
            if self._repeats and found > start and text[found - 1] == self._unit[-1]:
                found -= (found - self._run_start(found, start)) % self._width
            cut = found + self._shift
            if found < 0 or cut <= start:
                return None
            if not self._gap:
                # Below the first combining mark nothing but a CRLF belongs together.
                plain = "\u0300" > text[cut - 1] != "\r" and text[cut] < "\u0300"
                if plain or before is None or before(cut) == cut:
                    return cut, cut
            elif self._usable(cut):
                return self._first_of_run(cut, start), cut + self._gap
            limit = cut - 1
        return None

    def first(self, start: int) -> tuple[int, int]:
        """Return the first cut behind `start`; the end of the range if there is none."""
        low = start
        while True:
            found = self._text.find(self._separator, low, self.end)
            cut = found + self._shift
            if found < 0 or cut >= self.end:
                return self.end, self.end
            if cut > start and self._usable(cut):
                return cut, cut + self._gap
            low = found + self._width


class ListedCuts:
    """The same for patterns, and for separators that overlap themselves like "aba"."""

    def __init__(
        self,
        text: str,
        start: int,
        end: int,
        pattern: re.Pattern[str],
        keep: str,
        boundaries: Boundaries,
    ) -> None:
        self.drops = keep == "none"
        self._cuts, self._nexts = array("q"), array("q")
        for match in pattern.finditer(text, start, end):
            first, last = match.span()
            cut, after = last if keep == "end" else first, first if keep == "start" else last
            if not (boundaries.at(cut) and boundaries.at(after)):
                continue
            if self.drops and self._nexts and self._nexts[-1] == cut:
                self._nexts[-1] = after  # two in a row: no piece lies between them
            else:
                self._cuts.append(cut)
                self._nexts.append(after)
        i = len(self._cuts) - 1
        while self.drops and i >= 0 and self._nexts[i] == end:
            end = self._cuts[i]
            i -= 1
        self.end = end

    def skip(self, start: int) -> int:
        i = bisect_left(self._cuts, start)
        while i < len(self._cuts) and self._cuts[i] == start:
            start = self._nexts[i]
            i += 1
        return start

    def last(self, start: int, limit: int) -> tuple[int, int] | None:
        i = bisect_right(self._cuts, min(limit, self.end - 1)) - 1
        return (self._cuts[i], self._nexts[i]) if i >= 0 and self._cuts[i] > start else None

    def first(self, start: int) -> tuple[int, int]:
        i = bisect_right(self._cuts, start)
        if i < len(self._cuts) and self._cuts[i] < self.end:
            return self._cuts[i], self._nexts[i]
        return self.end, self.end


AnyCuts = Cuts | ListedCuts


def find_cuts(
    text: str, start: int, end: int, separator: Separator, keep: str, boundaries: Boundaries
) -> AnyCuts | None:
    """Return the cuts that `separator` allows between two places, None if it does not occur.

    >>> text = "one, two, three"
    >>> cuts = find_cuts(text, 0, 15, ", ", "end", Boundaries(text))
    >>> cuts.first(0), cuts.last(0, 14), cuts.last(0, 4)
    ((5, 5), (10, 10), None)
    """
    if isinstance(separator, str):
        if text.find(separator, start, end) < 0:
            return None
        period = _period(separator)
        if period:
            return Cuts(text, start, end, separator, period, keep, boundaries)
        separator = re.compile(re.escape(separator))
    elif separator.search(text, start, end) is None:
        return None
    return ListedCuts(text, start, end, separator, keep, boundaries)


@lru_cache
def _period(separator: str) -> int:
    r"""Return the width of the unit that makes up `separator`; 0 if it overlaps itself otherwise.

    >>> _period("; "), _period("\n\n"), _period("aba")
    (2, 1, 0)
    """
    width = len(separator)
    for period in range(1, width):
        if separator[period:] == separator[:-period]:
            return period if width % period == 0 else 0
    return width
