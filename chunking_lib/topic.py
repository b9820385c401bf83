"""Splitting by topics: a chunk ends where a topic model finds another topic."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from chunking_lib.chunk import Chunk, Document, text_and_source
from chunking_lib.length import Length
from chunking_lib.sentences import sentence_spans
from chunking_lib.spans import Builder, check_size, run_builder
from chunking_lib.topic_model import (
    check_model,
    content_words,
    fit_topics,
    read_stop_words,
)
from chunking_lib.turns import Spans, add_sentences, check_whole, read_sentences

__all__ = ["split_topics"]


def split_topics(
    text: str | Document,
    *,
    size: int = 1000,
    length: Length = len,
    topics: int | None = None,
    model: str = "nmf",
    passage: int = 5,
    smoothing: int = 2,
    keywords: int = 5,
    stop_words: str | Sequence[str] | None = "english",
    seed: int = 0,
    sentences: Callable[[str], Spans] = sentence_spans,
) -> list[Chunk]:
    """Split a text between passages, where its topic changes.

    1. A passage is `passage` sentences.
    2. A topic model finds the topics, and the share of each in each passage; see `fit_topics`,
       also for how many there are.
    3. The shares of a passage become the mean over it and `smoothing` passages on either side.
    4. A chunk ends where the largest share passes to another topic. What is longer than `size` is
       cut between sentences, each part of as many as fit, and a sentence that is too long by itself
       as by `split_recursive`.

    `metadata["keywords"]` has the words of the chunk that weigh most in its topic, most first.

    Args:
        text: a text or a document; offsets refer to it.
        size: the most a chunk may measure, in units of `length`, 1 or more.
        length: measures a text; see `split_recursive`.
        topics, model, stop_words, seed: see `fit_topics`. Of fewer passages than `topics`, each
            may be a topic.
        passage: sentences, 1 or more.
        smoothing: passages on either side, 0 or more.
        keywords: how many at most, 1 or more.
        sentences: finds the places of the sentences in a text.
    Raises:
        ValueError: an argument outside these bounds, or a text with fewer than two different words
            that are no stop words.
        RuntimeError: scikit-learn is not installed.

    >>> text = "The cat purrs. A cat naps. The cat ate. The ship sails. A ship left. The ship sank."
    >>> for chunk in split_topics(text, topics=2, passage=1, smoothing=1):
    ...     print(chunk.text, chunk.metadata["keywords"][0])
    The cat purrs. A cat naps. The cat ate. cat
    The ship sails. A ship left. The ship sank. ship

    Source: topic models over the sentences of a text are what is often called "section-based"
    chunking; passages, smoothing and the limit on the size are our own.
    """
    text, source = text_and_source(text)
    check_size(size, 0, length)
    for name, value, least in (
        ("passage", passage, 1),
        ("smoothing", smoothing, 0),
        ("keywords", keywords, 1),
        *(() if topics is None else (("topics", topics, 1),)),
    ):
        check_whole(name, value, least)
    check_model(model, seed)
    read_stop_words(stop_words)
    spans = read_sentences(text, sentences)
    if not spans:
        return []
    firsts = list(range(0, len(spans), passage))
    texts = [
        text[spans[first][0] : spans[min(first + passage, len(spans)) - 1][1]] for first in firsts
    ]
    found = fit_topics(
        texts,
        topics=None if topics is None else min(topics, len(texts)),
        model=model,
        stop_words=stop_words,
        seed=seed,
    )
    main = _main_topics(found.mixtures, smoothing)
    turns = [0, *(i for i in range(1, len(main)) if main[i] != main[i - 1]), len(main)]

    def cut(builder: Builder) -> None:
        for first, last in pairwise(turns):
            add_sentences(builder, spans[first * passage : last * passage], length)

    chunks = run_builder(text, source, cut, size=size, overlap=0, length=length, strip=True)
    starts = [spans[first][0] for first in firsts]
    places = {word: i for i, word in enumerate(found.words)}
    for chunk in chunks:
        topic = main[max(bisect_right(starts, chunk.start) - 1, 0)]
        chunk.metadata["keywords"] = _keywords(found.weights[topic], places, chunk, keywords)
    return chunks


def _main_topics(mixtures: NDArray[np.float64], smoothing: int) -> list[int]:
    """Return the topic with the largest share in each passage; of equal ones the one before."""
    count = len(mixtures)
    sums = np.concatenate([np.zeros((1, mixtures.shape[1])), np.cumsum(mixtures, axis=0)])
    low = np.maximum(np.arange(count) - smoothing, 0)
    high = np.minimum(np.arange(count) + smoothing + 1, count)
    smooth = np.round((sums[high] - sums[low]) / (high - low)[:, None], 6)
    main: list[int] = []
    for row in smooth:
        largest = np.flatnonzero(row == row.max()).tolist()
        main.append(main[-1] if main and main[-1] in largest else largest[0])
    return main


def _keywords(
    weights: NDArray[np.float64], places: Mapping[str, int], chunk: Chunk, number: int
) -> list[str]:
    held = {word for word in content_words(chunk.text, frozenset()) if word in places}
    known = {word: float(weights[places[word]]) for word in held}
    return sorted((word for word in held if known[word]), key=lambda w: (-known[w], w))[:number]
