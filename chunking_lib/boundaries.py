"""Where a text may be cut: never inside what a reader sees as one character."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import regex

__all__ = ["CLUSTER", "Boundaries"]

# Flags are pairs of letters. \X alone would count them from the first flag of a row, at every flag.
CLUSTER = regex.compile(
    r"\p{GCB=Regional_Indicator}{2}[\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}]*+ | \X",
    regex.VERBOSE,
)

# Two neighbouring characters that may belong to one grapheme cluster (Unicode Annex 29). It matches
# more than the annex joins; what it lets through is then asked of \X.
_MAY_JOIN = regex.compile(
    r"""
      [^\p{GCB=CR}\p{GCB=LF}\p{GCB=Control}] [\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}]
    | \p{GCB=Prepend} .
    | \r \n
    | [\p{GCB=ZWJ}\p{GCB=Extend}\p{InCB=Linker}] [\p{Extended_Pictographic}\p{L}]
    | [\p{GCB=L}\p{GCB=V}\p{GCB=LV}] [\p{GCB=L}\p{GCB=V}\p{GCB=LV}\p{GCB=LVT}\p{GCB=T}]
    | [\p{GCB=LVT}\p{GCB=T}] \p{GCB=T}
    | \p{GCB=Regional_Indicator} \p{GCB=Regional_Indicator}
    """,
    regex.VERBOSE | regex.DOTALL,
)


class Boundaries:
    r"""The places where `text` may be cut without breaking a grapheme cluster.

    A cluster is what a reader sees as one character: a letter with its accents, a flag, a family
    emoji, a CRLF. Finding all of them costs more than splitting the text, so a place is looked at
    only when someone wants to cut there. For two plain letters one look is enough. Where a cluster
    may go on, the run it stands in is read once from its beginning and remembered.

    Source: Unicode Standard Annex 29, as the `regex` package implements it (``\X``).

    >>> flags = Boundaries("\N{REGIONAL INDICATOR SYMBOL LETTER F}" * 4)
    >>> [flags.before(place) for place in range(5)], flags.after(3)
    ([0, 0, 2, 2, 4], 4)
    """

    __slots__ = ("_end", "_places", "_start", "_text", "before", "free")

    def __init__(self, text: str) -> None:
        self._text = text
        # The last run read: text[_start:_end] and the places to cut in it.
        self._start = self._end = 0
        self._places: list[int] = []
        #: Every place is a boundary: the text has no cluster of more than one character.
        self.free = text.isascii() and "\r" not in text
        #: `before(place)`: the last boundary at or before `place`.
        self.before = self._before_ascii if text.isascii() else self._before

    def _before_ascii(self, place: int) -> int:
        # In ASCII, CRLF is the only cluster of more than one character.
        if 0 < place < len(self._text) and self._text[place - 1 : place + 1] == "\r\n":
            return place - 1
        return min(max(place, 0), len(self._text))

    def _before(self, place: int) -> int:
        text = self._text
        if not 0 < place < len(text):
            return min(max(place, 0), len(text))
        left, right = text[place - 1], text[place]
        # Below the first combining mark nothing but a CRLF belongs together.
        if (left < "\u0300" > right and right != "\n") or not _MAY_JOIN.match(text, place - 1):
            return place
        if not self._start < place < self._end:
            self._read_run(place)
        return self._places[bisect_right(self._places, place) - 1]

    def at(self, place: int) -> bool:
        """Say whether `place` is a boundary."""
        return self.before(place) == place

    def after(self, place: int) -> int:
        """Return the first boundary at or after `place`."""
        found = self.before(place)
        if found >= place:
            return found
        if self._start < place < self._end:
            return self._places[bisect_left(self._places, place)]
        return place + 1  # the place inside an ASCII CRLF

    def _read_run(self, place: int) -> None:
        """Read the run of characters around `place` that may belong together."""
        text, start, end = self._text, place - 1, place + 1
        while start > 0 and _MAY_JOIN.match(text, start - 1):
            start -= 1
        while end < len(text) and _MAY_JOIN.match(text, end - 1):
            end += 1
        self._start, self._end = start, end
        self._places = [m.start() for m in CLUSTER.finditer(text, start, end)] + [end]
