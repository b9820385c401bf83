"""Late chunking: embed the document first, cut it into chunks after.

A chunk that is embedded by itself has lost what its "it" and "the city" mean. Here the model reads
the document, each token gets a vector that knows what stands around it, and a chunk's vector is the
mean over its tokens. Where the chunks are cut is another's choice: any chunker's chunks will do.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chunking_lib.chunk import Chunk, Document, is_blank, text_and_source
from chunking_lib.evaluate import Arm
from chunking_lib.models import without_surrogates
from chunking_lib.retrieve import Scores, encode_checked
from chunking_lib.turns import check_whole

if TYPE_CHECKING:
    from tokenizers import Encoding

    from chunking_lib.embedder import Embedder, TokenVectors

__all__ = [
    "TokenWindow",
    "embed_early",
    "embed_late",
    "late_arm",
    "late_scores",
    "pool_tokens",
    "token_windows",
    "unseen_context",
]

Vectors = NDArray[np.float32]
Spans = NDArray[np.int64]  # n × 2: first and last character of each, end exclusive

_SHARED = 16  # neighbouring windows share a sixteenth: what is read twice costs twice


class TokenWindow(NamedTuple):
    """Tokens that are read together, and those whose vectors are taken from this reading.

    Attributes:
        start, end: the tokens that are read, by their numbers in the document, end exclusive.
        first, last: the tokens that are taken, end exclusive.
    """

    start: int
    end: int
    first: int
    last: int


def token_windows(tokens: int, *, size: int, overlap: int) -> list[TokenWindow]:
    """Return the windows in which a document is read that has more tokens than the model reads.

    1. As few windows as can be, neighbours sharing `overlap` tokens, all of the same length but
       for the last, which may be a little shorter.
    2. A shared token is taken from the window in which it stands farther from the cut: the first
       half of what two windows share from the left one, the second half from the right one. So
       each token is taken once.

    Args:
        tokens: how many the document has.
        size: the most that a window may hold, 1 or more.
        overlap: shared tokens, 0 to size - 1.

    >>> token_windows(10, size=6, overlap=2)
    [TokenWindow(start=0, end=6, first=0, last=5), TokenWindow(start=4, end=10, first=5, last=10)]
    """
    check_whole("size", size, 1)
    check_whole("overlap", overlap, 0, size - 1)
    if tokens <= size:
        return [TokenWindow(0, tokens, 0, tokens)] if tokens else []
    number = -(-(tokens - overlap) // (size - overlap))
    length = -(-(tokens - overlap) // number) + overlap
    starts = range(0, tokens - overlap, length - overlap)
    middles = [start + (overlap + 1) // 2 for start in starts[1:]]
    return [
        TokenWindow(start, min(start + length, tokens), first, last)
        for start, first, last in zip(starts, [0, *middles], [*middles, tokens], strict=True)
    ]


def embed_late(
    document: str | Document,
    chunks: Sequence[Chunk],
    *,
    embedder: Embedder,
    window: int | None = None,
    overlap: int | None = None,
) -> Vectors:
    r"""Return a vector for each chunk, made of the vectors its tokens have in the document.

    1. The document is cut into tokens once. If the model can read them all, it reads them at once;
       else in `token_windows`.
    2. A token belongs to each chunk that holds a character of it, white space apart. So a token
       that a boundary cuts in two counts for both sides, and one where chunks overlap for each.
    3. A chunk's vector is the mean over its tokens, made 1 long. What the model adds to a text,
       such as [CLS] and [SEP], belongs to no chunk; `Embedder.encode` counts it in.
    4. The row of a chunk without tokens is zero: a blank one, or signs that the model does not
       know.

    The vectors suit questions from `Embedder.encode`, if the model makes a text's vector as the
    mean over its tokens; MiniLM and many others do, but not those that take the vector of [CLS].

    A chunk's `context` is not read, for it stands nowhere in the document; here the document is the
    context. A rebuilt text (`derived`) has the vector of the place that it was made from.

    In memory are the vectors of some thousand tokens, and one for each chunk, however long the
    document is. If the embedder keeps vectors on disk, it keeps these too.

    Args:
        document: what the chunks were cut from.
        chunks: any chunks of it, in any order; they may overlap and leave gaps.
        embedder: a model on this computer, of `load_embedder`.
        window: how many tokens are read together at most; `embedder.max_tokens` if None.
        overlap: tokens that neighbouring windows share; a sixteenth of the window if None.
    Returns:
        float32, chunks × dimensions, rows of length 1, or 0.
    Raises:
        ValueError: chunks of another document, an embedder without vectors of tokens, or a window
            or overlap that cannot be.

    ```python
    document = Document("Berlin is the capital. It has 3.85 million inhabitants.")
    chunks = split_recursive(document, size=30)
    embed_late(document, chunks, embedder=load_embedder()) @ embedder.encode(["Berlin"]).T
    ```

    Source: Günther et al., *Late chunking: contextual chunk embeddings using long-context embedding
    models*, 2024 (arXiv 2409.04701), with "long late chunking" for documents that need windows.
    """
    text, spans = _places(document, chunks)
    return _pool([(text, spans)], embedder, window, overlap)


def embed_early(
    document: str | Document, chunks: Sequence[Chunk], *, embedder: Embedder
) -> Vectors:
    """Return what `embed_late` would, had the model read each chunk by itself.

    The control to `embed_late`: the same characters, their tokens pooled in the same way, without
    [CLS] and [SEP] and without `context`. All that differs is what the model read around them.
    `Embedder.encode` counts [CLS] and [SEP] in, and stops at `max_tokens`.

    Args, Returns, Raises: as in `embed_late`.
    """
    text, spans = _places(document, chunks)
    return _pool_alone([text[start:end] for start, end in spans], embedder)


def pool_tokens(tokens: TokenVectors, chunks: Sequence[tuple[int, int]]) -> Vectors:
    """Return the mean over the tokens of each chunk, as it is: not made 1 long.

    Args:
        tokens: what `Embedder.encode_tokens` gives; special tokens belong to no chunk.
        chunks: start and end of each, in characters.
    Returns:
        float32, chunks × dimensions; zero for a chunk without tokens.

    >>> from chunking_lib.embedder import TokenVectors
    >>> tokens = TokenVectors(
    ...     np.array([[100.0], [1.0], [2.0], [4.0], [100.0]]),
    ...     np.array([(0, 0), (0, 2), (3, 5), (6, 8), (0, 0)]),
    ...     np.array([True, False, False, False, True]),
    ... )
    >>> pool_tokens(tokens, [(0, 5), (6, 8)]).tolist()
    [[1.5], [4.0]]
    """
    inside = _inside(tokens.offsets, np.array(chunks, dtype=np.int64).reshape(-1, 2))
    inside &= ~tokens.special
    numbers = np.maximum(inside.sum(axis=1, keepdims=True), 1)
    found: Vectors = (inside @ tokens.vectors.astype(np.float64) / numbers).astype(np.float32)
    return found


def unseen_context(
    document: str | Document,
    chunks: Sequence[Chunk],
    *,
    embedder: Embedder,
    window: int | None = None,
    overlap: int | None = None,
) -> NDArray[np.float64]:
    """Return how much of the document each chunk was embedded without: what windows lose.

    It is the share of the document's other tokens that were not in the window of a token, as the
    mean over the chunk's tokens: 0 where the model reads the document at once, and for a chunk
    without tokens. It says what was not read, not what difference that makes; to see the
    difference, compare `embed_late` with a smaller `window` on a document that the model can read.

    Args, Raises: as in `embed_late`.
    Returns:
        float64, one for each chunk, 0 to 1.
    """
    size, shared = _check_windows(embedder, window, overlap)
    text, spans = _places(document, chunks)
    _, offsets = _tokens(text, embedder)
    unseen = np.zeros(len(offsets))
    for start, end, first, last in token_windows(len(offsets), size=size, overlap=shared):
        unseen[first:last] = (len(offsets) - (end - start)) / max(1, len(offsets) - 1)
    found = np.zeros(len(spans))
    for row, span in enumerate(spans):
        if (inside := _inside(offsets, span[None])[0]).any():
            found[row] = unseen[inside].mean()
    return found


def late_scores(
    questions: Sequence[str],
    chunks: Sequence[Chunk],
    *,
    documents: Mapping[str, Document],
    embedder: Embedder,
    early: bool = False,
) -> Scores:
    """Return the cosine similarity of each question to each chunk, embedded late.

    Questions are embedded as ever: nothing stands around them.

    Args:
        questions: the questions.
        chunks: chunks of any of the documents.
        documents: the documents by id, which the chunks carry as `source`.
        embedder: as in `embed_late`.
        early: use `embed_early`, the control.
    Returns:
        float32, questions × chunks, -1 to 1; 0 for a text with nothing to embed.
    Raises:
        ValueError: as `embed_late`, or a chunk of an unknown document.
    """
    rows: dict[str, list[int]] = {}
    for row, chunk in enumerate(chunks):
        if chunk.source not in documents:
            raise ValueError(f"chunks have one of {chunk.source!r}, which documents has not")
        rows.setdefault(chunk.source, []).append(row)
    jobs = [
        _places(documents[source], [chunks[row] for row in numbers])
        for source, numbers in rows.items()
    ]
    vectors = np.zeros((len(chunks), embedder.dimensions), dtype=np.float32)
    order = [row for numbers in rows.values() for row in numbers]
    if early:
        texts = [text[start:end] for text, spans in jobs for start, end in spans]
        vectors[order] = _pool_alone(texts, embedder)
    else:
        vectors[order] = _pool(jobs, embedder, None, None)
    scores: Scores = encode_checked(embedder, list(questions)) @ vectors.T
    return scores


def late_arm(
    chunker: Callable[[Document], list[Chunk]],
    documents: Mapping[str, Document],
    *,
    embedder: Embedder,
) -> Arm:
    """Return an arm for `evaluate` and `compare` that embeds a chunker's chunks late.

    ```python
    compare(
        {"early": chunker, "late": late_arm(chunker, benchmark.documents, embedder=embedder)},
        benchmark,
        embedder=embedder,
        pairs=[("late", "early")],
    )
    ```

    Its column "embedded" counts windows of documents, which are longer than chunks.

    Args:
        chunker: from a document to chunks.
        documents: those of the benchmark.
        embedder: as in `embed_late`.
    """
    size, shared = _check_windows(embedder, None, None)
    numbers = [embedder.count(document.text) for document in documents.values()]
    return Arm(
        chunker,
        scorer=partial(late_scores, documents=documents, embedder=embedder),
        embedded=sum(len(token_windows(n, size=size, overlap=shared)) for n in numbers),
        reads_all=True,
    )


# --- from documents to vectors ----------------------------------------------------------


class _Reading:
    """A text as the model will read it, and the places whose tokens are to be pooled."""

    def __init__(
        self, text: str, spans: Spans, before: int, embedder: Embedder, size: int, shared: int
    ) -> None:
        self._encoding, self.offsets = _tokens(text, embedder)
        self.windows = token_windows(len(self.offsets), size=size, overlap=shared)
        blank = np.array([is_blank(text[start:end]) for start, end in spans], dtype=bool)
        used = ~blank & (_count_inside(self.offsets, spans) > 0)
        self.rows = before + np.flatnonzero(used)  # in the table of all vectors
        self.spans = spans[used]
        # No text to embed begins like this. A document in one window is read as in any other.
        way = "" if len(self.windows) == 1 else f"{size} {shared}"
        digest = hashlib.sha256(text.encode()).hexdigest()
        self.keys = [f"\0late {way} {digest} {start} {end}" for start, end in self.spans]

    def parts(self, embedder: Embedder) -> Iterator[Encoding]:
        """Yield the tokens of each window, between those that the model adds."""
        if len(self.windows) > 1:
            length, step = self.windows[0].end, self.windows[1].start
            self._encoding.truncate(length, stride=length - step)
        for piece in [self._encoding, *self._encoding.overflowing]:
            yield embedder.tokenizer.post_process(piece)


def _pool(
    jobs: Sequence[tuple[str, Spans]], embedder: Embedder, window: int | None, overlap: int | None
) -> Vectors:
    """Return a vector for each place in each text, the texts read whole, in one table."""
    size, shared = _check_windows(embedder, window, overlap)
    total, readings = 0, []
    for text, spans in jobs:
        reading = _Reading(text, spans, total, embedder, size, shared)
        total += len(spans)
        if reading.keys:
            readings.append(reading)
    keys = [key for reading in readings for key in reading.keys]
    known = embedder.cache.get(keys) if embedder.cache else {}
    new = [one for one in readings if not all(key in known for key in one.keys)]
    vectors = _mean_directions(new, total, embedder)
    for one in readings:
        if all(key in known for key in one.keys):
            vectors[one.rows] = [known[key] for key in one.keys]
    if embedder.cache:
        rows = [
            (key, vectors[row]) for one in new for key, row in zip(one.keys, one.rows, strict=True)
        ]
        embedder.cache.put(dict(rows))
    return vectors


def _mean_directions(readings: Sequence[_Reading], total: int, embedder: Embedder) -> Vectors:
    """Run the model, and return the sums over tokens, made 1 long, in a table of `total` rows."""
    sums = np.zeros((total, embedder.dimensions))
    places = [(reading, window) for reading in readings for window in reading.windows]
    parts = [part for reading in readings for part in reading.parts(embedder)]
    for i, vectors in embedder.encode_parts(parts):
        reading, window = places[i]
        if vectors.shape[1] != embedder.dimensions:
            raise ValueError(
                f"embedder={embedder.name!r} has vectors of {vectors.shape[1]} dimensions for "
                f"tokens and of {embedder.dimensions} for texts: they cannot be compared"
            )
        added = parts[i].special_tokens_mask.index(0) - window.start  # what stands before them
        taken = vectors[window.first + added : window.last + added].astype(np.float64)
        offsets = reading.offsets[window.first : window.last]
        near = (reading.spans[:, 0] < offsets.max()) & (offsets.min() < reading.spans[:, 1])
        sums[reading.rows[near]] += _inside(offsets, reading.spans[near]) @ taken
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    found: Vectors = (sums / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    return found


def _pool_alone(texts: Sequence[str], embedder: Embedder) -> Vectors:
    """Return a vector for each text, each read by itself, and once."""
    numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    jobs = [(text, np.array([(0, len(text))])) for text in numbers]
    return _pool(jobs, embedder, None, None)[[numbers[text] for text in texts]]


def _tokens(text: str, embedder: Embedder) -> tuple[Encoding, Spans]:
    """Return a text's tokens, and the characters of each without the white space before it.

    Some tokenizers count the space before a word to its first token, and a chunk that ends with the
    space would have a token of the next one.
    """
    encoding = embedder.tokenizer.encode(without_surrogates(text), add_special_tokens=False)
    offsets = np.array(encoding.offsets, dtype=np.int64).reshape(-1, 2)
    for place in offsets:
        while place[0] < place[1] and text[place[0]].isspace():
            place[0] += 1
    return encoding, offsets


def _inside(offsets: Spans, spans: Spans) -> NDArray[np.bool_]:
    """Say which tokens have a character in which spans: spans × tokens."""
    starts, ends = offsets.T
    first, last = spans.T[:, :, None]
    inside: NDArray[np.bool_] = (starts < last) & (first < ends) & (starts < ends) & (first < last)
    return inside


def _count_inside(offsets: Spans, spans: Spans) -> NDArray[np.int64]:
    """Return how many tokens each span has, without a table of spans × tokens."""
    starts, ends = np.sort(offsets[offsets[:, 0] < offsets[:, 1]], axis=0).T
    first, last = spans.T
    begun, over = np.searchsorted(starts, last), np.searchsorted(ends, first, "right")
    return np.where(first < last, begun - over, 0)


def _places(document: str | Document, chunks: Sequence[Chunk]) -> tuple[str, Spans]:
    """Return the text of a document and where its chunks are."""
    text, _ = text_and_source(document)
    for chunk in chunks:
        if not isinstance(chunk, Chunk):
            raise ValueError(f"chunks has {chunk!r:.40}, and must have nothing but Chunk")
        there = text[chunk.start : chunk.end]
        if chunk.end > len(text) or not (chunk.derived or chunk.text == there):
            raise ValueError(
                f"a chunk at {chunk.start}:{chunk.end} is not of this document: {chunk.text!r:.40}"
            )
    spans = [(chunk.start, chunk.end) for chunk in chunks]
    return without_surrogates(text), np.array(spans, dtype=np.int64).reshape(-1, 2)


def _check_windows(embedder: Embedder, window: int | None, overlap: int | None) -> tuple[int, int]:
    """Return the tokens of a window, and those that neighbours share."""
    if not hasattr(embedder, "encode_parts"):
        raise ValueError(
            f"embedder={embedder!r} gives no vectors of tokens: late chunking needs a model on "
            "this computer"
        )
    size = embedder.max_tokens if window is None else window
    check_whole("window", size, 1, embedder.max_tokens)
    shared = size // _SHARED if overlap is None else overlap
    check_whole("overlap", shared, 0, size - 1)
    return size, shared
