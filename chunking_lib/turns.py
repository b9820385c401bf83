"""What the semantic splitters share: vectors of sentences, and chunks of whole sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Real
from typing import SupportsIndex

import numpy as np
from numpy.typing import NDArray

from chunking_lib.chunk import is_blank
from chunking_lib.length import Length
from chunking_lib.recursive import split_recursive
from chunking_lib.retrieve import Encoder
from chunking_lib.spans import Builder, check_length

__all__ = [
    "Spans",
    "add_group",
    "check_cosine",
    "check_least",
    "check_whole",
    "embed_sentences",
    "find_sentences",
    "read_sentences",
]

#: The places of sentences: start and end of each, in characters.
Spans = Sequence[tuple[int, int]]


def find_sentences(
    text: str, sentences: Callable[[str], Spans], size: int, length: Length
) -> list[tuple[int, int]]:
    """Return the places of the sentences; of one longer than `size`, those of its parts.

    What has no sentences (code, data, a table) would else be one, and turn nowhere.

    Raises:
        ValueError: places out of order or outside the text, or that leave out what can be read.
    """
    check_length(length, text[:20])
    spans = []
    for start, end in read_sentences(text, sentences):
        sentence = text[start:end]
        if length(sentence) <= size:
            spans.append((start, end))
        else:
            parts = split_recursive(sentence, size=size, length=length)
            spans += [(start + part.start, start + part.end) for part in parts]
    return spans


def read_sentences(text: str, sentences: Callable[[str], Spans]) -> list[tuple[int, int]]:
    """Return the places of the sentences, checked: whatever they leave out would be lost.

    Raises:
        ValueError: places out of order or outside the text, or that leave out what can be read.
    """
    found, place = list(sentences(text)), 0
    for start, end in found:
        if not place <= start < end <= len(text) or not is_blank(text[place:start]):
            raise ValueError(
                f"sentences found {start} to {end} after {place}: places must be in order, within "
                "the text, and leave out nothing but white space"
            )
        place = end
    if not is_blank(text[place:]):
        raise ValueError(f"sentences left out the end of the text, from {place}")
    return found


def embed_sentences(text: str, spans: Spans, embedder: Encoder, buffer: int) -> NDArray[np.float64]:
    """Return a vector of length 1 for each sentence; 0 for one without a direction.

    Args:
        text: the text.
        spans: its sentences. Each is embedded with `buffer` sentences on either side, as they
            stand in the text.
    Raises:
        ValueError: vectors that are missing, or that hold what is no finite number.
    """
    check_whole("buffer", buffer, 0)
    if not callable(getattr(embedder, "encode", None)):
        raise ValueError(f"embedder={embedder!r:.60} must have a method encode: see load_embedder")
    if not spans:
        return np.zeros((0, 0))
    last = len(spans) - 1
    windows = [
        text[spans[max(i - buffer, 0)][0] : spans[min(i + buffer, last)][1]]
        for i in range(len(spans))
    ]
    found = np.asarray(embedder.encode(windows))
    if found.dtype.kind not in "fiu":
        raise ValueError(f"embedder gave an array of {found.dtype}: it must give real numbers")
    vectors = found.astype(np.float64)
    if vectors.ndim != 2 or len(vectors) != len(spans):
        raise ValueError(
            f"embedder gave an array of shape {vectors.shape} for {len(spans)} sentences: "
            "it must give one row for each"
        )
    wrong = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if wrong.size:
        sentence = text[slice(*spans[wrong[0]])]
        raise ValueError(f"embedder gave no finite numbers for sentence {wrong[0]}: {sentence!r}")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)


def add_group(builder: Builder, start: int, end: int, length: Length) -> None:
    """Make a chunk of these places, or as many as `split_recursive` makes if they are too long."""
    if builder.fits(start, end):
        builder.add(start, end)
        return
    for part in split_recursive(builder.text[start:end], size=builder.size, length=length):
        oversize = bool(part.metadata.get("oversize"))
        builder.add(start + part.start, start + part.end, oversize=oversize)


def add_sentences(builder: Builder, spans: Spans, length: Length) -> None:
    """Make chunks of whole sentences, each of as many as fit."""
    first = 0
    for last in range(len(spans)):
        whole = last + 1 == len(spans)
        if whole or not builder.fits(spans[first][0], spans[last + 1][1]):
            add_group(builder, spans[first][0], spans[last][1], length)
            first = last + 1


def check_whole(name: str, value: object, least: int, most: int | None = None) -> None:
    """Raise a `ValueError` unless a value is a whole number from `least` to `most`, if given."""
    whole = isinstance(value, SupportsIndex) and not isinstance(value, bool)
    number = value.__index__() if isinstance(value, SupportsIndex) else least
    if not whole or number < least or (most is not None and number > most):
        limits = f"{least} or more" if most is None else f"{least} to {most}"
        raise ValueError(f"{name}={value!r} must be a whole number of {limits}")


def check_least(min_size: int, size: int) -> None:
    """Raise a `ValueError` unless the least size is a whole number from 0 to the most."""
    check_whole("min_size", min_size, 0)
    if min_size > size:
        raise ValueError(f"min_size={min_size} must be at most size={size}")


def check_cosine(name: str, value: object) -> None:
    """Raise a `ValueError` unless a value is a number from -1 to 1."""
    if not isinstance(value, Real) or isinstance(value, bool) or not -1 <= float(value) <= 1:
        raise ValueError(f"{name}={value!r} must be a number from -1 to 1")
