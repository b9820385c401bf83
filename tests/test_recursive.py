"""Recursive splitting: the contract, the short reference, LangChain's splitter, hierarchies."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_text_splitters import RecursiveCharacterTextSplitter
from promises import assert_promises
from reference import recursive_spans
from strategies import (
    any_text,
    ascii_text,
    keeps,
    odd_text,
    plain_text,
    run_text,
    separator_lists,
    size_and_overlap,
    sizes,
    texts,
    windows_text,
)

from chunking_lib.chunk import Document, check_chunks, is_blank
from chunking_lib.length import token_length
from chunking_lib.models import load_tokenizer
from chunking_lib.recursive import DEFAULT_SEPARATORS, split_hierarchy, split_recursive
from chunking_lib.separators import for_line_ends

LENGTHS = {
    "characters": len,
    "MiniLM": token_length(load_tokenizer()),
    "cl100k": token_length(load_tokenizer("cl100k_base")),
    "quarters": lambda text: len(text) // 4,
    "words": lambda text: len(text.split()),
    "letters": lambda text: sum(not character.isspace() for character in text),
}


def read(chunks):
    return [chunk.text for chunk in chunks]


def spans(chunks):
    return [(chunk.start, chunk.end) for chunk in chunks]


# --- the contract -----------------------------------------------------------------------


@pytest.mark.parametrize("name", LENGTHS)
@pytest.mark.parametrize(
    "source",
    [any_text, odd_text, plain_text, windows_text, run_text],
    ids=[
        "any",
        "odd",
        "plain",
        "windows",
        "run",
    ],
)
@given(data=st.data(), size_and_overlap=size_and_overlap, keep=st.sampled_from(["start", "end"]))
def test_every_promise_is_kept(name, source, data, size_and_overlap, keep):
    (size, overlap), length = size_and_overlap, LENGTHS[name]
    assert_promises(
        lambda text: split_recursive(text, size=size, overlap=overlap, length=length, keep=keep),
        data.draw(source),
        size=size,
        overlap=overlap,
        length=length,
    )


@pytest.mark.parametrize("name", LENGTHS)
@given(
    text=texts,
    size_and_overlap=size_and_overlap,
    separators=separator_lists,
    keep=keeps,
    strip=st.booleans(),
)
def test_every_promise_is_kept_with_any_separators(
    name, text, size_and_overlap, separators, keep, strip
):
    (size, overlap), length = size_and_overlap, LENGTHS[name]
    assert_promises(
        lambda text: split_recursive(
            text,
            size=size,
            overlap=overlap,
            length=length,
            separators=separators,
            keep=keep,
            strip=strip,
        ),
        text,
        size=size,
        overlap=overlap,
        length=length,
        dropped=(lambda gap: "") if keep == "none" else None,
    )


@given(st.lists(st.text("abc猫é", min_size=1, max_size=9)), sizes)
def test_only_the_separators_asked_for_are_dropped(words, size):
    text = "-".join(words)
    for chunks in (
        split_recursive(text, size=size, separators=["-"], keep="none"),
        split_recursive(text, size=size, separators=["-", ""], overlap=size // 3, keep="none"),
    ):
        held = {place for chunk in chunks for place in range(chunk.start, chunk.end)}
        assert {c for place, c in enumerate(text) if place not in held} <= {"-"}
        assert all(set(chunk) - {"-"} for chunk in read(chunks))


@pytest.mark.parametrize("name", ["characters", "MiniLM", "quarters", "words"])
@pytest.mark.parametrize(
    "unit",
    ["a", "猫", "e\u0301", "🇩🇪", "\u0301", "\r\n", " ", "\x00", "\u200b", "\ud800", "ก", "9"],
    ids=ascii,
)
def test_giant_unbroken_runs(name, unit):
    text = "begin " + unit * (100_000 // len(unit)) + " end"
    length = LENGTHS[name]
    chunks = split_recursive(text, size=1000, overlap=100, length=length)
    # `check_chunks` reads each overlap; the promises about single chunks are enough here.
    assert chunks[0].text.startswith("begin") and chunks[-1].text.endswith("end")
    assert spans(chunks) == sorted(set(spans(chunks)))
    assert all(length(c.text) <= 1000 or c.metadata == {"oversize": True} for c in chunks)
    reached = 0
    for chunk in chunks:
        assert is_blank(text[reached : chunk.start])
        assert text[chunk.start : chunk.end] == chunk.text
        reached = chunk.end
    assert reached == len(text)


# --- as the reference -------------------------------------------------------------------


@pytest.mark.parametrize("name", ["characters", "quarters", "bytes", "squares", "two specials"])
@given(text=texts, size_and_overlap=size_and_overlap, separators=separator_lists, keep=keeps)
def test_parity_with_the_short_reference(name, text, size_and_overlap, separators, keep):
    """Whatever the implementation does, it returns what the definition says."""
    size, overlap = size_and_overlap
    length = {
        "characters": len,
        "quarters": lambda text: len(text) // 4,
        "bytes": lambda text: len(text.encode("utf-8", "surrogatepass")),
        "squares": lambda text: len(text) ** 2,
        "two specials": lambda text: len(text) + 2,
    }[name]
    if name != "characters":
        overlap = 0  # the reference takes an overlap for exact in characters
    levels = [for_line_ends(separator, text) for separator in separators]
    found = split_recursive(
        text, size=size, overlap=overlap, length=length, separators=separators, keep=keep
    )
    assert spans(found) == recursive_spans(text, size, levels, keep, length, overlap)


@given(texts, size_and_overlap, keeps)
def test_parity_with_the_short_reference_by_default(text, size_and_overlap, keep):
    size, overlap = size_and_overlap
    levels = [for_line_ends(separator, text) for separator in DEFAULT_SEPARATORS]
    found = split_recursive(text, size=size, overlap=overlap, keep=keep)
    assert spans(found) == recursive_spans(text, size, levels, keep, overlap=overlap)


@pytest.mark.parametrize("name", ["MiniLM", "words", "letters"])
@given(
    text=plain_text | windows_text, size=st.integers(1, 12), keep=st.sampled_from(["start", "end"])
)
def test_parity_with_the_short_reference_where_words_add_up(name, text, size, keep):
    """By words and lines. (Where no separator stands, the reference tries every character, and a
    part of a word can be more tokens than the word.)"""
    length = LENGTHS[name]
    levels = [for_line_ends(separator, text) for separator in ("\n\n", "\n", " ")]
    found = split_recursive(
        text, size=size, length=length, separators=["\n\n", "\n", " "], keep=keep
    )
    expected = recursive_spans(text, size, levels, keep, length)
    if all(length(word) <= size for word in text.split()) and re.search("[ \n]", text):
        assert spans(found) == expected


@pytest.mark.parametrize("keep", ["start", "end"])
@pytest.mark.parametrize("text", ["one\n\nfour.\n\none", "a\n\nlonger\n\n\n\nb\n\nc"])
def test_words_that_add_up_are_counted_across_a_separator(text, keep):
    """What is counted may end between the two line ends of a blank line; the cut there counts."""
    found = split_recursive(text, size=2, length=LENGTHS["words"], separators=["\n\n"], keep=keep)
    assert spans(found) == recursive_spans(text, 2, ["\n\n"], keep, LENGTHS["words"])


# --- as LangChain -----------------------------------------------------------------------


@given(
    ascii_text,
    sizes,
    st.sampled_from(
        [["\n\n", "\n", " ", ""], ["\n", ""], ["--", ".", ""], ["word", " ", ""], [""]]
    ),
    st.sampled_from(["start", "end"]),
)
def test_parity_with_langchain(text, size, separators, keep):
    """With LangChain's RecursiveCharacterTextSplitter wherever it keeps its own promises.

    The exceptions: without "" at the end of the separators it returns what is longer than the size;
    with overlap it repeats whole pieces, and none where a piece is longer than the overlap; with
    keep_separator=False it puts separators back that were not at that place. It cuts accents,
    emoji and Windows line ends, so the texts here are ASCII without a carriage return.
    """
    splitter = RecursiveCharacterTextSplitter(
        separators=separators, chunk_size=size, chunk_overlap=0, keep_separator=keep
    )
    expected = [chunk for chunk in splitter.split_text(text) if not is_blank(chunk)]
    assert read(split_recursive(text, size=size, separators=separators, keep=keep)) == expected


@given(
    st.lists(st.sampled_from(["tram", "to", "quay,", "ferry.", "a"]), max_size=60),
    st.integers(8, 40),
)
def test_parity_with_langchain_in_tokens(words, size):
    text = " ".join(words)
    length = LENGTHS["MiniLM"]
    splitter = RecursiveCharacterTextSplitter(
        separators=[" ", ""], chunk_size=size, chunk_overlap=0, length_function=length
    )
    assert read(split_recursive(text, size=size, length=length)) == splitter.split_text(text)


# --- examples ---------------------------------------------------------------------------


def test_the_largest_structure_that_fits():
    text = "One two.\n\nThree.\nFour five six.\n\nSeven"
    assert read(split_recursive(text, size=100)) == [text]
    assert read(split_recursive(text, size=24)) == ["One two.", "Three.\nFour five six.", "Seven"]
    assert read(split_recursive(text, size=15)) == [
        "One two.",
        "Three.",
        "Four five six.",
        "Seven",
    ]
    assert read(split_recursive(text, size=8)) == [
        "One two.",
        "Three.",
        "Four",
        "five",
        "six.",
        "Seven",
    ]


def test_chinese_is_cut_at_the_ends_of_sentences_and_clauses():
    text = "猫在睡觉。猫喜欢鱼！船开走了，船很大？他说：“走吧。”完"
    assert read(split_recursive(text, size=10)) == [
        "猫在睡觉。猫喜欢鱼！",
        "船开走了，船很大？",
        "他说：“走吧。”完",
    ]
    assert read(split_recursive(text, size=5))[:4] == [
        "猫在睡觉。",
        "猫喜欢鱼！",
        "船开走了，",
        "船很大？",
    ]


def test_zero_width_spaces_part_words():
    text = "\u200b".join(["ทดสอบ", "ระบบ", "ใหม่"])
    assert [part.strip("\u200b") for part in read(split_recursive(text, size=6))] == text.split(
        "\u200b"
    )


def test_strip_is_a_choice():
    text = "  one\n    two\n"
    assert read(split_recursive(text, size=9)) == ["one", "two"]
    assert read(split_recursive(text, size=9, strip=False)) == ["  one", "\n    two\n"]
    # What is nothing but white space makes no chunk all the same.
    assert read(split_recursive(text, size=8, strip=False)) == ["  one", "\n    two"]


@pytest.mark.parametrize(
    ("overlap", "expected"),
    [
        (0, ["alpha beta", "gamma", "delta"]),
        (4, ["alpha beta", "beta gamma", "amma delta"]),  # no word starts within reach
        (5, ["alpha beta", "beta gamma", "gamma delta"]),
        (9, ["alpha beta", "beta gamma", "gamma delta"]),
    ],
)
def test_the_overlap_is_whole_words_if_it_can_be(overlap, expected):
    assert read(split_recursive("alpha beta gamma delta", size=11, overlap=overlap)) == expected


def test_the_overlap_shrinks_to_leave_room():
    text = "one two three extraordinarily"
    chunks = split_recursive(text, size=22, overlap=13)
    assert read(chunks) == ["one two three", "three extraordinarily"]
    assert read(split_recursive(text, size=16, overlap=13)) == ["one two three", "extraordinarily"]


@pytest.mark.parametrize("keep", ["", None, True, "both"])
def test_other_rules_are_refused(keep):
    with pytest.raises(ValueError, match=r"keep=.* must be"):
        split_recursive("a b", keep=keep)
    with pytest.raises(ValueError, match=r"keep=.* must be"):
        split_hierarchy("a b", keep=keep)


@pytest.mark.parametrize("text", [None, 3, b"abc"])
def test_other_texts_are_refused(text):
    with pytest.raises(ValueError, match="must be a str or a Document"):
        split_recursive(text)


# --- hierarchies ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["characters", "MiniLM", "words"])
@given(
    text=texts,
    sizes=st.sets(st.integers(1, 40), min_size=1, max_size=4),
    overlap=st.integers(0, 10),
)
def test_every_level_keeps_the_promises(name, text, sizes, overlap):
    """Complete on every level, and each chunk inside exactly one of the level above."""
    ordered, length = sorted(sizes, reverse=True), LENGTHS[name]
    overlap = min(overlap, ordered[-1] - 1)
    levels = split_hierarchy(Document(text, id="x"), sizes=ordered, overlap=overlap, length=length)
    for size, level, above in zip(ordered, levels, [None, *levels], strict=False):
        shared = overlap if size == ordered[-1] else 0
        assert check_chunks(text, level, size=size, overlap=shared, length=length) == []
        assert all(chunk.source == "x" for chunk in level)
        if above is not None:
            for chunk in level:
                inside = [p for p in above if p.start <= chunk.start and chunk.end <= p.end]
                assert len(inside) == 1
    assert levels[0] == split_recursive(
        Document(text, id="x"),
        size=ordered[0],
        length=length,
        overlap=overlap if len(ordered) == 1 else 0,
    )


def test_children_at_the_end_of_a_repeated_text():
    text = "Pay now.\n\n" * 30
    parents, children = split_hierarchy(text, sizes=(40, 9))
    assert len(children) == 30
    assert [chunk.start for chunk in children] == [10 * i for i in range(30)]
    assert all(any(p.start <= c.start and c.end <= p.end for p in parents) for c in children)


def test_patterns_look_at_the_text_around():
    """A lookbehind sees what stands before the piece it searches."""
    text = "a1b a2b"
    assert read(split_recursive(text, size=2, separators=[re.compile(r"(?<=a)"), ""])) == [
        "a",
        "1b",
        "a",
        "2b",
    ]
