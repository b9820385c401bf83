"""Measuring text, and finding how far a chunk may reach.

A length is any callable from a text to a whole number: `len` for characters, `token_length(...)`
for the tokens of a model. A splitter asks one question thousands of times: "from here, how far can
a chunk go?". Counting the answer from scratch each time would cost far more than the split, so
there is a ruler for each kind of length:

- characters: an addition;
- tokens of a WordPiece tokenizer: a token never crosses white space, so each distinct word is
  counted once and the sums are looked up;
- a callable that only counts, and adds up over words in the same way: each stretch of text is
  counted once, and each chunk once more as it stands;
- any other callable: whole candidates are counted, until one fits and the next does not.
"""

from __future__ import annotations

import re
import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from math import inf
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Protocol

from chunking_lib.boundaries import Boundaries

if TYPE_CHECKING:
    from chunking_lib.separators import AnyCuts

__all__ = [
    "CharacterRuler",
    "Length",
    "NotAdditive",
    "Ruler",
    "TokenLength",
    "checked_length",
    "make_ruler",
    "token_length",
]

Length = Callable[[str], int]

# White space that tokenizers treat as such (form feeds and other controls are dropped, not white
# space, in BERT), and the ideographs that BERT tokenizes one by one.
_SPACE = " \t\n\r\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_IDEOGRAPH = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(f"(?:[{_IDEOGRAPH}]|[^{_SPACE}{_IDEOGRAPH}]+)[{_SPACE}]*")
_SPACES = re.compile(f"[{_SPACE}]+")
_EDGE = re.compile(f"[{_SPACE}{_IDEOGRAPH}]")
_SURROGATE = re.compile("[\ud800-\udfff]")


class TokenLength:
    """A length in tokens; see `token_length`."""

    def __init__(
        self,
        count: Length,
        *,
        limit: int | None = None,
        count_batch: Callable[[list[str]], list[int]] | None = None,
    ) -> None:
        self._count = count
        #: The most tokens the model behind the tokenizer reads; None if not known.
        self.limit = limit
        #: Counts many texts at once; only where no token crosses white space.
        self.count_batch = count_batch

    def __call__(self, text: str) -> int:
        try:
            return self._count(text)
        except (UnicodeEncodeError, TypeError):
            # Half of a surrogate pair is no character: tokenizers refuse it, in one way or another.
            return self._count(_SURROGATE.sub("\ufffd", text))


def token_length(tokenizer: Any) -> TokenLength:
    """Return a length that counts the tokens of `tokenizer`, without special tokens.

    The count is the model's own view. BERT's WordPiece, MiniLM's too, sees a run of more than 100
    characters without white space as one unknown token, however long it is.

    Args:
        tokenizer: a `tokenizers.Tokenizer`; a fast tokenizer of transformers; a tiktoken encoding;
            or anything with a method `count(text) -> int`, such as an embedder. If it has a
            `max_tokens`, a splitter refuses chunks that the model could not read whole. A
            `TokenLength` comes back as it is: a tokenizer is copied each time, which takes about a
            tenth of a second, so make one length for many texts.
    Raises:
        ValueError: an object of another kind.

    >>> from chunking_lib.models import load_tokenizer
    >>> length = token_length(load_tokenizer("all-MiniLM-L6-v2"))
    >>> length("Trams brake with sand."), length("")
    (5, 0)
    """
    if isinstance(tokenizer, TokenLength):
        return tokenizer
    limit = getattr(tokenizer, "max_tokens", None)
    # An embedder has a tokenizer; a tokenizer of transformers is one of tokenizers in a coat.
    backend = getattr(tokenizer, "tokenizer", tokenizer)
    backend = getattr(backend, "backend_tokenizer", backend)
    if hasattr(backend, "encode_batch_fast"):
        return _from_tokenizers(backend, limit)
    # A name of a tokenizer, a text, has a method `count` of another kind.
    if callable(getattr(tokenizer, "count", None)) and not isinstance(tokenizer, Sequence):
        return TokenLength(tokenizer.count, limit=limit)
    if hasattr(tokenizer, "encode_ordinary"):
        return TokenLength(lambda text: len(tokenizer.encode_ordinary(text)))
    raise ValueError(
        f"tokenizer={tokenizer!r} must be a Tokenizer, a fast tokenizer of transformers, "
        "a tiktoken encoding, or an object with a method count(text)"
    )


def _from_tokenizers(tokenizer: Any, limit: int | None) -> TokenLength:
    """Count with a `tokenizers.Tokenizer`, on a copy that neither truncates nor pads."""
    own = type(tokenizer).from_str(tokenizer.to_str())
    own.no_truncation()
    own.no_padding()

    def count(text: str) -> int:
        return len(own.encode(text, add_special_tokens=False))

    def count_batch(texts: list[str]) -> list[int]:
        try:
            found = own.encode_batch_fast(texts, add_special_tokens=False)
        except (UnicodeEncodeError, TypeError):
            texts = [_SURROGATE.sub("\ufffd", text) for text in texts]
            found = own.encode_batch_fast(texts, add_special_tokens=False)
        return [len(encoding) for encoding in found]

    kinds = [type(part).__name__ for part in (own.normalizer, own.pre_tokenizer, own.model)]
    bert = kinds == ["BertNormalizer", "BertPreTokenizer", "WordPiece"]
    return TokenLength(count, limit=limit, count_batch=count_batch if bert else None)


def checked_length(length: Length) -> Length:
    """Return `length`, checked each time it is called: a number of 0 or more, as Python has them.

    NumPy's numbers have limits of their own, and would overflow where they meet a large size.

    Raises:
        ValueError: when called, and `length` gives anything else.

    >>> checked_length(lambda text: -1)("a ferry")
    Traceback (most recent call last):
        ...
    ValueError: length('a ferry')=-1 must be a number of 0 or more
    """

    def measure(text: str) -> int:
        found: Any = length(text)
        real = isinstance(found, Real)
        if not real or not 0 <= found < inf:
            raise ValueError(f"length({text[:20]!r})={found!r} must be a number of 0 or more")
        # No text is longer than `maxsize`, and no float could hold what is far beyond it.
        measured: Any = int(found) if isinstance(found, Integral) else float(found)
        least: int = min(measured, sys.maxsize)
        return least

    return measure


class Ruler(Protocol):
    """Answers how far a chunk of one text may reach."""

    def reach(self, start: int) -> int:
        """Return the furthest end so that the text from `start` fits the size."""

    def last_cut(self, cuts: AnyCuts, opened: int, start: int) -> tuple[int, int] | None:
        """Return the last cut behind `start` that a chunk from `opened` may reach, or the end."""

    def reach_back(self, end: int, amount: int) -> int:
        """Return the earliest start so that the text up to `end` is `amount` long at most."""

    def measure(self, start: int, end: int) -> int:
        """Return the length of the text between two places."""

    def fits(self, start: int, end: int) -> bool:
        """Say whether the text between two places fits, for a chunk about to be made."""


class NotAdditive(Exception):
    """A length that looked additive on samples is not; measure with `sure=True`."""


def make_ruler(
    text: str, boundaries: Boundaries, size: int, length: Length, *, sure: bool = False
) -> Ruler:
    """Return the fastest ruler that is right for `length`; with `sure`, one that trusts nothing."""
    if length is len:
        return CharacterRuler(size)
    if isinstance(length, TokenLength) and length.count_batch:
        return _WordRuler(text, boundaries, size, length, length.count_batch)
    length = checked_length(length)
    if not sure and words_are_additive(text, length):
        return _OnceRuler(text, boundaries, size, length)
    return _CountingRuler(text, boundaries, size, length)


def words_are_additive(text: str, length: Length) -> bool:
    """Say whether `length` ignores white space and adds up over words, on samples of `text`.

    >>> words_are_additive("one two  three", lambda text: len(text.split()))
    True
    >>> words_are_additive("one two  three", lambda text: len(text) // 4)
    False
    """
    step, seen = max(200, len(text) // 8), 0
    for start in range(0, len(text), step):
        sample = [m.group() for m in _WORD.finditer(text, start, start + 200)]
        seen += len(sample)
        bare = [word.rstrip() for word in sample]
        total = length("".join(sample))
        if not (
            total
            == sum(map(length, sample))
            == sum(map(length, bare))
            == sum(length(f" {word}") for word in bare)
        ):
            return False
    return seen > 0


class _LastCut:
    """The last cut within reach, for rulers whose reach costs little."""

    def reach(self, start: int) -> int:
        raise NotImplementedError

    def last_cut(self, cuts: AnyCuts, opened: int, start: int) -> tuple[int, int] | None:
        limit = self.reach(opened)
        return (cuts.end, cuts.end) if limit >= cuts.end else cuts.last(start, limit)


class CharacterRuler(_LastCut):
    """Characters: the furthest end is an addition away."""

    def __init__(self, size: int) -> None:
        self._size = size

    def reach(self, start: int) -> int:
        return start + self._size

    def reach_back(self, end: int, amount: int) -> int:
        return max(0, end - amount)

    def measure(self, start: int, end: int) -> int:
        return end - start

    def fits(self, start: int, end: int) -> bool:
        return end - start <= self._size


class _CountingRuler(_LastCut):
    """Any callable: count whole candidates, guided by what the last ones gave."""

    def __init__(self, text: str, boundaries: Boundaries, size: int, length: Length) -> None:
        self._text, self._boundaries, self._size, self._length = text, boundaries, size, length
        self._rate = 4.0  # characters a unit, learned on the way

    def measure(self, start: int, end: int) -> int:
        return self._length(self._text[start:end])

    def fits(self, start: int, end: int) -> bool:
        return self.measure(start, end) <= self._size

    def reach(self, start: int) -> int:
        return self._search(
            start, len(self._text), self._size, lambda end: self.measure(start, end)
        )

    def reach_back(self, end: int, amount: int) -> int:
        return self._search(end, 0, amount, lambda start: self.measure(start, end))

    def _search(self, origin: int, limit: int, most: int, count: Callable[[int], int]) -> int:
        """Return the boundary furthest from `origin`, towards `limit`, that counts `most` or less.

        Guess by the rate of the last search, then narrow from both sides. The result was counted
        whole and fits. Steps grow only by doubling, so what is counted stays in proportion to what
        is returned, and the time linear.
        """
        sign = 1 if limit >= origin else -1
        before, after = self._boundaries.before, self._boundaries.after
        good, bad = 0, abs(limit - origin) + 1  # distances that fit, and do not
        guess, step, tries = int(most * self._rate), 1, 0
        while good < bad - 1:
            guess = min(max(guess, good + 1), bad - 1)
            place = before(origin + guess) if sign > 0 else after(origin - guess)
            if abs(place - origin) <= good:  # inside a cluster: take the whole of it
                place = after(origin + good + 1) if sign > 0 else before(origin - good - 1)
                if abs(place - origin) >= bad:
                    break
            distance, found = abs(place - origin), count(place)
            if found:
                self._rate = min(distance / found, len(self._text))
            if found <= most:
                good = distance
                step = max(2 * step, int((most - found) * self._rate))
                guess = good + step
            else:
                bad, step, tries = distance, 1, tries + 1
                guess = bad - max(1, int((found - most) * self._rate))
            if tries > 3 or not good < guess < bad:
                guess = (good + bad) // 2 if tries else guess
        return origin + sign * good


def _word_edge(text: str, place: int) -> bool:
    """Say whether no word of `text` goes on across `place`."""
    return (
        not 0 < place < len(text)
        or _EDGE.match(text, place - 1) is not None
        or _EDGE.match(text, place) is not None
    )


class _OnceRuler(_CountingRuler):
    """A callable that adds up over words: count each stretch of text once.

    A chunk is counted as far as it will probably reach, then pieces are added or given back. What
    was counted beyond its end is remembered for the next. That the callable adds up was seen on
    samples only, so each chunk is counted whole before it is made. A single one that does not fit
    raises `NotAdditive`, and the split begins anew with the surer ruler.
    """

    _known = (-1, 0, 0)  # a start, an end, and the length between them

    def fits(self, start: int, end: int) -> bool:
        if not super().fits(start, end):
            raise NotAdditive
        return True

    def last_cut(self, cuts: AnyCuts, opened: int, start: int) -> tuple[int, int] | None:
        text, length, size, end = self._text, self._length, self._size, cuts.end
        if not self._between_words(opened):
            return super().last_cut(cuts, opened, start)
        origin, here, count = self._known
        if origin != opened:
            here, count = opened, 0
        if count <= size and here < end:  # as many pieces as will probably fit
            reach = here + int((size - count) * self._rate)
            jump = cuts.last(max(here, start), reach) or cuts.first(max(here, start))
            here, before = min(jump[0], self._next_word(reach + size // 8 + 1)), here
            count += length(text[before:here])
        if 2 * count > size:
            self._rate = min((here - opened) / count, len(text))
        found, tail = None, (-1, 0, 0)
        while count > size:  # too many: give pieces back
            nearer = here - max(1, int((count - size) * self._rate))
            found = cuts.last(start, nearer) or cuts.last(start, here - 1)
            if found is None:
                self._known = (opened, here, count)
                return None
            if not self._between_words(found[0]):  # parts of words do not add up
                return super().last_cut(cuts, opened, start)
            tail = (found[0], here, length(text[found[0] : here]))
            here, count = found[0], count - tail[2]
        found = found or cuts.last(start, here)
        while here < end:  # too few: add pieces one by one
            ahead = cuts.first(found[0] if found else start)  # `here` may lie inside a separator
            if not self._between_words(here, ahead[0]):
                return super().last_cut(cuts, opened, start)
            if tail[0] == here and tail[1] <= ahead[0]:  # what was given back is not even all
                self._known = tail
                return found
            until = min(ahead[0], self._next_word(here + int((size - count) * self._rate) + size))
            cost = length(text[here:until])
            if count + cost > size:
                self._known = tail if tail[0] == here else (here, until, cost)
                return found
            here, count = until, count + cost
            found = ahead if until == ahead[0] else found
        return end, end

    def _between_words(self, *places: int) -> bool:
        return all(_word_edge(self._text, place) for place in places)

    def _next_word(self, place: int) -> int:
        """Return the start of the first word at or after `place`, or the end of the text."""
        if place >= len(self._text):
            return len(self._text)
        edge = _EDGE.search(self._text, place)
        return edge.start() if edge else len(self._text)


class _WordRuler(_CountingRuler):
    """Tokens that never cross white space: count each distinct word once, then look sums up."""

    def __init__(
        self,
        text: str,
        boundaries: Boundaries,
        size: int,
        length: Length,
        count_batch: Callable[[list[str]], list[int]],
    ) -> None:
        super().__init__(text, boundaries, size, length)
        spaces = _SPACES.match(text)
        # Where each word starts, then the end of the text; tokens before each word, then all.
        self._starts = array("q", [spaces.end() if spaces else 0])
        self._sums = array("q", [0])
        counts: dict[str, int] = {}
        for words in _words(text, self._starts[0]):
            new = list(set(words).difference(counts))
            for i in range(0, len(new), 4096):
                counts.update(zip(new[i : i + 4096], count_batch(new[i : i + 4096]), strict=True))
            self._starts.extend(accumulate(map(len, words), initial=self._starts.pop()))
            self._sums.extend(accumulate(map(counts.__getitem__, words), initial=self._sums.pop()))

    def reach(self, start: int) -> int:
        word = bisect_left(self._starts, start)
        last = bisect_right(self._sums, self._sums[word] + self._size) - 1
        if last == word < len(self._starts) - 1 or not _word_edge(self._text, start):
            return super().reach(start)  # a word longer than the size, or the rest of a cut word
        return self._starts[last]

    def reach_back(self, end: int, amount: int) -> int:
        word = bisect_left(self._starts, end)
        first = bisect_left(self._sums, self._sums[word] - amount)
        if first >= word or not _word_edge(self._text, end):
            return super().reach_back(end, amount)
        return self._starts[first]

    def measure(self, start: int, end: int) -> int:
        if not (_word_edge(self._text, start) and _word_edge(self._text, end)):
            return super().measure(start, end)
        first, last = bisect_left(self._starts, start), bisect_left(self._starts, end)
        return self._sums[last] - self._sums[first]


def _words(text: str, start: int) -> Iterator[list[str]]:
    """Yield the words of `text` with the space after them, in lists that need little memory."""
    width = 200_000
    while start < len(text):
        end = min(len(text), start + width)
        words = _WORD.findall(text, start, end)
        if end < len(text):
            # The last word may go on beyond the part. If it is all there is, read a larger part.
            end -= len(words.pop())
            width = 200_000 if words else 2 * width
        if words:
            yield words
            start = end
