"""Scores of what was retrieved: by characters, by rank, and by where a text was cut."""

import json
import math
from collections import Counter

import ir_measures
import numpy as np
import pytest
from case_checks import CASES
from hypothesis import assume, given
from hypothesis import strategies as st
from nltk.metrics.segmentation import pk as nltk_pk
from nltk.metrics.segmentation import windowdiff as nltk_window_diff

from chunking_lib.metrics import (
    Span,
    SpanScores,
    auroc,
    mrr,
    ndcg,
    overlaps,
    pk,
    public_span_scores,
    size_of,
    span_scores,
    window_diff,
)


def spans_of(least: int, **options) -> st.SearchStrategy[list[Span]]:
    """Lists of spans in two short documents, so that they often meet, touch and repeat."""
    one = st.builds(
        lambda document, start, size: Span(document, start, start + size),
        st.sampled_from("ab"),
        st.integers(0, 30),
        st.integers(least, 12),
    )
    return st.lists(one, **options)


excerpt_lists = st.lists(spans_of(1, min_size=1, max_size=3), min_size=1, max_size=4)
retrieved_lists = spans_of(0, max_size=8)


def characters(spans) -> set[tuple[str, int]]:
    return {(document, i) for document, start, end in spans for i in range(start, end)}


def slow_scores(excerpts, retrieved) -> SpanScores:
    """The same with sets of characters."""
    sent = characters(retrieved)
    wanted = set()
    for places in excerpts:
        wanted |= max(
            (characters([place]) for place in places), key=lambda c: len(c & sent) / len(c)
        )
    anywhere = characters(place for places in excerpts for place in places)
    return SpanScores(
        len(wanted & sent) / len(wanted),
        len(anywhere & sent) / len(sent) if sent else 0.0,
        len(wanted & sent) / len(wanted | sent),
    )


# --- span_scores ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("retrieved", "expected"),
    [
        ([Span("a", 10, 20)], (1, 1, 1)),
        ([Span("a", 5, 15)], (0.5, 0.5, 1 / 3)),
        ([Span("a", 10, 15)], (0.5, 1, 0.5)),
        ([Span("a", 0, 40)], (1, 0.25, 0.25)),
        ([Span("a", 0, 10)], (0, 0, 0)),  # touching is no hit
        ([Span("a", 20, 30)], (0, 0, 0)),
        ([Span("b", 10, 20)], (0, 0, 0)),  # the same offsets of another document
        ([Span("a", 10, 14), Span("a", 14, 20)], (1, 1, 1)),
        ([Span("a", 8, 14), Span("a", 12, 20)], (1, 10 / 12, 10 / 12)),
        ([Span("a", 10, 20), Span("b", 0, 10)], (1, 0.5, 0.5)),
        ([Span("a", 15, 15)], (0, 0, 0)),
        ([], (0, 0, 0)),
    ],
)
def test_span_scores_by_hand(retrieved, expected):
    assert span_scores([[Span("a", 10, 20)]], retrieved) == pytest.approx(expected)


def test_two_excerpts_are_measured_by_their_characters():
    excerpts = [[Span("a", 0, 30)], [Span("b", 0, 10)]]
    assert span_scores(excerpts, [Span("b", 0, 10)]).recall == 0.25
    assert span_scores(excerpts, [Span("a", 0, 30)]).recall == 0.75


def test_a_copy_is_as_good():
    excerpt = [Span("a", 0, 10), Span("a", 50, 60)]
    assert span_scores([excerpt], [Span("a", 50, 60)]) == (1, 1, 1)
    # Two halves of different copies are half an answer; both copies are no noise.
    assert span_scores([excerpt], [Span("a", 0, 5), Span("a", 55, 60)]) == (0.5, 1, 1 / 3)
    assert span_scores([excerpt], [Span("a", 0, 10), Span("a", 50, 60)]) == (1, 1, 0.5)


def test_a_short_place_that_answers_as_well_counts_whole():
    """A part of the long place holds more characters, and less of the answer."""
    excerpt = [Span("a", 0, 100), Span("b", 0, 20)]
    assert span_scores([excerpt], [Span("a", 0, 30), Span("b", 0, 20)]).recall == 1.0
    assert span_scores([excerpt], [Span("b", 0, 20)]) == (1, 1, 1)


def test_two_excerpts_at_one_place_are_found_once():
    """An IoU of 2 is none."""
    same = [Span("a", 0, 10), Span("a", 20, 30)]
    assert span_scores([same, same[::-1]], [Span("a", 0, 10)]) == (1, 1, 1)
    assert span_scores([[Span("a", 0, 10)], [Span("a", 5, 15)]], [Span("a", 0, 15)]) == (1, 1, 1)


@given(excerpt_lists, retrieved_lists)
def test_span_scores_are_those_of_sets_of_characters(excerpts, retrieved):
    scores = span_scores(excerpts, retrieved)
    assert scores == slow_scores(excerpts, retrieved)
    assert all(0 <= score <= 1 for score in scores)
    assert scores.iou <= min(scores.recall, scores.precision)


@given(st.data(), excerpt_lists, retrieved_lists)
def test_order_repeats_and_cuts_do_not_matter(data, excerpts, retrieved):
    scores = span_scores(excerpts, retrieved)
    assert span_scores(excerpts, data.draw(st.permutations(retrieved))) == scores
    assert span_scores(excerpts, retrieved * 2) == scores
    at = [data.draw(st.integers(start, end)) for _, start, end in retrieved]
    halves = [Span(d, s, cut) for (d, s, _), cut in zip(retrieved, at, strict=True)]
    halves += [Span(d, cut, e) for (d, _, e), cut in zip(retrieved, at, strict=True)]
    assert span_scores(excerpts, halves) == scores


@given(spans_of(1, min_size=1, max_size=3), retrieved_lists, retrieved_lists)
def test_more_retrieved_is_no_less_found(places, retrieved, more):
    before = span_scores([places], retrieved).recall
    assert span_scores([places], retrieved + more).recall >= before
    assert span_scores([places], [*retrieved, places[-1]]).recall == 1.0


def test_spans_that_end_before_they_start():
    upside, fine = Span("a", 9, 5), Span("a", 0, 20)
    for call in (
        lambda: span_scores([[fine]], [upside]),
        lambda: span_scores([[upside]], [fine]),
        lambda: public_span_scores([fine], [fine, upside]),
        lambda: public_span_scores([upside, fine], [fine]),
        lambda: size_of([upside]),
    ):
        with pytest.raises(ValueError, match="start=9 of a span in 'a' must be end=5 or less"):
            call()


@given(excerpt_lists, retrieved_lists)
def test_spans_may_come_one_by_one(excerpts, retrieved):
    scores = span_scores((iter(places) for places in excerpts), iter(retrieved))
    assert scores == span_scores(excerpts, retrieved)
    wanted = [places[0] for places in excerpts]
    public = public_span_scores(iter(wanted), iter(retrieved))
    assert public == public_span_scores(wanted, retrieved)


# --- cases ------------------------------------------------------------------------------


def _case(name: str) -> tuple[dict, dict]:
    case = CASES[name]
    return json.loads(case["input"]), case["right_value"]["exact"]


def test_eval_overlapping_chunks():
    given_spans, exact = _case("eval_overlapping_chunks")
    wanted = [Span("", *place) for place in given_spans["references"]]
    retrieved = [Span("", *place) for place in given_spans["retrieved"]]
    by_sets = span_scores([[place] for place in wanted], retrieved)
    assert by_sets == (exact["recall"], exact["precision by sets"], exact["iou by sets"])
    repeats = public_span_scores(wanted, retrieved)
    assert repeats == (exact["recall"], exact["precision with repeats"], exact["iou with repeats"])


@given(spans_of(1, min_size=1, max_size=3), retrieved_lists)
def test_eval_overlapping_chunks_counted_once_or_as_often_as_sent(wanted, retrieved):
    """Sets and repeats are the same where nothing overlaps; where it does, repeats cost."""
    sets = span_scores([[place] for place in wanted], retrieved)
    repeats = public_span_scores(wanted, retrieved)
    assert repeats.precision <= sets.precision and repeats.iou <= sets.iou
    sizes = sum(end - start for _, start, end in retrieved)
    if size_of(retrieved) == sizes:
        assert repeats.precision == sets.precision
        if size_of(wanted) == sum(end - start for _, start, end in wanted):
            assert repeats == sets


def test_eval_nothing_retrieved():
    given_spans, exact = _case("eval_nothing_retrieved")
    wanted = [Span("", *place) for place in given_spans["references"]]
    expected = (exact["recall"], exact["precision"], exact["iou"])
    assert given_spans["retrieved"] == []
    assert span_scores([[place] for place in wanted], []) == expected
    assert public_span_scores(wanted, []) == expected


@pytest.mark.parametrize("score", [span_scores, public_span_scores])
def test_eval_nothing_retrieved_and_nothing_wanted(score):
    with pytest.raises(ValueError, match="must hold at least one"):
        score([], [Span("a", 0, 1)])
    with pytest.raises(ValueError, match="must hold at least one"):
        score([], [])


def test_eval_nothing_retrieved_of_nothing():
    """Spans without characters, excerpts without places, lists without results."""
    empty = Span("a", 5, 5)
    assert span_scores([[empty]], [Span("a", 0, 9)]) == (0, 0, 0)
    assert span_scores([[empty]], [empty]) == span_scores([[empty]], []) == (0, 0, 0)
    assert public_span_scores([empty], [empty]) == public_span_scores([empty], []) == (0, 0, 0)
    with pytest.raises(ValueError, match="at least one place for each excerpt"):
        span_scores([[Span("a", 0, 1)], []], [])
    assert mrr([]) == ndcg([], 0, 5) == ndcg([], 3, 5) == 0.0
    assert size_of([]) == 0 and not overlaps(Span("a", 0, 1), [])


def test_eval_ndcg_short_list():
    ranking, exact = _case("eval_ndcg_short_list")
    relevant = [result in ranking["relevant"] for result in ranking["retrieved"]]
    found = ndcg(relevant, len(ranking["relevant"]), ranking["k"])
    assert found == pytest.approx(exact["ndcg"], abs=1e-15)


@given(st.integers(1, 12), st.integers(1, 12), st.integers(1, 12))
def test_eval_ndcg_short_list_is_never_ideal(found, missing, k):
    """A list of nothing but hits is ideal only if it fills k, or has all there are."""
    assert (ndcg([True] * found, found + missing, k) == 1.0) == (found >= k)
    assert ndcg([True] * found, found, k) == 1.0


def test_eval_windowdiff_edges():
    inputs, exact = _case("eval_windowdiff_edges")
    for score in (window_diff, pk):
        for name, value in exact.items():
            assert score(*inputs[name]) == value
            assert math.copysign(1, score(*inputs[name])) == 1  # never -0.0
        for name in inputs.keys() - exact.keys():
            with pytest.raises(ValueError, match="k"):
                score(*inputs[name])


@pytest.mark.parametrize("score", [window_diff, pk])
@given(st.text("01", max_size=9), st.text("01", max_size=9), st.integers(-3, 12))
def test_eval_windowdiff_edges_raise_and_all_else_is_a_share(score, one, other, k):
    if len(one) != len(other) or not 1 <= k <= len(one):
        with pytest.raises(ValueError, match="k"):
            score(one, other, k)
    else:
        assert 0 <= score(one, other, k) <= 1
        assert score(one, one, k) == 0


@pytest.mark.parametrize("score", [window_diff, pk])
def test_eval_windowdiff_edges_of_marks(score):
    with pytest.raises(ValueError, match="nothing but 0 and 1"):
        score("0120", "0100")
    with pytest.raises(ValueError, match="found"):
        score([0, 1], [0, 2])
    assert score([0, True, np.int64(0), 0], "0100") == 0


# --- public_span_scores, overlaps, size_of ----------------------------------------------


@given(spans_of(1, min_size=1, max_size=4), retrieved_lists)
def test_public_scores_count_what_was_sent_as_often_as_it_was(wanted, retrieved):
    found = characters(wanted) & characters(retrieved)
    sent = sum(Counter(c for s in retrieved for c in characters([s])).values())
    size = sum(end - start for _, start, end in wanted)
    missed = sum(len(characters([place]) - found) for place in wanted)
    scores = public_span_scores(wanted, retrieved)
    assert scores.recall == len(found) / size
    assert scores.precision == (len(found) / sent if sent else 0)
    assert scores.iou == (len(found) / (sent + missed) if sent + missed else 0)


def test_references_that_overlap_are_wanted_twice_in_public():
    scores = public_span_scores([Span("a", 0, 10), Span("a", 5, 15)], [Span("a", 0, 15)])
    assert scores == (0.75, 1.0, 1.0)


@given(retrieved_lists, spans_of(0, min_size=1, max_size=1))
def test_overlaps_and_size_are_those_of_sets(spans, one):
    assert overlaps(one[0], spans) == bool(characters(one) & characters(spans))
    assert size_of(spans) == len(characters(spans))


# --- by rank ----------------------------------------------------------------------------


def test_mrr_and_ndcg_by_hand():
    assert mrr([True]) == 1 and mrr([False, False, True]) == 1 / 3 and mrr([False] * 3) == 0
    # Hits at 1 and 3 of three that exist: (1 + 1/2) / (1 + 1/log2(3) + 1/2).
    assert ndcg([True, False, True], 3, 3) == pytest.approx(1.5 / (1.5 + 1 / math.log2(3)))
    assert ndcg([False, True], 1, 1) == 0
    assert ndcg([False, True], 1, 2) == pytest.approx(1 / math.log2(3))


def test_ndcg_wants_a_k_and_all_that_is_relevant():
    with pytest.raises(ValueError, match="k=0 must be 1 or more"):
        ndcg([True], 1, 0)
    with pytest.raises(ValueError, match="total=1 must be 2 or more"):
        ndcg([True, True], 1, 5)


@given(st.lists(st.booleans(), min_size=1, max_size=25), st.integers(0, 5), st.integers(1, 12))
def test_mrr_ndcg_and_hits_are_those_of_ir_measures(relevant, unfound, k):
    assume(any(relevant) or unfound)
    qrels = [ir_measures.Qrel("q", str(i), int(hit)) for i, hit in enumerate(relevant)]
    qrels += [ir_measures.Qrel("q", f"unfound {i}", 1) for i in range(unfound)]
    run = [ir_measures.ScoredDoc("q", str(i), -float(i)) for i in range(len(relevant))]
    wanted = [ir_measures.RR, ir_measures.nDCG @ k, ir_measures.Success @ k]
    theirs = ir_measures.calc_aggregate(wanted, qrels, run)
    ours = [
        mrr(relevant),
        ndcg(relevant, sum(relevant) + unfound, k),
        any(relevant[:k]),
    ]
    assert ours == pytest.approx([theirs[measure] for measure in wanted], abs=1e-9)


scores_lists = st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=8)


@given(scores_lists, scores_lists)
def test_auroc_counts_pairs(higher, lower):
    found = auroc(higher, lower)
    pairs = [(a > b) + 0.5 * (a == b) for a in higher for b in lower]
    assert found == pytest.approx(np.mean(pairs))
    assert auroc(lower, higher) == pytest.approx(1 - found)
    assert auroc([a + 7 for a in higher], lower) == 1.0


def test_auroc_needs_both_sides():
    with pytest.raises(ValueError, match="higher has 0 values, lower 1"):
        auroc([], [1.0])
    with pytest.raises(ValueError, match="higher has 1 values, lower 0"):
        auroc([1.0], [])


@given(scores_lists, scores_lists)
def test_auroc_takes_arrays_and_infinity(higher, lower):
    assert auroc(np.array(higher), np.array(lower)) == auroc(higher, lower)
    assert auroc([math.inf], [*lower, math.inf]) == pytest.approx(1 - 0.5 / (len(lower) + 1))


def test_auroc_of_what_is_no_number():
    for higher, lower in (([1.0, math.nan], [0.0]), ([1.0], [math.nan])):
        with pytest.raises(ValueError, match="no NaN"):
            auroc(higher, lower)


# --- by cuts ----------------------------------------------------------------------------


@given(st.data(), st.integers(1, 30))
def test_pk_and_window_diff_are_those_of_nltk_where_it_is_right(data, size):
    """It takes a k of 0 too, a pk above the length, and a mark at the end of the text."""
    marks = st.text("01", min_size=size - 1, max_size=size - 1).map(lambda text: text + "0")
    reference, found = data.draw(marks), data.draw(marks)
    k = data.draw(st.integers(1, size))
    assert pk(reference, found, k) == pytest.approx(nltk_pk(reference, found, k))
    theirs = nltk_window_diff(reference, found, k)
    assert window_diff(reference, found, k) == pytest.approx(theirs)
    assert pk(reference, found, k) <= window_diff(reference, found, k)
    as_list = [mark == "1" for mark in reference]
    assert window_diff(as_list, [int(mark) for mark in found], k) == pytest.approx(theirs)


@pytest.mark.parametrize("score", [pk, window_diff])
@given(st.text("01", min_size=1, max_size=12), st.text("01", max_size=12), st.data())
def test_the_last_unit_ends_a_segment_marked_or_not(score, reference, found, data):
    found = found[: len(reference)].ljust(len(reference), "0")
    k = data.draw(st.none() | st.integers(1, len(reference)))
    value = score(reference, found, k)
    assert {score(reference[:-1] + a, found[:-1] + b, k) for a in "01" for b in "01"} == {value}


@pytest.mark.parametrize("score", [pk, window_diff])
def test_the_width_of_the_window_costs_nothing(score):
    """Each mark is read once; with windows added up one by one this would take hours."""
    marks = [0] * 1_000_000
    assert score(marks, marks) == score(marks, marks, k=500_000) == 0


@given(st.data(), st.integers(1, 12))
def test_the_windows_are_the_pairs_so_far_apart_and_one_more(data, size):
    """n - k pairs of units; then the last unit but k - 1, and the last."""
    marks = st.text("01", min_size=size, max_size=size)
    reference, found = data.draw(marks), data.draw(marks)
    k = data.draw(st.integers(1, size))
    pairs = [(i, i + k) for i in range(size - k)] + [(size - k, size - 1)]
    wrong = sum(("1" in reference[a:b]) != ("1" in found[a:b]) for a, b in pairs)
    assert pk(reference, found, k) == wrong / (size - k + 1)
    more = sum(reference[a:b].count("1") != found[a:b].count("1") for a, b in pairs)
    assert window_diff(reference, found, k) == more / (size - k + 1)


def test_an_end_too_many_is_forgiven_by_pk_only():
    """Two ends where there is one: each window of two has one or more in both."""
    assert pk("0010", "0110", k=4) == 0
    assert window_diff("0010", "0110", k=4) == 1


def test_the_default_distance_is_half_a_mean_segment():
    """Three segments of four units, whether or not the end of the text is marked."""
    for reference in ("000100010000", "000100010001"):
        for score in (pk, window_diff):
            found = "001000000100"
            assert score(reference, found) == score(reference, found, k=2)
    assert pk("0", "0") == 0
    # One segment of nine: half of it is 4 (4.5, rounded to even).
    assert pk("000000000", "000010000") == pk("000000000", "000010000", k=4)


def test_no_units_have_no_cuts():
    with pytest.raises(ValueError, match="one unit or more"):
        pk("", "")
