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
    "article", "blockquote", "body", "center", "details", "dialog", "div", "dl", "fieldset",
    "figure", "form", "frameset", "hgroup", "hr", "html", "main", "optgroup", "option", "search",
    "section", "select", "table", "tbody", "tfoot", "thead", "tr",
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
    every `<br>`, and the blocks that ended in it.
    """

    def __init__(self) -> None:
        self._frames: list[tuple[str, Mapping[str, str], list[Piece]]] = [("", NONE, [])]
        # The open elements that begin and end a block, and whether they have a frame.
        self._open = [("", False)]
        self._verbatim = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        pieces = self._frames[-1][2]
        if tag == "br":
            pieces.append("\n")
        elif tag == "img":
            alt = " ".join(clean(attributes.get("alt", "")).split())
            if alt:
                pieces.append(self._image(f"[Image: {alt}]"))
        elif tag in _LINES or tag in _CONTAINERS:
            pieces.append(BREAK)
            framed = tag in _FRAMES and len(self._frames) <= _DEEPEST
            self._open.append((tag, framed))
            self._verbatim += tag == "pre"
            if framed:
                self._frames.append((tag, attributes, []))

    def _image(self, text: str) -> Piece:
        around, _ = self._open[-1]
        if around == "figure":
            return Block("p", text)
        return text if around in _LINES else Image(text)

    def text(self, text: str) -> None:
        if not self._verbatim and _SPACE.search(text):
            text = _SPACE.sub(" ", text)
        self._frames[-1][2].append(text)

    def end(self, tag: str) -> None:
        if tag not in _LINES and tag not in _CONTAINERS:
            return
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
        return f"{text}\n" if text else ""
