"""Splitting without looking at what the text says: windows, and a single separator."""

from __future__ import annotations

from typing import Any

from chunking_lib.chunk import Chunk, Document, text_and_source
from chunking_lib.length import Length, token_length
from chunking_lib.separators import Separator, check_separators, find_cuts, for_line_ends
from chunking_lib.spans import (
    Builder,
    check_keep,
    check_size,
    cut_hard,
    merge_pieces,
    run_builder,
)

__all__ = ["split_characters", "split_on_separator", "split_tokens"]


def split_characters(text: str | Document, *, size: int = 1000, overlap: int = 0) -> list[Chunk]:
    """Cut `text` into windows of `size` characters that share `overlap` characters.

    1. A window starts `overlap` characters before the end of the one before.
    2. Both of its ends move to the nearest grapheme boundary inside it, so no emoji or accent is
       cut, and neither the size nor the overlap is exceeded.
    3. The last window ends at the end of the text: nothing is lost, nothing is said twice.

    A window with nothing to read in it is left out. White space is kept.

    Args:
        text: a text or a document; offsets count code points.
        size: window length in characters, 1 or more.
        overlap: shared characters, 0 to `size` - 1.
    Raises:
        ValueError: a size or overlap outside these bounds.

    >>> [chunk.text for chunk in split_characters("abcdefgh", size=4, overlap=1)]
    ['abcd', 'defg', 'gh']
    """
    text, source = text_and_source(text)
    check_size(size, overlap)
    return _windows(text, source, size, overlap, len)


def split_tokens(
    text: str | Document, *, tokenizer: Any, size: int = 1000, overlap: int = 0
) -> list[Chunk]:
    """Cut `text` into windows of `size` tokens that share up to `overlap` tokens.

    As `split_characters`, in the units a model counts. A window ends between words: one that ends
    inside a word would count more tokens by itself than it had as part of the text. A word longer
    than the size is cut where the parts, counted again, fit.

    Args:
        text: a text or a document; offsets count code points.
        tokenizer: whatever `token_length` takes: a tokenizer, an encoding, an embedder; for many
            documents, a `token_length(...)` made once.
        size: window length in tokens, without special tokens.
        overlap: shared tokens, 0 to `size` - 1.
    Raises:
        ValueError: a size or overlap outside these bounds, or a size that the model cannot read.

    >>> from chunking_lib.models import load_tokenizer
    >>> chunks = split_tokens("Mind the step, please.", tokenizer=load_tokenizer(), size=4)
    >>> [chunk.text for chunk in chunks]
    ['Mind the step, ', 'please.']
    """
    text, source = text_and_source(text)
    length = token_length(tokenizer)
    check_size(size, overlap, length)
    return _windows(text, source, size, overlap, length)


def _windows(text: str, source: str, size: int, overlap: int, length: Length) -> list[Chunk]:
    return run_builder(
        text,
        source,
        lambda builder: cut_hard(builder, 0, len(text)),
        size=size,
        overlap=overlap,
        length=length,
        strip=False,
        windows=True,
    )


def split_on_separator(
    text: str | Document,
    *,
    separator: Separator = "\n\n",
    size: int = 1000,
    overlap: int = 0,
    length: Length = len,
    keep: str = "start",
    strip: bool = True,
) -> list[Chunk]:
    r"""Split `text` on one separator and merge the pieces up to `size`.

    1. Split on every occurrence of `separator`.
    2. From left to right, merge neighbouring pieces as long as they fit together.
    3. A piece that is too long by itself is cut hard, so that the size holds.

    A merged chunk is a slice of the text: what stood between its pieces stays.

    Args:
        text: a text or a document; offsets refer to it.
        separator: a string, taken literally, or a compiled pattern.
        size: the most a chunk may measure, in units of `length`.
        overlap: the most that neighbours share, 0 to `size` - 1.
        length: measures a text; `len` for characters, `token_length(tokenizer)` for tokens.
        keep: where a separator at a cut goes: to the "start" of the next chunk, to the "end" of the
            one before, or to "none".
        strip: leave white space at the ends of chunks out.
    Raises:
        ValueError: an argument outside these bounds.

    >>> [chunk.text for chunk in split_on_separator("a-b-c", separator="-", size=3, keep="end")]
    ['a-', 'b-c']

    Source: LangChain's `CharacterTextSplitter`, with the size kept.
    """
    text, source = text_and_source(text)
    check_size(size, overlap, length)
    check_separators([separator])
    check_keep(keep)
    separator = for_line_ends(separator, text)

    def cut(builder: Builder) -> None:
        cuts = separator and find_cuts(text, 0, len(text), separator, keep, builder.boundaries)
        if cuts:
            merge_pieces(builder, cuts, 0, lambda a, b: cut_hard(builder, a, b))
        else:
            cut_hard(builder, 0, len(text))

    return run_builder(text, source, cut, size=size, overlap=overlap, length=length, strip=strip)
