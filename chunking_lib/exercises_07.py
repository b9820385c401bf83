"""Checks of the exercises in notebook 7. They print what they find and never raise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from chunking_lib.attempts import attempt, report

__all__ = ["check_context", "check_fuse"]

Length = Callable[[str], int]

_ENDLESS_CONTEXT = "Does each turn of the loop take a word away, and does it end when none is left?"
_ENDLESS_FUSE = "Does each turn of the loop use up a name?"


def _words(text: str) -> int:
    return len(text.split())


# context, text, size, length; the plain cases first.
_CONTEXTS: list[tuple[str, str, int, Length]] = [
    ("Fares", "Dogs ride free.", 100, len),
    ("Fares > Dogs", "They ride free.", 100, _words),
    ("Rules of carriage", "No dogs.", 20, len),
    ("Rules of carriage", "No dogs.", 15, len),
    ("one two three four", "five six", 4, _words),
    ("one two three", "four five", 5, _words),
    ("Fares", "Dogs ride free.", 15, len),
    ("Fares", "Dogs ride free.", 21, len),
    ("Fares", "Dogs ride free.", 22, len),
    ("Fares", "Dogs ride free, on a lead.", 10, len),
    ("", "Dogs ride free.", 100, len),
    ("   ", "Dogs ride free.", 100, len),
    ("Fares", "  Dogs\n\nride free. ", 40, len),
]

# lists of names, and k.
_LISTS: list[tuple[list[list[str]], int]] = [
    ([["a", "b", "c"]], 60),
    ([["a", "b", "c"], ["c", "a", "b"]], 60),
    ([["a", "b", "c"], ["c", "b", "a"]], 60),
    ([["a", "b"], ["b", "a"]], 60),
    ([["a", "b"], ["c", "b"]], 60),
    ([["a", "b", "c", "d"], ["d", "b"]], 0),
    ([["a", "b", "c", "d", "e"], ["e", "c", "b"]], 0),
    ([["b", "a"], ["a", "c"], ["c", "b"]], 60),
    ([["x", "y", "z", "a"], ["y", "x", "a", "q"], ["q", "a"]], 2),
    ([["a"], []], 60),
    ([[]], 60),
    ([], 60),
]


def check_context(with_context: Callable[[str, str, int, Length], str]) -> None:
    r"""Try `with_context(context, text, size, length)`; print the first fault, or passed.

    >>> check_context(lambda context, text, size, length: text)
    Not yet: with_context('Fares', 'Dogs ride free.', size=100, length=len)
      got       ['Dogs ride free.']
      expected  ['Fares\n\nDogs ride free.']
      hint      the context is missing, and there is room for all of it.
    """
    for context, text, size, length in _CONTEXTS:
        name = "len" if length is len else "words"
        call = f"with_context({context!r}, {text!r}, size={size}, length={name})"
        kept: list[object] = []

        def run(
            context: str = context,
            text: str = text,
            size: int = size,
            length: Length = length,
            kept: list[object] = kept,
        ) -> list[object] | None:
            kept[:] = [with_context(context, text, size, length)]
            return None if kept[0] is None or kept[0] is ... else kept

        got = attempt(call, run, _ENDLESS_CONTEXT)
        if got is None:
            return
        expected = _expected_context(context, text, size, length)
        if got != [expected]:
            hint = _hint_context(got[0], expected, context, text, size, length)
            report(call, got, hint, [expected])
            return
    print(f"passed: {len(_CONTEXTS)} cases, within the limit, and no text was shortened.")


def check_fuse(fuse: Callable[[list[list[str]], int], Sequence[str]]) -> None:
    """Try `fuse(lists, k)` on plain and odd lists; print the first fault, or passed.

    >>> check_fuse(lambda lists, k: [])
    Not yet: fuse([['a', 'b', 'c']], k=60)
      got       []
      expected  ['a', 'b', 'c']
      hint      'a' is missing: every name that is in some list is in the result.
    """
    for lists, k in _LISTS:
        call = f"fuse({lists!r}, k={k})"
        got = attempt(call, partial(fuse, [list(one) for one in lists], k), _ENDLESS_FUSE)
        if got is None:
            return
        expected = _expected_fuse(lists, k)
        if got != expected:
            report(call, got, _hint_fuse(got, expected, lists, k), expected)
            return
    print(f"passed: {len(_LISTS)} cases, with ties, missing names and empty lists.")


def _shorter(context: str) -> Iterator[str]:
    """Yield a context with ever fewer words at its end, the whole of it first."""
    words = context.split()
    for count in range(len(words), 0, -1):
        yield " ".join(words[:count])


def _expected_context(context: str, text: str, size: int, length: Length) -> str:
    for kept in _shorter(context):
        if length(f"{kept}\n\n{text}") <= size:
            return f"{kept}\n\n{text}"
    return text


def _hint_context(
    got: object, expected: str, context: str, text: str, size: int, length: Length
) -> str:
    if not isinstance(got, str):
        return "return one string: context, blank line, text."
    words = context.split()
    if text.strip() and text not in got:
        if text.strip() in got:
            return "the white space of the text was changed. The text stays as it is."
        return "the text is not whole. Only the context may be shortened."
    if not words or expected == text:
        why = "there is no context" if not words else "there is no room for a word of the context"
        return f"{why}: return the text alone, without a blank line before it."
    if words and got.startswith(text) and got != text:
        return "the context stands behind the text. It belongs in front."
    if got == text:
        room = "all" if expected == f"{' '.join(words)}\n\n{text}" else "a part"
        return f"the context is missing, and there is room for {room} of it."
    if length(got) > size:
        return f"it measures {length(got)}, and the limit is {size}. Shorten the context."
    front = got[: -len(text)]
    if not front.endswith("\n\n") or front.endswith("\n\n\n"):
        return 'between context and text stands one blank line, "\\n\\n".'
    kept = front[:-2].split()
    if kept != words[: len(kept)]:
        if kept == words[len(words) - len(kept) :]:
            return "take words away at the end of the context: its beginning stays."
        return "the context was cut inside a word, or changed. Take whole words away."
    more = len(_expected_words(expected, text))
    if len(kept) < more:
        return f"there is room for {more} words of the context, and {len(kept)} are kept."
    return "between the words of the context stands one blank, and none at its end."


def _expected_words(expected: str, text: str) -> list[str]:
    return expected[: -len(text)].split()


def _sums(lists: list[list[str]], k: int, first: int = 1) -> dict[str, float]:
    """Return what each name gains, in the order in which the names come up."""
    sums: dict[str, float] = {}
    for one in lists:
        for rank, name in enumerate(one, first):
            sums[name] = sums.get(name, 0.0) + 1 / (k + rank)
    return sums


def _expected_fuse(lists: list[list[str]], k: int) -> list[str]:
    sums = _sums(lists, k)
    return sorted(sums, key=lambda name: -round(sums[name], 12))


def _hint_fuse(got: list[object], expected: list[str], lists: list[list[str]], k: int) -> str:
    if any(not isinstance(name, str) for name in got):
        return "return the names alone, without their sums."
    names = [str(name) for name in got]
    for name in expected:
        if name not in names:
            return f"{name!r} is missing: every name that is in some list is in the result."
    if len(set(names)) < len(names):
        return "a name stands twice. Add up what it gains in all lists."
    if extra := [name for name in names if name not in expected]:
        return f"{extra[0]!r} is in none of the lists."
    sums = _sums(lists, k)
    if names == expected[::-1]:
        return "the best comes first, the one with the largest sum."
    place = next(i for i, name in enumerate(expected) if names[i] != name)
    right, wrong = expected[place], names[place]
    if abs(sums[right] - sums[wrong]) < 1e-12:
        return f"{right!r} and {wrong!r} have the same sum: {right!r} comes up first in the lists."
    return (
        f"{right!r} has {_written(right, lists, k)} = {sums[right]:.4f}, "
        f"and {wrong!r} {_written(wrong, lists, k)} = {sums[wrong]:.4f}."
    )


def _written(name: str, lists: list[list[str]], k: int) -> str:
    ranks = [one.index(name) + 1 for one in lists if name in one]
    return " + ".join(f"1/({k} + {rank})" for rank in ranks)
