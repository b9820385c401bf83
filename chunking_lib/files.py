"""The files of a folder, and word of what could not be had."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

__all__ = ["find_files"]


def find_files(folder: str | Path, *, failed: Callable[[OSError], object]) -> list[Path]:
    """Return all files in a folder and the folders in it, in order of their paths.

    A name that begins with a dot is hidden, and passed over.

    Args:
        folder: where to look.
        failed: is called with an error that names the folder, for each that may not be read or is a
            link, which may lead in a circle.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> (folder / ".git").mkdir()
    >>> _ = (folder / "faq.md").write_text("Dogs ride free.")
    >>> [file.name for file in find_files(folder, failed=print)]
    ['faq.md']
    """
    found = []
    for place, folders, files in os.walk(folder, onerror=failed):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for path in (Path(place, name) for name in folders):
            if path.is_symlink():
                failed(OSError(0, "links to folders are not followed", str(path)))
        found += [Path(place, name) for name in files if not name.startswith(".")]
    return sorted(found)
