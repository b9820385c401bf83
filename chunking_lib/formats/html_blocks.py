"""The blocks of an HTML page, written as plain text with a little Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

__all__ = [
    "BREAK",
    "HEADINGS",
    "NONE",
    "Block",
    "Image",
    "Piece",
    "clean",
    "join",
    "number_of",
    "one_line",
    "to_blocks",
    "write_definitions",
    "write_entry",
    "write_heading",
    "write_list",
    "write_pre",
    "write_quote",
]

NONE: Mapping[str, str] = {}
_LONGEST_TERM = 200  # one that is longer is not repeated
HEADINGS = frozenset(f"h{level}" for level in range(1, 7))
_DROPPED = dict.fromkeys(map(ord, "\u00ad\u200b\u2060\ufeff"))
# Joiners that do not stand between two characters beyond ASCII.
_LOOSE = re.compile(
    r"(?<![^\0-\x7f\s])[\u200c\u200d]+|(?<![\u200c\u200d])[\u200c\u200d]+(?![^\0-\x7f\s])"
)
_UNUSUAL = re.compile("[\u00a0\u00ad\u200b-\u200d\u2060\ufeff]")
_BREAKS = re.compile(" *\n *")
_SPACES = re.compile(" {2,}")


def clean(text: str) -> str:
    r"""Make no-break spaces plain ones, and drop soft hyphens and characters of no width.

    The joiners U+200C and U+200D stay between characters beyond ASCII: there, words of Persian or
    Hindi and many emoji need them. So `text` must not end in the middle of a word.

    >>> clean("un\u00adknown,\u00a0to\u200d us")
    'unknown, to us'
    >>> len(clean("\u0645\u06cc\u200c\u062e\u0648")), len(clean("a\u200cb"))
    (5, 2)
    """
    if not _UNUSUAL.search(text):
        return text
    return _LOOSE.sub("", text.translate(_DROPPED).replace("\u00a0", " "))


class Block:
    """A finished block; a cell, row or item on its way into one; or (kind "") a break."""

    __slots__ = ("attributes", "kind", "parts", "text")

    def __init__(
        self,
        kind: str = "",
        text: str = "",
        parts: Sequence[Block] = (),
        attributes: Mapping[str, str] = NONE,
    ) -> None:
        self.kind = kind
        self.text = text
        self.parts = parts
        self.attributes = attributes


class Image(str):
    """An image that stands loose in a container."""


Piece = str | Block
BREAK = Block()


def to_blocks(pieces: Iterable[Piece]) -> list[Block]:
    """Make paragraphs of the text between blocks."""
    found: list[Block] = []
    run: list[str] = []
    for piece in (*pieces, BREAK):
        if isinstance(piece, str):
            run.append(piece)
            continue
        if run:
            found += _paragraphs(run)
            run = []
        if piece.kind:
            found.append(piece)
    return found


def _paragraphs(run: list[str]) -> list[Block]:
    text = clean("".join(run)).strip(" \n")
    if not text:
        return []
    words = (clean(part).strip() for part in run if type(part) is str)
    if Image in map(type, run) and not any(words):
        return [Block("p", part) for part in run if isinstance(part, Image)]
    if "  " in text:
        text = _SPACES.sub(" ", text)
    return [Block("p", _BREAKS.sub("\n", text) if "\n" in text else text)]


def join(blocks: Iterable[Block]) -> str:
    """Return blocks with a blank line between them, headings with their marks."""
    return "\n\n".join(
        f"{'#' * int(block.kind[1])} {block.text}" if block.kind in HEADINGS else block.text
        for block in blocks
        if block.text
    )


def one_line(blocks: Iterable[Block]) -> str:
    """Return blocks in one line, headings without their marks."""
    return " ".join(" ".join(block.text.split("\n")) for block in blocks).strip()


def write_heading(tag: str, _: Mapping[str, str], pieces: list[Piece]) -> list[Block]:
    """Write a heading in one line; what cannot be part of one follows it."""
    blocks = to_blocks(pieces)
    text = one_line(block for block in blocks if block.kind == "p")
    rest = [block for block in blocks if block.kind != "p"]
    return [Block(tag, text), *rest] if text else rest


def write_pre(_tag: str, _: Mapping[str, str], pieces: list[Piece]) -> list[Block]:
    """Keep the lines as they are."""
    text = "".join(piece if isinstance(piece, str) else f"\n{piece.text}" for piece in pieces)
    text = re.sub("\r\n?", "\n", clean(text)).strip("\n").rstrip()
    return [Block("pre", text)] if text.strip() else []


def write_quote(_tag: str, _: Mapping[str, str], pieces: list[Piece]) -> list[Block]:
    """Begin each line of a quote with a mark."""
    lines = join(to_blocks(pieces)).split("\n")
    text = "\n".join(f"> {line}" if line else ">" for line in lines)
    return [Block("quote", text)] if text != ">" else []


def write_entry(tag: str, attributes: Mapping[str, str], pieces: list[Piece]) -> list[Block]:
    """Write an item or a definition: its paragraphs in a line, lists and tables indented below."""
    lines = [""]
    after = []
    for block in to_blocks(pieces):
        if block.kind in ("dd", "dt"):  # the parser does not end one where the next begins
            after.append(block)
        elif block.kind in ("list", "pre", "quote", "table"):
            lines += [f"  {line}" for line in block.text.split("\n")]
        elif len(lines) == 1:
            lines[0] = f"{lines[0]} {one_line([block])}".strip()
        else:
            lines.append(f"  {one_line([block])}")
    return [Block(tag, "\n".join(lines), attributes=attributes), *after]


def write_list(tag: str, attributes: Mapping[str, str], pieces: list[Piece]) -> list[Block]:
    """Write a list with the lists in it as one block, numbered as a browser does."""
    blocks = to_blocks(pieces)
    step = -1 if "reversed" in attributes else 1
    items = sum(block.kind == "li" for block in blocks)
    number = number_of(attributes, "start", items if step < 0 else 1)
    lines = []
    for block in blocks:
        if block.kind != "li":  # such as a list right inside a list
            lines += [f"  {line}" for line in block.text.split("\n")]
            continue
        number = number_of(block.attributes, "value", number)
        mark = f"{number}." if tag == "ol" else "-"
        number += step
        if block.text:
            lines.append(f"{mark} {block.text}" if block.text[0] != "\n" else mark + block.text)
    return [Block("list", "\n".join(lines))] if lines else []


def write_definitions(_tag: str, _: Mapping[str, str], pieces: list[Piece]) -> list[Block]:
    """Write `term: definition`, a line for each; terms without a definition stand alone.

    Terms that share a definition stand before it together, `term, term: definition`. They are
    repeated for each of several definitions, unless they are long, and then stand before the first.
    """
    lines: list[str] = []
    terms: list[str] = []
    used = False
    for block in [*to_blocks(pieces), Block("dt")]:
        if block.kind == "dt":
            if used or not block.text:
                lines += [] if used else terms
                terms, used = [], False
            terms += [one_line([block])] if block.text else []
        elif block.kind == "dd":
            term = ", ".join(terms)
            repeated = term and (not used or len(term) <= _LONGEST_TERM)
            lines.append(f"{term}: {block.text}" if repeated else block.text)
            used = True
        else:
            lines += block.text.split("\n")
    lines = [line.rstrip() for line in lines if line.strip()]
    return [Block("list", "\n".join(lines))] if lines else []


def number_of(attributes: Mapping[str, str], name: str, default: int) -> int:
    """Return an attribute as a whole number, or the default if it is none."""
    found = re.match(r"\s*(-?[0-9]{1,9})(?![0-9])", attributes.get(name, ""))
    return int(found[1]) if found else default
