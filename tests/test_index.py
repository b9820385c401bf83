"""The vector database."""

import json
import os
import subprocess
import sys

import chromadb
import numpy as np
import pytest
from case_checks import CASES
from chromadb.api.shared_system_client import SharedSystemClient
from chromadb.config import Settings
from corpus import read_eight
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import texts as any_texts
from toys import ToyEmbedder

from chunking_lib.chunk import Chunk, chunk_id
from chunking_lib.index import ChunkIndex, Hit
from chunking_lib.models import load_embedder
from chunking_lib.recursive import split_recursive
from chunking_lib.retrieve import dense_scores, rank


class Table:
    """An embedder that looks vectors up."""

    def __init__(self, vectors: dict[str, list[float]]) -> None:
        self.vectors = vectors

    def encode(self, texts):
        return np.array([self.vectors[text] for text in texts], dtype=np.float32)


@pytest.fixture
def index():
    return ChunkIndex(ToyEmbedder())


def chunk(text: str, start: int = 0, source: str = "d", **more) -> Chunk:
    return Chunk(text, start, start + len(text), source, **more)


def found(index: ChunkIndex, question: str, k: int = 100) -> list[Chunk]:
    return [hit.chunk for hit in index.search(question, k)]


# --- the cases --------------------------------------------------------------------------


def test_idx_empty_add():
    case = json.loads(CASES["idx_empty_add"]["input"])
    index = ChunkIndex(Table({"q": case["query"], "two": [1, 0], "three": [1, 0, 0]}))
    index.add(case["add"])
    assert index.search("q", case["k"]) == [] and len(index) == 0
    index.add([chunk("two")])
    for run in (lambda: index.add([chunk("three")]), lambda: index.search("three")):
        with pytest.raises(ValueError, match="have 3 dimensions, those in the index 2"):
            run()
    assert found(index, "q") == [chunk("two")]


@pytest.mark.parametrize("nothing", [[], (), iter([])])
def test_idx_empty_add_of_every_kind(index, nothing):
    index.add(nothing)
    index.replace("d", [])
    index.replace("", [])
    assert len(index) == 0 and index.search("ferry", k=7) == []
    index.add([chunk("ferry")])
    index.add([])
    assert found(index, "ferry") == [chunk("ferry")]


@pytest.mark.parametrize("k", [0, -1, 1.5, "2", None, True])
def test_idx_empty_add_and_a_k_that_asks_for_nothing(index, k):
    with pytest.raises(ValueError, match=f"k={k!r} must be a whole number of 1 or more"):
        index.search("ferry", k)


@pytest.mark.parametrize("question", ["", " \n", "\u200b", None, ["ferry"]])
def test_a_question_must_ask_something(index, question):
    index.add([chunk("ferry")])
    with pytest.raises(ValueError, match=r"question=.* must be a text that is not blank"):
        index.search(question)
    assert index.search("ferry", np.int64(1)) == [Hit(chunk("ferry"), 1.0)]


@pytest.mark.parametrize(
    "wrong", [[[1, 0]], [1, 0], [[1, 0], [np.nan, 0]], [[1, 0], [7, 0]], [[1, 0], [1, np.inf]]]
)
def test_vectors_that_are_none_are_refused_before_they_are_kept(wrong):
    index = ChunkIndex(Table({}))
    index._embedder.encode = lambda texts: np.array(wrong, dtype=np.float32)
    with pytest.raises(ValueError, match="embedder gave"):
        index.add([chunk("a"), chunk("b", 5)])
    assert len(index) == 0


@pytest.mark.parametrize("wrong", [{"page": (1, 2)}, {1: 2}, {"page": {1}}, {"page": np.int64(1)}])
def test_metadata_that_would_come_back_as_another_is_refused(index, wrong):
    with pytest.raises(ValueError, match=r"metadata=.* must hold texts, numbers"):
        index.add([chunk("ferry"), chunk("tram", 9, metadata=wrong)])
    assert len(index) == 0


def test_idx_existing_id_ignored():
    (name, old, before), (_, new, after) = json.loads(CASES["idx_existing_id_ignored"]["input"])
    index = ChunkIndex(Table({old: before, new: after}))
    index.replace(name, [chunk(old, source=name)])
    index.replace(name, [chunk(new, source=name)])
    assert index.search(new) == [Hit(chunk(new, source=name), 1.0)] and len(index) == 1


def test_idx_existing_id_ignored_when_only_the_metadata_is_new(index):
    index.add([chunk("ferry", metadata={"page": 1}), chunk("ferry", metadata={"page": 2})])
    assert [c.metadata for c in found(index, "ferry")] == [{"page": 2}]
    index.add([chunk("ferry", metadata={"page": 3})])
    assert [c.metadata for c in found(index, "ferry")] == [{"page": 3}] and len(index) == 1
    index.add([chunk("ferry", context="Fares")])
    assert len(index) == 2


def test_idx_identical_chunks_ids(index):
    texts = json.loads(CASES["idx_identical_chunks_ids"]["input"])
    starts = (0, 14, 26)
    chunks = [chunk(text, start) for text, start in zip(texts, starts, strict=True)]
    index.add(chunks)
    assert len({*map(chunk_id, chunks)}) == len(index) == 3
    assert [c.start for c in found(index, "appendix", 2)] == [0, 26]


def test_idx_identical_chunks_ids_in_every_run():
    script = (
        "from chunking_lib.chunk import Chunk, chunk_id\n"
        "print([chunk_id(Chunk('See appendix.', i, i + 13, 'd\\ud800')) for i in (0, 26)])"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in "12"
    }
    assert runs == {
        f"{[chunk_id(chunk('See appendix.', i, f'd{chr(0xD800)}')) for i in (0, 26)]}\n"
    }


@given(
    st.lists(
        st.builds(
            lambda text, start, source, context: chunk(text, start, source, context=context),
            st.sampled_from(["a", "ab", "b"]),
            st.integers(0, 3),
            st.sampled_from(["", "d", "d0", "0"]),
            st.sampled_from(["", "a", "0"]),
        ),
        max_size=30,
    )
)
def test_idx_identical_chunks_ids_of_every_kind(chunks):
    """Two chunks have one id only if they are the same."""
    assert len({*map(chunk_id, chunks)}) == len(set(chunks))


def test_idx_zero_vector():
    case = json.loads(CASES["idx_zero_vector"]["input"])
    texts = ["zero", "near", "same"]
    index = ChunkIndex(
        Table(
            {**dict(zip(texts, case["vectors"], strict=True)), "q": case["query"], "none": [0, 0]}
        )
    )
    chunks = [chunk(text, source=text) for text in texts]
    index.add(chunks)
    hits = index.search("q", case["k"])
    expected = CASES["idx_zero_vector"]["right_value"]["exact"]
    assert [chunks.index(hit.chunk) for hit in hits] == expected["order"]
    assert [hit.score for hit in hits] == pytest.approx(expected["scores"])
    assert [hit.score for hit in index.search("none", 3)] == [0, 0, 0]


def test_idx_zero_vector_of_every_kind(index):
    """Blank texts among others: no NaN, no warning, and never before what fits."""
    blank = [chunk(" " * i, 10 * i) for i in range(1, 9)]
    index.add([*blank[:4], chunk("the ferry"), *blank[4:]])
    hits = index.search("ferry", 9)
    assert len(hits) == 9 and hits[0].chunk.text == "the ferry"
    assert [hit.score for hit in hits[1:]] == [0] * 8
    assert [hit.chunk for hit in hits[1:]] == blank


# --- what is kept -----------------------------------------------------------------------


@settings(max_examples=25)
@given(
    text=any_texts,
    source=any_texts,
    context=any_texts,
    derived=st.booleans(),
    metadata=st.dictionaries(
        st.sampled_from(["path", "page", "kind", "oversize"]),
        st.none() | st.booleans() | st.integers() | any_texts | st.lists(any_texts, max_size=3),
    ),
)
def test_any_chunk_comes_back_as_it_was(text, source, context, derived, metadata):
    index = ChunkIndex(ToyEmbedder())
    kept = Chunk(text, 5, 5 + len(text), source, context, derived, metadata)
    index.add([kept])
    assert found(index, "x") == [kept] and found(index, "x")[0].metadata == metadata
    index.replace(source, [])
    assert len(index) == 0


@pytest.mark.parametrize(
    "text", ["a\0b", "\0", "a\ud800b", "\udfff\ud800", "🦥\u200d", ""], ids=ascii
)
def test_odd_texts_and_names_come_back(index, text):
    chunks = [chunk(text), chunk("x", source=text), chunk("y", context=text)]
    index.add(chunks)
    assert sorted(map(repr, found(index, "x"))) == sorted(map(repr, chunks))
    index.replace(text, [chunk("new", source=text)])
    assert chunk("x", source=text) not in found(index, "x") and len(index) == 3


def test_more_is_asked_for_than_there_is(index):
    chunks = [chunk(f"ferry {i}", 10 * i) for i in range(5)]
    index.add(chunks)
    assert len(index.search("ferry", 1000)) == len(index) == 5


def test_replace_removes_what_is_stale(index):
    old = [chunk(f"ferry {i}", 10 * i) for i in range(20)]
    other = [chunk("ferry", source="other"), chunk("ferry", source="d2"), chunk("x", source='"d"')]
    index.add([*old, *other])
    new = [old[3], chunk("ferry line", 500)]
    index.replace("d", new)
    assert {*found(index, "ferry")} == {*new, *other} and len(index) == 5
    index.replace("d", new)
    assert len(index) == 5
    index.replace("d", [])
    assert {*found(index, "ferry")} == {*other}


def test_replace_refuses_chunks_of_another_document(index):
    index.add([chunk("ferry")])
    with pytest.raises(ValueError, match="source='d', and chunks has one of 'other'"):
        index.replace("d", [chunk("tram", source="other")])
    assert found(index, "ferry") == [chunk("ferry")]


def test_equal_scores_keep_the_order_of_the_text(index):
    index.add([chunk("ferry", i, s) for s in "ba" for i in (30, 0, 12, 5)])
    for k in (8, 3):
        hits = index.search("ferry", k)
        expected = [(s, i) for s in "ab" for i in (0, 5, 12, 30)]
        assert [(hit.chunk.source, hit.chunk.start) for hit in hits] == expected[:k]


def test_after_many_changes_all_are_still_found(index):
    for n in range(8):
        chunks = [chunk(f"word{n} word{i}", 20 * i) for i in range(60)]
        index.replace("d", chunks)
    assert {*found(index, "word1", 60)} == {*chunks} == {*found(index, "word1", 1000)}


def test_the_answer_is_found_among_copies_of_a_footer(index):
    """Chroma's own search finds a few of the copies only, and not the answer."""
    index.add([chunk("all rights reserved", 20 * i) for i in range(400)])
    index.add([chunk("the ferry sails at nine", 0, "e")])
    index.add([chunk("all rights reserved", 20 * i, "f") for i in range(400)])
    assert index.search("when sails the ferry", 1)[0].chunk.text == "the ferry sails at nine"
    assert len(set(found(index, "ferry", 801))) == len(index) == 801


@settings(max_examples=10)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=30), st.integers(1, 40))
def test_the_search_is_the_ranking_of_all_scores(words, k):
    index, embedder = ChunkIndex(ToyEmbedder()), ToyEmbedder()
    chunks = [chunk(f"word{a} word{b}", 20 * i) for i, (a, b) in enumerate(words)]
    index.add(chunks)
    hits = index.search("word0 word1", k)
    scores = dense_scores(["word0 word1"], chunks, embedder)[0]
    assert len(hits) == min(k, len(chunks))
    for hit in hits:
        assert hit.score == pytest.approx(scores[chunks.index(hit.chunk)], abs=1e-6)
    best = np.sort(scores)[::-1][: len(hits)]
    np.testing.assert_allclose([hit.score for hit in hits], best, atol=1e-6)


def test_vectors_are_read_from_the_database_once(index, monkeypatch):
    index.add([chunk(f"ferry {i}", 20 * i) for i in range(20)])
    index.search("ferry")
    read, asked = index._collection.get, []
    monkeypatch.setattr(
        index._collection, "get", lambda **how: asked.append(how["include"]) or read(**how)
    )
    index.search("tram", 3)
    assert not any("embeddings" in include and len(include) > 1 for include in asked)
    index.add([chunk("tram", 900)])
    assert index.search("tram", 1)[0].chunk.text == "tram"
    assert any("embeddings" in include and len(include) > 1 for include in asked)


# --- in memory and on disk --------------------------------------------------------------


def test_two_indexes_in_memory_are_apart(index):
    other = ChunkIndex(ToyEmbedder())
    index.add([chunk("ferry")])
    assert len(other) == 0 and other.search("ferry") == []
    other.replace("d", [])
    assert found(index, "ferry") == [chunk("ferry")]


@pytest.mark.slow
def test_an_index_on_disk_is_there_again(tmp_path):
    path = tmp_path / "new" / "index"
    first = ChunkIndex(ToyEmbedder(), path)
    kept = [chunk("ferry\0\ud800", metadata={"page": 1}), chunk("tram", 20, context="Quay")]
    first.replace("d", kept)
    script = (
        "import sys; sys.path.insert(0, sys.argv[2])\n"
        "from toys import ToyEmbedder\n"
        "from chunking_lib.index import ChunkIndex\n"
        "index = ChunkIndex(ToyEmbedder(), sys.argv[1])\n"
        "print(ascii([hit.chunk for hit in index.search('tram quay', 9)]))\n"
        "index.replace('d', [])"
    )
    command = [sys.executable, "-c", script, str(path), os.path.dirname(__file__)]
    for expected in (kept[::-1], []):  # the second run finds what the first one left: nothing
        run = subprocess.run(command, capture_output=True, text=True)
        assert (run.stdout, run.stderr) == (f"{expected!a}\n", "")


def test_an_index_on_disk_opened_twice_in_one_process(tmp_path):
    first, second = (ChunkIndex(ToyEmbedder(), tmp_path) for _ in range(2))
    first.add([chunk("ferry")])
    assert found(second, "ferry") == [chunk("ferry")]
    assert len(ChunkIndex(ToyEmbedder(), tmp_path / "other")) == 0


def test_an_index_on_disk_opened_twice_follows_what_the_other_replaces(tmp_path):
    first, second = (ChunkIndex(ToyEmbedder(), tmp_path) for _ in range(2))
    first.replace("d", [chunk("ferry")])
    assert found(second, "ferry") == [chunk("ferry")]
    first.replace("d", [chunk("tram")])
    assert found(second, "ferry") == [chunk("tram")]


def test_an_index_on_disk_of_another_embedder(tmp_path):
    ChunkIndex(ToyEmbedder(), tmp_path).add([chunk("ferry")])
    other = ToyEmbedder()
    other.name = "another"
    for embedder, name in ((other, "another"), (Table({}), "Table")):
        with pytest.raises(ValueError, match=f"chunks of 'ToyEmbedder', not of .* {name!r}"):
            ChunkIndex(embedder, tmp_path)
    assert found(ChunkIndex(ToyEmbedder(), tmp_path), "ferry") == [chunk("ferry")]


def test_chunks_of_another_program_are_not_taken_for_ones_own(tmp_path):
    theirs = chromadb.PersistentClient(str(tmp_path), Settings(anonymized_telemetry=False))
    theirs.create_collection("chunks", embedding_function=None).add(ids=["1"], embeddings=[[1, 0]])
    with pytest.raises(ValueError, match="an older version, or another program"):
        ChunkIndex(ToyEmbedder(), tmp_path)


@pytest.mark.parametrize("path", ["", 5, b"index"])
def test_a_path_must_be_one(path):
    with pytest.raises(ValueError, match=r"path=.* must be a folder, or None"):
        ChunkIndex(ToyEmbedder(), path)


def test_a_folder_that_cannot_be_opened_is_named(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a folder")
    (tmp_path / "chroma.sqlite3").write_text("not a database" * 100)
    monkeypatch.setenv("HOME", str(tmp_path))
    for path in (tmp_path / "file", tmp_path, "~/file"):
        with pytest.raises(RuntimeError, match="cannot be opened as an index"):
            ChunkIndex(ToyEmbedder(), path)


@pytest.mark.slow
def test_what_another_process_has_added_is_an_error_and_not_left_out(tmp_path):
    index = ChunkIndex(ToyEmbedder(), tmp_path)
    index.add([chunk("ferry")])
    index.search("ferry")
    script = (
        "import sys; sys.path.insert(0, sys.argv[2])\n"
        "from toys import Chunk, ToyEmbedder\n"
        "from chunking_lib.index import ChunkIndex\n"
        "ChunkIndex(ToyEmbedder(), sys.argv[1]).add([Chunk('tram', 20, 24, 'e')])"
    )
    command = [sys.executable, "-c", script, str(tmp_path), os.path.dirname(__file__)]
    subprocess.run(command, check=True)
    with pytest.raises(RuntimeError, match="another process has changed the index"):
        index.search("ferry")


@pytest.fixture
def fresh_chroma():
    """As in a process in which nobody has used Chroma; then again as it was."""
    before = (
        SharedSystemClient._identifier_to_system.copy(),
        SharedSystemClient._identifier_to_refcount.copy(),
    )
    SharedSystemClient.clear_system_cache()
    yield
    (SharedSystemClient._identifier_to_system, SharedSystemClient._identifier_to_refcount) = before


@pytest.mark.parametrize("telemetry", [True, False])
def test_it_works_where_others_have_used_chroma(fresh_chroma, telemetry):
    """Chroma refuses a second client with other settings; LangChain makes one with its own."""
    other = chromadb.EphemeralClient(Settings(anonymized_telemetry=telemetry))
    index = ChunkIndex(ToyEmbedder())
    index.add([chunk("ferry")])
    assert found(index, "ferry") == [chunk("ferry")]
    other.create_collection("theirs").add(ids=["1"], embeddings=[[1.0, 0.0]])


def test_others_can_use_chroma_after_it(fresh_chroma):
    index = ChunkIndex(ToyEmbedder())
    chromadb.EphemeralClient()
    chromadb.Client(Settings(is_persistent=False))
    assert len(index) == 0


@pytest.mark.slow
def test_telemetry_is_off_and_no_connection_is_opened(tmp_path):
    script = (
        "import sys; sys.path.insert(0, sys.argv[2])\n"
        "calls, kinds = [], ('socket.connect', 'socket.getaddrinfo')\n"
        "sys.addaudithook(lambda event, _: event in kinds and calls.append(event))\n"
        "from toys import Chunk, ToyEmbedder\n"
        "from chunking_lib.index import ChunkIndex\n"
        "for path in (None, sys.argv[1]):\n"
        "    index = ChunkIndex(ToyEmbedder(), path)\n"
        "    index.add([Chunk('ferry', 0, 5)])\n"
        "    index.search('ferry')\n"
        "    print(index._collection._client._system.settings.anonymized_telemetry)\n"
        "print(calls)"
    )
    environment = {k: v for k, v in os.environ.items() if k != "ANONYMIZED_TELEMETRY"}
    command = [sys.executable, "-c", script, str(tmp_path), os.path.dirname(__file__)]
    run = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert (run.stdout, run.stderr) == ("False\nFalse\n[]\n", "")


def test_without_its_package_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "chromadb", None)
    with pytest.raises(RuntimeError, match="pip install chromadb"):
        ChunkIndex(ToyEmbedder())


QUESTIONS = (
    "When does the last ferry leave?",
    "How many hours may a driver work without a rest?",
    "What happened in the council meeting in June?",
    "Can I take a dog on the tram?",
    "フェリー",
)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*were not read")
def test_it_finds_what_exact_search_finds_in_the_eight_documents():
    embedder = load_embedder()
    chunks = [c for d in read_eight().values() for c in split_recursive(d, size=300)]
    index = ChunkIndex(embedder)
    index.add(chunks)
    assert len(index) == len(chunks) > 300
    scores = dense_scores(QUESTIONS, chunks, embedder)
    for question, row, order in zip(QUESTIONS, scores, rank(scores), strict=True):
        hits = index.search(question, 20)
        np.testing.assert_allclose([hit.score for hit in hits], row[order[:20]], atol=1e-5)
        # Scores that are the same to the last digits may change places.
        assert {hit.chunk for hit in hits[:15]} <= {chunks[i] for i in order[:20]}
