r"""Boundaries, against all of the text read with \X."""

import random

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st
from reference import clusters
from strategies import texts

from chunking_lib.boundaries import CLUSTER, Boundaries

# At least two code points of each class of the annex, and of the properties that its rules name.
CLASSES = {
    "CR": "\r",
    "LF": "\n",
    "Control": "\x00\u200b\u2028\ud800\u00ad",
    "Extend": "\u0301\u0308\u200c\ufe0f\U0001f3fd\u0ddf",
    "ZWJ": "\u200d",
    "Regional_Indicator": "🇩🇪",
    "Prepend": "\u0600\u0605\u0d4e\U000110bd",
    "SpacingMark": "\u0903\u0e33\u093e\u0eb3",
    "L": "\u1100\ua960",
    "V": "\u1161\ud7b0",
    "T": "\u11a8\ud7cb",
    "LV": "\uac00\uac1c",
    "LVT": "\uac01\uac1d",
    "pictograph": "❤👩🌈\u00a9",
    "Indic consonant": "कषরકഅ\u1000\u1780",
    "Indic linker": "\u094d\u09cd\u0acd\u0d4d\u1039\u17d2",
    "Indic extend": "\u093c\u0900",
    "letter": "aéक猫กß\u0294",
    "space": " \u00a0\u3000",
    "other": "1.-\U0010ffff\ue000",
}
INTERESTING = st.lists(st.sampled_from([*"".join(CLASSES.values())]), max_size=30).map("".join)


def places_of(text: str) -> list[int]:
    return sorted(clusters(text))


def check(text: str, order: list[int]) -> None:
    """Ask for each place in `order`; the answers must not depend on what was asked before."""
    found, places = Boundaries(text), places_of(text)
    for place in order:
        held = min(max(place, 0), len(text))
        before = max(p for p in places if p <= held)
        after = min(p for p in places if p >= held)
        assert found.before(place) == before, (text, place)
        if 0 <= place <= len(text):
            assert found.at(place) == (place in places), (text, place)
            assert found.after(place) == after, (text, place)


@pytest.mark.parametrize("left", CLASSES)
@pytest.mark.parametrize("right", CLASSES)
def test_every_pair_of_classes(left, right):
    for a in CLASSES[left]:
        for b in CLASSES[right]:
            for text in (a + b, f"x{a}{b}x", a + b + a + b, a * 3 + b * 3, b + a + b):
                check(text, list(range(len(text) + 1)))


@given(INTERESTING | texts, st.randoms(use_true_random=False))
def test_as_the_whole_text_read_in_any_order(text, chance):
    order = [*range(-2, len(text) + 3)] * 2
    chance.shuffle(order)
    check(text, order)


@given(st.text("a\r\n\x00 ", max_size=30))
def test_in_ascii_only_crlf_belongs_together(text):
    check(text, [*range(len(text) + 1)])
    assert Boundaries(text).free == ("\r" not in text)


@given(texts)
def test_free_means_that_every_place_is_a_boundary(text):
    if Boundaries(text).free:
        assert places_of(text) == [*range(len(text) + 1)]


@pytest.mark.parametrize(
    "cluster",
    [
        "\r\n",
        "e\u0301\u0302\u0303",
        "🇩🇪",
        "👩\u200d👩\u200d👧\u200d👦",
        "👍🏽",
        "❤\ufe0f",
        "한",
        "\u1100\u1161\u11a8",
        "क्षि",
        "क्\u200dष",
        "\u0600\u06001",
        " \u0301",
        "🏴\U000e0067\U000e0062\U000e007f",
        "กำ",
    ],
    ids=ascii,
)
def test_what_a_reader_sees_as_one_character(cluster):
    for text in (cluster, f"ab{cluster}cd", f"{cluster} {cluster}"):
        found, start = Boundaries(text), text.index(cluster)
        for place in range(start + 1, start + len(cluster)):
            assert found.before(place) == start
            assert found.after(place) == start + len(cluster)


@pytest.mark.parametrize(
    "unit", ["🇩", "\u0301", "\u200d", "ก", "\u1100", "क\u094d", "👩\u200d", "\u0600"], ids=ascii
)
def test_giant_runs(unit):
    # \X itself, to compare with, takes quadratic time for flags.
    text = f"a {unit * (3_000 if unit == '🇩' else 20_000)} b"
    places, found = places_of(text), Boundaries(text)
    chance = random.Random(7)
    inside = set(places)
    for place in chance.sample(range(len(text)), 500):
        before = found.before(place)
        assert before in inside and before <= place
        assert found.at(place) == (place in inside)
        assert found.after(place) in inside


def test_a_giant_row_of_flags_is_read_at_once():
    r"""\X counts the flags before each flag: minutes for this text, where CLUSTER takes a moment.

    The limit is there to end the test; it is no measure of speed.
    """
    assert CLUSTER.findall("🇩🇪" * 100_000 + "🇩", timeout=30) == ["🇩🇪"] * 100_000 + ["🇩"]


@given(st.text("🇩🇪a\u0301\u200d\u0600\u0903❤", max_size=30) | INTERESTING | texts)
def test_clusters_are_those_of_the_annex(text):
    assert CLUSTER.findall(text) == regex.findall(r"\X", text)
