"""The corpus is complete, frozen, and what the README of the data says."""

import doctest
import hashlib
import importlib.util
import json
import re
import runpy
import subprocess
import sys
import unicodedata
from pathlib import Path

import pypdfium2
import pytest

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "data"
MANIFEST = json.loads((DATA / "manifest.json").read_text(encoding="utf-8"))
DOCUMENTS = {document["id"]: document for document in MANIFEST["documents"]}
README = (DATA / "README.md").read_text(encoding="utf-8")
NOT_TEXT = (".html", ".json", ".pdf")


def canonical(name: str) -> Path:
    """Where the text of a document stands."""
    if name.endswith(NOT_TEXT):
        return DATA / "canonical" / f"{name}.txt"
    return DATA / "corpus" / name


def test_no_file_has_changed():
    files = sorted(
        path.relative_to(DATA).as_posix()
        for pattern in ("corpus/*", "canonical/*", "*.jsonl")
        for path in DATA.glob(pattern)
    )
    assert files == sorted(MANIFEST["sha256"])
    for name, expected in MANIFEST["sha256"].items():
        found = hashlib.sha256((DATA / name).read_bytes()).hexdigest()
        assert found == expected, f"data/{name} has changed; the data are frozen"


def test_documents_and_words():
    assert sorted(DOCUMENTS) == sorted(path.name for path in (DATA / "corpus").iterdir())
    assert len(DOCUMENTS) >= 32
    words = {name: len(canonical(name).read_text("utf-8").split()) for name in DOCUMENTS}
    assert words == {name: document["words"] for name, document in DOCUMENTS.items()}
    prose = sum(count for name, count in words.items() if DOCUMENTS[name]["kind"] != "API reply")
    assert prose >= 45_000
    assert f"{len(DOCUMENTS)} documents" in README
    assert f"{sum(words.values()):,} words" in README


def test_kinds_come_in_several_documents():
    kinds = [document["kind"] for document in DOCUMENTS.values()]
    for kind in set(kinds):
        assert kinds.count(kind) >= 2, kind
    languages = {language for document in DOCUMENTS.values() for language in document["languages"]}
    assert languages == {"en", "de", "fr", "zh", "ja", "th", "ar"}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_texts_are_clean(name):
    text = canonical(name).read_bytes().decode("utf-8")
    assert "\r" not in text and not text.startswith("\ufeff")
    assert text.endswith("\n") and not text.endswith("\n\n")
    assert not re.search(r"[ \t]\n", text.replace("  \n", "")), "trailing space"
    controls = {c for c in text if unicodedata.category(c) == "Cc"} - {"\n", "\t"}
    assert not controls
    if name.endswith(NOT_TEXT):
        assert text == unicodedata.normalize("NFC", text)


def test_every_document_that_is_no_text_has_a_canonical_one():
    expected = {f"{name}.txt" for name in DOCUMENTS if name.endswith(NOT_TEXT)}
    assert {path.name for path in (DATA / "canonical").glob("*.txt")} == expected


@pytest.mark.parametrize("name", [name for name in DOCUMENTS if name.endswith(".json")])
def test_canonical_json(name):
    data = json.loads((DATA / "corpus" / name).read_text(encoding="utf-8"))
    text = json.dumps(data, ensure_ascii=False, indent=2) + "\n"
    assert canonical(name).read_text(encoding="utf-8") == text


def test_canonical_pages_are_what_their_script_writes(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "canonical").mkdir()
    (tmp_path / "data" / "corpus").symlink_to(DATA / "corpus")
    script = DATA / "make" / "canonical_html.py"
    subprocess.run([sys.executable, script], cwd=tmp_path, check=True, capture_output=True)
    made = sorted((tmp_path / "data" / "canonical").iterdir())
    assert len(made) == 5
    for path in made:
        assert path.read_bytes() == canonical(path.stem).read_bytes()


@pytest.mark.parametrize("name", ["annual_report_2023.pdf", "annual_report_2024.pdf"])
def test_every_word_of_a_report_stands_in_its_pdf(name):
    pages = pypdfium2.PdfDocument(DATA / "corpus" / name)
    assert 6 <= len(pages) <= 8
    found = "\n".join(page.get_textpage().get_text_range() for page in pages)
    # Hyphens at line ends are another character there; and a compound may be broken at its own.
    found = re.sub(r"[\ufffe\u0002]\s*", "", found).replace("-", "")
    words = set(re.findall(r"\w+", unicodedata.normalize("NFKC", found)))
    text = unicodedata.normalize("NFKC", canonical(name).read_text(encoding="utf-8"))
    assert set(re.findall(r"\w+", text.replace("-", ""))) <= words


def test_the_scan_has_no_text():
    pages = pypdfium2.PdfDocument(DATA / "corpus" / "notice_pier_closure.pdf")
    assert [page.get_textpage().get_text_range() for page in pages] == [""]


def test_the_fare_engine_runs():
    spec = importlib.util.spec_from_file_location("fare_engine", DATA / "corpus" / "fare_engine.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["fare_engine"] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
        result = doctest.testmod(module)
    finally:
        del sys.modules["fare_engine"]
    assert result.attempted > 5 and result.failed == 0


def test_the_manifest_is_what_its_script_writes(tmp_path, monkeypatch):
    module = runpy.run_path(str(DATA / "make" / "manifest.py"))
    assert {name for name in DOCUMENTS if DOCUMENTS[name]["split"] == "dev"} == module["DEV"]
    for name, document in DOCUMENTS.items():
        assert module["kind_of"](name) == document["kind"]


def test_the_readme_lists_split_and_words():
    rows = re.findall(r"^\| `([^`]+)` \| ([^|]+) \| (dev|test) \| ([\d,]+) \|", README, re.M)
    listed = {name: (kind, split, int(words.replace(",", ""))) for name, kind, split, words in rows}
    assert listed == {
        name: (document["kind"], document["split"], document["words"])
        for name, document in DOCUMENTS.items()
    }
