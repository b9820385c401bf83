"""Checks of the exercises in notebook 6. They print what they find and never raise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from chunking_lib.attempts import attempt, report

__all__ = ["MONTHS", "check_is_heading", "check_join"]

#: The months, as they stand in dates.
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)

_ENDLESS = "Does each turn of the loop look at another section?"

# Lines, whether they are headings, and why; the plain cases first.
_LINES: list[tuple[str, bool, str]] = [
    ("2 Fares", True, "a number, a blank, and words that begin with a capital letter."),
    ("A day ticket is 7.40.", False, "it does not begin with a number."),
    ("1. DEFINITIONS", True, "one dot may stand after the number."),
    ("2.3.4  Brakes", True, "the number may have dots inside, and several blanks may follow."),
    ("   4 RESULTS", True, "blanks may stand before the number."),
    ("3. Close the valve.", False, "it ends with a full stop: a sentence, or an item of a list."),
    ("2.1 In this contract:", False, "it ends with a colon."),
    ("7 of them were late", False, "no capital letter follows the number."),
    ("2024 Report", False, "the number has four digits: a year."),
    ("25 December", False, "only the name of a month follows: a date."),
    ("12 March 2024", False, "it ends with a number: a date."),
    ("2 Fares ......... 7", False, "it ends with a number: a line of a table of contents."),
    ("2 Fares      7", False, "it ends with a number: a line of a table of contents."),
    ("3 May dances", True, "it begins with the name of a month, and goes on."),
    ("5 Why is it late?", True, "a question mark is none of the four marks."),
    ("6 Übergänge", True, "Ü is a capital letter."),
    ("7.1 Table 3 at a glance", True, "a number inside is no number at the end."),
    ("8.Boats", False, "no blank stands after the number."),
    ("9", False, "no words follow the number."),
    ("Article 3 Dogs", False, "it does not begin with a number."),
    ("12 Tickets   ", True, "blanks at the end do not count."),
    ("13 Ask us.   ", False, "blanks at the end do not count, and then it ends with a full stop."),
    ("", False, "an empty line is none."),
]

# Levels, sizes, min_size and size.
_JOINS: list[tuple[list[int], list[int], int, int]] = [
    ([1, 1, 1], [50, 60, 70], 10, 100),
    ([1, 2, 2], [80, 9, 60], 10, 100),
    ([1, 2, 2], [90, 9, 9], 10, 100),
    ([1, 2, 2, 1], [95, 9, 9, 9], 10, 100),
    ([1, 1, 1], [9, 40, 50], 10, 100),
    ([1, 1], [9, 91], 10, 100),
    ([1, 1], [9, 92], 10, 100),
    ([2, 1, 2, 2], [5, 5, 5, 5], 10, 100),
    ([1, 1, 1], [4, 5, 50], 10, 100),
    ([1, 1], [10, 30], 10, 100),
    ([1, 2, 3, 2], [5, 97, 9, 9], 10, 100),
    ([1, 2, 3, 2], [98, 3, 3, 3], 10, 100),
    ([1, 1], [5, 5], 0, 100),
    ([1], [5], 10, 100),
    ([], [], 10, 100),
]


def check_is_heading(is_heading: Callable[[str], object]) -> None:
    """Try `is_heading(line)` on plain and hard lines; print a fault, or passed.

    >>> check_is_heading(lambda line: False)
    Not yet: is_heading('2 Fares')
      got       False
      expected  True
      hint      a number, a blank, and words that begin with a capital letter.
    """
    for line, expected, hint in _LINES:
        call = f"is_heading({line!r})"
        answers = attempt(call, partial(_ask, is_heading, line), endless="")
        if answers is None:
            return
        [got] = answers
        if line == _LINES[0][0] and (got is None or got is ...):
            print(f"Not yet: {call}\n  got       {got}\n  hint      is there a `return`?")
            return
        # A match, or None for no match, would do in an `if`, and so they do here.
        if bool(got) != expected:
            shown = got if isinstance(got, bool) else f"{got!r}, which counts as {bool(got)}"
            print(f"Not yet: {call}\n  got       {shown}\n  expected  {expected}")
            print(f"  hint      {hint}")
            return
    print(f"passed: {len(_LINES)} lines, with lists, dates and a table of contents.")


def _ask(is_heading: Callable[[str], object], line: str) -> list[object]:
    return [is_heading(line)]


def check_join(join: Callable[[list[int], list[int], int, int], Sequence[Any]]) -> None:
    """Try `join(levels, sizes, min_size, size)`; print the first fault, or passed.

    >>> check_join(lambda levels, sizes, min_size, size: [[0, 1], [2]])
    Not yet: join([1, 1, 1], [50, 60, 70], min_size=10, size=100)
      got       [[0, 1], [2]]
      expected  [[0], [1], [2]]
      hint      section 1 (60) and the chunk before it (50) are not below min_size=10.
    """
    for levels, sizes, least, size in _JOINS:
        call = f"join({levels!r}, {sizes!r}, min_size={least}, size={size})"
        run = partial(join, list(levels), list(sizes), least, size)
        got = attempt(call, run, endless=_ENDLESS)
        if got is None:
            return
        groups = _whole(got)
        expected = _expected(levels, sizes, least, size)
        if groups is None:
            report(call, got, "return a list of lists of section numbers, which count from 0.")
            return
        if groups != expected:
            report(call, groups, _hint(groups, expected, levels, sizes, least, size), expected)
            return
    print(f"passed: {len(_JOINS)} texts, and no chunk across a higher heading.")


def _whole(got: list[Any]) -> list[list[int]] | None:
    """Return the groups as lists of `int`, or None if they are none. NumPy's numbers will do."""
    groups = []
    for group in got:
        if isinstance(group, str | bytes) or not hasattr(group, "__iter__"):
            return None
        members = list(group)
        if not all(hasattr(one, "__index__") and not isinstance(one, bool) for one in members):
            return None
        groups.append([int(one) for one in members])
    return groups


def _expected(levels: list[int], sizes: list[int], least: int, size: int) -> list[list[int]]:
    groups: list[list[int]] = []
    for number in range(len(levels)):
        if groups and not _reason(groups[-1], number, levels, sizes, least, size):
            groups[-1].append(number)
        else:
            groups.append([number])
    return groups


def _reason(
    group: list[int], number: int, levels: list[int], sizes: list[int], least: int, size: int
) -> str:
    """Return why a section does not join the chunk before it; "" if it does."""
    before, own = sum(sizes[member] for member in group), sizes[number]
    if min(before, own) >= least:
        return (
            f"section {number} ({own}) and the chunk before it ({before}) are not below "
            f"min_size={least}."
        )
    if before + own > size:
        return f"section {number} ({own}) and the chunk before it ({before}) are above size={size}."
    if levels[number] < levels[group[0]]:
        return (
            f"section {number} is of level {levels[number]}, higher than level {levels[group[0]]}, "
            "with which the chunk before it begins."
        )
    return ""


def _hint(
    got: list[list[int]],
    expected: list[list[int]],
    levels: list[int],
    sizes: list[int],
    least: int,
    size: int,
) -> str:
    flat = [number for group in got for number in group]
    for number in range(len(levels)):
        if flat.count(number) != 1:
            return f"section {number} is in {flat.count(number)} chunks, and must be in one."
    if len(flat) != len(levels):
        return f"there are {len(levels)} sections: their numbers end before {len(levels)}."
    if flat != sorted(flat):
        return "keep the order of the sections."
    if not all(got):
        return "a chunk has no section."
    first = next(i for i, group in enumerate(expected) if got[i : i + 1] != [group])
    mine, right = got[first], expected[first]
    if len(mine) > len(right):
        return _reason(right, mine[len(right)], levels, sizes, least, size)
    number, before = right[len(mine)], sum(sizes[member] for member in mine)
    small = "the section" if sizes[number] < least else "the chunk before"
    return (
        f"section {number} ({sizes[number]}) joins the chunk before it ({before}): {small} is "
        f"below min_size={least}, together they are at most size={size}, and its heading is "
        "not higher."
    )
