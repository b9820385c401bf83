"""Measure what needs the embedding model: part of `make bench`, some minutes.

Writes embedding.json, and from it embedding.md. With --report, only the latter.
"""

import argparse
import json
import os
import statistics
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from run import HERE, clock, machine, others_busy, say

from chunking_lib.benchmark import load_benchmark
from chunking_lib.character import split_tokens
from chunking_lib.chunk import Document
from chunking_lib.evaluate import evaluate
from chunking_lib.late import embed_late
from chunking_lib.length import token_length
from chunking_lib.models import fetch, load_embedder
from chunking_lib.recursive import split_recursive
from chunking_lib.semantic import split_semantic
from chunking_lib.sentences import sentence_spans

DATA = HERE.parent.parent / "data"
ROUNDS = 5
LATE_SIZES = (60, 200)  # tokens of a chunk


def measure(rounds: int = ROUNDS, texts: int = 300) -> dict[str, Any]:
    """Measure everything; fewer `texts` and `rounds` for a test."""
    warnings.simplefilter("ignore")  # sentence windows that the model does not read to the end
    load, others = [os.getloadavg()], [others_busy()]
    documents = load_benchmark(DATA).documents
    prose = [one for name, one in documents.items() if name.endswith((".txt", ".md"))]
    longest = max(prose, key=lambda one: len(one.text))
    longest = replace(longest, text=longest.text[: 200 * texts])  # all of it, but in a test
    embedder = load_embedder(cache=False)
    length = token_length(embedder.tokenizer)
    sets = {
        "chunks of 200 tokens": [
            chunk.text for one in prose for chunk in split_tokens(one, tokenizer=length, size=200)
        ][:texts],
        "sentences": [
            one.text[start:end] for one in prose[::-1] for start, end in sentence_spans(one)
        ][: 3 * texts],
    }
    rows = []
    for name, listed in sets.items():
        say(name)
        runs = {"ours": embedder.encode, "sentence-transformers": _theirs()}
        rows.append({"texts": f"{len(listed)} {name}", **race(runs, listed, rounds)})
    say("semantic")
    windows: list[str] = []

    class Spy:
        """Keeps what is embedded."""

        def encode(self, texts: Sequence[str]) -> Any:
            windows.extend(texts)
            return embedder.encode(texts)

    split_semantic(longest, embedder=Spy())
    runs = {
        "split_semantic": lambda _: split_semantic(longest, embedder=embedder),
        "encode": embedder.encode,
    }
    semantic = {"document": longest.id, "windows": len(windows), **race(runs, windows, rounds)}
    late = measure_late(embedder, longest, rounds)
    say("evaluate")
    benchmark, cached = load_benchmark(DATA, split="test"), load_embedder()
    chunker = partial(split_recursive, size=200, length=length)
    score = partial(evaluate, benchmark, chunker, embedder=cached)
    score()  # the vectors are kept now
    _, wall, _ = clock(lambda _: score(), "")
    load.append(os.getloadavg())
    others.append(others_busy())
    return {
        "machine": machine(),
        "load": load,
        "others": others,
        "rounds": rounds,
        "encode": rows,
        "semantic": semantic,
        "late": late,
        "evaluate": {"questions": len(benchmark.questions), "seconds": wall},
    }


def measure_late(embedder: Any, document: Document, rounds: int) -> dict[str, Any]:
    """Measure chunks embedded late against the same chunks embedded each by itself."""
    load, others, rows = [os.getloadavg()], [others_busy()], []
    length = token_length(embedder.tokenizer)
    for size in LATE_SIZES:
        say(f"late, {size}")
        chunks = split_recursive(document, size=size, length=length)
        runs = {
            "embed_late": lambda _, chunks=chunks: embed_late(document, chunks, embedder=embedder),
            "encode": embedder.encode,
        }
        texts = [chunk.text for chunk in chunks]
        rows.append({"size": size, "chunks": len(chunks), **race(runs, texts, rounds)})
    load.append(os.getloadavg())
    others.append(others_busy())
    tokens = embedder.count(document.text)
    return {"document": document.id, "tokens": tokens, "load": load, "others": others, "rows": rows}


def race(
    runs: dict[str, Callable[[Any], Any]], texts: list[str], rounds: int
) -> dict[str, dict[str, float]]:
    """Let all run in turn, round after round; return the median of their seconds."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            taken[name].append(clock(run, texts)[1:])  # type: ignore[arg-type]
    return {
        name: {
            "wall": statistics.median(wall for wall, _ in seconds),
            "cpu": statistics.median(cpu for _, cpu in seconds),
        }
        for name, seconds in taken.items()
    }


def _theirs() -> Callable[[list[str]], Any]:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(fetch("all-MiniLM-L6-v2")), device="cpu")
    return partial(model.encode, normalize_embeddings=True, show_progress_bar=False)


def write(results: dict[str, Any]) -> str:
    """The results as a page of Markdown."""
    about, load = results["machine"], results["load"]
    busy = max((x for x in results["others"] if x is not None), default=0)
    semantic = results["semantic"]
    lines = [
        "# Speed of what needs the embedding model",
        "",
        "Written by `tests/benchmarks/embedding.py` (`make bench`) from "
        "[embedding.json](embedding.json). All-MiniLM-L6-v2 on the CPU, no vectors kept before, "
        f"medians of {results['rounds']} rounds, one after the other in each.",
        "",
        f"{about['date']}, {about['cpu']}, {about['cores']} cores, {about['system']}, "
        f"{about['python']}. Load average {load[0][0]:.2f} before and {load[1][0]:.2f} after; "
        f"other processes kept {busy:.2f} cores busy before and after.",
        "",
        "| Texts | `Embedder.encode`, s | sentence-transformers' `encode`, s | share of its time | "
        "in CPU time |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for row in results["encode"]:
        ours, theirs = row["ours"], row["sentence-transformers"]
        lines.append(
            f"| {row['texts']} | {ours['wall']:.1f} | {theirs['wall']:.1f} | "
            f"{ours['wall'] / theirs['wall']:.2f} | {ours['cpu'] / theirs['cpu']:.2f} |"
        )
    whole, part = semantic["split_semantic"], semantic["encode"]
    lines += [
        "",
        f"`split_semantic` on {semantic['document']}, {semantic['windows']} windows of sentences: "
        f"{whole['wall']:.2f} s, against {part['wall']:.2f} s to embed these windows alone, "
        f"{whole['wall'] / part['wall']:.2f} times as long (1.05 asked; in CPU time "
        f"{whole['cpu'] / part['cpu']:.2f}).",
        "",
        *_late_lines(results["late"]),
        "",
        f"`evaluate` of one chunker, {results['evaluate']['questions']} questions, vectors kept: "
        f"{results['evaluate']['seconds']:.1f} s (less than 60 asked).",
        "",
    ]
    return "\n".join(lines)


def _late_lines(late: dict[str, Any]) -> list[str]:
    """The part on late chunking."""
    busy = max((x for x in late["others"] if x is not None), default=0)
    lines = [
        f"`embed_late` on {late['document']}, {late['tokens']:,} tokens in windows of 254, against "
        "`encode` of the same chunks, each by itself (at most 1.2 times as long asked, windows' "
        f"overlap included). Load average {late['load'][0][0]:.2f} before and "
        f"{late['load'][1][0]:.2f} after; other processes kept {busy:.2f} cores busy before and "
        "after, so that CPU time says more than the clock.",
        "",
        "| Chunks | `embed_late`, CPU s | `encode`, CPU s | times as long | by the clock |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for row in late["rows"]:
        ours, theirs = row["embed_late"], row["encode"]
        lines.append(
            f"| {row['chunks']} of {row['size']} tokens | {ours['cpu']:.2f} | {theirs['cpu']:.2f} "
            f"| {ours['cpu'] / theirs['cpu']:.2f} | {ours['wall'] / theirs['wall']:.2f} |"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--report", action="store_true")
    path = HERE / "embedding.json"
    if not parser.parse_args().report:
        path.write_text(json.dumps(measure(), indent=1) + "\n", encoding="utf-8")
    results = json.loads(path.read_text(encoding="utf-8"))
    Path(HERE / "embedding.md").write_text(write(results), encoding="utf-8")


if __name__ == "__main__":
    main()
