"""The checks of cases about formats that `case_checks.py` does not have."""

from collections.abc import Sequence

import case_checks

from chunking_lib.chunk import Chunk


def contains(chunks: Sequence[Chunk], part: str) -> str:
    """Some chunk holds `part`, white space apart."""
    found = any(part in " ".join(chunk.text.split()) for chunk in chunks)
    return "" if found else f"nowhere: {part!r}"


def path(chunks: Sequence[Chunk], part: str, expected: list[str]) -> str:
    """The first chunk that holds `part` has this path."""
    found = [chunk.metadata["path"] for chunk in chunks if part in chunk.text]
    return "" if found and found[0] == expected else f"{part!r} has path {found}"


def passes(name: str, source: str, chunks: Sequence[Chunk]) -> None:
    """Assert that the case's own checks find nothing."""
    faults = []
    for check, *values in case_checks.CASES[name]["right_value"]["checks"]:
        if check == "contains":
            faults.append(contains(chunks, *values))
        elif check == "path":
            faults.append(path(chunks, *values))
        else:
            faults += case_checks.faults([[check, *values]], source, chunks)
    assert not any(faults), faults
