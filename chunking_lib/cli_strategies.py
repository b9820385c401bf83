"""The ways to split that the command line knows, by name."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import cache, partial

from chunking_lib.character import split_characters, split_tokens
from chunking_lib.chunk import Chunk, Document
from chunking_lib.formats import split_document
from chunking_lib.length import Length, token_length
from chunking_lib.models import load_embedder, load_tokenizer
from chunking_lib.recursive import split_recursive
from chunking_lib.semantic import split_semantic

__all__ = ["Strategy", "Unit", "make_chunker", "make_length"]


class Unit(StrEnum):
    """What `--size` counts."""

    characters = "characters"
    tokens = "tokens"


class Strategy(StrEnum):
    """How to split."""

    characters = "characters"
    recursive = "recursive"
    document = "document"
    semantic = "semantic"


def make_length(unit: Unit) -> Length:
    """Return what measures a text in this unit; RuntimeError if the tokenizer cannot be had."""
    return len if unit is Unit.characters else token_length(load_tokenizer())


def make_chunker(
    strategy: Strategy, *, size: int, overlap: int, unit: Unit
) -> Callable[[Document], list[Chunk]]:
    """Return the chunker that the options describe.

    Raises:
        ValueError: options that it does not take; said at once, not at the first document.
        RuntimeError: a model that cannot be had.
    """
    length = make_length(unit)
    if strategy is Strategy.recursive:
        chunker = partial(split_recursive, size=size, overlap=overlap, length=length)
    elif strategy is not Strategy.characters:
        if overlap:
            raise ValueError(f"overlap={overlap} must be 0 for the strategy {strategy}")
        chunker = partial(
            split_document if strategy is Strategy.document else _semantic, size=size, length=length
        )
    elif unit is Unit.characters:
        chunker = partial(split_characters, size=size, overlap=overlap)
    else:
        chunker = partial(split_tokens, tokenizer=length, size=size, overlap=overlap)
    chunker(Document(""))
    return chunker


def _semantic(document: Document, *, size: int, length: Length) -> list[Chunk]:
    return split_semantic(document, embedder=_embedder(), size=size, length=length)


# Loading it takes seconds, and a text of one sentence does not need it.
_embedder = cache(load_embedder)
