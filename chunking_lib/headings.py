"""Where the headings of a text are, and how deep each is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from chunking_lib.chunk import Document, text_and_source
from chunking_lib.heading_lines import Line, ends_sentence, is_rule, read_lines
from chunking_lib.heading_plain import find_unmarked
from chunking_lib.heading_series import TOP, Candidate, find_numbered, set_top

__all__ = ["Heading", "Marker", "find_headings"]

#: A compiled pattern that the line of a heading begins with, and the level of such headings.
Marker = tuple[re.Pattern[str], int]

_UNDERLINES = {"=": 1, "-": 2, "~": 3, "^": 4, "*": 1}
_ORNAMENT = re.compile(r"(-{3,}|={2,}|\*{3,}|~{3,})[ \t]+\S")


class Heading(NamedTuple):
    """A heading: its place in the text, its level (1 is the highest) and its words."""

    start: int
    end: int
    level: int
    title: str


def find_headings(
    text: str | Document, *, markers: Sequence[Marker] | None = None
) -> list[Heading]:
    r"""Return the headings of a plain text, of Markdown, or of the text of a PDF, in order.

    1. Your own `markers` first; then Markdown's ``#``, lines with a line of ``===`` or ``---``
       below them, and lines like ``--- 2024 ---``. Nothing in a code fence is a heading.
    2. Numbers: § and words (Book, Part, Title, Chapter, Section, Article, Clause, Rule, Annex,
       Appendix, Schedule, Exhibit), 1 and 2.3.4, roman, letters. A heading begins a paragraph, or
       follows a sentence. "Article 3" may have its title on the next line.
    3. Numbers are no headings if one of their series is a sentence, the row of a table or goes on
       in the next line (clauses, numbered lists), if half of them have no text below (a table of
       contents), if they follow no other (dates, amounts).
    4. A line in capitals between blank lines. And a short line between blank lines that does not
       end as a sentence, with text below; not with a comma (signatures, addresses), nor the caption
       of a table, nor one of three or more such lines (title pages, lists).

    In a text with ``#``, rule 4 does not hold, and of rule 2 only § and words.

    The level is the number of ``#``. Other kinds are ranked: those of rule 1, then the words of
    rule 2 in their order there (Annex and what follows it stand beside the highest), roman,
    letters, Article, Clause, Rule and §, 1, 1.1, ..., short lines; capitals stand beside the
    highest. Kinds that do not occur take no level.

    Args:
        text: a text or a document; offsets refer to it.
        markers: pairs of a compiled pattern and a level, 1 or more. A line that such a pattern
            matches at its start, outside fences, is a heading; its title is the group "title" of
            the pattern, if there is one, or the line.
    Raises:
        ValueError: a marker that is no such pair.

    >>> text = "1 Fares\n\nA day is 6.50.\n\n1.1 Dogs\n\nFree.\n\n2 Claims\n\nAt the desk.\n"
    >>> [(heading.level, heading.title) for heading in find_headings(text)]
    [(1, '1 Fares'), (2, '1.1 Dogs'), (1, '2 Claims')]

    Source: Markdown's headings are CommonMark's; the other rules are our own.
    """
    text, _ = text_and_source(text)
    _check_markers(markers)
    lines = read_lines(text)
    own = {c.first: c for c in _find_own(lines, markers or ())}
    hashes = {c.first: c for c in _find_hashes(lines) if c.first not in own}
    ruled = {c.first: c for c in _find_ruled(lines, own.keys() | hashes.keys())}
    found = own | hashes | ruled
    found |= {c.first: c for c in find_numbered(lines, found, words_only=bool(hashes))}
    if not hashes:
        found |= {c.first: c for c in find_unmarked(lines, found)}
    markdown = own | hashes
    if hashes:
        markdown |= {i: c for i, c in ruled.items() if c.rank != TOP}
    others = [c for i, c in found.items() if i not in markdown]
    set_top(others)
    deepest = max((c.rank for i, c in markdown.items() if i not in own), default=0)
    levels = {rank: deepest + n for n, rank in enumerate(sorted({c.rank for c in others}), 1)}
    for candidate in others:
        candidate.rank = levels[candidate.rank]
    return [
        Heading(lines[c.first].start, lines[c.last].end, c.rank, c.title)
        for _, c in sorted(found.items())
    ]


def _find_own(lines: Sequence[Line], markers: Sequence[Marker]) -> Iterator[Candidate]:
    for i, line in enumerate(lines):
        for pattern, level in markers if line.text and not line.code else ():
            if match := pattern.match(line.text):
                title = match["title"] if "title" in pattern.groupindex else line.text
                yield Candidate(i, i, level, (title or line.text).strip())
                break


def _find_hashes(lines: Sequence[Line]) -> Iterator[Candidate]:
    for i, line in enumerate(lines):
        words = line.text.lstrip("#")
        level = len(line.text) - len(words)
        if line.code or line.indent > 3 or not 1 <= level <= 6 or words[:1] not in (" ", "\t"):
            continue
        closed = words.rstrip("#")
        title = closed.strip() if closed.endswith((" ", "\t")) else words.strip()
        if title:
            yield Candidate(i, i, level, title)


def _find_ruled(lines: Sequence[Line], taken: set[int]) -> Iterator[Candidate]:
    """Yield lines that are underlined, and lines between ornaments."""
    done = -1
    for i, line in enumerate(lines):
        words = line.text
        before = lines[i - 1].text if i else ""
        if not words or line.code or i in taken:
            continue
        below = lines[i + 1].text if i + 1 < len(lines) and i + 1 not in taken else ""
        if (not before or is_rule(before)) and _is_underlined(words, below):
            over = i > done + 1 and i - 1 not in taken and before == below
            yield Candidate(i - over, i + 1, _UNDERLINES[below[0]], words)
            done = i + 1
            continue
        ornament = _ORNAMENT.match(words) if not before or ends_sentence(before) else None
        if ornament and words.endswith(ornament[1][:2]):
            mark = words[0]
            rank = len(ornament[1]) if mark == "=" else TOP
            yield Candidate(i, i, rank, words.strip(mark).strip())


def _is_underlined(words: str, rule: str) -> bool:
    if not is_rule(rule) or rule[0] not in _UNDERLINES or is_rule(words):
        return False
    if (
        words[0] in "|>#"
        or words.startswith(("- ", "* ", "+ "))
        or not any(map(str.isalnum, words))
    ):
        return False
    # A rule across the page is none, and only Markdown's may be shorter than the words.
    return len(rule) <= len(words) + 10 and (rule[0] in "=-" or len(rule) >= len(words))


def _check_markers(markers: Sequence[Marker] | None) -> None:
    if markers is None:
        return
    rule = "must be a list of pairs: a compiled pattern of text, and a level of 1 or more"
    if isinstance(markers, str) or not isinstance(markers, Sequence):
        raise ValueError(f"markers={markers!r} {rule}")
    for marker in markers:
        pair = isinstance(marker, Sequence) and len(marker) == 2
        pattern, level = marker if pair else (None, 0)
        right = isinstance(pattern, re.Pattern) and isinstance(pattern.pattern, str)
        if not right or isinstance(level, bool) or not isinstance(level, int) or level < 1:
            raise ValueError(f"markers has {marker!r}: it {rule}")
