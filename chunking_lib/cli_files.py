"""What the commands read and write, and how they say that something is wrong with it."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NoReturn, TypeVar

import typer
from rich.console import Console

from chunking_lib.chunk import Document
from chunking_lib.files import find_files
from chunking_lib.formats.load import load_document

__all__ = ["check_out", "or_exit", "read_documents", "say", "stop", "to_stdout"]

_T = TypeVar("_T")
#: What is said does not mix with what is written. Names of files are text, not markup or emoji.
say = Console(stderr=True, highlight=False, markup=False, emoji=False)


def read_documents(
    paths: Sequence[Path], *, without: Sequence[Path | None] = ()
) -> Iterator[Document]:
    """Read files, and those in folders, each once; what cannot be read in a folder is named.

    A document's id is the name of its file, or its path in its folder. If that is taken, it is the
    path as given, and if that is taken too, the whole path.

    Args:
        paths: files and folders.
        without: what the command itself reads or makes, and so is no document.
    """
    ids: set[str] = set()
    done: set[str] = set()
    # By what it is, not by its name: a link to it must not be read, or written over, either.
    taken = [path for path in without if path is not None and os.path.exists(path)]
    for path in paths:
        if not or_exit(path.exists):
            stop(f"{path}: no such file or folder")
        folder = path.is_dir()
        for file in find_files(path, failed=_left_out) if folder else [path]:
            try:
                if any(map(file.samefile, taken)):
                    if not folder:
                        _left_out(ValueError(f"{file}: an option of this command names it"))
                    continue
                # realpath: Path.resolve would raise at links in a circle.
                if (real := os.path.realpath(file)) in done:
                    continue
                done.add(real)
                if not stat.S_ISREG(file.stat().st_mode):  # a pipe would be waited for
                    raise ValueError(f"{file}: not a file")
                document = load_document(file)
            except (OSError, ValueError, RuntimeError) as error:
                if not folder:
                    stop(_text(error))
                _left_out(error)  # one bad file among many is no reason to stop
                continue
            name = file.relative_to(path).as_posix() if folder else file.name
            names = (name, file.as_posix(), Path(real).as_posix())
            name = next(one for one in names if one not in ids)
            ids.add(name)
            yield Document(document.text, name, document.metadata)
    if not ids:
        stop("no document to read")


def _left_out(error: Exception) -> None:
    say.print(f"left out: {_text(error)}", style="yellow", soft_wrap=True)


def check_out(out: Path | None, begins: bytes) -> None:
    """Say at once, not after all the work, that there is no place for the result.

    A file that is there already is only written over if it begins as results do.
    """
    if out is None:
        return
    # os.path, whose functions say no where those of Path raise: a name may be too long.
    if not os.path.isdir(out.parent):
        stop(f"{out}: no folder {out.parent}")
    if os.path.isdir(out):
        stop(f"{out}: a folder, not a file")
    if not os.access(out if os.path.exists(out) else out.parent, os.W_OK):
        stop(f"{out}: may not be written")
    if os.path.isfile(out):
        with open(out, "rb") as file:
            start = file.read(100).split()
        if start and not b" ".join(start).startswith(begins):
            stop(f"{out}: is there, and is no result of this command; choose another name")


def to_stdout(write: Callable[[], object]) -> None:
    """Call what writes to the terminal, the pipe or the file that standard output is."""
    try:
        write()
        sys.stdout.flush()
    except BrokenPipeError:
        raise  # `| head` has seen enough, which typer knows about
    except OSError as error:
        # Python writes what is left once more when it ends, and would complain at length.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        stop(f"standard output: {error.strerror}")


def or_exit(run: Callable[[], _T], *, file: Path | None = None) -> _T:
    """Run something; what a user can mend is said in one line, without a traceback.

    Args:
        run: what to do.
        file: what it writes, for errors that do not say (a full disk).
    """
    try:
        return run()
    except (OSError, ValueError, RuntimeError) as error:
        stop(_text(error, file))


def _text(error: Exception, file: Path | None = None) -> str:
    if isinstance(error, OSError) and (name := error.filename or file):
        return f"{name}: {error.strerror}"
    return str(error)


def stop(message: str) -> NoReturn:
    """Say one line and end with the exit code 1."""
    # One line, however narrow the terminal: it may go to a log.
    say.print(" ".join(message.split()), style="red", soft_wrap=True)
    raise typer.Exit(1)
