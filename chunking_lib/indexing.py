"""What stands for a chunk in the index: other texts than its own, or more than one.

The chunk is what a model reads; what is searched may be smaller (its sentences, parts of it), or
written about it (a summary, questions that it answers, a context). Each way is a function from a
chunk to texts, for `score_by`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from chunking_lib.chunk import Chunk, Document, text_and_source
from chunking_lib.retrieve import Scores, check_scores
from chunking_lib.sentences import sentence_spans
from chunking_lib.turns import check_whole

__all__ = ["by_chunk", "child_texts", "score_by", "sentence_windows"]

Scorer = Callable[[Sequence[str], Sequence[Chunk]], Scores]
Texts = Callable[[Chunk], Sequence[str]]


def score_by(texts: Texts, scorer: Scorer) -> Scorer:
    """Return a scorer that gives each chunk the best score of the texts that stand for it.

    - Multi-vector: `lambda chunk: [chunk.text, summary(chunk), *questions(chunk)]`.
    - Summary or hypothetical questions alone: what a model wrote, `by_chunk(chunks, written)`.
    - Parent and child (small-to-big): `child_texts(split)`, on chunks that are the parents.
    - Sentence window: `by_chunk(*sentence_windows(document))`.
    - A context that is searched and not sent:
      `by_chunk(chunks, [one.embedding_text for one in add_context(document, chunks)])`.

    Args:
        texts: from a chunk to the texts; one without any has the lowest score of its question.
        scorer: scores the texts, each as a chunk by itself.
    Raises:
        ValueError: one string in place of texts, or what the scorer raises.

    >>> from chunking_lib.retrieve import bm25_scores
    >>> chunks = [Chunk("It leaves at nine.", 0, 18), Chunk("Dogs ride free.", 19, 34)]
    >>> about = by_chunk(chunks, [["When does the ferry sail?"], ["What does a dog cost?"]])
    >>> score_by(about, bm25_scores)(["ferry times"], chunks).argmax()
    np.int64(0)
    """

    def score(questions: Sequence[str], chunks: Sequence[Chunk]) -> Scores:
        standing: list[Chunk] = []
        owners: list[int] = []
        for number, chunk in enumerate(chunks):
            listed = texts(chunk)
            if isinstance(listed, str):
                raise ValueError(f"texts gave {listed!r:.60} and must give a list of texts")
            standing += [Chunk(text, 0, len(text), chunk.source) for text in listed]
            owners += [number] * len(listed)
        found = check_scores(scorer(questions, standing), (len(questions), len(standing)))
        lowest = found.min(axis=1, initial=0, keepdims=True)
        best = np.broadcast_to(lowest, (len(questions), len(chunks))).astype(np.float32)
        for column, owner in zip(found.T, owners, strict=True):
            np.maximum(best[:, owner], column, out=best[:, owner])
        return best

    return score


def by_chunk(chunks: Sequence[Chunk], texts: Sequence[str | Sequence[str]]) -> Texts:
    """Return a function from each of these chunks to its text, or its texts, for `score_by`.

    Raises:
        ValueError: another number of texts than chunks; later, a chunk that is not among them.

    >>> by_chunk([Chunk("They are free.", 0, 14)], ["Dogs"])(Chunk("They are free.", 0, 14))
    ['Dogs']
    """
    if len(texts) != len(chunks):
        raise ValueError(f"texts are {len(texts)}, and must be {len(chunks)}, one for each chunk")
    known = {
        (chunk.source, chunk.start, chunk.end, chunk.text): [own] if isinstance(own, str) else own
        for chunk, own in zip(chunks, texts, strict=True)
    }

    def find(chunk: Chunk) -> Sequence[str]:
        try:
            return known[chunk.source, chunk.start, chunk.end, chunk.text]
        except KeyError:
            raise ValueError(
                f"there are no texts of the chunk at {chunk.start}:{chunk.end} of {chunk.source!r}"
            ) from None

    return find


def child_texts(split: Callable[[str], Sequence[Chunk]]) -> Texts:
    """Return a function from a chunk to the texts of its parts, for `score_by`.

    A small text has one topic, and so a clear vector; what is sent is the whole chunk.

    >>> from functools import partial
    >>> from chunking_lib.recursive import split_recursive
    >>> parts = child_texts(partial(split_recursive, size=16))
    >>> parts(Chunk("Dogs ride free. Cats do not.", 0, 28))
    ['Dogs ride free.', 'Cats do not.']
    """
    return lambda chunk: [part.text for part in split(chunk.text)]


def sentence_windows(text: str | Document, *, around: int = 1) -> tuple[list[Chunk], list[str]]:
    """Return a chunk for each sentence, with `around` more on either side, and the sentences.

    Chunks overlap, and those of the first sentences may begin at the same place. To search the
    sentences and send the chunks, see `score_by`.

    Args:
        text: a text or a document; offsets refer to it.
        around: sentences on either side, 0 or more.
    Raises:
        ValueError: an `around` that is no such number.

    >>> chunks, sentences = sentence_windows("Dogs bark. Cats purr. Gulls cry.")
    >>> [chunk.text for chunk in chunks]
    ['Dogs bark. Cats purr.', 'Dogs bark. Cats purr. Gulls cry.', 'Cats purr. Gulls cry.']
    """
    text, source = text_and_source(text)
    check_whole("around", around, 0)
    spans = sentence_spans(text)
    chunks = []
    for number in range(len(spans)):
        start = spans[max(0, number - around)][0]
        end = spans[min(len(spans) - 1, number + around)][1]
        chunks.append(Chunk(text[start:end], start, end, source))
    return chunks, [text[start:end] for start, end in spans]
