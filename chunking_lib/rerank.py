"""Re-ranking by late interaction: a question's tokens against those of each chunk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from chunking_lib.chunk import Chunk
from chunking_lib.models import without_surrogates
from chunking_lib.retrieve import Scores, check_scores, rank

if TYPE_CHECKING:
    from chunking_lib.embedder import TokenVectors

__all__ = ["TokenEncoder", "rerank_maxsim"]


class TokenEncoder(Protocol):
    """What re-ranking needs of an embedder; see `Embedder`."""

    tokenizer: Any
    max_tokens: int

    def encode_tokens(self, text: str, /) -> TokenVectors: ...


def rerank_maxsim(
    questions: Sequence[str],
    chunks: Sequence[Chunk],
    scores: Scores,
    embedder: TokenEncoder,
    *,
    top: int = 50,
) -> Scores:
    """Rank the best chunks of each question anew, by MaxSim.

    1. Take the `top` chunks of each question by `scores`.
    2. Give each token of question and chunk a vector of length 1, in the context of its text.
    3. The new score is, over the tokens of the question, the mean of the largest cosine with any
       token of the chunk. One good word is not averaged away, as in a single vector for the chunk.

    Each chunk that is a candidate of some question is run through the model once more, and its
    token vectors are held in memory: 1.5 KB a token for MiniLM. What is beyond `max_tokens` is not
    read.

    Args:
        questions: the questions.
        chunks: the chunks; `embedding_text` is what is read.
        scores: questions × chunks, of `dense_scores` or others.
        embedder: makes the vectors of tokens.
        top: candidates for each question, 1 or more.
    Returns:
        float32, questions × chunks: MaxSim, -1 to 1, for the candidates; less than -1 for the
        others, which stay in the order of `scores` behind them.
    Raises:
        ValueError: a `top` below 1, one question alone, scores that are no table of finite numbers
            of that shape, or vectors that are not finite.

    ```python
    scores = dense_scores(questions, chunks, embedder)
    ranked = rank(rerank_maxsim(questions, chunks, scores, embedder))
    ```

    Source: MaxSim is how ColBERT (Khattab and Zaharia, 2020) scores, with a model trained for it;
    MiniLM was trained for its mean vector.
    """
    if not hasattr(top, "__index__") or isinstance(top, bool) or top < 1:
        raise ValueError(f"top={top!r} must be a whole number of 1 or more")
    if isinstance(questions, str):
        raise ValueError(f"questions={questions!r:.60} must be a list of questions")
    scores = check_scores(scores, (len(questions), len(chunks)))
    if not len(questions) or not len(chunks):
        return scores.astype(np.float32)
    ranked = rank(scores)
    # Behind all candidates: -2 for the best of the rest, down to -3.
    again = np.empty(scores.shape, dtype=np.float32)
    places = -2 - np.arange(len(chunks), dtype=np.float32) / len(chunks)
    np.put_along_axis(again, ranked, np.broadcast_to(places, scores.shape), axis=1)
    wanted = np.unique(ranked[:, :top])
    known = {chunk: _units(embedder, chunks[chunk].embedding_text) for chunk in wanted.tolist()}
    for row, question in enumerate(questions):
        best = ranked[row, :top]
        parts = [known[chunk] for chunk in best.tolist()]
        starts = np.cumsum([0, *(len(part) for part in parts[:-1])])
        cosines = _units(embedder, question) @ np.concatenate(parts).T
        again[row, best] = np.maximum.reduceat(cosines, starts, axis=1).mean(axis=0)
    return again


def _units(embedder: TokenEncoder, text: str) -> NDArray[np.float32]:
    """Return the vectors of the tokens of a text, of length 1; one of zeros if it has none."""
    text = without_surrogates(text)
    offsets = embedder.tokenizer.encode(text, add_special_tokens=False).offsets
    if len(offsets) > embedder.max_tokens:
        text = text[: offsets[embedder.max_tokens - 1][1]]
    found = embedder.encode_tokens(text)
    vectors = found.vectors[~found.special]
    if not len(vectors):
        return np.zeros((1, found.vectors.shape[1]), dtype=np.float32)
    if not np.isfinite(vectors).all():
        raise ValueError(f"embedder gave no finite numbers for the tokens of {text!r:.60}")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), dtype=np.float32)
