"""What a chunk is, and the promises every chunker keeps."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import regex

from chunking_lib.boundaries import CLUSTER

__all__ = ["Chunk", "Document", "check_chunks", "chunk_id", "is_blank", "realised_overlap"]

# Characters that show nothing: white space, and what Unicode says a renderer may ignore
# (zero-width spaces, joiners, the byte order mark, soft hyphens, ...).
_VISIBLE = regex.compile(r"[^\s\p{Default_Ignorable_Code_Point}\x1c-\x1f]")


def chunk_id(chunk: Chunk) -> str:
    """Return an id made from document, offsets, context and text, the same in every run.

    The same words at two places have two ids. It is a UUID, which some databases insist on.

    >>> chunk_id(Chunk("See above.", 0, 10)) == chunk_id(Chunk("See above.", 20, 30))
    False
    """
    parts = (chunk.source, chunk.start, chunk.end, chunk.context, chunk.text)
    return str(uuid.uuid5(uuid.NAMESPACE_OID, ascii(parts)))


def is_blank(text: str) -> bool:
    r"""Say whether `text` has nothing to read: empty, white space, zero-width characters.

    >>> is_blank(" \n\u200b"), is_blank("a")
    (True, False)
    """
    return _VISIBLE.search(text) is None


@dataclass(frozen=True, slots=True)
class Document:
    """A text with a name; the offsets of its chunks refer to `text`.

    Args:
        text: the text, as it is.
        id: the name that its chunks carry as `source`.
        metadata: anything worth keeping about the document.

    >>> Document("Mind the step.", id="notice").id
    'notice'
    """

    text: str
    id: str = ""
    metadata: dict[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise ValueError(f"text={self.text!r} must be a str")


@dataclass(frozen=True, slots=True)
class Chunk:
    r"""A piece of a document that knows where it came from.

    `text` is verbatim: `document.text[start:end]`. What is not in the document (headings above it,
    a repeated table header, a model's words) belongs in `context`.

    Args:
        text: the words of the document, unchanged.
        start: offset of the first character (code point) in the document.
        end: offset after the last one.
        source: the id of the document.
        context: text to embed in front of `text`, not part of the document at this place.
        derived: `text` was rebuilt; `start` and `end` say what from.
        metadata: `path`, `page`, `boxes`, `kind`, `picture`, `oversize`, `fallback`, `keywords`;
            nothing else.
    Raises:
        ValueError: an argument of the wrong type, offsets that are no offsets, or that do not match
            the length of `text`.

    >>> chunk = Chunk("the step", 5, 13, context="Platform 2")
    >>> chunk.embedding_text
    'Platform 2\n\nthe step'
    """

    text: str
    start: int
    end: int
    source: str = ""
    context: str = ""
    derived: bool = False
    metadata: dict[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        for name, kind in (("text", str), ("start", int), ("end", int), ("metadata", dict)):
            if not isinstance(value := getattr(self, name), kind):
                raise ValueError(f"{name}={value!r} must be {kind.__name__}")
        if not 0 <= self.start <= self.end:
            raise ValueError(f"start={self.start} and end={self.end} must be 0 <= start <= end")
        if not self.derived and len(self.text) != self.end - self.start:
            raise ValueError(
                f"text has {len(self.text)} characters but end - start is {self.end - self.start}; "
                "a rebuilt text needs derived=True"
            )

    @property
    def embedding_text(self) -> str:
        """The text to embed: the context, if there is one, and the text."""
        return f"{self.context}\n\n{self.text}" if self.context else self.text


class _Draft:
    """A chunk that can still be written to: the same slots as `Chunk`, without its guard."""

    __slots__ = ("context", "derived", "end", "metadata", "source", "start", "text")

    def __init__(self, text: str, start: int, end: int, source: str) -> None:
        self.text = text
        self.start = start
        self.end = end
        self.source = source
        self.context = ""
        self.derived = False
        self.metadata: dict[str, Any] = {}


def make_chunk(text: str, start: int, end: int, source: str) -> Chunk:
    """Return a chunk of a slice that is known to be right, in a third of the time.

    A frozen dataclass checks its arguments and sets each field through a guard, which would be the
    dearest step of splitting. A draft has the same layout in memory, so it may become a chunk.
    """
    draft: Any = _Draft(text, start, end, source)
    draft.__class__ = Chunk
    chunk: Chunk = draft
    return chunk


def text_and_source(document: str | Document) -> tuple[str, str]:
    """Return the text and the id of what a splitter was given."""
    if isinstance(document, Document):
        return document.text, document.id
    if isinstance(document, str):
        return document, ""
    raise ValueError(f"text={document!r} must be a str or a Document")


def realised_overlap(chunks: Sequence[Chunk]) -> list[int]:
    """Return, for each pair of neighbours, the characters they really share.

    A negative number is a gap: characters between the two that lie in neither.

    >>> realised_overlap([Chunk("abc", 0, 3), Chunk("cd", 2, 4), Chunk("f", 5, 6)])
    [1, -1]
    """
    return [left.end - right.start for left, right in zip(chunks, chunks[1:], strict=False)]


def check_chunks(
    text: str | Document,
    chunks: Iterable[Chunk],
    *,
    size: int | None = None,
    overlap: int | None = None,
    length: Callable[[str], int] = len,
) -> list[str]:
    """Return every promise that `chunks` of `text` break, in words; an empty list if none.

    Chunks are numbered from 1, as in `show_chunks`.

    1. Verbatim: each chunk is the slice of the text that its offsets name.
    2. In order: starts and ends increase.
    3. Complete: each character that is neither white space nor invisible lies in some chunk.
    4. Not blank.
    5. No chunk cuts a grapheme cluster (an accented letter, an emoji, a CRLF) in two.
    6. With `size`: no chunk is longer, one single cluster apart, and that one is marked `oversize`.
    7. With `overlap`: neighbours share at most that much.

    Args:
        text: the text that was split.
        chunks: the chunks, in order.
        size: the largest length allowed, in units of `length`.
        overlap: the largest overlap allowed, in units of `length`.
        length: measures a text; characters by default.

    >>> check_chunks("abc def", [Chunk("abc", 0, 3)], size=3)
    ["lost: 'def' at 4"]
    """
    text, _ = text_and_source(text)
    chunks = list(chunks)
    for chunk in chunks:
        if not isinstance(chunk, Chunk):
            raise ValueError(f"chunks has {chunk!r}, and must have nothing but Chunk")
    broken = _inside_clusters(text, chunks)
    faults, reached = [], 0
    for number, chunk in enumerate(chunks):
        name = f"chunk {number + 1}"
        if not chunk.derived and text[chunk.start : chunk.end] != chunk.text:
            faults.append(f"{name} is not the text at {chunk.start}:{chunk.end}")
        if number and not (
            chunks[number - 1].start < chunk.start and chunks[number - 1].end < chunk.end
        ):
            faults.append(f"{name} is out of order or lies inside its neighbour")
        if is_blank(chunk.text):
            faults.append(f"{name} is blank")
        if chunk.start in broken or chunk.end in broken:
            faults.append(f"{name} cuts a grapheme cluster")
        faults += _lost(text, reached, chunk.start)
        reached = max(reached, chunk.end)
        if size is not None and length(chunk.text) > size:
            if len(CLUSTER.findall(chunk.text)) > 1:
                faults.append(f"{name} is {length(chunk.text)} long, over {size}")
            elif not chunk.metadata.get("oversize"):
                faults.append(f"{name} is over {size} and not marked oversize")
        if overlap is not None and number and chunk.start < chunks[number - 1].end:
            shared = length(text[chunk.start : chunks[number - 1].end])
            if shared > overlap:
                faults.append(f"{name} shares {shared} with the one before, over {overlap}")
    return faults + _lost(text, reached, len(text))


def _inside_clusters(text: str, chunks: list[Chunk]) -> set[int]:
    """Return the offsets of chunks that lie inside a grapheme cluster, or beyond the text."""
    places = {place for chunk in chunks for place in (chunk.start, chunk.end)} - {0}
    if text.isascii() and "\r" not in text:
        return {place for place in places if place > len(text)}
    for cluster in CLUSTER.finditer(text):
        places.discard(cluster.end())
    return places


def _lost(text: str, start: int, end: int) -> list[str]:
    """Name the readable text between two offsets, if there is any."""
    gap = text[start:end]
    if start >= end or is_blank(gap):
        return []
    shown = gap.strip()
    more = " and more" if len(shown) > 40 else ""
    return [f"lost: {shown[:40]!r}{more} at {start + gap.index(shown)}"]
