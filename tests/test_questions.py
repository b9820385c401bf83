"""Every question stands on its evidence, and the README's figures about them are right."""

import hashlib
import json
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

from chunking_lib.benchmark import load_benchmark
from chunking_lib.python_topics import load_python_topics

DATA = Path(__file__).resolve().parent.parent / "data"
README = (DATA / "README.md").read_text(encoding="utf-8")
MANIFEST = json.loads((DATA / "manifest.json").read_text(encoding="utf-8"))
SPLITS = {document["id"]: document["split"] for document in MANIFEST["documents"]}
TYPES = {
    "local fact",
    "several places",
    "table cell",
    "code",
    "indirect reference",
    "near-duplicate",
    "whole section",
    "numeric",
    "superseded",
    "multilingual",
    "unanswerable",
}


def read(name):
    lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


QUESTIONS = read("questions.jsonl")
ANSWERED = [question for question in QUESTIONS if question["excerpts"]]


def text_of(name):
    canonical = DATA / "canonical" / f"{name}.txt"
    return (canonical if canonical.is_file() else DATA / "corpus" / name).read_text("utf-8")


TEXTS = {name: text_of(name) for name in SPLITS}


def test_every_excerpt_is_verbatim_and_lies_in_its_document():
    for question in QUESTIONS:
        for excerpt in question["excerpts"] + question.get("also", []):
            text = TEXTS[excerpt["document"]]
            start, end = excerpt["start"], excerpt["end"]
            assert 0 <= start < end <= len(text), question["id"]
            assert text[start:end] == excerpt["quote"] == excerpt["quote"].strip(), question["id"]


def test_excerpts_of_a_question_do_not_overlap():
    for question in QUESTIONS:
        places = sorted((e["document"], e["start"], e["end"]) for e in question["excerpts"])
        for left, right in zip(places, places[1:], strict=False):
            assert left[0] != right[0] or left[2] <= right[1], question["id"]


def test_no_question_stands_twice():
    words = [" ".join(re.findall(r"\w+", row["question"].casefold())) for row in QUESTIONS]
    assert len(set(words)) == len(words)
    assert [row["id"] for row in QUESTIONS] == [f"q{n:03d}" for n in range(1, len(words) + 1)]


def test_types_and_splits():
    counts = Counter(question["type"] for question in QUESTIONS)
    assert set(counts) == TYPES
    assert min(counts.values()) >= 30
    assert len(ANSWERED) >= 400
    for question in QUESTIONS:
        assert bool(question["excerpts"]) == (question["type"] != "unanswerable")
        assert bool(question.get("near")) == (question["type"] == "unanswerable")
        assert question["answer"].strip() and question["language"]
        if question["type"] == "several places":
            assert len(question["excerpts"]) > 1


def test_a_question_belongs_to_the_split_of_its_documents():
    for question in ANSWERED:
        splits = {SPLITS[excerpt["document"]] for excerpt in question["excerpts"]}
        assert splits == {question["split"]}, question["id"]
    share = sum(question["split"] == "dev" for question in QUESTIONS) / len(QUESTIONS)
    assert 0.2 <= share <= 0.3


def test_the_readme_has_the_counts():
    assert f"`questions.jsonl` has {len(QUESTIONS)} questions" in README
    counts = Counter((question["type"], question["split"]) for question in QUESTIONS)
    rows = re.findall(r"^\| ([a-z -]+) \| (\d+) \| (\d+) \|", README, re.M)
    stated = {(kind, "dev"): int(dev) for kind, dev, _ in rows if kind != "all"}
    stated |= {(kind, "test"): int(test) for kind, _, test in rows if kind != "all"}
    assert stated == {(t, s): counts[t, s] for t in TYPES for s in ("dev", "test")}


def test_two_markings_agree_as_the_readme_says():
    rows = read("agreement.jsonl")
    assert len(rows) == len(QUESTIONS)
    known = {question["id"] for question in QUESTIONS}
    scores = []
    for row in rows:
        assert row["id"] in known
        first, second = (characters(row[key]) for key in ("first", "second"))
        both = len(first) + len(second)
        scores.append(2 * len(first & second) / both if both else 1.0)
    mean = sum(scores) / len(scores)
    assert f"share {mean:.2f} of their characters" in README
    assert mean > 0.8


def characters(places):
    return {
        (document, place)
        for document, start, end in places
        for place in range(start, end)
        if not TEXTS[document][place].isspace()
    }


# Words that say nothing about the matter.
STOP = set(
    """
    a an and any are as at be been before after both but by can could did do does for from get
    had has have he her here him his how i if in into is it its just let long many may me more
    most much must my no not of off on one only or other our out over own she should so some
    such than that the their them then there these they this those through to too under until
    up us was we were what when where which while who whom whose why will with would you your
    about again all also am because being between during each few further very s t don now say
    says said
    """.split()  # noqa: SIM905
)


def words_of(text):
    found = re.findall(r"\w+", text.casefold())
    return {word[:5] for word in found if word not in STOP and (len(word) > 2 or word.isdigit())}


def test_few_questions_repeat_the_words_of_their_evidence():
    low = 0
    for question in ANSWERED:
        asked = words_of(question["question"])
        said = words_of(" ".join(excerpt["quote"] for excerpt in question["excerpts"]))
        low += len(asked & said) / max(1, len(asked)) <= 0.25
    share = low / len(ANSWERED)
    assert share >= 1 / 3
    sentence = f"Of the {len(ANSWERED)} questions with an answer, {low} ({100 * share:.0f}%)"
    assert sentence in README


def test_the_library_reads_them():
    benchmark = load_benchmark(DATA)
    assert len(benchmark.questions) == len(QUESTIONS)
    for question, row in zip(benchmark.questions, QUESTIONS, strict=True):
        assert len(question.excerpts) == len(row["excerpts"])
    dev = load_benchmark(DATA, split="dev")
    assert {question.split for question in dev.questions} == {"dev"}
    assert dev.documents == benchmark.documents


def test_topics_of_python():
    rows = read("python_topics.jsonl")
    assert len(rows) == 120
    assert len({row["question"] for row in rows}) == 120
    try:
        benchmark = load_python_topics(DATA / "python_topics.jsonl")
    except RuntimeError as error:
        if sys.version_info[:3] == (3, 11, 7):
            raise
        pytest.skip(str(error))
    assert len(benchmark.documents) == 79
    for question, row in zip(benchmark.questions, rows, strict=True):
        assert question.text == row["question"]
        for places, excerpt in zip(question.excerpts, row["excerpts"], strict=True):
            words = benchmark.documents[places[0].document].text[places[0].start : places[0].end]
            assert hashlib.sha256(words.encode()).hexdigest() == excerpt["sha256"]


def test_topics_of_another_python_are_refused(monkeypatch):
    topics = pytest.importorskip("pydoc_data.topics").topics
    monkeypatch.setitem(topics, "await", "other words")
    with pytest.raises(RuntimeError, match="'await' has other words from 98 to 145"):
        load_python_topics(DATA / "python_topics.jsonl")
