"""Recursive splitting: the largest structure that fits, then the next."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from chunking_lib.chunk import Chunk, Document, text_and_source
from chunking_lib.length import Length
from chunking_lib.separators import Separator, check_separators, find_cuts, for_line_ends
from chunking_lib.spans import (
    Builder,
    check_keep,
    check_size,
    cut_hard,
    merge_pieces,
    run_builder,
)

__all__ = ["DEFAULT_SEPARATORS", "split_hierarchy", "split_recursive"]

#: Paragraphs, lines, words; where a script has no blanks between words: zero-width spaces (Thai,
#: Khmer), the ends of sentences and of clauses (Chinese, Japanese), and at last any character.
DEFAULT_SEPARATORS: tuple[Separator, ...] = (
    "\n\n",
    "\n",
    " ",
    "\u200b",
    re.compile("(?<=[。！？])(?![。！？」』”’）])"),
    re.compile("(?<=[，、；：])"),
    "",
)


def split_recursive(
    text: str | Document,
    *,
    size: int = 1000,
    overlap: int = 0,
    length: Length = len,
    separators: Sequence[Separator] = DEFAULT_SEPARATORS,
    keep: str = "start",
    strip: bool = True,
) -> list[Chunk]:
    r"""Split `text` on the largest structure whose pieces fit, recursively.

    1. Split on the first separator that occurs.
    2. From left to right, merge neighbouring pieces as long as they fit together.
    3. A piece that is too long by itself goes through the same steps with the separators that
       follow. When none is left, it is cut at the last character that fits.
    4. A chunk begins up to `overlap` before the end of the last one: with a whole word if there is
       one within reach. The overlap shrinks before the size is broken.

    No chunk is longer than `size`, nothing is lost, and no accent, emoji or CRLF is cut; a single
    one that is longer than `size` becomes a chunk marked `oversize`. White space at both ends of a
    chunk counts towards its size, as in LangChain's splitter, whose boundaries these are.

    Args:
        text: a text or a document; offsets refer to it.
        size: the most a chunk may measure, in units of `length`, 1 or more.
        overlap: the most that neighbours share, 0 to `size` - 1.
        length: measures a text; `len` for characters, `token_length(tokenizer)` for tokens. A
            longer text must not measure less. Of a callable that adds up over words on samples of
            the text, more is not asked; where it does not between them, a chunk may be shorter than
            it could be, never longer than `size`.
        separators: strings or compiled patterns, most important first. A "\n" also stands for the
            line end of Windows.
        keep: where a separator at a cut goes: to the "start" of the next chunk, to the "end" of the
            one before, or to "none".
        strip: leave white space at the ends of chunks out. Turn it off for indented text.
    Raises:
        ValueError: an argument outside these bounds.

    >>> [chunk.text for chunk in split_recursive("One two.\n\nThree four five.", size=12)]
    ['One two.', 'Three four', 'five.']

    Source: the algorithm is that of LangChain's `RecursiveCharacterTextSplitter`.
    """
    text, source = text_and_source(text)
    check_size(size, overlap, length)
    separators = check_separators(separators)
    check_keep(keep)
    levels = [for_line_ends(separator, text) for separator in separators]

    def cut(builder: Builder, start: int, end: int, level: int = 0) -> None:
        for number in range(level, len(levels)):
            if levels[number] == "":
                break
            cuts = find_cuts(text, start, end, levels[number], keep, builder.boundaries)
            if cuts:
                merge_pieces(builder, cuts, start, partial(cut, builder, level=number + 1))
                return
        cut_hard(builder, start, end)

    return run_builder(
        text,
        source,
        lambda builder: cut(builder, 0, len(text)),
        size=size,
        overlap=overlap,
        length=length,
        strip=strip,
    )


def split_hierarchy(
    text: str | Document,
    *,
    sizes: Sequence[int] = (2000, 500),
    overlap: int = 0,
    length: Length = len,
    separators: Sequence[Separator] = DEFAULT_SEPARATORS,
    keep: str = "start",
) -> list[list[Chunk]]:
    """Split `text` into large chunks, those into smaller ones, and so on.

    Search with the small chunks, which say one thing, and hand the model the large one around the
    hit. Every offset refers to the text, and each chunk lies inside one of the level above.

    Args:
        text: a text or a document.
        sizes: the size of each level, each smaller than the one before.
        overlap: shared by neighbours of the last level that lie in the same chunk above.
        length, separators, keep: as in `split_recursive`.
    Returns:
        A list of chunks for each size.
    Raises:
        ValueError: sizes that do not decrease, or another bad argument.

    >>> parents, children = split_hierarchy("Pay now. Walk on. Rest.", sizes=(17, 9))
    >>> [(chunk.start, chunk.end) for chunk in parents], [chunk.text for chunk in children]
    ([(0, 17), (18, 23)], ['Pay now.', 'Walk on.', 'Rest.'])
    """
    text, source = text_and_source(text)
    if not isinstance(sizes, Sequence) or isinstance(sizes, str) or not sizes:
        raise ValueError(f"sizes={sizes!r} must be a list of one or more sizes")
    for size in sizes:
        check_size(size, 0, length)
    if any(small >= large for large, small in zip(sizes, sizes[1:], strict=False)):
        raise ValueError(f"sizes={sizes!r} must each be below the one before")
    check_size(sizes[-1], overlap, length)
    levels: list[list[Chunk]] = []
    outer = [Chunk(text, 0, len(text), source)]
    for size in sizes:
        inner = []
        for parent in outer:
            for chunk in split_recursive(
                parent.text,
                size=size,
                overlap=overlap if size == sizes[-1] else 0,
                length=length,
                separators=separators,
                keep=keep,
            ):
                start, end = parent.start + chunk.start, parent.start + chunk.end
                inner.append(Chunk(chunk.text, start, end, source, metadata=dict(chunk.metadata)))
        levels.append(inner)
        outer = inner
    return levels
