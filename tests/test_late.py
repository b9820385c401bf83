"""Late chunking: windows, pooling by offsets, the early control, scores; its fault cases."""

import json
import os
import re
from collections.abc import Sequence
from itertools import pairwise

import case_checks
import numpy as np
import pytest
import torch
from corpus import read_eight
from hypothesis import given
from hypothesis import strategies as st
from strategies import texts as any_texts
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from toy_model import ToyModel
from toys import ToyEmbedder, facts, lines, windows

from chunking_lib.chunk import Chunk, Document, is_blank
from chunking_lib.embedder import Embedder, TokenVectors
from chunking_lib.evaluate import Arm, evaluate
from chunking_lib.late import (
    embed_early,
    embed_late,
    late_arm,
    late_scores,
    pool_tokens,
    token_windows,
    unseen_context,
)
from chunking_lib.models import fetch, load_embedder, without_surrogates
from chunking_lib.recursive import split_recursive
from chunking_lib.scoreboard import compare
from chunking_lib.sentences import sentence_spans

CASES = case_checks.CASES
TAIL = CASES["late_tail_without_period"]["input"]
LONG = "The ferry sails at nine. Dogs ride free on it, but not in summer! Is it late?\n" * 3


@pytest.fixture(autouse=True)
def own_vectors(tmp_path, monkeypatch):
    """An empty cache of vectors."""
    monkeypatch.setattr("chunking_lib.vectors.cache_folder", lambda: tmp_path / "vectors")


def toy(max_tokens: int = 500, *, cache: bool = False) -> Embedder:
    return Embedder("toy", ToyModel(max_tokens), fingerprint="toy", cache=cache)


@pytest.fixture(scope="module")
def reader() -> Embedder:
    """For many texts: to make one takes a moment."""
    return toy(500)


@pytest.fixture(scope="module")
def minilm() -> Embedder:
    return load_embedder(cache=False)


def chunk_at(text: str, spans: Sequence[tuple[int, int]]) -> list[Chunk]:
    return [Chunk(text[start:end], start, end) for start, end in spans]


def by_hand(embedder: Embedder, text: str, spans: Sequence[tuple[int, int]]) -> np.ndarray:
    """One pass, and the mean over each token with a character in the span, token by token."""
    found = embedder.encode_tokens(text)
    rows = []
    for start, end in spans:
        own = [
            vector
            for vector, (first, last), special in zip(*found, strict=True)
            if not special and set(range(first, last)) & set(range(start, end))
        ]
        mean = np.mean(own, axis=0, dtype=np.float64) if own else np.zeros(embedder.dimensions)
        if is_blank(text[start:end]):
            mean *= 0
        rows.append(mean / (np.linalg.norm(mean) or 1))
    return np.array(rows).reshape(-1, embedder.dimensions)


# --- the fault cases and their kinds ----------------------------------------------------


def test_late_macro_windows():
    case = CASES["late_macro_windows"]["right_value"]["exact"]
    found = token_windows(10, size=6, overlap=2)
    assert [(one.start, one.end) for one in found] == [(0, 6), (4, 10)]
    taken = [token for one in found for token in range(one.first, one.last)]
    assert taken == list(range(10))
    text = "a b c d e f g h i j"  # ten tokens, one character each
    spans = [(0, 7), (8, 15), (16, 19)]
    marked = TokenVectors(
        np.eye(10), np.array([(2 * i, 2 * i + 1) for i in range(10)]), np.zeros(10, dtype=bool)
    )
    pooled = pool_tokens(marked, spans)
    assert np.flatnonzero(pooled[1]).tolist() == case["token positions of chunk [4,8)"]
    vectors = embed_late(text, chunk_at(text, spans), embedder=toy(), window=6, overlap=2)
    assert len(vectors) == case["vectors"]


@given(st.integers(0, 400), st.integers(1, 60), st.data())
def test_late_macro_windows_take_each_token_once(tokens, size, data):
    """Each from the window in which it stands farthest from a cut; none longer than it may be."""
    overlap = data.draw(st.integers(0, size - 1))
    found = token_windows(tokens, size=size, overlap=overlap)
    assert [i for one in found for i in range(one.first, one.last)] == list(range(tokens))
    for one in found:
        assert one.start <= one.first < one.last <= one.end and one.end - one.start <= size
    for left, right in pairwise(found):
        assert left.end - right.start == overlap
    assert sum(one.end - one.start for one in found) == tokens + overlap * max(0, len(found) - 1)

    def room(token, one):
        before = token - one.start if one.start else tokens
        after = one.end - 1 - token if one.end < tokens else tokens
        return min(before, after)

    for one in found:
        for token in range(one.first, one.last):
            others = [room(token, w) for w in found if w.start <= token < w.end]
            assert room(token, one) == max(others)


@pytest.mark.parametrize("overlap", [0, 1, 2, 5])
def test_late_macro_windows_pool_what_the_windows_say(overlap):
    """By other code: each window read by itself as a text of its own, a word a token."""
    words = [*"abcdefghijklmno"]
    text, embedder = " ".join(words), toy()
    ends = [len(" ".join(words[: i + 1])) for i in range(len(words))]
    starts = [0, *(end + 1 for end in ends[:-1])]
    vectors = np.zeros((len(words), 8))
    for window in token_windows(len(words), size=6, overlap=overlap):
        part = embedder.encode_tokens(text[starts[window.start] : ends[window.end - 1]])
        inner = part.vectors[~part.special]
        vectors[window.first : window.last] = inner[window.first - window.start :][
            : window.last - window.first
        ]
    spans = [(starts[i], ends[min(i + 3, 14)]) for i in range(0, 15, 2)]
    expected = np.array([vectors[i : i + 4].mean(axis=0) for i in range(0, 15, 2)])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    found = embed_late(text, chunk_at(text, spans), embedder=embedder, window=6, overlap=overlap)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_late_special_tokens_shift():
    case = CASES["late_special_tokens_shift"]
    given_ = json.loads(case["input"])
    special = np.array([token.startswith("[") for token in given_["tokens"]])
    tokens = TokenVectors(
        np.array(given_["token_vectors"], dtype=np.float32), np.array(given_["offsets"]), special
    )
    assert (
        pool_tokens(tokens, given_["chunks"]).ravel().tolist()
        == (case["right_value"]["exact"]["pooled"])
    )
    # The same if nothing but the offsets says which are special.
    unmarked = tokens._replace(special=np.zeros(5, dtype=bool))
    assert pool_tokens(unmarked, given_["chunks"]).ravel().tolist() == [1.5, 4.0]


def test_late_special_tokens_shift_in_no_window(reader):
    """Literal "[CLS]" in a text is a token of the text; the model's own are pooled nowhere."""
    text = "[SEP] ab [CLS] cd ef [SEP]"
    spans = [(0, 5), (6, 8), (9, 20), (21, 26)]
    found = embed_late(text, chunk_at(text, spans), embedder=reader)
    np.testing.assert_allclose(found, by_hand(reader, text, spans), atol=1e-6)
    assert found.any(axis=1).all()


def marked(text: str, *, specials: tuple[bool, bool]) -> TokenVectors:
    """Words and marks as tokens, with special ones in front and behind, each in its own column."""
    before, after = specials
    places = [m.span() for m in re.finditer(r"\w+|[^\w\s]", text)]
    offsets = [(0, 0)] * before + places + [(0, 0)] * after
    special = [True] * before + [False] * len(places) + [True] * after
    return TokenVectors(np.eye(len(offsets)), np.array(offsets), np.array(special))


@pytest.mark.parametrize("specials", [(True, True), (True, False), (False, False), (False, True)])
def test_late_tail_without_period(specials):
    case = CASES["late_tail_without_period"]
    spans = sentence_spans(TAIL)
    case_checks.passes("late_tail_without_period", TAIL, chunk_at(TAIL, spans))
    pooled = pool_tokens(marked(TAIL, specials=specials), spans)
    places = [np.flatnonzero(row) - specials[0] + 1 for row in pooled]
    found = [[int(place[0]), int(place[-1]) + 1] for place in places]
    assert found == case["right_value"]["exact"]["token spans"]
    assert sum(map(len, places)) == 13


@pytest.mark.parametrize(
    "text",
    [
        "no mark at all",
        "?! ...",
        "Ends in a word. tail",
        "猫が船に乗る。犬も",
        "one\n\n\ntwo",
        ". . .",
    ],
)
def test_late_tail_without_period_in_no_text(reader, text):
    """Whatever sentences end with, each token is in one of them."""
    spans = sentence_spans(text)
    found = embed_late(text, chunk_at(text, spans), embedder=reader)
    np.testing.assert_allclose(found, by_hand(reader, text, spans), atol=1e-6)
    count = int((~reader.encode_tokens(text).special).sum())
    tokens = reader.encode_tokens(text)
    ones = tokens._replace(vectors=np.eye(len(tokens.offsets)))
    assert (pool_tokens(ones, spans) > 0).sum() == count


# --- any chunks of any text -------------------------------------------------------------


@st.composite
def text_and_spans(draw, texts=any_texts):
    text = draw(texts)
    place = st.integers(0, len(text))
    spans = draw(st.lists(st.tuples(place, place).map(sorted).map(tuple), max_size=6))
    return text, spans


# MiniLM's tokenizer takes more than 100 letters without a space for one unknown token.
LONG_WORDS = st.builds(
    lambda before, word, times, after: before + word * times + after,
    any_texts,
    st.sampled_from(["a", "é", "猫", "👍🏽", "0", "ก"]),
    st.integers(95, 105),
    any_texts,
)


@given(text_and_spans(any_texts | LONG_WORDS))
def test_the_vectors_are_the_means_by_hand(reader, made):
    text, spans = made
    found = embed_late(text, chunk_at(text, spans), embedder=reader)
    assert found.dtype == np.float32 and found.shape == (len(spans), 8)
    np.testing.assert_allclose(found, by_hand(reader, text, spans), atol=1e-5)


@given(text_and_spans(any_texts | LONG_WORDS), st.integers(3, 20), st.data())
def test_every_row_is_finite_and_zero_only_for_what_has_no_token(reader, made, window, data):
    text, spans = made
    overlap = data.draw(st.integers(0, window - 1))
    chunks = chunk_at(text, spans)
    late = embed_late(text, chunks, embedder=reader, window=window, overlap=overlap)
    early = embed_early(text, chunks, embedder=reader)
    whole = embed_late(text, chunks, embedder=reader)
    for found in (late, early):
        lengths = np.linalg.norm(found, axis=1)
        assert (np.isclose(lengths, 1, atol=1e-5) | (lengths == 0)).all()
    assert (late.any(axis=1) == whole.any(axis=1)).all()
    for chunk, row in zip(chunks, late, strict=True):
        if reader.encode([chunk.text]).any():  # what has a meaning by itself has one here
            assert row.any()
    unseen = unseen_context(text, chunks, embedder=reader, window=window, overlap=overlap)
    assert ((unseen >= 0) & (unseen <= 1)).all()
    if reader.count(text) <= window:
        np.testing.assert_array_equal(late, whole)
        assert not unseen.any()


@given(text_and_spans())
def test_a_chunk_that_is_the_document_is_early_and_late_alike(reader, made):
    text, _ = made
    if is_blank(text):
        return
    chunks = [Chunk(text, 0, len(text))]
    late, early = (embed(text, chunks, embedder=reader) for embed in (embed_late, embed_early))
    np.testing.assert_array_equal(late, early)


@given(any_texts, st.randoms(use_true_random=False))
def test_neither_order_nor_company_changes_a_chunk(reader, text, random):
    chunks = windows(7, 4)(Document(text))
    order = random.sample(range(len(chunks)), len(chunks))
    whole = embed_late(text, chunks, embedder=reader, window=5)
    again = embed_late(text, [chunks[i] for i in order], embedder=reader, window=5)
    np.testing.assert_array_equal(again, whole[order])
    for chunk, row in zip(chunks[:3], whole, strict=False):
        np.testing.assert_array_equal(embed_late(text, [chunk], embedder=reader, window=5)[0], row)


def test_no_chunks_and_no_text(reader):
    assert embed_late(LONG, [], embedder=reader).shape == (0, 8)
    assert embed_early("", [], embedder=reader).shape == (0, 8)
    assert not embed_late("", [Chunk("", 0, 0)], embedder=reader).any()
    assert unseen_context("", [Chunk("", 0, 0)], embedder=reader).tolist() == [0]
    assert late_scores([], [], documents={}, embedder=reader).shape == (0, 0)


def test_what_has_no_token_has_a_row_of_zeros(reader):
    text = "one \n\t two\u200b three \ue000\ue001 f\xadour"
    spans = [(3, 6), (4, 4), (1, 1), (10, 11), (18, 20), (21, 23), (22, 23)]
    blank = [True, True, True, True, True, False, True]
    found = embed_late(text, chunk_at(text, spans), embedder=reader)
    assert (~found.any(axis=1)).tolist() == blank
    assert np.isfinite(embed_early(text, chunk_at(text, spans), embedder=reader)).all()


def test_a_token_that_a_boundary_cuts_counts_on_both_sides(reader):
    text = "a ferry"
    tokens = reader.encode_tokens(text)
    spans = [(0, 4), (4, 7)]
    ones = tokens._replace(vectors=np.eye(len(tokens.offsets)))
    left, right = pool_tokens(ones, spans) > 0
    assert (left & right).sum() == 1 and (left | right).sum() == (~tokens.special).sum()


def test_the_context_is_not_read_and_a_rebuilt_text_is_its_place(reader):
    plain = Chunk(LONG[4:9], 4, 9)
    dressed = Chunk(LONG[4:9], 4, 9, context="A heading")
    rebuilt = Chunk("a boat", 4, 9, derived=True)
    for embed in (embed_late, embed_early):
        rows = embed(LONG, [plain, dressed, rebuilt], embedder=reader)
        assert (rows == rows[0]).all() and rows.any()


def test_a_lone_surrogate_is_a_character_like_any_other(reader):
    text = "a ferry \ud83d and a tram"
    spans = [(0, 9), (8, 9), (9, len(text))]
    found = embed_late(text, chunk_at(text, spans), embedder=reader)
    np.testing.assert_allclose(found, by_hand(reader, without_surrogates(text), spans), atol=1e-6)


class Spaced(ToyModel):
    """A tokenizer that counts the space before a word to the word, as many newer ones do."""

    def __init__(self, max_tokens: int) -> None:
        super().__init__(max_tokens)
        words = ["<s>", "</s>", "<unk>", "▁one", "▁two", "▁three", "▁", "."]
        vocabulary = {word: i for i, word in enumerate(words)}
        backend = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
        backend.normalizer = normalizers.NFC()
        backend.pre_tokenizer = pre_tokenizers.Metaspace(split=True)
        backend.post_processor = processors.TemplateProcessing(
            single="<s> $A </s> </s>", special_tokens=[("<s>", 0), ("</s>", 1)]
        )
        self.tokenizer.backend_tokenizer = backend


def test_the_space_before_a_word_takes_no_token_into_the_chunk_before():
    embedder = Embedder("spaced", Spaced(10), fingerprint="spaced", cache=False)
    text = "one two three"
    assert embedder.tokenizer.encode(text).offsets[2][0] == 3  # else this test tests nothing
    cut = embed_late(text, chunk_at(text, [(0, 4), (4, 8), (8, 13)]), embedder=embedder)
    trimmed = embed_late(text, chunk_at(text, [(0, 3), (4, 7), (8, 13)]), embedder=embedder)
    np.testing.assert_array_equal(cut, trimmed)
    vectors = embedder.encode_tokens(text).vectors[1:4]
    expected = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    np.testing.assert_allclose(cut, expected, atol=1e-6)


# --- cost: counted, not timed -----------------------------------------------------------


class Counting(ToyModel):
    """Counts the tokens that it reads, and the most at a time."""

    read_tokens = most = 0

    def __call__(self, features):
        self.read_tokens += features["input_ids"].numel()
        self.most = max(self.most, features["input_ids"].numel())
        return super().__call__(features)


def counting(max_tokens: int) -> Embedder:
    return Embedder("toy", Counting(max_tokens), fingerprint="toy", cache=False)


@pytest.mark.parametrize("path", ["council_meeting_2024-06-12", "staff_handbook", "passenger_faq"])
@pytest.mark.parametrize("size", [60, 200])
def test_what_is_read_is_at_most_a_fifth_more_than_the_chunks(path, size):
    """Counted in tokens, special ones too; tests/benchmarks has the ratio of times."""
    document = read_eight()[path]
    late, early = counting(254), counting(254)
    chunks = split_recursive(document, size=size, length=late.count)
    embed_late(document, chunks, embedder=late)
    early.encode([chunk.text for chunk in chunks])
    assert late._model.read_tokens <= 1.2 * early._model.read_tokens
    assert late.calls == len(token_windows(late.count(document.text), size=254, overlap=15))


def test_a_longer_document_is_not_read_in_larger_parts():
    embedder = counting(254)
    text = LONG * 40
    embed_late(text, [Chunk(text, 0, len(text))], embedder=embedder)
    most = embedder._model.most
    embed_late(text * 4, [Chunk(text * 4, 0, len(text) * 4)], embedder=embedder)
    assert max(most, embedder._model.most) <= 1024


def test_token_vectors_do_not_pile_up(monkeypatch):
    """What is ahead of what was taken is two batches a thread, however long the document is."""
    embedder = toy(20)
    made, ahead = 0, []
    forward = embedder._forward

    def watched(*arguments):
        nonlocal made
        made += 1
        return forward(*arguments)

    monkeypatch.setattr(embedder, "_forward", watched)
    parts = [embedder.tokenizer.encode("one two three")] * 20_000
    batches = set()
    for i, _ in embedder.encode_parts(parts):
        batches.add(i // 32)
        ahead.append(made - len(batches))
    assert made == 625 and max(ahead) <= 2 * torch.get_num_threads() + 1


# --- kept vectors -----------------------------------------------------------------------


def test_a_second_run_makes_no_call_and_gives_the_same():
    chunks = [*windows(20)(Document(LONG)), Chunk("", 5, 5)]
    first, second = toy(20, cache=True), toy(20, cache=True)
    for embed in (embed_late, embed_early):
        made = embed(LONG, chunks, embedder=first)
        np.testing.assert_array_equal(embed(LONG, chunks, embedder=second), made)
    assert first.calls > 0 and second.calls == 0


def test_late_and_early_other_windows_and_other_documents_are_kept_apart():
    chunks = windows(20)(Document(LONG))
    embedder = toy(20, cache=True)
    for _ in range(2):
        late = embed_late(LONG, chunks, embedder=embedder)
        early = embed_early(LONG, chunks, embedder=embedder)
        short = embed_late(LONG, chunks, embedder=embedder, window=9)
        longer = embed_late(LONG + "And more.", chunks, embedder=embedder)
        plain = embedder.encode([chunk.text for chunk in chunks])
        assert len({rows.tobytes() for rows in (late, early, short, longer, plain)}) == 5


def test_more_chunks_of_a_known_document_are_made():
    embedder = toy(20, cache=True)
    chunks = windows(20)(Document(LONG))
    some = embed_late(LONG, chunks[:3], embedder=embedder)
    found = embed_late(LONG, chunks, embedder=embedder)
    np.testing.assert_array_equal(found[:3], some)
    np.testing.assert_array_equal(found, embed_late(LONG, chunks, embedder=toy(20)))


# --- what windows lose ------------------------------------------------------------------


def test_unseen_context_by_hand():
    """Ten tokens in windows of six that share two: each token saw five of nine others."""
    text = "a b c d e f g h i j"
    chunks = chunk_at(text, [(0, 1), (0, 19), (1, 2)])
    found = unseen_context(text, chunks, embedder=toy(), window=6, overlap=2)
    np.testing.assert_allclose(found, [4 / 9, 4 / 9, 0])
    assert not unseen_context(text, chunks, embedder=toy(10)).any()
    one = unseen_context(text, chunks, embedder=toy(), window=1, overlap=0)
    np.testing.assert_allclose(one, [1, 1, 0])


# --- arguments --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"window": 0}, "window=0 must be a whole number of 1 to 500"),
        ({"window": 501}, "window=501 must be a whole number of 1 to 500"),
        ({"window": 2.5}, r"window=2\.5 must be"),
        ({"window": True}, "window=True must be"),
        ({"overlap": -1}, "overlap=-1 must be a whole number of 0 to 499"),
        ({"window": 8, "overlap": 8}, "overlap=8 must be a whole number of 0 to 7"),
    ],
)
@pytest.mark.parametrize("function", [embed_late, unseen_context])
def test_windows_that_cannot_be(reader, function, options, said):
    with pytest.raises(ValueError, match=said):
        function("a b", [Chunk("a", 0, 1)], embedder=reader, **options)


@pytest.mark.parametrize("function", [embed_late, embed_early, unseen_context])
def test_chunks_of_another_document_are_refused(reader, function):
    for wrong in (Chunk("b", 0, 1), Chunk("a b c", 0, 5), Chunk("x", 9, 10, derived=True)):
        with pytest.raises(ValueError, match=r"a chunk at \d+:\d+ is not of this document"):
            function("a b", [wrong], embedder=reader)
    with pytest.raises(ValueError, match="chunks has 'a', and must have nothing but Chunk"):
        function("a b", ["a"], embedder=reader)
    with pytest.raises(ValueError, match="must be a str or a Document"):
        function(None, [], embedder=reader)


@pytest.mark.parametrize("function", [embed_late, embed_early, unseen_context])
def test_an_embedder_without_tokens_is_refused(function):
    with pytest.raises(ValueError, match="gives no vectors of tokens"):
        function("a b", [Chunk("a", 0, 1)], embedder=ToyEmbedder())


def test_vectors_that_cannot_be_compared_with_those_of_questions():
    embedder = toy()
    embedder.dimensions = 4
    with pytest.raises(ValueError, match="of 8 dimensions for tokens and of 4 for texts"):
        embed_late("a b", [Chunk("a", 0, 1)], embedder=embedder)


# --- on the board -----------------------------------------------------------------------


def test_scores_are_those_of_each_document_by_itself(reader):
    documents = facts().documents
    chunks = [chunk for one in documents.values() for chunk in lines(one)][::-1]
    asked = ["dogs ride", ""]
    for early, embed in ((False, embed_late), (True, embed_early)):
        scores = late_scores(asked, chunks, documents=documents, embedder=reader, early=early)
        for column, chunk in enumerate(chunks):
            row = embed(documents[chunk.source], [chunk], embedder=reader)[0]
            expected = reader.encode(asked) @ row
            np.testing.assert_allclose(scores[:, column], expected, atol=1e-6)
    with pytest.raises(ValueError, match="chunks have one of 'x', which documents has not"):
        late_scores(asked, [Chunk("a", 0, 1, "x")], documents=documents, embedder=reader)


def test_an_arm_is_scored_with_its_documents():
    benchmark, embedder = facts(), toy(9)
    arm = late_arm(lines, benchmark.documents, embedder=embedder)
    whole = late_arm(windows(1000), benchmark.documents, embedder=embedder)
    board = compare(
        {"early": lines, "late": arm, "whole": whole},
        benchmark,
        embedder=embedder,
        pairs=[("late", "early")],
        budgets=(5, 10, 20),
    )
    early, late, whole_result = board.results
    counts = [embedder.count(one.text) for one in benchmark.documents.values()]
    assert late.embedded == sum(len(token_windows(n, size=9, overlap=0)) for n in counts)
    assert early.embedded == 12 and early.chunks == late.chunks == 12
    # A document in one chunk is longer than the model reads, and read to its end all the same.
    assert whole_result.unseen == 0
    assert evaluate(benchmark, windows(1000), embedder=embedder).unseen > 0
    assert evaluate(benchmark, Arm(windows(1000), embedded=3), embedder=embedder).unseen > 0


# --- the real model ---------------------------------------------------------------------

CITY = (
    "Berlin is the capital of Germany, and by area and by population its largest city. "
    "More than 3.85 million inhabitants live there. "
    "The city is also one of the country's states, the third smallest of them by area."
)


@pytest.mark.slow
def test_late_is_what_transformers_gives_by_hand(minilm):
    """No line of ours: tokenizer and model as they come, and a mean over the offsets."""
    from transformers import AutoModel, AutoTokenizer

    folder = str(fetch("all-MiniLM-L6-v2"))
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder)
    read = tokenizer(CITY, return_tensors="pt", return_offsets_mapping=True)
    offsets = read.pop("offset_mapping")[0].tolist()
    with torch.inference_mode():
        states = model(**read).last_hidden_state[0]
    sentences = sentence_spans(CITY)
    assert len(sentences) == 3
    expected = []
    for start, end in sentences:
        own = [i for i, (a, b) in enumerate(offsets) if a < b and start <= a and b <= end]
        mean = states[own].mean(dim=0)
        expected.append((mean / mean.norm()).numpy())
    chunks = chunk_at(CITY, sentences)
    late = embed_late(CITY, chunks, embedder=minilm)
    np.testing.assert_allclose(late, expected, atol=1e-5)


@pytest.mark.slow
def test_sentences_that_do_not_name_the_city_come_nearer_to_it(minilm):
    chunks = chunk_at(CITY, sentence_spans(CITY))
    asked = minilm.encode(["Berlin"])[0]
    late, early = (
        embed(CITY, chunks, embedder=minilm) @ asked for embed in (embed_late, embed_early)
    )
    assert (late[1:] > early[1:] + 0.1).all()
    np.testing.assert_allclose(early, late_early_reference(minilm, chunks) @ asked, atol=1e-5)


def late_early_reference(embedder: Embedder, chunks: list[Chunk]) -> np.ndarray:
    return np.concatenate([by_hand(embedder, c.text, [(0, len(c.text))]) for c in chunks])


@pytest.mark.slow
def test_windows_of_the_real_model_are_other_vectors_and_the_same_in_each_run():
    document = read_eight()["history_of_the_sound"]
    longer = load_embedder(max_tokens=510, cache=False)
    text = document.text[: longer.tokenizer.encode(document.text).offsets[500][1]]
    chunks = split_recursive(text, size=60, length=longer.count)
    whole = embed_late(text, chunks, embedder=longer)
    cut = embed_late(text, chunks, embedder=longer, window=254)
    near = (whole * cut).sum(axis=1)
    assert (near > 0.4).all() and (near < 0.999).any()
    np.testing.assert_array_equal(cut, embed_late(text, chunks, embedder=longer, window=254))


# --- a model that reads more, where there is a network --------------------------------------


@pytest.mark.slow
@pytest.mark.skipif(
    "LATE_MODEL" not in os.environ,
    reason="LATE_MODEL names no model with a long context, and to fetch one needs a network",
)
def test_a_model_with_a_long_context():
    long = load_embedder(os.environ["LATE_MODEL"])
    assert long.max_tokens > 512
    text = "Berlin is the capital of Germany. " * 40 + "It has over 3.85 million inhabitants."
    chunks = split_recursive(text, size=200)
    late, early = (embed(text, chunks, embedder=long) for embed in (embed_late, embed_early))
    assert late.shape == early.shape == (len(chunks), long.dimensions)
    np.testing.assert_allclose(np.linalg.norm(late, axis=1), 1, atol=1e-4)
    assert (late[-1] @ late[0]) > (early[-1] @ early[0])  # "It" has seen the city
