"""The benchmarks run, on equal terms. How fast anything is, no test says."""

import json
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent / "benchmarks"
sys.path.insert(0, str(HERE))

import embedding  # noqa: E402
from contenders import (  # noqa: E402
    UNITS,
    YARDSTICKS,
    contenders,
    format_texts,
    make_text,
)
from report import draw, write  # noqa: E402
from run import check, fingerprint, formats, race  # noqa: E402

RESULTS = json.loads((HERE / "results.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def text():
    return make_text(20_000)


def test_the_text_is_the_same_every_time(text):
    assert text == make_text(20_000)
    assert 19_990 <= len(text.encode()) <= 20_000
    assert make_text(300_000).startswith(text)


def test_each_pass_over_the_documents_says_something_else():
    once, twice = make_text(150_000), make_text(300_000)
    assert len(set(twice.split())) > 1.2 * len(set(once.split()))
    lines = [line for line in twice.splitlines() if len(line) > 60]
    assert len(set(lines)) > 0.9 * len(lines)


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS)
def test_every_contender_runs_once_on_the_same_text(unit, text):
    field = contenders(unit, text)
    rows = race(unit, text, field, rounds=1)
    assert [row["name"] for row in rows] == [one.name for one in field]
    assert {row["input"] for row in rows} == {fingerprint(text)}
    for row in rows:
        assert row["rounds"] == 1
        if row["name"] not in YARDSTICKS:
            assert row["chunks"] > 10, row
            assert row["wrong"] == 0, row


@pytest.mark.slow
def test_both_splitters_of_every_format_run():
    rows = formats(5000)["rows"]
    assert [row["text"] for row in rows] == list(format_texts(5000))
    assert all(row["ours chunks"] and row["langchain chunks"] for row in rows)


def test_committed_results_hold_five_megabytes_of_every_format():
    rows = RESULTS["formats"]["rows"]
    assert [row["text"] for row in rows] == list(format_texts(5000))
    assert all(4.9 < row["megabytes"] < 6 for row in rows)


def test_a_wrong_offset_is_seen():
    text = "eins zwei"
    assert check(text, [(0, "eins"), (4, "zwei")], tokens=False)["wrong"] == 1
    assert check(text, [(None, "zwei"), (None, "eins")], tokens=False)["wrong"] == 1
    assert check(text, [(0, b"eins"), (5, b"zwei")], tokens=False)["wrong"] == 0
    assert check(text, [(0, "eins"), (5, "zwei")], tokens=False)["longest"] == 4


def test_committed_results_had_the_same_input_for_all():
    for one in RESULTS["races"]:
        seen = {row["input"] for row in one["rows"]}
        assert seen == {RESULTS["inputs"][f"{one['megabytes']} MB"]["sha256"]}


@pytest.mark.slow
def test_committed_results_hold_all_contenders(text):
    for one in RESULTS["races"]:
        field = [
            c.name for c in contenders(one["unit"], text) if one["megabytes"] == 1 or not c.slow
        ]
        assert [row["name"] for row in one["rows"]] == field


def test_the_report_was_written_from_the_results():
    assert write(RESULTS) == (HERE / "results.md").read_text("utf-8"), (
        "run `python tests/benchmarks/run.py --report`"
    )


@pytest.mark.slow
def test_the_plot_can_be_drawn(tmp_path):
    draw(RESULTS, tmp_path / "plot.png")
    assert 10_000 < (tmp_path / "plot.png").stat().st_size < 200_000
    assert (HERE / "results.png").stat().st_size < 200_000


@pytest.mark.slow
def test_what_needs_the_embedding_model_runs():
    results = embedding.measure(rounds=1, texts=3)
    assert [row["texts"] for row in results["encode"]] == ["3 chunks of 200 tokens", "9 sentences"]
    page = embedding.write(json.loads(json.dumps(results)))
    assert "| 9 sentences |" in page and "times as long" in page
    assert [row["size"] for row in results["late"]["rows"]] == list(embedding.LATE_SIZES)


def test_the_page_is_that_of_the_committed_results():
    results = json.loads((HERE / "embedding.json").read_text("utf-8"))
    assert embedding.write(results) == (HERE / "embedding.md").read_text("utf-8")
    assert results["rounds"] == embedding.ROUNDS
