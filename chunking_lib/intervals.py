"""What a difference between two chunkers is worth: intervals, tests, verdicts.

Questions on one document resemble each other, so documents are resampled first, then the questions
in them. Everything is seeded: two runs agree to the last digit.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "FEW_DOCUMENTS",
    "Contrast",
    "Interval",
    "Verdict",
    "contrasts",
    "holm",
    "mean_interval",
    "sign_flip_p",
]

Floats = NDArray[np.float64]
Verdict = Literal["better", "worse", "equivalent", "undecided"]
_DRAWS = 10_000
_FEW_QUESTIONS = 20
#: Fewer documents than this cannot be told from others like them: no p could fall below 5%.
FEW_DOCUMENTS = 6


@dataclass(frozen=True)
class Interval:
    """A mean and the ends of its 95% interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        """As percentages.

        >>> str(Interval(0.5, 0.4, 0.625))
        '50.0 [40.0, 62.5]'
        """
        # "z": no minus in front of what rounds to 0
        return f"{self.mean:z.1%} [{self.low:z.1%}, {self.high:z.1%}]".replace("%", "")


@dataclass(frozen=True)
class Contrast:
    """What one chunker gives over another, and what can be said of it."""

    name: str
    baseline: str
    difference: Interval
    p: float
    verdict: Verdict


def mean_interval(values: Sequence[float], groups: Sequence[str], *, seed: int = 0) -> Interval:
    """Return the mean of `values` and its 95% interval.

    Bootstrap: documents are drawn with replacement, then questions of each, 10,000 times. The draws
    are kept for the next call with the same groups: 80 MB for a thousand questions, and as much
    while they are made for a thousand documents.

    Args:
        values: a score for each question.
        groups: the document of each question.
        seed: of the random numbers.
    Raises:
        ValueError: no values, NaN or an infinite one, or another number of groups.

    >>> mean_interval([1.0, 1.0, 1.0], ["a", "a", "b"])
    Interval(mean=1.0, low=1.0, high=1.0)

    Source: Davison and Hinkley, *Bootstrap Methods and their Application* (1997), section 3.8.
    """
    array = _column(values, groups)
    means = _bootstrap(array, groups, seed)[:, 0]
    low, high = np.quantile(means, [0.025, 0.975])
    return Interval(float(array.mean()), float(low), float(high))


def contrasts(
    scores: Mapping[str, Sequence[float]],
    pairs: Sequence[tuple[str, str]],
    groups: Sequence[str],
    *,
    worth: float = 0.03,
    seed: int = 0,
) -> list[Contrast]:
    """Compare pairs of chunkers on the same questions. Name the pairs before you see the scores.

    1. The difference is taken question by question.
    2. The intervals hold together: in 95 of 100 such experiments, all of them cover their truth.
    3. `p` is from a sign-flip test over documents, adjusted by Holm for the number of pairs.
    4. The verdict is "equivalent" if the interval lies within `worth` of 0, else "better" or
       "worse" if it does not hold 0 and `p` is below 0.05, else "undecided".

    With fewer than `FEW_DOCUMENTS`, questions are what is drawn and flipped: the result then holds
    for these documents, not for others like them. Fewer than 20 questions decide nothing.

    Args:
        scores: for each chunker, a score for each question.
        pairs: (name, baseline), a handful.
        groups: the document of each question.
        worth: the smallest difference worth having.
        seed: of the random numbers.
    Raises:
        ValueError: no pairs, a name without scores, scores of unequal length, NaN or an infinite
            score.

    >>> scores = {"a": [0.9] * 24, "b": [0.5] * 24}
    >>> [result] = contrasts(scores, [("a", "b")], list("stuvwxyz") * 3)
    >>> result.verdict, round(result.difference.low, 2)
    ('better', 0.4)
    """
    pairs = list(pairs)
    if not pairs:
        raise ValueError("pairs=[] must hold at least one pair of names")
    for name in (name for pair in pairs for name in pair):
        if name not in scores:
            raise ValueError(f"pairs has {name!r}, and scores only {', '.join(scores)}")
    columns = [
        _column(scores[name], groups) - _column(scores[baseline], groups)
        for name, baseline in pairs
    ]
    few = len(groups) < _FEW_QUESTIONS
    if len(set(groups)) < FEW_DOCUMENTS:
        groups = [str(number) for number in range(len(groups))]
    table = np.stack(columns, axis=1)
    means = table.mean(axis=0)
    draws = _bootstrap(table, groups, seed)
    spread = draws.std(axis=0)
    # How far the worst of the pairs strays, in its own standard errors.
    scaled = np.abs(draws - means) / np.where(spread > 0, spread, 1)
    reach = float(np.quantile(scaled.max(axis=1), 0.95)) * spread
    adjusted = holm([sign_flip_p(column.tolist(), groups, seed=seed) for column in columns])
    found = []
    for (name, baseline), mean, margin, p in zip(pairs, means, reach, adjusted, strict=True):
        interval = Interval(float(mean), float(mean - margin), float(mean + margin))
        verdict: Verdict = "undecided" if few else _verdict(interval, p, worth)
        found.append(Contrast(name, baseline, interval, p, verdict))
    return found


def _verdict(interval: Interval, p: float, worth: float) -> Verdict:
    if -worth < interval.low and interval.high < worth:
        return "equivalent"
    if p < 0.05 and interval.low > 0:
        return "better"
    if p < 0.05 and interval.high < 0:
        return "worse"
    return "undecided"


def sign_flip_p(differences: Sequence[float], groups: Sequence[str], *, seed: int = 0) -> float:
    """Return how often chance alone gives a mean difference as large as this one.

    If two chunkers are the same, each document's differences might as well have the other sign. All
    combinations of signs are tried where they are 4,096 or fewer, else 10,000 at random.

    Args:
        differences: one for each question.
        groups: the document of each question.
        seed: of the random numbers.
    Raises:
        ValueError: no differences, NaN or an infinite one, or another number of groups.

    >>> sign_flip_p([0.1, 0.2, 0.3, 0.1], list("abcd"))
    0.125

    Source: Fisher's permutation test, with documents as the units that are exchanged.
    """
    array = _column(differences, groups)
    sums = np.array([array[own].sum() for own in _members(groups)])
    if len(sums) <= 12:
        bits = np.arange(2 ** len(sums))[:, None] >> np.arange(len(sums)) & 1
        signs = 1.0 - 2.0 * bits
        extra = 0
    else:
        rng = np.random.default_rng(seed)
        signs = rng.choice([-1.0, 1.0], size=(_DRAWS, len(sums)))
        extra = 1  # the combination that was seen is one of them
    flipped = np.abs((signs * sums).sum(axis=1))
    as_large = int((flipped >= abs(sums.sum()) - 1e-12).sum())
    return (as_large + extra) / (len(signs) + extra)


def holm(ps: Sequence[float]) -> list[float]:
    """Adjust p-values for their number: the chance of one false alarm among them stays below 5%.

    Args:
        ps: p-values, in any order.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]

    Source: Holm (1979).
    """
    order = sorted(range(len(ps)), key=lambda i: ps[i])
    adjusted, largest = [0.0] * len(ps), 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(ps) - rank) * ps[i]))
        adjusted[i] = largest
    return adjusted


def _column(values: Sequence[float], groups: Sequence[str]) -> Floats:
    if not len(values) or len(values) != len(groups):
        raise ValueError(
            f"values={len(values)} and groups={len(groups)} must be the same number, 1 or more"
        )
    column = np.asarray(values, dtype=np.float64)
    if not np.isfinite(column).all():
        raise ValueError(f"values has {column[~np.isfinite(column)][0]}, and must be finite")
    return column


def _members(groups: Sequence[str]) -> list[list[int]]:
    """Return the numbers of the questions of each document; documents in order of their names."""
    members: dict[str, list[int]] = {name: [] for name in sorted(set(groups))}
    for number, name in enumerate(groups):
        members[name].append(number)
    return list(members.values())


def _bootstrap(values: Floats, groups: Sequence[str], seed: int) -> Floats:
    """Return the means of resampled questions: draws × columns."""
    means: Floats = _shares(tuple(groups), seed) @ values.reshape(len(groups), -1)
    return means


@functools.lru_cache(maxsize=1)  # a table of chunkers asks for the same ones again and again
def _shares(groups: tuple[str, ...], seed: int) -> Floats:
    """Return what share of a resampled set each question is: draws × questions."""
    members = _members(groups)
    rng = np.random.default_rng(seed)
    # A document drawn three times gives three times as many questions, each drawn from its own.
    times = rng.multinomial(len(members), [1 / len(members)] * len(members), size=_DRAWS)
    counts = np.zeros((_DRAWS, len(groups)))
    for number, own in enumerate(members):
        counts[:, own] = rng.multinomial(times[:, number] * len(own), [1 / len(own)] * len(own))
    counts /= counts.sum(axis=1, keepdims=True)
    return counts
