"""`split_document`: each file goes to the splitter of its kind."""

from dataclasses import replace
from pathlib import Path

import pytest

from chunking_lib.benchmark import load_benchmark
from chunking_lib.chunk import Document, check_chunks
from chunking_lib.formats.code import split_code
from chunking_lib.formats.html_split import split_html
from chunking_lib.formats.json_split import split_json
from chunking_lib.formats.load import load_document
from chunking_lib.formats.markdown import split_markdown
from chunking_lib.formats.pdf_split import split_pdf
from chunking_lib.formats.split import split_document
from chunking_lib.recursive import split_recursive

CORPUS = Path(__file__).resolve().parent.parent / "data" / "corpus"


@pytest.mark.parametrize(
    ("name", "splitter"),
    [
        ("leaflet_visitors.md", split_markdown),
        ("help_tickets.html", split_html),
        ("annual_report_2024.pdf", split_pdf),
        ("api_fares.json", split_json),
        ("fare_engine.py", split_code),
        ("fare_types.ts", split_code),
        ("essay_waiting.txt", split_recursive),
    ],
)
def test_a_file_goes_to_the_splitter_of_its_kind(name: str, splitter) -> None:
    document = load_document(CORPUS / name)
    chunks = split_document(document, size=400)
    assert chunks == splitter(document, size=400) == split_document(CORPUS / name, size=400)
    assert len(chunks) > 1
    assert splitter is split_recursive or chunks != split_recursive(document, size=400)


def test_nothing_of_any_document_of_the_corpus_is_lost() -> None:
    documents = load_benchmark(CORPUS.parent).documents
    for document in documents.values():
        chunks = split_document(document, size=300)
        # A part of a fence is made valid, and so derived: its place is what counts here.
        places = [replace(c, text=document.text[c.start : c.end], derived=False) for c in chunks]
        if not document.id.endswith(".json"):  # there, brackets between parts go
            assert check_chunks(document, places) == []
        assert max(len(c.text) for c in chunks if not c.metadata.get("oversize")) <= 300


@pytest.mark.parametrize("name", ["PAGE.MD", "a/b.markdown", "x.min.js", "no ending", ""])
def test_the_end_of_the_id_decides(name: str) -> None:
    chunks = split_document(Document("# One\n\ntwo\n", id=name), size=100)
    assert ("path" in chunks[0].metadata) == (name in {"PAGE.MD", "a/b.markdown", "x.min.js"})


@pytest.mark.parametrize("source", ["a.md", "# text", b"# text", None])
def test_a_source_without_a_kind_is_refused(source) -> None:
    with pytest.raises(ValueError, match="must be a Document, with an id that tells its kind"):
        split_document(source)


def test_a_folder_is_no_document(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a folder, not a file"):
        split_document(tmp_path)


def test_size_is_measured_in_the_units_of_length() -> None:
    document = Document("# One\n\ntwo three four\n\nfive six\n", id="a.md")
    chunks = split_document(document, size=3, length=lambda text: len(text.split()))
    assert max(len(chunk.text.split()) for chunk in chunks) <= 3
