"""JSON: one canonical way to write it, so that offsets mean the same everywhere."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from chunking_lib.chunk import Document
from chunking_lib.formats.json_tree import TOKEN
from chunking_lib.formats.source import decode, read_source

__all__ = ["load_json"]

_DEEPEST = 500  # how deep lists and objects may be nested
_INDENTED = 20  # how many of these levels are indented, or lines could be mostly blanks
_TOO_DEEP = f"too deeply nested: more than {_DEEPEST} levels"


def load_json(source: str | bytes | Path, *, id: str | None = None) -> Document:
    r"""Make a document of JSON, written with an indent of two.

    1. A `Path` is a file; a `str` or `bytes` is the JSON itself. Bytes are UTF-8, -16 or -32.
    2. The text is that of `json.dumps(json.loads(raw), ensure_ascii=False, indent=2)` and a final
       newline: keys stay in their order, letters of every script stay readable. But numbers stay as
       they are written, to the last digit, and the indent grows no further below 20 levels.
    3. What JSON does not know, or what would be lost on the way, is refused: `NaN`, `Infinity`, and
       a key that an object has twice.

    Args:
        source: the JSON, or the file it is in.
        id: the id of the document; by default the name of the file.
    Raises:
        ValueError: a file that cannot be read, that is no JSON, or that is nested more than 500
            levels deep; the message names the file and, for a fault of syntax, line and column.

    >>> load_json('{"stop": "Quai n\\u00ba 2", "fare": 1.50}').text
    '{\n  "stop": "Quai nº 2",\n  "fare": 1.50\n}\n'
    """
    raw, id, name = read_source(source, id)
    if isinstance(raw, bytes):
        raw = decode(raw, name, json.detect_encoding(raw))
    raw = raw.removeprefix("\ufeff")
    try:
        # Only a check, to which no number is too long or too large.
        json.loads(
            raw,
            object_pairs_hook=_unique,
            parse_constant=_refuse,
            parse_int=str,
            parse_float=str,
        )
        text = _write(raw)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise ValueError(f"{name}: not JSON: {error.msg} at {place}") from error
    except RecursionError:
        raise ValueError(f"{name}: {_TOO_DEEP}") from None
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    return Document(text, id=id)


def _write(text: str) -> str:
    """Return valid JSON with a line for each member and each element."""
    written: list[str] = []
    depth, before = 0, ":"  # the first token goes on in its line, as one does after a colon
    for token in TOKEN.findall(text):
        opened, closing = before in "[{", token in "]}"
        depth -= closing
        if opened != closing or before == ",":
            written.append("\n" + "  " * min(depth, _INDENTED))
        if "\\" in token:  # only then is it not yet what `json.dumps` writes
            token = json.dumps(json.loads(token), ensure_ascii=False)
        written.append(": " if token == ":" else token)
        depth += token in "[{"
        if depth > _DEEPEST:
            raise ValueError(_TOO_DEEP)
        before = token
    return "".join(written) + "\n"


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object, unless it has a key twice: the second would hide the first."""
    found = dict(pairs)
    if len(found) < len(pairs):
        [(twice, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"key {twice!r} stands twice in one object")
    return found


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
