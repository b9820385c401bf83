"""Recorded scores of a language model: what is kept, what is made, what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chunking_lib.llm import NoModelError
from chunking_lib.lm import LanguageModel, load_lm
from chunking_lib.perplexity import sentence_surprise
from chunking_lib.recorded_scores import pack_scores, unpack_scores

TEXT = "Waves broke. Go on."


@pytest.fixture
def model(monkeypatch):
    """The model, without weights: every word is one token, and longer ones surprise more."""
    asked = []

    def score(self, text):
        asked.append(text)
        ends = [i + 1 for i in range(len(text)) if text[i + 1 : i + 2] in (" ", "")]
        offsets = np.array(list(zip([0, *ends[:-1]], ends, strict=True)), dtype=np.int64)
        return {"logprobs": np.float32(offsets[:, 0] - offsets[:, 1]) / 3, "offsets": offsets}

    def choose(self, question, choices):
        asked.append(question)
        return {"chances": np.array([0.1, 0.7])}

    monkeypatch.setattr(LanguageModel, "_score", score)
    monkeypatch.setattr(LanguageModel, "_choose", choose)
    return asked


def say(monkeypatch, record):
    monkeypatch.setenv("CHUNKING_RECORD", record)


@given(st.lists(st.tuples(st.floats(-40, 0), st.integers(0, 9), st.integers(0, 9))))
def test_packed_and_unpacked_is_the_same_to_a_hundredth(tokens):
    logprobs = np.float32([token[0] for token in tokens])
    offsets = np.cumsum([token[1:] for token in tokens] or np.zeros((0, 2)), axis=0, dtype=np.int64)
    found, places = unpack_scores(pack_scores(logprobs, offsets))
    assert (places == offsets).all() and places.dtype == np.int64
    np.testing.assert_allclose(found, logprobs, atol=0.5 / 64 + 1e-5)
    assert (found <= 0).all() and found.dtype == np.float32


def test_what_is_recorded_needs_no_model(tmp_path, monkeypatch, model):
    path = tmp_path / "replies" / "scores.npz"
    say(monkeypatch, "1")
    lm = load_lm(cache=False, recordings=path)
    scores, chances = lm.score(TEXT), lm.choose("1 or 2?", ["1", "2"])
    lm.score(TEXT)
    assert model == [TEXT, "1 or 2?"]  # once each
    say(monkeypatch, "0")
    again = load_lm(cache=False, recordings=path)
    assert (again.score(TEXT).logprobs == scores.logprobs).all()
    assert (again.score(TEXT).offsets == scores.offsets).all()
    assert (again.choose("1 or 2?", ["1", "2"]) == chances).all()
    assert len(model) == 2
    with pytest.raises(NoModelError, match=r"no recording .* scores.npz.*make record"):
        again.score("Another.")
    with pytest.raises(NoModelError):
        again.choose("1 or 2?", ["2", "1"])


def test_what_is_not_recorded_is_rounded_alike_and_not_kept(tmp_path, monkeypatch, model):
    path = tmp_path / "scores.npz"
    say(monkeypatch, "")
    live = load_lm(cache=False, recordings=path).score(TEXT)
    assert not path.exists()
    assert (live.logprobs * 64 == np.rint(live.logprobs * 64)).all()
    exact = load_lm(cache=False)
    assert (exact.score(TEXT).logprobs != live.logprobs).any()
    assert sentence_surprise(TEXT, lm=exact)[0] == [(0, 12), (13, 19)]


def test_recording_begins_anew_and_gives_the_same_file(tmp_path, monkeypatch, model):
    files = []
    say(monkeypatch, "1")
    for name in ("a.npz", "b.npz"):
        path = tmp_path / name
        path.write_bytes(b"old")
        lm = load_lm(cache=False, recordings=path)
        lm.score(TEXT)
        lm.score("Go.")
        files.append(path.read_bytes())
        with np.load(path) as arrays:
            assert len(arrays.files) == 2
    assert files[0] == files[1]


def test_a_file_that_is_no_recording_is_named(tmp_path, monkeypatch):
    say(monkeypatch, "")
    path = tmp_path / "broken.npz"
    path.write_bytes(b"PK")
    with pytest.raises(RuntimeError, match=r"cannot read the scores in broken\.npz"):
        load_lm(recordings=path)
