"""Checks of the exercises in notebook 8. They print what they find and never raise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from chunking_lib.attempts import attempt, report

__all__ = ["check_merge", "check_pool"]

Place = tuple[int, int]
Window = tuple[int, list[float]]

_ENDLESS = "Does each turn of the loop move on?"
_NUMBERS = "return a list of numbers."
_NO_TOKENS = "the chunk {} has no token, so there is nothing to divide by: its mean is 0."

# offsets of the tokens, their values, and the chunks; the plain cases first.
_POOLED: list[tuple[list[Place], list[float], list[Place]]] = [
    ([(0, 0), (0, 2), (3, 5), (6, 8), (0, 0)], [90, 1, 2, 4, 90], [(0, 5), (6, 8)]),
    ([(0, 0), (0, 5), (5, 6), (7, 9), (9, 10), (0, 0)], [90, 4, 2, 5, 3, 90], [(0, 6), (7, 10)]),
    ([(0, 0), (0, 3), (3, 6), (6, 9), (0, 0)], [90, 1, 3, 8, 90], [(0, 4), (4, 9)]),
    ([(0, 0), (0, 2), (3, 5), (6, 8), (0, 0)], [90, 1, 2, 6, 90], [(0, 5), (3, 8)]),
    ([(0, 0), (0, 2), (6, 8), (0, 0)], [90, 1, 2, 90], [(0, 2), (2, 6), (6, 8)]),
    ([(0, 0), (4, 6), (0, 0)], [90, 7, 90], [(4, 6), (0, 3)]),
    ([(0, 0), (0, 2), (0, 0)], [90, 5, 90], []),
    ([(0, 0), (0, 0)], [90, 90], [(0, 4)]),
]

# Windows: the number of the first token, and the values, those of [CLS] and [SEP] around them.
_MERGED: list[list[Window]] = [
    [(0, [90, 1, 2, 3, 4, 90]), (2, [90, 5, 6, 7, 8, 90])],
    [(0, [90, 1, 2, 3, 90])],
    [(0, [90, 1, 2, 90]), (2, [90, 3, 4, 90])],
    [(0, [90, 1, 2, 3, 90]), (2, [90, 4, 5, 6, 90])],
    [(0, [90, 1, 2, 3, 4, 5, 90]), (2, [90, 6, 7, 8, 9, 90])],
    [(0, [90, 1, 2, 3, 4, 90]), (2, [90, 5, 6, 7, 8, 90]), (4, [90, 9, 10, 11, 90])],
    [],
]


def check_pool(
    pool: Callable[[list[Place], list[float], list[Place]], Sequence[float]],
) -> None:
    """Try `pool(offsets, values, chunks)` on plain and odd cases; print a fault, or passed.

    >>> check_pool(lambda offsets, values, chunks: [])
    Not yet: pool([(0, 0), (0, 2), (3, 5), (6, 8), (0, 0)], [90, 1, 2, 4, 90], [(0, 5), (6, 8)])
      got       []
      expected  [1.5, 4.0]
      hint      there are 2 chunks, so return 2 numbers.
    """
    for offsets, values, chunks in _POOLED:
        call = f"pool({offsets}, {values}, {chunks})"
        expected = [_mean(offsets, values, chunk) for chunk in chunks]
        empty = [chunk for chunk in chunks if not _inside(offsets, chunk)]
        raised = _NO_TOKENS.format(empty[0]) if empty else None
        run = partial(pool, list(offsets), list(values), list(chunks))
        got = attempt(call, run, endless=_ENDLESS, raised=raised)
        if got is None:
            return
        found = _numbers(got)
        if found is None:
            report(call, got, _NUMBERS, expected)
            return
        if not _same(found, expected):
            report(call, found, _hint_pool(found, expected, offsets, values, chunks), expected)
            return
    print(f"passed: {len(_POOLED)} cases, with cut tokens, overlap and a chunk without tokens.")


def check_merge(merge: Callable[[list[Window]], Sequence[float]]) -> None:
    """Try `merge(windows)` on plain and odd windows; print the first fault, or passed.

    >>> check_merge(lambda windows: [value for _, values in windows for value in values[1:-1]])
    Not yet: merge([(0, [90, 1, 2, 3, 4, 90]), (2, [90, 5, 6, 7, 8, 90])])
      got       [1, 2, 3, 4, 5, 6, 7, 8]
      expected  [1, 2, 3, 6, 7, 8]
      hint      tokens 2 to 3 are in two windows, and each counts once: 6 values, not 8.
    """
    for windows in _MERGED:
        call = f"merge({windows})"
        run = partial(merge, [(start, list(values)) for start, values in windows])
        nothing = None if windows else "no windows, no tokens: return an empty list."
        got = attempt(call, run, endless=_ENDLESS, raised=nothing)
        if got is None:
            return
        expected = _expected_merge(windows)
        found = _numbers(got)
        if found is None:
            report(call, got, _NUMBERS, expected)
            return
        if not _same(found, expected):
            report(call, found, _hint_merge(found, expected, windows), expected)
            return
    print(f"passed: {len(_MERGED)} cases, and no token counts twice.")


def _numbers(got: list[Any]) -> list[float] | None:
    """Return plain numbers, or None if something is none. NumPy's are."""
    found = []
    for one in got:
        value = one.item() if getattr(one, "shape", None) == () else one
        if not isinstance(value, int | float) or isinstance(value, bool):
            return None
        found.append(value)
    return found


def _same(got: list[float], expected: list[float]) -> bool:
    return len(got) == len(expected) and all(
        abs(a - b) < 1e-6 for a, b in zip(got, expected, strict=True)
    )


# --- exercise 1 -------------------------------------------------------------------------


def _inside(offsets: list[Place], chunk: Place) -> list[int]:
    return [i for i, (start, end) in enumerate(offsets) if start < chunk[1] and chunk[0] < end]


def _mean(offsets: list[Place], values: list[float], chunk: Place) -> float:
    found = [values[i] for i in _inside(offsets, chunk)]
    return sum(found) / max(1, len(found))


def _hint_pool(
    got: list[float],
    expected: list[float],
    offsets: list[Place],
    values: list[float],
    chunks: list[Place],
) -> str:
    if len(got) != len(expected):
        return f"there are {len(chunks)} chunks, so return {len(chunks)} numbers."
    row = next(
        i for i in range(len(chunks)) if abs(got[i] - expected[i]) >= 1e-6 or got[i] != got[i]
    )
    chunk, value = chunks[row], got[row]
    right = _inside(offsets, chunk)
    touching = [i for i, (a, b) in enumerate(offsets) if a <= chunk[1] and chunk[0] <= b and a < b]
    touched = [values[i] for i in touching]
    if touching != right and abs(value - sum(touched) / len(touched)) < 1e-6:
        return f"chunk {chunk}: a token that only touches it shares no character with it."
    if not right:
        return _NO_TOKENS.format(chunk)
    named = ", ".join(str(offsets[i]) for i in right)
    start, end = chunk
    ways = {
        "its tokens are summed; divide by their number.": right,
        "[CLS] and [SEP], at (0, 0), hold no character and belong to no chunk.": [
            i for i, (a, b) in enumerate(offsets) if (a < end and start < b) or a == b
        ],
        "a token that ends where the chunk ends belongs to it: compare with <= there.": [
            i for i in right if offsets[i][1] != end
        ],
        "a token that begins where the chunk begins belongs to it.": [
            i for i in right if offsets[i][0] != start
        ],
        "its places count characters, not tokens: do not slice the tokens with them.": [
            i for i in range(len(offsets)) if start <= i < end
        ],
        "a token that a boundary cuts in two belongs to both chunks.": [
            i for i in right if start <= offsets[i][0] and offsets[i][1] <= end
        ],
    }
    cut = [i for i in right if offsets[i][0] < start or end < offsets[i][1]]
    lost = [values[i] for i in right if i not in cut[:1]]
    if cut and lost and abs(value - sum(lost) / len(lost)) < 1e-6:
        return f"chunk {chunk}: a token that a boundary cuts in two belongs to both chunks."
    for hint, numbers in ways.items():
        chosen = [values[i] for i in numbers]
        wanted = sum(chosen) if numbers is right else sum(chosen) / max(1, len(chosen))
        if numbers and (numbers != right or len(right) > 1) and abs(value - wanted) < 1e-6:
            return f"chunk {chunk}: {hint}"
    return f"the chunk {chunk} has the tokens at {named}: their mean is {expected[row]:g}."


# --- exercise 2 -------------------------------------------------------------------------


def _expected_merge(windows: list[Window]) -> list[float]:
    merged: list[float] = []
    for start, values in windows:
        shared = len(merged) - start
        keep = start + (shared + 1) // 2
        merged = merged[:keep] + values[1 + keep - start : -1]
    return merged


def _hint_merge(got: list[float], expected: list[float], windows: list[Window]) -> str:
    inner = [(start, values[1:-1]) for start, values in windows]
    if 90 in got:
        return "90 belongs to [CLS] and [SEP], which each window has: leave them out."
    ends = [start + len(values) for start, values in inner]
    twice = [
        (start, end) for (start, _), end in zip(inner[1:], ends[:-1], strict=True) if start < end
    ]
    if not twice:
        return f"no token is in two windows: the values come one after the other, {expected}."
    first, last = twice[0][0], twice[0][1] - 1
    which = f"tokens {first} to {last} are" if first < last else f"token {first} is"
    if len(got) > len(expected):
        return (
            f"{which} in two windows, and each counts once: {len(expected)} values, not {len(got)}."
        )
    if len(got) < len(expected):
        return f"each token counts once, also those in two windows: {len(expected)} values."
    at = next(i for i in range(len(got)) if abs(got[i] - expected[i]) >= 1e-6)
    both = [values[at - start] for start, values in inner if 0 <= at - start < len(values)]
    if len(both) == 1:
        return f"token {at} is in one window alone, with the value {both[0]:g}."
    if got[at] not in both:
        return f"take a token from one of its windows, not a mean of both: token {at}."
    left = expected[at] == both[0]
    side, half = ("left", "first") if left else ("right", "second")
    more = " An odd one in the middle belongs to the first half." if left else ""
    return f"token {at} is in the {half} half of what two windows share: take the {side} one.{more}"
