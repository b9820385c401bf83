"""Score context, word search and re-ranking, each on or off: `make score`, some minutes.

Writes scores_contextual.json, and scores_controls.json for what costs no model at all; notebook 7
reads both. The chunks are those of recursive splitting at 200 tokens.
"""

from functools import cache
from itertools import product
from pathlib import Path

from retrieval import STEPS, Retrieval, smoothed
from score import ROOT, fingerprint, save, stamp_files

from chunking_lib.benchmark import Benchmark, load_benchmark
from chunking_lib.chunk import Chunk, Document
from chunking_lib.contextual import add_context
from chunking_lib.embedder import Embedder, TokenVectors
from chunking_lib.evaluate import Arm
from chunking_lib.indexing import by_chunk, score_by
from chunking_lib.length import TokenLength, token_length
from chunking_lib.models import load_embedder
from chunking_lib.recursive import split_recursive
from chunking_lib.scoreboard import compare

HERE = Path(__file__).resolve().parent
RESULTS = {"steps": HERE / "scores_contextual.json", "controls": HERE / "scores_controls.json"}


def name(on: tuple[str, ...]) -> str:
    """Name an arm by the steps that it has."""
    return " + ".join(on) or "vectors alone"


class KeptTokens:
    """An embedder that keeps the vectors of the tokens of a text: four searches rank it again."""

    def __init__(self, embedder: Embedder) -> None:
        self.tokenizer, self.max_tokens = embedder.tokenizer, embedder.max_tokens
        self._encode = cache(embedder.encode_tokens)

    def encode_tokens(self, text: str, /) -> TokenVectors:
        return self._encode(text)


ARMS = [
    tuple(step for step, on in zip(STEPS, switches, strict=True) if on)
    for switches in product((False, True), repeat=len(STEPS))
]
CONTROLS = [
    ("title", "vectors alone"),
    ("path", "vectors alone"),
    ("sentences beside it", "vectors alone"),
    ("sentences beside it, sent bare", "vectors alone"),
    ("neighbours' scores", "vectors alone"),
    ("BM25, neighbours' scores", "BM25"),
    ("title and path behind, sent bare", "title and path, sent bare"),
]


def split(document: Document) -> list[Chunk]:
    return split_recursive(document, size=200, length=what_is_read())


@cache
def what_is_read() -> TokenLength:
    """The tokens that the embedder reads, and how many at most; the model is opened once."""
    return token_length(load_embedder())


def split_in_context(document: Document, *include: str) -> list[Chunk]:
    return add_context(document, split(document), include=include, length=what_is_read())


def steps(retrieval: Retrieval) -> dict[str, Arm]:
    """The three steps, each on or off."""
    return {name(on): retrieval.arm(Arm(split), on) for on in ARMS}


def controls(benchmark: Benchmark, retrieval: Retrieval) -> dict[str, Arm]:
    """What costs nothing: parts of the structure, and the scores of neighbours."""
    dense, fused = (retrieval.arm(Arm(split), on) for on in ((), ("BM25",)))
    documents = benchmark.documents.values()
    bare = [chunk for document in documents for chunk in split(document)]

    def searched(join: str, *include: str) -> Arm:
        """Search context and text in this order, and send the bare chunk."""
        assert dense.scorer is not None, "an arm of Retrieval has a scorer"
        told = [chunk for one in documents for chunk in split_in_context(one, *include)]
        texts = [join.format(chunk.context, chunk.text).strip() for chunk in told]
        return Arm(split, score_by(by_chunk(bare, texts), dense.scorer))

    return {
        "vectors alone": dense,
        "title": Arm(lambda document: split_in_context(document, "title")),
        "path": Arm(lambda document: split_in_context(document, "path")),
        "sentences beside it": Arm(lambda document: split_in_context(document, "neighbours")),
        "sentences beside it, sent bare": searched("{0}\n\n{1}", "neighbours"),
        "neighbours' scores": smoothed(dense),
        "BM25": fused,
        "BM25, neighbours' scores": smoothed(fused),
        "title and path, sent bare": searched("{0}\n\n{1}", "title", "path"),
        "title and path behind, sent bare": searched("{1}\n\n{0}", "title", "path"),
    }


def stamp() -> dict[str, str]:
    """What the scores rest on: the questions, the ruler, the cuts and the contexts."""
    benchmark = load_benchmark(ROOT / "data", split="test")
    parts = (("title", "path"), ("neighbours",))  # "title" and "path" alone are parts of the first

    def cuts(include: tuple[str, ...]) -> str:
        return fingerprint(benchmark, lambda document: split_in_context(document, *include))

    files = stamp_files("questions.jsonl", "rerank")
    return files | {", ".join(include): cuts(include) for include in parts}


def main() -> None:
    benchmark, embedder = load_benchmark(ROOT / "data", split="test"), load_embedder()
    retrieval, now = Retrieval(benchmark, embedder, KeptTokens(embedder)), stamp()
    # Notebook 7 compares means over the steps: no pairs of them here.
    for which, arms, pairs in (
        ("controls", controls(benchmark, retrieval), CONTROLS),
        ("steps", steps(retrieval), []),
    ):
        board = compare(arms, benchmark, embedder=embedder, pairs=pairs)
        save(board, RESULTS[which], now)
        print(board, flush=True)


if __name__ == "__main__":
    main()
