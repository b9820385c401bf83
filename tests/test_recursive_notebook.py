"""The short function of notebook 2 and `split_recursive` give the same chunks."""

import re
from pathlib import Path

import nbformat
import pytest
from corpus import read_eight
from hypothesis import given, settings
from hypothesis import strategies as st

from chunking_lib.recursive import split_recursive

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOK = ROOT / "notebooks" / "02_recursive.ipynb"


def reference():
    """Return `recursive_split` from the cell with the tag `reference`, which needs nothing else."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    [cell] = [c for c in notebook.cells if "reference" in c.metadata.get("tags", [])]
    names = {"re": re}
    exec(cell.source, names)
    return names["recursive_split"]


recursive_split = reference()

WORDS = ["a", "one", "tram,", "longerword", "Mind.", "x" * 9]
BREAKS = [" ", " ", "  ", "\n", "\n\n", "\n\n\n", "\t", ". ", "; ", "--", "aa", "\x0c"]
# No clusters of several characters, nothing invisible, no "\r": there the two agree by definition.
PLAIN = ["é", "ß", "猫", "犬。", "，", "ж", "א", "€", "¿", "Ωμ"]

ascii_text = st.text(st.characters(max_codepoint=126, exclude_characters="\r"), max_size=60)
words = st.lists(st.sampled_from(WORDS + BREAKS), max_size=40).map("".join)
plain = st.lists(st.sampled_from(WORDS + BREAKS + PLAIN), max_size=40).map("".join)
separators = st.lists(
    st.sampled_from(
        ["\n\n", "\n", " ", ". ", "; ", "--", "-", "a", "aa", "aba", ",", "。", "one", ""]
    ),
    max_size=5,
)


def same(text, size, separators):
    chunks = split_recursive(text, size=size, separators=separators)
    assert recursive_split(text, size, separators) == [(c.start, c.end) for c in chunks]


@settings(max_examples=300)
@given(st.one_of(ascii_text, words, plain), st.integers(1, 30))
def test_same_chunks_with_the_usual_separators(text, size):
    same(text, size, ["\n\n", "\n", " ", ""])


@settings(max_examples=300)
@given(st.one_of(ascii_text, words, plain), st.integers(1, 30), separators)
def test_same_chunks_with_any_separators(text, size, separators):
    same(text, size, separators)


@pytest.mark.parametrize(
    "document", [d for d in read_eight().values() if d.id.endswith(".txt")], ids=lambda d: d.id
)
def test_same_chunks_of_the_corpus(document):
    text = document.text
    for size in (10, 77, 300, 1000):
        same(text, size, ["\n\n", "\n", " ", ""])


@pytest.mark.parametrize("size", [1, 5, 9])
def test_it_ends_without_an_empty_separator(size):
    same("x" * 50, size, ["\n", " "])
    same("x" * 50, size, [])


def test_a_long_text_does_not_recurse_for_each_piece():
    """One level of recursion a separator, however long the text is."""
    same("word " * 20_000, 100, ["\n\n", "\n", " ", ""])
    same("x" * 20_000, 10, ["\n\n", "\n", " ", ""])
