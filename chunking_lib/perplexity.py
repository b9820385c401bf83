"""Splitting by surprise: a chunk ends where a language model is sure of itself, or says so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import isfinite
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from chunking_lib.chunk import Chunk, Document, text_and_source
from chunking_lib.length import Length
from chunking_lib.lm import Scorer
from chunking_lib.sentences import sentence_spans
from chunking_lib.spans import Builder, check_size, run_builder
from chunking_lib.turns import Spans, add_sentences, find_sentences

__all__ = ["find_minima", "sentence_surprise", "split_by_margin", "split_by_perplexity"]

QUESTION = """\
This is a task of dividing a text. Choose one of two ways, by the logic and the meaning of the \
sentences:
1. Split "{before} {after}" into "{before}" and "{after}".
2. Keep "{before} {after}" in one part.
Answer 1 or 2."""

_SHOWN = 1000  # characters of the part so far that are shown: its end
_RECENT = 5  # margins whose mean is the next threshold


def split_by_perplexity(
    text: str | Document,
    *,
    lm: Scorer,
    threshold: float = 0.0,
    size: int = 1000,
    length: Length = len,
    sentences: Callable[[str], Spans] = sentence_spans,
) -> list[Chunk]:
    """Split `text` after the sentences that surprise a language model less than their neighbours.

    1. The surprise of a sentence is the mean of -log p over its tokens, each judged by the text
       before it. One sentence longer than `size` is first cut by `split_recursive`.
    2. A chunk ends with each sentence whose surprise is a minimum; see `find_minima`. The model
       knew what was coming; what follows is news.
    3. A part longer than `size` is cut between sentences, each chunk as full as it can be.

    Nothing is generated, so there is no reply to go wrong: chunks are slices of the text.

    Args:
        text: a text or a document; offsets refer to it.
        lm: the model; see `load_lm`.
        threshold: how far a neighbour must lie above a minimum, in nats a token, 0 or more. The
            higher it is, the fewer and larger the chunks.
        size: the most a chunk may measure, in units of `length`, 1 or more.
        length: measures a text; see `split_recursive`.
        sentences: finds the places of the sentences in a text.
    Raises:
        ValueError: an argument outside these bounds, or scores that are not finite numbers, one for
            each token, in order.
        RuntimeError: a package or the weights are missing.

    ```python
    chunks = split_by_perplexity(document, lm=load_lm(), threshold=0.5)
    ```

    Source: perplexity chunking of Zhao et al. 2024, "Meta-Chunking", without its merging.
    """
    text, source = text_and_source(text)
    check_size(size, 0, length)
    _check_threshold(threshold)
    _check_lm(lm, "score")
    spans = find_sentences(text, sentences, size, length)
    ends: list[int] = []
    if len(spans) > 2:  # fewer have no minimum between them, and nothing is paid for
        ends = find_minima(_surprise(text, spans, lm), threshold)
    return _make_chunks(text, source, spans, ends, size, length)


def split_by_margin(
    text: str | Document,
    *,
    lm: Scorer,
    size: int = 1000,
    length: Length = len,
    sentences: Callable[[str], Spans] = sentence_spans,
) -> list[Chunk]:
    """Split `text` where a language model would rather answer "split" than "keep".

    1. For each sentence after the first, ask whether to split the part so far from it, or to keep
       both together. The margin is the probability of "keep" less that of "split" as the first
       word of the answer.
    2. A chunk ends where the margin is not above the threshold: 0 for the first four sentences,
       then the mean of the last five margins, since a model may lean to one answer.
    3. A part longer than `size` is cut between sentences, each chunk as full as it can be.

    It reads each sentence many times: n sentences take n - 1 questions, with at most 1,000
    characters of the part so far in each. The sentence itself is shown whole, three times: with a
    `size` of many thousand characters it may be more than the model reads.

    Args:
        text, lm, size, length, sentences: as in `split_by_perplexity`.
    Raises:
        ValueError: an argument outside its bounds, or chances that are not two finite numbers.
        RuntimeError: a package or the weights are missing.

    Source: margin sampling chunking of Zhao et al. 2024, "Meta-Chunking".
    """
    text, source = text_and_source(text)
    check_size(size, 0, length)
    _check_lm(lm, "choose")
    spans = find_sentences(text, sentences, size, length)
    ends: list[int] = []
    margins: list[float] = []
    first = 0
    for number in range(1, len(spans)):
        before = text[spans[first][0] : spans[number - 1][1]][-_SHOWN:]
        question = QUESTION.format(before=before, after=text[slice(*spans[number])])
        chances = np.asarray(lm.choose(question, ["1", "2"]))
        if chances.shape != (2,) or not np.isfinite(chances).all():
            raise ValueError(f"lm chose with {chances!r:.80}, not a finite number for each choice")
        split, keep = chances
        threshold = float(np.mean(margins[-_RECENT:])) if len(margins) >= _RECENT else 0.0
        margins.append(float(keep - split))
        if margins[-1] <= threshold:
            ends.append(number - 1)
            first = number
    return _make_chunks(text, source, spans, ends, size, length)


def sentence_surprise(
    text: str | Document, *, lm: Scorer
) -> tuple[list[tuple[int, int]], NDArray[np.float64]]:
    """Return the spans of the sentences of `text`, and how much each surprises the model.

    Returns:
        n spans of characters, and n means of -log p, float64, in nats a token: 0 is no surprise.
    Raises:
        ValueError: a model without scores, or scores as in `split_by_perplexity`.
    """
    text, _ = text_and_source(text)
    _check_lm(lm, "score")
    spans = sentence_spans(text)
    return spans, _surprise(text, spans, lm)


def find_minima(values: Sequence[float] | NDArray[np.float64], threshold: float = 0.0) -> list[int]:
    """Return the places of the minima of `values`, in order, without the first and the last place.

    A minimum lies below the value before it, and below the one after it or level with it. One of
    the two (if level, the one before) must be above it by `threshold` or more.

    Raises:
        ValueError: a threshold below 0, or no number.

    >>> find_minima([3.0, 1.0, 2.0, 1.9, 2.5, 0.0])
    [1, 3]
    >>> find_minima([3.0, 1.0, 2.0, 1.9, 2.5, 0.0], threshold=1)
    [1]
    """
    _check_threshold(threshold)
    found = []
    for place in range(1, len(values) - 1):
        before, value, after = (float(one) for one in values[place - 1 : place + 2])
        rise = max(before - value, after - value)
        if value < before and value <= after and rise >= threshold:
            found.append(place)
    return found


def _surprise(text: str, spans: Spans, lm: Scorer) -> NDArray[np.float64]:
    scores = lm.score(text)
    # A token belongs to the sentence that its last character lies in: a blank leads its word.
    logprobs, offsets = np.asarray(scores.logprobs), np.asarray(scores.offsets)
    if offsets.shape != (*logprobs.shape, 2) or not np.isfinite(logprobs).all():
        raise ValueError("lm gave scores that are not a finite number and a place for each token")
    ends = offsets[:, 1]
    if (np.diff(ends) < 0).any():
        raise ValueError("lm gave tokens that are not in the order of the text")
    found = np.zeros(len(spans))
    for number, (start, end) in enumerate(spans):
        low, high = np.searchsorted(ends, [start, end], side="right")
        if high > low:  # else the sentence is part of a token, which surprised nobody
            found[number] = -float(np.mean(logprobs[low:high], dtype=np.float64))
    return found


def _make_chunks(
    text: str, source: str, spans: Spans, ends: Sequence[int], size: int, length: Length
) -> list[Chunk]:
    """Return chunks that end with these sentences, and in between where `size` asks for it."""
    # From where one sentence begins to where the next does: no character between them is lost.
    edges = [0, *(start for start, _ in spans[1:]), len(text)]
    pieces = list(pairwise(edges))

    def cut(builder: Builder) -> None:
        firsts = [0, *(end + 1 for end in ends)] if spans else []
        for first, after in zip(firsts, [*firsts[1:], len(spans)], strict=False):
            add_sentences(builder, pieces[first:after], length)

    return run_builder(text, source, cut, size=size, overlap=0, length=length, strip=True)


def _check_threshold(threshold: float) -> None:
    number = isinstance(threshold, Real) and not isinstance(threshold, bool)
    if not number or not isfinite(threshold) or threshold < 0:
        raise ValueError(f"threshold={threshold!r} must be a number of 0 or more")


def _check_lm(lm: object, method: str) -> None:
    if not callable(getattr(lm, method, None)):
        raise ValueError(f"lm={lm!r:.60} must have a method {method}: see load_lm")
