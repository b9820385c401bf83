"""Links of an HTML page, written as in Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import quote

from chunking_lib.formats.html_blocks import Image, clean

__all__ = ["find_target", "unlink", "write_link", "write_marks"]

# The marks of a link until the page is finished: half surrogate pairs, which no page can hold. Text
# beside a bracket would not be cleaned as text beside a letter is.
_BEGIN, _MIDDLE, _END = "\ud800\ud801\ud802"
_MARKS = str.maketrans({_BEGIN: "[", _MIDDLE: "](", _END: ")"})
_NOWHERE = re.compile(r"#?\Z|(javascript|data):", re.IGNORECASE)
_CONTROLS = "".join(map(chr, range(0x21)))  # and the space
_UNSAFE = re.compile("[\\s\0-\x1f\x7f\u00ad\u200b-\u200d\u2060\ufeff]")
_EDGES = " \u00a0\u00ad\u200b\u2060\ufeff"
_PAIR = re.compile(r"\[[^][]*\](?!\()")
# Before a link, these would make an image of it, or no link at all.
_BEFORE = re.compile(rf"(?<!\\)(\\+!?|!)(?={_BEGIN})")
_LINK = re.compile(
    r"(?<!\\)((?:\\[\\!])*)"
    r"\[((?:[^][\\]|\\.|\[(?:[^][\\]|\\.)*\])*)\]"
    r"\((?:<(?:[^<>\\]|\\.)*>|(?:[^()<>\\\s]|\\.)+)\)"
)


def find_target(href: str) -> str:
    r"""Return where a link leads, as Markdown has it; "" for nowhere, a script, or data.

    >>> find_target("/fares?a=1"), find_target("/wiki/Quay_(pier) 2"), find_target("#")
    ('/fares?a=1', '</wiki/Quay_(pier)%202>', '')
    """
    href = re.sub("[\t\n\r]", "", href).strip(_CONTROLS)  # as browsers do
    if _NOWHERE.match(href):
        return ""
    href = _UNSAFE.sub(lambda found: quote(found[0]), href)
    target = re.sub(r"[\\<>]|&(?=#?\w+;)", r"\\\g<0>", href)
    return f"<{target}>" if re.search("[()]", target) else target


def write_link(parts: Sequence[str], target: str) -> list[str]:
    """Return the parts of a link's line with marks around its words.

    The parts say something. If they are nothing but images, each of which is to be a block of its
    own, the first has the link.
    """
    images = [part for part in parts if isinstance(part, Image)]
    words = "".join(part for part in parts if not isinstance(part, Image))
    if images and not clean(words).strip():
        first = parts.index(images[0])
        return [*parts[:first], Image(_mark(images[0], target)), *parts[first + 1 :]]
    text = "".join(parts)
    inner = text.strip(_EDGES)
    start = text.index(inner)
    return [text[:start], _mark(inner, target), text[start + len(inner) :]]


def _mark(words: str, target: str) -> str:
    paired = not re.search("[][]", _PAIR.sub("", words))
    words = re.sub(r"[\\`<]" if paired else r"[][\\`<]", r"\\\g<0>", words)
    return f"{_BEGIN}{words}{_MIDDLE}{target}{_END}"


def write_marks(text: str) -> str:
    """Return a finished page with the marks of Markdown."""
    escaped = _BEFORE.sub(lambda found: re.sub(".", r"\\\g<0>", found[0]), text)
    return escaped.translate(_MARKS)


def unlink(text: str) -> str:
    r"""Return a line of a page with the words of each link in its place.

    >>> unlink(r"To [Gull Quay \[C](</quay_(c)>) and [Pier](/pier)")
    'To Gull Quay [C and Pier'
    """
    return _LINK.sub(lambda found: re.sub(r"\\(.)", r"\1", found[1] + found[2]), text)
