"""Judging an answer without a judge: its citations, and what was retrieved for it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from chunking_lib.benchmark import Question
from chunking_lib.chunk import Chunk
from chunking_lib.metrics import Span, span_scores
from chunking_lib.sentences import sentence_spans

__all__ = ["Citations", "check_citations", "context_precision", "context_recall"]

_CITED = re.compile(r"\[(\d{1,4}(?:\s*[,;]\s*\d{1,4})*)\]")
_BEHIND = re.compile(rf"([.!?。！？])\s*((?:{_CITED.pattern}\s*)+)")
_WORD = re.compile(r"\w")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")


@dataclass(frozen=True)
class Citations:
    """What an answer cites, and whether it can be.

    Attributes:
        cited: the numbers of passages that exist, each once, in order of the answer.
        unknown: numbers that no passage has.
        uncited: sentences that cite nothing.
        unfounded: sentences with a number, such as a price, that no passage they cite holds.
    """

    cited: list[int]
    unknown: list[int]
    uncited: list[str]
    unfounded: list[str]


def check_citations(answer: str, passages: Sequence[Chunk]) -> Citations:
    """Read the citations in an answer, like [1] or [1, 3], and check them against the passages.

    A citation behind a full stop belongs to the sentence before it, and is moved there. Only what
    can be counted is checked: a sentence may cite a passage that exists, and say what it does not.

    Args:
        answer: what the model wrote.
        passages: what it was shown, numbered from 1, as in the prompt of `RagPipeline`.

    >>> passages = [Chunk("A dog costs 1.20.", 0, 17), Chunk("Cats ride free.", 20, 35)]
    >>> check_citations("A dog costs 2.10 [1]. Cats are free. [2, 7] Gulls fly.", passages)
    Citations(cited=[1, 2], unknown=[7], uncited=['Gulls fly.'],
              unfounded=['A dog costs 2.10 [1].'])
    """
    cited: dict[int, None] = {}
    uncited, unfounded = [], []
    for sentence in _sentences(answer):
        groups = _CITED.findall(sentence)
        numbers = [int(one) for group in groups for one in re.findall(r"\d+", group)]
        cited.update(dict.fromkeys(numbers))
        if not numbers:
            uncited.append(sentence)
            continue
        shown = [passages[n - 1].embedding_text for n in numbers if 1 <= n <= len(passages)]
        held = {number for text in shown for number in _NUMBER.findall(text)}
        if not set(_NUMBER.findall(_CITED.sub("", sentence))) <= held:
            unfounded.append(sentence)
    known = [number for number in cited if 1 <= number <= len(passages)]
    unknown = [number for number in cited if not 1 <= number <= len(passages)]
    return Citations(known, unknown, uncited, unfounded)


def _sentences(answer: str) -> list[str]:
    """Return the sentences, with the citations behind a full stop in front of it."""
    answer = _BEHIND.sub(r" \2\1 ", answer)
    found = [answer[start:end] for start, end in sentence_spans(answer)]
    return [sentence for sentence in found if _WORD.search(_CITED.sub("", sentence))]


def context_precision(question: Question, ranked: Sequence[Chunk]) -> float:
    """Return how far in front the chunks that answer stand among those that were retrieved.

    The mean, over the chunks that share a character with an answer, of the share of such chunks
    down to each: average precision. 0 if there are none.

    >>> place = Span("a", 10, 20)
    >>> ranked = [Chunk("x" * 9, 0, 9, "a"), Chunk("y" * 9, 9, 18, "a")]
    >>> context_precision(Question("1", "?", ((place,),)), ranked)
    0.5

    Source: the measure of that name in the package ragas, where a model says what is relevant.
    """
    places = [place for places in question.excerpts for place in places]
    hits = 0
    shares = []
    for rank, chunk in enumerate(ranked, 1):
        if any(
            chunk.source == place.document
            and max(chunk.start, place.start) < min(chunk.end, place.end)
            for place in places
        ):
            hits += 1
            shares.append(hits / rank)
    return sum(shares) / len(shares) if shares else 0.0


def context_recall(question: Question, retrieved: Sequence[Chunk]) -> float:
    """Return the share of the answer's characters that were retrieved.

    Raises:
        ValueError: a question that no document answers.

    >>> place = Span("a", 10, 20)
    >>> context_recall(Question("1", "?", ((place,),)), [Chunk("x" * 5, 10, 15, "a")])
    0.5

    Source: the measure of that name in the package ragas, where a model compares statements.
    """
    spans = [Span(chunk.source, chunk.start, chunk.end) for chunk in retrieved]
    return span_scores(question.excerpts, spans).recall
