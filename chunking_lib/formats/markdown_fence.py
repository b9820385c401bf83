"""Cutting fenced code that is too long: each part is fenced again."""

from __future__ import annotations

from collections.abc import Sequence

from chunking_lib.boundaries import Boundaries
from chunking_lib.chunk import Chunk
from chunking_lib.formats.markdown_blocks import Block, trimmed_end
from chunking_lib.length import Length
from chunking_lib.recursive import split_recursive

__all__ = ["FenceCutter"]


class FenceCutter:
    """Cuts one fence at its lines, as verbatim as can be.

    The first part begins as the fence does and the last ends as it does. What each part lacks, an
    opening with the same language or a closing, is added.
    """

    def __init__(
        self, text: str, lines: Sequence[int], boundaries: Boundaries, fence: Block, source: str
    ) -> None:
        self._text, self._boundaries, self._source = text, boundaries, source
        self._body, self._end = lines[fence.first + 1], fence.end
        written = text.index(fence.markup, lines[fence.first])
        # Where the fence stands in a list, a later part has no marker, but is as far to the right.
        prefix = "".join(c if c in "> \t" else " " for c in text[lines[fence.first] : written])
        self._opener = prefix + text[written : self._body]
        newline = "\r\n" if self._opener.endswith("\r\n") else "\n"
        self._closer = newline + prefix + fence.markup
        # A fence may end with the text, or with the list or quote around it.
        last = text[lines[fence.last - 1] : lines[fence.last]].strip("> \t\r\n")
        self._closed = (
            fence.last - fence.first > 1
            and len(last) >= len(fence.markup)
            and not last.strip(fence.markup[0])
        )
        self._stop = lines[fence.last - 1] if self._closed else fence.end

    def cut(self, start: int, size: int, length: Length) -> list[Chunk]:
        """Return the parts, the first from `start` on; none if the fences leave too little room."""
        first = self._text[start : self._body]
        before, after = max(first, self._opener, key=length), self._closer
        around = length(before) + length(after)
        if 2 * around > size:
            return []
        parts = self._parts(start, size - around, length)
        if not _fit(parts, size, length):  # a length that does not add up
            parts = self._parts(start, size, lambda part: length(before + part + after))
        return parts if _fit(parts, size, length) else []

    def _parts(self, start: int, size: int, length: Length) -> list[Chunk]:
        body, text = self._body, self._text
        split = split_recursive(
            text[body : self._stop], size=size, length=length, keep="end", strip=False
        )
        found: list[Chunk] = []
        for part in split:
            first = body + part.start if found else start
            last = trimmed_end(text, first, body + part.end, self._boundaries)
            if part is split[-1]:
                last = self._end
            rebuilt = self._opener + text[first:last] if found else text[first:last]
            if part is not split[-1] or not self._closed:
                rebuilt += self._closer
            found.append(Chunk(rebuilt, first, last, self._source, derived=True))
        return found


def _fit(chunks: Sequence[Chunk], size: int, length: Length) -> bool:
    return all(length(chunk.text) <= size for chunk in chunks)
