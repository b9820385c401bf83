"""Replies of a language model that were recorded, so that a notebook gives the same twice."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import threading
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from typing import Any

__all__ = ["Recordings", "request_key"]

#: What the replies of a row without these numbers took.
_NOTHING: dict[str, Any] = {"prompt_tokens": 0, "completion_tokens": 0, "seconds": 0.0}


def request_key(model: str, messages: Sequence[Mapping[str, str]], **parameters: object) -> str:
    """Return the SHA-256 of a request: of the model, the messages and the parameters.

    >>> ask = [{"role": "user", "content": "Hi"}]
    >>> request_key("a", ask, temperature=0) == request_key("b", ask, temperature=0)
    False
    """
    request = json.dumps([model, list(messages), parameters], sort_keys=True)
    return hashlib.sha256(request.encode()).hexdigest()


class Recordings:
    """One JSON Lines file: a row a reply, with its key, model, date, tokens and seconds.

    Rows are written by `add` alone, from what a model said. With `CHUNKING_RECORD=1` the file
    begins anew with the first reply of a process, so that it holds no row that nothing asks for;
    a request that comes again in the same process gets the same reply again.

    Args:
        path: the file; it need not exist.
    Raises:
        RuntimeError: a file that cannot be read, or with a row that is not whole; the message names
            the line.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.recording = os.environ.get("CHUNKING_RECORD") == "1"
        self._lock = threading.Lock()
        self._begun = False
        self._rows = {} if self.recording else _read(path)

    def __len__(self) -> int:
        return len(self._rows)

    def get(self, key: str) -> dict[str, Any] | None:
        """Return the row of a request, or None."""
        return self._rows.get(key)

    def add(self, key: str, row: Mapping[str, Any]) -> None:
        """Write the row of a reply that was just made, with today's date."""
        whole = {"key": key, "date": f"{datetime.now(UTC):%Y-%m-%d}", **row}
        line = (json.dumps(whole, ensure_ascii=False) + "\n").encode()
        with self._lock:
            if self._begun:
                with self.path.open("ab") as file:
                    file.write(line)
            else:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                part = self.path.with_name(f"{self.path.name}.part")
                part.write_bytes(line)
                os.replace(part, self.path)  # the old rows go when there is a new one
            self._begun = True
            self._rows[key] = whole


@functools.cache
def open_recordings(path: Path, record: str) -> Recordings:
    """Return the recordings of a file, the same for all clients of a process.

    A second client that began the file anew would lose what the first has written. `record` is
    what `CHUNKING_RECORD` says: a change of it opens the file once more.
    """
    return Recordings(path)


def _read(path: Path) -> dict[str, dict[str, Any]]:
    rows = {}
    try:
        lines = path.read_text(encoding="utf-8").split("\n") if path.exists() else []
    except (OSError, UnicodeDecodeError) as error:
        raise RuntimeError(f"cannot read the recordings in {path.name}: {error}") from error
    for number, line in enumerate(lines, 1):  # not splitlines: a reply may hold U+2028
        if not line:
            continue
        try:
            row = json.loads(line)
            # Each is text, and has no half of a surrogate pair.
            "".join(row[name] for name in ("key", "text", "model", "date")).encode()
            row = _NOTHING | row
            if not all(0 <= row[name] < inf for name in _NOTHING):
                raise ValueError
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise RuntimeError(
                f"line {number} of the recordings in {path.name} is not whole: run make record"
            ) from error
        rows[row["key"]] = row
    return rows
