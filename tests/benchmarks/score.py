"""Score every strategy on the course's questions: `make score`, some minutes the first time.

Writes scores.json, and from it the table in README.md. With --report, only the latter.
"""

import argparse
import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

from retrieval import Retrieval, smoothed

from chunking_lib.benchmark import Benchmark, load_benchmark
from chunking_lib.character import split_characters, split_tokens
from chunking_lib.chunk import Chunk, Document
from chunking_lib.embedder import Embedder
from chunking_lib.evaluate import Arm
from chunking_lib.formats import split_document
from chunking_lib.length import token_length
from chunking_lib.models import load_embedder, load_tokenizer
from chunking_lib.recursive import split_recursive
from chunking_lib.retrieve import Encoder
from chunking_lib.scoreboard import Scoreboard, compare
from chunking_lib.semantic import split_semantic
from chunking_lib.sentences import sentence_spans
from chunking_lib.turns import find_sentences

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
RESULTS = HERE / "scores.json"
BEGIN, END = "<!-- scores: begin -->", "<!-- scores: end -->"

#: Named before anything was measured: what each step gives over the one before.
PAIRS = [
    ("characters, 1,000", "whole documents"),
    ("recursive, 1,000 characters", "characters, 1,000"),
    ("recursive, 200 tokens", "tokens, 200"),
    ("by format, 200 tokens", "recursive, 200 tokens"),
    ("semantic, 200 tokens", "recursive, 200 tokens"),
    ("recursive, 200 tokens, with neighbours", "recursive, 200 tokens"),
    ("recursive, 200 tokens, with BM25", "recursive, 200 tokens"),
    ("recursive, 200 tokens, with MaxSim", "recursive, 200 tokens"),
    ("recursive, 200 tokens, with both", "recursive, 200 tokens, with BM25"),
]


def whole(document: Document) -> list[Chunk]:
    return [Chunk(document.text, 0, len(document.text), document.id)]


def chunkers(embedder: Encoder) -> dict[str, Callable[[Document], list[Chunk]]]:
    """The ways to cut, by name."""
    length = token_length(load_tokenizer())
    return {
        "whole documents": whole,
        "characters, 1,000": partial(split_characters, size=1000),
        "tokens, 200": partial(split_tokens, tokenizer=length, size=200),
        "recursive, 1,000 characters": partial(split_recursive, size=1000),
        "recursive, 200 tokens": partial(split_recursive, size=200, length=length),
        "by format, 200 tokens": partial(split_document, size=200, length=length),
        "semantic, 200 tokens": partial(split_semantic, embedder=embedder, size=200, length=length),
    }


def arms(embedder: Embedder, benchmark: Benchmark) -> dict[str, Arm]:
    """What is scored: each way to cut with dense retrieval, and one with more of it.

    Semantic splitting embeds each sentence, with its neighbours, to find its cuts.
    """
    ways = {name: Arm(chunker) for name, chunker in chunkers(embedder).items()}
    name = "semantic, 200 tokens"
    documents = benchmark.documents.values()
    ways[name] = replace(ways[name], cut_by=count_sentences(documents))
    base = ways["recursive, 200 tokens"].chunker
    search = Retrieval(benchmark, embedder).arm
    dense, fused = search(Arm(base), ()), search(Arm(base), ["BM25"])
    more = {
        "neighbours": smoothed(dense),
        "BM25": fused,
        "both": smoothed(fused),
        "MaxSim": search(Arm(base), ["re-ranked"]),
    }
    return ways | {f"recursive, 200 tokens, with {name}": arm for name, arm in more.items()}


def count_sentences(documents: Iterable[Document]) -> int:
    """How many sentences, each with its neighbours, semantic splitting embeds to find its cuts."""
    length = token_length(load_tokenizer())
    return sum(len(find_sentences(one.text, sentence_spans, 200, length)) for one in documents)


def fingerprint(benchmark: Benchmark, chunker: Callable[[Document], list[Chunk]]) -> str:
    """Say in a few letters where a chunker cuts the corpus: scores are stale when that changes."""
    digest = hashlib.sha256()
    for document in benchmark.documents.values():
        for chunk in chunker(document):
            digest.update(f"{chunk.source} {chunk.start} {chunk.end} {chunk.context}\n".encode())
    return digest.hexdigest()[:16]


def stamp_files(questions: str = "questions.jsonl", *more: str) -> dict[str, str]:
    """Say in a few letters what the questions are, the ruler, and `more` modules."""
    ruler = ("benchmark", "evaluate", "intervals", "metrics", "retrieve", *more)
    files = [ROOT / "data" / questions]
    files += [ROOT / "chunking_lib" / f"{name}.py" for name in ruler]
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest()[:16] for file in files}


def stamp(benchmark: Benchmark, embedder: Encoder) -> dict[str, str]:
    """What the scores rest on: the questions, the ruler, and where each chunker cuts."""
    return stamp_files() | {
        name: fingerprint(benchmark, chunker) for name, chunker in chunkers(embedder).items()
    }


def save(board: Scoreboard, path: Path, stamp: dict[str, str]) -> None:
    """Write the scores, with what they rest on."""
    board.save(path)
    data = json.loads(path.read_text(encoding="utf-8")) | {"stamp": stamp}
    path.write_text(json.dumps(data, ensure_ascii=False) + "\n", encoding="utf-8")


def table(board: Scoreboard) -> str:
    """The scores as a Markdown table."""
    rows = [row[:4] + row[4:6] + [row[6]] for row in board.rows()]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    lines.insert(1, "| --- |" + " ---: |" * (len(rows[0]) - 1))
    count = len(board.results[0].questions)
    lines += ["", f"{count} questions; recall in %, 95% intervals in brackets.", ""]
    lines += [f"| {' | '.join(row)} |" for row in board.verdict_rows()]
    lines.insert(-len(board.contrasts), "| --- | --- | ---: | ---: | --- |")
    return "\n".join(lines)


def report(board: Scoreboard, page: str) -> str:
    """Return the page with the table anew."""
    return put_between(page, BEGIN, END, table(board))


def put_between(page: str, begin: str, end: str, text: str) -> str:
    """Return the page with another text between its marks."""
    before, _, rest = page.partition(begin)
    _, mark, after = rest.partition(end)
    if not mark:
        raise ValueError(f"README.md needs the lines {begin} and {end}")
    return f"{before}{begin}\n\n{text}\n\n{end}{after}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--report", action="store_true")
    if not parser.parse_args().report:
        benchmark = load_benchmark(ROOT / "data", split="test")
        embedder = load_embedder()
        board = compare(arms(embedder, benchmark), benchmark, embedder=embedder, pairs=PAIRS)
        save(board, RESULTS, stamp(benchmark, embedder))
        print(board)
    readme = ROOT / "README.md"
    page = report(Scoreboard.load(RESULTS), readme.read_text(encoding="utf-8"))
    readme.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
