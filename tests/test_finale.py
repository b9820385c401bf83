"""The scores of strategies and of contexts are those that were measured, and not out of date."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).resolve().parent / "benchmarks"
sys.path.insert(0, str(HERE))

import contextual  # noqa: E402
from finale import CORPORA, PAIRS, PIPELINE, ROOT, STRATEGIES, boards, report, stamp  # noqa: E402
from retrieval import STEPS, Retrieval  # noqa: E402

from chunking_lib.benchmark import Benchmark  # noqa: E402
from chunking_lib.chunk import Chunk, Document  # noqa: E402
from chunking_lib.evaluate import Arm  # noqa: E402
from chunking_lib.models import load_embedder  # noqa: E402
from chunking_lib.scoreboard import Scoreboard  # noqa: E402


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


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*did not get all")  # a chunk leaves no room for sentences
def test_the_scores_of_contexts_are_not_stale():
    now = contextual.stamp()
    for file in contextual.RESULTS.values():
        assert json.loads(file.read_text(encoding="utf-8"))["stamp"] == now


def test_every_step_was_scored_on_and_off():
    names = [result.name for result in Scoreboard.load(contextual.RESULTS["steps"]).results]
    assert len(names) == len(set(names)) == 2 ** len(STEPS)
    found = Scoreboard.load(contextual.RESULTS["controls"]).contrasts
    assert [(one.name, one.baseline) for one in found] == contextual.CONTROLS


def test_context_is_searched_by_every_step_and_sent_by_none():
    text = "# Ferries\n\nThey leave at nine.\n\n# Dogs\n\nThey ride free.\n\nNot on seats.\n"
    document = Document(text, id="page.md")
    spans = [(11, 30), (40, 55), (57, 70)]
    chunks = [Chunk(text[start:end], start, end, document.id) for start, end in spans]
    assert [chunk.text for chunk in chunks] == [
        "They leave at nine.",
        "They ride free.",
        "Not on seats.",
    ]
    search = Retrieval(Benchmark({document.id: document}, ()), load_embedder()).arm
    for on, best in ((["BM25"], False), (["context", "BM25"], True), (list(STEPS), True)):
        arm = search(Arm(lambda _: chunks, scorer=lambda q, c: np.zeros((len(q), len(c)))), on)
        scores = arm.scorer(["dogs"], chunks)
        assert (scores[0, 1:].min() > scores[0, 0]) == best, on
        assert arm.chunker(document) == chunks and not any(one.context for one in chunks)
        assert arm.embedded == 3 * (1 + ("re-ranked" in on))
