"""From the tags of an HTML page, one by one, to its text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from chunking_lib.formats.html_blocks import (
    BREAK,
    HEADINGS,
    NONE,
    Block,
    Image,
    Piece,
    clean,
    join,
    to_blocks,
    write_definitions,
    write_entry,
    write_heading,
    write_list,
    write_pre,
    write_quote,
)
from chunking_lib.formats.html_links import find_target, write_link, write_marks
from chunking_lib.formats.html_table import write_part, write_table

__all__ = ["Writer"]

_CELLS = frozenset({"td", "th"})
_LISTS = frozenset({"ul", "ol", "menu", "dir"})
# fmt: off
# Elements that begin and end a block. Of those, a container is one that blocks stand in: there, an
# image is a block of its own.
_LINES = HEADINGS | _CELLS | {
    "address", "caption", "dd", "dt", "figcaption", "legend", "li", "p", "pre", "summary",
}
_CONTAINERS = _LISTS | {
    "article", "aside", "blockquote", "body", "center", "details", "dialog", "div", "dl",
    "fieldset", "figure", "footer", "form", "frameset", "header", "hgroup", "hr", "html", "main",
    "nav", "optgroup", "option", "search", "section", "select", "table", "tbody", "tfoot", "thead",
    "tr",
}
# fmt: on
# Elements whose content is gathered first and then written as a whole. That many may be open; what
# is nested more deeply is written as paragraphs, or each level would be written once for every one
# around it.
_DEEPEST = 100
_SPACE = re.compile("[\t\n\r\f]+ *| {2,}[\t\n\r\f ]*")
# Where parts of a list or a table belong. In other places they are what they hold.
_PLACES = {
    "caption": ("table",),
    "dd": ("dd", "dl", "dt"),
    "dt": ("dd", "dl", "dt"),
    "li": tuple(_LISTS),
    "td": ("table", "tr"),
    "th": ("table", "tr"),
    "tr": ("table",),
}
_FRAMES: dict[str, Callable[[str, Mapping[str, str], list[Piece]], list[Block]]] = {
    **dict.fromkeys(HEADINGS, write_heading),
    **dict.fromkeys(_LISTS, write_list),
    **dict.fromkeys(_CELLS, write_part),
    **dict.fromkeys(("li", "dd", "dt"), write_entry),
    "tr": write_part,
    "caption": write_part,
    "blockquote": write_quote,
    "dl": write_definitions,
    "pre": write_pre,
    "table": write_table,
}


class Writer:
    """Takes tags and text in their order; `finish` returns the page.

    A stack of frames takes the place of recursion. Each gathers pieces: text, with a line feed for
    every `<br>`, and the blocks that ended in it. With `links`, a link has marks around the first
    of its lines that has words.
    """

    def __init__(self, links: bool = False) -> None:
        self._links = links
        self._target = ""  # of the open link, until it is written
        self._linked: list[str] = []  # its line so far
        self._frames: list[tuple[str, Mapping[str, str], list[Piece]]] = [("", NONE, [])]
        # The open elements that begin and end a block, and whether they have a frame.
        self._open = [("", False)]
        self._verbatim = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        pieces = self._frames[-1][2]
        if tag == "br":
            self._end_line()
            pieces.append("\n")
        elif tag == "img":
            alt = " ".join(clean(attributes.get("alt", "")).split())
            if alt:
                self._image(f"[Image: {alt}]")
        elif tag in _LINES or tag in _CONTAINERS:
            self._end_line()
            pieces.append(BREAK)
            framed = tag in _FRAMES and len(self._frames) <= _DEEPEST
            self._open.append((tag, framed))
            self._verbatim += tag == "pre"
            if framed:
                self._frames.append((tag, attributes, []))
        elif tag == "a" and self._links:
            self._end_line()  # links do not nest
            self._target = find_target(attributes.get("href", ""))

    def _image(self, text: str) -> None:
        around, _ = self._open[-1]
        if around == "figure":
            self._end_line()
            self._frames[-1][2].append(Block("p", "".join(self._link([text]))))
        else:
            self._add(text if around in _LINES else Image(text))

    def _add(self, text: str) -> None:
        if self._target and not self._verbatim:
            self._linked.append(text)
        else:
            self._frames[-1][2].append(text)

    def _end_line(self) -> None:
        if self._linked:
            self._frames[-1][2].extend(self._link(self._linked))
            self._linked = []

    def _link(self, parts: list[str]) -> list[str]:
        if not self._target or self._verbatim or not clean("".join(parts)).strip():
            return parts
        target, self._target = self._target, ""
        return write_link(parts, target)

    def text(self, text: str) -> None:
        if not self._verbatim and _SPACE.search(text):
            text = _SPACE.sub(" ", text)
        self._add(text)

    def end(self, tag: str) -> None:
        if tag == "a":
            self._end_line()
            self._target = ""
        if tag not in _LINES and tag not in _CONTAINERS:
            return
        self._end_line()
        _, framed = self._open.pop()
        self._verbatim -= tag == "pre"
        if framed:
            _, attributes, pieces = self._frames.pop()
            around, _, gathered = self._frames[-1]
            if around in _PLACES.get(tag, (around,)):
                gathered.extend(_FRAMES[tag](tag, attributes, pieces))
            else:
                found = to_blocks(pieces)
                gathered += [part for block in found for part in block.parts or [block]]
        self._frames[-1][2].append(BREAK)

    def finish(self) -> str:
        text = join(to_blocks(self._frames[0][2]))
        if self._links:
            text = write_marks(text)
        return f"{text}\n" if text else ""
