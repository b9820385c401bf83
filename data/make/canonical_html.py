"""Writes the canonical text of the help pages: what a good loader must make of each.

Run from the root of the repository: python data/make/canonical_html.py
It reads data/corpus/help_*.html and rewrites data/canonical/help_*.html.txt. The rules stand in
data/canonical/README.md, section "HTML". Nothing is shared with `chunking_lib`, so that a
fault of its loader does not hide in the text that the loader is measured by.
"""

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from lxml import html
from lxml.html import HtmlElement

LEFT_OUT = {"nav", "header", "footer", "aside", "script", "style", "template", "noscript"}
PARAGRAPHS = {"p", "address", "figcaption", "summary"}
BLOCKS = PARAGRAPHS | {
    "nav", "header", "footer", "aside", "main", "article", "section", "div", "figure", "details",
    "blockquote", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "dl", "dt", "dd",
    "table", "caption", "thead", "tbody", "tfoot", "tr", "td", "th", "img", "picture",
}  # fmt: skip
SPACE = re.compile("[ \t\n\r\f\N{NO-BREAK SPACE}]+")
INVISIBLE = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]")
BREAK = "\0"  # stands for <br> until white space has been collapsed; no page can hold it


def left_out(element: HtmlElement) -> bool:
    """Whether the element is no part of the content: a comment, navigation, hidden."""
    hidden = "hidden" in element.attrib or element.get("aria-hidden") == "true"
    return hidden or element.tag in LEFT_OUT or not isinstance(element.tag, str)


def raw(element: HtmlElement, without: tuple[str, ...] = ()) -> str:
    """The text inside an element, white space as in the source."""
    parts = [element.text or ""]
    for child in element:
        parts += ["" if child.tag in without else inline(child), child.tail or ""]
    return "".join(parts)


def inline(element: HtmlElement) -> str:
    """What an element adds to the text around it; a block in it, as in a cell, stays apart."""
    if left_out(element):
        return ""
    if element.tag == "br":
        return BREAK
    if element.tag == "img":
        return f"[Image: {element.get('alt')}]" if element.get("alt") else ""
    return f" {raw(element)} " if element.tag in BLOCKS else raw(element)


def paragraph(text: str) -> str:
    """White space collapsed, each BREAK a newline."""
    text = unicodedata.normalize("NFC", INVISIBLE.sub("", text))
    return "\n".join(part.strip() for part in SPACE.sub(" ", text).split(BREAK)).strip("\n")


def line(element: HtmlElement, without: tuple[str, ...] = ()) -> str:
    """The text of an element in one line."""
    return paragraph(raw(element, without).replace(BREAK, " "))


def flow(element: HtmlElement) -> Iterator[str]:
    """The blocks in a container. Text that stands loose beside blocks is a paragraph."""
    loose = element.text or ""
    for child in element:
        if child.tag in BLOCKS:
            yield paragraph(loose)
            loose = ""
            yield from () if left_out(child) else block(child)
        else:
            loose += inline(child)
        loose += child.tail or ""
    yield paragraph(loose)


def block(element: HtmlElement) -> Iterator[str]:
    """The block, or blocks, that one element makes."""
    tag = element.tag
    if re.fullmatch("h[1-6]", tag):
        yield "#" * int(tag[1]) + " " + line(element)
    elif tag in PARAGRAPHS | {"img", "picture"}:
        yield paragraph(inline(element))
    elif tag in {"ul", "ol"}:
        yield "\n".join(items(element))
    elif tag == "dl":
        yield "\n".join(definitions(element))
    elif tag == "table":
        yield from (line(caption) for caption in element.findall("caption"))
        yield "\n".join(rows(element))
    elif tag == "blockquote":
        quoted = "\n\n".join(filter(None, flow(element)))
        yield "\n".join(f"> {part}".rstrip() for part in quoted.split("\n"))
    else:
        yield from flow(element)


def items(element: HtmlElement, indent: str = "") -> Iterator[str]:
    """The lines of a list and of the lists in it."""
    for number, item in enumerate(element.findall("li"), int(element.get("start", 1))):
        mark = "-" if element.tag == "ul" else f"{number}."
        yield f"{indent}{mark} {line(item, without=('ul', 'ol'))}"
        for inner in item.iterchildren("ul", "ol"):
            yield from items(inner, indent + "  ")


def definitions(element: HtmlElement) -> Iterator[str]:
    """A line for each <dd>, with its term."""
    term = ""
    for part in element.iter("dt", "dd"):
        if part.tag == "dt":
            term = line(part)
        else:
            yield f"{term}: {line(part)}"


def rows(table: HtmlElement) -> Iterator[str]:
    """The lines of a pipe table; a cell that spans columns or rows is repeated in each."""
    down: dict[int, tuple[str, int]] = {}  # column: text and rows left of cells that reach down
    for index, tr in enumerate(table.iter("tr")):
        cells: list[str] = []
        waiting = list(tr.iterchildren("td", "th"))
        carried, down = down, {}
        while waiting or len(cells) in carried:
            if len(cells) in carried:
                (text, height), width = carried[len(cells)], 1
            else:
                cell = waiting.pop(0)
                text = line(cell).replace("|", r"\|")
                width, height = int(cell.get("colspan", 1)), int(cell.get("rowspan", 1))
            for _ in range(width):
                if height > 1:
                    down[len(cells)] = text, height - 1
                cells.append(text)
        yield f"| {' | '.join(cells)} |"
        if index == 0:
            yield "|" + " --- |" * len(cells)


if __name__ == "__main__":
    for page in sorted(Path("data/corpus").glob("help_*.html")):
        root = html.document_fromstring(page.read_bytes(), html.HTMLParser(encoding="utf-8"))
        text = "\n\n".join(filter(None, flow(root.find(".//main")))) + "\n"
        target = Path("data/canonical") / f"{page.name}.txt"
        target.write_text(text, encoding="utf-8", newline="\n")
        print(target)
