"""MaxSim: the question's tokens against those of the best chunks."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chunking_lib.chunk import Chunk
from chunking_lib.embedder import TokenVectors
from chunking_lib.models import load_embedder
from chunking_lib.rerank import rerank_maxsim
from chunking_lib.retrieve import dense_scores, rank

WORDS = ["ferry", "tram", "fare", "dog", "pier"]


class Letters:
    """A token is a word; known words stand at right angles. A mark before and behind is special."""

    max_tokens = 4
    tokenizer = SimpleNamespace(
        encode=lambda text, add_special_tokens: SimpleNamespace(
            # Half of a surrogate pair is refused, as by the real ones.
            offsets=[match.span() for match in re.finditer(r"\w+", text) if text.encode()]
        )
    )

    def __init__(self) -> None:
        self.read: list[str] = []

    def encode_tokens(self, text: str) -> TokenVectors:
        self.read.append(text)
        words = re.findall(r"\w+", text)
        assert len(words) <= self.max_tokens
        vectors = np.full((len(words) + 2, 6), 9.0, dtype=np.float32)
        for row, word in enumerate(words, 1):
            vectors[row] = 3 * np.eye(6)[WORDS.index(word) if word in WORDS else 5]
        special = np.array([True, *[False] * len(words), True])
        return TokenVectors(vectors, np.zeros((len(words) + 2, 2), dtype=np.int64), special)


def make(*texts: str) -> list[Chunk]:
    return [Chunk(text, i, i + len(text), "d") for i, text in enumerate(texts)]


def test_the_mean_of_the_best_of_each_word_by_hand():
    chunks = make("ferry pier", "ferry tram dog", "fare", "")
    scores = np.zeros((2, 4), dtype=np.float32)
    again = rerank_maxsim(["ferry dog", "fare"], chunks, scores, Letters())
    assert again.tolist() == [[0.5, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]


def test_the_context_is_read_and_what_is_beyond_the_limit_is_not():
    chunks = [Chunk("pier", 0, 4, context="ferry"), Chunk("tram tram tram tram dog", 5, 28)]
    again = rerank_maxsim(["ferry dog"], chunks, np.zeros((1, 2), dtype=np.float32), Letters())
    assert again.tolist() == [[0.5, 0.0]]


@settings(deadline=None)
@given(
    table=st.lists(st.lists(st.integers(-3, 3), min_size=5, max_size=5), min_size=1, max_size=3),
    top=st.integers(1, 7),
)
def test_only_the_candidates_move_and_all_stay_ranked(table, top):
    scores = np.array(table, dtype=np.float32)
    chunks = make("ferry", "tram fare", "dog", "pier ferry", "fare")
    embedder = Letters()
    questions = ["ferry dog", "dog dog", "pier"][: len(table)]
    again = rerank_maxsim(questions, chunks, scores, embedder, top=top)
    assert np.isfinite(again).all()
    for before, after in zip(rank(scores), rank(again), strict=True):
        assert set(before[:top]) == set(after[:top])
        assert before[top:].tolist() == after[top:].tolist()
    assert len(embedder.read) == len(set(embedder.read))  # each once


@settings(deadline=None)
@given(data=st.data(), top=st.integers(1, 7).map(np.int64))
def test_it_is_the_plain_definition(data, top):
    """Of each question's own candidates, whatever they share; blank texts and equal ones, too."""
    odd = ["", " ", "ferry", "dog fare", "dog fare", "tram tram pier", "渡轮 e\u0301 🚋", "\x00"]
    texts = data.draw(st.lists(st.sampled_from(odd), min_size=1, max_size=6))
    questions = data.draw(st.lists(st.sampled_from(odd), min_size=1, max_size=3))
    cells = st.lists(st.integers(-3, 3), min_size=len(texts), max_size=len(texts))
    scores = np.array([data.draw(cells) for _ in questions], dtype=np.float32)
    again = rerank_maxsim(questions, make(*texts), scores, Letters(), top=top)

    def lengths_one(text):
        found = Letters().encode_tokens(text)
        return found.vectors[~found.special] / 3 if not found.special.all() else np.zeros((1, 6))

    for row, question in enumerate(questions):
        for chunk in rank(scores)[row, :top]:
            best = [
                max(float(one @ other) for other in lengths_one(texts[chunk]))
                for one in lengths_one(question)
            ]
            assert again[row, chunk] == pytest.approx(np.mean(best), abs=1e-5)


def test_half_of_a_surrogate_pair_is_a_sign_like_others():
    chunks = make("ferry \ud800", "\udfff", "dog")
    again = rerank_maxsim(["dog \ud800", "\ud800"], chunks, np.zeros((2, 3)), Letters())
    assert again.tolist() == [[0, 0, 1], [0, 0, 0]]


@pytest.mark.parametrize("top", [0, -1, 1.5, True, "5", None])
def test_a_wrong_number_is_named(top):
    with pytest.raises(ValueError, match="top="):
        rerank_maxsim(["a"], make("b"), np.zeros((1, 1), dtype=np.float32), Letters(), top=top)


def test_scores_of_another_shape_are_refused():
    with pytest.raises(ValueError, match="scores"):
        rerank_maxsim(["a"], make("b"), np.zeros((1, 2), dtype=np.float32), Letters())


@pytest.mark.parametrize("kind", [np.float16, np.float64])
def test_the_rest_keeps_its_order_whatever_the_kind_of_the_scores(kind):
    scores = np.linspace(0, 1, 1500, dtype=kind)[None]
    again = rerank_maxsim(["dog"], make(*["dog"] * 1500), scores, Letters(), top=1)
    assert again.dtype == np.float32
    assert rank(again).tolist() == rank(scores).tolist()


def test_what_is_no_list_of_questions_and_what_is_no_number():
    scores = np.zeros((3, 1), dtype=np.float32)
    with pytest.raises(ValueError, match="questions='dog' must be a list of questions"):
        rerank_maxsim("dog", make("dog"), scores, Letters())
    embedder = Letters()
    embedder.encode_tokens = lambda text: TokenVectors(
        np.full((1, 6), np.nan, dtype=np.float32), np.zeros((1, 2), np.int64), np.array([False])
    )
    with pytest.raises(ValueError, match="no finite numbers for the tokens of 'dog'"):
        rerank_maxsim(["a"] * 3, make("dog"), scores, embedder)


def test_nothing_to_rank():
    assert rerank_maxsim([], make("b"), np.zeros((0, 1), np.float32), Letters()).shape == (0, 1)
    assert rerank_maxsim(["a"], [], np.zeros((1, 0), np.float32), Letters()).shape == (1, 0)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*were not read")
def test_with_the_real_model_a_text_is_closest_to_itself():
    embedder = load_embedder()
    texts = ["The last ferry sails at nine.", "Dogs ride free on trams.", "ferry " * 400]
    chunks = make(*texts)
    scores = dense_scores(texts[:2], chunks, embedder)
    again = rerank_maxsim(texts[:2], chunks, scores, embedder, top=2)
    assert rank(again)[:, 0].tolist() == [0, 1]
    assert again[[0, 1], [0, 1]] == pytest.approx(1, abs=1e-5)
