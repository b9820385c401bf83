"""What every client of an OpenAI-compatible service needs: the key, and errors without it."""

from __future__ import annotations

import os
from urllib.parse import unquote

__all__ = ["SAID", "read_key", "redact"]

SAID = 300  # characters of a service's own words to pass on


def read_key() -> str:
    """Return `OPENAI_API_KEY`, or "" if it is not set.

    Raises:
        RuntimeError: a key that no header can carry. The message does not hold it.
    """
    key = os.environ.get("OPENAI_API_KEY", "").strip()  # a line end, if it was read from a file
    if not key.isascii() or not key.isprintable() or " " in key:
        raise RuntimeError("OPENAI_API_KEY has a character that no key has: copy it once more")
    return key


def redact(said: str, key: str) -> str:
    """Return the beginning of what a service says, without any 8 characters of the key.

    >>> redact("Incorrect API key: sk-abc-0123456789.", "sk-abc-0123456789")
    'Incorrect API key: ….'
    """
    said = " ".join(unquote(said).split())
    said = said if len(said) <= SAID else f"{said[:SAID]}…"
    width = min(8, len(key))
    pieces = {key[i : i + width] for i in range(len(key) - width + 1)} if key else set()
    hidden = {
        j for i in range(len(said)) if said[i : i + width] in pieces for j in range(i, i + width)
    }
    return "".join(
        character if i not in hidden else "" if i - 1 in hidden else "…"
        for i, character in enumerate(said)
    )
