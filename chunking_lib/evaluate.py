"""One ruler for all chunkers: what of the answer is found in the same number of tokens.

Five chunks of one chunker can be six times the text of five of another. So each question gets a
budget of tokens, as a language model would pay for them, and the score is the share of the answer
that was sent.
"""

from __future__ import annotations

import functools
import itertools
import re
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from chunking_lib.benchmark import Benchmark, Question
from chunking_lib.chunk import Chunk, Document, is_blank
from chunking_lib.embedder import UnseenWarning
from chunking_lib.metrics import (
    Span,
    auroc,
    mrr,
    ndcg,
    public_span_scores,
    span_scores,
)
from chunking_lib.models import load_tokenizer
from chunking_lib.retrieve import Encoder, Scores, check_scores, dense_scores, rank

__all__ = ["BUDGETS", "Arm", "Result", "Tokens", "evaluate", "public_scores", "sent_spans"]

#: The tokens a question may cost; the second is the main score.
BUDGETS = (500, 1000, 2000)
_K = 5  # the fixed number of chunks that other evaluations use

# A sentence of Wikipedia has 21 words, a proposition made of it 11 (Chen et al., *Dense X
# Retrieval*, 2024): even one of half that length answers with its whole sentence.
_REACH = 4
_READABLE = re.compile(r"\S")

Chunker = Callable[[Document], list[Chunk]]
Scorer = Callable[[Sequence[str], Sequence[Chunk]], Scores]


class Tokens(Protocol):
    """What pays: a tokenizer that counts, and knows where each token stands."""

    def count(self, text: str, /) -> int: ...
    def offsets(self, text: str, /) -> list[tuple[int, int]]: ...


@dataclass(frozen=True)
class Arm:
    """A chunker, and a way to score its chunks if cosine similarity is not the one.

    Args:
        chunker: from a document to chunks.
        scorer: from questions and chunks to scores; dense retrieval if None.
        model_tokens: tokens that a language model read and wrote to make the chunks.
        embedded: texts that the scorer embeds, 0 for one that knows words only; the chunks', each
            text once, if None.
        cut_by: texts that the chunker embeds to find its cuts; they are added to those.
        reads_all: the scorer reads whole a chunk that is longer than the embedder can read.
    """

    chunker: Chunker
    scorer: Scorer | None = None
    model_tokens: int = 0
    embedded: int | None = None
    cut_by: int = 0
    reads_all: bool = False


@dataclass(frozen=True)
class Result:
    """How one arm did. Lists hold a score for each question that has an answer, in order.

    Attributes:
        recall: by budget, the share of the answer that was sent.
        precision, iou: at the main budget.
        recall_at_5, tokens_at_5: the same with five chunks, whatever they cost, and what they cost.
        precision_omega: precision if retrieval found every chunk that holds a part of the answer.
        hit, mrr, ndcg: by rank; a chunk that shares a character with an answer is relevant.
        separation: how well the best score tells questions with an answer from those without.
        documents: the document of each question; `questions` their ids.
        chunks, mean_size, max_size: the chunks, in tokens.
        unseen: the share of the chunks' tokens that the embedder never saw; 0 if it saw no text.
        embedded: texts to embed, questions apart: each once, those with nothing to read not at all.
        model_tokens: tokens of a language model.
        seconds: time to chunk and embed, not the same in two runs.
    """

    name: str
    questions: list[str]
    documents: list[str]
    recall: dict[int, list[float]]
    precision: list[float]
    iou: list[float]
    recall_at_5: list[float]
    tokens_at_5: float
    precision_omega: list[float]
    hit: list[float]
    mrr: list[float]
    ndcg: list[float]
    separation: float | None
    chunks: int
    mean_size: float
    max_size: int
    unseen: float
    embedded: int
    model_tokens: int
    seconds: float = field(compare=False)


def evaluate(
    benchmark: Benchmark,
    arm: Arm | Chunker,
    *,
    embedder: Encoder,
    name: str = "",
    budgets: Sequence[int] = BUDGETS,
    tokens: Tokens | None = None,
) -> Result:
    r"""Chunk all documents, rank the chunks for each question, and score what fits the budgets.

    1. Ranked chunks are sent in order until the budget is spent; the last one is cut.
    2. Overlap and context cost as often as they are sent.
    3. A rebuilt text (`derived`) counts only if it was sent whole, and only for the first part of
       its place: four characters for each of its own, white space apart. So a proposition has the
       whole of its sentence, one sentence about ten pages has four sentences of them, and an empty
       text has nothing. What a text says of its place is not checked.
    4. A chunker that gives no chunks scores 0.

    Args:
        benchmark: documents and questions.
        arm: a chunker, or a chunker with its own way to score.
        embedder: makes the vectors; `unseen` says what it does not read.
        name: of the arm.
        budgets: in tokens, whole numbers, each counted once.
        tokens: the tokenizer that pays; OpenAI's o200k if None.
    Raises:
        ValueError: no questions with an answer, a budget that is no whole number of 1 or more, a
            chunker that gives anything but chunks, chunks of another document or offsets that are
            not where the text stands, or scores that are not finite or of another number.

    >>> text = "Dogs bark.\nCats purr."
    >>> place = Span("pets", 11, 21)
    >>> benchmark = Benchmark(
    ...     {"pets": Document(text, "pets")}, (Question("1", "What purrs?", ((place,),)),)
    ... )
    >>> def lines(document):
    ...     return [Chunk("Dogs bark.", 0, 10, "pets"), Chunk("Cats purr.", 11, 21, "pets")]
    >>> class Letters:
    ...     def encode(self, texts):
    ...         counts = [[text.count(letter) for letter in "bdpru"] for text in texts]
    ...         return np.array(counts) / np.linalg.norm(counts, axis=1, keepdims=True)
    >>> result = evaluate(benchmark, lines, embedder=Letters(), budgets=(1, 100))
    >>> {budget: [round(score, 2) for score in row] for budget, row in result.recall.items()}
    {1: [0.4], 100: [1.0]}
    """
    arm = arm if isinstance(arm, Arm) else Arm(arm)
    tokens = tokens or load_tokenizer("o200k_base")
    answered = [question for question in benchmark.questions if question.excerpts]
    open_ended = [question for question in benchmark.questions if not question.excerpts]
    if not answered:
        raise ValueError("benchmark has no question with an answer")
    budgets = _checked(budgets)
    started = time.perf_counter()
    chunks = [
        chunk
        for document in benchmark.documents.values()
        for chunk in _chunks_of(arm.chunker, document)
    ]
    scorer = arm.scorer or functools.partial(dense_scores, embedder=embedder)
    shape = (len(benchmark.questions), len(chunks))
    scores: Scores = np.zeros(shape, dtype=np.float32)
    if chunks:
        with warnings.catch_warnings():
            # What the embedder does not read is `unseen`, here.
            warnings.simplefilter("ignore", UnseenWarning)
            scores = scorer([question.text for question in benchmark.questions], chunks)
    scores = check_scores(scores, shape)
    seconds = time.perf_counter() - started
    order = dict(zip([q.id for q in benchmark.questions], rank(scores), strict=True))
    cutter = _Cutter(tokens)
    costs = [cutter.count(chunk.embedding_text) for chunk in chunks]
    credited = [_credited(chunk, benchmark.documents[chunk.source].text) for chunk in chunks]
    spans = [_span(chunk) for chunk in credited]
    relevant_to = _relevance(spans)
    recall: dict[int, list[float]] = {budget: [] for budget in budgets}
    main = budgets[len(budgets) // 2]
    rows: dict[str, list[float]] = {
        key: []
        for key in ("precision", "iou", "recall_at_5", "precision_omega", "hit", "mrr", "ndcg")
    }
    spent = []
    for question in answered:
        ranked = order[question.id]
        for budget in budgets:
            sent = sent_spans((credited[i] for i in ranked), budget, tokens, cutter=cutter)
            found = span_scores(question.excerpts, sent)
            recall[budget].append(found.recall)
            if budget == main:
                rows["precision"].append(found.precision)
                rows["iou"].append(found.iou)
        relevant = relevant_to(question)
        hits = relevant[ranked].tolist()
        first = [spans[i] for i in ranked[:_K]]
        rows["recall_at_5"].append(span_scores(question.excerpts, first).recall)
        rows["precision_omega"].append(
            span_scores(question.excerpts, [spans[i] for i in np.flatnonzero(relevant)]).precision
        )
        rows["hit"].append(float(any(hits[:_K])))
        rows["mrr"].append(mrr(hits))
        rows["ndcg"].append(ndcg(hits, int(relevant.sum()), 10))
        spent.append(sum(costs[i] for i in ranked[:_K]))
    texts = {chunk.embedding_text for chunk in chunks}
    embedded = sum(not is_blank(text) for text in texts) if arm.embedded is None else arm.embedded
    highest = scores.max(axis=1, initial=-np.inf).tolist()
    best = dict(zip([q.id for q in benchmark.questions], highest, strict=True))
    return Result(
        name=name,
        questions=[question.id for question in answered],
        documents=[question.document for question in answered],
        recall=recall,
        tokens_at_5=float(np.mean(spent)),
        separation=auroc([best[q.id] for q in answered], [best[q.id] for q in open_ended])
        if open_ended
        else None,
        chunks=len(chunks),
        mean_size=float(np.mean(costs or [0])),
        max_size=max(costs, default=0),
        unseen=_unseen(embedder, chunks) if embedded and not arm.reads_all else 0.0,
        embedded=embedded + arm.cut_by,
        model_tokens=arm.model_tokens,
        seconds=seconds,
        **rows,
    )


def _checked(budgets: Sequence[int]) -> list[int]:
    """Return the budgets in order, each once; ValueError unless they are numbers of tokens."""
    listed = list(budgets) if isinstance(budgets, Iterable) else []
    if not listed or not all(_is_whole(budget, 1) for budget in listed):
        raise ValueError(f"budgets={budgets!r} must be one or more whole numbers of 1 or more")
    return sorted({int(budget) for budget in listed})


def _is_whole(value: int, least: int) -> bool:
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return whole and bool(value >= least)


def _chunks_of(chunker: Chunker, document: Document) -> list[Chunk]:
    found = chunker(document)
    chunks = list(found) if isinstance(found, Iterable) else [found]
    for chunk in chunks:
        if not isinstance(chunk, Chunk):
            raise ValueError(
                f"the chunker gave {type(chunk).__name__} for the document {document.id!r}, and "
                "must give a list of Chunk"
            )
        if chunk.source != document.id:
            raise ValueError(
                f"the chunker gave a chunk with source={chunk.source!r} of the document "
                f"{document.id!r}: hand it the document, not its text"
            )
        if chunk.end > len(document.text):
            raise ValueError(f"a chunk ends at {chunk.end}, behind the end of {document.id!r}")
        if not chunk.derived and chunk.text != document.text[chunk.start : chunk.end]:
            raise ValueError(
                f"a chunk is not the text at {chunk.start}:{chunk.end} of {document.id!r}; a "
                "rebuilt text needs derived=True"
            )
    return chunks


def _span(chunk: Chunk) -> Span:
    return Span(chunk.source, chunk.start, chunk.end)


def _credited(chunk: Chunk, text: str) -> Chunk:
    """Return a chunk with no more of its place than its text can stand for."""
    if not chunk.derived:
        return chunk
    # White space is not counted: JSON written anew has less of it, and says the same.
    room = _REACH * len(_READABLE.findall(chunk.text))
    readable = _READABLE.finditer(text, chunk.start, chunk.end)
    ends = [match.end() for match in itertools.islice(readable, room + 1)]
    if len(ends) <= room:
        return chunk
    return replace(chunk, end=ends[room - 1] if room else chunk.start)


def _relevance(spans: Sequence[Span]) -> Callable[[Question], NDArray[np.bool_]]:
    """Return what says of each span whether it shares a character with a place that answers."""
    documents = np.array([span.document for span in spans], dtype=object)
    starts, ends = (np.array([span[i] for span in spans], dtype=np.int64) for i in (1, 2))

    def relevant_to(question: Question) -> NDArray[np.bool_]:
        found = np.zeros(len(spans), dtype=np.bool_)
        for place in (place for places in question.excerpts for place in places):
            shared = np.maximum(starts, place.start) < np.minimum(ends, place.end)
            found |= shared & (documents == place.document)
        return found

    return relevant_to


def _unseen(embedder: Encoder, chunks: Sequence[Chunk]) -> float:
    """Return the share of tokens that an embedder does not read, 0 if it cannot say."""
    unseen, count = (getattr(embedder, name, None) for name in ("unseen", "count"))
    if not unseen or not count:
        return 0.0
    read = sum(count(chunk.embedding_text) for chunk in chunks)
    missed = sum(unseen(chunk.embedding_text) for chunk in chunks)
    return missed / read if read else 0.0


class _Cutter:
    """Counts the tokens of texts and cuts them, each text once."""

    def __init__(self, tokens: Tokens) -> None:
        self.count = functools.cache(tokens.count)
        self._offsets = functools.cache(tokens.offsets)

    def cut(self, text: str, tokens: int) -> int:
        """Return how many characters the first `tokens` tokens of a text are, 0 or more tokens."""
        return self._offsets(text)[tokens - 1][1] if tokens else 0


def sent_spans(
    ranked: Iterable[Chunk], budget: int, tokens: Tokens, *, cutter: _Cutter | None = None
) -> list[Span]:
    """Return the characters of the documents that a budget sends, of chunks best first.

    A rebuilt text is taken at its word about its place; `evaluate` is what limits it.

    Args:
        ranked: chunks, best first.
        budget: in tokens, a whole number of 0 or more.
        tokens: the tokenizer that pays.
        cutter: remembers what was counted and cut, for many calls with the same tokenizer.
    Raises:
        ValueError: a budget that is no such number.

    >>> from chunking_lib.models import load_tokenizer
    >>> chunks = [Chunk("one two three", 0, 13), Chunk("four five", 14, 23)]
    >>> sent_spans(chunks, 4, load_tokenizer("o200k_base"))
    [Span(document='', start=0, end=13), Span(document='', start=14, end=18)]
    """
    if not _is_whole(budget, 0):
        raise ValueError(f"budget={budget!r} must be a whole number of 0 or more")
    cutter = cutter or _Cutter(tokens)
    spans: list[Span] = []
    left = budget
    for chunk in ranked:
        text = chunk.embedding_text
        cost = cutter.count(text)
        if cost <= left:
            spans.append(_span(chunk))
            left -= cost
            continue
        before = len(text) - len(chunk.text)  # the context stands in front
        shown = cutter.cut(text, left) - before
        if shown > 0 and not chunk.derived:
            spans.append(Span(chunk.source, chunk.start, chunk.start + shown))
        break
    return spans


def public_scores(
    benchmark: Benchmark, chunks: Sequence[Chunk], scores: Scores, *, k: int = _K
) -> dict[str, float]:
    """Score as Chroma's public evaluator does, to compare with its published figures.

    1. A chunk is looked for with `find`, without the full stop at its end, so a repeated text is
       taken for its first copy.
    2. Recall, precision and IoU are those of `public_span_scores`, where overlap between chunks
       counts twice.
    3. Precision omega is the IoU, each character once, of all chunks that share a character with a
       reference, or only touch one.

    A rebuilt text that the document does not hold is taken at its word about its place. Use
    `evaluate` for anything else.

    Args:
        benchmark: documents and questions.
        chunks: the chunks of all documents.
        scores: questions × chunks.
        k: how many chunks are retrieved, 1 or more.
    Returns:
        Means of recall, precision, precision_omega and iou.
    Raises:
        ValueError: no questions with an answer, a `k` below 1, a chunk of an unknown document, or
            scores that are not finite or of another number.

    >>> pets = Document("Cats purr. Cats purr.", "pets")
    >>> questions = (Question("1", "What purrs?", ((Span("pets", 11, 20),),)),)
    >>> chunks = [Chunk("Cats purr. ", 0, 11, "pets"), Chunk("Cats purr.", 11, 21, "pets")]
    >>> scores = public_scores(Benchmark({"pets": pets}, questions), chunks, np.ones((1, 2)), k=1)
    >>> scores["recall"], scores["precision_omega"]
    (0.0, 0.0)

    Source: github.com/brandonstarxel/chunking_evaluation.
    """
    if not any(question.excerpts for question in benchmark.questions):
        raise ValueError("benchmark has no question with an answer")
    if not _is_whole(k, 1):
        raise ValueError(f"k={k!r} must be a whole number of 1 or more")
    spans = []
    for chunk in chunks:
        if chunk.source not in benchmark.documents:
            raise ValueError(f"chunks have one of {chunk.source!r}, which benchmark has not")
        text = chunk.text.removesuffix(".")
        at = benchmark.documents[chunk.source].text.find(text)
        spans.append(Span(chunk.source, at, at + len(text)) if at >= 0 else _span(chunk))
    order = rank(check_scores(scores, (len(benchmark.questions), len(chunks))))
    rows = []
    for question, ranked in zip(benchmark.questions, order, strict=True):
        wanted = [places[0] for places in question.excerpts]
        if not wanted:
            continue
        found = public_span_scores(wanted, [spans[i] for i in ranked[:k]])
        touching = [
            span
            for span in spans
            if any(
                span.document == place.document
                and max(span.start, place.start) <= min(span.end, place.end)
                for place in wanted
            )
        ]
        omega = span_scores([[place] for place in wanted], touching).iou
        rows.append((found.recall, found.precision, omega, found.iou))
    means = np.mean(rows, axis=0)
    return dict(
        zip(("recall", "precision", "precision_omega", "iou"), map(float, means), strict=True)
    )
