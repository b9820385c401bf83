"""Citations that can be checked without a judge, and precision and recall from gold spans."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import odd_text

from chunking_lib.answers import check_citations, context_precision, context_recall
from chunking_lib.benchmark import Question
from chunking_lib.chunk import Chunk
from chunking_lib.metrics import Span

PASSAGES = [Chunk("A dog costs 1.20.", 0, 17), Chunk("Cats ride free since 2024.", 20, 46)]


@pytest.mark.parametrize(
    ("answer", "cited", "unknown", "uncited", "unfounded"),
    [
        ("A dog costs 1.20 [1].", [1], [], 0, 0),
        ("A dog costs 1.20. [1]", [1], [], 0, 0),
        ("A dog costs 1.20.[1] Cats ride free [2].", [1, 2], [], 0, 0),
        ("Cats ride free [2], dogs do not [1].", [2, 1], [], 0, 0),
        ("Both ride [1, 2].", [1, 2], [], 0, 0),
        ("Both ride [1][2].", [1, 2], [], 0, 0),
        ("Both ride [1]. Again [1].", [1], [], 0, 0),
        ("Both ride.", [], [], 1, 0),
        ("Both ride [1]. Gulls fly.", [1], [], 1, 0),
        ("Both ride [3] [0].", [], [3, 0], 0, 0),
        ("A dog costs 2.10 [1].", [1], [], 0, 1),
        ("Cats ride free since 2024 [1].", [1], [], 0, 1),
        ("Cats ride free since 2024 [1, 2].", [1, 2], [], 0, 0),
        ("A dog costs 1.20 [7].", [], [7], 0, 1),
        ("See [a] and [1.5] and [].", [], [], 1, 0),
        ("", [], [], 0, 0),
        ("[1]", [], [], 0, 0),
    ],
)
def test_citations(answer, cited, unknown, uncited, unfounded):
    found = check_citations(answer, PASSAGES)
    assert (found.cited, found.unknown) == (cited, unknown)
    assert (len(found.uncited), len(found.unfounded)) == (uncited, unfounded)


@given(st.lists(odd_text | st.sampled_from(["[1]", "[2, 9]", ". ", "Dogs", "1.20"])).map("".join))
def test_any_answer_is_read(answer):
    found = check_citations(answer, PASSAGES)
    assert set(found.cited) <= {1, 2} and not set(found.unknown) & {1, 2}


QUESTION = Question("1", "?", ((Span("a", 10, 20),), (Span("a", 30, 40), Span("b", 0, 10))))


def chunk(start, end, source="a"):
    return Chunk("x" * (end - start), start, end, source)


@pytest.mark.parametrize(
    ("ranked", "precision", "recall"),
    [
        ([], 0, 0),
        ([chunk(0, 10)], 0, 0),
        ([chunk(0, 50)], 1, 1),
        ([chunk(10, 15)], 1, 0.25),
        ([chunk(0, 10), chunk(10, 20)], 0.5, 0.5),
        ([chunk(10, 20), chunk(0, 10)], 1, 0.5),
        ([chunk(10, 20), chunk(0, 10), chunk(0, 10, "b")], (1 + 2 / 3) / 2, 1),
        ([chunk(10, 20, "c")], 0, 0),
    ],
)
def test_precision_and_recall_of_what_was_retrieved(ranked, precision, recall):
    assert context_precision(QUESTION, ranked) == pytest.approx(precision)
    assert context_recall(QUESTION, ranked) == pytest.approx(recall)


def test_a_question_without_an_answer_has_no_recall():
    assert context_precision(Question("1", "?"), [chunk(0, 9)]) == 0
    with pytest.raises(ValueError, match="excerpts"):
        context_recall(Question("1", "?"), [chunk(0, 9)])
