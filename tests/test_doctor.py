"""The doctor: right about a healthy and a sick course, and never a traceback."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from chunking_lib import doctor, models

ROOT = Path(__file__).resolve().parent.parent


def states(root: Path) -> dict[str, str]:
    return {finding.what: finding.state for finding in doctor.examine(root)}


def problems(root: Path) -> str:
    found = [finding for finding in doctor.examine(root) if finding.state == "problem"]
    assert all(finding.remedy for finding in found)
    return "\n".join(f"{finding.what} -> {finding.remedy}" for finding in found)


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A small healthy course."""
    (tmp_path / "requirements.lock").write_text("# comment\npytest==" + pytest.__version__ + "\n")
    (tmp_path / "requirements-nodeps.lock").write_text("")
    (tmp_path / "data" / "corpus").mkdir(parents=True)
    handbook = tmp_path / "data" / "corpus" / "handbook.md"
    handbook.write_bytes(b"# Handbook")
    hashes = {"corpus/handbook.md": hashlib.sha256(b"# Handbook").hexdigest()}
    (tmp_path / "data" / "manifest.json").write_text(json.dumps({"sha256": hashes}))
    (tmp_path / "notebooks").mkdir()
    monkeypatch.setattr(models, "verify", lambda name: "")
    return tmp_path


def test_this_course_is_healthy():
    assert problems(ROOT) == ""


def test_a_small_course_is_healthy(course):
    assert problems(course) == ""


def test_missing_packages_are_named(course):
    with (course / "requirements.lock").open("a") as lock:
        lock.write("no-such-package==1.0\nanother-one==2 ; sys_platform == 'nowhere'\n")
    said = problems(course)
    assert "1 package is missing: no-such-package -> run `make lab`" in said
    (course / ".venv").mkdir()
    said = problems(course)
    assert "1 package is missing: no-such-package -> run `rm -f .venv/.locked; make lab`" in said


def test_another_version_is_a_note(course):
    (course / "requirements.lock").write_text("pytest==1.0\n")
    assert problems(course) == ""
    expected = f"pytest {pytest.__version__} (tested: 1.0)"
    assert any(expected in what for what, state in states(course).items() if state == "note")


def test_missing_documents_are_a_problem(course):
    (course / "data" / "corpus" / "handbook.md").unlink()
    assert "corpus/handbook.md" in problems(course)
    (course / "data" / "manifest.json").unlink()
    assert "no list of documents" in problems(course)


def test_a_changed_document_is_a_note(course):
    (course / "data" / "corpus" / "handbook.md").write_bytes(b"# Handbook\r\n")
    notes = [finding for finding in doctor.examine(course) if finding.state == "note"]
    assert any("changed" in note.what and "corpus/handbook.md" in note.what for note in notes)


def test_a_shadowing_file_is_a_problem(course):
    (course / "notebooks" / "random.py").touch()
    assert "random.py hides the module random" in problems(course)


def test_missing_and_damaged_weights_are_problems(course, monkeypatch):
    monkeypatch.setattr(models, "verify", lambda name: "model.safetensors is missing")
    assert "python -m chunking_lib fetch" in problems(course)
    monkeypatch.setattr(models, "verify", lambda name: "model.safetensors has a wrong SHA-256")
    assert "delete that folder" in problems(course)


def test_a_cache_that_cannot_be_made_is_a_problem(course, monkeypatch):
    (course / "file").touch()
    monkeypatch.setenv("CHUNKING_CACHE", str(course / "file" / "cache"))
    assert "set CHUNKING_CACHE" in problems(course)


def test_a_missing_kernel_is_a_problem(course, monkeypatch):
    monkeypatch.setattr(doctor.sysconfig, "get_path", lambda name: str(course))
    assert "python3" in problems(course)


def test_the_library_alone_is_a_note(tmp_path, monkeypatch):
    monkeypatch.setattr(models, "verify", lambda name: "")
    assert problems(tmp_path) == ""
    assert "this is the library alone, without notebooks and data" in states(tmp_path)


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )


def test_it_speaks_when_no_package_is_installed(tmp_path):
    """-S hides every installed package."""
    result = run("-S", "-m", "chunking_lib", "doctor", CHUNKING_CACHE=str(tmp_path))
    assert result.returncode == 1
    assert "packages are missing" in result.stdout
    assert "config.json is missing" in result.stdout
    assert result.stderr == ""


def test_the_command_says_ready():
    result = run("-m", "chunking_lib", "doctor")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.endswith("\nReady.\n")


def test_the_command_fetch_prints_the_folder_or_the_reason():
    result = run("-m", "chunking_lib", "fetch")
    assert result.returncode == 0
    assert result.stdout.startswith(f"{models.MINILM}: ")
    result = run("-m", "chunking_lib", "fetch", "gpt-9")
    assert result.returncode == 1
    assert result.stderr.startswith("name='gpt-9' must be one of ")
    assert "Traceback" not in result.stderr


def test_another_python_than_the_course_s_is_noted(course):
    assert not any("is not the Python" in what for what in states(course))
    (course / ".venv").mkdir()
    assert any("is not the Python" in what for what in states(course))


def test_a_relative_cache_is_a_problem(course, monkeypatch):
    monkeypatch.setenv("CHUNKING_CACHE", "somewhere")
    assert "CHUNKING_CACHE=somewhere is relative" in problems(course)


def test_a_cache_named_like_the_model_is_explained(course, monkeypatch, tmp_path):
    monkeypatch.setenv("CHUNKING_CACHE", str(tmp_path / models.MINILM))
    monkeypatch.setattr(models, "verify", lambda name: "model.safetensors is missing")
    assert f"must name the folder that holds {models.MINILM}" in problems(course)
