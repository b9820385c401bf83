"""`python -m chunking_lib chunk` and `compare`: the library without writing Python."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from chunking_lib.benchmark import Benchmark, read_questions
from chunking_lib.chunk import Document
from chunking_lib.cli_files import check_out, or_exit, read_documents, say, stop, to_stdout
from chunking_lib.cli_strategies import Strategy, Unit, make_chunker, make_length
from chunking_lib.evaluate import BUDGETS
from chunking_lib.intervals import FEW_DOCUMENTS
from chunking_lib.models import load_embedder, load_tokenizer
from chunking_lib.scoreboard import Scoreboard, compare

__all__ = ["app"]

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Split files into chunks, and compare ways to do so.",
)
_SIZE = 200  # of `compare`
_LEGEND = """\
size: in tokens as OpenAI's models count (o200k); --unit tokens: the embedder's
unseen: % of the text that the embedding model does not read: of chunks too long
seconds: to cut and to embed; vectors are kept, so a second run is faster
"""


Files = Annotated[
    list[Path],
    typer.Argument(
        help="Files, or folders with files: text, Markdown, HTML, PDF, JSON, code. "
        "In folders, what is hidden (.git) is passed over."
    ),
]
Size = Annotated[int, typer.Option(help="The most a chunk may measure.")]
Overlap = Annotated[
    int, typer.Option(help="The most that neighbours share: of characters and recursive only.")
]
Units = Annotated[Unit, typer.Option(help="What size and overlap count.")]


@app.command()
def chunk(
    files: Files,
    strategy: Annotated[Strategy, typer.Option(help="How to split.")] = Strategy.recursive,
    size: Size = 1000,
    overlap: Overlap = 0,
    unit: Units = Unit.characters,
    out: Annotated[
        Path | None, typer.Option(help="Where to write; the terminal if left out.")
    ] = None,
) -> None:
    """Split files into chunks, one JSON object a line, with the offsets of each.

    Ways: "characters" cuts windows, "recursive" at paragraphs, lines and words, "document" as the
    kind of each file asks for, "semantic" where the meaning turns (with the embedding model, which
    takes a minute for some ten pages).
    """
    check_out(out, b'{"text":')
    length = or_exit(lambda: make_length(unit))
    chunker = or_exit(lambda: make_chunker(strategy, size=size, overlap=overlap, unit=unit))
    documents = list(read_documents(files, without=[out]))
    lines: list[str] = []
    table = Table("document", "chunks", "mean", "largest", title=f"{strategy}, size {size} {unit}")
    for document in track(
        documents, "splitting", console=say, transient=True, disable=not say.is_terminal
    ):
        chunks = or_exit(partial(chunker, document))
        lines += [json.dumps(asdict(part), ensure_ascii=True) + "\n" for part in chunks]
        sizes = [length(part.text) for part in chunks]
        mean = sum(sizes) / len(sizes) if sizes else 0
        table.add_row(document.id, f"{len(sizes):,}", f"{mean:,.0f}", f"{max(sizes, default=0):,}")
    if out is None:
        to_stdout(lambda: sys.stdout.writelines(lines))
    else:
        or_exit(lambda: out.write_text("".join(lines), encoding="utf-8"), file=out)
    table.caption = f"{len(lines):,} chunks; sizes in {unit}"
    say.print(table)


@app.command("compare")
def compare_command(
    files: Files,
    questions: Annotated[
        Path,
        typer.Option(
            help="A JSON object a line: "
            '{"question": …, "excerpts": [{"document": …, "quote": …}]}, '
            "with documents named as the command chunk names them."
        ),
    ],
    strategy: Annotated[
        list[Strategy] | None, typer.Option(help="How to split; once for each. All if left out.")
    ] = None,
    size: Annotated[
        list[int] | None,
        typer.Option(help=f"The most a chunk may measure; once for each. {_SIZE} if left out."),
    ] = None,
    overlap: Overlap = 0,
    unit: Units = Unit.tokens,
    budget: Annotated[
        list[int] | None,
        typer.Option(
            help="How many tokens the answer may be looked for in; once for each. "
            f"{', '.join(map(str, BUDGETS))} if left out."
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Where to keep the scores, as JSON.")] = None,
) -> None:
    """Measure how much of the answers each way to split finds, at equal cost in tokens.

    The ways are those of chunk. A budget should be a small part of what all documents have.

    The first way is what the others are compared with.
    """
    check_out(out, b'{ "results":')
    arms = {
        f"{one} {number}": or_exit(
            partial(make_chunker, one, size=number, overlap=overlap, unit=unit)
        )
        for one in strategy or list(Strategy)
        for number in size or [_SIZE]
    }
    read = read_documents(files, without=[questions, out])
    benchmark = _benchmark({document.id: document for document in read}, questions)
    names = list(arms)
    pairs = [(name, names[0]) for name in names[1:]]
    with say.status(f"scoring {', '.join(names)}"):
        embedder = or_exit(load_embedder)
        budgets = tuple(budget or BUDGETS)
        board = or_exit(
            lambda: compare(arms, benchmark, embedder=embedder, pairs=pairs, budgets=budgets)
        )
    # Seen before they are kept: what cannot be written is not lost.
    to_stdout(lambda: _print(board, benchmark))
    if out is not None:
        or_exit(lambda: board.save(out), file=out)


def _benchmark(documents: dict[str, Document], questions: Path) -> Benchmark:
    """Read the questions; that none can be scored is said before the model is loaded."""
    benchmark = or_exit(lambda: Benchmark(documents, tuple(read_questions(questions, documents))))
    if not any(question.excerpts for question in benchmark.questions):
        said = "none of the questions has an excerpt" if benchmark.questions else "no questions"
        stop(f"{questions}: {said}")
    return benchmark


def _print(board: Scoreboard, benchmark: Benchmark) -> None:
    """Print what is found, what it takes and which differences count, within 80 columns."""
    results = board.results
    budgets = sorted(results[0].recall)
    recall = [["chunker", *(f"{budget:,} tokens" for budget in budgets)]]
    recall += [row[: 1 + len(budgets)] for row in board.rows()[1:]]
    costs = [["chunker", "chunks", "mean size", "largest", "unseen", "seconds"]]
    for one in results:
        sizes = (f"{one.chunks:,}", f"{one.mean_size:,.0f}", f"{one.max_size:,}")
        costs.append([one.name, *sizes, f"{100 * one.unseen:.1f}", f"{one.seconds:,.1f}"])
    # Into a file or a pipe goes the whole table, whatever the width of the terminal.
    console = Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else 240)
    _table(console, "Recall: how much of the answers is found, in % [95% interval]", recall)
    _table(console, "What that takes", costs)
    console.print(_LEGEND)
    if board.contrasts:
        title = f"Which differences of recall at {board.main:,} tokens count, in points [interval]"
        _table(console, title, board.verdict_rows())
        console.print("undecided: it may be chance; fewer than 20 questions decide nothing")
        if len(set(results[0].documents)) < FEW_DOCUMENTS:
            console.print(f"fewer than {FEW_DOCUMENTS} documents: verdicts hold for these only")
        console.print()
    count = load_tokenizer("o200k_base").count
    held = sum(count(document.text) for document in benchmark.documents.values())
    if whole := [budget for budget in budgets if budget >= held]:
        console.print(
            f"the documents have {held:,} tokens in all: a budget of {whole[0]:,} sends all,\n"
            "and cannot tell one way from another; --budget takes a smaller one\n"
        )
    unanswered = len(benchmark.questions) - len(results[0].questions)
    if unanswered:
        console.print(f"not scored: {unanswered:,} without an answer")
    console.print(board.note)


def _table(console: Console, title: str, rows: list[list[str]]) -> None:
    table = Table(*rows[0], box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for row in rows[1:]:
        table.add_row(*row)
    console.print(title, style="bold")
    console.print(table)
    console.print()
