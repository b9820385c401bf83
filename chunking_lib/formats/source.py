"""What the loaders share: reading a file, decoding it, and writing a table."""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from pathlib import Path

__all__ = ["decode", "pipe_table", "read_file", "read_source"]

_MARKS = (
    # UTF-32 first: its little-endian mark begins with that of UTF-16.
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# How a text begins, most often, that is UTF-16 without a mark: with two characters below U+0100.
_UNMARKED = (
    (re.compile(rb"[^\0]\0[^\0]\0"), "utf-16-le"),
    (re.compile(rb"\0[^\0]\0[^\0]"), "utf-16-be"),
)
_FILE = re.compile(r"[^\s<>{}\"]+\.(html?|xhtml|json)", re.IGNORECASE)


def read_file(path: str | Path) -> bytes:
    """Return the bytes of a file.

    Raises:
        ValueError: a file that cannot be read; the message names it and the reason.
    """
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise ValueError(f"{path}: {getattr(error, 'strerror', None) or error}") from error


def read_source(source: str | bytes | Path, id: str | None) -> tuple[str | bytes, str, str]:
    """Return the content of `source`, the id of its document, and a name for messages.

    A `str` or `bytes` is the content itself; a `Path` is a file, and its name is the id unless
    another is given.

    Raises:
        ValueError: a file that cannot be read, something else than these, or a `str` that is but
            the name of a file.
    """
    if isinstance(source, Path):
        return read_file(source), source.name if id is None else id, str(source)
    if not isinstance(source, str | bytes):
        raise ValueError(f"source={source!r} must be a str, bytes or a Path")
    if isinstance(source, str) and _FILE.fullmatch(source):
        raise ValueError(f"source={source!r} is the name of a file: it must be a Path")
    return source, id or "", id or "source"


def decode(data: bytes, name: str, encoding: str = "utf-8") -> str:
    r"""Decode `data`: as its byte order mark says, else UTF-16 if it looks so, else by `encoding`.

    Raises:
        ValueError: bytes that are not in this encoding; the message says where.

    >>> decode(b"\xef\xbb\xbfquay", "notice.txt")
    'quay'
    """
    for mark, marked in _MARKS:
        if data.startswith(mark):
            data, encoding = data[len(mark) :], marked
            break
    else:
        encoding = next((found for start, found in _UNMARKED if start.match(data)), encoding)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        wrong = data[error.start : error.start + 1].hex()
        raise ValueError(
            f"{name}: byte 0x{wrong} at {error.start} is not {encoding}: {error.reason}"
        ) from error


def pipe_table(rows: Sequence[Sequence[str]]) -> str:
    r"""Return a Markdown table whose first row is the header.

    >>> print(pipe_table([["Line", "Trams"], ["1|2", ""]]))
    | Line | Trams |
    | --- | --- |
    | 1\|2 |  |
    """
    width = max(map(len, rows))
    lines = []
    for row in rows:
        cells = [cell.replace("|", r"\|") for cell in row]
        cells += [""] * (width - len(cells))
        lines.append(f"| {' | '.join(cells)} |")
    lines.insert(1, f"| {' | '.join(['---'] * width)} |")
    return "\n".join(lines)
