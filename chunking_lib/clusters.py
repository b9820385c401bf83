"""Splitting by clusters: neighbours whose vectors are alike stay together."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from chunking_lib.chunk import Chunk, Document, text_and_source
from chunking_lib.length import Length
from chunking_lib.retrieve import Encoder
from chunking_lib.sentences import sentence_spans
from chunking_lib.spans import Builder, check_size, run_builder
from chunking_lib.topic_model import load_sklearn
from chunking_lib.turns import Spans, add_group, embed_sentences, read_sentences

__all__ = ["split_clusters"]


def split_clusters(
    text: str | Document,
    *,
    embedder: Encoder,
    buffer: int = 1,
    size: int = 1000,
    length: Length = len,
    sentences: Callable[[str], Spans] = sentence_spans,
) -> list[Chunk]:
    """Split a text into the largest clusters of neighbouring sentences that fit.

    1. Embed each sentence together with `buffer` sentences on either side.
    2. Join the two neighbouring clusters that lose least by it (Ward: the sum of the squared
       distances to the means grows least), until there is one. Sentences that are not neighbours
       are never joined, so each cluster is a stretch of the text.
    3. From the last join back: a cluster that fits is a chunk, of one that does not, its two halves
       are looked at. A sentence that is too long by itself goes through `split_recursive`.

    Args:
        text: a text or a document; offsets refer to it.
        embedder: makes the vectors, float (n, d), of any length.
        buffer: sentences on either side that are embedded with each, 0 or more: 2 × `buffer` + 1
            times the text is held and read.
        size: the most a chunk may measure, in units of `length`, 1 or more.
        length: measures a text; see `split_recursive`.
        sentences: finds the places of the sentences in a text.
    Raises:
        ValueError: as `split_semantic`.
        RuntimeError: scikit-learn is not installed.

    ```python
    chunks = split_clusters(document, embedder=load_embedder(), size=800)
    ```

    Source: Ward (1963), by scikit-learn's `ward_tree` with neighbours as the only connections.
    """
    text, source = text_and_source(text)
    check_size(size, 0, length)
    spans = read_sentences(text, sentences)
    vectors = embed_sentences(text, spans if len(spans) > 1 else [], embedder, buffer)
    clusters = _cluster(np.round(vectors, 6)) if len(spans) > 1 else [(0, 0, -1, -1)] * len(spans)

    def cut(builder: Builder) -> None:
        waiting = [len(clusters) - 1] if clusters else []
        while waiting:
            first, last, left, right = clusters[waiting.pop()]
            start, end = spans[first][0], spans[last][1]
            if first == last or builder.fits(start, end):
                add_group(builder, start, end, length)
            else:
                waiting += [right, left]

    return run_builder(text, source, cut, size=size, overlap=0, length=length, strip=True)


def _cluster(vectors: NDArray[np.float64]) -> list[tuple[int, int, int, int]]:
    """Return first and last sentence of each cluster, and the two in it; the last has them all."""
    count = len(vectors)
    chain = load_sklearn("feature_extraction.image").grid_to_graph(count, 1)
    joins = load_sklearn("cluster").ward_tree(vectors, connectivity=chain)[0].tolist()
    clusters = [(i, i, -1, -1) for i in range(count)]
    for pair in joins:
        left, right = sorted(pair, key=lambda number: clusters[number][0])
        clusters.append((clusters[left][0], clusters[right][1], left, right))
    return clusters
