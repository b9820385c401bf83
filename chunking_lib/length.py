"""Measuring text, and finding how far a chunk may reach.

A length is any callable from a text to a whole number: `len` for characters, `token_length(...)` for
the tokens of a model. A splitter asks one question thousands of times: "from here, how far can a
chunk go?". Counting the answer from scratch each time would cost far more than the split, so there
is a ruler for each kind of length:

- characters: an addition;
- tokens of a WordPiece tokenizer: a token never crosses white space, so each distinct word is
  counted once and the sums are looked up;
- a callable that only counts, and ignores white space in the same way: each chunk is counted once,
  a few words short, and the last words are added one by one;
- any other callable: whole candidates are counted, until one fits and the next does not.
"""

from __future__ import annotations

import json
import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Any, Protocol

from chunking_lib.boundaries import Boundaries

__all__ = ["CharacterRuler", "Length", "NotAdditive", "Ruler", "TokenLength", "make_ruler", "token_length"]

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

    Args:
        tokenizer: a `tokenizers.Tokenizer`; a fast tokenizer of transformers; a tiktoken encoding;
            or anything with a method `count(text) -> int`, such as an embedder. If it has a
            `max_tokens`, a splitter refuses chunks that the model could not read whole.
    Raises:
        ValueError: an object of another kind.

    >>> from chunking_lib.models import load_tokenizer
    >>> length = token_length(load_tokenizer("all-MiniLM-L6-v2"))
    >>> length("Trams brake with sand."), length("")
    (5, 0)
    """
    limit = getattr(tokenizer, "max_tokens", None)
    if callable(getattr(tokenizer, "count", None)):
        return TokenLength(tokenizer.count, limit=limit)
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if hasattr(backend, "encode_batch_fast"):
        return _from_tokenizers(backend)
    if hasattr(tokenizer, "encode_ordinary"):
        return TokenLength(lambda text: len(tokenizer.encode_ordinary(text)))
    raise ValueError(
        f"tokenizer={tokenizer!r} must be a Tokenizer, a fast tokenizer of transformers, a tiktoken "
        "encoding, or an object with a method count(text)"
    )


def _from_tokenizers(tokenizer: Any) -> TokenLength:
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

    parts = json.loads(own.to_str())
    kinds = [(parts.get(key) or {}).get("type") for key in ("normalizer", "pre_tokenizer", "model")]
    bert = kinds == ["BertNormalizer", "BertPreTokenizer", "WordPiece"]
    return TokenLength(count, count_batch=count_batch if bert else None)


class Ruler(Protocol):
    """Answers how far a chunk of one text may reach."""

    def reach(self, start: int) -> int:
        """Return the furthest end so that the text from `start` fits the size."""

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
    if not sure and words_are_additive(text, length):
        return _TailRuler(text, boundaries, size, length)
    return _CountingRuler(text, boundaries, size, length)


def words_are_additive(text: str, length: Length) -> bool:
    """Say whether `length` ignores white space and adds up over words, on samples of `text`.

    >>> words_are_additive("one two  three", lambda text: len(text.split()))
    True
    >>> words_are_additive("one two  three", lambda text: len(text) // 4)
    False
    """
    step = max(400, len(text) // 16)
    for start in range(0, len(text), step):
        sample = [m.group() for m in _WORD.finditer(text, start, start + 400)]
        bare = [word.rstrip() for word in sample]
        total = length("".join(sample))
        if not (
            total
            == sum(map(length, sample))
            == sum(map(length, bare))
            == sum(length(f" {word}") for word in bare)
        ):
            return False
    return True


class CharacterRuler:
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


class _CountingRuler:
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
                self._rate = distance / found
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


class _TailRuler(_CountingRuler):
    """A callable that adds up over words: count most of a chunk whole, its last words apart.

    That it adds up was seen on samples only, so every eighth chunk is counted whole when it is
    made. A single miss raises `NotAdditive`, and the split begins anew with the slower ruler.
    """

    _made = 0

    def fits(self, start: int, end: int) -> bool:
        self._made += 1
        if self._made % 8 == 1 or not (
            _word_edge(self._text, start) and _word_edge(self._text, end)
        ):
            if not super().fits(start, end):
                raise NotAdditive
        return True

    def reach(self, start: int) -> int:
        text, length = self._text, self._length
        place = self._snap(start + int(self._size * self._rate * 0.97), start)
        if place == start or not _word_edge(text, start):
            return super().reach(start)
        left = self._size - length(text[start:place])
        while left < 0 and place > start:  # too far: give words back
            nearer = self._snap(place - max(1, int(-left * self._rate)), start)
            left += length(text[nearer:place])
            place = nearer
        if place > start:
            self._rate = (place - start) / max(1, self._size - left)
        while place < len(text):  # add words until one does not fit
            ahead = self._snap(place + int(left * self._rate * 0.8), place) if left > 8 else place
            if ahead == place:
                word = _WORD.match(text, place) or _SPACES.match(text, place)
                ahead = word.end() if word else len(text)
            cost = length(text[place:ahead])
            if cost > left:
                break
            left, place = left - cost, ahead
        return place if place > start else super().reach(start)

    def _snap(self, place: int, floor: int) -> int:
        """Return the last edge of a word at or before `place`; `floor` if there is none above."""
        place = min(place, len(self._text))
        while place > floor and not _word_edge(self._text, place):
            place -= 1
        return max(place, floor)


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
    """Yield the words of `text` with the space after them, in lists of about a megabyte."""
    width = 1_000_000
    while start < len(text):
        end = min(len(text), start + width)
        words = _WORD.findall(text, start, end)
        if end < len(text):
            # The last word may go on beyond the part. If it is all there is, read a larger part.
            end -= len(words.pop())
            width = 1_000_000 if words else 2 * width
        if words:
            yield words
            start = end
