"""Chunks in a vector database, and the pipeline around it: from documents to a prompt."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from chunking_lib.chunk import Chunk, Document, chunk_id
from chunking_lib.length import Length
from chunking_lib.models import load_tokenizer, without_surrogates
from chunking_lib.retrieve import Encoder, merge_hits

__all__ = ["ChunkIndex", "Hit", "RagPipeline"]

Chunker = Callable[[Document], list[Chunk]]

# How widely Chroma looks. Its defaults miss near neighbours now and then.
_EXACT = {"ef_construction": 400, "ef_search": 400, "max_neighbors": 64}


class Hit(NamedTuple):
    """A chunk that was found, and its cosine similarity to the question."""

    chunk: Chunk
    score: float


class ChunkIndex:
    """Chunks in Chroma, in memory or on disk, with vectors of our own embedder.

    A chunk's id is made from its document, place and text: the same text at two places is two
    chunks, and adding a chunk again changes nothing. Nothing is sent anywhere.

    Chroma's search is approximate. It is set up to be exact on a course's worth of chunks; scores
    are computed with `retrieve`, which is exact on any number.

    Args:
        embedder: makes the vectors.
        path: a folder to keep the index in; in memory, and gone with the program, if None.
    Raises:
        RuntimeError: chromadb is not installed.

    ```python
    index = ChunkIndex(load_embedder())
    index.add(split_recursive(document, size=800))
    index.search("When does the last ferry sail?", k=3)  # [Hit(chunk=..., score=0.71), ...]
    ```
    """

    def __init__(self, embedder: Encoder, path: str | Path | None = None) -> None:
        self._embedder = embedder
        self._collection: Any = _connect(path).get_or_create_collection(
            # Clients in memory share their collections, so each index needs a name of its own.
            f"chunks-{uuid.uuid4()}" if path is None else "chunks",
            embedding_function=None,
            # Vectors have length 1, or 0: then the inner product is the cosine, and never NaN.
            configuration={"hnsw": {"space": "ip", **_EXACT}},
        )

    def __len__(self) -> int:
        return int(self._collection.count())

    def add(self, chunks: Iterable[Chunk]) -> None:
        """Add chunks; one that is there already is replaced by itself.

        Raises:
            ValueError: vectors of another length than those in the index.
        """
        chunks = list({chunk_id(chunk): chunk for chunk in chunks}.values())
        if not chunks:
            return
        vectors = self._embedder.encode([chunk.embedding_text for chunk in chunks])
        self._check(vectors.shape[1])
        step = 1000
        for i in range(0, len(chunks), step):
            part = chunks[i : i + step]
            self._collection.upsert(
                ids=[chunk_id(chunk) for chunk in part],
                embeddings=vectors[i : i + step],
                documents=[without_surrogates(chunk.text) for chunk in part],
                metadatas=[_store(chunk) for chunk in part],
            )

    def replace(self, source: str, chunks: Iterable[Chunk]) -> None:
        """Make `chunks` all that the index holds of a document: what is stale goes.

        Args:
            source: the id of the document.
            chunks: its chunks now; none to remove the document.
        Raises:
            ValueError: a chunk of another document.
        """
        chunks = list(chunks)
        for chunk in chunks:
            if chunk.source != source:
                raise ValueError(f"source={source!r}, and chunks has one of {chunk.source!r}")
        self.add(chunks)
        there = set(self._collection.get(where={"source": json.dumps(source)}, include=[])["ids"])
        stale = there - {chunk_id(chunk) for chunk in chunks}
        if stale:
            self._collection.delete(ids=sorted(stale))

    def search(self, question: str, k: int = 5) -> list[Hit]:
        """Return the `k` chunks most similar to the question, or all if there are fewer.

        Raises:
            ValueError: a `k` below 1, or a vector of another length than those in the index.
        """
        if k < 1:
            raise ValueError(f"k={k!r} must be 1 or more")
        vector = self._embedder.encode([question])
        if not len(self):
            return []
        self._check(vector.shape[1])
        found = self._collection.query(
            query_embeddings=vector,
            n_results=min(k, len(self)),
            include=["documents", "metadatas", "distances"],
        )
        hits = [
            Hit(_restore(text, metadata), 1.0 - distance)
            for text, metadata, distance in zip(
                found["documents"][0], found["metadatas"][0], found["distances"][0], strict=True
            )
        ]
        return sorted(hits, key=lambda hit: (-hit.score, hit.chunk.source, hit.chunk.start))

    def _check(self, dimensions: int) -> None:
        stored = self._collection.get(limit=1, include=["embeddings"])["embeddings"]
        if len(stored) and len(stored[0]) != dimensions:
            raise ValueError(
                f"the vectors have {dimensions} dimensions, those in the index {len(stored[0])}"
            )


def _connect(path: str | Path | None) -> Any:
    try:
        import chromadb
        from chromadb.config import Settings
    except ImportError as error:
        raise RuntimeError("chromadb is not installed: pip install chromadb") from error

    # All clients of a process must agree in their settings, those of other libraries too. So the
    # choice is made where their settings come from.
    os.environ.setdefault("ANONYMIZED_TELEMETRY", "False")

    def connect(settings: Any) -> Any:
        if path is None:
            return chromadb.EphemeralClient(settings)
        return chromadb.PersistentClient(str(path), settings)

    try:
        return connect(Settings())
    except ValueError:  # there is a client that was made before; this version sends nothing anyway
        return connect(Settings(anonymized_telemetry=True))


def _store(chunk: Chunk) -> dict[str, str | int | bool]:
    """Return what Chroma keeps beside the text: flat, and never empty."""
    kept: dict[str, str | int | bool] = {
        "source": json.dumps(chunk.source),  # a file's name may hold half a surrogate pair
        "start": chunk.start,
        "end": chunk.end,
        "context": json.dumps(chunk.context),
        "derived": chunk.derived,
        "metadata": json.dumps(chunk.metadata),
    }
    if without_surrogates(chunk.text) != chunk.text:
        kept["text"] = json.dumps(chunk.text)
    return kept


def _restore(text: str, kept: dict[str, Any]) -> Chunk:
    return Chunk(
        json.loads(kept["text"]) if "text" in kept else text,
        kept["start"],
        kept["end"],
        json.loads(kept["source"]),
        json.loads(kept["context"]),
        kept["derived"],
        json.loads(kept["metadata"]),
    )


class RagPipeline:
    """Retrieval-augmented generation in one object: index, retrieve, prompt, answer.

    Args:
        chunker: from a document to chunks.
        embedder: makes the vectors.
        path: a folder for the index; in memory if None.
        llm: from a prompt to an answer; without it there are prompts, but no answers.
        length: measures what is sent; tokens of OpenAI's o200k if None.
    """

    def __init__(
        self,
        chunker: Chunker,
        embedder: Encoder,
        *,
        path: str | Path | None = None,
        llm: Callable[[str], str] | None = None,
        length: Length | None = None,
    ) -> None:
        self._chunker, self._llm = chunker, llm
        self._index = ChunkIndex(embedder, path)
        self._documents: dict[str, Document] = {}
        self._length: Length = length or load_tokenizer("o200k_base").count

    def index(self, documents: Iterable[Document]) -> int:
        """Index documents, each in place of its older version; return the number of chunks in all.

        Raises:
            ValueError: a document without an id, or chunks that do not carry it as their source.
        """
        for document in documents:
            if not document.id:
                raise ValueError("a document needs an id: its chunks are found again by it")
            self._documents[document.id] = document
            self._index.replace(document.id, self._chunker(document))
        return len(self._index)

    def retrieve(self, question: str, *, budget: int = 1000) -> list[Chunk]:
        """Return passages for a question: the best chunks that fit the budget, neighbours merged.

        Args:
            question: the question.
            budget: the most that all passages may measure together, in units of `length`.
        Raises:
            ValueError: a budget below 1.
        """
        if budget < 1:
            raise ValueError(f"budget={budget!r} must be 1 or more")
        chosen: list[Chunk] = []
        for hit in self._index.search(question, k=max(1, min(len(self._index), 100))):
            passages = merge_hits([*chosen, hit.chunk], self._documents)
            if sum(self._length(passage.embedding_text) for passage in passages) > budget:
                continue  # a smaller one may still fit
            chosen.append(hit.chunk)
        return merge_hits(chosen, self._documents)

    def prompt(self, question: str, passages: Sequence[Chunk]) -> str:
        """Return the prompt: what to do, numbered sources with their offsets, the question."""
        sources = "\n\n".join(
            f"[{number}] {passage.source}, characters {passage.start} to {passage.end}\n"
            f"{passage.embedding_text}"
            for number, passage in enumerate(passages, 1)
        )
        return (
            "Answer the question from the sources alone, and name the numbers of those you used, "
            "like [1]. If they do not hold the answer, say that you do not know.\n\n"
            f"Sources:\n\n{sources or '(none)'}\n\nQuestion: {question}\nAnswer:"
        )

    def answer(self, question: str, *, budget: int = 1000) -> tuple[str, list[Chunk]]:
        """Return the model's answer and the passages that its numbers refer to.

        Raises:
            RuntimeError: there is no model.
        """
        if self._llm is None:
            raise RuntimeError("there is no language model: RagPipeline(..., llm=...)")
        passages = self.retrieve(question, budget=budget)
        return self._llm(self.prompt(question, passages)), passages
