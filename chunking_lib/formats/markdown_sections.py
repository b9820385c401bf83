"""The sections of a Markdown text: which headings and which table stand above a place."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from markdown_it import MarkdownIt
from markdown_it.token import Token

from chunking_lib.formats.markdown_blocks import Block
from chunking_lib.length import Length

__all__ = ["Outline", "Tables"]

_INLINE = MarkdownIt("commonmark")
_MARKUP = frozenset("\\`*_[]<>&!\n")
_LONGEST_TITLE = 200


class Outline:
    """The sections of a text, and the headings in force at each place."""

    def __init__(self, blocks: Iterable[Block], levels: int) -> None:
        #: The blocks of each section.
        self.sections: list[list[Block]] = []
        # Where each path begins to hold, and the path: the place and the title of each heading.
        self._starts: list[int] = [-1]
        self._paths: list[tuple[tuple[int, str], ...]] = [()]
        above: list[Block] = []
        titles: list[tuple[int, str]] = []
        bare = False  # the last section is headings so far, each deeper than the one before
        for block in blocks:
            if not block.head or block.level > levels:
                if not self.sections or self.sections[-1][0].kind == "front matter":
                    self.sections.append([])
                self.sections[-1].append(block)
                bare = False
                continue
            deeper = bool(above) and block.level > above[-1].level
            # By level, not by depth: a level may have been jumped.
            while above and above[-1].level >= block.level:
                above.pop()
                titles.pop()
            above.append(block)
            titles.append((block.start, _title(block)))
            self._starts.append(block.start)
            self._paths.append(tuple(entry for entry in titles if entry[1]))
            if bare and deeper:
                self.sections[-1].append(block)
            else:
                self.sections.append([block])
            bare = True

    def path(self, end: int) -> tuple[tuple[int, str], ...]:
        """Return place and title of the headings above what ends at `end`, the last in it too."""
        return self._paths[bisect_left(self._starts, end) - 1]


def _title(heading: Block) -> str:
    """Return the words of a heading, without the marks of emphasis, code and links."""
    written = " ".join(heading.content)[: 5 * _LONGEST_TITLE]
    if not _MARKUP.isdisjoint(written):
        (token,) = _INLINE.parseInline(written)
        written = _words(token.children or [])
    title = written.strip()
    if len(title) > _LONGEST_TITLE:
        title = title[: _LONGEST_TITLE - 1].rstrip() + "…"
    return title


def _words(tokens: Iterable[Token]) -> str:
    parts = []
    for token in tokens:
        if token.type in ("text", "code_inline"):
            parts.append(token.content)
        elif token.type in ("softbreak", "hardbreak"):
            parts.append(" ")
        elif token.type == "image":
            parts.append(_words(token.children or []))
    return "".join(parts)


class Tables:
    """Where the rows of each table are, and its header."""

    def __init__(self, blocks: Iterable[Block], size: int, length: Length) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._headers: list[str] = []
        open_ = list(blocks)[::-1]
        while open_:
            block = open_.pop()
            if block.kind != "table":
                open_ += block.children[::-1]
            elif len(block.children) > 1 and length(block.header) <= size:
                self._starts.append(block.children[1].start)
                self._ends.append(block.end)
                self._headers.append(block.header)

    def header(self, place: int) -> str:
        """Return the header of the table that has a row at `place`."""
        number = bisect_right(self._starts, place) - 1
        return self._headers[number] if number >= 0 and place < self._ends[number] else ""
