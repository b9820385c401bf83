"""The blocks of a Markdown text and where they lie: what `split_markdown` cuts between."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from markdown_it.token import Token

from chunking_lib.boundaries import Boundaries
from chunking_lib.formats.markdown_rules import make_parser
from chunking_lib.formats.source import pipe_table

__all__ = ["Block", "read_blocks", "trimmed_end"]

_LINE_END = re.compile(r"\r\n?|\n")  # the parser's own line ends; `splitlines` knows more of them
_KINDS = {
    "blockquote_open": "quote",
    "bullet_list_open": "list",
    "code_block": "code",
    "fence": "fence",
    "heading_open": "heading",
    "hr": "text",
    "html_block": "text",
    "list_item_open": "item",
    "ordered_list_open": "list",
    "paragraph_open": "text",
    "table_open": "table",
}
_CONTAINERS = frozenset({"quote", "list", "item", "table"})


@dataclass(slots=True)
class Block:
    """A block between two places, and the blocks inside it, which leave no gap but white space."""

    kind: str
    #: The lines it stands on: the first, and the one after the last.
    first: int
    last: int
    start: int = 0
    end: int = 0
    children: list[Block] = field(default_factory=list)
    #: It belongs to what follows: a heading, or the header of a table.
    head: bool = False
    level: int = 0
    markup: str = ""
    #: As written: the words of a heading, the header cells of a table.
    content: list[str] = field(default_factory=list)

    @property
    def header(self) -> str:
        """The header of a table and the line below it."""
        return pipe_table([self.content])

    def extend(self, end: int) -> None:
        """Move the end of the block, and of the last one in it."""
        self.end = end
        if self.children:
            self.children[-1].extend(end)


def read_blocks(text: str) -> tuple[list[Block], list[int]]:
    r"""Return the blocks of `text` from top to bottom, and where each line starts.

    >>> blocks, lines = read_blocks("# Fares\n\n- One\n- Two\n")
    >>> [(block.kind, block.start, block.end) for block in blocks], lines
    ([('heading', 0, 7), ('list', 9, 20)], [0, 8, 9, 15, 21])
    """
    lines = [0, *(match.end() for match in _LINE_END.finditer(text))]
    if lines[-1] < len(text):
        lines.append(len(text))
    reader = _Reader(text, lines)
    front = _front_matter(text, lines)
    # The parser sees empty lines instead, so that lines keep their numbers. What UTF-8 cannot
    # encode would stop it in the middle of a link.
    source = "\n" * front + text[lines[front] :].removeprefix("\ufeff")
    if not source.isascii():
        source = re.sub("[\ud800-\udfff]", "\ufffd", source)
    if front:
        reader.found.append(Block("front matter", 0, front))
    rest = _PARSER.parse(source, {"reader": reader})
    reader.take(rest)
    return reader.arrange(reader.found, 0, len(lines) - 1, nested=False), lines


def _front_matter(text: str, lines: Sequence[int]) -> int:
    """Return how many lines of front matter a text begins with: YAML or TOML, if it ends."""
    first = text[: lines[1]].removeprefix("\ufeff").rstrip() if len(lines) > 1 else ""
    # A blank line after it, and three hyphens are a line across the page.
    if first not in ("---", "+++") or len(lines) < 3 or not text[lines[1] : lines[2]].strip():
        return 0
    ends = ("---", "...") if first == "---" else ("+++",)
    for number in range(1, len(lines) - 1):
        if text[lines[number] : lines[number + 1]].rstrip() in ends:
            return number + 1
    return 0


def trimmed_end(text: str, start: int, end: int, boundaries: Boundaries) -> int:
    """Return `end` without the white space before it, where that cuts no cluster."""
    last = end
    while last > start and text[last - 1].isspace():
        last -= 1
    if start < last < end and text[last - 1] >= "\u0600":  # a prepended mark joins the space
        last = boundaries.after(last)
    return last


class _Reader:
    """Makes blocks of tokens."""

    def __init__(self, text: str, lines: list[int]) -> None:
        self._text, self._lines = text, lines
        self._boundaries = Boundaries(text)
        self.found: list[Block] = []
        # The blocks that are open, with the lines of each: the last is known when it is closed.
        self._open: list[tuple[Block, list[int]]] = []
        self._last: Block | None = None

    def take(self, tokens: Sequence[Token]) -> None:
        """Add the blocks of these tokens, which follow those of the call before."""
        for token in tokens:
            kind = _KINDS.get(token.type)
            if kind and token.map:
                self._last = block = Block(kind, token.map[0], token.map[1], markup=token.markup)
                if kind == "heading":
                    block.head, block.level = True, int(token.tag[1:])
                (self._open[-1][0].children if self._open else self.found).append(block)
                if kind in _CONTAINERS:
                    self._open.append((block, token.map))
            elif token.type == "inline":
                if self._last and self._last.kind in ("heading", "table"):
                    self._last.content.append(token.content)
            elif token.nesting < 0 and _KINDS.get(f"{token.type[:-6]}_open") in _CONTAINERS:
                block, lines = self._open.pop()
                block.last = lines[1]

    def arrange(
        self, blocks: list[Block], first: int, last: int, *, nested: bool = True
    ) -> list[Block]:
        """Give blocks their offsets. What lies between them becomes part of one, or its own."""
        found: list[Block] = []
        place = first
        for block in blocks:
            # The marker of a list may stand alone on the line before.
            start = first if nested and not found else block.first
            self._fill(found, place, start)
            block.last = min(block.last, last)
            if self._locate(block, start):
                found.append(block)
            place = max(place, block.last)
        self._fill(found, place, last)
        return found

    def _locate(self, block: Block, first: int) -> bool:
        """Find the offsets of a block, and of those in it; say whether there is anything in it."""
        block.start = self._lines[first]
        stop = self._lines[max(block.first, block.last)]
        block.end = trimmed_end(self._text, block.start, stop, self._boundaries)
        if block.kind == "table":
            rows = range(block.first + 2, block.last)
            block.children = [
                Block("row", block.first, block.first + 2, head=True),
                *(Block("row", row, row + 1) for row in rows),
            ]
        if block.children:
            block.children = self.arrange(block.children, first, block.last)
        return block.start < block.end

    def _fill(self, found: list[Block], first: int, last: int) -> None:
        """Add the lines between two blocks, which the parser has no token for."""
        between = self._text[self._lines[first] : self._lines[last]] if first < last else ""
        if not between or between.isspace():
            return
        block = Block("text", first, last)
        self._locate(block, first)
        if found and not between.strip("> \t\r\n"):  # the mark of a quote, and nothing else
            found[-1].extend(block.end)
        else:
            found.append(block)  # the target of a link, or what is nested too deeply


_PARSER = make_parser()
