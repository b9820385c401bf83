"""Putting the lines of a paragraph together: which hyphens stay."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

__all__ = ["Compounds"]

_HYPHENS = ("-", "\u2010", "\u00ad")
_CJK = re.compile("[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]")
_SUSPENDED = {"and", "or", "to", "und", "oder", "bis", "et", "ou", "y", "o", "e"}


class Compounds:
    """What the whole document says about hyphens: which words it writes with one, which without."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._pairs: set[tuple[str, str]] = set()
        self._words: set[str] = set()
        for text in texts:
            for word in re.findall(r"\w+(?:[-\u2010]\w+)*", text.casefold()):
                parts = re.split("[-\u2010]", word)
                self._pairs.update(zip(parts, parts[1:], strict=False))
                self._words.add(word)

    def glue(self, texts: Sequence[str]) -> list[str]:
        """Return the lines of a paragraph, ready to be put together."""
        joined = [self._join(left, right) for left, right in zip(texts, texts[1:], strict=False)]
        return [text.replace("\u00ad", "") for text in (*joined, *texts[-1:])]

    def _join(self, left: str, right: str) -> str:
        """Return the end of a line as it stands before the start of the next."""
        if not left.endswith(_HYPHENS) or left[:-1].endswith((" ", *_HYPHENS)) or len(left) < 2:
            glued = left.endswith("—") or (_CJK.match(left[-1:]) and _CJK.match(right))
            return left if glued else f"{left} "
        before, after = re.search(r"\w*$", left[:-1]), re.match(r"\w*", right)
        one, two = before[0] if before else "", after[0] if after else ""
        if left.endswith("\u00ad"):
            return left[:-1]
        if (one.casefold(), two.casefold()) in self._pairs:
            return left
        if (one + two).casefold() in self._words:
            return left[:-1]
        if two in _SUSPENDED:
            return f"{left} "
        name = two[:1].isupper() and not one.isupper()
        return left if name or re.search(r"\d", one + two) or not (one and two) else left[:-1]
