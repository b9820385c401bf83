"""Semantic splitting in two passes: sentences make chunks, then chunks that are alike merge."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chunking_lib.chunk import Chunk, Document, text_and_source
from chunking_lib.length import Length
from chunking_lib.retrieve import Encoder
from chunking_lib.sentences import sentence_spans
from chunking_lib.spans import Builder, check_size, run_builder
from chunking_lib.turns import Spans, add_group, check_cosine, embed_sentences, find_sentences

__all__ = ["split_semantic_merge"]


def split_semantic_merge(
    text: str | Document,
    *,
    embedder: Encoder,
    append: float = 0.4,
    merge: float = 0.4,
    buffer: int = 0,
    size: int = 1000,
    length: Length = len,
    sentences: Callable[[str], Spans] = sentence_spans,
) -> list[Chunk]:
    """Split `text` between sentences, then merge chunks that speak of the same.

    1. First pass: from left to right, a sentence joins the chunk before it if the cosine of its
       vector and the chunk's is at least `append`.
    2. Second pass: a chunk takes in the next one if their cosine is at least `merge`; or the one
       after next, and what stands between, which may be a quotation or a formula.
    3. No merging goes beyond `size`. The vector of a chunk is the mean of its sentences' vectors.

    A sentence that is longer than `size` is first cut by `split_recursive`, and each part counts as
    a sentence. Each is embedded once.

    Which cosine is high depends on the model. With all-MiniLM-L6-v2 one neighbour in ten has 0.4,
    so the defaults merge little: of 3,992 sentences in the plain texts of the course they make
    3,005 chunks (`size` 200 tokens). With both at 0.3 it is 1,889, with 0.2 it is 685.

    Args:
        text: a text or a document; offsets refer to it.
        embedder: makes the vectors, float (n, d), of any length.
        append: the least cosine for a sentence to join, -1 to 1.
        merge: the least cosine for two chunks to merge, -1 to 1.
        buffer: sentences on either side that are embedded with each, 0 or more: 2 × `buffer` + 1
            times the text is held and read.
        size: the most a chunk may measure, in units of `length`, 1 or more.
        length: measures a text; see `split_recursive`.
        sentences: finds the places of the sentences in a text.
    Raises:
        ValueError: as `split_semantic`, or a cosine outside its bounds.

    ```python
    chunks = split_semantic_merge(document, embedder=load_embedder(), size=800)
    ```

    Source: two passes with a look at the chunk after next are known from LlamaIndex's
    `SemanticDoubleMergingSplitterNodeParser`, which compares texts where this compares means.
    """
    text, source = text_and_source(text)
    check_size(size, 0, length)
    check_cosine("append", append)
    check_cosine("merge", merge)
    spans = find_sentences(text, sentences, size, length)
    vectors = embed_sentences(text, spans if len(spans) > 1 else [], embedder, buffer)

    def cut(builder: Builder) -> None:
        for group in _merge(builder, _append(builder, spans, vectors, append), merge):
            add_group(builder, group.start, group.end, length)

    return run_builder(text, source, cut, size=size, overlap=0, length=length, strip=True)


class _Group(NamedTuple):
    start: int
    end: int
    total: NDArray[np.float64]  # the sum of its vectors points where their mean does

    def joined(self, other: _Group) -> _Group:
        return _Group(self.start, other.end, self.total + other.total)

    def alike(self, other: _Group) -> float:
        lengths = float(np.linalg.norm(self.total) * np.linalg.norm(other.total))
        return float(self.total @ other.total) / lengths if lengths else 0.0


def _append(
    builder: Builder, spans: Spans, vectors: NDArray[np.float64], least: float
) -> list[_Group]:
    if len(spans) < 2:
        return [_Group(start, end, np.zeros(1)) for start, end in spans]
    groups: list[_Group] = []
    for (start, end), vector in zip(spans, vectors, strict=True):
        one = _Group(start, end, vector)
        if groups and groups[-1].alike(one) >= least and builder.fits(groups[-1].start, end):
            groups[-1] = groups[-1].joined(one)
        else:
            groups.append(one)
    return groups


def _merge(builder: Builder, groups: list[_Group], least: float) -> list[_Group]:
    merged: list[_Group] = []
    waiting = groups[::-1]
    while waiting:
        group = waiting.pop()
        grown = True
        while grown:
            grown = False
            for step in (1, 2):  # the next one, else the one after next
                if len(waiting) < step or group.alike(waiting[-step]) < least:
                    continue
                if builder.fits(group.start, waiting[-step].end):
                    for _ in range(step):
                        group = group.joined(waiting.pop())
                    grown = True
                    break
        merged.append(group)
    return merged
