"""Cutting the blocks of a Markdown text into chunks."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from operator import attrgetter

from chunking_lib.formats.markdown_blocks import Block, trimmed_end
from chunking_lib.formats.markdown_fence import FenceCutter
from chunking_lib.length import Length
from chunking_lib.recursive import DEFAULT_SEPARATORS, split_recursive
from chunking_lib.separators import find_cuts, for_line_ends
from chunking_lib.spans import Builder

__all__ = ["Cutter"]

_SEEN = re.compile(r"\S")
_END = attrgetter("end")
# Where text may be cut whose beginning stands with its heading. No blank line: that is below it.
_BELOW_HEADING = ("\n", re.compile(r"(?<=[.!?])\s"), *DEFAULT_SEPARATORS[2:-1])
#: What stays whole where it fits, and the mark on its parts where it does not.
_WHOLE = {"fence": "fence cut", "code": "code cut", "row": "row cut"}


class Cutter:
    """Cuts the sections of one text, in order, and gives the chunks to a builder."""

    def __init__(self, builder: Builder, lines: Sequence[int], source: str, length: Length) -> None:
        self._builder, self._lines, self._source = builder, lines, source
        self._text, self._size, self._length = builder.text, builder.size, length
        self._separators = [for_line_ends(one, builder.text) for one in _BELOW_HEADING]

    def cut(self, blocks: Sequence[Block]) -> None:
        """Cut a section: each chunk reaches as far as it may, but not into a block that fits."""
        start = blocks[0].start
        while start < blocks[-1].end:
            end = self._furthest(blocks, start, self._builder.ruler.reach(start))
            if end > start:
                self._add(start, end)
            else:
                end = self._cut_leaf(_leaf(self, blocks, start), start)
            start = self._next(end)

    def fits(self, start: int, end: int) -> bool:
        """Say whether the text between two places fits."""
        return self._builder.ruler.measure(start, end) <= self._size

    def _furthest(self, blocks: Sequence[Block], start: int, limit: int) -> int:
        """Return the last end of a block that a chunk may reach; `start` if there is none.

        A block that is too long by itself is cut anyway, so the chunk takes the beginning of it
        along. So does a chunk that would be nothing but a heading.
        """
        first = bisect_right(blocks, start, key=_END)
        last = bisect_right(blocks, limit, key=_END) - 1
        while last >= first and (
            (blocks[last].head and last < len(blocks) - 1) or not self.fits(start, blocks[last].end)
        ):
            last -= 1
        end = blocks[last].end if last >= first else start
        following = max(first, last + 1)
        # Behind `limit` there is nothing to take along, however many headings there are.
        while (
            following < len(blocks) - 1 and blocks[following].head and blocks[following].end < limit
        ):
            following += 1
        if following < len(blocks) and blocks[following].children:
            block = blocks[following]
            if end == start or self._builder.ruler.reach(block.start) < block.end:
                return max(end, self._furthest(block.children, start, limit))
        return end

    def _cut_leaf(self, leaf: Block, start: int) -> int:
        """Cut a block that has none inside and does not fit behind `start`; return how far."""
        mark = _WHOLE.get(leaf.kind, "")
        whole = self.fits(max(start, leaf.start), leaf.end)
        if leaf.kind == "fence" and not whole and self._cut_fence(leaf, start):
            return leaf.end
        if start < leaf.start:  # headings
            end = start
            if not (whole and mark) and leaf.kind not in ("fence", "row", "heading"):
                end = self._reach_into(leaf, start)
            if end > start:
                self._add(start, end, "" if whole else mark)
                return end
            self._add(start, trimmed_end(self._text, start, leaf.start, self._builder.boundaries))
            return leaf.start
        if whole:
            self._add(start, leaf.end)
            return leaf.end
        return self._cut_text(start, leaf.end, mark)

    def _reach_into(self, leaf: Block, start: int) -> int:
        """Return the furthest end of a chunk that begins with headings, inside the text below."""
        builder, limit = self._builder, self._builder.ruler.reach(start)
        stop = min(leaf.end, limit + 1)
        for separator in self._separators:
            if leaf.start >= stop:
                break
            cuts = find_cuts(self._text, leaf.start, stop, separator, "end", builder.boundaries)
            found = cuts.last(leaf.start, limit) if cuts else None
            while cuts and found:
                end = trimmed_end(self._text, start, found[0], builder.boundaries)
                # A word or two below a heading are no better than none.
                if 2 * (end - start) < limit - start or end <= leaf.start:
                    break
                if self.fits(start, end):
                    return end
                found = cuts.last(leaf.start, found[0] - 1)
        return start

    def _cut_text(self, start: int, end: int, mark: str) -> int:
        """Cut text as `split_recursive` does. What is left over may go with what follows."""
        parts = split_recursive(
            self._text[start:end], size=self._size, length=self._length, keep="end", strip=False
        )
        rest = None if mark or len(parts) < 2 else parts.pop()
        for part in parts:
            first, last = start + part.start, start + part.end
            # A shorter text need not measure less.
            inner = trimmed_end(self._text, first, last, self._builder.boundaries)
            last = inner if self.fits(first, inner) else last
            self._add(first, last, mark, oversize="oversize" in part.metadata)
        return start + rest.start if rest else end

    def _cut_fence(self, fence: Block, start: int) -> bool:
        """Cut a fence and fence each part again; say whether that can be done."""
        builder = self._builder
        cutter = FenceCutter(self._text, self._lines, builder.boundaries, fence, self._source)
        for opened in (start, fence.start):  # with the headings above it, or without
            parts = cutter.cut(opened, self._size, self._length)
            if parts:
                if start < opened:
                    self._add(start, trimmed_end(self._text, start, opened, builder.boundaries))
                for part in parts:
                    part.metadata["fallback"] = _WHOLE["fence"]
                builder.chunks.extend(parts)
                return True
        return False

    def _add(self, start: int, end: int, mark: str = "", *, oversize: bool = False) -> None:
        count = len(self._builder.chunks)
        self._builder.add(start, end, oversize=oversize)
        if mark and len(self._builder.chunks) > count:
            self._builder.chunks[-1].metadata["fallback"] = mark

    def _next(self, place: int) -> int:
        """Return where the next chunk starts: with its line, so that it keeps its indentation."""
        seen = _SEEN.search(self._text, place)
        if seen is None:
            return len(self._text)
        line = self._lines[bisect_right(self._lines, seen.start()) - 1]
        return line if line >= place else max(place, self._builder.boundaries.before(seen.start()))


def _leaf(cutter: Cutter, blocks: Sequence[Block], start: int) -> Block:
    """Return the innermost block at `start`, behind the headings that fit."""
    number = bisect_right(blocks, start, key=_END)
    while (
        blocks[number].head and number < len(blocks) - 1 and cutter.fits(start, blocks[number].end)
    ):
        number += 1
    block = blocks[number]
    return _leaf(cutter, block.children, start) if block.children else block
