"""HTML: what a reader of the page would read, block by block."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from lxml import etree

from chunking_lib.chunk import Document
from chunking_lib.formats.html_blocks import NONE, clean
from chunking_lib.formats.html_writer import Writer
from chunking_lib.formats.source import decode, read_source

__all__ = ["load_html"]

# Elements that are not what the page is about, or that nobody sees.
# fmt: off
_LEFT_OUT = frozenset({
    "aside", "audio", "canvas", "datalist", "footer", "head", "header", "iframe", "nav", "noscript",
    "object", "script", "style", "svg", "template", "title", "video",
})
# fmt: on
_META = re.compile(rb"""<meta\s[^>]*?charset\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)


def load_html(source: str | bytes | Path, *, id: str | None = None) -> Document:
    r"""Make a document of an HTML page: its content, without the page around it.

    1. The content is that of `<main>`; if there is none, of each `<article>`; else of `<body>`.
    2. Navigation, headers, footers, asides, scripts, comments and hidden elements are left out.
    3. Headings, lists, quotes and tables are written as in Markdown, a definition list as
       `term: definition`, an image as `[Image: its alternative text]`. Everything else is
       paragraphs; emphasis and links are their text.
    4. White space is collapsed; soft hyphens and zero-width characters are dropped; the rest is
       brought into the normal form NFC. A blank line stands between blocks.

    The parser reports tags one by one and builds no tree, so no page is nested too deeply.

    Args:
        source: the HTML itself as `str` or `bytes`, or a file as `Path`. The encoding is that of
            the byte order mark, else that of `<meta>`, else UTF-8.
        id: the id of the document; by default the name of the file.
    Raises:
        ValueError: a file that cannot be read, or bytes that are not in the encoding.

    >>> load_html("<h1>Piers</h1><p>Two <b>steps</b>.<ul><li>One<li>Two</ul>").text
    '# Piers\n\nTwo steps.\n\n- One\n- Two\n'
    """
    raw, id, name = read_source(source, id)
    page = _parse(raw if isinstance(raw, str) else decode(raw, name, _encoding(raw)))
    writer = Writer()
    for event in page.content():
        if isinstance(event, str):
            writer.text(event)
        elif event.end:
            writer.end(event.name)
        else:
            writer.start(event.name, event.attributes)
    metadata = {"title": " ".join(clean(page.title).split()), "language": page.language}
    text = unicodedata.normalize("NFC", writer.finish())
    return Document(text, id=id, metadata={key: value for key, value in metadata.items() if value})


def _encoding(data: bytes) -> str:
    """Return the encoding that a page declares near its start."""
    declared = _META.search(data, 0, 4096)
    name = declared[1].decode("ascii").lower() if declared else "utf-8"
    if name.startswith("utf-16"):  # it could not have been read so far
        return "utf-8"
    # What browsers do: pages that say Latin-1 or ASCII have the curly quotes of Windows.
    return "cp1252" if name in {"iso-8859-1", "latin1", "ascii", "us-ascii"} else name


def _parse(text: str) -> _Page:
    # A NUL would end the page for the parser, and half a surrogate pair cannot be encoded.
    text = re.sub("[\0\ud800-\udfff]", "\ufffd", text)
    parser = etree.HTMLParser(target=_Page(), encoding="utf-8", huge_tree=True)
    parser.feed(text.encode() or b" ")
    page: _Page = parser.close()
    return page


class _Tag(NamedTuple):
    name: str
    end: bool = False
    attributes: Mapping[str, str] = NONE


class _Page:
    """Takes down what the parser reports, but for what is left out.

    Tags without attributes are the same object each time: millions of new ones would keep Python's
    garbage collector busy for longer than all the rest takes.
    """

    def __init__(self) -> None:
        self.title = ""
        self.language = ""
        self._events: list[str | _Tag] = []
        self._tags: dict[tuple[str, bool], _Tag] = {}
        self._roots: dict[str, list[int]] = {"main": [], "article": []}
        self._left_out = 0  # open elements, from one that is left out
        self._titles = 0

    def start(self, name: str, attributes: Any) -> None:
        self._titles += name == "title"
        if name == "html" and not self.language:
            self.language = attributes.get("lang", attributes.get("xml:lang", "")).strip()
        if self._left_out or name in _LEFT_OUT or (attributes and _hidden(name, attributes)):
            self._left_out += 1
            return
        root = self._roots.get(attributes.get("role", name) if attributes else name)
        if root is not None:
            root.append(len(self._events))
        tag = _Tag(name, False, dict(attributes)) if attributes else self._plain(name, False)
        self._events.append(tag)

    def end(self, name: str) -> None:
        if self._left_out:
            self._left_out -= 1
        else:
            self._events.append(self._plain(name, True))

    def _plain(self, name: str, end: bool) -> _Tag:
        return self._tags.setdefault((name, end), _Tag(name, end))

    def data(self, text: str) -> None:
        if not self._left_out:
            self._events.append(text)
        elif self._titles == 1 and self._left_out == 2:
            self.title += text

    def close(self) -> _Page:
        return self

    def content(self) -> Iterable[str | _Tag]:
        """Yield the events of the first `<main>`, else of all articles, else all."""
        roots = self._roots["main"][:1] or self._roots["article"]
        end = 0
        for start in roots:
            if start < end:  # inside the one before
                continue
            depth, end = 0, start
            while end == start or depth:
                event = self._events[end]
                if not isinstance(event, str):
                    depth += -1 if event.end else 1
                yield event
                end += 1
        if not roots:
            yield from self._events


def _hidden(name: str, attributes: Mapping[str, str]) -> bool:
    return (
        "hidden" in attributes
        or attributes.get("aria-hidden") == "true"
        or (name == "dialog" and "open" not in attributes)
        or re.search(r"display\s*:\s*none", attributes.get("style", "")) is not None
    )
