"""The scores in the README are those that were measured, and not out of date."""

import json
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent / "benchmarks"
sys.path.insert(0, str(HERE))

from score import PAIRS, RESULTS, ROOT, report, stamp  # noqa: E402

from chunking_lib.benchmark import load_benchmark  # noqa: E402
from chunking_lib.models import load_embedder  # noqa: E402
from chunking_lib.scoreboard import Scoreboard  # noqa: E402

BOARD = Scoreboard.load(RESULTS)


def test_the_readme_has_the_scores():
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    assert report(BOARD, page) == page, "run `python tests/benchmarks/score.py --report`"


@pytest.mark.filterwarnings("ignore:.*were not read")  # windows of long sentences
def test_the_scores_are_not_stale():
    """If this fails, a strategy, the ruler or a question has changed: run `make score`."""
    then = json.loads(RESULTS.read_text(encoding="utf-8"))["stamp"]
    assert stamp(load_benchmark(ROOT / "data"), load_embedder()) == then


def test_what_was_contrasted():
    assert [(one.name, one.baseline) for one in BOARD.contrasts] == PAIRS
    questions = load_benchmark(ROOT / "data", split="test").questions
    answered = [question.id for question in questions if question.excerpts]
    for result in BOARD.results:
        assert result.questions == answered
