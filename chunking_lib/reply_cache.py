"""Replies of a language model that were paid for once, kept on disk."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from chunking_lib.models import cache_folder

__all__ = ["ReplyCache"]

_KEYS = {"text", "model", "prompt_tokens", "completion_tokens", "seconds"}
_PATIENCE = 5  # seconds to wait for another process, which needs a moment to write


class ReplyCache:
    """The replies of one service, by the key of the request; see `request_key`.

    One SQLite file in the cache folder, safe for threads and processes: each reply is kept as soon
    as it is there. A cache that cannot be read or written is no cache. The file grows, and may be
    deleted at any time.

    Args:
        service: what tells this service from others that have a model of the same name.
    """

    def __init__(self, service: str) -> None:
        self._service = service
        self._path = cache_folder() / "replies.sqlite"

    def get(self, key: str) -> dict[str, Any] | None:
        """Return the row of a request, or None."""
        try:
            with self._open() as database:
                found = database.execute(
                    "SELECT row FROM replies WHERE service = ? AND key = ?", (self._service, key)
                ).fetchone()
            row: Any = json.loads(found[0]) if found else None
            return row if isinstance(row, dict) and row.keys() >= _KEYS else None
        except (OSError, sqlite3.Error, ValueError):
            return None

    def put(self, key: str, row: Mapping[str, Any]) -> None:
        """Keep the row of a reply."""
        try:
            with self._open() as database:
                database.execute(
                    "INSERT OR REPLACE INTO replies VALUES (?, ?, ?)",
                    (self._service, key, json.dumps(row)),
                )
        except (OSError, sqlite3.Error):
            pass

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        database = sqlite3.connect(self._path, timeout=_PATIENCE)
        try:
            with database:  # one transaction
                database.execute(
                    "CREATE TABLE IF NOT EXISTS replies "
                    "(service TEXT, key TEXT, row TEXT, PRIMARY KEY (service, key)) WITHOUT ROWID"
                )
                yield database
        finally:
            database.close()
