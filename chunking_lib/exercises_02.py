"""Checks of the exercises in notebook 2. They print what they find and never raise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from chunking_lib.attempts import attempt, report

__all__ = ["check_merge", "check_sentence_overlap"]

Pairs = list[tuple[int, int]]

_ENDLESS = "Does each turn of the loop use up a piece?"

# pieces and size, the plain cases first.
_PIECES: list[tuple[list[str], int]] = [
    (["Stop.", " Go.", " Stop."], 9),
    (["Stop.", " Go.", " Stop."], 100),
    (["Stop.", " Go.", " Stop."], 4),
    (["aaaa", "bbbb", "cccc", "dddd"], 8),
    (["a", "much too long", "b", "c"], 4),
    (["much too long", "a"], 4),
    (["only one"], 20),
    (["ab", "", "cd"], 4),
    (["a", "b", "c"], 1),
    (["a", "b", "c"], 2),
    ([], 10),
]

# chunks, sentences and size. The second has a sentence that is cut between two chunks.
_OVERLAPS: list[tuple[Pairs, Pairs, int]] = [
    ([(0, 20), (21, 40)], [(0, 9), (10, 20), (21, 40)], 40),
    ([(0, 20), (21, 40)], [(0, 9), (10, 30), (31, 40)], 40),
    ([(0, 20), (21, 40)], [(0, 9), (10, 20), (21, 40)], 29),
    ([(0, 20), (21, 40)], [(0, 20), (21, 40)], 100),
    (
        [(0, 30), (31, 60), (61, 90)],
        [(0, 9), (10, 19), (20, 30), (31, 44), (45, 60), (61, 90)],
        50,
    ),
    ([(0, 30), (31, 45), (46, 60)], [(0, 19), (20, 30), (31, 60)], 60),
    ([(0, 20), (20, 40), (40, 60)], [(0, 10), (10, 25), (25, 60)], 30),
    ([(0, 20), (25, 40)], [], 40),
    ([(3, 20)], [(3, 9), (10, 20)], 40),
    ([], [], 40),
]


def check_merge(merge: Callable[[list[str], int], Sequence[str]]) -> None:
    """Try `merge(pieces, size)` on plain and odd pieces; print the first fault, or passed.

    >>> check_merge(lambda pieces, size: pieces)
    Not yet: merge(['Stop.', ' Go.', ' Stop.'], size=9)
      got       ['Stop.', ' Go.', ' Stop.']
      expected  ['Stop. Go.', ' Stop.']
      hint      'Stop.' and ' Go.' fit together: 9 characters, and the size is 9.
    """
    for pieces, size in _PIECES:
        call = f"merge({pieces!r}, size={size})"
        got = attempt(call, partial(merge, list(pieces), size), endless=_ENDLESS)
        if got is None:
            return
        if not all(isinstance(part, str) for part in got):
            report(call, got, "return a list of strings.")
            return
        expected = _expected_merge(pieces, size)
        if got != expected:
            report(call, got, _hint_merge(got, pieces, size), expected)
            return
    print(f"passed: {len(_PIECES)} lists, nothing lost, nothing joined that does not fit.")


def check_sentence_overlap(
    sentence_overlap: Callable[[Pairs, Pairs, int], Sequence[tuple[int, int]]],
) -> None:
    """Try `sentence_overlap(chunks, sentences, size)`; print the first fault, or passed.

    >>> check_sentence_overlap(lambda chunks, sentences, size: chunks)
    Not yet: sentence_overlap([(0, 20), (21, 40)], [(0, 9), (10, 20), (21, 40)], size=40)
      got       [(0, 20), (21, 40)]
      expected  [(0, 20), (10, 40)]
      hint      chunk 1 can begin at 10, with the last sentence that starts in (0, 20).
    """
    for chunks, sentences, size in _OVERLAPS:
        call = f"sentence_overlap({chunks!r}, {sentences!r}, size={size})"
        run = partial(sentence_overlap, list(chunks), list(sentences), size)
        got = attempt(call, run, endless=_ENDLESS)
        if got is None:
            return
        try:
            pairs = [(int(start), int(end)) for start, end in got]
        except (TypeError, ValueError):
            report(call, got, "return a list of pairs (start, end).")
            return
        expected = _expected_overlap(chunks, sentences, size)
        if pairs != expected:
            report(call, pairs, _hint_overlap(pairs, expected, chunks, size), expected)
            return
    print(f"passed: {len(_OVERLAPS)} cases, whole sentences, no chunk too long.")


def _expected_merge(pieces: list[str], size: int) -> list[str]:
    merged: list[str] = []
    for piece in pieces:
        if merged and len(merged[-1]) + len(piece) <= size:
            merged[-1] += piece
        else:
            merged.append(piece)
    return merged


def _hint_merge(got: list[str], pieces: list[str], size: int) -> str:
    if not pieces:
        return "no pieces, no chunks: return an empty list."
    if not got:
        return "nothing came back, so all of the text is lost."
    if "".join(got) != "".join(pieces):
        missing = len("".join(pieces)) - len("".join(got))
        if missing > 0 and "".join(pieces).startswith("".join(got)):
            return f"the last {missing} characters are lost. What is still open after the loop?"
        if missing == 0:
            return "the letters are all there, but not in their order."
        return "the results, joined, must be the pieces, joined: no more, no less."
    if "" in got and "" not in pieces:
        return "there is an empty chunk. What if nothing is open yet when a piece is too long?"
    for part in got:
        if len(part) > size and part not in pieces:
            return f"{part!r} has {len(part)} characters, over the size of {size}."
    for left, right in zip(got, got[1:], strict=False):
        if len(left) + len(right) <= size:
            both = len(left) + len(right)
            return (
                f"{left!r} and {right!r} fit together: {both} characters, and the size is {size}."
            )
    return "join from left to right: a chunk takes as many pieces as fit before the next begins."


def _expected_overlap(chunks: Pairs, sentences: Pairs, size: int) -> Pairs:
    longer = chunks[:1]
    for (left, right), (start, end) in zip(chunks, chunks[1:], strict=False):
        begins = [begin for begin, _ in sentences if left < begin < right]
        if begins and end - begins[-1] <= size:
            start = begins[-1]
        longer.append((start, end))
    return longer


def _hint_overlap(got: Pairs, expected: Pairs, chunks: Pairs, size: int) -> str:
    if len(got) != len(expected):
        return f"{len(expected)} chunks went in and {len(got)} came out."
    number = next(i for i, pair in enumerate(expected) if got[i] != pair)
    (start, end), (right, right_end) = got[number], expected[number]
    if number == 0:
        return "the first chunk has none before it and stays as it is."
    before = chunks[number - 1]
    if end != right_end:
        return f"chunk {number} must end where it did, at {right_end}."
    if start == before[0]:
        return f"chunk {number} repeats all of {before}: not from its very start."
    if end - start > size:
        return f"chunk {number} would have {end - start} characters, over the size of {size}."
    if right == chunks[number][0]:
        return f"chunk {number} must stay as it was."
    if start > right:
        return (
            f"chunk {number} can begin at {right}, with the last sentence that starts in {before}."
        )
    return f"the last sentence that starts in {before} starts at {right}, not at {start}."
