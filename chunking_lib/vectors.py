"""Vectors that were made once, kept on disk."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from chunking_lib.models import cache_folder

__all__ = ["VectorCache"]

_PART = 500  # keys in one question to the database
_PATIENCE = 5  # seconds to wait for another process, which needs a moment to write
_PAGE = 16384  # bytes: SQLite would give each vector of 1.5 KB a page of 4 KB to itself


class VectorCache:
    """The vectors of one model, by the SHA-256 of the model and the text.

    One SQLite file in the cache folder, safe for several processes. A cache that cannot be read or
    written is no cache: everything works, only slower. If it is locked for too long, it is waited
    for once, and not again until it is free. A row that is no vector of length 1 is not used. The
    file grows, and may be deleted at any time.

    Args:
        model: what tells this model from all others, such as the hash of its weights.
        dimensions: the length of a vector.
    """

    def __init__(self, model: str, dimensions: int) -> None:
        self._model, self._dimensions = model, dimensions
        self._path = cache_folder() / "vectors.sqlite"
        self._patience: float = _PATIENCE

    def get(self, texts: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """Return the vectors that are known, by text."""
        keys = {self._key(text): text for text in texts}
        found = {}
        try:
            with self._open() as database:
                listed = list(keys)
                for start in range(0, len(listed), _PART):
                    part = listed[start : start + _PART]
                    marks = ", ".join("?" * len(part))
                    rows = database.execute(
                        f"SELECT key, vector FROM vectors WHERE key IN ({marks})", part
                    )
                    for key, blob in rows:
                        if isinstance(blob, bytes) and len(blob) == 4 * self._dimensions:
                            vector = np.frombuffer(blob, dtype="<f4").astype(np.float32)
                            if abs(np.linalg.norm(vector) - 1) < 0.01:  # not so for NaN
                                found[keys[key]] = vector
        except (OSError, sqlite3.Error):
            return {}
        return found

    def put(self, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        """Keep vectors of length 1 by text."""
        rows = [(self._key(text), row.astype("<f4").tobytes()) for text, row in vectors.items()]
        try:
            with self._open() as database:
                database.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)
        except (OSError, sqlite3.Error):
            pass

    def _key(self, text: str) -> bytes:
        return hashlib.sha256(f"{self._model}\0{text}".encode()).digest()

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        database = sqlite3.connect(self._path, timeout=self._patience)
        try:
            database.execute(f"PRAGMA page_size = {_PAGE}")  # of a file that is new
            with database:  # one transaction
                database.execute(
                    "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB) "
                    "WITHOUT ROWID"
                )
                yield database
            self._patience = _PATIENCE
        except sqlite3.OperationalError:  # locked, most likely
            self._patience = 0
            raise
        finally:
            database.close()
