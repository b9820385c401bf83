"""Windows of characters and of tokens, and splitting on one separator."""

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from langchain_text_splitters import CharacterTextSplitter
from promises import assert_promises
from reference import clusters
from strategies import (
    keeps,
    odd_text,
    plain_text,
    separators,
    size_and_overlap,
    sizes,
    texts,
)

from chunking_lib.character import split_characters, split_on_separator, split_tokens
from chunking_lib.chunk import Document, is_blank
from chunking_lib.length import token_length
from chunking_lib.models import load_tokenizer
from chunking_lib.recursive import split_recursive


class Cached:
    """A tokenizer as one that only counts. (A length of MiniLM's takes a moment to make.)"""

    def __init__(self, name):
        self.count = token_length(load_tokenizer(name))


COUNTERS = {name: Cached(name) for name in ("all-MiniLM-L6-v2", "cl100k_base")}


def read(chunks):
    return [chunk.text for chunk in chunks]


# --- split_characters -------------------------------------------------------------------


def windows(text, size):
    """Without overlap: each ends at the last boundary within reach, or behind one cluster."""
    places = sorted(clusters(text))
    found, start = [], 0
    while start < len(text):
        end = max(p for p in places if p <= start + size)
        if end == start:
            end = min(p for p in places if p > start)
        if not is_blank(text[start:end]):
            found.append(text[start:end])
        start = end
    return found


@given(texts | odd_text, size_and_overlap)
def test_split_characters_keeps_every_promise(text, size_and_overlap):
    size, overlap = size_and_overlap
    chunks = assert_promises(
        lambda source: split_characters(source, size=size, overlap=overlap),
        text,
        size=size,
        overlap=overlap,
    )
    if not overlap:
        assert read(chunks) == windows(text, size)


@given(st.text("ab c.", max_size=50), size_and_overlap)
def test_windows_of_plain_letters_are_those_of_arithmetic(text, size_and_overlap):
    size, overlap = size_and_overlap
    assume(" " * size not in text)
    step, expected = size - overlap, []
    for start in range(0, max(1, len(text)), step):
        if not is_blank(text[start : start + size]):
            expected.append((start, min(start + size, len(text))))
        if start + size >= len(text):
            break
    found = split_characters(text, size=size, overlap=overlap)
    assert [(chunk.start, chunk.end) for chunk in found] == expected


visible_text = st.lists(
    st.sampled_from(["a", "猫", "e\u0301", "🇩🇪", "👍🏽", "क्ष", "\u06001", "b."])
).map("".join)


@given(visible_text, size_and_overlap)
def test_windows_overlap_as_far_as_clusters_allow(text, size_and_overlap):
    size, overlap = size_and_overlap
    places = sorted(clusters(text))
    chunks = split_characters(text, size=size, overlap=overlap)
    for left, right in zip(chunks, chunks[1:], strict=False):
        earliest = max(left.end - overlap, left.start + 1)
        opened = min(place for place in places if place >= earliest)
        new = min(place for place in places if place > left.end)
        if new - opened <= size:
            assert right.start == min(opened, left.end)
        else:  # the overlap leaves no room for anything new
            assert opened < right.start <= left.end or opened == right.start == left.end
        # As much as fits, from there.
        assert right.end == max(p for p in places if p <= max(right.start + size, new))


def test_white_space_is_kept_and_blank_windows_are_left_out():
    assert read(split_characters("ab  cd", size=3)) == ["ab ", " cd"]
    assert read(split_characters("ab      cd", size=4)) == ["ab  ", "cd"]


def test_a_document_gives_its_name():
    chunks = split_characters(Document("abcd", id="notice"), size=2)
    assert [chunk.source for chunk in chunks] == ["notice", "notice"]


# --- split_tokens -----------------------------------------------------------------------


@pytest.mark.parametrize("name", COUNTERS)
@given(text=texts | odd_text | plain_text, size_and_overlap=size_and_overlap)
def test_split_tokens_keeps_every_promise(name, text, size_and_overlap):
    (size, overlap), tokenizer = size_and_overlap, COUNTERS[name]
    assert_promises(
        lambda source: split_tokens(source, tokenizer=tokenizer, size=size, overlap=overlap),
        text,
        size=size,
        overlap=overlap,
        length=token_length(tokenizer),
    )


@pytest.mark.parametrize(("size", "overlap"), [(1, 0), (3, 1), (7, 3), (50, 20)])
def test_split_tokens_with_a_tokenizer_that_gives_batches(size, overlap):
    """The fast way for MiniLM keeps the promises of the slow way, and reaches as far by words."""
    text = "Mind the step, extraordinarily unbelievable! 猫在睡觉。 e\u0301 👩\u200d👧 x\r\n" * 30
    assert_promises(
        lambda source: split_tokens(source, tokenizer=load_tokenizer(), size=size, overlap=overlap),
        text,
        size=size,
        overlap=overlap,
        length=COUNTERS["all-MiniLM-L6-v2"].count,
    )
    words = "Mind the step and the gap " * 30
    fast = split_tokens(words, tokenizer=load_tokenizer(), size=size)
    slow = split_tokens(words, tokenizer=COUNTERS["all-MiniLM-L6-v2"], size=size)
    assert fast == slow


@pytest.mark.parametrize("name", COUNTERS)
@given(
    st.lists(st.sampled_from(["tram", "unbelievably", "ferries", "a", "3.50,"])), st.integers(5, 12)
)
def test_a_window_of_tokens_cuts_no_word_that_fits(name, words, size):
    text = " ".join(words)
    for chunk in split_tokens(text, tokenizer=COUNTERS[name], size=size):
        for place in (chunk.start, chunk.end):
            assert not re.match(r"\w\w", text[max(0, place - 1) : place + 1]) or place == 0


@pytest.mark.parametrize("name", COUNTERS)
@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_window_of_tokens_cuts_no_cluster_of_digits(name, size):
    """The number sign of Arabic joins the digit behind it, and is itself no letter or digit."""
    text = "0000\u060002 1234\u06005678\u06009"
    tokenizer = COUNTERS[name]
    assert_promises(
        lambda source: split_tokens(source, tokenizer=tokenizer, size=size),
        text,
        size=size,
        overlap=0,
        length=tokenizer.count,
    )


def test_a_word_longer_than_the_size_is_cut():
    length = token_length(load_tokenizer())
    word = "antidisestablishmentarianism"
    assert length(word) > 3
    chunks = split_tokens(f"{word} now", tokenizer=load_tokenizer(), size=3)
    assert "".join(read(chunks)) == f"{word} now"
    assert len(chunks) > 2 and all(length(chunk.text) <= 3 for chunk in chunks)


# --- split_on_separator -----------------------------------------------------------------


@given(texts | odd_text | plain_text, size_and_overlap, separators, keeps, st.booleans())
def test_split_on_separator_keeps_every_promise(text, size_and_overlap, separator, keep, strip):
    size, overlap = size_and_overlap

    def dropped(gap):
        if isinstance(separator, str):
            return gap.replace(separator, "") if separator else gap
        return separator.sub("", gap)

    def split(source):
        return split_on_separator(
            source, separator=separator, size=size, overlap=overlap, keep=keep, strip=strip
        )

    # What a lookbehind or an anchor matches depends on the text around, so a gap by itself
    # cannot be checked for it.
    plain = isinstance(separator, str) and "\u0301" not in separator
    chunks = assert_promises(
        split,
        text,
        size=size,
        overlap=overlap,
        dropped=None if keep != "none" else dropped if plain else lambda gap: "",
    )
    if strip:
        for chunk in chunks:
            # Only white space that is part of a cluster with something else may stand at an end.
            places = sorted(clusters(chunk.text))
            assert chunk.text[: places[1]].strip() and chunk.text[places[-2] :].strip()


def pieces_merged(text, separator, size, keep):
    """Split on every separator, then merge from left to right: for pieces that fit."""
    parts = text.split(separator)
    if keep == "start":
        pieces = [parts[0], *(separator + part for part in parts[1:])]
    else:
        pieces = [*(part + separator for part in parts[:-1]), parts[-1]]
    chunks, held = [], ""
    for piece in pieces:
        if held and len(held) + len(piece) > size:
            chunks.append(held)
            held = ""
        held += piece
    return [chunk for chunk in [*chunks, held] if chunk]


@given(
    plain_text,
    sizes,
    st.sampled_from([" ", "\n", "e", "w", ". "]),
    st.sampled_from(["start", "end"]),
)
def test_pieces_are_merged_from_left_to_right(text, size, separator, keep):
    expected = pieces_merged(text, separator, size, keep)
    assume(all(len(chunk) <= size for chunk in expected) and separator in text)
    options = {"separator": separator, "size": size, "keep": keep}
    assert read(split_on_separator(text, strip=False, **options)) == [
        chunk for chunk in expected if not is_blank(chunk)
    ]
    stripped = [chunk.strip() for chunk in expected if not is_blank(chunk)]
    assert read(split_on_separator(text, **options)) == stripped


@pytest.mark.parametrize(
    ("keep", "expected"),
    [
        ("start", ["one", "--two--", "--three", "--"]),
        ("end", ["one--", "two----", "three--"]),
        ("none", ["one", "two", "three"]),
    ],
)
@pytest.mark.parametrize("separator", ["--", re.compile("--"), re.compile("(-)-")])
def test_where_a_separator_at_a_cut_goes(separator, keep, expected):
    text = "one--two----three--"
    assert read(split_on_separator(text, separator=separator, size=7, keep=keep)) == expected
    assert read(split_recursive(text, separators=[separator], size=7, keep=keep)) == expected


@pytest.mark.parametrize("separator", ["-", re.compile("-"), "-+-"])
def test_of_dropped_separators_in_a_row_none_is_left(separator):
    row = ("-+-" if separator == "-+-" else "-") * 3
    chunks = split_on_separator(f"one{row}two", separator=separator, size=3 + len(row), keep="none")
    assert read(chunks) == ["one", "two"]


@pytest.mark.parametrize("keep", ["", "None", None, True, False, "both", 1, ["start"]])
def test_other_rules_are_refused(keep):
    with pytest.raises(ValueError, match=r"keep=.* must be 'start', 'end' or 'none'"):
        split_on_separator("a b", keep=keep)


@pytest.mark.parametrize("separator", [None, 3, b"-", ["-"]])
def test_other_separators_are_refused(separator):
    with pytest.raises(ValueError, match="separator"):
        split_on_separator("a b", separator=separator)


WORDS = st.lists(
    st.text(st.characters(max_codepoint=126, exclude_characters="\r"), max_size=8), min_size=2
)


@given(
    WORDS,
    st.integers(0, 40),
    st.sampled_from(["\n\n", "\n", " ", "a", "--", ". ", "(", ".", "word"]),
    st.sampled_from(["start", "end", "none"]),
)
def test_parity_with_langchain(words, room, separator, keep):
    """With LangChain's CharacterTextSplitter wherever it keeps its own promises.

    The exceptions: it returns pieces longer than the size as they are (with a line in the log), so
    here every piece fits; a dropped separator that stands twice comes back once, so the chunk is
    not in the text; it overlaps by whole pieces only; and it cuts accents, emoji and Windows line
    ends, so the texts are ASCII without a carriage return.
    """
    if keep == "none":
        words = [word for word in words if word.strip() and separator not in f"{word}."] or ["x"]
        words = [word.strip(separator) or "x" for word in words]
    text = separator.join(words)
    longest = max(len(piece) for piece in text.split(separator)) + len(separator)
    size = longest + room
    splitter = CharacterTextSplitter(
        separator=separator,
        chunk_size=size,
        chunk_overlap=0,
        keep_separator=False if keep == "none" else keep,
    )
    expected = [chunk for chunk in splitter.split_text(text) if not is_blank(chunk)]
    if separator in text:
        found = read(split_on_separator(text, separator=separator, size=size, keep=keep))
        assert found == expected
