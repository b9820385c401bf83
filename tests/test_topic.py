"""Splitting by topics, by the words on both sides, and by clusters of sentences."""

import re
import sys
from functools import partial
from itertools import pairwise

import case_checks
import numpy as np
import pytest
from case_checks import passes
from corpus import read_eight
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import odd_text
from test_cost import work_of
from toys import ToyEmbedder

from chunking_lib.chunk import Document, check_chunks
from chunking_lib.clusters import split_clusters
from chunking_lib.sentences import sentence_spans
from chunking_lib.texttiling import block_scores, depth_scores, split_texttiling
from chunking_lib.topic import split_topics
from chunking_lib.topic_model import fit_topics, topic_keywords, topic_quality

CASE = case_checks.CASES["sec_texttiling_no_paragraphs"]
DOCUMENTS = list(read_eight().values())
ENGLISH = [document for document in DOCUMENTS if "multilingual" not in document.id]
split_toy_clusters = partial(split_clusters, embedder=ToyEmbedder())
# The words of the text, and a model that is quick to fit.
split_two_topics = partial(split_topics, topics=2, passage=1, smoothing=1, stop_words=None)
SPLITTERS = [split_texttiling, split_toy_clusters, split_two_topics]
made_text = st.lists(
    odd_text | st.sampled_from(["A cat purrs. ", "The ship left! ", "Why bread?\n\n", "猫。"]),
    max_size=8,
).map("".join)


def read(chunks):
    return [chunk.text for chunk in chunks]


# The fault case and its kind


def test_sec_texttiling_no_paragraphs():
    passes("sec_texttiling_no_paragraphs", CASE["input"], split_texttiling(CASE["input"]))
    topics = split_topics(CASE["input"], passage=3, topics=2)
    passes("sec_texttiling_no_paragraphs", CASE["input"], topics)
    assert [chunk.metadata["keywords"] for chunk in topics] == [["cat", "sat"], ["sailed", "ship"]]
    lines = "The first line.\nThe second line."
    assert read(split_texttiling(lines)) == [lines]


@settings(deadline=None, max_examples=40)
@given(
    counts=st.lists(st.integers(6, 14), min_size=1, max_size=3),
    gap=st.sampled_from([" ", "\n", "\n\n", "\r\n"]),
)
def test_sec_texttiling_no_paragraphs_whatever_stands_between_sentences(counts, gap):
    words = ("Cats purr", "Ships sail", "Bread bakes")
    parts = [[f"{words[i]}."] * count for i, count in enumerate(counts)]
    text = gap.join(sentence for part in parts for sentence in part)
    chunks = split_texttiling(text, block=10)
    assert read(chunks) == [gap.join(part) for part in parts]


@pytest.mark.parametrize("split", SPLITTERS)
@pytest.mark.parametrize("places", [[(0, 12), (26, 40)], [(0, 12)], [(13, 25), (0, 12)], [(0, 99)]])
def test_sentences_of_ones_own_that_would_lose_text_are_refused(split, places):
    text = "The cat sat. The dog ran. The bird flew."
    with pytest.raises(ValueError, match="sentences"):
        split(text, sentences=lambda _: places)
    whole = split(text, sentences=lambda _: iter([(0, 12), (13, 25), (26, 40)]))
    assert " ".join(chunk.text for chunk in whole) == text


@pytest.mark.parametrize("split", SPLITTERS)
@pytest.mark.parametrize("text", ["", " \n\t ", "\u200b"])
def test_a_blank_text_has_no_chunks(split, text):
    assert split(text) == []


# The contract


@pytest.mark.parametrize("split", SPLITTERS)
@settings(deadline=None, max_examples=50)
@given(text=made_text, size=st.integers(1, 60), words=st.booleans())
def test_the_contract_is_kept(split, text, size, words):
    length = (lambda text: len(text.split())) if words else len
    try:
        chunks = split(Document(text, "a"), size=size, length=length)
    except ValueError as error:
        assert split is split_two_topics and "different words" in str(error)
        assume(False)
    assert check_chunks(text, chunks, size=size, length=length, overlap=0) == []
    assert {chunk.source for chunk in chunks} <= {"a"}
    assert chunks == split(Document(text, "a"), size=size, length=length)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.id)
def test_the_contract_is_kept_on_the_documents_of_the_course(document):
    for split in (split_texttiling, split_toy_clusters, partial(split_topics, topics=3)):
        for size in (80, 500):
            chunks = split(document, size=size)
            assert check_chunks(document, chunks, size=size, overlap=0) == []


# Topics


@pytest.mark.parametrize("model", ["nmf", "lda"])
def test_the_topics_are_those_of_scikit_learn(model):
    from sklearn.decomposition import NMF, LatentDirichletAllocation
    from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

    text = ENGLISH[0].text
    spans = sentence_spans(text)[:60]
    passages = [text[spans[i][0] : spans[i + 4][1]] for i in range(0, 60, 5)]
    ours = fit_topics(passages, topics=3, model=model, seed=7)
    if model == "nmf":
        vectorizer, theirs = TfidfVectorizer, NMF(3, init="random", random_state=7, max_iter=500)
    else:
        vectorizer, theirs = CountVectorizer, LatentDirichletAllocation(
            3, random_state=7, max_iter=50
        )  # fmt: skip
    words = vectorizer(stop_words="english", token_pattern=r"[^\W\d_]{2,}")
    shares = theirs.fit_transform(words.fit_transform(passages))
    assert ours.words == words.get_feature_names_out().tolist()
    shares = shares / shares.sum(axis=1, keepdims=True)
    order = list(dict.fromkeys(shares.argmax(axis=1)))  # ours are numbered as they appear
    assert len(order) == 3
    np.testing.assert_allclose(ours.weights, theirs.components_[order], atol=1e-4)
    np.testing.assert_allclose(ours.mixtures, shares[:, order], atol=1e-4)


def test_topics_are_the_same_every_time():
    text = ENGLISH[1]
    assert split_topics(text, seed=3) == split_topics(text, seed=3)
    one, other = (split_topics(text, model="lda", topics=3, seed=seed) for seed in (0, 0))
    assert one == other


def test_words_name_their_topic():
    cats, ships = ["Cats purr and nap."] * 3, ["Ships sail and sink."] * 3
    model = fit_topics(cats + ships, topics=2)
    assert topic_keywords(model, 3) == [["cats", "nap", "purr"], ["sail", "ships", "sink"]]
    assert topic_quality(model) == 1
    assert model.mixtures.round(3).tolist() == [[1, 0]] * 3 + [[0, 1]] * 3
    assert fit_topics(cats + ships).weights.shape == (2, 6)


def test_coherence_by_hand():
    """Keywords in the same half of the passages: 1. In all of them, or together once: 0."""
    assert topic_quality(fit_topics(["cat nap"] * 4, topics=1)) == 0
    assert topic_quality(fit_topics(["cat nap", "cat nap", "cat", "nap"], topics=1)) == round(
        np.log(0.5 / 0.75**2) / -np.log(0.5), 6
    )
    assert topic_quality(fit_topics(["cat nap", "cat", "nap", "nap"], topics=1)) == 0
    assert topic_quality(fit_topics(["cat", "nap"], topics=1)) == -1


def test_of_the_numbers_of_topics_the_best_is_kept():
    passages = ["Cats purr at night."] * 4 + ["Ships sail out."] * 4 + ["Bread bakes slowly."] * 4
    best = fit_topics(passages)
    qualities = {k: topic_quality(fit_topics(passages, topics=k)) for k in range(2, 9)}
    assert len(best.weights) == 3
    assert qualities[3] == max(qualities.values()) > qualities[2]


def test_one_passage_of_another_topic_is_smoothed_away():
    text = "Cat cat. Cat cat. Ship ship. Cat cat. Cat cat. Ship ship. Ship ship. Ship ship."
    split = partial(split_topics, text, topics=2, passage=1)
    assert len(split(smoothing=0)) == 4
    assert read(split(smoothing=1)) == [text[:46], text[47:]]


def test_keywords_stand_in_their_chunk():
    for document in ENGLISH[:2]:
        for chunk in split_topics(document, topics=4, keywords=3):
            words = chunk.metadata["keywords"]
            assert len(words) <= 3
            assert set(words) <= set(re.findall(r"\w+", chunk.text.lower()))


@pytest.mark.parametrize(
    ("text", "number"), [("Of the and.", 0), ("12 34.", 0), ("Ferry. The ferry!", 1), ("?!", 0)]
)
def test_a_vocabulary_too_small_is_named(text, number):
    message = f"the text has {number} different words, stop words apart: topics need 2 or more"
    with pytest.raises(ValueError, match=message):
        split_topics(text)


# TextTiling


def test_scores_and_depths_by_hand():
    words = [["cat"], ["cat", "nap"], [], ["ship"], ["ship", "cat"]]
    half, tenth = round(2**-0.5, 6), round(10**-0.5, 6)
    assert block_scores(words, 2).tolist() == [half, 0, tenth, half]
    assert depth_scores([]).tolist() == depth_scores([]).tolist() == []
    assert depth_scores([0.5]).tolist() == [0]
    assert depth_scores([0.9, 0.1, 0.8, 0.3, 0.4]).round(6).tolist() == [0, 1.5, 0, 0.6, 0]
    assert depth_scores([0.4, 0.4, 0.4]).tolist() == [0, 0, 0]
    assert depth_scores([0.1, 0.2, 0.3]).tolist() == [0, 0, 0]


@given(st.lists(st.integers(0, 9), max_size=12))
def test_depths_are_those_of_the_definition(values):
    depths = depth_scores(np.array(values, dtype=float))
    for i, depth in enumerate(depths):
        if not depth:
            continue
        left, right = i, i
        while left and values[left - 1] >= values[left]:
            left -= 1
        while right + 1 < len(values) and values[right + 1] >= values[right]:
            right += 1
        assert depth == values[left] + values[right] - 2 * values[i]
    assert list(depths) == list(depth_scores(values))


def test_cuts_lie_apart():
    text = " ".join(f"{word} {word}." for word in "abcd" for _ in range(2)).replace("a", "aa")
    text = text.replace("b", "bb").replace("c", "cc").replace("d", "dd")
    assert len(split_texttiling(text, block=2, smoothing=0)) == 4
    assert len(split_texttiling(text, block=40, smoothing=0)) <= 2


# Clusters


def test_neighbours_that_are_alike_stay_together():
    text = "Cats purr. Cats purr. Cats purr. Ships sail. Ships sail."
    split = partial(split_toy_clusters, text, buffer=0)
    assert read(split()) == [text]
    assert read(split(size=40)) == ["Cats purr. Cats purr. Cats purr.", "Ships sail. Ships sail."]
    assert read(split(size=8)) == [word for word in re.findall(r"\S+", text)]


def test_the_clusters_are_the_largest_that_fit():
    for document in DOCUMENTS[:3]:
        chunks = split_toy_clusters(document, size=400)
        spans = sentence_spans(document)
        assert {chunk.start for chunk in chunks} >= {spans[0][0]}
        # Two halves of one cluster are neighbours, and did not fit together.
        assert any(after.end - before.start > 400 for before, after in pairwise(chunks))
        assert max(len(chunk.text) for chunk in chunks) > 200


# Cost and errors


@pytest.mark.parametrize("unit", ["The ferry sails at nine. The tram waits. ", "a. ", "word "])
def test_the_work_of_texttiling_grows_with_the_text(unit):
    def split(text):
        split_texttiling(text, size=300, block=20)

    short, long = (unit * (n // len(unit)) for n in (4000, 16000))
    assert work_of(split, long) < 5 * work_of(split, short)


@pytest.mark.parametrize("text", ["", "A cat purrs. A ship sails."])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 0}, "size=0"),
        ({"topics": 0}, "topics=0 must be a whole number of 1 or more"),
        ({"topics": 2.0}, "topics=2.0"),
        ({"model": "lsa"}, "model='lsa' must be 'nmf' or 'lda'"),
        ({"passage": 0}, "passage=0"),
        ({"smoothing": -1}, "smoothing=-1"),
        ({"keywords": 0}, "keywords=0"),
        ({"seed": -1}, "seed=-1"),
        ({"stop_words": "german"}, "stop_words='german' must be 'english', a list"),
        ({"stop_words": [1]}, "stop_words=[1]"),
        ({"stop_words": 5}, "stop_words=5"),
        ({"stop_words": iter(["a"])}, "must be 'english', a list"),
        ({"seed": 2**32}, "seed=4294967296 must be less than 2**32"),
    ],
)
def test_a_wrong_argument_is_named(text, options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        split_topics(text, **options)


@pytest.mark.parametrize("text", ["", "A cat purrs. A ship sails."])
@pytest.mark.parametrize(
    ("split", "options", "message"),
    [
        (split_texttiling, {"block": 0}, "block=0 must be a whole number of 1 or more"),
        (split_texttiling, {"smoothing": True}, "smoothing=True"),
        (split_texttiling, {"stop_words": "german"}, "stop_words='german'"),
        (split_texttiling, {"size": 0}, "size=0"),
        (split_toy_clusters, {"buffer": -1}, "buffer=-1"),
        (split_toy_clusters, {"size": 0}, "size=0"),
    ],
)
def test_a_wrong_argument_of_the_others_is_named(text, split, options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        split(text, **options)


def test_more_topics_than_passages_are_an_error_for_the_model_alone():
    with pytest.raises(ValueError, match="topics=3 must be at most 2, the passages"):
        fit_topics(["Cats purr.", "Ships sail."], topics=3)
    assert len(split_topics("Cats purr. Ships sail.", topics=3, passage=1, smoothing=0)) == 2


@pytest.mark.parametrize("split", [split_topics, split_texttiling, split_toy_clusters])
def test_a_missing_package_is_named(split, monkeypatch):
    for part in ("feature_extraction.text", "feature_extraction.image"):
        monkeypatch.setitem(sys.modules, f"sklearn.{part}", None)
    with pytest.raises(RuntimeError, match="scikit-learn is not installed: pip install scikit"):
        split("Cats purr. Ships sail.")
