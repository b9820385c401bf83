"""`python -m chunking_lib chunk` and `compare`: the library without writing Python."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, NoReturn, TypeVar

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from chunking_lib.benchmark import Benchmark, read_questions
from chunking_lib.character import split_characters, split_tokens
from chunking_lib.chunk import Chunk, Document
from chunking_lib.formats.load import load_document
from chunking_lib.length import token_length
from chunking_lib.models import load_embedder, load_tokenizer
from chunking_lib.recursive import split_recursive
from chunking_lib.scoreboard import Scoreboard, compare

__all__ = ["app"]

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Split files into chunks, and compare ways to do so.",
)
_T = TypeVar("_T")
_say = Console(stderr=True, highlight=False)  # what is said does not mix with what is written


class Unit(StrEnum):
    """What `--size` counts."""

    characters = "characters"
    tokens = "tokens"


class Strategy(StrEnum):
    """How to split."""

    characters = "characters"
    recursive = "recursive"


Files = Annotated[
    list[Path],
    typer.Argument(help="Files, or folders with files: text, Markdown, HTML, PDF, JSON."),
]
Size = Annotated[int, typer.Option(help="The most a chunk may measure.")]
Overlap = Annotated[int, typer.Option(help="The most that neighbours share.")]
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
    """Split files into chunks, one JSON object a line, with the offsets of each."""
    chunker = _chunker(strategy, size, overlap, unit)
    _check_folder(out)
    documents = list(_read(files, without=[out]))
    chunks: list[Chunk] = []
    for document in track(
        documents, "splitting", console=_say, transient=True, disable=not _say.is_terminal
    ):
        chunks += _or_exit(partial(chunker, document))
    lines = "".join(json.dumps(asdict(part), ensure_ascii=True) + "\n" for part in chunks)
    if out is None:
        sys.stdout.write(lines)
    else:
        _or_exit(lambda: out.write_text(lines, encoding="utf-8"))
    table = Table("document", "chunks", "mean", "largest", title=f"{strategy}, size {size} {unit}")
    for document in documents:
        sizes = [len(part.text) for part in chunks if part.source == document.id] or [0]
        count = len(sizes) if any(sizes) else 0
        table.add_row(
            document.id, f"{count:,}", f"{sum(sizes) / len(sizes):,.0f}", f"{max(sizes):,}"
        )
    table.caption = f"{len(chunks):,} chunks; sizes in characters"
    _say.print(table)


@app.command("compare")
def compare_command(
    files: Files,
    questions: Annotated[
        Path,
        typer.Option(
            help='A JSON object a line: {"question": …, "excerpts": [{"document": …, "quote": …}]}.'
        ),
    ],
    strategy: Annotated[
        list[Strategy] | None, typer.Option(help="How to split; once for each. All if left out.")
    ] = None,
    size: Annotated[
        list[int] | None, typer.Option(help="The most a chunk may measure; once for each.")
    ] = None,
    overlap: Overlap = 0,
    unit: Units = Unit.tokens,
    out: Annotated[Path | None, typer.Option(help="Where to keep the scores, as JSON.")] = None,
) -> None:
    """Measure how much of the answers each way to split finds, at equal cost in tokens.

    The first way is what the others are compared with.
    """
    _check_folder(out)
    documents = {document.id: document for document in _read(files, without=[questions, out])}
    benchmark = _or_exit(lambda: Benchmark(documents, tuple(read_questions(questions, documents))))
    arms = {
        f"{one} {number}": _chunker(one, number, overlap, unit)
        for one in strategy or list(Strategy)
        for number in size or [200]
    }
    names = list(arms)
    embedder = _or_exit(load_embedder)
    pairs = [(name, names[0]) for name in names[1:]]
    board = _or_exit(lambda: compare(arms, benchmark, embedder=embedder, pairs=pairs))
    if out is not None:
        _or_exit(lambda: board.save(out))
    _print(board)


def _print(board: Scoreboard) -> None:
    # Into a file or a pipe goes the whole table, not what fits in 80 columns.
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 240)
    for rows in (board.rows(), board.verdict_rows()):
        if len(rows) > 1:
            table = Table(*rows[0])
            for row in rows[1:]:
                table.add_row(*row)
            console.print(table)
    console.print(board.note)


def _chunker(
    strategy: Strategy, size: int, overlap: int, unit: Unit
) -> Callable[[Document], list[Chunk]]:
    """Return the chunker that the options describe; a bad size is said at once."""
    if unit is Unit.characters:
        splitters: dict[Strategy, Callable[..., list[Chunk]]] = {
            Strategy.characters: split_characters,
            Strategy.recursive: split_recursive,
        }
    else:
        length = _or_exit(lambda: token_length(load_tokenizer()))
        splitters = {
            Strategy.characters: partial(split_tokens, tokenizer=length),
            Strategy.recursive: partial(split_recursive, length=length),
        }
    chunker = partial(splitters[strategy], size=size, overlap=overlap)
    _or_exit(lambda: chunker(Document("")))
    return chunker


def _check_folder(out: Path | None) -> None:
    """Say at once, not after all the work, that there is no place for the result."""
    if out is not None and not out.parent.is_dir():
        _stop(f"{out}: no folder {out.parent}")


def _read(paths: list[Path], *, without: list[Path | None]) -> Iterator[Document]:
    """Read files, and those in folders, each once; not what the command itself reads or makes.

    A document's id is the name of its file, or its path in its folder. If that is taken, it is the
    path as given.
    """
    ids: set[str] = set()
    done = {path.resolve() for path in without if path is not None}
    for path in paths:
        if not _or_exit(path.exists):
            _stop(f"{path}: no such file or folder")
        inside = (
            sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]
        )
        for file in inside:
            name = file.relative_to(path).as_posix() if path.is_dir() else file.name
            if path.is_dir() and any(part.startswith(".") for part in Path(name).parts):
                continue
            if file.resolve() in done:
                continue
            done.add(file.resolve())
            try:
                document = load_document(file)
            except (ValueError, RuntimeError) as error:
                if not path.is_dir():
                    _stop(str(error))
                # One bad file among many is named, not a reason to stop.
                _say.print(f"left out: {error}", style="yellow", markup=False, soft_wrap=True)
                continue
            name = file.as_posix() if name in ids else name
            ids.add(name)
            yield Document(document.text, name, document.metadata)
    if not ids:
        _stop("no file that can be read")


def _or_exit(run: Callable[[], _T]) -> _T:
    """Run something; what a user can mend is said in one line, without a traceback."""
    try:
        return run()
    except OSError as error:
        _stop(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except (ValueError, RuntimeError) as error:
        _stop(str(error))


def _stop(message: str) -> NoReturn:
    # One line, however narrow the terminal: it may go to a log.
    _say.print(" ".join(message.split()), style="red", markup=False, soft_wrap=True)
    raise typer.Exit(1)
