"""Finding chunks again: scores of meaning and of words, and how to combine them.

Every score is a table of floats, questions × chunks, higher is better, so that they can be added,
compared and ranked in the same way. All of it is exact; the database in `index` is not quite.
"""

from __future__ import annotations

import functools
import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Protocol

import numpy as np
import regex
from numpy.typing import NDArray

from chunking_lib.chunk import Chunk, Document, is_blank

__all__ = [
    "Encoder",
    "Scores",
    "bm25_scores",
    "check_scores",
    "dense_scores",
    "encode_checked",
    "fuse_ranks",
    "fuse_scores",
    "merge_hits",
    "rank",
    "smooth_neighbours",
]

Scores = NDArray[np.float32]


class Encoder(Protocol):
    """What retrieval needs of an embedder: vectors of length 1, one for each text."""

    def encode(self, texts: Sequence[str], /) -> NDArray[np.float32]: ...


def check_scores(scores: object, shape: tuple[int, int] | None = None) -> Scores:
    """Return scores as a table of finite floats, questions × chunks.

    Whole numbers become floats: of those without a sign, the largest would rank last. NaN has no
    rank, and infinity no mean.

    Args:
        scores: an array, or lists of numbers.
        shape: the numbers of questions and chunks; any if None.
    Raises:
        ValueError: no such table, one of another shape, or a number that is not finite.

    >>> check_scores([[1, 2]]).dtype
    dtype('float64')
    """
    try:
        table: Scores = np.asarray(scores)
        if table.dtype.kind != "f":
            table = table.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"scores={scores!r} must be a table of numbers") from error
    if table.ndim != 2 or (shape and table.shape != shape):
        wanted = shape or "(questions, chunks)"
        raise ValueError(f"scores are of the shape {table.shape}, not {wanted}")
    if not np.isfinite(table).all():
        raise ValueError(f"scores have {table[~np.isfinite(table)][0]}, and must be finite")
    return table


def dense_scores(questions: Sequence[str], chunks: Sequence[Chunk], embedder: Encoder) -> Scores:
    """Return the cosine similarity of each question to each chunk, context included.

    Args:
        questions: the questions.
        chunks: the chunks; `embedding_text` is what is embedded.
        embedder: makes the vectors.
    Returns:
        float32, questions × chunks, -1 to 1; 0 for a text with nothing to embed.
    Raises:
        ValueError: one string in place of questions, or an embedder whose vectors are not one for
            each text, of length 1, or 0.
    """
    questions = _listed(questions)
    if not questions or not chunks:
        return np.zeros((len(questions), len(chunks)), dtype=np.float32)
    asked = encode_checked(embedder, questions)
    found = encode_checked(embedder, [chunk.embedding_text for chunk in chunks])
    scores: Scores = asked @ found.T
    return scores


def _listed(questions: Sequence[str]) -> list[str]:
    if isinstance(questions, str):
        raise ValueError(f"questions={questions!r} must be a list of questions, not one of them")
    return list(questions)


def encode_checked(embedder: Encoder, texts: list[str]) -> Scores:
    """Return the vectors of `texts`, float32 (n, d); ValueError if they are not what they must be.

    They must be one for each text, and of length 1, or 0 for a text with nothing to embed.
    """
    vectors = np.asarray(embedder.encode(texts), dtype=np.float32)
    if vectors.ndim != 2 or len(vectors) != len(texts):
        raise ValueError(
            f"embedder gave an array of the shape {vectors.shape}, and must give {len(texts)} "
            "vectors, one for each text"
        )
    lengths = np.linalg.norm(vectors, axis=1)
    wrong = lengths[~((lengths == 0) | (np.abs(lengths - 1) < 0.01))]  # NaN is wrong, too
    if wrong.size:
        raise ValueError(f"embedder gave a vector of length {wrong[0]:.3g}, and must give 1, or 0")
    return vectors


def bm25_scores(questions: Sequence[str], chunks: Sequence[Chunk]) -> Scores:
    """Return the BM25 score of each chunk for each question: rare words shared, long texts damped.

    Words are compared by their stem, without case. Scripts without blanks between words (Chinese,
    Japanese, Thai and others) are compared by pairs of characters. Signs are no words: C, C++ and
    C# are the same, 3.5 is a 3 and a 5, emoji find nothing, and "İstanbul" is not "istanbul".

    Args:
        questions: the questions.
        chunks: the chunks; `embedding_text` is what is searched.
    Returns:
        float32, questions × chunks, 0 or more.
    Raises:
        ValueError: one string in place of questions.
        RuntimeError: bm25s or nltk is not installed.

    >>> chunks = [Chunk("The ferry sails.", 0, 16), Chunk("Trams stop here.", 17, 33)]
    >>> bm25_scores(["a stopping tram"], chunks).argmax()
    np.int64(1)

    Source: Robertson and Zaragoza (2009), as the package bm25s computes it, k1 = 1.5, b = 0.75.
    """
    try:
        import bm25s
    except ImportError as error:
        raise RuntimeError("bm25s is not installed: pip install bm25s") from error

    questions = _listed(questions)
    scores = np.zeros((len(questions), len(chunks)), dtype=np.float32)
    texts = [_stems(chunk.embedding_text) for chunk in chunks]
    if not any(texts):
        return scores
    index = bm25s.BM25(k1=1.5, b=0.75)
    index.index(texts, show_progress=False)
    for row, question in zip(scores, questions, strict=True):
        known = [stem for stem in _stems(question) if stem in index.vocab_dict]
        if known:
            row[:] = index.get_scores(known)
    return scores


# Scripts without blanks. Script *extensions* know that the long-vowel mark of サーバー is Japanese.
# They hold punctuation too, which is why letters are asked for as well.
_UNSPACED = "".join(
    rf"\p{{scx={script}}}"
    for script in ("Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar")
)
_WORDS = regex.compile(
    rf"""(?P<pairs> [[{_UNSPACED}]&&[\p{{L}}\p{{N}}\p{{M}}]]+ )
      | [[\p{{L}}\p{{N}}\p{{M}}]--[{_UNSPACED}]]+""",
    regex.VERBOSE | regex.V1,
)


def _stems(text: str) -> list[str]:
    # One way to write each letter: é is one character or two, and soft hyphens part no word.
    text = unicodedata.normalize("NFKC", text.replace("\xad", "").casefold())
    stems = []
    for match in _WORDS.finditer(text):
        word = match[0]
        if match["pairs"]:
            stems += [word[i : i + 2] for i in range(max(1, len(word) - 1))]
        else:
            stems.append(_stem(word))
    return stems


@functools.lru_cache(maxsize=100_000)
def _stem(word: str) -> str:
    stem: str = _stemmer().stem(word)
    return stem


@functools.cache
def _stemmer():  # type: ignore[no-untyped-def]
    try:
        from nltk.stem.snowball import EnglishStemmer
    except ImportError as error:
        raise RuntimeError("nltk is not installed: pip install nltk") from error
    return EnglishStemmer()


def rank(scores: Scores) -> NDArray[np.int64]:
    """Return, for each question, the numbers of the chunks, best first; ties by position.

    Raises:
        ValueError: scores that `check_scores` refuses.

    >>> rank(np.array([[0.2, 0.9, 0.2]], dtype=np.float32))
    array([[1, 0, 2]])
    """
    order: NDArray[np.int64] = np.argsort(-check_scores(scores), axis=1, kind="stable")
    return order


def fuse_ranks(*tables: Scores, k: int = 60) -> Scores:
    """Fuse score tables by reciprocal rank: each gives a chunk 1 / (k + rank).

    It needs no scale, and throws away how far apart the scores were. A score of a chunk that no
    other beats is a rank of 1; equal scores share the best of their ranks.

    Args:
        tables: score tables of the same shape.
        k: how little the first ranks stand out, 0 or more.
    Raises:
        ValueError: no tables, tables of several shapes or that `check_scores` refuses, or a `k`
            below 0.

    >>> first = np.array([[0.9, 0.5, 0.1]], dtype=np.float32)
    >>> fuse_ranks(first, first[:, ::-1]).round(4)
    array([[0.0323, 0.0323, 0.0323]], dtype=float32)

    Source: Cormack, Clarke and Büttcher (2009).
    """
    _check_number("k", k)
    tables = _same_shape(tables)
    total = np.zeros(tables[0].shape)
    for table in tables:
        ordered = np.sort(-table, axis=1)
        for row, found, place in zip(total, table, ordered, strict=True):
            row += 1 / (k + 1 + np.searchsorted(place, -found, side="left"))
    return total.astype(np.float32)


def fuse_scores(*tables: Scores, weights: Sequence[float] | None = None) -> Scores:
    """Fuse score tables by their standardised scores: mean 0, standard deviation 1 a question.

    Args:
        tables: score tables of the same shape.
        weights: how much each table counts; the same if None.
    Raises:
        ValueError: no tables, tables of several shapes or that `check_scores` refuses, another
            number of weights, or weights that are not finite or add up to 0 or less.

    >>> table = np.array([[1.0, 2.0, 3.0]], dtype=np.float32)
    >>> fuse_scores(table, 100 * table).round(2)
    array([[-1.22,  0.  ,  1.22]], dtype=float32)
    """
    tables = _same_shape(tables)
    weights = [1.0] * len(tables) if weights is None else list(weights)
    if len(weights) != len(tables):
        raise ValueError(f"weights={weights!r} must be {len(tables)} numbers, one for each table")
    if not all(isinstance(one, Real) and math.isfinite(one) for one in weights):
        raise ValueError(f"weights={weights!r} must be finite numbers")
    if sum(weights) <= 0:
        raise ValueError(f"weights={weights!r} must add up to more than 0")
    total = np.zeros(tables[0].shape)
    if not total.size:
        return total.astype(np.float32)
    for table, weight in zip(tables, weights, strict=True):
        table = table.astype(np.float64)  # in float32, equal scores can seem to differ
        spread = table.std(axis=1, keepdims=True)
        total += weight * (table - table.mean(axis=1, keepdims=True)) / np.where(spread, spread, 1)
    return (total / sum(weights)).astype(np.float32)


def _same_shape(tables: Sequence[Scores]) -> tuple[Scores, ...]:
    tables = tuple(check_scores(table) for table in tables)
    if len({table.shape for table in tables}) != 1:
        shapes = [table.shape for table in tables]
        raise ValueError(f"tables have the shapes {shapes!r}: one or more of the same are needed")
    return tables


def _check_number(name: str, value: float) -> None:
    if not isinstance(value, Real) or not 0 <= value < math.inf:
        raise ValueError(f"{name}={value!r} must be a number of 0 or more")


def smooth_neighbours(scores: Scores, chunks: Sequence[Chunk], *, weight: float = 0.3) -> Scores:
    """Let each chunk's score gain a share of its neighbours' in the same document.

    A passage that answers seldom stands alone: what surrounds it is about the same matter, and
    says so in words that the chunk itself may lack.

    Args:
        scores: questions × chunks.
        chunks: the chunks; those of a document stand together, in order.
        weight: the share of each of the two neighbours, 0 or more. At the ends of a document the
            only neighbour counts twice, so that all chunks gain from as many. A chunk
            that is alone in its document keeps its score.
    Raises:
        ValueError: a weight below 0, scores that `check_scores` refuses, another number of chunks,
            or chunks of a document that are apart or out of order.

    >>> chunks = [Chunk("a", i, i + 1, source="doc") for i in range(3)]
    >>> smooth_neighbours(np.array([[0.0, 1.0, 0.0]], dtype=np.float32), chunks, weight=0.5)
    array([[1., 1., 1.]], dtype=float32)
    """
    _check_number("weight", weight)
    scores = check_scores(scores)
    if scores.shape[1] != len(chunks):
        raise ValueError(f"scores are of {scores.shape[1]} chunks, and chunks has {len(chunks)}")
    smoothed = scores.copy()
    sources = [chunk.source for chunk in chunks]
    _check_order(chunks)
    for i, source in enumerate(sources):
        beside = [j for j in (i - 1, i + 1) if 0 <= j < len(chunks) and sources[j] == source]
        for j in beside:
            smoothed[:, i] += weight * scores[:, j] * (2 / len(beside))
    return smoothed


def _check_order(chunks: Sequence[Chunk]) -> None:
    """Raise a `ValueError` unless the chunks of each document stand together, in order."""
    seen: dict[str, Chunk] = {}
    for before, chunk in zip([None, *chunks], chunks, strict=False):
        last = seen.get(chunk.source)
        if last and (last is not before or chunk.start < last.start):
            raise ValueError(
                f"chunks have one that starts at {chunk.start} of {chunk.source!r} behind one at "
                f"{last.start}: those of a document must stand together, in order"
            )
        seen[chunk.source] = chunk


def merge_hits(
    chunks: Iterable[Chunk], documents: Mapping[str, str | Document] | None = None
) -> list[Chunk]:
    """Merge chunks that overlap or touch into passages; each stands where its best chunk stood.

    Args:
        chunks: the chunks that were found, best first.
        documents: the texts by id, or some of them. With a text, chunks that only blank text
            parts are merged too, as splitters leave white space at the ends out.
    Returns:
        Passages, verbatim. A chunk that was rebuilt, or that has a context, stays as it is. Of
        their metadata, merged chunks keep what all of them have, with the same value: what is said
        of one part only would be wrong of the whole.

    >>> found = [Chunk("cd", 2, 4), Chunk("xy", 9, 11), Chunk("abc", 0, 3)]
    >>> [(passage.text, passage.start) for passage in merge_hits(found)]
    [('abcd', 0), ('xy', 9)]
    """
    chunks = list(chunks)
    documents = documents or {}
    plain = [i for i, chunk in enumerate(chunks) if not (chunk.derived or chunk.context)]
    # Numbers of chunks that belong together, in order of the text; the others stay alone.
    groups = [[i] for i in sorted(set(range(len(chunks))) - set(plain))]
    together: list[int] = []
    end = 0
    for i in sorted(plain, key=lambda i: (chunks[i].source, chunks[i].start)):
        chunk = chunks[i]
        same = together and chunk.source == chunks[together[0]].source
        gap = _between(documents, chunk.source, end, chunk.start) if same else ""
        if not same or (chunk.start > end and not is_blank(gap)):
            together, end = [], 0
            groups.append(together)
        together.append(i)
        end = max(end, chunk.end)
    groups.sort(key=min)
    return [_passage([chunks[i] for i in group], documents) for group in groups]


def _passage(group: list[Chunk], documents: Mapping[str, str | Document]) -> Chunk:
    if len(group) == 1:
        return group[0]
    first, text, end = group[0], group[0].text, group[0].end
    for chunk in group[1:]:
        if chunk.start > end:
            text += _between(documents, first.source, end, chunk.start)
            end = chunk.start
        if chunk.end > end:
            text += chunk.text[end - chunk.start :]
            end = chunk.end
    common = {
        key: value
        for key, value in first.metadata.items()
        if all(key in chunk.metadata and chunk.metadata[key] == value for chunk in group)
    }
    return Chunk(text, first.start, end, first.source, metadata=common)


def _between(documents: Mapping[str, str | Document], source: str, start: int, end: int) -> str:
    """Return the text between two chunks; of a document that is not known, something readable."""
    if source not in documents:
        return "?"
    document = documents[source]
    return (document.text if isinstance(document, Document) else document)[start:end]
