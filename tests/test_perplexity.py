"""Splitting by surprise: minima, sizes, margins, with a model of a test's making."""

import numpy as np
import pytest
from corpus import read_eight
from hypothesis import given
from hypothesis import strategies as st
from promises import assert_promises
from scripted import ScriptedLM
from strategies import odd_text, texts

from chunking_lib.lm import TokenScores, load_lm
from chunking_lib.models import load_tokenizer
from chunking_lib.perplexity import (
    find_minima,
    sentence_surprise,
    split_by_margin,
    split_by_perplexity,
)
from chunking_lib.sentences import sentence_spans

TEXT = "Waves broke. Go on. Storms raged. Clouds gather. Go on. Boats sailed."


def read(chunks):
    return [chunk.text for chunk in chunks]


@pytest.mark.parametrize(
    ("values", "threshold", "places"),
    [
        ([], 0, []),
        ([1.0], 0, []),
        ([2.0, 1.0], 0, []),
        ([2.0, 1.0, 2.0], 0, [1]),
        ([1.0, 2.0, 1.0], 0, []),
        ([2.0, 1.0, 1.0, 2.0], 0, [1]),
        ([1.0, 1.0, 1.0], 0, []),
        ([2.0, 1.0, 1.2], 1, [1]),
        ([1.2, 1.0, 2.0], 1, [1]),
        ([1.2, 1.0, 1.2], 1, []),
        ([3.0, 1.0, 2.0, 1.9, 2.5, 0.0], 0, [1, 3]),
    ],
)
def test_minima_by_hand(values, threshold, places):
    assert find_minima(values, threshold) == places
    assert find_minima(np.array(values), threshold) == places


@given(st.lists(st.floats(0, 9), max_size=20), st.floats(0, 5))
def test_a_higher_threshold_keeps_fewer_minima(values, threshold):
    assert set(find_minima(values, threshold)) <= set(find_minima(values))


def test_a_chunk_ends_with_what_surprised_least():
    lm = ScriptedLM()
    assert read(split_by_perplexity(TEXT, lm=lm)) == [
        "Waves broke. Go on.",
        "Storms raged. Clouds gather. Go on.",
        "Boats sailed.",
    ]
    assert read(split_by_perplexity(TEXT, lm=lm, threshold=10)) == [TEXT]
    spans, surprise = sentence_surprise(TEXT, lm=lm)
    assert spans == sentence_spans(TEXT) and surprise.tolist() == [5.5, 2.5, 6, 6.5, 2.5, 6]


def test_the_size_is_kept_between_sentences():
    chunks = split_by_perplexity(TEXT, lm=ScriptedLM(), threshold=10, size=34)
    assert read(chunks) == [
        "Waves broke. Go on. Storms raged.",
        "Clouds gather. Go on.",
        "Boats sailed.",
    ]


def test_two_sentences_have_no_minimum_and_are_not_read():
    lm = ScriptedLM()
    for text in ("", " \n", "One.", "One here. Two here."):
        split_by_perplexity(text, lm=lm)
    assert lm.read == []


@pytest.mark.parametrize("threshold", [-0.1, float("nan"), float("inf"), "0", None, True])
def test_a_threshold_that_is_none(threshold):
    with pytest.raises(ValueError, match=r"threshold=.* must be a number of 0 or more"):
        split_by_perplexity(TEXT, lm=ScriptedLM(), threshold=threshold)


@pytest.mark.parametrize(
    "scores",
    [
        TokenScores(np.full(2, np.nan), np.array([[0, 3], [3, 70]])),
        TokenScores(np.zeros(1), np.array([[0, 3], [3, 70]])),
        TokenScores(np.zeros(2), np.array([[3, 70], [0, 3]])),
        TokenScores(np.zeros(0), np.zeros(0)),
    ],
)
def test_scores_that_are_none(scores):
    lm = ScriptedLM()
    lm.score = lambda text: scores
    for run in (split_by_perplexity, sentence_surprise):
        with pytest.raises(ValueError, match="lm gave"):
            run(TEXT, lm=lm)


@pytest.mark.parametrize("chances", [[0.5], [0.1, 0.2, 0.3], [0.5, float("nan")], 0.5])
def test_chances_that_are_none(chances):
    with pytest.raises(ValueError, match="lm chose with"):
        split_by_margin(TEXT, lm=ScriptedLM(chances=[chances]))


@pytest.mark.parametrize("run", [split_by_perplexity, split_by_margin, sentence_surprise])
@pytest.mark.parametrize("lm", [None, "SmolLM2", len])
def test_a_model_must_score(run, lm):
    with pytest.raises(ValueError, match=r"lm=.* must have a method"):
        run("", lm=lm)


def test_margins_split_where_the_model_says_so():
    lm = ScriptedLM(chances=[(0.1, 0.6), (0.6, 0.1), (0.1, 0.6)])
    assert read(split_by_margin(TEXT, lm=lm)) == [TEXT[:19], TEXT[20:]]
    assert len(lm.questions) == 5
    assert '"Waves broke." and "Go on."' in lm.questions[0]
    assert '"Waves broke. Go on." and "Storms raged."' in lm.questions[1]
    assert '"Storms raged." and "Clouds gather."' in lm.questions[2]


def test_the_threshold_follows_the_margins():
    """A model that always leans to "keep" splits where it leans to it less than of late."""
    text = " ".join(f"Sentence number {i} stands here." for i in range(8))
    lm = ScriptedLM(chances=[(0.0, 0.5)] * 5 + [(0.0, 0.4), (0.0, 0.6)])
    assert [chunk.text[16] for chunk in split_by_margin(text, lm=lm)] == ["0", "6"]


def test_a_question_shows_the_end_of_a_long_part():
    text = " ".join(f"Sentence number {i} stands here." for i in range(200))
    lm = ScriptedLM()
    split_by_margin(text, lm=lm, size=10**6)
    assert max(map(len, lm.questions)) < 2500


@given(text=odd_text | texts, size=st.integers(1, 60), threshold=st.sampled_from([0, 0.5, 3]))
def test_the_contract_is_kept(text, size, threshold):
    lm = ScriptedLM(lambda word: len(word) % 5)

    def by_perplexity(text):
        return split_by_perplexity(text, lm=lm, size=size, threshold=threshold)

    def by_margin(text):
        return split_by_margin(text, lm=ScriptedLM(chances=[(0.3, 0.2)]), size=size)

    for split in (by_perplexity, by_margin):
        assert_promises(split, text, size=size, overlap=0)


# The real model


@pytest.fixture(scope="module")
def lm(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("scores")
        patch.setattr("chunking_lib.lm.cache_folder", lambda: folder)
        yield load_lm()


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["", "a", "naïve 🦥 <|im_end|> \ud83d 猫が船に乗る。\r\n\r\nThe end."]
)
def test_each_token_has_a_place_and_a_probability(lm, text):
    scores = lm.score(text)
    assert len(scores.logprobs) == len(scores.offsets)
    assert (scores.logprobs <= 0).all() and np.isfinite(scores.logprobs).all()
    assert (np.diff(scores.offsets, axis=0) >= 0).all()
    held = {place for start, end in scores.offsets for place in range(start, end)}
    assert held == set(range(len(text)))


@pytest.mark.slow
def test_what_is_expected_surprises_less(lm):
    text = "The capital of France is Paris. The capital of France is cheese."
    spans, surprise = sentence_surprise(text, lm=lm)
    scores = lm.score(text)
    places = zip(scores.offsets, scores.logprobs, strict=True)
    last = {text[start:end].strip(): logprob for (start, end), logprob in places}
    assert last["Paris"] > last["cheese"] + 3
    assert len(spans) == len(surprise) == 2
    chances = lm.choose("Is a cat an animal? Answer 1 for yes or 2 for no.", ["1", "2"])
    assert chances.shape == (2,) and 0 < chances.sum() <= 1


@pytest.mark.slow
def test_windows_keep_their_context_and_the_cache_asks_nothing(lm, monkeypatch):
    monkeypatch.setattr("chunking_lib.lm._WINDOW", 48)
    monkeypatch.setattr("chunking_lib.lm._CONTEXT", 32)
    windowed = load_lm(cache=False)
    text = next(iter(read_eight().values())).text[:600]
    whole, parts = lm.score(text), windowed.score(text)
    assert len(whole.logprobs) > 96 and (whole.offsets == parts.offsets).all()
    # The first window is the same; later tokens have less context, and most of their score.
    np.testing.assert_allclose(parts.logprobs[:40], whole.logprobs[:40], atol=1e-3)
    assert np.corrcoef(parts.logprobs, whole.logprobs)[0, 1] > 0.8
    read = lm.tokens
    again = lm.score(text)
    assert lm.tokens == read and (again.logprobs == whole.logprobs).all()
    for path in lm._folder.iterdir():
        path.write_bytes(b"not whole")
    np.testing.assert_allclose(lm.score(text).logprobs, whole.logprobs, atol=1e-4)


def test_the_toy_tokens_of_this_file_are_like_those_of_a_tokenizer():
    """Both cover the text; see `ScriptedLM`."""
    text = "One two.\n\nThree four. "
    for offsets in (load_tokenizer("cl100k_base").offsets(text), ScriptedLM().score(text).offsets):
        held = {place for start, end in offsets for place in range(start, end)}
        assert held == set(range(len(text)))
