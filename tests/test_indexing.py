"""Texts that stand for a chunk: the best of their scores is the chunk's."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import texts
from toys import ToyEmbedder, WordTokens, facts, lines

from chunking_lib.chunk import Chunk, Document
from chunking_lib.contextual import add_context
from chunking_lib.evaluate import Arm, evaluate
from chunking_lib.indexing import by_chunk, child_texts, score_by, sentence_windows
from chunking_lib.recursive import split_recursive
from chunking_lib.retrieve import bm25_scores, dense_scores

DENSE = partial(dense_scores, embedder=ToyEmbedder())
CHUNKS = [
    Chunk("The ferry sails. Dogs ride free.", 0, 32, "a"),
    Chunk("The tram stops. Smoking is banned.", 33, 67, "a"),
]


@pytest.mark.parametrize("scorer", [DENSE, bm25_scores])
def test_a_chunk_that_stands_for_itself_has_its_own_score(scorer):
    own = score_by(lambda chunk: [chunk.embedding_text], scorer)
    asked = ["When does the tram stop?", "dogs"]
    assert own(asked, CHUNKS) == pytest.approx(scorer(asked, CHUNKS))


def test_the_best_text_counts_and_a_chunk_without_any_comes_last():
    said = by_chunk(CHUNKS, [["Which moon?", "May I smoke?"], []])
    scores = score_by(said, DENSE)(["Which moon?", "zebra"], CHUNKS)
    assert scores[0].tolist() == pytest.approx([1, 0]) and scores[1].max() <= 0


@given(
    owned=st.lists(st.lists(st.integers(-5, 5), max_size=4), max_size=5),
    questions=st.integers(0, 3),
)
def test_the_best_of_any_scores(owned, questions):
    chunks = [Chunk("x", i, i + 1) for i in range(len(owned))]
    flat = [value for values in owned for value in values]

    def scorer(asked, standing):
        assert len(standing) == len(flat)
        return np.tile(np.array(flat, dtype=np.float32), (len(asked), 1)).reshape(
            len(asked), len(flat)
        )

    texts = by_chunk(chunks, [["t"] * len(values) for values in owned])
    found = score_by(texts, scorer)(["?"] * questions, chunks)
    lowest = min([0, *flat])
    expected = [max(values, default=lowest) for values in owned]
    assert found.shape == (questions, len(chunks))
    for row in found:
        assert row.tolist() == [max(lowest, value) for value in expected]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: by_chunk(CHUNKS, ["one"]), "texts are 1, and must be 2"),
        (lambda: by_chunk(CHUNKS, ["a", "b"])(Chunk("c", 0, 1)), "no texts of the chunk at 0:1"),
        (lambda: score_by(lambda chunk: "abc", DENSE)(["?"], CHUNKS), "texts gave 'abc' and must"),
        (lambda: sentence_windows("a", around=-1), "around=-1 must be"),
    ],
)
def test_arguments_outside_their_bounds(call, said):
    with pytest.raises(ValueError, match=said):
        call()


@given(text=texts, around=st.integers(0, 3))
def test_sentence_windows_are_slices_that_hold_their_sentence(text, around):
    chunks, sentences = sentence_windows(Document(text, "a"), around=around)
    assert len(chunks) == len(sentences)
    for chunk, sentence in zip(chunks, sentences, strict=True):
        assert chunk.text == text[chunk.start : chunk.end] and sentence in chunk.text
        assert chunk.source == "a" and (around or chunk.text == sentence)


def test_the_ways_can_be_scored():
    """Each is an arm: what is searched differs, what is sent are the chunks."""
    benchmark = facts()
    run = partial(evaluate, benchmark, embedder=ToyEmbedder(), tokens=WordTokens())
    whole = lambda document: [Chunk(document.text, 0, len(document.text), document.id)]  # noqa: E731
    children = Arm(whole, score_by(child_texts(partial(split_recursive, size=30)), DENSE))
    plain = run(whole)
    small = run(children)
    assert (plain.chunks, small.chunks) == (4, 4) and plain.mean_size == small.mean_size
    assert np.mean(small.mrr) >= np.mean(plain.mrr)

    documents = benchmark.documents
    chunks = {name: lines(document) for name, document in documents.items()}
    given = {name: add_context(documents[name], found) for name, found in chunks.items()}
    flat = [chunk for found in chunks.values() for chunk in found]
    searched = by_chunk(flat, [c.embedding_text for found in given.values() for c in found])
    hidden = run(Arm(lines, score_by(searched, bm25_scores)))
    sent = run(Arm(lambda document: given[document.id], bm25_scores))
    assert hidden.mrr == sent.mrr and hidden.mean_size < sent.mean_size
