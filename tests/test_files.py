"""The files of a folder: all of them, in order, and word of what could not be had."""

from pathlib import Path

import pytest

from chunking_lib.files import find_files


def no_error(error: OSError) -> None:
    pytest.fail(str(error))


def test_files_come_in_order_of_their_paths(tmp_path):
    names = ["a.md", "b/c.md", "b/c/d.md", "b.md", "Z.md"]
    for name in [*names, ".hidden", "b/.git/config", "b/.env"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "empty").mkdir()
    found = find_files(tmp_path, failed=no_error)
    assert found == sorted(tmp_path / name for name in names)
    assert find_files(str(tmp_path), failed=no_error) == found


def test_a_folder_that_cannot_be_searched_is_told(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "circle").symlink_to(tmp_path)
    (tmp_path / "in" / "file.md").symlink_to(tmp_path / "target.md")
    (tmp_path / "target.md").touch()
    errors: list[OSError] = []
    assert find_files(tmp_path / "in", failed=errors.append) == [Path(tmp_path, "in", "file.md")]
    assert find_files(tmp_path / "no", failed=errors.append) == []
    assert [error.filename for error in errors] == [
        str(tmp_path / "in" / "circle"),
        str(tmp_path / "no"),
    ]
