"""The checks that cases/cases.jsonl asks for, each a function that says what is wrong, or "".

Written apart from `check_chunks` of the library, so that a fault in one does not hide in the other.
"""

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import regex

from chunking_lib.chunk import Chunk

CASES = {
    case["id"]: case
    for case in map(
        json.loads,
        (Path(__file__).resolve().parent / "cases" / "cases.jsonl")
        .read_text(encoding="utf-8")
        .splitlines(),
    )
}
INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\u00ad"


def _texts(chunks: Sequence[Chunk]) -> list[str]:
    return [chunk.text for chunk in chunks]


def slice_(source, chunks):
    """Each text is what stands at its offsets."""
    wrong = [c for c in chunks if c.start < 0 or source[c.start : c.end] != c.text]
    return f"not slices: {wrong}" if wrong else ""


def ordered(source, chunks):
    """Starts increase and so do ends."""
    wrong = [pair for pair in pairwise(chunks) if not _before(*pair)]
    return f"out of order: {wrong}" if wrong else ""


def _before(left: Chunk, right: Chunk) -> bool:
    return left.start < right.start and left.end < right.end


def cover(source, chunks):
    """Each character lies in a chunk."""
    return _missing(source, chunks, lambda character: True)


def cover_nonspace(source, chunks):
    """Each character that is not white space lies in a chunk."""
    return _missing(source, chunks, lambda character: not character.isspace())


def _missing(source, chunks, wanted):
    held = {place for c in chunks for place in range(c.start, c.end)}
    missing = [c for place, c in enumerate(source) if place not in held and wanted(c)]
    return f"lost: {''.join(missing)!r}" if missing else ""


def lossless(source, chunks):
    """The texts, one after another, are the source."""
    return "" if "".join(_texts(chunks)) == source else "joined texts differ from the source"


def size(source, chunks, most):
    """No text has more characters."""
    long = [text for text in _texts(chunks) if len(text) > most]
    return f"longer than {most}: {long}" if long else ""


def overlap_max(source, chunks, most):
    """Neighbours share no more characters."""
    shared = [a.end - b.start for a, b in pairwise(chunks)]
    return f"overlaps {shared}" if any(n > most for n in shared) else ""


def overlap_exact(source, chunks, amount):
    """All neighbours share just as many characters."""
    shared = [a.end - b.start for a, b in pairwise(chunks)]
    return f"overlaps {shared}" if any(n != amount for n in shared) else ""


def no_blank(source, chunks):
    """Each text has something to read."""
    blank = [t for t in _texts(chunks) if all(c.isspace() or c in INVISIBLE for c in t)]
    return f"blank: {blank}" if blank else ""


def graphemes(source, chunks):
    """No chunk begins or ends inside a grapheme cluster."""
    edges = {0, *(match.end() for match in regex.finditer(r"\X", source))}
    wrong = [c for c in chunks if not {c.start, c.end} <= edges]
    return f"cut clusters: {wrong}" if wrong else ""


def whole(source, chunks, part):
    """Some chunk holds `part`."""
    return "" if any(part in text for text in _texts(chunks)) else f"cut in two: {part!r}"


def contains(source, chunks, part):
    """`part` occurs in some chunk."""
    return whole(source, chunks, part)


def together(source, chunks, first, second):
    """Some chunk holds both."""
    held = any(first in text and second in text for text in _texts(chunks))
    return "" if held else f"apart: {first!r} and {second!r}"


def absent(source, chunks, part):
    """No chunk holds `part`."""
    return f"found {part!r}" if any(part in text for text in _texts(chunks)) else ""


def apart(source, chunks, first, second):
    """No chunk holds both."""
    wrong = [text for text in _texts(chunks) if first in text and second in text]
    return f"together: {wrong}" if wrong else ""


def texts(source, chunks, expected):
    """These texts and no others."""
    return "" if _texts(chunks) == expected else f"{_texts(chunks)} is not {expected}"


def texts_any(source, chunks, choices):
    """One of these lists of texts."""
    return "" if _texts(chunks) in choices else f"{_texts(chunks)} is none of {choices}"


def texts_strip(source, chunks, expected):
    """These texts, white space at their ends aside."""
    found = [text.strip() for text in _texts(chunks)]
    return "" if found == expected else f"{found} is not {expected}"


def count_max(source, chunks, most):
    """No more chunks than this."""
    return f"{len(chunks)} chunks, over {most}" if len(chunks) > most else ""


def count(source, chunks, number):
    """Just as many chunks."""
    return "" if len(chunks) == number else f"{len(chunks)} chunks, not {number}"


def even_fences(source, chunks):
    """No chunk opens a fence without closing it, or closes one that it did not open."""
    odd = [text for text in _texts(chunks) if text.count("```") % 2]
    return f"odd fences: {odd}" if odd else ""


def path(source, chunks, part, expected):
    """The chunk that holds `part` has this heading path."""
    found = next((c.metadata.get("path") for c in chunks if part in c.text), None)
    return "" if found == expected else f"{part!r} has the path {found}, not {expected}"


CHECKS = {
    "slice": slice_,
    **{
        check.__name__: check
        for check in (
            ordered,
            cover,
            cover_nonspace,
            lossless,
            size,
            overlap_max,
            overlap_exact,
            no_blank,
            graphemes,
            whole,
            absent,
            apart,
            texts,
            texts_any,
            texts_strip,
            count_max,
            contains,
            together,
            count,
            even_fences,
            path,
        )
    },
}


def faults(checks: Sequence[Sequence[object]], source: str, chunks: Sequence[Chunk]) -> list[str]:
    """Return what `chunks` of `source` do wrong, by the checks of a case."""
    found = [(name, CHECKS[name](source, chunks, *values)) for name, *values in checks]
    return [f"{name}: {fault}" for name, fault in found if fault]


def passes(name: str, source: str, chunks: Sequence[Chunk]) -> None:
    """Assert that the case's own checks find nothing."""
    assert faults(CASES[name]["right_value"]["checks"], source, chunks) == []
