"""Semantic splitting by search: of all ways to cut, the one that keeps most likeness inside."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from chunking_lib.chunk import Chunk, Document, text_and_source
from chunking_lib.length import Length
from chunking_lib.retrieve import Encoder
from chunking_lib.sentences import sentence_spans
from chunking_lib.spans import Builder, check_size, run_builder
from chunking_lib.turns import Spans, add_group, check_least, embed_sentences, find_sentences

__all__ = ["split_semantic_optimal"]


def split_semantic_optimal(
    text: str | Document,
    *,
    embedder: Encoder,
    buffer: int = 0,
    size: int = 1000,
    min_size: int = 0,
    length: Length = len,
    sentences: Callable[[str], Spans] = sentence_spans,
) -> list[Chunk]:
    """Split `text` between sentences so that the chunks together hold the most likeness.

    1. Embed each sentence. How much two of them are alike is the cosine of their vectors, less the
       mean cosine of all pairs of the text.
    2. A chunk is worth the sum over its pairs of sentences; one sentence is worth 0.
    3. Of all ways to cut into chunks of at most `size`, take the one that is worth most, found by
       dynamic programming. Of equal ones, it is the one whose last chunks are longest.
    4. With `min_size`, only ways without a smaller chunk are looked at. If there are none within
       `size`, those with the fewest smaller chunks are.

    A sentence that is longer than `size` is first cut by `split_recursive`, and each part counts as
    a sentence. The time grows with their number times how many fit into a chunk.

    Args:
        text: a text or a document; offsets refer to it.
        embedder: makes the vectors, float (n, d), of any length.
        buffer: sentences on either side that are embedded with each, 0 or more: 2 × `buffer` + 1
            times the text is held and read.
        size: the most a chunk may measure, in units of `length`, 1 or more.
        min_size: the least a chunk should measure, 0 to `size`. `size` comes first: where no way to
            cut keeps both, chunks below `min_size` are left, as few as can be.
        length: measures a text; see `split_recursive`.
        sentences: finds the places of the sentences in a text.
    Raises:
        ValueError: as `split_semantic`.

    ```python
    chunks = split_semantic_optimal(document, embedder=load_embedder(), size=800)
    ```

    Source: the `ClusterSemanticChunker` of Chroma's "Evaluating chunking strategies for retrieval"
    (2024) does this with pieces of 50 tokens; whole sentences are our own.
    """
    text, source = text_and_source(text)
    check_size(size, 0, length)
    check_least(min_size, size)
    spans = find_sentences(text, sentences, size, length)
    vectors = embed_sentences(text, spans if len(spans) > 1 else [], embedder, buffer)

    def cut(builder: Builder) -> None:
        for first, last in _best_cut(builder, spans, vectors, min_size):
            add_group(builder, spans[first][0], spans[last][1], length)

    return run_builder(text, source, cut, size=size, overlap=0, length=length, strip=True)


def _best_cut(
    builder: Builder, spans: Spans, vectors: NDArray[np.float64], min_size: int
) -> list[tuple[int, int]]:
    """Return the first and the last sentence of each chunk."""
    count = len(spans)
    if count < 2:
        return [(0, 0)] * count
    # The vectors have length 1 or 0, so this is the mean over pairs without making the pairs.
    total = vectors.sum(axis=0)
    mean = (total @ total - np.einsum("ij,ij->", vectors, vectors)) / (count * (count - 1))
    best = np.zeros(count + 1)  # the worth of the sentences before each
    small = np.zeros(count + 1, dtype=np.int64)  # how many chunks of these are below `min_size`
    starts = np.zeros(count, dtype=np.int64)  # of the chunk that ends with each
    low = enough = 0  # where the longest chunk that fits begins; the first that is too small
    worth = np.zeros(0)  # of the chunks from each sentence since `low` to the one at hand
    for last in range(count):
        previous, end = low, spans[last][1]
        while low < last and not builder.fits(spans[low][0], end):
            low += 1
        while enough <= last and builder.ruler.measure(spans[enough][0], end) >= min_size:
            enough += 1
        alike = vectors[low:last] @ vectors[last] - mean
        worth = np.append(worth[low - previous :] + np.cumsum(alike[::-1])[::-1], 0.0)
        crumbs = small[low : last + 1] + (np.arange(low, last + 1) >= enough)
        choices = np.where(crumbs == crumbs.min(), best[low : last + 1] + worth, -np.inf)
        # Rounded, so that what is equal but for the order of adding up is equal.
        starts[last] = low + int(np.argmax(np.round(choices, 9)))
        best[last + 1], small[last + 1] = choices.max(), crumbs.min()
    groups = []
    last = count - 1
    while last >= 0:
        groups.append((int(starts[last]), last))
        last = int(starts[last]) - 1
    return groups[::-1]
