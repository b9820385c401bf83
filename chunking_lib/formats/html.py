"""HTML: what a reader of the page would read, block by block."""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lxml import etree

from chunking_lib.chunk import Document
from chunking_lib.formats.html_blocks import NONE, clean
from chunking_lib.formats.html_writer import Writer
from chunking_lib.formats.source import decode, read_source

__all__ = ["load_html"]

# Elements that nobody reads.
# fmt: off
_LEFT_OUT = frozenset({
    "audio", "canvas", "datalist", "head", "iframe", "noframes", "noscript", "object", "script",
    "style", "svg", "template", "title", "video",
})
# Elements without an end. The parser does not know them all, and reports one with their parent's.
_VOID = frozenset({
    "area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "img", "input",
    "keygen", "link", "meta", "param", "source", "track", "wbr",
})
# The encodings of the web, by Python's names. Some are read as a larger one, as browsers do: pages
# that say Latin-1 have the curly quotes of Windows. UTF-16 could not have been read so far.
_ENCODINGS = {name: name for name in (
    "big5hkscs", "cp866", "cp874", "cp932", "cp949", "cp1250", "cp1251", "cp1252", "cp1253",
    "cp1254", "cp1255", "cp1256", "cp1257", "cp1258", "euc_jp", "gb18030", "iso2022_jp",
    "iso8859-2", "iso8859-3", "iso8859-4", "iso8859-5", "iso8859-6", "iso8859-7", "iso8859-8",
    "iso8859-10", "iso8859-13", "iso8859-14", "iso8859-15", "iso8859-16", "koi8-r", "koi8-u",
    "mac-cyrillic", "mac-roman", "utf-8",
)} | {
    "ascii": "cp1252", "big5": "big5hkscs", "euc_kr": "cp949", "gb2312": "gb18030",
    "gbk": "gb18030", "iso8859-1": "cp1252", "iso8859-9": "cp1254", "iso8859-11": "cp874",
    "shift_jis": "cp932", "tis-620": "cp874", "utf-16": "utf-8", "utf-16-be": "utf-8",
    "utf-16-le": "utf-8",
}
# Labels that browsers know and Python does not.
_LABELS = {
    "iso-8859-8-i": "iso8859-8", "windows-31j": "cp932", "windows-874": "cp874",
    "windows-949": "cp949", "x-gbk": "gbk", "x-sjis": "cp932",
}
# What may be the content, and the least part of the page's text that it then holds.
_ROOTS = {"main": 0.1, "article": 0.5}
_SECTIONS = frozenset({"article", "main", "section"})  # that have a header of their own
# fmt: on
_COMMENT = re.compile(rb"<!--.*?(-->|\Z)", re.DOTALL)
_DISPLAY = re.compile(r"(?:^|;)\s*display\s*:\s*([\w-]+)")
_NAME = re.compile("[a-z][a-z0-9-]*")
_META = re.compile(rb"""<meta\s[^>]*?charset\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)


def load_html(
    source: str | bytes | Path,
    *,
    id: str | None = None,
    links: bool = False,
    leave_out: Collection[str] = ("aside", "footer", "header", "nav"),
) -> Document:
    r"""Make a document of an HTML page: its content, without the page around it.

    1. The content is that of `<main>`, unless it holds less than a tenth of the page's text; else
       that of the `<article>`s, unless they hold less than half of it; else that of `<body>`.
    2. Of the content, the elements named in `leave_out` are left out, but not the headers of a
       `<main>`, `<article>` or `<section>`. Scripts, styles, templates, comments, media and hidden
       elements are never read.
    3. Headings, lists, quotes and tables are written as in Markdown, a definition list as
       `term: definition`, an image as `[Image: its alternative text]`. Everything else is
       paragraphs; emphasis is its text. So are the cells of tables for layout, and of those that
       would be 20 times as long as what they say. A link is its text, too, but for `links`.
    4. White space is collapsed; soft hyphens and characters of no width are dropped, but not the
       joiners between letters or emoji that need them; the rest is brought into the normal form
       NFC. A blank line stands between blocks.

    The parser reports tags one by one and builds no tree, so no page is nested too deeply.

    Args:
        source: the HTML itself as `str` or `bytes`, or a file as `Path`. The encoding is that of
            the byte order mark, else UTF-16 if it begins so, else that of `<meta>`, else UTF-8.
        id: the id of the document; by default the name of the file.
        links: whether a link is written as `[its text](its target)`, the target as in the page,
            with what Markdown needs: `%20` for a space, `<...>` around one with parentheses. A link
            over several lines or blocks stands in the first that has words. It remains its text
            in `<pre>`, around a table, without words, and if its target is none, `#`, or begins
            with `javascript:` or `data:`.
        leave_out: names of the elements that are not what the page is about; `()` for none.
    Raises:
        ValueError: a `leave_out` that is no collection of such names, a file that cannot be read,
            an encoding that browsers do not know, or bytes that are not in it.

    >>> load_html("<h1>Piers</h1><p>Two <b>steps</b>.<ul><li>One<li>Two</ul>").text
    '# Piers\n\nTwo steps.\n\n- One\n- Two\n'
    >>> load_html("<p>To <a href='/gull'>Gull <b>Quay</b></a>.", links=True).text
    'To [Gull Quay](/gull).\n'
    >>> load_html("<nav>Home</nav><p>Fares<form>Search</form>", leave_out=["form"]).text
    'Home\n\nFares\n'
    """
    raw, id, name = read_source(source, id)
    text = raw if isinstance(raw, str) else decode(raw, name, _encoding(raw, name))
    page = _parse(text, _names(leave_out))
    writer = Writer(links)
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


def _names(leave_out: Collection[str]) -> frozenset[str]:
    if isinstance(leave_out, Collection) and not isinstance(leave_out, str):
        names = [name for name in leave_out if isinstance(name, str) and _NAME.fullmatch(name)]
        if len(names) == len(leave_out):
            return frozenset(names)
    raise ValueError(f"leave_out={leave_out!r} must be a list of names of elements, as in ['nav']")


def _encoding(data: bytes, name: str) -> str:
    """Return the encoding that a page declares near its start."""
    declared = _META.search(_COMMENT.sub(b"", data[:4096]))
    label = declared[1].decode("ascii").lower() if declared else "utf-8"
    try:
        return _ENCODINGS[codecs.lookup(_LABELS.get(label, label)).name]
    except LookupError:
        raise ValueError(f"{name}: unknown encoding {label!r}") from None


def _parse(text: str, leave_out: frozenset[str]) -> _Page:
    # A NUL would end the page for the parser, and half a surrogate pair cannot be encoded.
    text = re.sub("[\0\ud800-\udfff]", "\ufffd", text)
    parser = etree.HTMLParser(target=_Page(leave_out), encoding="utf-8", huge_tree=True)
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

    def __init__(self, leave_out: frozenset[str]) -> None:
        self._leave_out = _LEFT_OUT | leave_out
        self.title = ""
        self.language = ""
        self._events: list[str | _Tag] = []
        self._tags: dict[tuple[str, bool], _Tag] = {}
        self._roots: dict[str, list[int]] = {name: [] for name in _ROOTS}
        self._sections = 0  # open ones
        self._left_out = 0  # open elements, from one that is left out
        self._outermost = ""  # the name of that one
        self._in_title = False

    def start(self, name: str, attributes: Any) -> None:
        if name == "html" and not self.language:
            self.language = attributes.get("lang", attributes.get("xml:lang", "")).strip()
        if self._left_out or self._leaves_out(name, attributes):
            if not self._left_out:
                self._outermost = name
            # Images have titles, too, but not in the head.
            self._in_title = name == "title" and self._outermost == "head" and not self.title
            self._left_out += name not in _VOID
            return
        root = self._roots.get(attributes.get("role", name) if attributes else name)
        if root is not None:
            root.append(len(self._events))
        tag = _Tag(name, False, dict(attributes)) if attributes else self._plain(name, False)
        self._events.append(tag)
        self._sections += name in _SECTIONS
        if name in _VOID:
            self._events.append(self._plain(name, True))

    def end(self, name: str) -> None:
        if name in _VOID:
            return
        if self._left_out:
            self._left_out -= 1
            self._in_title = False
        else:
            self._sections -= name in _SECTIONS
            self._events.append(self._plain(name, True))

    def _leaves_out(self, name: str, attributes: Mapping[str, str]) -> bool:
        if name in self._leave_out and not (name == "header" and self._sections):
            return True
        return bool(attributes) and _hidden(name, attributes)

    def _plain(self, name: str, end: bool) -> _Tag:
        return self._tags.setdefault((name, end), _Tag(name, end))

    def data(self, text: str) -> None:
        if not self._left_out:
            self._events.append(text)
        elif self._in_title:
            self.title += text

    def close(self) -> _Page:
        return self

    def content(self) -> Sequence[str | _Tag]:
        """Return the events of what is the page's content."""
        letters = _letters(self._events)
        for name, part in _ROOTS.items():
            events = list(self._inside(self._roots[name]))
            if events and _letters(events) >= part * letters:
                return events
        return self._events

    def _inside(self, roots: Iterable[int]) -> Iterator[str | _Tag]:
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


def _letters(events: Iterable[str | _Tag]) -> int:
    return sum(len("".join(event.split())) for event in events if isinstance(event, str))


def _hidden(name: str, attributes: Mapping[str, str]) -> bool:
    # The last declaration counts. What is hidden "until found" is text to be found.
    display = _DISPLAY.findall(attributes.get("style", "").lower())
    return (
        attributes.get("hidden", "until-found").lower() != "until-found"
        or attributes.get("aria-hidden") == "true"
        or (name == "dialog" and "open" not in attributes)
        or display[-1:] == ["none"]
    )
