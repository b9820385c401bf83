"""Chunks, documents, and the check that finds broken promises."""

import copy
import dataclasses
import pickle

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st
from strategies import texts

from chunking_lib.character import split_characters
from chunking_lib.chunk import (
    Chunk,
    Document,
    check_chunks,
    is_blank,
    make_chunk,
    realised_overlap,
    text_and_source,
)

# --- is_blank ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "blank",
    [
        "",
        " ",
        "\t\n\x0b\x0c\r",
        "\x1c\x1d\x1e\x1f",
        "\x85\u00a0\u2028\u3000",
        "\u200b\ufeff\u00ad",
        "\u200d\ufe0f",
        "\u2060\u180e",
        "\U000e0001",
        "\u115f\u3164",
    ],
    ids=ascii,
)
def test_what_shows_nothing_is_blank(blank):
    assert is_blank(blank)
    assert not is_blank(f"{blank}a{blank}")


@pytest.mark.parametrize(
    "shown", ["a", ".", "猫", "\u0301", "\x00", "\x7f", "\ud800", "\u0600", "🇩"], ids=ascii
)
def test_what_shows_something_is_not_blank(shown):
    assert not is_blank(shown)


@given(texts)
def test_white_space_as_python_knows_it_is_blank(text):
    """Else a chunk could be empty after `strip()`."""
    assert is_blank("".join(character for character in text if character.isspace()))
    assert not text.strip() or is_blank(text) == all(map(is_blank, text))


# --- Chunk and Document -----------------------------------------------------------------


def test_a_chunk_cannot_be_changed():
    chunk = Chunk("abc", 0, 3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        chunk.text = "abd"
    with pytest.raises((AttributeError, TypeError)):
        chunk.other = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        Document("a").text = "b"


@pytest.mark.parametrize(("start", "end"), [(-1, 2), (3, 0), (0, 2), (0, 4), (-3, 0)])
def test_offsets_must_match_the_text(start, end):
    with pytest.raises(ValueError, match=r"start|end"):
        Chunk("abc", start, end)


def test_a_rebuilt_text_may_have_another_length():
    assert Chunk("abcdef", 0, 3, derived=True).end == 3
    with pytest.raises(ValueError, match="derived=True"):
        Chunk("abcdef", 0, 3)
    with pytest.raises(ValueError, match="start"):
        Chunk("abcdef", 3, 0, derived=True)


def test_the_context_stands_in_front_of_the_text_to_embed():
    assert Chunk("abc", 0, 3).embedding_text == "abc"
    assert Chunk("abc", 0, 3, context="Fares").embedding_text == "Fares\n\nabc"


@pytest.mark.parametrize("text", [None, 3, b"abc", ["abc"]])
def test_only_a_text_can_be_split(text):
    with pytest.raises(ValueError, match="must be a str"):
        Document(text)
    with pytest.raises(ValueError, match="must be a str or a Document"):
        text_and_source(text)
    with pytest.raises(ValueError, match="must be a str or a Document"):
        check_chunks(text, [])


def test_text_and_source():
    assert text_and_source("abc") == ("abc", "")
    assert text_and_source(Document("abc", id="x")) == ("abc", "x")


def test_the_fast_way_makes_the_same_chunk():
    """`make_chunk` goes round the guard of the class; nothing may tell."""
    fast, slow = make_chunk("abc", 2, 5, "x"), Chunk("abc", 2, 5, "x")
    assert fast == slow and hash(fast) == hash(slow) and repr(fast) == repr(slow)
    assert type(fast) is Chunk
    assert dataclasses.asdict(fast) == dataclasses.asdict(slow)
    assert dataclasses.replace(fast, context="c") == Chunk("abc", 2, 5, "x", "c")
    assert copy.deepcopy(fast) == pickle.loads(pickle.dumps(fast)) == slow
    with pytest.raises(dataclasses.FrozenInstanceError):
        fast.start = 0


def test_chunks_do_not_share_their_metadata():
    first, second = split_characters("abcd", size=2)
    first.metadata["kind"] = "table"
    assert second.metadata == {} and Chunk("a", 0, 1).metadata == {}


def test_every_field_of_a_chunk_is_in_the_draft():
    chunk = make_chunk("abc", 0, 3, "")
    for field in dataclasses.fields(Chunk):
        getattr(chunk, field.name)


# --- check_chunks -----------------------------------------------------------------------

TEXT = "one e\u0301 two\r\nend"  # offsets: one 0-3, é 4-6, two 7-10, CRLF 10-12, end 12-15


def chunk(start: int, end: int, **fields) -> Chunk:
    return Chunk(TEXT[start:end], start, end, **fields)


@pytest.mark.parametrize(
    ("chunks", "options", "fault"),
    [
        ([Chunk("xxx", 0, 3), chunk(4, 15)], {}, "chunk 1 is not the text at 0:3"),
        ([chunk(4, 15), chunk(0, 3)], {}, "chunk 2 is out of order"),
        ([chunk(0, 12), chunk(0, 15)], {}, "chunk 2 is out of order or lies inside"),
        ([chunk(0, 15), chunk(7, 15)], {}, "chunk 2 is out of order or lies inside"),
        ([chunk(0, 6), chunk(6, 7), chunk(7, 15)], {}, "chunk 2 is blank"),
        ([chunk(0, 5), chunk(5, 15)], {}, "chunk 1 cuts a grapheme cluster"),
        ([chunk(0, 11), chunk(11, 15)], {}, "chunk 2 cuts a grapheme cluster"),
        ([chunk(4, 15)], {}, "lost: 'one' at 0"),
        ([chunk(0, 3), chunk(7, 15)], {}, "lost: 'e\u0301' at 4"),
        ([chunk(0, 10)], {}, "lost: 'end' at 12"),
        ([], {}, "lost: "),
        ([chunk(0, 10), chunk(10, 15)], {"size": 9}, "chunk 1 is 10 long, over 9"),
        (
            [chunk(0, 3), chunk(3, 15)],
            {"size": 2, "length": lambda t: len(t.split())},
            "chunk 2 is 3 long",
        ),
        (
            [chunk(0, 4), chunk(4, 6), chunk(6, 10), chunk(12, 15)],
            {"size": 1},
            "chunk 2 is over 1 and not marked",
        ),
        (
            [chunk(0, 7), chunk(4, 15)],
            {"overlap": 2},
            "chunk 2 shares 3 with the one before, over 2",
        ),
    ],
)
def test_each_broken_promise_is_found(chunks, options, fault):
    assert any(found.startswith(fault) for found in check_chunks(TEXT, chunks, **options))


@pytest.mark.parametrize(
    ("chunks", "options"),
    [
        ([chunk(0, 15)], {"size": 15, "overlap": 0}),
        ([chunk(0, 3), chunk(4, 6), chunk(7, 10), chunk(12, 15)], {"size": 3, "overlap": 0}),
        ([chunk(0, 7), chunk(4, 15)], {"size": 11, "overlap": 3}),
        ([chunk(0, 4), chunk(4, 6, metadata={"oversize": True}), chunk(6, 15)], {}),
        ((c for c in [chunk(0, 15)]), {"size": 15}),
    ],
)
def test_kept_promises_are_not_faulted(chunks, options):
    assert check_chunks(TEXT, chunks, **options) == []
    assert check_chunks("", []) == check_chunks(" \n\u200b", []) == []


def test_a_single_cluster_may_be_too_long_if_it_is_marked():
    text = "👩\u200d👩\u200d👧"
    marked = Chunk(text, 0, 5, metadata={"oversize": True})
    assert check_chunks(text, [marked], size=1) == []
    assert len(check_chunks(text, [Chunk(text, 0, 5)], size=1)) == 1
    twice = Chunk(text * 2, 0, 10, metadata={"oversize": True})
    assert len(check_chunks(text * 2, [twice], size=1)) == 1


def test_a_rebuilt_text_is_not_compared():
    assert check_chunks("a,b", [Chunk("[a, b]", 0, 3, derived=True)]) == []


@given(st.data(), texts)
def test_a_character_taken_away_is_missed(data, text):
    """Chunks of one cluster each; without any one that shows something, text is lost."""
    clusters, at = [], 0
    for cluster in regex.findall(r"\X", text):
        clusters.append(Chunk(cluster, at, at + len(cluster)))
        at += len(cluster)
    shown = [c for c in clusters if not is_blank(c.text)]
    assert check_chunks(text, shown) == []
    if shown:
        gone = data.draw(st.sampled_from(shown))
        assert check_chunks(text, [c for c in shown if c is not gone]) != []


# --- realised_overlap -------------------------------------------------------------------


def test_realised_overlap_counts_characters_and_gaps():
    assert realised_overlap([]) == realised_overlap([chunk(0, 3)]) == []
    assert realised_overlap([chunk(0, 7), chunk(4, 10), chunk(10, 11), chunk(12, 15)]) == [3, 0, -1]
