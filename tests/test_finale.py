"""The table of the strategies in the README is the one that was measured, and not out of date."""

import json
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent / "benchmarks"
sys.path.insert(0, str(HERE))

from finale import CORPORA, PAIRS, PIPELINE, ROOT, STRATEGIES, boards, report, stamp  # noqa: E402

from chunking_lib.models import load_embedder  # noqa: E402


def test_the_readme_has_the_table():
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    assert report(page) == page, "run `python tests/benchmarks/finale.py --report`"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*were not read")  # windows of long sentences
@pytest.mark.parametrize("corpus", CORPORA)
def test_the_scores_are_not_stale(corpus):
    """If this fails, a strategy, the ruler or a question has changed: run `make score`."""
    then = json.loads((HERE / CORPORA[corpus]).read_text(encoding="utf-8"))["stamp"]
    try:
        now = stamp(corpus, load_embedder())
    except RuntimeError as error:
        if "topics of Python" not in str(error):
            raise
        pytest.skip(str(error))
    assert now == then


def test_all_strategies_were_scored_on_the_same_questions():
    names = [*STRATEGIES, *(f"{name}, {PIPELINE}" for name in STRATEGIES)]
    for board in boards().values():
        assert [result.name for result in board.results] == names
        assert [(one.name, one.baseline) for one in board.contrasts] == PAIRS
        assert len({tuple(result.questions) for result in board.results}) == 1
