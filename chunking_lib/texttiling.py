"""TextTiling: a chunk ends where the words on both sides differ most."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from chunking_lib.chunk import Chunk, Document, text_and_source
from chunking_lib.length import Length
from chunking_lib.sentences import sentence_spans
from chunking_lib.spans import Builder, check_size, run_builder
from chunking_lib.topic_model import content_words, read_stop_words
from chunking_lib.turns import Spans, add_sentences, check_whole, read_sentences

__all__ = ["block_scores", "depth_scores", "split_texttiling"]


def split_texttiling(
    text: str | Document,
    *,
    size: int = 1000,
    length: Length = len,
    block: int = 100,
    smoothing: int = 1,
    stop_words: str | Sequence[str] | None = "english",
    sentences: Callable[[str], Spans] = sentence_spans,
) -> list[Chunk]:
    """Split a text between sentences, where its vocabulary changes.

    1. Between each two sentences, compare the `block` words before with those after: the cosine of
       their counts, without stop words. Smooth these scores over their neighbours.
    2. The depth of a gap is how far the score falls from the peak on its left, and from that on its
       right.
    3. A chunk ends in the valleys deeper than the mean of all depths less half their standard
       deviation, deepest first; not within a third of a block of one that is chosen.
    4. What is longer than `size` is cut between sentences, each part of as many as fit.

    No blank lines are needed; a text in which nothing changes is one chunk, up to `size`.

    Args:
        text: a text or a document; offsets refer to it.
        size: the most a chunk may measure, in units of `length`, 1 or more.
        length: measures a text; see `split_recursive`.
        block: words on each side, in whole sentences, 1 or more. The time grows with it.
        smoothing: gaps on either side, 0 or more.
        stop_words: "english", your own list, or None for none.
        sentences: finds the places of the sentences in a text.
    Raises:
        ValueError: an argument outside these bounds.
        RuntimeError: scikit-learn, whose stop words they are, is not installed.

    >>> text = "Cats purr. A cat naps. The cat ate. Ships sail. A ship left. The ship sank."
    >>> [chunk.text for chunk in split_texttiling(text, block=6, smoothing=0)]
    ['Cats purr. A cat naps. The cat ate.', 'Ships sail. A ship left. The ship sank.']

    Source: Hearst, TextTiling: segmenting text into multi-paragraph subtopic passages (1997),
    block comparison. Its gaps lie between 20 words and then move to the ends of paragraphs; ours
    lie between sentences.
    """
    text, source = text_and_source(text)
    check_size(size, 0, length)
    check_whole("block", block, 1)
    check_whole("smoothing", smoothing, 0)
    stops = read_stop_words(stop_words)
    spans = read_sentences(text, sentences)
    words = [content_words(text[start:end], stops) for start, end in spans]
    counts = [max(len(found), 1) for found in words]
    depths = depth_scores(_smooth(block_scores(words, block), smoothing))
    ends = _choose(depths, np.cumsum(counts).tolist(), block / 3)

    def cut(builder: Builder) -> None:
        for first, last in pairwise([0, *ends, len(spans)]):
            add_sentences(builder, spans[first:last], length)

    return run_builder(text, source, cut, size=size, overlap=0, length=length, strip=True)


def block_scores(words: Sequence[Sequence[str]], block: int) -> NDArray[np.float64]:
    """Return how alike the words before and after each gap are, 0 to 1.

    Args:
        words: the words of each of n sentences.
        block: words on each side of a gap, in whole sentences.
    Returns:
        n - 1 cosines, float64, rounded to 6 digits.

    >>> block_scores([["cat"], ["cat"], ["ship"]], 1).tolist()
    [1.0, 0.0]
    """
    scores = np.zeros(max(len(words) - 1, 0))
    for gap in range(len(scores)):
        left = _count(words, range(gap, -1, -1), block)
        right = _count(words, range(gap + 1, len(words)), block)
        product = sum(number * right[word] for word, number in left.items())
        lengths = sqrt(sum(n * n for n in left.values()) * sum(n * n for n in right.values()))
        scores[gap] = round(product / lengths, 6) if lengths else 0.0
    return scores


def depth_scores(scores: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how deep each score lies below the peaks on both sides; 0 where it is no valley.

    A valley with a flat floor is deep at the middle of it only.

    >>> depth_scores([0.9, 0.2, 0.2, 0.2, 0.7, 0.8]).round(2).tolist()
    [0.0, 0.0, 1.3, 0.0, 0.0, 0.0]
    """
    values = np.asarray(scores, dtype=np.float64)
    left, right = _climb(values), _climb(values[::-1])[::-1]
    depths = np.zeros(len(values))
    first = 0
    while first < len(values):
        last = first
        while last + 1 < len(values) and values[last + 1] == values[first]:
            last += 1
        if left[first] > 0 and right[last] > 0:
            depths[(first + last) // 2] = left[first] + right[last]
        first = last + 1
    return np.asarray(np.round(depths, 6))


def _climb(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how far the scores rise to the left of each, without falling on the way."""
    rises = np.zeros(len(values))
    for i in range(1, len(values)):
        if values[i - 1] >= values[i]:
            rises[i] = rises[i - 1] + values[i - 1] - values[i]
    return rises


def _count(words: Sequence[Sequence[str]], places: range, block: int) -> Counter[str]:
    found: Counter[str] = Counter()
    total = 0
    for place in places:
        found.update(words[place])
        total += max(len(words[place]), 1)  # so that sentences without words come to an end
        if total >= block:
            break
    return found


def _smooth(scores: NDArray[np.float64], smoothing: int) -> NDArray[np.float64]:
    count = len(scores)
    sums = np.concatenate([[0.0], np.cumsum(scores)])
    low = np.maximum(np.arange(count) - smoothing, 0)
    high = np.minimum(np.arange(count) + smoothing + 1, count)
    return np.asarray(np.round((sums[high] - sums[low]) / (high - low), 6))


def _choose(depths: NDArray[np.float64], before: Sequence[int], apart: float) -> list[int]:
    """Return the sentences that begin a chunk: after valleys deep enough, and apart."""
    if not depths.size:
        return []
    limit = depths.mean() - depths.std() / 2
    chosen: list[int] = []
    for gap in sorted(np.flatnonzero(depths).tolist(), key=lambda gap: (-depths[gap], gap)):
        at = bisect_left(chosen, gap + 1)
        near = [abs(before[other - 1] - before[gap]) for other in chosen[max(at - 1, 0) : at + 1]]
        if depths[gap] > limit and all(distance >= apart for distance in near):
            insort(chosen, gap + 1)
    return chosen
