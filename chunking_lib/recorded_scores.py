"""Scores of a language model that were recorded, so that a notebook cuts the same twice.

How a sum is rounded differs between processors, and a sentence that surprises hardly less than its
neighbours may then be a minimum on one computer and none on another.
"""

from __future__ import annotations

import functools
import os
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chunking_lib.llm import NoModelError

__all__ = ["ScoreRecordings", "open_scores", "pack_scores", "unpack_scores"]

_STEPS = 64  # in a nat: means over a sentence are exact to a hundredth
_LEAST, _MOST = -2048.0, 0.0


def pack_scores(logprobs: NDArray[np.float32], offsets: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return scores as small whole numbers, 3 × n: surprise in 1/64 nat, and steps of both places.

    >>> pack_scores(np.float32([-0.5, 0]), np.array([[0, 3], [3, 7]])).tolist()
    [[32, 0], [0, 3], [3, 4]]
    """
    surprise = np.rint(np.clip(logprobs, _LEAST, _MOST) * -_STEPS)
    return np.stack([surprise, *np.diff(offsets, axis=0, prepend=0).T]).astype(np.int32)


def unpack_scores(packed: NDArray[np.int32]) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return the log-probabilities and the places that were packed.

    >>> packed = pack_scores(np.float32([-0.5, 0]), np.array([[0, 3], [3, 7]]))
    >>> unpack_scores(packed)[1].tolist()
    [[0, 3], [3, 7]]
    """
    logprobs = (packed[0] / -_STEPS).astype(np.float32)
    return logprobs, np.cumsum(packed[1:], axis=1, dtype=np.int64).T


class ScoreRecordings:
    """One .npz file: an array for each text that was scored, by the SHA-256 of what was asked.

    With `CHUNKING_RECORD=1` the file begins anew with the first array of a process.

    Args:
        path: the file; it need not exist.
    Raises:
        RuntimeError: a file that cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.recording = os.environ.get("CHUNKING_RECORD") == "1"
        self._lock = threading.Lock()
        self._begun = False
        self._arrays: dict[str, NDArray[Any]] = {}
        if path.exists() and not self.recording:
            try:
                with np.load(path, allow_pickle=False) as arrays:
                    self._arrays = dict(arrays)
            except Exception as error:  # NumPy raises of every kind
                raise RuntimeError(f"cannot read the scores in {path.name}: {error}") from error

    def recall(self, key: str, make: Callable[[], NDArray[Any]]) -> NDArray[Any]:
        """Return the array of a request: the recorded one, else what `make` gives.

        Raises:
            NoModelError: it is not recorded, and with `CHUNKING_RECORD=0` none may be made.
        """
        if key not in self._arrays:
            if os.environ.get("CHUNKING_RECORD") == "0":
                raise NoModelError(
                    f"no recording of these scores in {self.path.name}, and CHUNKING_RECORD=0 "
                    "allows no live model: run make record"
                )
            array = make()
            if not self.recording:
                return array
            self._write(key, array)
        return self._arrays[key]

    def _write(self, key: str, array: NDArray[Any]) -> None:
        with self._lock:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            entry = zipfile.ZipInfo(
                f"{key}.npy"
            )  # without the time: the same scores, the same file
            entry.compress_type = zipfile.ZIP_DEFLATED
            with (
                zipfile.ZipFile(self.path, "a" if self._begun else "w") as file,
                file.open(entry, "w") as out,
            ):
                np.lib.format.write_array(out, array, allow_pickle=False)
            self._begun = True
            self._arrays[key] = array


@functools.cache
def open_scores(path: Path, record: str) -> ScoreRecordings:
    """Return the recordings of a file, the same for all models of a process; see `Recordings`."""
    return ScoreRecordings(path)
