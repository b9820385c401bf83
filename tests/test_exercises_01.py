"""Notebook 1: its exercises, its recipes, and the numbers that its prose states."""

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import nbformat
import pytest
from corpus import EIGHT, read_eight

from chunking_lib.attempts import attempt
from chunking_lib.character import split_characters
from chunking_lib.chunk import Chunk, check_chunks
from chunking_lib.exercises_01 import check_windows, check_word_windows
from chunking_lib.sentences import sentence_spans

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOK = ROOT / "notebooks" / "01_character.ipynb"
SOLUTIONS = ROOT / "notebooks" / "solutions" / "01_character_solutions.ipynb"
CORPUS = read_eight()


def test_the_setup_reads_the_eight():
    found = re.findall(r'"([\w-]+\.\w+)"', cells()["setup"].source)
    assert found == list(EIGHT)


def cells(path=NOTEBOOK, kind="code"):
    notebook = nbformat.read(path, as_version=4)
    return {cell.id: cell for cell in notebook.cells if cell.cell_type == kind}


def prose():
    return " ".join(" ".join(cell.source.split()) for cell in cells(kind="markdown").values())


# --- exercises -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["exercise-1-stub", "exercise-2-stub"])
def test_stubs_do_not_pass_and_do_not_raise(name, capsys):
    exec(cells()[name].source, {})
    out = capsys.readouterr().out
    assert out.startswith("Not yet") and "passed" not in out


def test_solutions_pass(capsys):
    names = {}
    for cell in cells(SOLUTIONS).values():
        exec(cell.source, names)
    out = capsys.readouterr().out
    assert out.count("passed: ") == 3
    assert "Not yet" not in out


def test_outputs_of_the_solutions_are_in_the_file():
    outputs = [output.text for cell in cells(SOLUTIONS).values() for output in cell.outputs]
    assert sum("passed: " in text for text in outputs) == 3


def full_only(text, size, overlap):
    return [(i, i + size) for i in range(0, len(text) - size + 1, size - overlap)]


def fragments(text, size, overlap):
    return [(i, min(i + size, len(text))) for i in range(0, len(text), size - overlap)]


def beyond(text, size, overlap):
    return [(i, i + size) for i in range(0, len(text), size - overlap)]


def no_overlap(text, size, overlap):
    return [(i, min(i + size, len(text))) for i in range(0, len(text), size)]


def by_hand(text, size, overlap):
    starts = range(0, len(text) - overlap, size - overlap)
    return [(i, min(i + size, len(text))) for i in starts]


def never_ends(text, size, overlap):
    found, start = [], 0
    while start < len(text):
        found.append((start, min(start + size, len(text))))
        start = found[-1][1] - overlap
    return found


def one_for_nothing(text, size, overlap):
    return [(0, 0)] if not text else one_liner(text, size, overlap)


def one_liner(text, size, overlap):
    last = max(len(text) - overlap, min(len(text), 1))
    return ((i, min(i + size, len(text))) for i in range(0, last, size - overlap))


def unwritten(*arguments):
    raise NotImplementedError


def careless(*arguments):
    return arguments[0][999]


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (full_only, "lost: the last 2 characters, 'ij'"),
        (fragments, "a tail fragment"),
        (beyond, "does not lie in a text of 10 characters"),
        (no_overlap, "share 0, not 1"),
        (by_hand, "windows('abc', size=10, overlap=5)"),
        (by_hand, "no window came back"),
        (never_ends, "does not stop"),
        (one_for_nothing, "an empty text has no windows"),
        (lambda text, size, overlap: [text[:size]], "pairs of (start, end), and not the text"),
        (lambda text, size, overlap: None, "is there a `return`?"),
        (lambda text, size, overlap: ..., "is there a `return`?"),
        (lambda text, size, overlap: [1, 2], "a list of pairs (start, end)"),
        (lambda text, size, overlap: 7, "TypeError"),
        (lambda text, size, overlap: [(4, 8)], "the text before 4 is in no window"),
        (lambda text, size, overlap: [(0, 3), (5, 8)], "from 3 to 5 is in no window"),
        (lambda text, size, overlap: [(0, 3), (3, 7), (7, 8)], "could be 4 long"),
        (unwritten, "still to be written"),
        (careless, "IndexError"),
    ],
)
def test_wrong_windows_get_the_right_hint(function, words, capsys):
    check_windows(function)
    out = capsys.readouterr().out
    assert out.startswith("Not yet"), out
    assert words in out, out


def test_a_generator_is_as_good_as_a_list(capsys):
    check_windows(one_liner)
    assert capsys.readouterr().out.startswith("passed")


def word_by_word(text, size, length):
    return [match.span() for match in re.finditer(r"\s*\S+\s*", text)]


def in_characters(text, size, length):
    return by_length(text, size, len)


def added_up(text, size, length):
    return by_length(text, size, lambda part: sum(map(length, part.split())))


def by_length(text, size, length):
    found, start, end = [], 0, 0
    for match in re.finditer(r"\s*\S+\s*", text):
        if end > start and length(text[start : match.end()]) > size:
            found.append((start, end))
            start = end
        end = match.end()
    return [*found, (start, end)] if end > start else found


def last_forgotten(text, size, length):
    return by_length(text, size, length)[:-1]


def cut_in_words(text, size, length):
    return no_overlap(text, size, 0)


def without_space(text, size, length):
    spans = by_length(text, size, length)
    return [(start, start + len(text[start:end].rstrip())) for start, end in spans]


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (word_by_word, "as many words as fit"),
        (in_characters, "length=count_words"),
        (added_up, "length=len"),
        (last_forgotten, "at the end is in no window"),
        (cut_in_words, "lies inside a word"),
        (without_space, "lies before white space"),
        (lambda text, size, length: [(0, len(text))], "over the size of 12"),
        (lambda text, size, length: [(0, 9), (18, 25)], "must start at 9"),
        (lambda text, size, length: [(9, 18), (18, 25)], "the text before 9"),
        (lambda text, size, length: None, "is there a `return`?"),
    ],
)
def test_wrong_word_windows_get_the_right_hint(function, words, capsys):
    check_word_windows(function)
    out = capsys.readouterr().out
    assert out.startswith("Not yet"), out
    assert words in out, out


def test_a_check_leaves_the_tracing_as_it_was():
    before = sys.gettrace()
    check_windows(never_ends)
    assert sys.gettrace() is before


# --- recipes -------------------------------------------------------------------------------

OFFLINE = """
import socket
connect = socket.socket.connect
def refuse(self, address):
    if not str(address[0]).startswith(("127.", "::1", "/")):
        raise OSError("a recipe opened a connection")
    return connect(self, address)
socket.socket.connect = refuse
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["recipe-plain", "recipe-langchain"])
def test_recipes_run_alone(name, tmp_path):
    cell = cells()[name]
    assert cell.metadata.tags == ["recipe"]
    package, version = re.match(r"# pip install ([\w-]+)==(\S+)\n", cell.source).groups()
    assert f"\n{package}=={version}" in (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert "chunking_lib" not in cell.source
    script = tmp_path / "recipe.py"
    script.write_text(textwrap.dedent(OFFLINE) + cell.source, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-X", "utf8", script], cwd=tmp_path, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode("utf-8").strip() == cell.outputs[0].text.strip()


@pytest.mark.parametrize("size, overlap", [(1, 0), (4, 3), (40, 10), (40, 39), (800, 80)])
def test_the_plain_recipe_keeps_the_contract(size, overlap, capsys):
    names = {}
    exec(cells()["recipe-plain"].source, names)
    family, accents = "👨\u200d👩\u200d👧\u200d👦", "e\u0301" * 9
    texts = [d.text for d in CORPUS.values()] + ["", "a", family * 3, f"ab{family}c{accents}\r\n"]
    for text in texts:
        offsets = list(names["window_offsets"](text, size=size, overlap=overlap))
        chunks = [Chunk(text[start:end], start, end) for start, end in offsets]
        faults = check_chunks(text, chunks, size=size, overlap=overlap)
        # It keeps blank windows, and does not mark a character that is longer than the size.
        assert [f for f in faults if "blank" not in f and "oversize" not in f] == []
    with pytest.raises(ValueError, match="overlap=4"):
        list(names["window_offsets"]("abc", size=4, overlap=4))


def test_the_plain_recipe_cuts_as_the_library_does(capsys):
    names = {}
    exec(cells()["recipe-plain"].source, names)
    for document in CORPUS.values():
        for size, overlap in [(100, 20), (800, 0), (800, 80)]:
            chunks = split_characters(document, size=size, overlap=overlap)
            offsets = list(names["window_offsets"](document.text, size=size, overlap=overlap))
            assert offsets == [(chunk.start, chunk.end) for chunk in chunks]


# --- the numbers in the prose --------------------------------------------------------------

ANSWER = "Medicines are kept for 48 hours and then handed to the Hospital pharmacy."


def measure(size, overlap):
    """Windows, share of sentences that no window has whole, share of text in two windows."""
    number = cut = sentences = length = 0
    for document in CORPUS.values():
        chunks = split_characters(document, size=size, overlap=overlap)
        number += len(chunks)
        length += sum(len(chunk.text) for chunk in chunks)
        for start, end in sentence_spans(document.text):
            sentences += 1
            cut += not any(chunk.start <= start and end <= chunk.end for chunk in chunks)
    return number, cut / sentences, length / sum(len(d.text) for d in CORPUS.values()) - 1


def test_prices_of_sizes_and_overlaps():
    text = prose()
    _, plain, _ = measure(800, 0)
    _, tenth, twice = measure(800, 80)
    said = (
        f"brings the sentences that are cut from {plain:.1%} down to {tenth:.1%}, "
        f"and you embed {twice:.1%} of the text twice"
    )
    assert said in text
    assert f"without overlap {measure(200, 0)[1]:.1%} of the sentences are cut" in text
    # "the number of embedding calls doubles", "an overlap of a fifth adds a quarter"
    assert measure(400, 0)[0] / measure(800, 0)[0] == pytest.approx(2, abs=0.05)
    assert measure(400, 80)[0] / measure(400, 0)[0] == pytest.approx(1.25, abs=0.02)
    assert measure(800, 160)[0] / measure(800, 0)[0] == pytest.approx(1.25, abs=0.03)


def section():
    text = CORPUS["staff_handbook"].text
    return text[text.index("#### 7.4.1") : text.index("### 7.5")].strip()


def test_what_is_said_of_the_section_cut_by_hand():
    text = section()
    assert f"The text has {len(text)} characters" in prose()
    apart = split_characters(text, size=120)
    assert not any(ANSWER in chunk.text for chunk in apart)
    overlapping = split_characters(text, size=120, overlap=30)
    assert [ANSWER in chunk.text for chunk in overlapping].index(True) == 1  # "window 2"
    sentence = "The desk may hold an item for 14 extra days if the owner has telephoned"
    assert sentence in text and "is whole in no window" in prose()
    sentence = text[text.index(sentence) :].partition(".")[0]
    assert not any(sentence in chunk.text for chunk in overlapping)
    usual = full_only(text, 120, 30)
    assert "Ottilie Varga" in text[usual[-1][1] :]
    assert [text[start:end] for start, end in fragments(text, 120, 30)][-1] == "."


def test_the_usual_loop_loses_the_end_of_every_document():
    for document in CORPUS.values():
        end = full_only(document.text, 800, 100)[-1][1]
        assert 0 < len(document.text) - end <= 699
    handbook = CORPUS["staff_handbook"].text
    rows = re.findall(r"(?m)^\| \d{4} \|.*$", handbook)
    end = full_only(handbook, 800, 100)[-1][1]
    assert sum(row in handbook[end:] for row in rows) > len(rows) / 2


def test_letters_for_line_ends():
    from langchain_text_splitters import CharacterTextSplitter

    text = CORPUS["staff_handbook"].text
    pieces = CharacterTextSplitter(separator="nn", chunk_size=1000, chunk_overlap=0)
    pieces = pieces.split_text(text)
    assert max(map(len, pieces)) // 1000 == 4
    assert pieces[0].endswith("Fe") and pieces[1].startswith("ick")


def test_what_is_said_of_langchain():
    from langchain_text_splitters import CharacterTextSplitter

    splitter = CharacterTextSplitter()
    assert (splitter._chunk_size, splitter._chunk_overlap) == (4000, 200)
    assert splitter._separator == "\n\n" and splitter._strip_whitespace
    assert not splitter._keep_separator and not splitter._add_start_index
    splitter = CharacterTextSplitter(
        separator="", chunk_size=40, chunk_overlap=9, strip_whitespace=False, add_start_index=True
    )
    for document in CORPUS.values():
        found = splitter.create_documents([document.text])
        starts = [d.metadata["start_index"] for d in found]
        assert starts == list(range(0, len(document.text) - 9, 31))


@pytest.mark.slow
def test_what_is_said_of_tokens():
    from chunking_lib.length import token_length
    from chunking_lib.models import load_embedder, load_tokenizer

    text = prose()
    embedder = load_embedder()
    assert embedder.max_tokens == 254
    assert "This model has room for 256; two" in text and "254 are left for text" in text
    pair = CORPUS["incident_log"].text, CORPUS["staff_handbook"].text
    assert sum(map(embedder.count, pair)) > 8192 and "reads 8,192 tokens" in text
    sections = re.split(r"(?m)^## ", CORPUS["notices_multilingual"].text)[1:]
    parts = [CORPUS["essay_waiting"].text, sections[2]]
    essay, chinese = (round(800 * embedder.count(part) / len(part), -1) for part in parts)
    assert (essay, chinese) == (190, 730)
    assert "about 190 tokens of the essay and about 730 of Chinese" in text
    woman = "👩🏽\u200d🦽"
    cuts = range(35, len(CORPUS["notices_multilingual"].text), 35)
    inside = [CORPUS["notices_multilingual"].text[cut - 2 : cut + 2] for cut in cuts]
    assert woman in inside and "one of them is this one" in text
    assert load_tokenizer().encode(sections[3], add_special_tokens=False).tokens.count("[UNK]")
    count = token_length(load_tokenizer())
    assert count("lifejackets") == 3 and count("lifej") + count("ackets") == 5
    assert "".join(cells()["look-over"].outputs[0].text).startswith("11 of 170 windows")


@pytest.mark.slow
def test_the_question_finds_its_answer():
    """Exactly, without the database: the ranks that the prose states do not hang on a tie."""
    import warnings

    from chunking_lib.models import load_embedder

    embedder = load_embedder()
    question = embedder.encode(["How long does the lost property desk keep medicine?"])[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = embedder.encode([d.text for d in CORPUS.values()]) @ question
        windows = [c for d in CORPUS.values() for c in split_characters(d, size=800)]
        near = [c for c in windows if c.source in ("staff_handbook.md", "passenger_faq.md")]
        scores = embedder.encode([c.text for c in near]) @ question
    order = sorted(zip(whole, CORPUS, strict=True), reverse=True)
    assert [name for _, name in order[:2]] == ["incident_log", "staff_handbook"]
    assert order[0][0] - order[1][0] > 0.01
    order = sorted(zip(scores, near, strict=True), key=lambda pair: -pair[0])
    assert ANSWER in order[0][1].text and order[0][0] - order[1][0] > 0.05


def test_the_lines_of_installed_packages_do_not_count_as_a_loop_without_end():
    lines = attempt("wrap", lambda: textwrap.wrap("a " * 200_000, 70), "")
    assert lines is not None and len(lines) > 5_000
