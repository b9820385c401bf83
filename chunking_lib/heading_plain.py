"""Headings that nothing shows but the blank lines around them: in capitals, or just short."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from chunking_lib.heading_lines import Line, ends_sentence, has_date, is_rule, is_title, read_mark
from chunking_lib.heading_series import TOP, Candidate

__all__ = ["find_unmarked"]

_CAPTION = re.compile(r"(?:Table|Figure|Fig\.|Tab\.|Box|Exhibit) *[0-9]")
_LONGEST = 60
_PLAIN = 98  # below all other ranks
_TITLE_PAGE = 3  # short lines one after another: a list, an address, the lines of a title page


def find_unmarked(lines: Sequence[Line], found: dict[int, Candidate]) -> list[Candidate]:
    """Return the headings that have no mark; a single short line is no pattern, and left out.

    Args:
        lines: the lines of the text.
        found: the other headings, by the line they begin with.
    """
    unmarked = list(_find(lines, found))
    plain = sum(candidate.rank != TOP for candidate in unmarked)
    return [candidate for candidate in unmarked if candidate.rank == TOP or plain > 1]


def _find(lines: Sequence[Line], found: dict[int, Candidate]) -> Iterator[Candidate]:
    blocks = list(_blocks(lines, found))
    first = 0
    while first < len(blocks):
        last = first
        while last < len(blocks) and _is_short(lines, *blocks[last]):
            last += 1
        if first < last < len(blocks) and last - first < _TITLE_PAGE:
            at, end = blocks[first - 1] if first else (0, 0)
            after = lines[blocks[last][0]].text
            finished = at in (end, 0) or at in found or ends_sentence(lines[end].text)
            if not is_rule(after):
                yield from _read_run(lines, blocks[first:last], finished)
        first = max(last, first + 1)


def _read_run(
    lines: Sequence[Line], run: Sequence[tuple[int, int]], finished: bool
) -> Iterator[Candidate]:
    rank = _PLAIN
    for i, _ in run:
        words = lines[i].text
        if not is_title(words, "") or has_date(words):
            continue
        title = " ".join(words.split())
        if words.isupper() and sum(map(str.isalpha, words)) >= 3:
            yield Candidate(i, i, TOP, title)
        elif finished and len(words) <= _LONGEST and not _is_other(words):
            yield Candidate(i, i, rank, title)
            rank += 1  # of two, the second is below the first


def _is_short(lines: Sequence[Line], first: int, last: int) -> bool:
    """Say whether a block is one line that ends as no sentence does, between blank lines."""
    line = lines[first]
    return (
        first == last
        and not line.code
        and len(line.text) <= 2 * _LONGEST
        and (first == 0 or not lines[first - 1].text)
        and (first + 1 == len(lines) or not lines[first + 1].text)
        and not ends_sentence(line.text)
        and not is_rule(line.text)
        and (line.text[0].isalnum() or line.text[0] in "\"'“‘«„¿¡")
        and not read_mark(line.text)
    )


def _is_other(words: str) -> bool:
    """Say whether a short line is likely a signature, an address or a caption."""
    return (
        not words[0].isalnum() or bool(_CAPTION.match(words)) or not {*",，、@|/"}.isdisjoint(words)
    )


def _blocks(lines: Sequence[Line], found: dict[int, Candidate]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last line of each heading, and of what stands between blank lines."""
    i = 0
    while i < len(lines):
        first = i
        if i in found:
            i = found[i].last + 1
            yield first, i - 1
            continue
        while i < len(lines) and lines[i].text and i not in found:
            i += 1
        if i > first:
            yield first, i - 1
        else:
            i += 1
