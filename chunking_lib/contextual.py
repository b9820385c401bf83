"""A context for each chunk: where it stands, and what a language model says of it."""

from __future__ import annotations

import functools
import re
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath

from chunking_lib.chunk import Chunk, Document, is_blank
from chunking_lib.context_prompts import ask_all, context_prompts
from chunking_lib.evaluate import Tokens
from chunking_lib.headings import find_headings
from chunking_lib.length import Length
from chunking_lib.llm import Chat
from chunking_lib.replies import check_llm
from chunking_lib.sentences import sentence_spans
from chunking_lib.spans import check_length
from chunking_lib.turns import check_whole

__all__ = ["PARTS", "ContextWarning", "add_context"]

#: What the structure of a document has to say of a chunk.
PARTS = ("title", "path", "page", "neighbours")

_SHOWN = 300  # characters of a neighbouring sentence
# Where room is short, the first to get some; and the order in which they stand.
_FIRST = ("own", "model", "path", "title", "page", "others", "neighbours")
_ORDER = ("model", "neighbours", "others", "title", "page", "path", "own")
_NO_HEADINGS = frozenset(
    (".json", ".py", ".js", ".mjs", ".jsx", ".ts", ".tsx", ".java", ".go", ".rs", ".c", ".h")
)
_WORD = re.compile(r"\w+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")

Fits = Callable[[str], bool]


class ContextWarning(UserWarning):
    """Chunks did not get the context asked for; `metadata["fallback"]` of each says why."""


def add_context(
    document: str | Document,
    chunks: Sequence[Chunk],
    *,
    include: Sequence[str] = ("title", "path"),
    size: int | None = None,
    length: Length = len,
    llm: Chat | None = None,
    window: int | None = 1000,
    tokens: Tokens | None = None,
    threads: int = 4,
) -> list[Chunk]:
    r"""Give each chunk a context: its place in the document and, with `llm`, a model's words.

    1. From the structure, as `include` asks: "title" is the document's (of its metadata; else its
       first heading, if nothing stands above it and no other is as high; else its file name);
       "path" the headings above the chunk, "page" its page, "neighbours" the sentence before the
       chunk and the one after it. Any other name is a key of the document's metadata. What the
       chunk's own context or text has already is not said again.
    2. From the model, up to three sentences; see `context_prompts` and `read_context`. After a bad
       reply it is asked once more, and a model that gives no reply twice in a row no more at all.
       n chunks take at most 2 × n calls. `estimate_context_cost` says before what they may cost.
    3. With `size`, context and text together measure at most that: the context is shortened, to
       whole sentences or, where not even one fits, to whole words. What the splitter wrote has the
       first claim to the room, then the model, path, title, page, and neighbours last.

    `text`, its offsets and the order of the chunks stay as they are. A chunk that the model has no
    good reply for keeps what the structure gives, and a chunk that is too long by itself has no
    context: `metadata["fallback"]` says so, and a `ContextWarning` how many there are.

    A client with recordings, or of `load_llm(cache=True)`, asks nothing twice: an interrupted run
    goes on where it stopped.

    Args:
        document: what was split.
        chunks: its chunks, of any splitter.
        include: names of parts, in any order; none for the model's words alone.
        size: the most that context and text may measure, in units of `length`; what the model
            behind `length` reads if None, and any if that is not known.
        length: measures a text: `token_length(embedder)` for the tokens that an embedder reads.
        llm: the model; see `load_llm`. None for the structure alone.
        window, tokens: see `context_prompts`.
        threads: questions at the same time, 1 or more.
    Raises:
        ValueError: an argument outside these bounds, chunks of another document, a name that is
            neither a part nor in the metadata, or metadata that alone measure `size` or more.
        NoModelError: no model to ask; see `ChatClient.chat`.

    >>> page = Document("# Fares\n\n## Dogs\n\nFree.\n\nNot on seats.\n", "fares.md")
    >>> chunk = add_context(page, [Chunk("Not on seats.", 25, 38, "fares.md")])[0]
    >>> chunk.embedding_text
    'Fares > Dogs\n\nNot on seats.'

    Source: Anthropic, *Introducing Contextual Retrieval* (2024), for the model's words. Heading
    paths in front of chunks are older than that, and cost nothing.
    """
    document = document if isinstance(document, Document) else Document(document)
    chunks = list(chunks)
    _check_chunks(document, chunks)
    check_whole("threads", threads, 1)
    check_length(length, document.text[:20])
    if size is None:
        size = getattr(length, "limit", None)
    else:
        check_whole("size", size, 1)
    structure = _Structure(document, _names(document, include, size, length))
    said, problems = _ask(document, chunks, llm, window, tokens, threads)
    found = []
    for i, chunk in enumerate(chunks):
        pieces = structure.pieces(chunk) | ({"model": said[i]} if said[i] else {})
        found.append(_give(chunk, pieces, problems[i], size, length))
    changed = [
        chunk.metadata["fallback"]
        for chunk, before in zip(found, chunks, strict=True)
        if chunk.metadata.get("fallback") != before.metadata.get("fallback")
    ]
    if changed:
        warnings.warn(
            f"{len(changed):,} of {len(chunks):,} chunks of {document.id!r} did not get all of "
            f"their context, the first because of: {changed[0]}",
            ContextWarning,
            stacklevel=2,
        )
    return found


def _check_chunks(document: Document, chunks: Sequence[Chunk]) -> None:
    if not isinstance(document.metadata, Mapping):
        raise ValueError(f"document has metadata={document.metadata!r}, and must have a dict")
    for chunk in chunks:
        if not isinstance(chunk, Chunk):
            raise ValueError(f"chunks has {chunk!r:.60}, and must have nothing but Chunk")
        if chunk.source != document.id:
            raise ValueError(
                f"chunks has one with source={chunk.source!r}, and the document is {document.id!r}"
            )
        if chunk.end > len(document.text) or not (
            chunk.derived or chunk.text == document.text[chunk.start : chunk.end]
        ):
            raise ValueError(
                f"chunks has one that is not the text at {chunk.start}:{chunk.end} of "
                f"{document.id!r}"
            )


def _names(
    document: Document, include: Sequence[str], size: int | None, length: Length
) -> list[str]:
    """Return the names of the parts; ValueError for one that is none, or is too long."""
    if isinstance(include, str) or not isinstance(include, Iterable):
        raise ValueError(f"include={include!r} must be a list of names of parts")
    names = list(dict.fromkeys(include))
    for name in names:
        if name not in PARTS and name not in document.metadata:
            known = [*PARTS, *(key for key in document.metadata if key not in PARTS)]
            raise ValueError(f"include has {name!r}, and must have names among {known}")
        if name in document.metadata and (name == "title" or name not in PARTS):
            measured = length(_line(name, document.metadata[name]))
            if size is not None and measured >= size:
                raise ValueError(
                    f"metadata[{name!r}] measures {measured}, which with size={size} leaves no "
                    f"room for text: shorten it, or leave {name!r} out of include"
                )
    return names


def _ask(
    document: Document,
    chunks: Sequence[Chunk],
    llm: Chat | None,
    window: int | None,
    tokens: Tokens | None,
    threads: int,
) -> tuple[list[str], list[str]]:
    """Return the model's words for each chunk, and what came in between."""
    if llm is None:
        return [""] * len(chunks), [""] * len(chunks)
    check_llm(llm)
    prompts = context_prompts(document, chunks, window=window, tokens=tokens)
    asked = [prompt for prompt in prompts if prompt is not None]
    replies = iter(ask_all(asked, llm, threads))
    too_long = ("", "no question: the chunk alone is longer than the window")
    outcomes = [too_long if prompt is None else next(replies) for prompt in prompts]
    return [said for said, _ in outcomes], [problem for _, problem in outcomes]


class _Structure:
    """What a document says of the place of a chunk."""

    def __init__(self, document: Document, names: Sequence[str]) -> None:
        self._text, self._names = document.text, names
        self._metadata = document.metadata
        wanted = {"title", "path"} & set(names)
        code = PurePath(document.id).suffix.lower() in _NO_HEADINGS
        headings = find_headings(document) if wanted and not code else []
        # Where each heading starts, and the titles that hold from there on.
        self._starts = [heading.start for heading in headings]
        self._paths: list[list[str]] = []
        above: list[tuple[int, str]] = []
        for heading in headings:
            above = [one for one in above if one[0] < heading.level]
            above.append((heading.level, heading.title))
            self._paths.append([title for _, title in above])
        self._title = _flat(document.metadata.get("title", ""))
        if not self._title and headings and is_blank(self._text[: headings[0].start]):
            highest = [one for one in headings if one.level <= headings[0].level]
            self._title = headings[0].title if len(highest) == 1 else ""
        if not self._title:
            self._title = re.sub(r"[_\s]+", " ", PurePath(document.id).stem).strip()
        self._sentences = sentence_spans(self._text) if "neighbours" in names else []

    def pieces(self, chunk: Chunk) -> dict[str, str]:
        """Return the parts of the context, without what the chunk has already."""
        known = _known(chunk)
        path = [one for one in self._path(chunk) if (words := _words(one)) and words not in known]
        found = {"path": " > ".join(path)} if "path" in self._names else {}
        shown = path if "path" in self._names else []
        if "title" in self._names and _words(self._title) not in known | set(map(_words, shown)):
            found["title"] = self._title
        if "page" in self._names and (page := chunk.metadata.get("page")) is not None:
            found["page"] = f"page {page}"
        if "neighbours" in self._names:
            found["neighbours"] = self._neighbours(chunk)
        others = [name for name in self._names if name not in PARTS]
        found["others"] = "\n".join(_line(name, self._metadata[name]) for name in others)
        return {name: one for name, one in found.items() if one and one not in chunk.context}

    def _path(self, chunk: Chunk) -> list[str]:
        """Return the titles above a chunk: those that its splitter found, or the document's."""
        if isinstance(path := chunk.metadata.get("path"), list):
            return [_flat(title) for title in path]
        blank = len(chunk.text) - len(chunk.text.lstrip())
        place = bisect_right(self._starts, chunk.start + blank) - 1
        if place < 0:
            return []
        # A heading that the chunk begins with stands in it, on whatever number of lines.
        titles = self._paths[place]
        return titles[:-1] if self._starts[place] >= chunk.start else titles

    def _neighbours(self, chunk: Chunk) -> str:
        """Return what stands before and after a chunk, as far as the next ends of sentences."""
        text, spans = self._text, self._sentences
        before = after = ""
        if (place := bisect_left(spans, (chunk.start, 0)) - 1) >= 0:
            before = _flat(text[spans[place][0] : min(spans[place][1], chunk.start)])
        place = bisect_right(spans, chunk.end, key=lambda span: span[1])
        if place < len(spans):
            after = _flat(text[max(spans[place][0], chunk.end) : spans[place][1]])
        if len(before) > _SHOWN:
            before = before[-_SHOWN:].partition(" ")[2]
        if len(after) > _SHOWN:
            after = after[:_SHOWN].rpartition(" ")[0]
        return f"{before} … {after}".strip() if before or after else ""


def _known(chunk: Chunk) -> set[str]:
    """Return the words of each line of a chunk, and of each title in its context."""
    titles = [title for line in chunk.context.split("\n") for title in line.split(" > ")]
    return {"", *map(_words, titles), *map(_words, chunk.text.split("\n"))}


def _words(title: str) -> str:
    return " ".join(_WORD.findall(title.casefold()))


def _line(name: str, value: object) -> str:
    """Return how an entry of the metadata is written in a context."""
    return _flat(value) if name == "title" else f"{name}: {_flat(value)}"


def _flat(value: object) -> str:
    """Return a value on one line, without control characters such as NUL."""
    return " ".join(_CONTROL.sub(" ", str(value)).split())


def _give(
    chunk: Chunk, pieces: Mapping[str, str], problem: str, size: int | None, length: Length
) -> Chunk:
    """Return a chunk with as much of its context as there is room for."""
    if chunk.context:
        pieces = {**pieces, "own": chunk.context}

    def fits(context: str) -> bool:
        return size is None or length(f"{context}\n\n{chunk.text}") <= size

    context = _fit(pieces, fits)
    problems = [str(chunk.metadata.get("fallback") or ""), problem]
    if pieces and not context:
        alone = length(chunk.text)
        problems.append(f"no room for a context: the text alone measures {alone} of {size}")
    told = "; ".join(dict.fromkeys(filter(None, problems)))
    metadata = {**chunk.metadata, "fallback": told} if told else chunk.metadata
    return replace(chunk, context=context, metadata=metadata)


def _fit(pieces: Mapping[str, str], fits: Fits) -> str:
    kept: dict[str, str] = {}

    def join(name: str = "", part: str = "") -> str:
        both = {**kept, name: part}
        return "\n".join(both[name] for name in _ORDER if both.get(name))

    def fits_beside(name: str, part: str) -> bool:
        return fits(join(name, part))

    for name in _FIRST:
        if name in pieces:
            kept[name] = _shorten(pieces[name], functools.partial(fits_beside, name))
    return join()


def _shorten(piece: str, fits: Fits) -> str:
    """Return as much of the beginning as fits: whole sentences, or else whole words."""
    if fits(piece):
        return piece
    sentences = [end for _, end in sentence_spans(piece)]
    words = [match.end() for match in re.finditer(r"\S+", piece)]
    for ends in (sentences, words):
        number = bisect_left(ends, True, key=lambda end: not fits(piece[:end]))
        if number:
            return piece[: ends[number - 1]].rstrip(" >")
    return ""
