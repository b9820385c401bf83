"""What every splitter promises, as one assertion for the tests of all of them."""

from collections.abc import Callable
from itertools import pairwise

import case_checks

from chunking_lib.chunk import Chunk, Document, check_chunks


def assert_promises(
    split: Callable[[str | Document], list[Chunk]],
    text: str,
    *,
    size: int,
    overlap: int,
    length: Callable[[str], int] = len,
    dropped: Callable[[str], str] | None = None,
) -> list[Chunk]:
    """Assert every promise of `split` on `text`; return the chunks.

    `dropped` takes out of a gap between chunks what the caller asked to drop.
    """
    document = Document(text, id="name", metadata={"key": "value"})
    chunks = split(document)
    faults = check_chunks(text, chunks, size=size, overlap=overlap, length=length)
    if dropped:
        faults = [fault for fault in faults if not fault.startswith("lost: ")]
        ends = [0, *(chunk.end for chunk in chunks)]
        starts = [*(chunk.start for chunk in chunks), len(text)]
        for end, start in zip(ends, starts, strict=True):
            assert not dropped(text[end:start]).strip(" \t\r\n\u00a0\u3000\u2028"), text[end:start]
    assert faults == []
    # Once more by other code than the library's own.
    checks = [["slice"], ["ordered"], ["no_blank"], ["graphemes"]]
    assert case_checks.faults(checks, text, chunks) == []
    for chunk in chunks:
        assert type(chunk) is Chunk and type(chunk.text) is str
        assert (chunk.source, chunk.context, chunk.derived) == ("name", "", False)
        # Marked if and only if it is too long.
        assert chunk.metadata == ({"oversize": True} if length(chunk.text) > size else {})
    for left, right in pairwise(chunks):
        assert left.metadata is not right.metadata
    # Same input, same output, and the input is as it was. A bare text gives the same places.
    assert document == Document(text, id="name", metadata={"key": "value"})
    assert split(document) == chunks
    assert [(c.start, c.end, c.source) for c in split(text)] == [
        (c.start, c.end, "") for c in chunks
    ]
    return chunks
