"""Bad arguments: a `ValueError` that names the argument, the value and the rule."""

import math
import re

import numpy as np
import pytest
import regex

from chunking_lib.character import split_on_separator, split_tokens
from chunking_lib.chunk import Chunk, Document, check_chunks
from chunking_lib.interop import to_langchain, to_llama_index
from chunking_lib.length import token_length
from chunking_lib.models import load_tokenizer
from chunking_lib.recursive import split_hierarchy, split_recursive
from chunking_lib.sentences import sentence_spans
from chunking_lib.show import chunk_table, show_chunks

TEXT = "one two three four. " * 5
CHUNKS = split_recursive(TEXT, size=20)
MANY = [f"<{number}>" for number in range(101)]


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: split_recursive(TEXT, separators=[re.compile(b"x")]), "separators=[re.compile(b"),
        (lambda: split_recursive(TEXT, separators=[regex.compile("x")]), "patterns of `re`"),
        (lambda: split_recursive(TEXT, separators=MANY), "separators has 101 entries"),
        (lambda: split_on_separator(TEXT, separator=re.compile(b"x")), "separators=[re.compile(b"),
        (lambda: split_hierarchy(TEXT, sizes=5), "sizes=5 must be a list"),
        (lambda: split_hierarchy(TEXT, sizes=("20", 5)), "size='20' must be a whole number"),
        (lambda: split_hierarchy(TEXT, sizes={20, 5}), "must be a list"),
        (lambda: split_hierarchy(TEXT, sizes=()), "sizes=() must be a list"),
        (lambda: split_hierarchy(TEXT, sizes=(5, 5)), "sizes=(5, 5) must each be below"),
        (lambda: split_hierarchy(TEXT, sizes=(20, 5), overlap=5), "overlap=5 must be smaller"),
        (lambda: split_recursive(TEXT, size=np.float64(9)), "must be a whole number"),
        (lambda: split_recursive(TEXT, size=9.0), "size=9.0 must be a whole number"),
        (lambda: sentence_spans(None), "text=None must be"),
        (lambda: show_chunks(TEXT, CHUNKS, limit="a"), "limit='a' must be"),
        (lambda: show_chunks(TEXT, CHUNKS, limit=0), "limit=0 must be"),
        (lambda: show_chunks(TEXT, CHUNKS, title=None), "title=None must be"),
        (lambda: chunk_table(CHUNKS, limit=-1), "limit=-1 must be"),
        (lambda: Chunk("a", "0", 1), "start='0' must be int"),
        (lambda: Chunk("a", 0.0, 1), "start=0.0 must be int"),
        (lambda: Chunk(5, 0, 1), "text=5 must be str"),
        (lambda: Chunk("a", 0, 1, metadata=None), "metadata=None must be dict"),
        (lambda: check_chunks(TEXT, ["a"]), "chunks has 'a'"),
        (lambda: to_langchain([Chunk("a", 0, 1, metadata={"start_index": 7})]), "'start_index'"),
        (lambda: to_llama_index([Chunk("a", 0, 1, metadata={"context": "b"})]), "'context'"),
    ],
)
def test_the_message_names_the_argument_the_value_and_the_rule(call, named):
    with pytest.raises(ValueError, match=re.escape(named)):
        call()


@pytest.mark.parametrize("found", [None, "5", -1, math.nan, math.inf, []])
def test_a_length_that_gives_no_number_is_refused(found):
    with pytest.raises(ValueError, match=re.escape(f"={found!r} must be a number of 0 or more")):
        split_recursive(TEXT, length=lambda text: found)


def test_numbers_of_numpy_are_whole_numbers_and_do_not_get_into_the_offsets():
    chunks = split_recursive(TEXT, size=np.int64(20), overlap=np.int32(3))
    assert chunks == split_recursive(TEXT, size=20, overlap=3)
    assert {type(place) for chunk in chunks for place in (chunk.start, chunk.end)} == {int}
    assert split_recursive(TEXT, size=20, length=lambda text: np.int64(len(text))) == CHUNKS


@pytest.mark.parametrize("length", [len, lambda text: len(text), lambda text: len(text.split())])
def test_a_size_beyond_every_text_keeps_it_whole(length):
    assert [chunk.text for chunk in split_recursive(TEXT, size=10**309, length=length)] == [
        TEXT.strip()
    ]


def test_a_hundred_separators_may_nest():
    seps = MANY[:100]
    text = "".join(f"{sep}{'y' * 9}" for sep in seps)
    assert check_chunks(text, split_recursive(text, size=12, separators=seps), size=12) == []


def test_sentences_of_a_document():
    assert sentence_spans(Document("One. Two.")) == [(0, 4), (5, 9)]


def test_a_length_made_once_does_for_many_texts():
    length = token_length(load_tokenizer())
    assert token_length(length) is length
    assert split_tokens(TEXT, tokenizer=length, size=8) == split_tokens(
        TEXT, tokenizer=load_tokenizer(), size=8
    )
