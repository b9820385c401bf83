"""Lengths in tokens, and the rulers that find how far a chunk may reach."""

import re
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import clusters
from strategies import odd_text, plain_text, texts
from tokenizers import Tokenizer
from toy_model import ToyModel

from chunking_lib.boundaries import Boundaries
from chunking_lib.character import split_on_separator, split_tokens
from chunking_lib.chunk import check_chunks
from chunking_lib.embedder import Embedder
from chunking_lib.length import (
    CharacterRuler,
    TokenLength,
    make_ruler,
    token_length,
    words_are_additive,
)
from chunking_lib.models import load_tokenizer
from chunking_lib.recursive import split_recursive

MINILM = token_length(load_tokenizer())
CL100K = token_length(load_tokenizer("cl100k_base"))

# Monotone: a longer text never measures less, so there is one furthest end.
EXACT = {
    "characters": lambda text: len(text),
    "quarters": lambda text: len(text) // 4,
    "bytes": lambda text: len(text.encode("utf-8", "surrogatepass")),
    "squares": lambda text: len(text) ** 2,
    "with two specials": lambda text: len(text) + 2,
    "words and a half": lambda text: len(text.split()) + len(text) // 2,
    "always one": lambda text: 1,
    "nothing": lambda text: 0,
}
WORDS = {
    "words": lambda text: len(text.split()),
    "pieces of three": lambda text: sum(-(-len(word) // 3) for word in text.split()),
    "letters": lambda text: sum(not character.isspace() for character in text),
}

# --- token_length -----------------------------------------------------------------------


def test_the_users_tokenizer_is_left_as_it_is():
    tokenizer = load_tokenizer()
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=4)
    before = tokenizer.to_str()
    length = token_length(tokenizer)
    assert (length("a b c d e f"), length("a"), length("")) == (6, 1, 0)
    chunks = split_tokens("a b c d e f " * 9, tokenizer=tokenizer, size=5)
    assert [length(chunk.text) for chunk in chunks] == [5] * 10 + [4]
    assert tokenizer.to_str() == before
    assert len(tokenizer.encode("a b c d e f", add_special_tokens=False)) == 4
    # And the other way round: what is done to the tokenizer later does not reach the length.
    tokenizer.add_tokens(["a b"])
    assert length("a b") == 2


def test_a_tokenizer_saved_with_truncation_and_padding():
    """As MiniLM's file is: 128 tokens, padded."""
    tokenizer = load_tokenizer()
    tokenizer.enable_truncation(128)
    tokenizer.enable_padding(length=128)
    length = token_length(Tokenizer.from_str(tokenizer.to_str()))
    assert (length("word " * 500), length("word")) == (500, 1)


class Tiktoken:
    """As tiktoken: `encode` refuses what looks like a control token, `encode_ordinary` does not."""

    name = "fake"

    def encode(self, text):
        raise ValueError("disallowed special token")

    def encode_ordinary(self, text):
        return list(text.encode("utf-8"))


class Counter:
    """As tokie or an embedder: it only counts."""

    def __init__(self, max_tokens=None):
        self.max_tokens = max_tokens

    def count(self, text):
        return len(text.split())


def test_an_encoding_like_tiktokens():
    length = token_length(Tiktoken())
    assert length("<|endoftext|>") == 13
    assert length.limit is None
    assert length("a\ud800b") == length("a\ufffdb") == 5
    text = "Type <|endoftext|> by hand. \ud83d"
    for chunks in (
        split_tokens(text, tokenizer=Tiktoken(), size=9),
        split_recursive(text, length=length, size=9),
    ):
        assert check_chunks(text, chunks, size=9, length=length) == []


def test_an_object_that_counts():
    assert token_length(Counter())("a b c") == 3
    assert token_length(Counter()).limit is None
    length = token_length(Counter(max_tokens=7))
    assert length.limit == 7
    assert split_recursive("a b", length=length, size=7)
    with pytest.raises(ValueError, match="size=8 must be 7 or less"):
        split_recursive("a b", length=length, size=8)


def test_an_embedder_counts_with_its_own_tokenizer_and_refuses_what_it_cannot_read():
    embedder = Embedder("toy", ToyModel(5), fingerprint="toy", cache=False)
    length = token_length(embedder)
    text = "Donaudampfschifffahrt extraordinarily " * 3
    assert length(text) == MINILM(text)
    chunks = split_tokens(text, tokenizer=embedder, size=5)
    assert check_chunks(text, chunks, size=5, length=length) == []
    with pytest.raises(ValueError, match="size=6 must be 5 or less"):
        split_tokens(text, tokenizer=embedder, size=6)


class FastTokenizer:
    """As a fast tokenizer of transformers, which holds the real one."""

    def __init__(self, tokenizer):
        self.backend_tokenizer = tokenizer
        self.model_max_length = 512


def test_a_fast_tokenizer_is_one_around_a_tokenizer():
    length = token_length(FastTokenizer(load_tokenizer()))
    assert length("Trams brake with sand.") == MINILM("Trams brake with sand.") == 5


@pytest.mark.slow
def test_a_fast_tokenizer_of_transformers():
    transformers = pytest.importorskip("transformers")
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=load_tokenizer())
    text = "Trams brake with sand, always."
    assert token_length(fast)(text) == len(fast(text, add_special_tokens=False)["input_ids"])
    chunks = split_tokens(text * 20, tokenizer=fast, size=7)
    assert check_chunks(text * 20, chunks, size=7, length=MINILM) == []


@pytest.mark.parametrize("wrong", [None, "all-MiniLM-L6-v2", 3, object(), len, {"count": 3}])
def test_what_does_not_count_is_refused(wrong):
    with pytest.raises(ValueError, match=r"tokenizer=.* must be a Tokenizer.* count\(text\)"):
        token_length(wrong)


def test_special_tokens_are_not_counted():
    assert MINILM("") == CL100K("") == 0
    assert MINILM("word") == 1


@given(texts)
def test_a_lone_surrogate_counts_as_the_replacement_character(text):
    mended = re.sub("[\ud800-\udfff]", "\ufffd", text)
    assert MINILM(text) == MINILM(mended)
    assert CL100K(text) == CL100K(mended)
    assert MINILM.count_batch([text, "a", text]) == [MINILM(text), 1, MINILM(text)]


def test_an_error_of_the_callers_own_counter_is_not_hidden():
    def broken(text):
        raise UnicodeEncodeError("utf-8", text, 0, 1, "surrogates not allowed")

    with pytest.raises(UnicodeEncodeError):
        TokenLength(broken)("abc")
    with pytest.raises(ZeroDivisionError):
        split_recursive("a b c", size=3, length=lambda text: 1 // 0)


@pytest.mark.parametrize(
    "unit", [np.int32(1), np.uint8(1), np.float32(0.5), 1e-300, 5e-324, 0.0, 10**400, True]
)
@pytest.mark.parametrize("size", [3, 10**12, 10**30, np.int8(3)])
def test_lengths_of_any_kind_of_number_and_size(unit, size):
    text = "one two three four five six seven\n\n" * 9
    chunks = split_recursive(text, size=size, length=lambda part: unit if part else 0 * unit)
    expected = size >= unit or size >= sys.maxsize  # beyond that nothing is told apart
    assert (len(chunks) == 1) == bool(expected)


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -1, None, "5", [1], 1j])
@pytest.mark.parametrize("additive", [True, False])
def test_a_length_that_fails_far_from_the_beginning(wrong, additive):
    def length(part):
        return wrong if "x" in part else len(part.split()) if additive else len(part)

    text = "one two three " * 50 + "x " + "four five " * 50
    with pytest.raises(ValueError, match=r"length\(.*\)=.* must be a number of 0 or more"):
        split_recursive(text, size=5, length=length)


class Three:
    """A whole number that knows no other operation."""

    def __index__(self):
        return 3


@pytest.mark.parametrize(
    "size", [np.array(2.5), np.array([20]), np.array([20, 30]), 2.5, "3", True]
)
def test_a_size_that_is_no_whole_number(size):
    with pytest.raises(ValueError, match=r"size=.* must be a whole number of 1 or more"):
        split_recursive("a b c", size=size)


@pytest.mark.parametrize("size", [Three(), np.array(3), np.uint8(3)])
def test_whole_numbers_of_every_kind_are_sizes(size):
    assert split_recursive("a b c d e", size=size) == split_recursive("a b c d e", size=3)


@pytest.mark.parametrize("length", [None, 3, "len"])
def test_a_length_must_be_callable(length):
    for split in (split_recursive, split_on_separator):
        with pytest.raises(ValueError, match=r"length=.* must be a callable"):
            split("abc", length=length)


# --- words_are_additive -----------------------------------------------------------------


@given(texts | plain_text)
def test_minilm_adds_up_over_words(text):
    """On this the fastest way to count tokens rests."""
    assert words_are_additive(f"a {text}", MINILM)


@pytest.mark.parametrize("name", WORDS)
def test_counters_of_words_add_up(name):
    assert words_are_additive("one two  three\n\nfour 猫 犬 five. " * 50, WORDS[name])


@pytest.mark.parametrize(
    "length",
    [
        len,
        EXACT["quarters"],
        EXACT["bytes"],
        EXACT["squares"],
        EXACT["with two specials"],
        CL100K,
        lambda text: len(text.split()) + 2,
        lambda text: len(text.split()) + text.count("\n"),
        lambda text: len(text.split(" ")),
    ],
)
def test_counters_of_white_space_or_of_wholes_do_not(length):
    assert not words_are_additive("one two  three\n\nfour 猫 犬 five. " * 50, length)


def test_not_additive_beyond_the_first_lines():
    text = "w " * 5000 + "a\n\nb " * 50 + "w " * 5000

    def with_blank_lines(part):
        return len(part.split()) + 10 * part.count("\n\n")

    # A sample may miss the middle; the chunks must keep the size all the same.
    for size in (3, 20, 100):
        chunks = split_recursive(text, size=size, length=with_blank_lines)
        assert check_chunks(text, chunks, size=size, length=with_blank_lines) == []


def jumps(sign: str):
    """Adds up over words, but for texts of several words with `sign` in them."""

    def length(text: str) -> int:
        words = len(text.split())
        return words**2 if sign in text else words

    return length


@pytest.mark.parametrize("size", [5, 20, 60, 200])
@pytest.mark.parametrize("separators", [("\n\n", " ", ""), (" ",), ("\n",), ()])
def test_a_callable_that_stops_adding_up_keeps_the_size(size, separators):
    """Whatever the samples said: far from them, every chunk of several words is longer than the
    sum of its words."""
    line = "word " * 10 + "\n"
    step = 60_000 // 8
    blocks = []
    for _ in range(8):
        plain = line * 30
        blocks.append(plain + line.replace("word", "wxrd") * ((step - len(plain)) // len(line)))
    text = "".join(blocks)
    chunks = split_recursive(text, size=size, length=jumps("x"), separators=separators)
    assert check_chunks(text, chunks, size=size, length=jumps("x")) == []


# --- rulers -----------------------------------------------------------------------------


def brute_reach(text, places, start, size, length):
    return max(
        (end for end in places if end >= start and length(text[start:end]) <= size), default=start
    )


def brute_reach_back(text, places, end, amount, length):
    return min(
        (start for start in places if start <= end and length(text[start:end]) <= amount),
        default=end,
    )


@pytest.mark.parametrize("name", [*EXACT, *WORDS])
@given(text=odd_text | texts, size=st.integers(1, 40), order=st.randoms(use_true_random=False))
def test_a_sure_ruler_reaches_as_far_as_it_may(name, text, size, order):
    """By brute force, asked in any order (it learns on the way)."""
    length = (EXACT | WORDS)[name]
    places = sorted(clusters(text))
    ruler = make_ruler(text, Boundaries(text), size, length, sure=True)
    asked = list(places)
    order.shuffle(asked)
    for place in asked[:12]:
        assert ruler.reach(place) == brute_reach(text, places, place, size, length)
        amount = size // 2
        back = brute_reach_back(text, places, place, amount, length)
        assert ruler.reach_back(place, amount) == back
        assert ruler.measure(back, place) == length(text[back:place])
        assert ruler.fits(back, place) == (length(text[back:place]) <= size)


@given(texts, st.integers(1, 40), st.integers(0, 60))
def test_the_ruler_of_characters_adds(text, size, place):
    ruler = make_ruler(text, Boundaries(text), size, len)
    assert isinstance(ruler, CharacterRuler)
    assert ruler.reach(place) == place + size
    assert ruler.reach_back(place, size) == max(0, place - size)
    assert ruler.measure(place, place + size) == size
    assert ruler.fits(place, place + size) and not ruler.fits(place, place + size + 1)


def is_word_edge(text, place):
    """White space or a Chinese character on either side: no token of MiniLM goes across."""
    around = text[max(0, place - 1) : place + 1]
    return place in (0, len(text)) or bool(re.search("[ \t\n\r\u00a0\u3000\u4e00-\u9fff]", around))


@given(odd_text | texts | plain_text, st.integers(1, 20), st.randoms(use_true_random=False))
def test_the_ruler_of_tokens_reaches_whole_words(text, size, order):
    places = sorted(clusters(text))
    ruler = make_ruler(text, Boundaries(text), size, MINILM)
    asked = list(places)
    order.shuffle(asked)
    for start in asked[:12]:
        end = ruler.reach(start)
        assert start <= end <= len(text)
        assert MINILM(text[start:end]) <= size
        # From the edge of a word, no further word fits. (The rest of a cut word can be fewer tokens
        # than a part of it, so from inside one there is no such promise.)
        if is_word_edge(text, start):
            further = [p for p in places if p > end and is_word_edge(text, p)]
            assert all(not text[end:p].strip() or MINILM(text[start:p]) > size for p in further)
        back = ruler.reach_back(start, size)
        assert back <= start and MINILM(text[back:start]) <= size


@given(st.data(), odd_text | texts | plain_text, st.integers(1, 20))
def test_the_ruler_of_tokens_measures_what_the_tokenizer_counts(data, text, size):
    ruler = make_ruler(text, Boundaries(text), size, MINILM)
    places = sorted(clusters(text))
    for _ in range(8):
        start = data.draw(st.sampled_from(places))
        end = data.draw(st.sampled_from([p for p in places if p >= start]))
        found = MINILM(text[start:end])
        assert ruler.measure(start, end) == found
        assert ruler.fits(start, end) == (found <= size)


@pytest.mark.slow
def test_the_ruler_of_tokens_on_every_character_between_two_letters():
    """Whatever joins or parts words for MiniLM, the ruler must see it in the same way."""
    characters = [c for c in map(chr, range(0x20000)) if not "\ud800" <= c <= "\udfff"]
    for begin in range(0, len(characters), 4000):
        text = "".join(f"a{c}b {c} " for c in characters[begin : begin + 4000])
        ruler = make_ruler(text, Boundaries(text), 100, MINILM)
        assert ruler.measure(0, len(text)) == MINILM(text), hex(begin)


@pytest.mark.slow
def test_long_texts_are_read_in_parts_without_cutting_a_word():
    """The ruler of tokens reads large texts in parts, and a word that is larger in one."""
    word = "unbelievably"
    for text in (
        f"{word} " * 160_000,
        " " * 999_998 + f"{word} " * 3,
        "a" * 999_995 + f" {word} ok",
    ):
        ruler = make_ruler(text, Boundaries(text), 7, MINILM)
        assert ruler.measure(0, len(text)) == MINILM(text)


@pytest.mark.parametrize("size", [6, 20, 51])
def test_a_callable_that_adds_up_on_every_sample_and_not_beyond_keeps_the_size(size):
    def length(text):
        return len(text.split()) + 5 * ("x y" in text)

    text = "a " * 3300 + "x y " + "b " * 3000
    assert words_are_additive(text, length)
    assert (
        check_chunks(
            text, split_recursive(text, size=size, length=length), size=size, length=length
        )
        == []
    )


def test_a_text_without_words_shows_nothing_about_a_length():
    assert not words_are_additive(" \n" * 100, lambda text: len(text.split()))
