"""The command line: `chunk` and `compare` on files that are not the course's."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from toys import ToyEmbedder
from typer.testing import CliRunner

from chunking_lib import cli, cli_strategies
from chunking_lib.chunk import Chunk, Document, check_chunks
from chunking_lib.cli_strategies import Strategy
from chunking_lib.formats import load_document, split_document
from chunking_lib.length import token_length
from chunking_lib.models import load_tokenizer
from chunking_lib.scoreboard import Scoreboard
from chunking_lib.semantic import split_semantic

FERRY = """# Ferry

The last ferry to Holm sails at 23:40 on weekdays, e\u0301t\u00e9 comme hiver 🦥.

## Fares

A bicycle travels for 3 euros, a dog rides free.
"""
TRAM = "The tram stops at the quay.\r\n\r\nDrivers rest for thirty\nminutes after four hours.\n"
PAGE = "<html><body><h1>Lost</h1><p>Umbrellas wait in the <b>office</b>.</p></body></html>"
FULL = Path("/dev/full")
QUESTIONS = [
    {
        "question": "When does the last ferry sail?",
        "excerpts": [{"document": "ferry.md", "quote": "sails at 23:40 on weekdays"}],
    },
    {
        "question": "How long do drivers rest?",
        "excerpts": [{"document": "notes/tram.txt", "quote": "rest for thirty minutes after"}],
    },
    {
        "question": "Where do umbrellas wait?",
        "excerpts": [{"document": "page.html", "quote": "Umbrellas wait in the office."}],
    },
    {"question": "Is there a moon?", "excerpts": []},
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A stranger's folder, and we stand beside it."""
    docs = tmp_path / "docs"
    for name, text in {
        "ferry.md": FERRY,
        "notes/tram.txt": TRAM,
        "page.html": PAGE,
        "questions.jsonl": "\n".join(map(json.dumps, QUESTIONS)) + "\n\n",
        ".git/config.txt": "hidden",
    }.items():
        (docs / name).parent.mkdir(parents=True, exist_ok=True)
        (docs / name).write_bytes(text.encode())
    (docs / "photo.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    monkeypatch.chdir(tmp_path)
    return docs


@pytest.fixture
def run(monkeypatch):
    """Run a command in this process, with a small embedder."""
    monkeypatch.setattr(cli, "load_embedder", ToyEmbedder)
    monkeypatch.setattr(cli_strategies, "_embedder", ToyEmbedder)

    def invoke(*arguments: object):
        return CliRunner().invoke(cli.app, list(map(str, arguments)))

    return invoke


def run_module(*arguments: object, **more) -> subprocess.CompletedProcess[str]:
    known = "ignore:open_binary is deprecated:DeprecationWarning"  # of bpe-openai
    command = [sys.executable, "-W", "error", "-W", known, "-m", "chunking_lib"]
    command += map(str, arguments)
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", **more)


def read_lines(text: str) -> dict[str, list[Chunk]]:
    """The chunks of JSON lines, by document."""
    found: dict[str, list[Chunk]] = {}
    for line in text.splitlines():
        chunk = Chunk(**json.loads(line))
        found.setdefault(chunk.source, []).append(chunk)
    return found


def left_out(result) -> list[str]:
    return [line for line in result.stderr.splitlines() if line.startswith("left out: ")]


def one_line(result, message: str) -> None:
    """An error: exit code 1, nothing written, one line that says what is wrong."""
    assert result.exit_code == 1, result.output
    assert result.stdout == "" and message in result.stderr
    assert result.stderr.count("\n") == 1 and "Traceback" not in result.stderr


# --- chunk ------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["recursive", "characters"])
@pytest.mark.parametrize("unit", ["characters", "tokens"])
def test_chunk_writes_lines_whose_offsets_point_into_the_document(run, folder, strategy, unit):
    result = run(
        "chunk", folder, "--strategy", strategy, "--size", 25, "--overlap", 5, "--unit", unit
    )
    assert result.exit_code == 0, result.output
    found = read_lines(result.stdout)
    assert found.keys() == {"ferry.md", "notes/tram.txt", "page.html", "questions.jsonl"}
    length = len if unit == "characters" else token_length(load_tokenizer())
    for name, chunks in found.items():
        document = load_document(folder / name)
        assert check_chunks(document, chunks, size=25, overlap=5, length=length) == []


@pytest.mark.parametrize("unit", ["characters", "tokens"])
def test_chunk_by_what_a_document_is_and_by_its_meaning(run, folder, unit):
    for strategy in ("document", "semantic"):
        options = ("--strategy", strategy, "--size", 25, "--unit", unit)
        result = run("chunk", folder / "ferry.md", *options)
        assert result.exit_code == 0, result.output
        document = load_document(folder / "ferry.md")
        length = len if unit == "characters" else token_length(load_tokenizer())
        if strategy == "document":
            right = split_document(document, size=25, length=length)
        else:
            right = split_semantic(document, embedder=ToyEmbedder(), size=25, length=length)
        assert read_lines(result.stdout)["ferry.md"] == right
        one_line(
            run("chunk", folder, *options, "--overlap", 5),
            f"overlap=5 must be 0 for the strategy {strategy}",
        )


def test_ends_of_lines_are_kept(run, folder):
    assert read_lines(run("chunk", folder).stdout)["notes/tram.txt"][0].text == TRAM.strip()


def test_chunk_says_what_it_did_beside_what_it_wrote(run, folder):
    result = run("chunk", folder / "ferry.md", "--size", 60)
    assert "recursive, size 60 characters" in result.stderr
    assert "ferry.md" in result.stderr and "5 chunks" in result.stderr
    assert len(result.stdout.splitlines()) == 5 and result.stdout.isascii()


def test_chunk_into_a_file(run, folder):
    first = run("chunk", folder, "--size", 40)
    out = folder / "chunks.jsonl"
    for _ in range(2):  # the second time it is there, and not split itself
        result = run("chunk", folder, "--size", 40, "--out", out)
        assert result.exit_code == 0 and result.stdout == ""
        assert out.read_text(encoding="utf-8") == first.stdout


def test_what_cannot_be_read_in_a_folder_is_named_and_left_out(run, folder):
    (folder / "latin.txt").write_bytes("caf\xe9".encode("latin-1"))
    result = run("chunk", folder)
    assert result.exit_code == 0
    said = left_out(result)
    assert len(said) == 2 and "latin.txt" in said[0] and "photo.png" in said[1]
    assert "config.txt" not in result.output


def test_nothing_in_a_folder_is_passed_over_in_silence(run, folder, monkeypatch):
    (folder / "photo.png").unlink()
    (folder / "secret").mkdir()
    (folder / "loop.txt").symlink_to("loop.txt")
    (folder / "linked").symlink_to(folder / "notes")
    os.mkfifo(folder / "pipe.txt")  # it would be waited for
    scandir = os.scandir

    def guarded(path):
        if Path(path).name == "secret":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", guarded)
    result = run("chunk", folder)
    assert result.exit_code == 0
    assert sorted(left_out(result)) == [
        f"left out: {folder}/linked: links to folders are not followed",
        f"left out: {folder}/loop.txt: Too many levels of symbolic links",
        f"left out: {folder}/pipe.txt: not a file",
        f"left out: {folder}/secret: Permission denied",
    ]


def test_files_of_the_same_name_stay_apart(run, folder):
    (folder / "notes" / "ferry.md").write_text("Another ferry.")
    (folder / "notes" / "blank.md").write_text(" \n")
    paths = (folder / "ferry.md", Path("docs/notes/ferry.md"), folder / "notes")
    result = run("chunk", *paths, folder / "ferry.md")
    found = read_lines(result.stdout)
    assert found.keys() == {"ferry.md", "docs/notes/ferry.md", "tram.txt"}
    assert found["docs/notes/ferry.md"] == [Chunk("Another ferry.", 0, 14, "docs/notes/ferry.md")]
    assert "blank.md" in result.stderr  # no chunks, and it says so


def test_no_two_documents_have_one_id(run, folder):
    """Neither the name nor the path as given is free for the last one."""
    for path in ("a/y.txt", "b/x/y.txt", "x/y.txt"):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(path)
    found = read_lines(run("chunk", "a/y.txt", "b", "x/y.txt").stdout)
    whole = str(folder.parent.resolve() / "x/y.txt")
    assert {name: one.text for name, [one] in found.items()} == {
        "y.txt": "a/y.txt",
        "x/y.txt": "b/x/y.txt",
        whole: "x/y.txt",
    }


@pytest.mark.parametrize("name", ["a[final].txt", "[b]/].txt", ":smile:.txt", "[link=x]y.txt"])
def test_a_name_is_said_as_it_is(run, folder, name):
    path = folder / "odd" / name
    path.parent.mkdir(parents=True)
    path.write_text("Dogs ride free.")
    result = run("chunk", folder / "odd")
    assert result.exit_code == 0 and name in result.stderr
    path.write_bytes(b"\xff")
    assert name in run("chunk", folder / "odd").stderr


def test_the_output_is_no_document_and_is_not_written_over_what_was_read(run, folder):
    text = folder / "ferry.md"
    os.link(text, folder / "hard.md")
    (folder / "soft.md").symlink_to(text)
    for out in (text, folder / "hard.md", folder / "soft.md"):
        one_line(run("chunk", text, "--out", out), "is there, and is no result of this command")
    assert text.read_text(encoding="utf-8") == FERRY
    run("chunk", text, "--out", "chunks.jsonl")
    os.link("chunks.jsonl", folder / "hard.jsonl")
    result = run("chunk", folder / "hard.jsonl", "--out", "chunks.jsonl")
    assert result.exit_code == 1 and result.stderr.splitlines() == [
        f"left out: {folder / 'hard.jsonl'}: an option of this command names it",
        "no document to read",
    ]


def test_sizes_are_said_in_the_unit_asked_for(run, folder):
    result = run("chunk", folder / "ferry.md", "--size", 9, "--unit", "tokens")
    assert "size 9 tokens" in result.stderr and "sizes in tokens" in result.stderr
    [row] = [line for line in result.stderr.splitlines() if "ferry.md" in line]
    assert int(row.split("│")[4]) <= 9


def test_odd_texts_and_names_go_through(run, folder):
    (folder / "ünïcode [bold]🦥.txt").write_text("a\x01b 猫\u2028🦥", encoding="utf-8")
    found = read_lines(run("chunk", folder).stdout)
    assert found["ünïcode [bold]🦥.txt"][0].text.startswith("a\x01b 猫")


def test_chunk_errors_are_one_line(run, folder):
    one_line(run("chunk", "nowhere.md"), "nowhere.md: no such file or folder")
    one_line(run("chunk", folder / "photo.png"), "photo.png: no loader for '.png'")
    one_line(run("chunk", folder, "--size", 0), "size=0 must be a whole number of 1 or more")
    one_line(run("chunk", folder, "--size", 5, "--overlap", 5), "overlap=5 must be")
    one_line(run("chunk", folder, "--out", "no/such/folder/x.jsonl"), "no folder no/such/folder")
    one_line(run("chunk", folder / "ferry.md", "--out", folder), f"{folder}: ")
    one_line(run("chunk", "long name " * 15), "long name : no such file or folder")
    one_line(run("chunk", "long name " * 30), "long name ")  # longer than a name may be
    (folder / "empty").mkdir()
    one_line(run("chunk", folder / "empty"), "no document to read")
    os.mkfifo("pipe.txt")
    one_line(run("chunk", "pipe.txt"), "pipe.txt: not a file")
    Path("loop").symlink_to("loop")
    one_line(run("chunk", folder / "ferry.md", "--out", "loop"), "loop: Too many levels")
    one_line(run("chunk", folder / "ferry.md", "--out", "n" * 300), "n: File name too long")


def test_a_file_that_is_no_result_is_not_written_over(run, folder):
    notes, options = folder / "notes" / "tram.txt", ("--size", 25)
    one_line(run("chunk", folder, "--out", notes, *options), "is there, and is no result of this")
    assert notes.read_bytes().decode() == TRAM
    asked = folder / "questions.jsonl"
    asked_by = ("compare", folder, "--questions", asked, "--strategy", "recursive")
    one_line(run(*asked_by, "--out", asked), "is there, and is no result of this command")
    for command, out in ((("chunk", folder, *options), "c.jsonl"), (asked_by, "s.json")):
        Path(out).touch()
        assert run(*command, "--out", out).exit_code == 0
        written = Path(out).read_text()
        assert run(*command, "--out", out).exit_code == 0
        assert written == Path(out).read_text() != ""


@pytest.mark.skipif(not FULL.exists(), reason="no device that is always full")
def test_a_full_disk(run, folder):
    one_line(run("chunk", folder / "ferry.md", "--out", FULL), f"{FULL}: No space left on device")
    result = run(
        "compare", folder, "--questions", folder / "questions.jsonl", "--size", 20, "--out", FULL
    )
    # The scores, which took time, are seen all the same.
    assert result.exit_code == 1 and "3 questions" in result.stdout
    assert f"{FULL}: No space left on device" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("chunk",),
        ("chunk", "docs", "--size", "many"),
        ("chunk", "docs", "--strategy", "magic"),
        ("chunk", "docs", "--unit", "pages"),
        ("chunk", "docs", "--no-such-option"),
        ("compare", "docs"),
        ("compare", "--questions", "docs/questions.jsonl"),
        ("no-such-command",),
    ],
)
def test_usage_errors(run, folder, arguments):
    result = run(*arguments)
    assert result.exit_code == 2 and result.stdout == "" and "Usage:" in result.stderr


# --- compare ----------------------------------------------------------------------------


def test_compare_on_a_strangers_folder(run, folder):
    out = folder.parent / "scores.json"
    asked = folder / "questions.jsonl"
    options = ("--questions", asked, "--size", 10, "--size", 30, "--out", out)
    result = run("compare", folder, *options)
    assert result.exit_code == 0, result.output
    names = [f"{name} {size}" for name in Strategy for size in (10, 30)]
    assert len(names) == 8
    for name in names:
        assert name in result.stdout
    assert "3 questions" in result.stdout and "verdict" in result.stdout
    assert "not scored: 1 without an answer" in result.stdout
    assert "seconds" in result.stdout and "fewer than 6 documents" in result.stdout
    assert "…" not in result.stdout and max(map(len, result.stdout.splitlines())) <= 80
    board = Scoreboard.load(out)
    assert [one.name for one in board.results] == names
    assert [(c.name, c.baseline) for c in board.contrasts] == [(n, names[0]) for n in names[1:]]
    # The questions lie in the folder and are no document: they would answer themselves.
    assert {*board.results[0].documents} == {"ferry.md", "notes/tram.txt", "page.html"}
    again = run("compare", folder, *options)
    assert again.exit_code == 0 and Scoreboard.load(out) == board


def test_a_budget_that_sends_everything_is_said(run, folder):
    options = ("compare", folder, "--questions", folder / "questions.jsonl", "--size", 10)
    assert "a budget of 500 sends all" in run(*options).stdout
    result = run(*options, "--budget", 5, "--budget", 15)
    assert result.exit_code == 0 and "sends all" not in result.stdout
    assert "5 tokens" in result.stdout and "15 tokens" in result.stdout
    (folder / "photo.png").unlink()
    one_line(run(*options, "--budget", 0), "budgets=(0,) must be one or more whole numbers")


def test_compare_one_way_alone(run, folder):
    asked = folder / "questions.jsonl"
    result = run("compare", folder, "--questions", asked, "--strategy", "recursive", "--size", 20)
    assert result.exit_code == 0
    assert "recursive 20" in result.stdout and "verdict" not in result.stdout


def test_compare_errors_are_one_line(run, folder):
    asked = folder.parent / "asked.jsonl"

    def compare(text: str):
        asked.write_text(text)
        return run("compare", folder / "ferry.md", "--questions", asked)

    def quote(words: str, document: str = "ferry.md") -> str:
        return json.dumps(
            {"question": "When?", "excerpts": [{"document": document, "quote": words}]}
        )

    one_line(compare(quote("not there")), "asked.jsonl, line 1: not in ferry.md: 'not there'")
    one_line(compare("\n" + quote("x", "other.md")), "line 2: no document 'other.md'")
    one_line(compare("{"), "line 1: ")
    one_line(compare('{"excerpts": []}'), "line 1: no 'question'")
    one_line(compare("[" * 100_000), "asked.jsonl, line 1: nested too deeply")
    one_line(run("compare", folder / "ferry.md", "--questions", "nowhere.jsonl"), "nowhere.jsonl")
    asked.write_text(quote("Ferry"))
    options = ("compare", folder / "ferry.md", "--questions", asked)
    one_line(run(*options, "--size", 0), "size=0 must be")
    one_line(run(*options, "--out", "no/such/scores.json"), "no folder no/such")
    one_line(run(*options, "--out", folder), f"{folder}: a folder, not a file")


def test_compare_without_an_embedder(run, folder, monkeypatch):
    def fail():
        raise RuntimeError("cannot get the files. Tried:\n  one\n  two")

    monkeypatch.setattr(cli, "load_embedder", fail)
    asked = folder.parent / "asked.jsonl"
    asked.write_text(json.dumps(QUESTIONS[0]))
    one_line(run("compare", folder / "ferry.md", "--questions", asked), "Tried: one two")


@pytest.mark.parametrize(
    ("text", "message"),
    [("\n", "no questions"), (json.dumps(QUESTIONS[3]), "none of the questions has an excerpt")],
)
def test_compare_of_questions_that_nothing_answers(run, folder, monkeypatch, text, message):
    monkeypatch.setattr(cli, "load_embedder", None)  # it is not even loaded
    asked = folder.parent / "asked.jsonl"
    asked.write_text(text)
    one_line(run("compare", folder / "ferry.md", "--questions", asked), f"asked.jsonl: {message}")


# --- the real thing ---------------------------------------------------------------------


@pytest.mark.slow
def test_the_module_chunks_files(folder):
    result = run_module("chunk", "docs/ferry.md", "--strategy", "recursive", "--size", 60)
    assert result.returncode == 0, result.stderr
    chunks = read_lines(result.stdout)["ferry.md"]
    assert check_chunks(Document(FERRY), chunks, size=60) == []
    wrong = run_module("chunk", "nowhere.md")
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert wrong.stderr == "nowhere.md: no such file or folder\n"
    assert run_module("chunk", "docs/ferry.md", "--size", "x").returncode == 2
    for command, option in (("chunk", "--overlap"), ("compare", "--questions")):
        shown = run_module(command, "--help")
        assert shown.returncode == 0 and option in shown.stdout


@pytest.mark.slow
@pytest.mark.skipif(not FULL.exists(), reason="no device that is always full")
def test_standard_output_that_is_full(folder):
    command = [sys.executable, "-m", "chunking_lib", "chunk", "docs/ferry.md"]
    with FULL.open("w") as full:
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert result.returncode == 1
    assert result.stderr == "standard output: No space left on device\n"


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_a_terminal_that_knows_few_characters(folder, encoding):
    (folder / "猫.md").write_text("猫が船に乗る。", encoding="utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    result = run_module("chunk", "docs", env=environment)
    assert result.returncode == 0, result.stderr
    assert "猫.md" in read_lines(result.stdout)


@pytest.mark.slow
def test_the_module_compares_with_the_real_model(folder):
    result = run_module("compare", "docs", "--questions", "docs/questions.jsonl", "--size", 20)
    assert result.returncode == 0, result.stderr
    assert "characters 20" in result.stdout and "recursive 20" in result.stdout
    assert "3 questions" in result.stdout


def run_without(package: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    script = (
        f"import sys; sys.modules[{package!r}] = None\n"
        f"sys.argv[1:] = {list(arguments)!r}\n"
        "from chunking_lib.__main__ import main; sys.exit(main())"
    )
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)


@pytest.mark.slow
@pytest.mark.parametrize("package", ["typer", "rich", "numpy"])
def test_doctor_and_fetch_run_where_the_packages_of_the_rest_are_missing(package, folder):
    fetched = run_without(package, "fetch", "--quiet")
    assert fetched.returncode == 0 and "all-MiniLM-L6-v2: " in fetched.stdout
    doctor = run_without(package, "doctor")
    assert doctor.returncode in (0, 1) and doctor.stdout and "Traceback" not in doctor.stderr
    chunked = run_without(package, "chunk", "docs/ferry.md")
    assert (chunked.returncode, chunked.stdout) == (1, "")
    assert chunked.stderr.startswith(f"{package}") and chunked.stderr.count("\n") == 1
    assert "is not installed: run the doctor" in chunked.stderr


@pytest.mark.slow
def test_doctor_and_fetch_take_no_options_of_others():
    result = run_module("fetch", "--size", "3")
    assert result.returncode == 2 and "unrecognized arguments" in result.stderr
    assert run_module().returncode == 2
