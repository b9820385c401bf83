"""Score the strategies on both corpora, alone and in the best retrieval: `make score`.

Writes scores_course.json and scores_python.json, and from them the table in README.md. With
--report, only the latter. Agentic splitting is here as surprise, whose scores were recorded in
surprise.npz (`make score` with `CHUNKING_RECORD=1` records them anew: half an hour). The cuts that
the small model names are not: notebook 5 shows that nearly all its replies are refused.
"""

import argparse
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from retrieval import STEPS, Retrieval
from score import ROOT, count_sentences, fingerprint, put_between, save, stamp_files
from score import chunkers as steps

from chunking_lib.benchmark import Benchmark, load_benchmark
from chunking_lib.chunk import Chunk, Document
from chunking_lib.contextual import add_context
from chunking_lib.embedder import Embedder
from chunking_lib.evaluate import Arm
from chunking_lib.intervals import Contrast, contrasts
from chunking_lib.late import late_arm
from chunking_lib.length import token_length
from chunking_lib.lm import LanguageModel, load_lm
from chunking_lib.models import load_embedder, load_tokenizer
from chunking_lib.perplexity import split_by_perplexity
from chunking_lib.python_topics import load_python_topics
from chunking_lib.retrieve import Encoder
from chunking_lib.scoreboard import Scoreboard, compare
from chunking_lib.section import split_sections
from chunking_lib.topic import split_topics

HERE = Path(__file__).resolve().parent
SURPRISE = HERE / "surprise.npz"
SIZE = 200  # tokens of the embedding model
#: Context searched and not sent, BM25, re-ranking: the highest mean of the eight that notebook 7
#: measures on the course's questions.
PIPELINE = "best retrieval"
#: By name: the notebook that teaches it.
STRATEGIES = {
    "tokens": 1,
    "recursive": 2,
    "by format": 3,
    "semantic": 4,
    "agentic (surprise)": 5,
    "sections": 6,
    "topics": 6,
    "contextual": 7,
    "late": 8,
}
OTHERS = [name for name in STRATEGIES if name != "recursive"]
#: All, whatever came out: each against the plain one, in the same pipeline.
PAIRS = [(name, "recursive") for name in OTHERS]
PAIRS += [(f"{name}, {PIPELINE}", f"recursive, {PIPELINE}") for name in OTHERS]
PAIRS += [(f"recursive, {PIPELINE}", "recursive")]
BEGIN, END = "<!-- strategies: begin -->", "<!-- strategies: end -->"
TITLES = {"course": "course", "python": "Python"}
CORPORA = {"course": "scores_course.json", "python": "scores_python.json"}

Chunker = Callable[[Document], list[Chunk]]


def load(corpus: str) -> Benchmark:
    """Return the questions that the scores are for."""
    if corpus == "course":
        return load_benchmark(ROOT / "data", split="test")
    return load_python_topics(ROOT / "data" / "python_topics.jsonl")


def chunkers(embedder: Encoder) -> dict[str, Chunker]:
    """The ways to cut, by strategy; late chunking changes the vectors, not the cuts."""
    length = token_length(load_tokenizer())
    options = {"size": SIZE, "length": length}
    known = steps(embedder)
    recursive = known["recursive, 200 tokens"]
    reads = token_length(embedder)

    def contextual(document: Document) -> list[Chunk]:
        return add_context(document, recursive(document), length=reads)

    return {
        "tokens": known["tokens, 200"],
        "recursive": recursive,
        "by format": known["by format, 200 tokens"],
        "semantic": known["semantic, 200 tokens"],
        "agentic (surprise)": partial(split_by_perplexity, lm=language_model(), **options),
        "sections": partial(split_sections, **options),
        "topics": partial(split_topics, **options),
        "contextual": contextual,
        "late": recursive,
    }


def language_model() -> LanguageModel:
    """The model whose surprise was recorded: sums round alike on every computer."""
    return load_lm(recordings=SURPRISE)


def count_read(documents: Iterable[Document]) -> int:
    """How many tokens the language model reads."""
    lm = language_model()
    return sum(len(lm.score(document.text).logprobs) for document in documents)


def arms(embedder: Embedder, benchmark: Benchmark) -> dict[str, Arm]:
    """Each strategy by cosine alone, then each in the pipeline."""
    documents = benchmark.documents
    ways = {name: Arm(chunker) for name, chunker in chunkers(embedder).items()}
    ways["semantic"] = replace(ways["semantic"], cut_by=count_sentences(documents.values()))
    name = "agentic (surprise)"
    ways[name] = replace(ways[name], model_tokens=count_read(documents.values()))
    ways["late"] = late_arm(ways["late"].chunker, documents, embedder=embedder)
    search = Retrieval(benchmark, embedder).arm
    return ways | {f"{name}, {PIPELINE}": search(arm, STEPS) for name, arm in ways.items()}


def stamp(corpus: str, embedder: Encoder) -> dict[str, str]:
    """What the scores rest on: questions, ruler, and where each strategy cuts."""
    benchmark = load(corpus)
    questions = "questions.jsonl" if corpus == "course" else "python_topics.jsonl"
    return stamp_files(questions, "rerank") | {
        name: fingerprint(benchmark, chunker) for name, chunker in chunkers(embedder).items()
    }


def measure() -> None:
    """Score everything, and write it."""
    embedder = load_embedder()
    for corpus, file in CORPORA.items():
        benchmark = load(corpus)
        ways = arms(embedder, benchmark)
        board = compare(ways, benchmark, embedder=embedder, pairs=PAIRS)
        save(board, HERE / file, stamp(corpus, embedder))
        print(board, flush=True)


def boards() -> dict[str, Scoreboard]:
    """Return the scores that were measured, by corpus."""
    return {corpus: Scoreboard.load(HERE / file) for corpus, file in CORPORA.items()}


def table(found: dict[str, Scoreboard]) -> str:
    """Return the scores as a Markdown table, and what is decided."""
    heads = ["strategy", "notebook"]
    for corpus in found:
        heads += [f"{TITLES[corpus]}: vectors alone", PIPELINE]
    heads += ["texts embedded, vectors alone", "tokens read by a language model"]
    rows = [heads]
    for name, number in STRATEGIES.items():
        cells = [name, str(number)]
        for board in found.values():
            cells += [str(board.recall(one)) for one in (name, f"{name}, {PIPELINE}")]
        costs = [result for result in found["course"].results if result.name == name]
        rows.append([*cells, f"{costs[0].embedded:,}", f"{costs[0].model_tokens:,}"])
    lines = [f"| {' | '.join(row)} |" for row in rows]
    lines.insert(1, "| --- |" + " ---: |" * (len(heads) - 1))
    decided = [
        f"{one.name} is {one.verdict} than {one.baseline} ({TITLES[corpus]})"
        for corpus, board in found.items()
        for one in board.contrasts
        if one.verdict in ("better", "worse")
    ]
    pairs = sum(len(board.contrasts) for board in found.values())
    lines += [
        "",
        f"Of the {pairs} differences to recursive splitting, or between its two searches, "
        f"{len(decided) or 'none'} {'is' if len(decided) < 2 else 'are'} decided: better or worse.",
        *(f"- {line}" for line in decided),
    ]
    gains = {corpus: gain(board) for corpus, board in found.items()}
    told = [f"{one.difference} on {TITLES[it]} ({one.verdict})" for it, one in gains.items()]
    lines += ["", f"In the mean of all rows, best retrieval gives, in points: {', '.join(told)}."]
    return "\n".join(lines)


def gain(board: Scoreboard) -> Contrast:
    """Return what the pipeline gives in the mean of all strategies."""
    means = {}
    for name, on in ((PIPELINE, True), ("vectors alone", False)):
        rows = [r.recall[board.main] for r in board.results if r.name.endswith(PIPELINE) == on]
        means[name] = np.mean(rows, axis=0).tolist()
    [found] = contrasts(means, [(PIPELINE, "vectors alone")], board.results[0].documents)
    return found


def report(page: str) -> str:
    """Return the page with the table anew."""
    return put_between(page, BEGIN, END, table(boards()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--report", action="store_true")
    if not parser.parse_args().report:
        measure()
    readme = ROOT / "README.md"
    readme.write_text(report(readme.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
