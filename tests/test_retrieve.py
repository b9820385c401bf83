"""Scores, how they are combined, and passages: against slow ways to do the same."""

import math
import sys
import unicodedata
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from strategies import any_text
from toys import ToyEmbedder, windows

from chunking_lib import retrieve
from chunking_lib.chunk import Chunk, Document
from chunking_lib.retrieve import (
    bm25_scores,
    check_scores,
    dense_scores,
    fuse_ranks,
    fuse_scores,
    merge_hits,
    rank,
    smooth_neighbours,
)


def chunks_of(*texts: str) -> list[Chunk]:
    return [Chunk(text, 0, len(text), f"document {i}") for i, text in enumerate(texts)]


def tables(rows: int = 3, columns: int = 5):
    """Score tables with ties; whole numbers, so that sums are exact."""
    values = st.integers(-8, 8).map(float)
    return arrays.arrays(np.float32, (rows, columns), elements=values)


# --- dense ------------------------------------------------------------------------------


def test_dense_scores_are_cosines_and_see_the_context():
    chunks = [
        Chunk("sails at nine", 0, 13, context="ferry"),
        Chunk("tram stops", 0, 10),
        Chunk(" ", 0, 1),
    ]
    scores = dense_scores(["ferry", "tram stops", ""], chunks, ToyEmbedder())
    assert scores.shape == (3, 3) and scores.dtype == np.float32
    assert scores[0].argmax() == 0 and scores[0, 0] == pytest.approx(0.5)
    assert scores[1, 1] == pytest.approx(1)
    assert not scores[2].any() and not scores[:, 2].any()


def test_nothing_to_score_has_a_shape_all_the_same():
    for scorer in (bm25_scores, lambda q, c: dense_scores(q, c, ToyEmbedder())):
        assert scorer([], chunks_of("a")).shape == (0, 1)
        assert scorer(["a"], []).shape == (1, 0)
        assert scorer([], []).shape == (0, 0)


@pytest.mark.parametrize("scorer", [bm25_scores, lambda q, c: dense_scores(q, c, ToyEmbedder())])
def test_one_question_is_not_read_letter_by_letter(scorer):
    with pytest.raises(ValueError, match="questions='ferry' must be a list of questions"):
        scorer("ferry", chunks_of("ferry"))


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (lambda n: np.eye(n + 1)[:-2], "one for each text"),
        (lambda n: np.ones(n), "one for each text"),
        (lambda n: np.full((n, 2), 5.0), "vector of length 7.07"),
        (lambda n: np.full((n, 2), np.nan), "vector of length nan"),
    ],
)
def test_vectors_that_are_none(vectors, message):
    class Wrong:
        def encode(self, texts):
            return vectors(len(texts))

    with pytest.raises(ValueError, match=message):
        dense_scores(["a", "b"], chunks_of("a", "b"), Wrong())


def test_vectors_may_be_lists():
    class Listed:
        def encode(self, texts):
            return [[0.6, 0.8] if text else [0, 0] for text in texts]

    scores = dense_scores(["a"], chunks_of("a", ""), Listed())
    assert scores.dtype == np.float32 and scores[0].tolist() == pytest.approx([1, 0])


# --- BM25 -------------------------------------------------------------------------------


def slow_bm25(question: list[str], texts: list[list[str]]) -> list[float]:
    """The formula of Robertson and Zaragoza in Lucene's form, one text after another."""
    mean = sum(map(len, texts)) / len(texts)
    scores = []
    for words in texts:
        counts, score = Counter(words), 0.0
        for word in question:
            holding = sum(word in other for other in texts)
            rarity = math.log(1 + (len(texts) - holding + 0.5) / (holding + 0.5))
            damp = 1.5 * (1 - 0.75 + 0.75 * len(words) / mean)
            score += rarity * counts[word] / (counts[word] + damp)
        scores.append(score)
    return scores


WORDS = st.lists(st.sampled_from(["boat", "tram", "quay", "pier", "lamp"]), max_size=8)


@given(st.lists(WORDS, min_size=1, max_size=6), WORDS)
def test_bm25_is_the_formula(texts, question):
    if not any(texts):
        return
    found = bm25_scores([" ".join(question)], chunks_of(*map(" ".join, texts)))
    np.testing.assert_allclose(found[0], slow_bm25(question, texts), rtol=1e-4, atol=1e-6)


def test_bm25_has_a_row_for_each_question():
    chunks = chunks_of("The ferry sails.", "Trams stop here.", "", "ferry ferry " * 9)
    scores = bm25_scores(["ferry", "tram", "zebra", "", "?!"], chunks)
    assert scores.shape == (5, 4) and scores.dtype == np.float32
    assert scores[0, 3] > scores[0, 0] > scores[0, 1] == 0
    assert scores[1].argmax() == 1
    assert not scores[2:].any() and (scores >= 0).all()


def test_bm25_searches_the_context_too():
    chunks = [Chunk("It sails at nine.", 0, 17, context="The ferry"), Chunk("Trams stop.", 0, 11)]
    assert bm25_scores(["ferry"], chunks)[0, 0] > 0


@pytest.mark.parametrize("texts", [[""], [" ", "?!"], ["\u200b", "🦥"]])
def test_bm25_of_texts_without_words(texts):
    assert not bm25_scores(["ferry", ""], chunks_of(*texts)).any()


@pytest.mark.parametrize(
    ("text", "stems"),
    [
        ("Stopping stops STOPPED stop", ["stop"] * 4),
        ("the 14:05 ferry's fares", ["the", "14", "05", "ferri", "s", "fare"]),
        ("Straße STRASSE", ["strass"] * 2),
        ("caf\u00e9 cafe\u0301", ["caf\u00e9"] * 2),
        ("ＦＥＲＲＹ", ["ferri"]),
        ("Fahr\u00adkarte", ["fahrkart"]),
        ("東京湾", ["東京", "京湾"]),
        ("東", ["東"]),
        ("サーバー", ["サー", "ーバ", "バー"]),
        ("ｻｰﾊﾞｰ", ["サー", "ーバ", "バー"]),
        ("iPhoneを使う", ["iphon", "を使", "使う"]),
        ("船、港。", ["船", "港"]),
        ("人々", ["人々"]),
        ("한국어 배", ["한국어", "배"]),
        ("ไป ตลาด", ["ไป", "ตล", "ลา", "าด"]),
        ("a\x00b\ud800c 🦥 _x_", ["a", "b", "c", "x"]),
        ("C C++ C#", ["c"] * 3),
        ("3.5", ["3", "5"]),
        ("", []),
    ],
    ids=ascii,
)
def test_stems(text, stems):
    expected = [unicodedata.normalize("NFKC", stem) for stem in stems]
    assert retrieve._stems(text) == expected


@pytest.mark.parametrize(
    ("question", "right", "wrong"),
    [
        ("フェリーの時刻", "フェリーは九時に出ます。", "電車は八時に来ます。"),
        ("渡轮", "去岛上的渡轮九点出发。", "电车八点到。"),
        ("เรือ", "วันนี้เรือออกเวลาเก้าโมง", "รถไฟมาแปดโมง"),
        ("한국 배", "배 시간표", "기차 시간표"),
        ("étude", "Une e\u0301tude.", "Une gare."),
    ],
)
def test_bm25_in_other_scripts(question, right, wrong):
    scores = bm25_scores([question], chunks_of(wrong, right))[0]
    assert scores[1] > scores[0] == 0


@given(any_text, any_text)
def test_bm25_takes_any_text(question, text):
    scores = bm25_scores([question, text], chunks_of(text, "ferry"))
    assert np.isfinite(scores).all() and (scores >= 0).all()


@pytest.mark.parametrize("package", ["bm25s", "nltk.stem.snowball"])
def test_without_their_packages_the_error_says_what_to_install(package, monkeypatch):
    retrieve._stemmer.cache_clear()
    retrieve._stem.cache_clear()
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(RuntimeError, match=f"pip install {package.split('.')[0]}"):
        bm25_scores(["ferry"], chunks_of("ferry"))


# --- ranks and fusion -------------------------------------------------------------------


@given(tables())
def test_rank_is_best_first_and_ties_keep_their_place(scores):
    for row, order in zip(scores, rank(scores), strict=True):
        assert order.tolist() == sorted(range(len(row)), key=lambda i: (-row[i], i))


SCORERS = {
    "rank": rank,
    "fuse_ranks": fuse_ranks,
    "fuse_scores": fuse_scores,
    "smooth_neighbours": lambda table: smooth_neighbours(table, WORDS_OF_ONE),
}
WORDS_OF_ONE = [Chunk("x", i, i + 1, "doc") for i in range(3)]


@pytest.mark.parametrize("name", SCORERS)
@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.int64, np.bool_, np.float16, list])
def test_scores_of_any_kind_of_number(name, kind):
    """A minus in front of an unsigned number, or of -128, wraps round."""
    scores = [[-128, 0, 1]] if kind in (np.int8, np.int64) else [[0, 200, 100]]
    table = scores if kind is list else np.array(scores).astype(kind)
    expected = SCORERS[name](np.array(table, dtype=np.float64))
    np.testing.assert_allclose(SCORERS[name](table), expected, rtol=1e-3)


@pytest.mark.parametrize("name", SCORERS)
@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([[1.0, math.nan, 0.0]], "scores have nan, and must be finite"),
        ([[1.0, -math.inf, 0.0]], "scores have -inf, and must be finite"),
        ([1.0, 2.0, 3.0], r"of the shape \(3,\), not \(questions, chunks\)"),
        (None, r"of the shape \(\)"),
        ("abc", "must be a table of numbers"),
    ],
)
def test_scores_that_are_no_table_of_finite_numbers(name, table, message):
    with pytest.raises(ValueError, match=message):
        SCORERS[name](table)


def test_check_scores_keeps_what_is_a_table():
    table = np.ones((2, 3), np.float32)
    assert check_scores(table) is table and check_scores(table, (2, 3)) is table
    assert check_scores(np.zeros((0, 3)), (0, 3)).shape == (0, 3)


@given(tables(), tables(), st.integers(0, 100))
def test_fused_ranks_are_the_formula(first, second, k):
    found = fuse_ranks(first, second, k=k)
    assert found.dtype == np.float32
    for row, (one, two) in enumerate(zip(first, second, strict=True)):
        for column in range(len(one)):
            expected = sum(1 / (k + 1 + (each > each[column]).sum()) for each in (one, two))
            assert found[row, column] == pytest.approx(expected, rel=1e-6)


@given(tables(), tables())
def test_fused_ranks_need_no_scale_and_no_order_of_tables(first, second):
    fused = fuse_ranks(first, second)
    np.testing.assert_array_equal(fused, fuse_ranks(first * 100 + 7, second))
    np.testing.assert_allclose(fused, fuse_ranks(second, first), rtol=1e-6)
    np.testing.assert_array_equal(rank(fuse_ranks(first)), rank(first))


@given(tables(), tables(), st.integers(1, 50), st.integers(-50, 50))
def test_fused_scores_need_no_scale(first, second, scale, shift):
    fused = fuse_scores(first, second)
    np.testing.assert_allclose(fused, fuse_scores(scale * first + shift, second), atol=1e-5)
    np.testing.assert_allclose(fused, fuse_scores(second, first), atol=1e-5)
    np.testing.assert_allclose(fused.mean(axis=1), 0, atol=1e-5)


@given(tables(), tables())
def test_weights_of_fused_scores(first, second):
    alone = fuse_scores(first)
    np.testing.assert_allclose(fuse_scores(first, second, weights=[1, 0]), alone, atol=1e-6)
    np.testing.assert_allclose(fuse_scores(first, first, weights=[2, 5]), alone, atol=1e-5)
    mixed = fuse_scores(first, second, weights=[3, 1])
    np.testing.assert_allclose(mixed, 0.75 * alone + 0.25 * fuse_scores(second), atol=1e-5)


@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e-30, 12345.678, 0.0])
@pytest.mark.parametrize("columns", [1, 3, 7, 1000])
def test_equal_scores_say_nothing(value, columns):
    """In float32 their spread can be a little over 0, and noise would become a score of 1."""
    assert not fuse_scores(np.full((2, columns), value, dtype=np.float32)).any()


@pytest.mark.parametrize("fuse", [fuse_ranks, fuse_scores])
def test_tables_of_several_shapes_or_none(fuse):
    with pytest.raises(ValueError, match=r"shapes \[\(1, 2\), \(1, 3\)\]"):
        fuse(np.zeros((1, 2), np.float32), np.zeros((1, 3), np.float32))
    with pytest.raises(ValueError, match="one or more"):
        fuse()
    assert fuse(np.zeros((2, 0), np.float32)).shape == (2, 0)
    assert fuse(np.zeros((0, 2), np.float32)).shape == (0, 2)


def test_wrong_weights():
    table = np.zeros((1, 2), np.float32)
    with pytest.raises(ValueError, match=r"weights=\[1.0\] must be 2 numbers"):
        fuse_scores(table, table, weights=[1.0])
    for weights in ([math.nan, 1], [math.inf, 1], "11", [None, 1]):
        with pytest.raises(ValueError, match=r"weights=.* must be finite numbers"):
            fuse_scores(table, table, weights=weights)
    for k in (-1, -5, math.nan, math.inf, "1"):
        with pytest.raises(ValueError, match=r"k=.* must be a number of 0 or more"):
            fuse_ranks(table, k=k)
    for weights in ([0, 0], [1, -1], [-1, -1]):
        with pytest.raises(ValueError, match=r"weights=.* must add up to more than 0"):
            fuse_scores(table, table, weights=weights)


# --- neighbours -------------------------------------------------------------------------


def slow_smoothing(scores: np.ndarray, sources: str, weight: float) -> np.ndarray:
    found = scores.astype(float)
    for i, source in enumerate(sources):
        before = scores[:, i - 1] if i and sources[i - 1] == source else None
        behind = scores[:, i + 1] if sources[i + 1 : i + 2] == source else None
        if before is None:
            before = behind
        if behind is None:
            behind = before
        if before is not None:
            found[:, i] += weight * (before + behind)
    return found


@given(tables(), st.sampled_from(["aaaaa", "aabbb", "abcde", "abbbc", "aaaab"]), st.integers(0, 4))
def test_neighbours_share_their_scores(scores, sources, quarters):
    chunks = [Chunk("x", i, i + 1, source) for i, source in enumerate(sources)]
    before, weight = scores.copy(), quarters / 4
    found = smooth_neighbours(scores, chunks, weight=weight)
    np.testing.assert_allclose(found, slow_smoothing(scores, sources, weight), rtol=1e-6)
    np.testing.assert_array_equal(scores, before)
    assert found.dtype == np.float32


def test_smoothing_keeps_equal_scores_of_a_document_equal():
    chunks = [Chunk("x", i, i + 1, "a" if i < 5 else "b") for i in range(7)]
    found = smooth_neighbours(np.ones((1, 7), np.float32), chunks, weight=0.3)
    np.testing.assert_allclose(found, 1.6, rtol=1e-6)


def test_smoothing_with_wrong_arguments():
    scores = np.ones((1, 2), np.float32)
    for weight in (-0.1, math.nan, math.inf, "1"):
        with pytest.raises(ValueError, match=r"weight=.* must be a number of 0 or more"):
            smooth_neighbours(scores, chunks_of("a", "b"), weight=weight)
    with pytest.raises(ValueError, match="scores are of 2 chunks, and chunks has 1"):
        smooth_neighbours(scores, chunks_of("a"))


@pytest.mark.parametrize("order", [[1, 0, 2], [0, 3, 1], [2, 3, 1], [3, 0, 4]])
def test_smoothing_wants_chunks_beside_their_neighbours(order):
    chunks = [Chunk("x", i, i + 1, "a" if i < 3 else "b") for i in range(5)]
    scores = np.ones((1, 3), np.float32)
    with pytest.raises(ValueError, match="must stand together, in order"):
        smooth_neighbours(scores, [chunks[i] for i in order])


# --- passages ---------------------------------------------------------------------------

TEXTS = {"a": "one  two\n\nthree 🦥 four", "b": "e\u0301tude \ud800 five \u200b six"}
SPANS = st.tuples(st.sampled_from("ab"), st.integers(0, 21), st.integers(0, 8))


def span_chunk(source: str, start: int, size: int, **more: object) -> Chunk:
    text = TEXTS[source]
    start = min(start, len(text))
    end = min(start + size, len(text))
    return Chunk(text[start:end], start, end, source, **more)


def covered(chunks: list[Chunk]) -> set[tuple[str, int]]:
    return {(chunk.source, i) for chunk in chunks for i in range(chunk.start, chunk.end)}


@pytest.mark.parametrize("known", ["", "a", "ab"])
@given(st.lists(SPANS, max_size=8))
def test_merged_hits_are_verbatim_and_nothing_is_lost(known, spans):
    chunks = [span_chunk(*span) for span in spans]
    documents = {name: Document(TEXTS[name], name) for name in known}
    passages = merge_hits(chunks, documents)
    for passage in passages:
        assert passage.text == TEXTS[passage.source][passage.start : passage.end]
    assert covered(chunks) <= covered(passages)
    for source, i in covered(passages) - covered(chunks):
        assert source in known and not TEXTS[source][i].strip("\u200b").strip()
    # No two passages of a document overlap or touch any more.
    ordered = sorted(passages, key=lambda p: (p.source, p.start))
    for left, right in zip(ordered, ordered[1:], strict=False):
        assert left.source != right.source or left.end < right.start
    # Each stands where its best chunk stood.
    best = [
        min(
            i
            for i, c in enumerate(chunks)
            if c.source == p.source and p.start <= c.start and c.end <= p.end
        )
        for p in passages
    ]
    assert best == sorted(best)
    assert merge_hits(passages, documents) == passages


def test_hits_that_white_space_parts_are_merged_if_the_text_is_known():
    hits = [span_chunk("a", 10, 5), span_chunk("b", 0, 3), span_chunk("a", 5, 3)]
    assert merge_hits(hits) == hits
    assert merge_hits(hits, {"b": TEXTS["b"]}) == hits
    assert [p.text for p in merge_hits(hits, TEXTS)] == ["two\n\nthree", hits[1].text]


def test_hits_of_several_documents_are_never_merged():
    hits = [Chunk("ab", 0, 2, "x"), Chunk("bc", 1, 3, "y")]
    assert merge_hits(hits) == hits


@pytest.mark.parametrize("more", [{"context": "Heading"}, {"derived": True}])
def test_what_is_not_plain_stays_and_parts_nothing(more):
    special = span_chunk("a", 2, 8, **more)
    hits = [special, span_chunk("a", 0, 6), span_chunk("a", 4, 6), special]
    whole = span_chunk("a", 0, 10)
    assert merge_hits(hits, TEXTS) == [special, whole, special]


def test_one_hit_comes_back_as_it_is():
    chunk = Chunk("one", 0, 3, "a", metadata={"page": 3})
    assert merge_hits([chunk]) == [chunk] and merge_hits([chunk])[0].metadata == {"page": 3}
    assert merge_hits([]) == []


def test_a_passage_keeps_the_metadata_that_all_its_chunks_have():
    first = span_chunk("a", 0, 6, metadata={"page": 3, "kind": "text", "path": ["A"]})
    second = span_chunk("a", 4, 6, metadata={"page": 3, "kind": "list", "oversize": True})
    third = span_chunk("a", 8, 4, metadata={"path": ["A"], "kind": "text", "page": 4})
    assert merge_hits([first, second])[0].metadata == {"page": 3}
    assert merge_hits([third, first, second])[0].metadata == {}
    alike = [span_chunk("a", i, 6, metadata={"path": ["A"], "page": 3}) for i in (4, 0)]
    assert merge_hits(alike)[0].metadata == {"path": ["A"], "page": 3}


def test_a_chunk_inside_another_adds_nothing():
    outer, inner = span_chunk("a", 0, 12), span_chunk("a", 5, 3)
    assert merge_hits([inner, outer]) == [Chunk(outer.text, 0, 12, "a")]
    assert merge_hits(iter([outer, inner, span_chunk("a", 8, 6)]))[0].end == 14


def test_many_hits_are_merged_in_a_moment():
    text = "abcdefghij" * 3000
    found = windows(10, step=5)(Document(text, id="long"))
    assert [p.text for p in merge_hits(found[::-1])] == [text]
