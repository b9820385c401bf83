"""Checks of the exercises in notebook 5. They print what they find and never raise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from chunking_lib.attempts import attempt, report

__all__ = ["check_parts", "check_support"]

_ENDLESS = "Does each turn of the loop use up a number?"

# What a model gave as "starts", and how many sentences it was shown; the plain cases first.
_STARTS: list[tuple[list[Any], int]] = [
    ([4], 6),
    ([2, 4], 5),
    ([], 3),
    ([], 1),
    ([6], 6),
    ([2], 2),
    ([3, 7], 6),
    ([1, 4], 6),
    ([0], 6),
    ([-2, 4], 6),
    ([5, 3], 6),
    ([4, 4], 6),
    ([2, 16, 16, 16], 16),
    (["4"], 6),
    ([2.5], 6),
    ([4.0], 6),
    ([True, 4], 6),
    ([None], 6),
    ([[4]], 6),
    ([2], 1),
]

# The words of a proposition, and those of each sentence.
_SUPPORT: list[tuple[str, list[str]]] = [
    ("ferry noon", ["ferry noon", "soup sold"]),
    ("soup sold", ["ferry noon", "soup sold"]),
    ("soup noon", ["ferry noon", "soup sold"]),
    ("bridge 1902 trams", ["bridge opened 1902", "flood 1953", "bridge carries trams"]),
    ("ferry", ["soup", "ferry noon", "ferry island"]),
    ("ferry noon", ["ferry noon", "ferry", "noon"]),
    ("ferry red", ["ferry noon", "soup sold"]),
    ("soup hot sold", ["soup hot", "bread warm", "hot soup sold"]),
    ("a b c", ["a", "b", "c", "a c", "b"]),
    ("storm", ["ferry noon", "soup sold"]),
    ("", ["ferry noon"]),
    ("ferry", []),
]


def check_parts(parts: Callable[[list[Any], int], Sequence[tuple[int, int]]]) -> None:
    """Try `parts(starts, count)` on good and bad replies; print the first fault, or passed.

    >>> check_parts(lambda starts, count: [])
    Not yet: parts([4], count=6)
      got       []
      expected  [(1, 3), (4, 6)]
      hint      the first part is sentences 1 to 3, the second 4 to 6.
    """
    for starts, count in _STARTS:
        call = f"parts({starts!r}, count={count})"
        got = attempt(call, partial(parts, list(starts), count), endless=_ENDLESS)
        if got is None:
            return
        expected = _expected_parts(starts, count)
        pairs = [_pair(item) for item in got]
        if pairs != expected:
            report(call, got, _hint_parts(pairs, expected, starts, count), expected)
            return
    print(f"passed: {len(_STARTS)} replies; the good ones are cut, the bad ones refused.")


def check_support(support: Callable[[set[str], list[set[str]]], Sequence[int]]) -> None:
    """Try `support(words, sentences)` on plain and odd cases; print the first fault, or passed.

    >>> check_support(lambda words, sentences: [0, len(sentences) - 1])
    Not yet: support({'ferry', 'noon'}, [{'ferry', 'noon'}, {'sold', 'soup'}])
      got       [0, 1]
      expected  [0, 0]
      hint      a shorter run of sentences holds as many of the words: 0 to 0.
    """
    for said, texts in _SUPPORT:
        words, sentences = set(said.split()), [set(text.split()) for text in texts]
        call = f"support({_show(words)}, [{', '.join(map(_show, sentences))}])"
        run = partial(support, set(words), [set(one) for one in sentences])
        got = attempt(call, run, endless=_ENDLESS)
        if got is None:
            return
        expected = _expected_support(words, sentences)
        if list(got) != expected:
            report(call, got, _hint_support(got, expected, words, sentences), expected)
            return
    print(f"passed: {len(_SUPPORT)} cases: the shortest run, and of equals the first.")


def _show(words: set[str]) -> str:
    """Return a set as Python writes it, in the order of the alphabet."""
    return f"{{{', '.join(map(repr, sorted(words)))}}}" if words else "set()"


def _pair(item: Any) -> Any:
    """Return a list of two as a tuple: both will do."""
    return tuple(item) if isinstance(item, list) else item


def _expected_parts(starts: list[Any], count: int) -> list[tuple[int, int]]:
    if not all(type(start) is int and 2 <= start <= count for start in starts):
        return []
    if starts != sorted(set(starts)):
        return []
    firsts = [1, *starts, count + 1]
    return [(first, after - 1) for first, after in pairwise(firsts)]


def _hint_parts(
    got: list[Any], expected: list[tuple[int, int]], starts: list[Any], count: int
) -> str:
    if not expected:
        return f"{_fault(starts, count)}: return an empty list."
    if not all(isinstance(pair, tuple) and len(pair) == 2 for pair in got):
        return "return pairs of whole numbers: the first and the last sentence of each part."
    if not starts:
        return f"no number means one part: sentences 1 to {count}."
    if not got:
        first, second = expected[:2]
        return (
            f"the first part is sentences {first[0]} to {first[1]}, "
            f"the second {second[0]} to {second[1]}."
        )
    if got == [(first - 1, last) for first, last in expected]:
        return "sentences count from 1, and the last one of a part is in it."
    if got[0] != expected[0]:
        return f"the first part is sentences {expected[0][0]} to {expected[0][1]}."
    if len(got) < len(expected):
        return f"what comes after {got[-1]} is in no part: the last part ends with {count}."
    wrong = next(i for i, pair in enumerate(got) if i >= len(expected) or pair != expected[i])
    if wrong >= len(expected):
        return f"{got[wrong]} is one part too many: {len(starts)} starts make {len(expected)}."
    return f"part {wrong + 1} is sentences {expected[wrong][0]} to {expected[wrong][1]}."


def _fault(starts: list[Any], count: int) -> str:
    for start in starts:
        if type(start) is not int:
            return f"{start!r} is {_kind(start)}, not a whole number"
        if start > count:
            return f"{start} is more than the {count} sentences that were shown"
        if start < 2:
            return f"{start} begins nothing new: the first number that can is 2"
    if len(set(starts)) < len(starts):
        twice = next(start for start in starts if starts.count(start) > 1)
        return f"{twice} stands there twice"
    return f"{starts} is not in order"


def _kind(value: object) -> str:
    names = {str: "a text", float: "a number with a point", bool: "a truth value", list: "a list"}
    return names.get(type(value), "nothing" if value is None else type(value).__name__)


def _runs(words: set[str], sentences: list[set[str]]) -> list[tuple[int, int]]:
    """Return the runs that hold as many of the words as all sentences do, the shortest first."""
    most = words & set().union(*sentences)
    found = [
        (low, high)
        for low in range(len(sentences))
        for high in range(low, len(sentences))
        if most and most <= set().union(*sentences[low : high + 1])
    ]
    return sorted(found, key=lambda run: (run[1] - run[0], run[0]))


def _expected_support(words: set[str], sentences: list[set[str]]) -> list[int]:
    return list(next(iter(_runs(words, sentences)), ()))


def _hint_support(
    got: list[Any], expected: list[int], words: set[str], sentences: list[set[str]]
) -> str:
    if not expected:
        return "no sentence holds any of the words: return an empty list."
    if len(got) != 2 or not all(type(place) is int for place in got):
        return "return two whole numbers, the first and the last sentence of the run."
    low, high = got
    if not 0 <= low <= high < len(sentences):
        return f"sentences count from 0 to {len(sentences) - 1}, and the first comes first."
    held = words & set().union(*sentences[low : high + 1])
    missing = sorted((words & set().union(*sentences)) - held)
    if missing:
        return f"{missing[0]!r} stands in a sentence, but not in {low} to {high}."
    if high - low > expected[1] - expected[0]:
        shorter = f"{expected[0]} to {expected[1]}"
        return f"a shorter run of sentences holds as many of the words: {shorter}."
    return f"{expected[0]} to {expected[1]} is as short and comes first."
