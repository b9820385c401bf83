"""LangChain and LlamaIndex, both ways: their documents and our chunks, their splitters and ours.

Their offsets are searched for after the split and are sometimes -1, or those of another copy of the
same words. Ours are known from the split; what comes from them is compared with the text here.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chunking_lib.chunk import Chunk, Document, chunk_id, is_blank, text_and_source

if TYPE_CHECKING:
    from langchain_core.documents import Document as LangChainDocument
    from langchain_text_splitters import TextSplitter
    from llama_index.core.node_parser import NodeParser
    from llama_index.core.schema import BaseNode, TextNode

__all__ = [
    "as_node_parser",
    "as_text_splitter",
    "from_langchain",
    "from_llama_index",
    "from_text_splitter",
    "to_langchain",
    "to_llama_index",
]

Chunker = Callable[[str], list[Chunk]]
Span = tuple[int, int]

# What a chunk says of itself beside its metadata, under the names used there.
_RESERVED = {"source", "context", "derived", "start_index", "end_index"}

_WORD = re.compile(r"[^\w\s]*(\w+)[^\w\s]*")


def to_langchain(chunks: Iterable[Chunk]) -> list[LangChainDocument]:
    """Return LangChain's documents, for its vector stores and retrievers.

    `page_content` is the chunk's own text, so that `start_index`, LangChain's name for the offset,
    is true of it. A context goes into the metadata. Values there are strings and numbers, the only
    ones that every vector store takes; a list is written as JSON. The id is made from the source,
    the place and the text: adding the same chunk twice does not store it twice.

    Args:
        chunks: the chunks, in any order.
    Raises:
        RuntimeError: langchain-core is not installed.

    >>> chunk = Chunk("the step", 5, 13, source="notice", metadata={"path": ["Rules", "Trams"]})
    >>> [document] = to_langchain([chunk])
    >>> document.metadata
    {'start_index': 5, 'end_index': 13, 'source': 'notice', 'path': '["Rules", "Trams"]'}
    """
    with _needs("langchain-core"):
        from langchain_core.documents import Document as LangChainDocument

    return [
        LangChainDocument(
            page_content=chunk.text,
            metadata={"start_index": chunk.start, "end_index": chunk.end} | _flatten(chunk),
            id=chunk_id(chunk),
        )
        for chunk in chunks
    ]


def from_langchain(
    documents: Iterable[LangChainDocument], text: str | Document | None = None, source: str = ""
) -> list[Chunk]:
    """Return the chunks that LangChain's documents are, with offsets that are true of `text`.

    1. A `start_index` stands if the words are found there, so the documents may be in any order,
       or only some of them. With an `end_index` too, as `to_langchain` writes it, it always stands.
    2. One that is missing or wrong is searched for, forward from the chunk before.
    3. If the documents in this order make up the whole text, but not at the places they name, then
       those point at other copies of the same words, and the places that fit are taken.
    4. A document whose words are not in the text as they stand is marked `derived`; its offsets
       are those of the same words in other white space and punctuation, or else of what lies
       between its neighbours.

    Blank documents are left out.

    Args:
        documents: LangChain's documents, all of one text.
        text: the text they were cut from. Without it, their offsets are taken as they are.
        source: the id of the text, if neither `text` nor the documents say it.
    Raises:
        ValueError: no text, and a document has no `start_index`.

    >>> from langchain_core.documents import Document as LangChainDocument
    >>> documents = [LangChainDocument(page_content=words) for words in ("Pay now.", "Pay now.")]
    >>> [chunk.start for chunk in from_langchain(documents, "Pay now. Pay now.")]
    [0, 9]
    """
    pieces = [_piece_of_langchain(document) for document in documents]
    return _to_chunks(pieces, text, source, "start_index")


def as_text_splitter(chunker: Chunker, *, add_start_index: bool = False) -> TextSplitter:
    """Wrap a chunker as a LangChain `TextSplitter`.

    Args:
        chunker: any callable from a text to chunks.
        add_start_index: put the offset into the metadata of documents, as in LangChain.
    Raises:
        RuntimeError: langchain-text-splitters is not installed.

    >>> from functools import partial
    >>> from chunking_lib.character import split_characters
    >>> splitter = as_text_splitter(partial(split_characters, size=4), add_start_index=True)
    >>> [document.metadata for document in splitter.create_documents(["abcabc"])]
    [{'start_index': 0}, {'start_index': 4}]
    """
    with _needs("langchain-text-splitters"):
        from langchain_core.documents import Document as LangChainDocument
        from langchain_text_splitters import TextSplitter

    class ChunkerSplitter(TextSplitter):
        def split_text(self, text: str) -> list[str]:
            return [chunk.text for chunk in chunker(text)]

        # LangChain's own would search the text for each chunk, and find other copies of it.
        def create_documents(
            self, texts: list[str], metadatas: list[dict[Any, Any]] | None = None
        ) -> list[LangChainDocument]:
            documents = []
            for text, given in zip(texts, metadatas or [{}] * len(texts), strict=True):
                for chunk in chunker(text):
                    metadata = copy.deepcopy(given) | _flatten(chunk)
                    if add_start_index:
                        metadata["start_index"] = chunk.start
                    documents.append(LangChainDocument(page_content=chunk.text, metadata=metadata))
            return documents

    return ChunkerSplitter()


def from_text_splitter(splitter: Any) -> Callable[[str | Document], list[Chunk]]:
    """Wrap a LangChain or LlamaIndex text splitter as a chunker, with exact offsets.

    Args:
        splitter: anything with a `split_text` that returns strings or LangChain's documents.
    Raises:
        ValueError: no `split_text`.

    >>> from langchain_text_splitters import CharacterTextSplitter
    >>> splitter = CharacterTextSplitter(separator=" ", chunk_size=5, chunk_overlap=0)
    >>> [(chunk.text, chunk.start) for chunk in from_text_splitter(splitter)("ab ab ab")]
    [('ab ab', 0), ('ab', 6)]
    """
    if not callable(getattr(splitter, "split_text", None)):
        raise ValueError(f"splitter={splitter!r} must have a method split_text")

    def chunker(text: str | Document) -> list[Chunk]:
        words, _ = text_and_source(text)
        pieces = [
            _Piece(part, {}) if isinstance(part, str) else _piece_of_langchain(part)
            for part in splitter.split_text(words)
        ]
        return _to_chunks(pieces, text, "", "start_index")

    return chunker


def to_llama_index(chunks: Iterable[Chunk]) -> list[TextNode]:
    r"""Return LlamaIndex's nodes.

    As `to_langchain`, with the offsets in the fields that LlamaIndex has for them. What it embeds
    and what it shows a language model is `chunk.embedding_text`: of the metadata, the context only.

    Args:
        chunks: the chunks, in any order.
    Raises:
        RuntimeError: llama-index-core is not installed.

    >>> [node] = to_llama_index([Chunk("the step", 5, 13, context="Trams")])
    >>> node.start_char_idx, node.get_content("embed")
    (5, 'Trams\n\nthe step')
    """
    with _needs("llama-index-core"):
        from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode

    nodes = []
    for chunk in chunks:
        metadata = _flatten(chunk)
        hidden = [key for key in metadata if key != "context"]
        node = TextNode(
            id_=chunk_id(chunk),
            text=chunk.text,
            start_char_idx=chunk.start,
            end_char_idx=chunk.end,
            metadata=metadata,
            metadata_template="{value}",
            excluded_embed_metadata_keys=hidden,
            excluded_llm_metadata_keys=hidden,
        )
        if chunk.source:
            node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=chunk.source)
        nodes.append(node)
    return nodes


def from_llama_index(
    nodes: Iterable[BaseNode], text: str | Document | None = None, source: str = ""
) -> list[Chunk]:
    """Return the chunks that LlamaIndex's nodes are; as `from_langchain`.

    Args:
        nodes: LlamaIndex's text nodes, all of one text.
        text: the text they were cut from. Without it, their offsets are taken as they are.
        source: the id of the text, if neither `text` nor the nodes say it.
    Raises:
        ValueError: no text, and a node has no `start_char_idx`.

    >>> chunks = [Chunk("Mind ", 0, 5), Chunk("the step", 5, 13, source="notice")]
    >>> from_llama_index(to_llama_index(chunks)) == chunks
    True
    """
    pieces = []
    for node in nodes:
        metadata = {"source": node.ref_doc_id} if node.ref_doc_id else {}
        metadata |= node.metadata
        start, end = getattr(node, "start_char_idx", None), getattr(node, "end_char_idx", None)
        pieces.append(_Piece(node.get_content(), metadata, start, end))
    return _to_chunks(pieces, text, source, "start_char_idx")


def as_node_parser(chunker: Chunker) -> NodeParser:
    """Wrap a chunker as a LlamaIndex `NodeParser`, for its ingestion pipelines.

    Args:
        chunker: any callable from a text to chunks.
    Raises:
        RuntimeError: llama-index-core is not installed.

    >>> from functools import partial
    >>> from chunking_lib.character import split_characters
    >>> from llama_index.core import Document as LlamaIndexDocument
    >>> parser = as_node_parser(partial(split_characters, size=3))
    >>> nodes = parser.get_nodes_from_documents([LlamaIndexDocument(text="abcabc")])
    >>> [(node.text, node.start_char_idx) for node in nodes]
    [('abc', 0), ('abc', 3)]
    """
    with _needs("llama-index-core"):
        from llama_index.core.node_parser import NodeParser
        from llama_index.core.node_parser.node_utils import build_nodes_from_splits

    class ChunkerNodeParser(NodeParser):
        def _parse_nodes(
            self, nodes: Sequence[BaseNode], show_progress: bool = False, **kwargs: Any
        ) -> list[BaseNode]:
            parsed: list[BaseNode] = []
            for parent in nodes:
                chunks = chunker(parent.get_content())
                texts = [chunk.text for chunk in chunks]
                made = build_nodes_from_splits(texts, parent, id_func=self.id_func)
                for node, chunk in zip(made, chunks, strict=True):
                    node.start_char_idx, node.end_char_idx = chunk.start, chunk.end
                    node.metadata = _flatten(chunk)
                    hidden = [key for key in node.metadata if key != "context"]
                    node.excluded_embed_metadata_keys = [
                        *node.excluded_embed_metadata_keys,
                        *hidden,
                    ]
                    node.excluded_llm_metadata_keys = [*node.excluded_llm_metadata_keys, *hidden]
                parsed += made
            return parsed

        # LlamaIndex's own searches the text for each chunk, and finds other copies of it.
        def _postprocess_parsed_nodes(
            self, nodes: list[Any], parent_doc_map: dict[str, Any]
        ) -> list[Any]:
            places = [(node.start_char_idx, node.end_char_idx) for node in nodes]
            finished: list[Any] = super()._postprocess_parsed_nodes(nodes, parent_doc_map)
            for node, place in zip(finished, places, strict=True):
                node.start_char_idx, node.end_char_idx = place
            return finished

    return ChunkerNodeParser()


@contextmanager
def _needs(package: str) -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise RuntimeError(f"{package} is not installed: pip install {package}") from error


def _flatten(chunk: Chunk) -> dict[str, str | int | float]:
    """Return what a chunk knows about itself, without its offsets and what is empty."""
    flat: dict[str, str | int | float] = {}
    for key in ("source", "context", "derived"):
        if value := getattr(chunk, key):
            flat[key] = value
    for key, value in chunk.metadata.items():
        if key in _RESERVED:
            raise ValueError(f"metadata has a key {key!r}, which is kept for the chunk's own")
        plain = isinstance(value, int | float) or (
            isinstance(value, str) and not value.startswith(("[", "{", '"'))
        )
        if value is not None:
            flat[key] = value if plain else json.dumps(value, default=str)
    return flat


def _unflatten(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(("[", "{", '"')):
        try:
            return json.loads(value)
        except ValueError:
            pass  # someone else's text, not our JSON
    return value


@dataclass(frozen=True)
class _Piece:
    """A text from elsewhere, and what is said of its place."""

    text: str
    metadata: dict[str, Any]
    start: int | None = None
    end: int | None = None


def _piece_of_langchain(document: LangChainDocument) -> _Piece:
    metadata = dict(document.metadata)
    start, end = metadata.pop("start_index", None), metadata.pop("end_index", None)
    return _Piece(document.page_content, metadata, start, end)


def _to_chunks(
    pieces: list[_Piece], document: str | Document | None, source: str, offset: str
) -> list[Chunk]:
    pieces = [piece for piece in pieces if not is_blank(piece.text)]
    if document is None:
        for number, piece in enumerate(pieces):
            if piece.start is None or piece.start < 0:
                raise ValueError(
                    f"text=None, and document {number} has {offset}={piece.start}: "
                    "give the text that the documents were cut from"
                )
        text, spans = None, [_stated(piece) for piece in pieces]
    else:
        text, name = text_and_source(document)
        source = source or name
        # LangChain gives no `end_index`. Where there is one, the offsets are our own.
        ours = offset == "start_index" and all(
            piece.start is not None
            and piece.end is not None
            and text[piece.start : piece.end] == piece.text
            for piece in pieces
        )
        spans = (
            [_stated(piece) for piece in pieces]
            if ours
            else _fill(pieces, text, _place(pieces, text))
        )
    chunks = []
    for piece, (start, end) in zip(pieces, spans, strict=True):
        metadata = {key: _unflatten(value) for key, value in piece.metadata.items()}
        stated, context = metadata.pop("source", ""), metadata.pop("context", "")
        derived = metadata.pop("derived", False) or (
            end - start != len(piece.text) if text is None else text[start:end] != piece.text
        )
        chunks.append(Chunk(piece.text, start, end, source or stated, context, derived, metadata))
    return chunks


def _stated(piece: _Piece) -> Span:
    start = piece.start or 0
    return start, start + len(piece.text) if piece.end is None else piece.end


def _place(pieces: list[_Piece], text: str) -> list[Span | None]:
    """Find where the pieces stand; None for one whose words are not in the text as they are."""
    as_stated = _search(pieces, text, stated=True)
    nothing_stated = all(piece.start is None for piece in pieces)
    true = all(
        span and span[0] == piece.start for piece, span in zip(pieces, as_stated, strict=True)
    )
    if true and len({*as_stated}) == len(as_stated) and _score(as_stated, text) == (0, 0):
        return as_stated
    # A piece begins after the one before, or else inside it, and the words may occur at both
    # places. The wrong way leaves words over, or pieces that are not found.
    ways = [_search(pieces, text, apart=apart) for apart in (True, False)]
    best = min(ways, key=lambda spans: _score(spans, text))
    return best if nothing_stated or _score(best, text) == (0, 0) else as_stated


def _search(
    pieces: list[_Piece], text: str, *, stated: bool = False, apart: bool = True
) -> list[Span | None]:
    spans: list[Span | None] = []
    before: Span = (-1, 0)
    for piece in pieces:
        size = len(piece.text)
        inside = max(before[0] + 1, before[1] - size + 1)
        if stated and piece.metadata.get("derived") and piece.start is not None:
            spans.append(_stated(piece))
            continue
        if stated and piece.start is not None and text.startswith(piece.text, max(piece.start, 0)):
            start = max(piece.start, 0)
        else:
            start = text.find(piece.text, before[1]) if apart else -1
            if start < 0:
                start = text.find(piece.text, max(inside, 0))
            if start < 0 and stated:
                start = text.find(piece.text)
        spans.append((start, start + size) if start >= 0 else None)
        before = spans[-1] or before
    return spans


def _score(spans: list[Span | None], text: str) -> Span:
    """Return how many pieces were not found, and how many characters lie in none."""
    lost = reached = 0
    for start, end in [*sorted(span for span in spans if span), (len(text), len(text))]:
        lost += len("".join(text[reached:start].split()))
        reached = max(reached, end)
    return spans.count(None), lost


def _fill(pieces: list[_Piece], text: str, spans: list[Span | None]) -> list[Span]:
    """Give the pieces that were not found the narrowest range that must hold them."""
    following: list[Span] = []  # for each piece, the next one that was found
    for span in reversed(spans):
        nearest = following[-1] if following else (len(text), len(text))
        following.append(span or nearest)
    filled: list[Span] = []
    for piece, span, after in zip(pieces, spans, reversed(following), strict=True):
        if span is None:
            before = filled[-1] if filled else (0, 0)
            # Its neighbours may share words with it, or stand in any order.
            low, high = (before[0], after[1]) if before[0] <= after[1] else (0, len(text))
            span = _same_words(piece.text, text, low, high)
            if span is None:
                between = before[1], after[0]
                span = between if between[0] < between[1] else (low, high)
        filled.append(span)
    return filled


def _same_words(piece: str, text: str, low: int, high: int) -> Span | None:
    """Find the words of `piece` in text[low:high], whatever stands between them."""
    words = [match[1] for match in _WORD.finditer(piece)]
    places = list(_WORD.finditer(text, low, high))
    joined = f" {' '.join(match[1] for match in places)} "
    at = joined.find(f" {' '.join(words)} ") if words else -1
    if at < 0:
        return None
    first = joined.count(" ", 0, at)
    return places[first].start(), places[first + len(words) - 1].end()
