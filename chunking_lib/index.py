"""Chunks in a vector database."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chunking_lib.chunk import Chunk, chunk_id, is_blank
from chunking_lib.models import without_surrogates
from chunking_lib.retrieve import Encoder, encode_checked

__all__ = ["ChunkIndex", "Hit"]

# For its approximate search, not used here, Chroma builds a graph: the smallest costs least.
_GRAPH = {"ef_construction": 10, "max_neighbors": 4}
_STEP = 1000  # chunks in one question to Chroma


class Hit(NamedTuple):
    """A chunk that was found, and its cosine similarity to the question."""

    chunk: Chunk
    score: float


class ChunkIndex:
    """Chunks in Chroma, in memory or on disk, with vectors of our own embedder.

    A chunk's id is made from its document, place and text: the same text at two places is two
    chunks, and adding a chunk again changes nothing. Nothing is sent anywhere.

    Chroma keeps the chunks; the search is exact, on any number. Chroma's own is approximate: it
    walks a graph of neighbours, and can miss the best chunk for a thousand copies of a footer. So
    all vectors are held in memory, 1.5 KB each for MiniLM, and all are compared: at 10,000 chunks
    some tenths of a second, and several seconds the first time and after a change. A database for
    millions of chunks has to approximate.

    One process at a time: what another one has written meanwhile cannot be read, and is an error.

    Args:
        embedder: makes the vectors, of length 1, or 0 for a text with nothing to embed. Its `name`,
            or that of its class, is kept with the index, which can only be opened with it again.
        path: a folder to keep the index in; in memory, and gone with the program, if None.
    Raises:
        ValueError: a `path` that is no path, or whose chunks are another embedder's or another
            program's.
        RuntimeError: chromadb is not installed, or cannot open the folder.

    ```python
    index = ChunkIndex(load_embedder())
    index.add(split_recursive(document, size=800))
    index.search("When does the last ferry sail?", k=3)  # [Hit(chunk=..., score=0.71), ...]
    ```
    """

    def __init__(self, embedder: Encoder, path: str | Path | None = None) -> None:
        self._embedder = embedder
        name = getattr(embedder, "name", type(embedder).__name__)
        self._collection: Any = _connect(path).get_or_create_collection(
            # Clients in memory share their collections, so each index needs a name of its own.
            f"chunks-{uuid.uuid4()}" if path is None else "chunks",
            embedding_function=None,
            metadata={"embedder": name},  # of one that is there already, its own is kept
            configuration={"hnsw": {"space": "ip", **_GRAPH}},
        )
        if (made_with := (self._collection.metadata or {}).get("embedder")) != name:
            maker = f"{made_with!r}" if made_with else "an older version, or another program"
            raise ValueError(
                f"path={str(path)!r} holds chunks of {maker}, not of the embedder {name!r}: "
                "choose another folder, or delete this one and add the chunks again"
            )
        # What the last search read: ids as Chroma lists them, then in the order of the vectors.
        self._listed: list[str] = []
        self._ids: list[str] = []
        self._vectors: NDArray[np.float32] = np.zeros((0, 0), dtype=np.float32)

    def __len__(self) -> int:
        return int(self._collection.count())

    def add(self, chunks: Iterable[Chunk]) -> None:
        """Add chunks; one that is there already is replaced by itself.

        Raises:
            ValueError: metadata that JSON does not keep as they are, such as a tuple or a set;
                vectors that are not one for each text, of length 1 or 0, or that are of another
                number of dimensions than those in the index.
        """
        chunks = list({chunk_id(chunk): chunk for chunk in chunks}.values())
        if not chunks:
            return
        kept = [_store(chunk) for chunk in chunks]
        vectors = encode_checked(self._embedder, [chunk.embedding_text for chunk in chunks])
        self._check(vectors.shape[1])
        for i in range(0, len(chunks), _STEP):
            part = chunks[i : i + _STEP]
            self._collection.upsert(
                ids=[chunk_id(chunk) for chunk in part],
                embeddings=vectors[i : i + _STEP],
                documents=[without_surrogates(chunk.text) for chunk in part],
                metadatas=kept[i : i + _STEP],
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

        Equal scores are in order of the documents' ids and of the text.

        Raises:
            ValueError: a `k` that is no whole number of 1 or more, a blank question, or a vector
                that `add` would refuse.
            RuntimeError: another process has changed the index.
        """
        whole = hasattr(k, "__index__") and not isinstance(k, bool)
        if not whole or k < 1:
            raise ValueError(f"k={k!r} must be a whole number of 1 or more")
        return list(islice(self.hits(question, step=min(k, _STEP)), k))

    def hits(self, question: str, *, step: int = 100) -> Iterator[Hit]:
        """Yield all chunks, best first, fetched `step` at a time; raises what `search` does."""
        if not isinstance(question, str) or is_blank(question):
            raise ValueError(f"question={question!r} must be a text that is not blank")
        vector = encode_checked(self._embedder, [question])
        self._check(vector.shape[1])
        self._read()
        if not self._ids:
            return
        # Not a matrix product, where a score depends, in its last bit, on the place of the row.
        scores = (self._vectors * vector).sum(axis=1)
        order = np.argsort(-scores, kind="stable")
        for start in range(0, len(order), step):
            part = order[start : start + step]
            ids = [self._ids[i] for i in part]
            found = self._collection.get(ids=ids, include=["documents", "metadatas"])
            chunks = {
                one: _restore(text, kept)
                for one, text, kept in zip(
                    found["ids"], found["documents"], found["metadatas"], strict=True
                )
            }
            for one, score in zip(ids, scores[part], strict=True):
                yield Hit(chunks[one], float(score))

    def _read(self) -> None:
        """Read all vectors, in order of the text, unless they are those that were read last."""
        from chromadb.errors import ChromaError

        listed = self._collection.get(include=[])["ids"]
        if listed == self._listed:
            return
        rows: list[tuple[dict[str, Any], str, NDArray[np.float32]]] = []
        try:
            for i in range(0, len(listed), _STEP):
                part = self._collection.get(
                    ids=listed[i : i + _STEP], include=["embeddings", "metadatas"]
                )
                vectors = part["embeddings"].astype(np.float32)
                rows += zip(part["metadatas"], part["ids"], vectors, strict=True)
        except ChromaError as error:
            raise RuntimeError(
                "another process has changed the index meanwhile: make a new ChunkIndex, in a new "
                "process"
            ) from error
        rows.sort(key=lambda row: (json.loads(row[0]["source"]), row[0]["start"]))
        self._listed, self._ids = listed, [one for _, one, _ in rows]
        self._vectors = np.array([vector for _, _, vector in rows], dtype=np.float32)

    def _check(self, dimensions: int) -> None:
        stored = self._collection.get(limit=1, include=["embeddings"])["embeddings"]
        if len(stored) and len(stored[0]) != dimensions:
            raise ValueError(
                f"the vectors have {dimensions} dimensions, those in the index {len(stored[0])}"
            )


def _connect(path: str | Path | None) -> Any:
    if path is not None and not (isinstance(path, str | Path) and str(path)):
        raise ValueError(f"path={path!r} must be a folder, or None")
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
        try:
            return chromadb.PersistentClient(str(Path(path).expanduser()), settings)
        except ValueError:  # other settings than a client has that was made before
            raise
        except Exception as error:  # Chroma's own, the system's, and what fails while it gives up
            raise RuntimeError(
                f"path={str(path)!r} cannot be opened as an index: {error}"
            ) from error

    try:
        return connect(Settings())
    except ValueError:  # there is a client that was made before; this version sends nothing anyway
        return connect(Settings(anonymized_telemetry=True))


def _store(chunk: Chunk) -> dict[str, str | int | bool]:
    """Return what Chroma keeps beside the text: flat, and never empty."""
    metadata = _to_json(chunk.metadata)
    kept: dict[str, str | int | bool] = {
        "source": json.dumps(chunk.source),  # a file's name may hold half a surrogate pair
        "start": chunk.start,
        "end": chunk.end,
        "context": json.dumps(chunk.context),
        "derived": chunk.derived,
        "metadata": metadata,
    }
    if without_surrogates(chunk.text) != chunk.text:
        kept["text"] = json.dumps(chunk.text)
    return kept


def _to_json(metadata: dict[str, Any]) -> str:
    try:
        written = json.dumps(metadata)
    except (TypeError, ValueError):  # a set, a path, a number of NumPy
        written = "{}"
    if json.loads(written) != metadata:  # a tuple comes back as a list
        raise ValueError(
            f"metadata={metadata!r} must hold texts, numbers, None, and lists and dicts of them, "
            "with texts as keys"
        )
    return written


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
