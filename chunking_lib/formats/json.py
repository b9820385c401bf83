"""JSON: one canonical way to write it, so that offsets mean the same everywhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from chunking_lib.chunk import Document
from chunking_lib.formats.source import decode, read_source

__all__ = ["load_json"]


def load_json(source: str | bytes | Path, *, id: str | None = None) -> Document:
    r"""Make a document of JSON, written with an indent of two.

    1. A `Path` is a file; a `str` or `bytes` is the JSON itself. Bytes are UTF-8, -16 or -32.
    2. The text is `json.dumps(json.loads(raw), ensure_ascii=False, indent=2)` and a final newline:
       keys stay in their order, letters of every script stay readable.
    3. What JSON does not know, or what would be lost on the way, is refused: `NaN`, `Infinity`, and
       a key that an object has twice.

    Args:
        source: the JSON, or the file it is in.
        id: the id of the document; by default the name of the file.
    Raises:
        ValueError: a file that cannot be read, or that is no JSON; the message names the file and,
            for a fault of syntax, line and column.

    >>> load_json('{"stop": "Quai n\\u00ba 2"}').text
    '{\n  "stop": "Quai nº 2"\n}\n'
    """
    raw, id, name = read_source(source, id)
    if isinstance(raw, bytes):
        raw = decode(raw, name, json.detect_encoding(raw))
    raw = raw.removeprefix("\ufeff")
    try:
        value = json.loads(raw, object_pairs_hook=_unique, parse_constant=_refuse)
        # A number such as 1e999 is read as infinite, which only the writer notices.
        text = json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise ValueError(f"{name}: not JSON: {error.msg} at {place}") from error
    except RecursionError:
        raise ValueError(f"{name}: too deeply nested to be read") from None
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    return Document(text + "\n", id=id)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object, unless it has a key twice: the second would hide the first."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for i, key in enumerate(keys) if key in keys[:i])
        raise ValueError(f"key {twice!r} stands twice in one object")
    return found


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
