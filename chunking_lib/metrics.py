"""How good a retrieval was: by characters found, by rank, and by where a text was cut.

A span is `(document, start, end)`: characters of one document, end exclusive. Scores are fractions
from 0 to 1.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

__all__ = [
    "Span",
    "SpanScores",
    "auroc",
    "mrr",
    "ndcg",
    "overlaps",
    "pk",
    "public_span_scores",
    "size_of",
    "span_scores",
    "window_diff",
]


class Span(NamedTuple):
    """Characters `start` to `end`, end exclusive, of the document with this id."""

    document: str
    start: int
    end: int


class SpanScores(NamedTuple):
    """Recall, precision and intersection over union, each from 0 to 1."""

    recall: float
    precision: float
    iou: float


def span_scores(excerpts: Sequence[Sequence[Span]], retrieved: Iterable[Span]) -> SpanScores:
    """Score the characters that were retrieved against those that answer the question.

    1. Retrieved spans are merged: a character that lies in two chunks counts once.
    2. An excerpt may stand at several places, because the document repeats it or another one says
       the same. The place of which the largest share was retrieved counts, the first of equals.
    3. Recall is the share of the excerpts that was retrieved; precision the share of what was
       retrieved that lies in an excerpt, at any of its places; IoU what both share, over both.
    4. With nothing retrieved, all three are 0.

    Args:
        excerpts: for each excerpt, the places where it stands, one or more.
        retrieved: what was retrieved, in any order.
    Raises:
        ValueError: no excerpts, one without a place, or a span that ends before it starts.

    >>> fee = [Span("faq", 10, 20)]
    >>> span_scores([fee], [Span("faq", 0, 20), Span("faq", 10, 30)])
    SpanScores(recall=1.0, precision=0.3333333333333333, iou=0.3333333333333333)

    Source: the measures of Chroma's *Evaluating Chunking Strategies for Retrieval* (2024), by sets
    of characters.
    """
    excerpts = [list(places) for places in excerpts]  # each is read more than once
    if not excerpts:
        raise ValueError("excerpts=[] must hold at least one excerpt")
    if not all(excerpts):
        raise ValueError(f"excerpts={excerpts!r} must hold at least one place for each excerpt")
    sent = _merge(retrieved)
    wanted = _merge(max(places, key=lambda place: _share(place, sent)) for places in excerpts)
    found, size, total = _common(sent, wanted), _size(wanted), _size(sent)
    relevant = _common(sent, _merge(place for places in excerpts for place in places))
    return SpanScores(
        recall=_ratio(found, size),
        precision=_ratio(relevant, total),
        iou=_ratio(found, total + size - found),
    )


def public_span_scores(references: Sequence[Span], retrieved: Sequence[Span]) -> SpanScores:
    """Score as the public code of Chroma's evaluation does, to compare with published figures.

    What was found counts a character once. What was retrieved counts it as often as it was
    retrieved, so overlap between chunks costs twice in precision and IoU; and what was wanted as
    often as a reference holds it, so references that overlap cannot reach a recall of 1.

    Args:
        references: what answers the question.
        retrieved: what was retrieved.
    Raises:
        ValueError: no references, or a span that ends before it starts.

    >>> public_span_scores([Span("a", 10, 20)], [Span("a", 0, 20), Span("a", 10, 30)])
    SpanScores(recall=1.0, precision=0.25, iou=0.25)
    """
    references, retrieved = list(references), list(retrieved)
    if not references:
        raise ValueError("references=[] must hold at least one span")
    merged = _merge(retrieved)
    found = _common(merged, _merge(references))
    sent = sum(span.end - span.start for span in retrieved)
    size = sum(span.end - span.start for span in references)
    missed = size - sum(_common(merged, _merge([span])) for span in references)
    return SpanScores(
        recall=_ratio(found, size), precision=_ratio(found, sent), iou=_ratio(found, sent + missed)
    )


def overlaps(span: Span, places: Iterable[Span]) -> bool:
    """Say whether a span shares a character with one of the places. To touch is not to share.

    >>> overlaps(Span("a", 0, 5), [Span("a", 5, 9)]), overlaps(Span("a", 0, 6), [Span("a", 5, 9)])
    (False, True)
    """
    return any(
        span.document == place.document and max(span.start, place.start) < min(span.end, place.end)
        for place in places
    )


def size_of(spans: Iterable[Span]) -> int:
    """Return how many characters lie in the spans, each counted once.

    >>> size_of([Span("a", 0, 5), Span("a", 3, 8), Span("b", 0, 1)])
    9
    """
    return _size(_merge(spans))


Ranges = dict[str, list[tuple[int, int]]]


def _merge(spans: Iterable[Span]) -> Ranges:
    """Return, for each document, ranges in order that do not overlap."""
    merged: Ranges = defaultdict(list)
    for document, start, end in sorted(spans):
        if end < start:
            raise ValueError(f"start={start} of a span in {document!r} must be end={end} or less")
        ranges = merged[document]
        if ranges and start <= ranges[-1][1]:
            ranges[-1] = ranges[-1][0], max(end, ranges[-1][1])
        elif start < end:
            ranges.append((start, end))
    return merged


def _size(ranges: Ranges) -> int:
    return sum(end - start for listed in ranges.values() for start, end in listed)


def _common(some: Ranges, others: Ranges) -> int:
    """Return how many characters lie in both."""
    total = 0
    for document in some.keys() & others.keys():
        left, right = some[document], others[document]
        i = j = 0
        while i < len(left) and j < len(right):
            total += max(0, min(left[i][1], right[j][1]) - max(left[i][0], right[j][0]))
            if left[i][1] < right[j][1]:
                i += 1
            else:
                j += 1
    return total


def _share(place: Span, ranges: Ranges) -> float:
    """Return how much of a place lies in the ranges, 0 to 1."""
    return _ratio(_common(_merge([place]), ranges), place.end - place.start)


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def mrr(relevant: Sequence[bool]) -> float:
    """Return one over the rank of the first relevant result, 0 if there is none.

    >>> mrr([False, True, True]), mrr([False])
    (0.5, 0.0)
    """
    return next((1 / rank for rank, hit in enumerate(relevant, 1) if hit), 0.0)


def ndcg(relevant: Sequence[bool], total: int, k: int) -> float:
    """Return the normalised discounted cumulative gain of the first `k` results.

    The ideal ranking has all `total` relevant results that exist in front, retrieved or not: a
    list that is too short does not make itself ideal.

    Args:
        relevant: whether each result, best first, is relevant.
        total: how many relevant results there are in the index.
        k: how many results count, 1 or more.
    Raises:
        ValueError: a `k` below 1, or more relevant results than there are.

    >>> round(ndcg([True], total=5, k=5), 4)
    0.3392

    Source: Järvelin and Kekäläinen (2002), with gains of 0 and 1.
    """
    if k < 1:
        raise ValueError(f"k={k!r} must be 1 or more")
    if total < sum(relevant):
        raise ValueError(f"total={total!r} must be {sum(relevant)} or more: so many are relevant")
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(total, k) + 1))
    gain = sum(1 / math.log2(rank + 1) for rank, hit in enumerate(relevant[:k], 1) if hit)
    return gain / ideal if ideal else 0.0


def auroc(higher: Sequence[float], lower: Sequence[float]) -> float:
    """Return how often a value of `higher` is above one of `lower`; ties count half.

    0.5 is no separation, 1.0 a perfect one: there is a threshold between the two.

    Args:
        higher: the values that should be higher.
        lower: those that should be lower.
    Raises:
        ValueError: an empty sequence, or one with NaN, which is neither above nor below.

    >>> auroc([0.9, 0.5], [0.5, 0.1])
    0.875
    """
    if not len(higher) or not len(lower):
        raise ValueError(f"higher has {len(higher)} values, lower {len(lower)}: each needs one")
    above = np.asarray(higher, dtype=np.float64)
    below = np.sort(np.asarray(lower, dtype=np.float64))
    if np.isnan(above).any() or np.isnan(below).any():
        raise ValueError("higher and lower must hold no NaN")
    # Of each pair, what is won counts on both sides, what is tied on one.
    wins = sum(int(np.searchsorted(below, above, side).sum()) for side in ("left", "right")) / 2
    return wins / (len(higher) * len(lower))


def pk(reference: Sequence[object], found: Sequence[object], k: int | None = None) -> float:
    """Return how often two units `k` apart are wrongly said to lie in one segment, or in two.

    0 is right everywhere; lower is better. Each sequence says of every unit (a sentence, say)
    whether a segment ends behind it: "0100", [0, 1, 0, 0] or [False, True, False, False]. The last
    unit ends one, marked or not, so its mark counts for nothing.

    Two units `k` apart have the `k` marks from the first unit on between them. Of n units, n - `k`
    pairs are so far apart. As in NLTK, one window more is counted, the `k` marks at the end: they
    say whether unit n - `k` and the last one, `k` - 1 after it, lie in one segment. So the share is
    one of n - `k` + 1 windows.

    Args:
        reference: the true ends.
        found: the ends to judge, one for each unit.
        k: the distance, 1 to the number of units; half the mean segment of `reference` if None.
    Raises:
        ValueError: no units, sequences of unequal length, anything but 0 and 1 in them, or a `k`
            outside these bounds.

    >>> pk("00100", "01000", k=2)  # wrong in the first and the third of four windows
    0.5

    Source: NLTK, whose count this is; the measure is that of Beeferman, Berger and Lafferty (1999).
    """
    truth, guess, k = _windows(reference, found, k)
    wrong = sum((a > 0) != (b > 0) for a, b in zip(truth, guess, strict=True))
    return wrong / len(truth)


def window_diff(
    reference: Sequence[object], found: Sequence[object], k: int | None = None
) -> float:
    """Return how often a window of `k` marks has a wrong number of segment ends.

    Where `pk` forgives an end too many beside a right one, this does not. Arguments, errors and
    the n - `k` + 1 windows are those of `pk`.

    >>> window_diff("00100", "01000", k=2), window_diff("0100", "0100")
    (0.5, 0.0)

    Source: NLTK, whose count this is; the measure is that of Pevzner and Hearst (2002).
    """
    truth, guess, k = _windows(reference, found, k)
    return sum(a != b for a, b in zip(truth, guess, strict=True)) / len(truth)


def _windows(
    reference: Sequence[object], found: Sequence[object], k: int | None
) -> tuple[list[int], list[int], int]:
    """Return the number of ends in each window of `k` marks, of both sequences."""
    ends, guess = _ends(reference, "reference"), _ends(found, "found")
    if len(ends) != len(guess):
        raise ValueError(
            f"reference has {len(ends)} units and found has {len(guess)}: with any k, both need "
            "the same number"
        )
    if not ends:
        raise ValueError("reference and found must have one unit or more, for any k")
    ends[-1] = guess[-1] = 0  # the last unit ends a segment, marked or not
    if k is None:
        segments = sum(ends) + 1
        k = max(1, round(len(ends) / (2 * segments)))
    if not 1 <= k <= len(ends):
        raise ValueError(f"k={k!r} must be 1 to {len(ends)}, the number of units")
    return _sums(ends, k), _sums(guess, k), k


def _sums(ends: list[int], k: int) -> list[int]:
    """Return the sum of each `k` neighbours, in time that does not depend on `k`."""
    before = [0, *itertools.accumulate(ends)]
    return [last - first for first, last in zip(before, before[k:], strict=False)]


def _ends(marks: Sequence[object], name: str) -> list[int]:
    known = {"0": 0, "1": 1, 0: 0, 1: 1}
    if not all(mark in known for mark in marks):
        raise ValueError(f"{name}={marks!r} must hold nothing but 0 and 1")
    return [known[mark] for mark in marks]
