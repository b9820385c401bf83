"""Several chunkers on one ruler: the table, the plot, the verdicts, and a file of them."""

import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from functools import partial, reduce
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from toys import ToyEmbedder, WordTokens, facts, lines, windows

from chunking_lib import intervals
from chunking_lib.evaluate import Arm
from chunking_lib.intervals import Interval, mean_interval
from chunking_lib.scoreboard import Scoreboard, compare

matplotlib.use("Agg")


def shared_words(questions, chunks):
    counts = [[len({*q.split()} & {*c.text.split()}) for c in chunks] for q in questions]
    return np.array(counts, dtype=np.float32)


ARMS = {
    "lines": lines,
    "20 <characters>": windows(20),
    "words": Arm(lines, scorer=shared_words, model_tokens=1234),
}
PAIRS = [("lines", "20 <characters>"), ("words", "lines")]
run = partial(compare, embedder=ToyEmbedder(), tokens=WordTokens(), budgets=(3, 6, 12))


@pytest.fixture(scope="module")
def board() -> Scoreboard:
    return run(ARMS, facts(), pairs=PAIRS)


# --- compare ----------------------------------------------------------------------------


def test_compare_scores_each_arm_on_the_same_questions(board):
    assert [result.name for result in board.results] == list(ARMS)
    assert len({tuple(result.questions) for result in board.results}) == 1
    assert [(one.name, one.baseline) for one in board.contrasts] == PAIRS
    assert board.main == 6
    means = [result.recall[6] for result in board.results]
    difference = sum(means[0]) / 12 - sum(means[1]) / 12
    assert board.contrasts[0].difference.mean == pytest.approx(difference)
    assert board.contrasts[1].difference == Interval(0, 0, 0)
    assert board.contrasts[1].verdict == "undecided"  # of twelve questions


def test_compare_without_pairs_has_no_contrasts():
    assert run({"lines": lines}, facts()).contrasts == []


def test_compare_checks_its_names_before_it_works():
    def never(document):
        raise AssertionError("nothing is chunked")

    with pytest.raises(ValueError, match="at least one chunker"):
        run({}, facts())
    with pytest.raises(ValueError, match="pairs has 'x', and arms only never"):
        run({"never": never}, facts(), pairs=[("never", "x")])
    with pytest.raises(ValueError, match="name=5 must be a str"):
        run({5: never}, facts())


def test_pairs_may_come_one_by_one(board):
    assert run(ARMS, facts(), pairs=iter(PAIRS)) == board


def test_what_is_worth_having_is_passed_on(monkeypatch):
    monkeypatch.setattr(intervals, "_FEW_QUESTIONS", 12)
    apart = run(ARMS, facts(), pairs=PAIRS).contrasts[0]
    assert apart.verdict != "equivalent"
    assert run(ARMS, facts(), pairs=PAIRS, worth=1.1).contrasts[0].verdict == "equivalent"


# --- two runs ---------------------------------------------------------------------------


def test_two_runs_are_equal(board):
    again = run(ARMS, facts(), pairs=PAIRS)
    assert again == board and repr(again) == repr(board)
    assert again.results[0].seconds != board.results[0].seconds


@pytest.mark.slow
def test_two_processes_write_the_same_file(tmp_path):
    """The order of sets and of hashes differs between processes; nothing that is written may."""
    script = (
        "import sys\n"
        "from chunking_lib.scoreboard import compare\n"
        "from toys import *\n"
        "arms = {f'windows of {size}': windows(size) for size in (10, 20, 40)} | {'lines': lines}\n"
        "board = compare(arms, facts(), embedder=ToyEmbedder(), tokens=WordTokens(),\n"
        "    budgets=(3, 6, 12), pairs=[('lines', name) for name in list(arms)[:3]])\n"
        "board.save(sys.argv[1])\n"
        "print(board)\n"
    )
    written = []
    for seed in ("1", "2"):
        file = tmp_path / f"{seed}.json"
        done = subprocess.run(
            [sys.executable, "-c", script, str(file)],
            cwd=Path(__file__).parent,
            env=os.environ
            | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parent.parent)},
            capture_output=True,
            check=True,
        )
        written.append((file.read_bytes(), done.stdout))
    assert written[0] == written[1]


# --- save and load ----------------------------------------------------------------------


def test_what_is_saved_is_read_again(board, tmp_path):
    file = tmp_path / "scores.json"
    board.save(file)
    again = Scoreboard.load(file)
    assert again == board and repr(again) == repr(board)
    assert again.results[0].seconds == 0
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == file.read_bytes()
    assert "seconds" not in file.read_text(encoding="utf-8")


def test_names_of_any_script_are_kept(tmp_path):
    board = run({"Zeilen – 行 🚋": lines}, facts())
    board.save(str(tmp_path / "scores.json"))
    assert "行 🚋" in (tmp_path / "scores.json").read_text(encoding="utf-8")
    assert Scoreboard.load(str(tmp_path / "scores.json")) == board


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"results": [{}]}',
        '{"results": 3}',
        '{"results": [], "contrasts": []}',
        "[" * 100_000,
    ],
    ids=lambda text: text[:40],
)
def test_another_file_is_refused_by_name(tmp_path, text):
    file = tmp_path / "scores.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"scores\.json is not what Scoreboard\.save writes"):
        Scoreboard.load(file)


def test_a_row_with_a_column_too_many_or_too_few_is_refused(board, tmp_path):
    file = tmp_path / "scores.json"
    board.save(file)
    data = json.loads(file.read_text(encoding="utf-8"))
    for change in ({"new": 1}, None):
        row = dict(data["results"][0])
        row = row | change if change else {key: row[key] for key in row if key != "mrr"}
        file.write_text(json.dumps(data | {"results": [row]}), encoding="utf-8")
        with pytest.raises(ValueError, match="is not what"):
            Scoreboard.load(file)


WRONG = [
    (("results", 0, "name"), 5, "name=5 must be a str"),
    (("results", 1, "name"), "lines", "must have each once"),
    (("results", 0, "recall", "6", 0), 9.0, "recall at 6=9.0 must be a finite number in 0 to 1"),
    (("results", 0, "mrr", 3), math.nan, "mrr=nan"),
    (("results", 0, "ndcg", 3), None, "ndcg=None"),
    (("results", 0, "iou"), [0.5], "iou must have a score for each question"),
    (("results", 0, "chunks"), -1, "chunks=-1"),
    (("results", 0, "tokens_at_5"), math.inf, "tokens_at_5=inf"),
    (("results", 0, "separation"), 1.5, "separation=1.5"),
    (("results", 1, "recall"), {"3": [0.5] * 12}, "recall must be at the budgets of 'lines'"),
    (("results", 0, "recall"), {}, "one or more"),
    (("results", 1, "questions", 0), "other", "questions must be those of 'lines'"),
    (("results", 1, "documents", 0), "other", "documents must be those of 'lines'"),
    (("contrasts", 0, "verdict"), "banana", "verdict='banana'"),
    (("contrasts", 0, "p"), "0", "p='0'"),
    (("contrasts", 0, "name"), 5, "name=5"),
    (("contrasts", 0, "difference", "low"), math.nan, "difference=nan"),
]


@pytest.mark.parametrize(("place", "value", "message"), WRONG, ids=lambda one: str(one)[:40])
def test_figures_that_are_none_are_refused_by_name(board, tmp_path, place, value, message):
    file = tmp_path / "scores.json"
    board.save(file)
    data = json.loads(file.read_text(encoding="utf-8"))
    reduce(lambda part, key: part[key], place[:-1], data)[place[-1]] = value
    file.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(ValueError, match=r"scores\.json is not what") as raised:
        Scoreboard.load(file)
    assert message in str(raised.value)


def test_a_scoreboard_without_results():
    with pytest.raises(ValueError, match=r"results=\[\] must hold at least one"):
        Scoreboard([], [])


# --- table, verdicts, plot --------------------------------------------------------------


def test_recall_has_its_interval(board):
    result = board.results[1]
    assert board.recall("20 <characters>") == mean_interval(result.recall[6], result.documents)
    assert board.recall("20 <characters>", 12).mean == sum(result.recall[12]) / 12
    with pytest.raises(ValueError, match="name='x' must be one of"):
        board.recall("x")
    with pytest.raises(ValueError, match=r"budget=7 must be one of \[3, 6, 12\]"):
        board.recall("lines", 7)


def test_the_rows_of_the_table(board):
    head, *rows = board.rows()
    assert head == [
        "chunker",
        "recall at 3",
        "recall at 6",
        "recall at 12",
        "5 chunks: recall",
        "tokens",
        "chunks",
        "mean",
        "largest",
        "unseen",
        "embedded",
        "model tokens",
    ]
    assert [row[0] for row in rows] == list(ARMS)
    assert all(len(row) == len(head) for row in rows)
    first = dict(zip(head, rows[0], strict=True))
    assert first["recall at 6"] == str(board.recall("lines"))
    assert first["5 chunks: recall"] == "100.0"
    assert (first["chunks"], first["mean"], first["largest"]) == ("12", "4", "6")
    assert (first["unseen"], first["embedded"], first["model tokens"]) == ("0.0", "12", "0")
    assert rows[2][-1] == "1,234"


def test_large_numbers_have_commas(board):
    large = replace(
        board.results[0], chunks=12345, max_size=99999, mean_size=1234.5, unseen=0.12345,
        recall={1000: [0.5] * 12, 2000: [0.5] * 12},
    )  # fmt: skip
    head, row = Scoreboard([large], []).rows()
    assert head[1:3] == ["recall at 1,000", "recall at 2,000"]
    assert row[1] == "50.0 [50.0, 50.0]"
    assert row[5:9] == ["12,345", "1,234", "99,999", "12.3"]


def test_the_table_as_text_and_as_html(board):
    table = board.table()
    first, *others = table.text.split("\n")
    assert first.split()[:3] == ["chunker", "recall", "at"]
    assert len(others) == 4 and others[-1].startswith("12 questions; recall and unseen in %")
    assert len({len(line) for line in (first, *others[:3])}) == 1  # columns stand in line
    assert table.html.count("<th>") == 12 and table.html.count("<tr>") == 4
    assert "20 &lt;characters&gt;" in table.html and "<characters>" not in table.html
    assert repr(board).startswith(table.text)


def test_the_verdicts(board):
    head, *rows = board.verdict_rows()
    assert head == ["chunker", "against", "points", "p", "verdict"]
    # Twelve questions decide nothing, whatever they say.
    assert rows[1] == ["words", "lines", "0.0 [0.0, 0.0]", "1.000", "undecided"]
    assert [row[:2] for row in rows] == [list(pair) for pair in PAIRS]
    assert repr(board).endswith(board.verdicts().text)
    assert board.verdicts().html in board._repr_html_()
    alone = Scoreboard(board.results, [])
    assert alone._repr_html_() == alone.table().html
    assert repr(alone) == alone.table().text


def test_the_plot_shows_each_interval_and_leaves_no_figure_behind(board):
    from matplotlib import pyplot

    figure = board.plot()
    [axes] = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == list(ARMS)
    assert axes.get_xlabel() == "recall at 6 tokens, %, with 95% interval"
    lines_drawn = [line.get_xdata().tolist() for line in axes.get_lines()]
    interval = board.recall("20 <characters>")
    assert lines_drawn[2] == [100 * interval.low, 100 * interval.high]
    assert lines_drawn[3] == [100 * interval.mean]
    figure.canvas.draw()
    assert pyplot.get_fignums() == []


def test_a_plot_without_matplotlib_says_what_to_install(board, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(RuntimeError, match="pip install matplotlib"):
        board.plot()


def test_recall_by_groups_of_questions(board):
    asked = board.results[0].questions
    groups = {question: "even" if i % 2 == 0 else "odd" for i, question in enumerate(asked)}
    lines = str(board.by(groups)).splitlines()
    assert [line.split()[:2] for line in lines[1:3]] == [
        ["even", str(len(asked[::2]))],
        ["odd", str(len(asked[1::2]))],
    ]
    scores = board.results[0].recall[board.main]
    assert lines[1].split()[2] == f"{100 * sum(scores[::2]) / len(scores[::2]):.1f}"
    with pytest.raises(ValueError, match="groups has no group of"):
        board.by({})
    with pytest.raises(ValueError, match="group=5 must be a str"):
        board.by(groups | {asked[0]: 5})


def test_verdicts_on_few_documents_say_so(board):
    """Four documents: what is found of them need not hold for a fifth."""
    note = "fewer than 6 documents: it holds for them, not for others like them"
    assert repr(board).endswith(note) and note in board._repr_html_()
    many = [f"document {number % 6}" for number in range(12)]
    results = [replace(result, documents=many) for result in board.results]
    assert "fewer than" not in repr(Scoreboard(results, board.contrasts))
