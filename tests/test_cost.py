"""Time in proportion to the text, counted rather than timed; memory, measured.

Work is counted twice over. A text that counts tells how many characters were searched or copied,
which is where a splitter in Python hides quadratic time: in one call of `find` a chunk. And the
calls of functions, in Python and in C, are counted by a profiler.
"""

import re
import sys
import tracemalloc

import pytest

from chunking_lib.character import split_characters, split_on_separator, split_tokens
from chunking_lib.length import token_length
from chunking_lib.models import load_tokenizer
from chunking_lib.recursive import split_hierarchy, split_recursive

MINILM = token_length(load_tokenizer())


class CountingText(str):
    """A text that counts the characters that are searched or copied."""

    def _add(self, characters: int) -> None:
        self.work = getattr(self, "work", 0) + max(1, characters)

    def __getitem__(self, key):
        found = str.__getitem__(self, key)
        self._add(len(found))
        return found

    def find(self, part, start=0, end=None):
        end = len(self) if end is None else min(end, len(self))
        found = str.find(self, part, start, end)
        self._add((end if found < 0 else found + len(part)) - start)
        return found

    def rfind(self, part, start=0, end=None):
        end = len(self) if end is None else min(end, len(self))
        found = str.rfind(self, part, start, end)
        self._add(end - (start if found < 0 else found))
        return found

    def startswith(self, *arguments):
        self._add(len(arguments[0]))
        return str.startswith(self, *arguments)

    def endswith(self, *arguments):
        self._add(len(arguments[0]))
        return str.endswith(self, *arguments)

    def count(self, *arguments):
        self._add(len(self))
        return str.count(self, *arguments)


def work_of(split, text: str) -> int:
    """The characters that `split` searches and copies, and the functions it calls."""
    counting, calls = CountingText(text), 0

    def profile(frame, event, argument):
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        split(counting)
    finally:
        sys.setprofile(before)
    return calls + counting.work


LINE = "The ferry to Holm leaves at 14:05, and the tram waits for it. "
UNITS = {
    "sentences": LINE,
    "paragraphs": LINE * 3 + "\n\n",
    "lines of Windows": LINE * 2 + "\r\n",
    "one word": "a",
    "Chinese": "猫在睡觉猫喜欢鱼船开走了",
    "Chinese sentences": "猫在睡觉。猫喜欢鱼，",
    "line ends": "\n",
    "Windows line ends": "\r\n",
    "blanks": " ",
    "blank lines": "a\n\n\n",
    "zero-width spaces": "\u200b",
    "accents": "e\u0301",
    "one letter with all accents": "\u0301",
    "flags": "🇩🇪",
    "joiners": "\u200d",
    "families": "👩\u200d👩\u200d👧 ",
    "prepended": "\u0600",
    "syllables": "\u1100\u1161\u11a8",
    "surrogates": "\ud800",
    "numbers": "0 ",
}
SPLITTERS = {
    "characters": lambda text: split_characters(text, size=100),
    "characters, overlap": lambda text: split_characters(text, size=100, overlap=50),
    "recursive": lambda text: split_recursive(text, size=100),
    "recursive, overlap": lambda text: split_recursive(text, size=100, overlap=50),
    "recursive, end": lambda text: split_recursive(text, size=100, keep="end"),
    "recursive, none": lambda text: split_recursive(text, size=100, keep="none"),
    "recursive, strip": lambda text: split_recursive(text, size=100, overlap=20, strip=False),
    "separator": lambda text: split_on_separator(text, size=100),
    "separator, none": lambda text: split_on_separator(
        text, separator="\n", size=100, overlap=20, keep="none"
    ),
    "separator, pattern": lambda text: split_on_separator(
        text, separator=re.compile(r"\s+|。"), size=100, overlap=20
    ),
    "hierarchy": lambda text: split_hierarchy(text, sizes=(400, 100), overlap=20),
}


@pytest.mark.parametrize("name", SPLITTERS)
@pytest.mark.parametrize("unit", UNITS)
def test_four_times_the_text_is_four_times_the_work(name, unit):
    text = UNITS[unit] * (4000 // len(UNITS[unit]))
    once, four_times = (work_of(SPLITTERS[name], text * times) for times in (1, 4))
    # Something is to be done once in any case, and the last chunk is rarely full.
    assert four_times <= 4.4 * once + 400


def counting(length):
    """The same length, with a note of what it was asked."""
    asked = []

    def counter(text):
        asked.append(len(text))
        return length(text)

    return counter, asked


LENGTHS = {
    "characters": lambda text: len(text),
    "quarters": lambda text: len(text) // 4,
    "words": lambda text: len(text.split()),
    "words and two": lambda text: len(text.split()) + 2,
}


@pytest.mark.parametrize("name", LENGTHS)
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(("size", "overlap"), [(40, 10), (1, 0)])
def test_a_callable_counts_in_proportion_to_the_text(name, unit, size, overlap):
    """Neither the calls nor the characters counted grow faster than the text."""
    found = []
    for characters in (1500, 6000):
        length, asked = counting(LENGTHS[name])
        text = UNITS[unit] * (characters // len(UNITS[unit]))
        split_recursive(text, size=size, overlap=overlap, length=length)
        found.append((len(asked), sum(asked)))
    (calls, characters), (more_calls, more_characters) = found
    assert more_calls <= 5 * calls + 60
    assert more_characters <= 5 * characters + 3000


@pytest.mark.parametrize("size", [20, 200])
def test_a_callable_that_adds_up_counts_the_text_and_the_chunks(size):
    text = (LINE * 3 + "\n\n") * 200
    length, asked = counting(LENGTHS["words"])
    split_recursive(text, size=size, length=length)
    assert sum(asked) <= 3.5 * len(text)


@pytest.mark.parametrize("size", [20, 200])
def test_any_callable_counts_a_few_times_the_text(size):
    text = (LINE * 3 + "\n\n") * 100
    length, asked = counting(LENGTHS["quarters"])
    split_recursive(text, size=size, length=length)
    assert sum(asked) <= 12 * len(text)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("characters", lambda text: split_characters(text, size=1000, overlap=100)),
        ("recursive", lambda text: split_recursive(text, size=1000, overlap=100)),
        ("recursive in tokens", lambda text: split_recursive(text, size=256, length=MINILM)),
        ("tokens", lambda text: split_tokens(text, size=256, tokenizer=load_tokenizer())),
        ("words", lambda text: split_recursive(text, size=200, length=lambda t: len(t.split()))),
    ],
)
@pytest.mark.parametrize("kind", ["ASCII", "with a cat"])
def test_memory_stays_under_15_times_the_text(name, split, kind):
    text = (LINE * 5 + "\n\n") * 3200 + ("猫" if kind != "ASCII" else "")  # a megabyte of letters
    split(text[:1000])  # what is loaded once does not count
    tracemalloc.start()
    try:
        split(text)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 15 * sys.getsizeof(text)
