"""Intervals, tests and verdicts: against slow definitions, and against what they promise."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chunking_lib.intervals import (
    Contrast,
    Interval,
    contrasts,
    holm,
    mean_interval,
    sign_flip_p,
)


def grouped(documents: int, questions: int) -> list[str]:
    return [f"d{document:02}" for document in range(documents) for _ in range(questions)]


# --- Interval ---------------------------------------------------------------------------


def test_an_interval_reads_as_percentages():
    assert str(Interval(0.5, 0.4, 0.625)) == "50.0 [40.0, 62.5]"
    assert str(Interval(-0.0123, -0.1, 1.0)) == "-1.2 [-10.0, 100.0]"


def test_what_rounds_to_zero_has_no_sign():
    assert str(Interval(-0.0001, -0.0004, 0.0004)) == "0.0 [0.0, 0.0]"


# --- mean_interval ----------------------------------------------------------------------


def test_mean_interval_by_hand():
    """One question a document: a bootstrap of eight coins, whose quantiles are known."""
    found = mean_interval([0.0, 1.0] * 4, list("abcdefgh"))
    assert found.mean == 0.5
    # Binomial(8, 1/2): P(X <= 0) = 0.4 %, P(X <= 1) = 3.5 %.
    assert (found.low, found.high) == (1 / 8, 7 / 8)


def test_questions_of_one_document_vary_too():
    found = mean_interval([0.0, 1.0] * 50, ["only"] * 100)
    assert found.low == pytest.approx(0.5 - 1.96 * 0.05, abs=0.01)
    assert found.high == pytest.approx(0.5 + 1.96 * 0.05, abs=0.01)


def test_alike_questions_of_a_document_are_no_more_than_one():
    """Ten times the same answer in each of 20 documents is no sample of 200."""
    few = mean_interval([0.0, 1.0] * 10, grouped(20, 1))
    many = mean_interval([0.0] * 10 + [1.0] * 10, grouped(2, 10))
    repeated = mean_interval(np.repeat([0.0, 1.0] * 10, 10).tolist(), grouped(20, 10))
    assert (repeated.low, repeated.high) == pytest.approx((few.low, few.high), abs=0.02)
    assert (many.low, many.high) == (0, 1)


def test_a_document_with_more_questions_counts_for_more():
    assert mean_interval([1.0, 1.0, 1.0, 0.0], ["a", "a", "a", "b"]).mean == 0.75


values_and_groups = st.lists(
    st.tuples(st.floats(0, 1), st.sampled_from("abcd")), min_size=1, max_size=20
)


@settings(max_examples=15)
@given(values_and_groups, st.integers(0, 3))
def test_the_interval_lies_within_the_values_and_is_the_same_twice(rows, seed):
    values, groups = [value for value, _ in rows], [group for _, group in rows]
    found = mean_interval(values, groups, seed=seed)
    assert found == mean_interval(values, groups, seed=seed)
    assert found.mean == pytest.approx(np.mean(values))
    slack = 1e-9
    assert min(values) - slack <= found.low <= found.high <= max(values) + slack


def test_another_seed_draws_others():
    values = np.random.default_rng(0).uniform(size=60).tolist()
    one, other = (mean_interval(values, grouped(20, 3), seed=seed) for seed in (0, 1))
    assert one.low != other.low and one.low == pytest.approx(other.low, abs=0.01)


@pytest.mark.parametrize(
    "call",
    [
        lambda: mean_interval([], []),
        lambda: mean_interval([0.5], []),
        lambda: mean_interval([0.5], ["a", "b"]),
        lambda: sign_flip_p([], []),
        lambda: sign_flip_p([0.5], ["a", "b"]),
        lambda: contrasts({"a": [0.5], "b": [0.5, 0.6]}, [("a", "b")], ["d"]),
    ],
)
def test_each_value_needs_its_document(call):
    with pytest.raises(ValueError, match="must be the same number, 1 or more"):
        call()


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_has_no_interval(value):
    """NaN would be a p of 0: no combination of signs is as large."""
    values, groups = [0.5, value], ["a", "b"]
    for call in (
        lambda: mean_interval(values, groups),
        lambda: sign_flip_p(values, groups),
        lambda: contrasts({"a": values, "b": [0.5, 0.5]}, [("a", "b")], groups),
        lambda: contrasts({"a": [0.5, 0.5], "b": values}, [("a", "b")], groups),
    ):
        with pytest.raises(ValueError, match=f"values has {value}, and must be finite"):
            call()


def simulated(rng: np.random.Generator, documents: int, questions: int) -> np.ndarray:
    """Scores around 0 whose documents differ as much as their questions."""
    own = np.repeat(rng.normal(size=documents), questions)
    return own + rng.normal(size=documents * questions)


@pytest.mark.slow
def test_the_interval_covers_a_known_mean_about_95_times_in_100():
    rng = np.random.default_rng(1)
    groups = grouped(30, 4)
    found = [mean_interval(simulated(rng, 30, 4).tolist(), groups) for _ in range(200)]
    covered = np.mean([one.low <= 0 <= one.high for one in found])
    assert 0.91 <= covered <= 0.99
    # If questions were drawn without their documents, it would be far from that.
    alone = [f"q{n:03}" for n in range(120)]
    naive = [mean_interval(simulated(rng, 30, 4).tolist(), alone) for _ in range(100)]
    assert np.mean([one.low <= 0 <= one.high for one in naive]) < 0.88


# --- holm -------------------------------------------------------------------------------

p_lists = st.lists(st.floats(0, 1), min_size=1, max_size=6)


@given(p_lists)
def test_holm_is_the_closed_test_of_bonferroni(ps):
    """A hypothesis falls if every set of hypotheses that holds it falls."""
    numbers = range(len(ps))
    sets = [s for size in range(1, len(ps) + 1) for s in itertools.combinations(numbers, size)]
    slow = [
        max(min(1.0, len(s) * min(ps[j] for j in s)) for s in sets if number in s)
        for number in numbers
    ]
    assert holm(ps) == slow


@given(st.data(), p_lists)
def test_holm_keeps_order_and_bounds(data, ps):
    adjusted = holm(ps)
    assert all(p <= found <= min(1, len(ps) * p) for p, found in zip(ps, adjusted, strict=True))
    order = data.draw(st.permutations(range(len(ps))))
    assert holm([ps[i] for i in order]) == [adjusted[i] for i in order]


def test_holm_by_hand():
    assert holm([]) == []
    assert holm([0.5]) == [0.5]
    assert holm([0.01, 0.02, 0.03, 0.04]) == pytest.approx([0.04, 0.06, 0.06, 0.06])
    assert holm([0.9, 0.6]) == [1.0, 1.0]


# --- sign_flip_p ------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(-5, 5), st.sampled_from("abcdefg")), min_size=1, max_size=20))
def test_sign_flip_p_is_full_enumeration(rows):
    """Tenths, so that ties are real: they must count as large in spite of rounding."""
    differences = [tenths / 10 for tenths, _ in rows]
    groups = [group for _, group in rows]
    names = sorted(set(groups))
    seen = abs(sum(tenths for tenths, _ in rows))
    large = [
        abs(sum(signs[names.index(group)] * tenths for tenths, group in rows)) >= seen
        for signs in itertools.product((-1, 1), repeat=len(names))
    ]
    assert sign_flip_p(differences, groups) == np.mean(large)


def test_sign_flip_p_by_hand():
    assert sign_flip_p([0.5], ["a"]) == 1  # one document shows nothing
    assert sign_flip_p([0.5] * 100, ["a"] * 100) == 1
    assert sign_flip_p([0.1] * 5, list("abcde")) == 2 / 32
    assert sign_flip_p([0.0] * 5, list("abcde")) == 1
    assert sign_flip_p([1.0, -1.0], ["a", "a"]) == 1


@given(st.lists(st.floats(-1, 1), min_size=4, max_size=20))
def test_sign_flip_p_has_two_sides_and_no_scale(differences):
    groups = [f"d{i % 5}" for i in range(len(differences))]
    p = sign_flip_p(differences, groups)
    assert 1 / 16 <= p <= 1
    assert sign_flip_p([-one for one in differences], groups) == p
    assert sign_flip_p([2 * one for one in differences], groups) == pytest.approx(p, abs=0.07)


def test_many_documents_are_sampled_and_agree_with_all():
    """13 documents have 8,192 combinations, which are tried here and sampled there."""
    rng = np.random.default_rng(3)
    for shift in (0.0, 0.3, 0.6):
        sums = rng.normal(shift, 1, size=13)
        signs = np.array(list(itertools.product((-1, 1), repeat=13)))
        exact = np.mean(np.abs(signs @ sums) >= abs(sums.sum()) - 1e-12)
        found = sign_flip_p(sums.tolist(), grouped(13, 1))
        assert found == pytest.approx(exact, abs=0.02) and found > 0
        assert found == sign_flip_p(sums.tolist(), grouped(13, 1))
    assert sign_flip_p([1.0] * 40, grouped(40, 1)) == pytest.approx(1 / 10_001)


@pytest.mark.parametrize("documents", [10, 20])
def test_p_is_uniform_where_there_is_no_difference(documents):
    rng = np.random.default_rng(documents)
    groups = grouped(documents, 3)
    ps = np.array([sign_flip_p(simulated(rng, documents, 3), groups) for _ in range(200)])
    # The largest distance between the distributions, by Kolmogorov; 1.63 would be 1 in 100.
    uniform = np.arange(1, len(ps) + 1) / len(ps)
    assert np.abs(np.sort(ps) - uniform).max() * math.sqrt(len(ps)) < 1.63


# --- contrasts --------------------------------------------------------------------------

GROUPS = grouped(20, 3)
NOISE = np.random.default_rng(5).normal(0, 0.02, size=60)
BASE = np.linspace(0.2, 0.8, 60)


def verdict(difference: np.ndarray, **options) -> Contrast:
    scores = {"new": (BASE + difference).tolist(), "old": BASE.tolist()}
    [found] = contrasts(scores, [("new", "old")], GROUPS, **options)
    return found


@pytest.mark.parametrize(
    ("difference", "expected"),
    [
        (NOISE + 0.1, "better"),
        (NOISE - 0.1, "worse"),
        (NOISE, "equivalent"),
        (NOISE * 0, "equivalent"),
        (NOISE * 20, "undecided"),
        (NOISE + 0.03, "better"),  # not within 3 points, and not 0
        (NOISE + 0.015, "equivalent"),  # surely above 0, and surely not worth having
    ],
)
def test_verdicts(difference, expected):
    found = verdict(difference)
    assert found.verdict == expected
    assert (found.name, found.baseline) == ("new", "old")
    assert found.difference.mean == pytest.approx(difference.mean())
    low, high = found.difference.low, found.difference.high
    assert found.difference.mean - low == pytest.approx(high - found.difference.mean)


def test_what_is_worth_having_decides():
    assert verdict(NOISE + 0.05).verdict == "better"
    assert verdict(NOISE + 0.05, worth=0.1).verdict == "equivalent"
    assert verdict(NOISE, worth=0.001).verdict == "undecided"


def test_an_interval_above_zero_needs_a_p_too():
    """Five documents cannot have a p below 2 in 32, however much they agree."""
    scores = {"new": [0.9] * 5, "old": [0.5] * 5}
    [found] = contrasts(scores, [("new", "old")], list("abcde"))
    assert found.difference.low > 0 and found.p == 2 / 32 and found.verdict == "undecided"


def test_the_other_way_round_is_the_other_verdict():
    scores = {"new": (BASE + NOISE + 0.1).tolist(), "old": BASE.tolist()}
    one, other = contrasts(scores, [("new", "old"), ("old", "new")], GROUPS)
    assert (one.verdict, other.verdict) == ("better", "worse")
    assert one.p == other.p
    assert one.difference.low == pytest.approx(-other.difference.high)


def test_more_contrasts_ask_for_more():
    """p is multiplied, and the intervals widen, by as much as they need to hold together."""
    rng = np.random.default_rng(2)
    scores = {name: rng.uniform(size=60).tolist() for name in "abcdef"}
    [alone] = contrasts(scores, [("a", "b")], GROUPS)
    among = contrasts(scores, [("a", "b"), ("c", "d"), ("e", "f")], GROUPS)[0]
    assert among.difference.mean == pytest.approx(alone.difference.mean)
    assert alone.p <= among.p <= 3 * alone.p
    assert among.difference.low < alone.difference.low
    ps = [
        sign_flip_p(np.subtract(scores[one], scores[other]), GROUPS)
        for one, other in ("ab", "cd", "ef")
    ]
    found = contrasts(scores, [("a", "b"), ("c", "d"), ("e", "f")], GROUPS)
    assert [one.p for one in found] == holm(ps)


@pytest.mark.slow
def test_all_intervals_together_cover_about_95_times_in_100():
    rng = np.random.default_rng(7)
    groups = grouped(30, 3)
    pairs = [("a", "z"), ("b", "z"), ("c", "z")]
    covered = []
    for _ in range(150):
        scores = {name: simulated(rng, 30, 3).tolist() for name in "abcz"}
        found = contrasts(scores, pairs, groups)
        covered.append(all(one.difference.low <= 0 <= one.difference.high for one in found))
    assert 0.90 <= np.mean(covered) <= 1.0


def test_contrasts_want_pairs_of_known_names():
    scores = {"a": [0.5], "b": [0.5]}
    with pytest.raises(ValueError, match="at least one pair"):
        contrasts(scores, [], ["d"])
    with pytest.raises(ValueError, match="pairs has 'x', and scores only a, b"):
        contrasts(scores, [("a", "x")], ["d"])
    assert len(contrasts(scores, iter([("a", "b")]), ["d"])) == 1


def test_few_questions_decide_nothing():
    for number, verdict in ((19, "undecided"), (20, "better")):
        scores = {"a": [0.9] * number, "b": [0.5] * number}
        groups = [str(i % 10) for i in range(number)]
        assert contrasts(scores, [("a", "b")], groups)[0].verdict == verdict


def test_with_few_documents_questions_are_the_units():
    scores = {"a": [0.9] * 30, "b": [0.5] * 30}
    [one] = contrasts(scores, [("a", "b")], ["only"] * 30)
    assert one.verdict == "better" and one.p < 0.01
