"""Checks of the exercises in notebook 4. They print what they find and never raise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from chunking_lib.attempts import attempt, report

__all__ = ["check_breakpoints", "check_cuts"]

_ENDLESS = "Does each turn of the loop use up a place?"
_EMPTY = "no distances, no places: return an empty list, before anything is computed."

# distances and amount, the plain cases first.
_DISTANCES: list[tuple[list[float], float]] = [
    ([0.1, 0.2, 0.1, 0.9, 0.2, 0.1], 1.5),
    ([0.2, 0.8, 0.3, 0.7, 0.2], 0.5),
    ([0.1, 0.1, 0.1, 0.3, 0.9], 0.5),
    ([0.4, 1.2, 0.5, 0.3], 1.0),
    ([0.1, 0.9, 0.1, 0.9], 1.5),
    ([0.9, 0.2, 0.2, 0.2, 0.8], 0.25),
    ([0.1, 0.2, 0.6], 0.0),
    ([0.5, 0.5, 0.5, 0.5], 1.5),
    ([0.0, 0.0, 0.0], 0.0),
    ([0.7], 1.5),
    ([], 1.5),
]

# distances, sizes of the sentences, count of chunks, and min_size.
_CUTS: list[tuple[list[float], list[int], int, int]] = [
    ([0.2, 0.8, 0.3, 0.6], [9, 9, 9, 9, 9], 3, 0),
    ([0.2, 0.8, 0.3, 0.6], [9, 9, 9, 9, 9], 1, 0),
    ([0.5, 0.5, 0.5, 0.5], [9, 9, 9, 9, 9], 3, 0),
    ([0.2, 0.8, 0.3, 0.6], [9, 9, 9, 9, 9], 7, 0),
    ([0.9, 0.8, 0.2, 0.7], [1, 3, 5, 5, 5], 3, 4),
    ([0.9, 0.1, 0.8], [1, 4, 4, 1], 2, 3),
    ([0.9, 0.8, 0.1], [5, 5, 1, 9], 4, 6),
    ([0.7, 0.9, 0.8], [3, 3, 3, 3], 4, 6),
    ([0.3, 0.9, 0.4, 0.2, 0.8], [8, 2, 5, 5, 6, 4], 4, 10),
    ([0.6, 0.6], [4, 4, 4], 2, 8),
    ([0.4, 0.5], [1, 1, 1], 3, 5),
    ([], [7], 3, 0),
    ([], [], 2, 0),
]


def check_breakpoints(breakpoints: Callable[[list[float], float], Sequence[int]]) -> None:
    """Try `breakpoints(distances, amount)` on plain and odd lists; print a fault, or passed.

    >>> check_breakpoints(lambda distances, amount: [])
    Not yet: breakpoints([0.1, 0.2, 0.1, 0.9, 0.2, 0.1], amount=1.5)
      got       []
      expected  [3]
      hint      place 3 has the distance 0.9, and the limit is 0.27 + 1.5 × 0.10 = 0.42.
    """
    for distances, amount in _DISTANCES:
        call = f"breakpoints({distances!r}, amount={amount:g})"
        run = partial(breakpoints, list(distances), amount)
        got = attempt(call, run, endless=_ENDLESS, raised=None if distances else _EMPTY)
        if got is None:
            return
        places = _whole(got)
        if places is None:
            report(call, got, "return a list of places, whole numbers that count from 0.")
            return
        expected = _expected_places(distances, amount)
        if places != expected:
            report(call, places, _hint_places(places, expected, distances, amount), expected)
            return
    print(f"passed: {len(_DISTANCES)} lists, the limit is right and nothing at it is cut.")


def check_cuts(cut: Callable[[list[float], list[int], int, int], Sequence[int]]) -> None:
    """Try `cut(distances, sizes, count, min_size)`; print the first fault, or passed.

    >>> check_cuts(lambda distances, sizes, count, min_size: [0, 1])
    Not yet: cut([0.2, 0.8, 0.3, 0.6], [9, 9, 9, 9, 9], count=3, min_size=0)
      got       [0, 1]
      expected  [1, 3]
      hint      place 3 (0.6) comes before place 0 (0.2): take the largest first.
    """
    for distances, sizes, count, least in _CUTS:
        call = f"cut({distances!r}, {sizes!r}, count={count}, min_size={least})"
        run = partial(cut, list(distances), list(sizes), count, least)
        got = attempt(call, run, endless=_ENDLESS)
        if got is None:
            return
        places = _whole(got)
        if places is None:
            report(call, got, "return a list of places, whole numbers that count from 0.")
            return
        expected = _expected_cuts(distances, sizes, count, least)
        if places != expected:
            hint = _hint_cuts(places, expected, distances, sizes, count, least)
            report(call, places, hint, expected)
            return
    print(f"passed: {len(_CUTS)} cases, with ties, and no part below min_size.")


def _whole(got: list[Any]) -> list[int] | None:
    """Return the places as `int`, or None if one is no whole number. NumPy's are."""
    if not all(hasattr(place, "__index__") and not isinstance(place, bool) for place in got):
        return None
    return [int(place) for place in got]


def _limit(distances: list[float], amount: float) -> tuple[float, float]:
    low, high = np.percentile(distances, [25, 75])
    return float(np.mean(distances)), float(high - low)


def _expected_places(distances: list[float], amount: float) -> list[int]:
    if not distances:
        return []
    mean, middle = _limit(distances, amount)
    return [i for i, distance in enumerate(distances) if distance > mean + amount * middle]


def _hint_places(got: list[int], expected: list[int], distances: list[float], amount: float) -> str:
    if not distances:
        return _EMPTY
    if any(not 0 <= place < len(distances) for place in got) and len(got) != len(expected):
        return f"there are {len(distances)} distances, at the places 0 to {len(distances) - 1}."
    if got == [place + 1 for place in expected]:
        return "places count from 0: the distance between sentences 0 and 1 is at place 0."
    if sorted(got) == expected:
        return "give the places in order."
    mean, middle = _limit(distances, amount)
    limit = mean + amount * middle
    said = f"{mean:.2f} + {amount:g} × {middle:.2f} = {limit:.2f}"
    starts = {
        "the 75th percentile": float(np.percentile(distances, 75)),
        "the median": float(np.median(distances)),
    }
    for name, start in starts.items():
        if got == [i for i, value in enumerate(distances) if value > start + amount * middle]:
            return f"the limit is {said}. The first number is the mean, not {name} ({start:.2f})."
    for place in expected:
        if place not in got:
            return f"place {place} has the distance {distances[place]}, and the limit is {said}."
    extra = next((place for place in got if place not in expected), got[0])
    if not 0 <= extra < len(distances):
        return f"there are {len(distances)} distances, at the places 0 to {len(distances) - 1}."
    if distances[extra] == limit:
        return f"place {extra} is at the limit, {limit:.2f}. Only what is above it is cut."
    return f"place {extra} has the distance {distances[extra]}, and the limit is {said}."


def _ranked(distances: list[float]) -> list[int]:
    return sorted(range(len(distances)), key=lambda place: (-distances[place], place))


def _expected_cuts(
    distances: list[float],
    sizes: list[int],
    count: int,
    least: int,
    *,
    tried: int | None = None,
    stop: bool = False,
) -> list[int]:
    """Return the cuts; with `tried` or `stop`, those of a usual way to go wrong.

    Args:
        tried: how many places are looked at, all if None.
        stop: end at the first place that is refused.
    """
    cuts: list[int] = []
    for place in _ranked(distances)[:tried]:
        if len(cuts) == count - 1:
            break
        if min(_around(place, cuts, sizes)) >= least:
            cuts.append(place)
        elif stop:
            break
    return sorted(cuts)


def _around(place: int, cuts: list[int], sizes: list[int]) -> tuple[int, int]:
    """Return the sizes of the parts before and after a cut at `place`."""
    first = max((cut + 1 for cut in cuts if cut < place), default=0)
    last = min((cut for cut in cuts if cut > place), default=len(sizes) - 1)
    return sum(sizes[first : place + 1]), sum(sizes[place + 1 : last + 1])


def _hint_cuts(
    got: list[int],
    expected: list[int],
    distances: list[float],
    sizes: list[int],
    count: int,
    least: int,
) -> str:
    if any(not 0 <= place < len(distances) for place in got):
        last = len(distances) - 1
        places = f"at the places 0 to {last}" if distances else "so there is nothing to cut"
        return f"there are {len(distances)} distances, {places}."
    if len(set(got)) != len(got):
        return "a place is named twice."
    if sorted(got) == expected:
        return "give the places in order."
    # Take the places as they should be taken: the first that differs is the one to speak of.
    cuts: list[int] = []
    for place in _ranked(distances):
        if len(cuts) == count - 1:
            break
        room = min(_around(place, cuts, sizes)) >= least
        if room and place not in got:
            return _hint_missing(place, cuts, got, distances, sizes, count, least)
        if not room and place in got:
            return _hint_small(place, cuts, sizes, least)
        if room:
            cuts.append(place)
    return f"{count} chunks have {count - 1} cuts between them, not {len(got)}."


def _hint_small(place: int, cuts: list[int], sizes: list[int], least: int) -> str:
    before, after = _around(place, cuts, sizes)
    small = min(before, after)
    side = [cut for cut in cuts if (cut < place) == (before == small)]
    nearest = min(side, key=lambda cut: abs(cut - place), default=None)
    beside = "" if nearest is None else f" beside the cut at place {nearest}"
    return f"the cut at place {place} leaves a part of {small}{beside}, below min_size={least}."


def _hint_missing(
    place: int,
    cuts: list[int],
    got: list[int],
    distances: list[float],
    sizes: list[int],
    count: int,
    least: int,
) -> str:
    """Say why a place should have been taken; `cuts` are those that come before it."""
    given = distances, sizes, count, least
    refused = [p for p in _ranked(distances) if distances[p] >= distances[place] and p != place]
    refused = [p for p in refused if p not in cuts and min(_around(p, cuts, sizes)) < least]
    stopped = got == _expected_cuts(*given, stop=True)
    filtered = got == _expected_cuts(*given, tried=count - 1)
    if refused and (stopped or filtered):
        wrong = []
        if stopped:
            wrong.append("do not stop there")
        if filtered:
            wrong.append(f"it does not count as one of the {count - 1} cuts")
        return (
            f"place {refused[0]} is refused: {', '.join(wrong)}, go on with the next largest, "
            f"place {place}."
        )
    if min(_around(place, cuts, sizes)) == least > 0:
        return (
            f"a cut at place {place} leaves a part of {least}. That is min_size, so it is enough: "
            "only what is below it is too small."
        )
    extra = [other for other in got if other not in cuts and distances[other] <= distances[place]]
    if not extra:
        return f"there is room for a cut at place {place}: enough is left on both sides."
    if distances[place] == distances[extra[0]]:
        return f"places {place} and {extra[0]} have the same distance: take the first."
    return (
        f"place {place} ({distances[place]}) comes before place {extra[0]} "
        f"({distances[extra[0]]}): take the largest first."
    )
