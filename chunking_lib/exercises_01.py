"""Checks of the exercises in notebook 1. They print what they find and never raise."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from chunking_lib.attempts import attempt, report

__all__ = ["check_windows", "check_word_windows"]

Pairs = list[tuple[int, int]]

_LETTERS = "abcdefghijklmnopqrstuvwxyz"

# size, overlap and text, the plain cases first.
_WINDOWS = [
    (4, 0, "abcdefgh"),
    (4, 0, "abcdefghij"),
    (4, 1, "abcdefgh"),
    (4, 2, "abcdefgh"),
    (5, 3, _LETTERS),
    (10, 3, _LETTERS),
    (10, 0, "short"),
    (10, 5, "abc"),
    (1, 0, "abc"),
    (4, 1, ""),
]


def count_words(text: str) -> int:
    """A length in words."""
    return len(text.split())


def count_pieces(text: str) -> int:
    """A length in pieces of up to four letters, which is near what a tokenizer does."""
    return len(re.findall(r"\w{1,4}|[^\w\s]", text))


def count_quarters(text: str) -> int:
    """A quarter of the characters, rounded up: the usual guess at tokens. It does not add up."""
    return -(-len(text) // 4)


# size, length and text.
_WORDS: list[tuple[int, Callable[[str], int], str]] = [
    (12, len, "Mind the step and the gap"),
    (13, len, "Mind the step and the gap"),
    (8, len, "one two  three\nfour"),
    (6, len, "a lifejacket for all"),
    (3, count_words, "Dogs travel free, on a lead and off the seats."),
    (4, count_pieces, "Passengers ring 4410, please."),
    (5, count_quarters, "Mind the step and the gap"),
    (40, len, "short"),
    (5, len, "  one two "),
    (5, len, ""),
]


def check_windows(windows: Callable[[str, int, int], Sequence[tuple[int, int]]]) -> None:
    """Try `windows(text, size, overlap)` on plain and odd texts; print the first fault, or passed.

    >>> check_windows(lambda text, size, overlap: [(0, len(text))])
    Not yet: windows('abcdefgh', size=4, overlap=0)
      got       [(0, 8)]
      expected  [(0, 4), (4, 8)]
      hint      the window (0, 8) is 8 long, over the size of 4.
    """
    for size, overlap, text in _WINDOWS:
        call = f"windows({text!r}, size={size}, overlap={overlap})"
        if not _try(
            call,
            partial(windows, text, size, overlap),
            _expected_windows(text, size, overlap),
            partial(_hint_windows, text=text, size=size, overlap=overlap),
        ):
            return
    print(f"passed: {len(_WINDOWS)} texts, nothing lost, nothing said twice.")


def check_word_windows(
    word_windows: Callable[[str, int, Callable[[str], int]], Sequence[tuple[int, int]]],
) -> None:
    """Try `word_windows(text, size, length)` on plain and odd texts; print a fault, or passed.

    >>> check_word_windows(lambda text, size, length: [(0, len(text))])
    Not yet: word_windows('Mind the step and the gap', size=12, length=len)
      got       [(0, 25)]
      expected  [(0, 9), (9, 18), (18, 25)]
      hint      the window (0, 25) measures 25, over the size of 12.
    """
    for size, length, text in _WORDS:
        call = f"word_windows({text!r}, size={size}, length={length.__name__})"
        if not _try(
            call,
            partial(word_windows, text, size, length),
            _expected_word_windows(text, size, length),
            partial(_hint_word_windows, text=text, size=size, length=length),
        ):
            return
    print(f"passed: {len(_WORDS)} texts, no word cut, nothing lost.")


def _expected_windows(text: str, size: int, overlap: int) -> Pairs:
    found: Pairs = []
    while text and (not found or found[-1][1] < len(text)):
        start = found[-1][1] - overlap if found else 0
        found.append((start, min(start + size, len(text))))
    return found


def _hint_windows(got: Pairs, text: str, size: int, overlap: int) -> str:
    if not text:
        return "an empty text has no windows: return an empty list."
    if not got:
        return "no window came back, so all of the text is lost."
    for start, end in got:
        if not 0 <= start < end <= len(text):
            return f"({start}, {end}) does not lie in a text of {len(text)} characters."
        if end - start > size:
            return f"the window ({start}, {end}) is {end - start} long, over the size of {size}."
    if got[0][0] > 0:
        return f"the text before {got[0][0]} is in no window."
    for (start, end), (later, later_end) in zip(got, got[1:], strict=False):
        if later_end <= end:
            return (
                f"({later}, {later_end}) lies inside ({start}, {end}), which already reached the "
                "end: a tail fragment. When should the loop stop?"
            )
        if later > end:
            return f"the text from {end} to {later} is in no window."
        if end - later != overlap:
            return (
                f"({start}, {end}) and ({later}, {later_end}) share {end - later}, not {overlap}."
            )
        if end - start < size:
            return f"({start}, {end}) could be {size} long: only the last window may be shorter."
    last = max(end for _, end in got)
    return f"lost: the last {len(text) - last} characters, {text[last:]!r}, are in no window."


def _expected_word_windows(text: str, size: int, length: Callable[[str], int]) -> Pairs:
    ends = [match.end() for match in re.finditer(r"\s*\S+\s*", text)]
    found: Pairs = []
    start = last = 0
    for end in ends:
        if last > start and length(text[start:end]) > size:
            found.append((start, last))
            start = last
        last = end
    return [*found, (start, last)] if last > start else found


def _hint_word_windows(got: Pairs, text: str, size: int, length: Callable[[str], int]) -> str:
    if not text:
        return "an empty text has no windows: return an empty list."
    if not got:
        return "no window came back, so all of the text is lost."
    for start, end in got:
        if not 0 <= start < end <= len(text):
            return f"({start}, {end}) does not lie in a text of {len(text)} characters."
        for cut in (start, end):
            if 0 < cut < len(text) and not text[cut - 1].isspace():
                where = "inside a word" if not text[cut].isspace() else "before white space"
                return f"{cut} lies {where}: cut behind the white space that follows a word."
        if length(text[start:end]) > size and len(text[start:end].split()) > 1:
            measured = length(text[start:end])
            return f"the window ({start}, {end}) measures {measured}, over the size of {size}."
    if got[0][0] > 0:
        return f"the text before {got[0][0]} is in no window."
    for (_, end), (later, _) in zip(got, got[1:], strict=False):
        if later != end:
            return f"a window must start at {end}, where the one before ended, not at {later}."
    if got[-1][1] < len(text):
        return f"lost: {text[got[-1][1] :]!r} at the end is in no window."
    return "each window should take as many words as fit, measured with `length`."


def _try(call: str, run: Callable[[], Any], expected: Pairs, hint: Callable[[Pairs], str]) -> bool:
    """Run the learner's function once; print what is wrong and return False, or return True."""
    got = attempt(call, run, endless="Does the start always move on?")
    if got is None:
        return False
    if any(isinstance(item, str) for item in got):
        report(call, got, "return pairs of (start, end), and not the text between them.")
        return False
    try:
        pairs = [(int(start), int(end)) for start, end in got]
    except (TypeError, ValueError):
        report(call, got, "return a list of pairs (start, end).")
        return False
    if pairs != expected:
        report(call, pairs, hint(pairs), expected)
        return False
    return True
