"""Semantic splitting: a chunk ends where the meaning turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import isfinite
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from chunking_lib.chunk import Chunk, Document, text_and_source
from chunking_lib.length import Length
from chunking_lib.retrieve import Encoder
from chunking_lib.sentences import sentence_spans
from chunking_lib.spans import Builder, check_size, run_builder
from chunking_lib.turns import (
    Spans,
    add_group,
    check_least,
    check_whole,
    embed_sentences,
    find_sentences,
)

__all__ = ["THRESHOLDS", "find_breakpoints", "sentence_distances", "split_semantic"]

#: The ways to set the threshold, with their usual amounts.
THRESHOLDS = {
    "percentile": 95.0,
    "standard_deviation": 3.0,
    "interquartile": 1.5,
    "gradient": 95.0,
}
_ROUNDING = 1e-9  # of a mean: equal distances are not above theirs


def split_semantic(
    text: str | Document,
    *,
    embedder: Encoder,
    threshold: str | float = "percentile",
    amount: float | None = None,
    number_of_chunks: int | None = None,
    buffer: int = 1,
    size: int = 1000,
    min_size: int = 0,
    length: Length = len,
    sentences: Callable[[str], Spans] = sentence_spans,
) -> list[Chunk]:
    """Split `text` between sentences, where the meaning changes most.

    1. Embed each sentence together with `buffer` sentences on either side. One that is longer than
       `size` is first cut by `split_recursive`, and each part counts as a sentence.
    2. The distance between two neighbours is 1 minus the cosine of their vectors.
    3. A chunk ends where the distance is above the threshold; see `find_breakpoints`. Before a
       chunk has `min_size`, it does not end, if the size allows that.
    4. What is longer than `size` is cut between the two neighbours farthest apart, until it fits,
       and if possible so that both parts have `min_size`. Of places equally far apart, it is the
       one nearest the middle.

    Chunks are slices of the text: white space between sentences stays, and nothing is lost. A text
    of one sentence is one chunk, and no vector is made.

    Args:
        text: a text or a document; offsets refer to it.
        embedder: makes the vectors, float (n, d), of any length; see `load_embedder`.
        threshold: "percentile", "standard_deviation", "interquartile", "gradient", or a distance
            from 0 to 2.
        amount: how strict the threshold is; by default the usual amount of its kind.
        number_of_chunks: cut at the largest distances instead, so that there are so many chunks;
            fewer if there are fewer sentences, more if `size` asks for it.
        buffer: sentences on either side that are embedded with each, 0 or more: 2 × `buffer` + 1
            times the text is held and read.
        size: the most a chunk may measure, in units of `length`, 1 or more.
        min_size: the least a chunk should measure, 0 to `size`. Only a text that is shorter, or
            neighbours that would be too long together, leave a chunk below it.
        length: measures a text; see `split_recursive`.
        sentences: finds the places of the sentences in a text.
    Raises:
        ValueError: an argument outside these bounds, or vectors that are no finite numbers or not
            as many as there are sentences; the message names the first such sentence, from 0.

    ```python
    chunks = split_semantic(document, embedder=load_embedder(), size=800)
    ```

    Source: the windows and thresholds are those of Greg Kamradt's "5 levels of text splitting",
    known from LangChain's `SemanticChunker`, which has no limit on the size.
    """
    text, source = text_and_source(text)
    check_size(size, 0, length)
    _check_options(threshold, amount, number_of_chunks, min_size, size)
    spans = find_sentences(text, sentences, size, length)
    distances = _distances(text, spans, embedder, buffer)
    if number_of_chunks is None:
        ends = find_breakpoints(distances, threshold, amount)
    else:
        # Largest first, and of equal ones the first.
        largest = np.argsort(-distances, kind="stable")
        ends = sorted(largest[: number_of_chunks - 1].tolist())

    def cut(builder: Builder) -> None:
        groups = _groups(builder, spans, ends, min_size)
        parts = [
            part
            for first, last in groups
            for part in _parts(builder, spans, distances, first, last, min_size)
        ]
        for start, end in _without_small(builder, parts, min_size):
            add_group(builder, start, end, length)

    return run_builder(text, source, cut, size=size, overlap=0, length=length, strip=True)


def sentence_distances(
    text: str | Document, *, embedder: Encoder, buffer: int = 1
) -> tuple[list[tuple[int, int]], NDArray[np.float64]]:
    """Return the spans of the sentences of `text`, and how far each is from the one after it.

    Args:
        text: a text or a document.
        embedder: makes the vectors.
        buffer: sentences on either side that are embedded with each, 0 or more.
    Returns:
        n spans of characters, and n - 1 distances, float64, from 0 (the same meaning) to 2.
    Raises:
        ValueError: as `split_semantic`.
    """
    text, _ = text_and_source(text)
    spans = sentence_spans(text)
    return spans, _distances(text, spans, embedder, buffer)


def find_breakpoints(
    distances: Sequence[float] | NDArray[np.float64],
    threshold: str | float = "percentile",
    amount: float | None = None,
) -> list[int]:
    """Return the places of the distances that are above the threshold, in order.

    - percentile: above all but the largest (100 - `amount`) % of the distances.
    - standard_deviation: above the mean by `amount` standard deviations.
    - interquartile: above the mean by `amount` times the range of the middle half.
    - gradient: where the distances rise fastest, counted as in percentile.
    - a number: above it.

    Args:
        distances: between neighbours, float (n,).
        threshold, amount: as in `split_semantic`.
    Raises:
        ValueError: another threshold, an amount outside its bounds, or distances that are no
            finite numbers.

    >>> find_breakpoints([0.1, 0.7, 0.2, 0.1, 0.9], "percentile", 50)
    [1, 4]
    >>> find_breakpoints([0.1, 0.7, 0.2, 0.1, 0.9], 0.8)
    [4]
    """
    _check_threshold(threshold, amount)
    values = np.asarray(distances, dtype=np.float64)
    if values.ndim != 1 or not np.isfinite(values).all():
        raise ValueError(f"distances={distances!r:.60} must be a row of finite numbers")
    if not values.size:
        return []
    if not isinstance(threshold, str):
        limit = float(threshold)
    else:
        amount = THRESHOLDS[threshold] if amount is None else amount
        if threshold == "gradient":
            # Two neighbours have one distance, and one number has no slope.
            values = np.gradient(values) if values.size > 1 else np.zeros(1)
        if threshold in ("percentile", "gradient"):
            limit = float(np.percentile(values, amount))
        elif threshold == "standard_deviation":
            limit = float(np.mean(values) + amount * np.std(values)) + _ROUNDING
        else:
            low, high = np.percentile(values, [25, 75])
            limit = float(np.mean(values) + amount * (high - low)) + _ROUNDING
    return [int(place) for place in np.flatnonzero(values > limit)]


def _distances(text: str, spans: Spans, embedder: Encoder, buffer: int) -> NDArray[np.float64]:
    if len(spans) < 2:  # nothing to compare, nothing to pay for
        embed_sentences(text, [], embedder, buffer)
        return np.zeros(0)
    vectors = embed_sentences(text, spans, embedder, buffer)
    return np.asarray(1 - np.einsum("ij,ij->i", vectors[:-1], vectors[1:]))


def _groups(
    builder: Builder, spans: Spans, ends: Sequence[int], min_size: int
) -> list[tuple[int, int]]:
    """Return the first and the last sentence of each chunk, before any is cut for its size."""
    groups: list[tuple[int, int]] = []
    first = 0
    for last in [*ends, len(spans) - 1]:
        if last < first:
            continue
        if builder.ruler.measure(spans[first][0], spans[last][1]) >= min_size:
            groups.append((first, last))
            first = last + 1
    if first < len(spans):
        groups.append((first, len(spans) - 1))
    return groups


def _parts(
    builder: Builder,
    spans: Spans,
    distances: NDArray[np.float64],
    first: int,
    last: int,
    min_size: int,
) -> Iterator[tuple[int, int]]:
    """Yield parts that fit: cut where two neighbours are farthest apart, again and again."""
    measure, waiting = builder.ruler.measure, [(first, last)]
    while waiting:
        first, last = waiting.pop()
        start, end = spans[first][0], spans[last][1]
        if first == last or builder.fits(start, end):
            yield start, end
            continue
        # Only cuts that leave `min_size` on both sides, if there are such.
        low, high = first, last - 1
        while low < last and measure(start, spans[low][1]) < min_size:
            low += 1
        while high >= first and measure(spans[high + 1][0], end) < min_size:
            high -= 1
        if low > high:
            low, high = first, last - 1
        turn = low + _farthest(distances[low : high + 1])
        waiting += [(turn + 1, last), (first, turn)]


def _farthest(distances: NDArray[np.float64]) -> int:
    """Return the place of the largest distance, of equal ones that nearest the middle.

    The first of them would cut a list of equal lines into single lines, one after the other.
    """
    # Rounded, so that what is equal but for the last bits of a vector is equal.
    rounded = np.round(distances, 6)
    ties = np.flatnonzero(rounded == rounded.max())
    return int(ties[np.argmin(abs(2 * ties - (len(distances) - 1)))])


def _without_small(
    builder: Builder, parts: Sequence[tuple[int, int]], min_size: int
) -> list[tuple[int, int]]:
    """Put a part that is too small together with the one before or after it, if both fit."""
    measure = builder.ruler.measure
    merged: list[tuple[int, int]] = []
    for start, end in parts:
        small = merged and min(measure(*merged[-1]), measure(start, end)) < min_size
        if small and builder.fits(merged[-1][0], end):
            start = merged.pop()[0]
        merged.append((start, end))
    return merged


def _check_options(
    threshold: str | float,
    amount: float | None,
    number_of_chunks: int | None,
    min_size: int,
    size: int,
) -> None:
    _check_threshold(threshold, amount)
    if number_of_chunks is not None:
        check_whole("number_of_chunks", number_of_chunks, 1)
        if amount is not None or threshold != "percentile":
            raise ValueError(
                f"number_of_chunks={number_of_chunks} sets the threshold: leave threshold and "
                "amount out"
            )
    check_least(min_size, size)


def _check_threshold(threshold: str | float, amount: float | None) -> None:
    if isinstance(threshold, str):
        if threshold not in THRESHOLDS:
            names = ", ".join(map(repr, THRESHOLDS))
            raise ValueError(f"threshold={threshold!r} must be {names} or a distance")
        most = 100.0 if threshold in ("percentile", "gradient") else float("inf")
        if amount is not None and not (_is_number(amount) and 0 <= amount <= most):
            bounds = "from 0 to 100" if isfinite(most) else "of 0 or more"
            raise ValueError(f"amount={amount!r} must be a number {bounds} for {threshold!r}")
        return
    if not _is_number(threshold) or not 0 <= threshold <= 2:
        raise ValueError(f"threshold={threshold!r} must be a name or a distance from 0 to 2")
    if amount is not None:
        raise ValueError(f"amount={amount!r} is for a named threshold, not for {threshold!r}")


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and isfinite(value)
