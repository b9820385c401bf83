"""Which numbers are headings: told from the others of their series, and from what follows them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from chunking_lib.heading_lines import (
    Line,
    Mark,
    as_letter,
    ends_sentence,
    is_rule,
    is_title,
    read_mark,
)

__all__ = ["TOP", "Candidate", "find_numbered", "set_top"]

#: The rank of what stands beside the highest headings of a text, whatever they are.
TOP = 0
_GAP = 3  # from a number to the next; letters, which may be initials, have no gaps
_OPEN = 20  # series that are remembered, from the last one back
_ALONE = 90


@dataclass(slots=True, eq=False)
class Candidate:
    """Lines that may be a heading; a lower rank is a higher heading."""

    first: int
    last: int
    rank: int
    title: str
    mark: Mark | None = None


@dataclass(slots=True, eq=False)
class _Series:
    key: tuple[str, ...]
    number: int = 0
    members: list[Candidate] = field(default_factory=list)
    #: A member that is a sentence, the row of a table, or part of a paragraph.
    broken: bool = False


def find_numbered(
    lines: Sequence[Line], fixed: dict[int, Candidate], *, words_only: bool
) -> list[Candidate]:
    """Return the numbered headings.

    1. A line whose number follows that of an earlier line in the same style continues its series.
    2. Numbers are headings if none of the series is a sentence, and there are two at least; one
       will do below a heading of its number, as 2.1 below 2. Words such as Article need no second.
    3. They are a list or a table of contents, and no headings, if half of them have no text below.

    Args:
        lines: the lines of the text.
        fixed: headings that are known, by the line they begin with.
        words_only: only § and words such as Article begin a heading.
    """
    groups = _group(lines, fixed, words_only)
    names = {c.mark.written for group in groups for c in group.members if c.mark}
    kept = [
        group
        for group in groups
        if group.members
        and not group.broken
        and (len(group.members) > 1 or _is_word(group) or group.key[0] in names)
    ]
    # Lists first: to a section, its list is text.
    for words in (False, True):
        bare = _without_text(lines, [*fixed.values(), *(c for g in kept for c in g.members)])
        kept = [
            group
            for group in kept
            if _is_word(group) != words
            or 2 * sum(c in bare for c in group.members) < len(group.members)
        ]
    return [candidate for group in kept for candidate in group.members]


def set_top(candidates: Iterable[Candidate]) -> None:
    """Give the headings of rank `TOP` the rank of the highest number or word among the others."""
    candidates = list(candidates)
    top = min((c.rank for c in candidates if c.mark and c.rank != TOP), default=_ALONE)
    for candidate in candidates:
        if candidate.rank == TOP:
            candidate.rank = top


def _is_word(series: _Series) -> bool:
    mark = series.members[0].mark
    return mark is not None and mark.word


def _group(lines: Sequence[Line], fixed: dict[int, Candidate], words_only: bool) -> list[_Series]:
    groups: list[_Series] = []
    waiting: list[_Series] = []
    taken = {i for c in fixed.values() for i in range(c.first, c.last + 1)}
    for i, line in enumerate(lines):
        mark = None if line.code or i in taken else read_mark(line.text)
        if mark is None or (words_only and not mark.word):
            continue
        if not _begins(lines, i, taken):
            continue
        candidate = _read(lines, i, mark, taken)
        if mark.word and candidate is None:  # it is spoken of
            continue
        series, mark = _continued(waiting, mark)
        if series is None:
            series = _Series(mark.series)
            groups.append(series)
            waiting = waiting[1 - _OPEN :]
        else:
            del waiting[waiting.index(series) :]
        waiting.append(series)
        series.number = mark.number
        if candidate is None:
            series.broken = True
            continue
        candidate.mark, candidate.rank = mark, mark.rank
        series.members.append(candidate)
        taken.update(range(candidate.first, candidate.last + 1))
    return groups


def _continued(waiting: Sequence[_Series], mark: Mark) -> tuple[_Series | None, Mark]:
    """Return the series that a number continues, and the number as it is to be read there."""
    letter = as_letter(mark)
    for series in reversed(waiting):
        for read in (mark, letter):
            gap = 1 if read and read.series[0] in ("roman", "letter") else _GAP
            if read and read.series == series.key and 0 < read.number - series.number <= gap:
                return series, read
    return None, mark


def _begins(lines: Sequence[Line], i: int, taken: set[int]) -> bool:
    """Say whether a line begins a paragraph, or at least follows a heading or a sentence."""
    before = lines[i - 1].text if i else ""
    return not before or i - 1 in taken or ends_sentence(before) or is_rule(before)


def _read(lines: Sequence[Line], i: int, mark: Mark, taken: set[int]) -> Candidate | None:
    """Return a line with a number as a heading, with its title if that is the next line."""
    after, later = (
        lines[j].text if j < len(lines) and j not in taken else "" for j in (i + 1, i + 2)
    )
    words, last = lines[i].text, i
    if mark.title:
        if not is_title(mark.title, after):
            return None
    elif after and not read_mark(after):
        if after[0].islower():
            return None
        if is_title(after, later) and (not later or after.isupper()):
            words, last = f"{words} {after}", i + 1
    return Candidate(i, last, mark.rank, " ".join(words.split()))


def _without_text(lines: Sequence[Line], candidates: Iterable[Candidate]) -> set[Candidate]:
    """Return the candidates with nothing but others between them and the next as high as they."""
    ordered = sorted(candidates, key=lambda candidate: candidate.first)
    heads = {i for c in ordered for i in range(c.first, c.last + 1)}
    texts = [0, *accumulate(bool(line.text) and i not in heads for i, line in enumerate(lines))]
    set_top(ordered)
    bare: set[Candidate] = set()
    open_: list[Candidate] = []
    for candidate in [*ordered, Candidate(len(lines), 0, -1, "")]:
        while open_ and open_[-1].rank >= candidate.rank:
            done = open_.pop()
            if texts[done.last + 1] == texts[candidate.first]:
                bare.add(done)
        open_.append(candidate)
    return bare
