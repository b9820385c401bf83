"""The steps of retrieval that the scores share: context, BM25 and re-ranking, each on or off."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from chunking_lib.benchmark import Benchmark
from chunking_lib.chunk import Chunk
from chunking_lib.contextual import add_context
from chunking_lib.embedder import Embedder
from chunking_lib.evaluate import Arm
from chunking_lib.length import token_length
from chunking_lib.rerank import TokenEncoder, rerank_maxsim
from chunking_lib.retrieve import (
    Scores,
    bm25_scores,
    dense_scores,
    fuse_scores,
    smooth_neighbours,
)

#: Context is title and heading path, searched and not sent; the 50 best are ranked anew by MaxSim.
STEPS = ("context", "BM25", "re-ranked")


def smoothed(arm: Arm) -> Arm:
    """Return an arm that adds to each chunk a share of its neighbours' scores."""
    own = arm.scorer
    assert own is not None, "an arm of Retrieval has a scorer"

    def scorer(questions: Sequence[str], chunks: Sequence[Chunk]) -> Scores:
        return smooth_neighbours(own(questions, chunks), chunks)

    return replace(arm, scorer=scorer)


class Retrieval:
    """Searches for the questions of a benchmark, with the steps that are asked for."""

    def __init__(
        self, benchmark: Benchmark, embedder: Embedder, tokens: TokenEncoder | None = None
    ) -> None:
        self._documents = benchmark.documents
        self._embedder = embedder
        self._tokens = tokens or embedder

    def arm(self, arm: Arm, on: Collection[str]) -> Arm:
        """Return an arm with the same chunks, searched with these steps.

        A scorer of its own stays where vectors are compared: it has its own way to make them.
        """

        def scorer(questions: Sequence[str], chunks: Sequence[Chunk]) -> Scores:
            searched = self._in_context(chunks) if "context" in on else chunks
            if arm.scorer is None:
                scores = dense_scores(questions, searched, self._embedder)
            else:
                scores = arm.scorer(questions, chunks)
            if "BM25" in on:
                scores = fuse_scores(scores, bm25_scores(questions, searched))
            if "re-ranked" in on:
                scores = rerank_maxsim(questions, searched, scores, self._tokens)
            return scores

        texts = self._texts(arm)
        own = texts if arm.embedded is None else arm.embedded
        # Re-ranking runs the candidates, which are all chunks in the end, through the model again.
        embedded = own + texts * ("re-ranked" in on)
        return replace(arm, scorer=scorer, embedded=embedded)

    def _texts(self, arm: Arm) -> int:
        documents = self._documents.values()
        return len({chunk.embedding_text for one in documents for chunk in arm.chunker(one)})

    def _in_context(self, chunks: Sequence[Chunk]) -> list[Chunk]:
        """Return what is searched in place of these chunks, in their order."""
        length = token_length(self._embedder)
        found = list(chunks)
        for document in self._documents.values():
            rows = [row for row, chunk in enumerate(chunks) if chunk.source == document.id]
            told = add_context(document, [chunks[row] for row in rows], length=length)
            for row, chunk in zip(rows, told, strict=True):
                found[row] = chunk
        return found
