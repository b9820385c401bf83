"""Vectors on disk: found again, by several processes, and no error whatever happens to the file."""

import os
import sqlite3
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import texts as any_texts

from chunking_lib import vectors as module
from chunking_lib.models import without_surrogates
from chunking_lib.vectors import VectorCache

VECTORS = {"a ferry": np.float32([0.6, 0.8, 0]), "": np.float32([0, 0, 1])}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache folder that nobody made yet."""
    monkeypatch.setattr(module, "cache_folder", lambda: tmp_path / "new" / "cache")
    return tmp_path / "new" / "cache"


def texts_of(cache: VectorCache, *texts: str) -> list[str]:
    return list(cache.get(texts))


def test_what_was_put_is_found(folder):
    VectorCache("m", 3).put(VECTORS)
    found = VectorCache("m", 3).get(["a ferry", "unknown", ""])
    assert found.keys() == VECTORS.keys()
    for text, vector in found.items():
        assert vector.dtype == np.float32
        np.testing.assert_array_equal(vector, VECTORS[text])
        vector += 1  # a copy, which may be written to
    np.testing.assert_array_equal(
        VectorCache("m", 3).get(["a ferry"])["a ferry"], VECTORS["a ferry"]
    )
    assert [path.name for path in folder.iterdir()] == ["vectors.sqlite"]


def test_nothing_is_asked_and_nothing_kept(folder):
    cache = VectorCache("m", 3)
    assert cache.get([]) == {}
    cache.put({})
    assert cache.get(["a"]) == {}


def test_models_and_dimensions_are_kept_apart(folder):
    VectorCache("m", 3).put(VECTORS)
    assert texts_of(VectorCache("other", 3), "a ferry") == []
    assert texts_of(VectorCache("m", 4), "a ferry") == []
    assert texts_of(VectorCache("m", 3), "a ferry") == ["a ferry"]


@given(st.sets(any_texts.map(without_surrogates), max_size=6))
def test_any_text_is_found_and_no_other(tmp_path_factory, texts):
    cache = VectorCache(str(tmp_path_factory.mktemp("m")), 2)
    cache._path = tmp_path_factory.getbasetemp() / "any.sqlite"
    made = {text: np.float32([np.cos(i), np.sin(i)]) for i, text in enumerate(sorted(texts))}
    cache.put(made)
    found = cache.get([*made, "\x00 never put"])
    assert {text: row.tolist() for text, row in found.items()} == {
        text: row.tolist() for text, row in made.items()
    }


def test_more_texts_than_one_question_to_the_database_holds(folder):
    cache = VectorCache("m", 1)
    cache.put({f"text {i}": np.float32([(-1) ** i]) for i in range(1234)})
    found = cache.get([f"text {i}" for i in range(2000)])
    assert len(found) == 1234 and found["text 1233"] == -1


@pytest.mark.parametrize(
    "content", [b"", b"not a database" * 100, b"SQLite format 3\x00" + b"\xff" * 999]
)
def test_a_corrupt_file_is_no_error(folder, content):
    folder.mkdir(parents=True)
    (folder / "vectors.sqlite").write_bytes(content)
    cache = VectorCache("m", 3)
    assert cache.get(["a ferry"]) == {}
    cache.put(VECTORS)
    assert len(cache.get(["a ferry"])) == (1 if content == b"" else 0)


def test_a_file_that_was_cut_is_no_error(folder):
    cache = VectorCache("m", 3)
    cache.put({f"text {i}": np.float32([0, 1, 0]) for i in range(2000)})
    path = folder / "vectors.sqlite"
    path.write_bytes(path.read_bytes()[:9000])
    assert len(cache.get([f"text {i}" for i in range(2000)])) < 2000
    cache.put(VECTORS)


def test_a_table_of_another_kind_is_no_error(folder):
    folder.mkdir(parents=True)
    with sqlite3.connect(folder / "vectors.sqlite") as database:
        database.execute("CREATE TABLE vectors (something INTEGER)")
    database.close()
    VectorCache("m", 3).put(VECTORS)
    assert VectorCache("m", 3).get(["a ferry"]) == {}


def test_a_row_of_the_wrong_length_is_not_used(folder):
    cache = VectorCache("m", 3)
    cache.put(VECTORS)
    rows = ([np.nan, 0, 0], [np.inf, 1, 1], [0, 0, 0], [1, 1, 1])
    damaged = [np.float32(row).tobytes() for row in rows]
    for wrong in (b"", b"\x00" * 7, b"\x00" * 16, None, "text of 12 c.", 5, *damaged):
        with sqlite3.connect(folder / "vectors.sqlite") as database:
            database.execute("UPDATE vectors SET vector = ?", (wrong,))
        database.close()
        assert cache.get(["a ferry"]) == {}


def test_a_folder_that_cannot_be_made_is_no_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setattr(module, "cache_folder", lambda: tmp_path / "file")
    VectorCache("m", 3).put(VECTORS)
    assert VectorCache("m", 3).get(["a ferry"]) == {}


def test_a_cache_that_may_only_be_read_is_read(folder, monkeypatch):
    VectorCache("m", 3).put(VECTORS)
    connect = sqlite3.connect
    address = f"{(folder / 'vectors.sqlite').as_uri()}?mode=ro"  # root may write to any file
    monkeypatch.setattr(sqlite3, "connect", lambda _, **more: connect(address, uri=True, **more))
    cache = VectorCache("m", 3)
    cache.put({"new": np.float32([1, 1, 1])})
    assert texts_of(cache, "a ferry", "new") == ["a ferry"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write")
def test_a_folder_that_may_only_be_read_is_no_error(folder):
    VectorCache("m", 3).put(VECTORS)
    folder.chmod(0o500)
    try:
        VectorCache("m", 3).put({"new": np.float32([1, 1, 1])})
        assert "a ferry" in VectorCache("m", 3).get(["a ferry"])
    finally:
        folder.chmod(0o700)


def test_a_locked_file_is_no_error_and_not_waited_for_long(folder, monkeypatch):
    assert module._PATIENCE <= 10
    monkeypatch.setattr(module, "_PATIENCE", 0.05)
    VectorCache("m", 3).put(VECTORS)
    other = sqlite3.connect(folder / "vectors.sqlite", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    cache = VectorCache("m", 3)
    assert cache.get(["a ferry"]) == {}
    cache.put({"new": np.float32([1, 1, 1])})
    other.execute("ROLLBACK")
    other.close()
    assert texts_of(cache, "a ferry", "new") == ["a ferry"]


def test_a_file_that_stays_locked_is_waited_for_once(folder, monkeypatch):
    monkeypatch.setattr(module, "_PATIENCE", 0.05)
    VectorCache("m", 3).put(VECTORS)
    connect, waits = sqlite3.connect, []

    def counting(path, timeout, **more):
        waits.append(timeout)
        return connect(path, timeout=timeout, **more)

    other = connect(folder / "vectors.sqlite", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    monkeypatch.setattr(sqlite3, "connect", counting)
    cache = VectorCache("m", 3)
    for _ in range(3):
        assert cache.get(["a ferry"]) == {}
        cache.put(VECTORS)
    other.close()
    for _ in range(2):
        assert texts_of(cache, "a ferry") == ["a ferry"]
    assert waits == [0.05, 0, 0, 0, 0, 0, 0, 0.05]  # and again, once it was free


def test_the_file_is_not_much_larger_than_its_vectors(folder):
    VectorCache("m", 384).put(
        {f"text {i}": np.eye(384, dtype=np.float32)[i % 384] for i in range(2000)}
    )
    assert (folder / "vectors.sqlite").stat().st_size < 1.7 * 2000 * 384 * 4


@pytest.mark.slow
def test_several_processes_write_at_once(tmp_path):
    script = (
        "import sys, numpy as np\n"
        "from chunking_lib.vectors import VectorCache\n"
        "cache = VectorCache('m', 4)\n"
        "row = np.full(4, 0.5, np.float32)\n"
        "for i in range(60):\n"
        "    cache.put({f'{sys.argv[1]} {i}': row, 'both': row})\n"
        "    assert len(cache.get([f'{sys.argv[1]} {i}', 'both'])) == 2\n"
    )
    environment = {**os.environ, "CHUNKING_CACHE": str(tmp_path)}
    running = [
        subprocess.Popen([sys.executable, "-c", script, name], env=environment) for name in "ab"
    ]
    assert [process.wait() for process in running] == [0, 0]
    cache = VectorCache("m", 4)
    cache._path = tmp_path / "vectors.sqlite"
    assert len(cache.get([f"{name} {i}" for name in "ab" for i in range(60)])) == 120
