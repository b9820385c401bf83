"""Exercises, recipes and the numbers in the prose of notebook 2."""

import re
import sys
from functools import cache, partial

import pytest
from corpus import EIGHT, read_eight
from lesson import Lesson, cells

from chunking_lib.character import split_characters
from chunking_lib.exercises_02 import check_merge, check_sentence_overlap
from chunking_lib.length import token_length
from chunking_lib.models import load_tokenizer
from chunking_lib.recursive import split_recursive
from chunking_lib.sentences import sentence_spans

LESSON = Lesson("02_recursive")
NOTEBOOK, output = LESSON.notebook, LESSON.output


def test_the_setup_reads_the_eight():
    found = re.findall(r'"([\w-]+\.\w+)"', cells(NOTEBOOK)["setup"].source)
    assert found == list(EIGHT)


# --- the exercises ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["exercise-1-stub", "exercise-2-stub"])
def test_stubs_do_not_pass_and_do_not_raise(name, capsys):
    LESSON.check_stub(name, capsys)


@pytest.mark.parametrize("name", ["exercise-1-solution", "exercise-2-solution"])
def test_solutions_pass(name, capsys):
    LESSON.check_solution(name, capsys)


def merge_forgets_the_last(pieces, size):
    merged, open_ = [], ""
    for piece in pieces:
        if len(open_) + len(piece) > size:
            merged.append(open_)
            open_ = ""
        open_ += piece
    return merged


def merge_with_empty_first(pieces, size):
    merged = [""]
    for piece in pieces:
        if len(merged[-1]) + len(piece) <= size:
            merged[-1] += piece
        else:
            merged.append(piece)
    return merged


def merge_below_size(pieces, size):
    merged = []
    for piece in pieces:
        if merged and len(merged[-1]) + len(piece) < size:
            merged[-1] += piece
        else:
            merged.append(piece)
    return merged


def merge_then_looks(pieces, size):
    merged = [""] if pieces else []
    for piece in pieces:
        if len(merged[-1]) > size:
            merged.append("")
        merged[-1] += piece
    return merged


def merge_drops_long(pieces, size):
    return merge_right([piece for piece in pieces if len(piece) <= size], size)


def merge_right(pieces, size):
    merged = []
    for piece in pieces:
        if merged and len(merged[-1]) + len(piece) <= size:
            merged[-1] += piece
        else:
            merged.append(piece)
    return merged


def merge_never_ends(pieces, size):
    while True:
        pass


def merge_raises(pieces, size):
    return [pieces[0]]


def merge_from_the_right(pieces, size):
    merged = []
    for piece in reversed(pieces):
        if merged and len(merged[0]) + len(piece) <= size:
            merged[0] = piece + merged[0]
        else:
            merged.insert(0, piece)
    return merged


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        (lambda pieces, size: None, "is there a `return`?"),
        (lambda pieces, size: ..., "is there a `return`?"),
        (lambda pieces, size: pieces, "fit together: 9 characters, and the size is 9"),
        (lambda pieces, size: [1, 2], "return a list of strings"),
        (merge_forgets_the_last, "are lost. What is still open after the loop?"),
        (merge_with_empty_first, "there is an empty chunk"),
        (merge_below_size, "fit together"),
        (merge_then_looks, "over the size of 9"),
        (merge_drops_long, "must be the pieces, joined"),
        (merge_from_the_right, "from left to right"),
        (merge_never_ends, "it does not stop"),
        (merge_raises, "must be the pieces, joined|are lost"),
        (lambda pieces, size: merge_right(pieces, size) or [""], "return an empty list"),
        (lambda pieces, size: pieces[99], "IndexError"),
        (lambda pieces, size: merge_right(pieces[::-1], size), "not in their order"),
    ],
)
def test_merge_hints(wrong, hint, capsys):
    check_merge(wrong)
    shown = capsys.readouterr().out
    assert shown.startswith("Not yet: merge(")
    assert any(part in shown for part in hint.split("|")), shown


def overlap_right(chunks, sentences, size, before=None, limit=True, inside=True, pick=-1):
    longer = chunks[:1]
    for (left, right), (start, end) in zip(chunks, chunks[1:], strict=False):
        if before == "longer":
            left, right = longer[-1]
        begins = [p for p, _ in sentences if (left < p if inside else left <= p) and p < right]
        if begins and (not limit or end - begins[pick] <= size):
            start = begins[pick]
        longer.append((start, end))
    return longer


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        (lambda chunks, sentences, size: None, "is there a `return`?"),
        (lambda chunks, sentences, size: chunks, "chunk 1 can begin at 10"),
        (lambda chunks, sentences, size: chunks[1:], "2 chunks went in and 1 came out"),
        (lambda chunks, sentences, size: [1], "pairs (start, end)"),
        (lambda chunks, sentences, size: sentences[:2], "stays as it is"),
        (partial(overlap_right, limit=False), "over the size of 29"),
        (partial(overlap_right, inside=False), "repeats all of (0, 20)"),
        (partial(overlap_right, pick=0), "the last sentence that starts in"),
        (
            lambda c, s, size: [c[0], *((a - 5, b - 5) for a, b in c[1:])] if c else [],
            "must end where it did, at 40",
        ),
        (lambda c, s, size: [(0, b) for _, b in c], "repeats all of (0, 20)"),
        (partial(overlap_right, before="longer"), "repeats all of (31, 45)"),
    ],
)
def test_sentence_overlap_hints(wrong, hint, capsys):
    check_sentence_overlap(wrong)
    shown = capsys.readouterr().out
    assert shown.startswith("Not yet: sentence_overlap(")
    assert hint in shown, shown


def test_the_right_ways_pass(capsys):
    check_merge(merge_right)
    check_merge(lambda pieces, size: (part for part in merge_right(pieces, size)))
    check_sentence_overlap(overlap_right)
    assert capsys.readouterr().out.count("passed") == 3


def test_a_learner_cannot_change_the_cases(capsys):
    check_merge(lambda pieces, size: pieces.clear())
    check_merge(merge_right)
    assert "passed: 11 lists" in capsys.readouterr().out


def test_the_trace_of_a_debugger_comes_back():
    before = sys.gettrace()
    check_merge(merge_never_ends)
    assert sys.gettrace() is before


# --- the recipes ------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["copy-plain", "copy-langchain"])
def test_recipes_run_alone(name, tmp_path):
    LESSON.check_recipe(name, tmp_path)


def test_every_recipe_is_tested():
    LESSON.check_recipes(["copy-plain", "copy-langchain"], plain=["copy-plain", "copy-langchain"])


# --- the numbers in the prose -----------------------------------------------------------


@cache
def corpus():
    texts = read_eight()
    del texts["notices_multilingual"]
    return texts


@cache
def spans():
    return {name: sentence_spans(document.text) for name, document in corpus().items()}


def by_sentence(document, **options):
    names = {"re": re, "split_recursive": split_recursive}
    source = cells(NOTEBOOK)["overlap-table"].source
    exec(source[: source.index("\n\n\n")], names)
    return names["by_sentence"](document, **options)


@cache
def measure(split, size, overlap=0):
    """Return chunks, characters embedded, and the share of sentences that no chunk holds whole."""
    made = {
        name: split(document, size=size, overlap=overlap) for name, document in corpus().items()
    }
    total = sum(map(len, spans().values()))
    kept = sum(
        any(c.start <= a and b <= c.end for c in made[name])
        for name in made
        for a, b in spans()[name]
    )
    chunks = [chunk for parts in made.values() for chunk in parts]
    return len(chunks), sum(len(chunk.text) for chunk in chunks), 100 * (1 - kept / total)


def prose(name):
    return " ".join(cells(NOTEBOOK)[name].source.split())


@pytest.mark.slow
def test_numbers_in_when_to_use():
    splits = (split_characters, split_recursive)
    small, large = ([f"{measure(f, n)[2]:.1f}%" for f in splits] for n in (300, 1000))
    assert (
        f"At 300 characters windows cut {small[0]} of the sentences and recursive splitting cuts "
        f"{small[1]}; at 1,000 it is {large[0]} against {large[1]}." in prose("when")
    )
    counts = measure(split_recursive, 300)[0], measure(split_characters, 300)[0]
    assert f"{counts[0]} against {counts[1]} at 300" in prose("when")


@pytest.mark.slow
def test_numbers_about_sizes():
    length = token_length(load_tokenizer())
    shares, fills = {}, []
    for size in (100, 200, 400, 700, 1000, 1500, 2000, 3000, 4000, 6000):
        chunks = [c for document in corpus().values() for c in split_recursive(document, size=size)]
        counts = [length(chunk.text) for chunk in chunks]
        longer = sum(count > 254 for count in counts) / len(counts)
        shares[size] = longer, sum(max(0, count - 254) for count in counts) / sum(counts)
        fills.append(sum(len(chunk.text) for chunk in chunks) / len(chunks) / size)
    said = prose("size-why")
    assert f"{shares[1000][0]:.0%} of the chunks are too long" in said
    assert f"though only {shares[1000][1]:.0%} of the text" in said
    assert f"a quarter of the text ({shares[1500][1]:.0%})" in said
    assert f"At 4,000 it is {shares[4000][1]:.0%}" in said
    assert f"{100 * min(fills):.0f} to {100 * max(fills):.0f}% on average" in said
    assert f"at 1,500 characters {shares[1500][1]:.0%}" in prose("key-points")


@pytest.mark.slow
def test_numbers_about_overlap():
    windows = [measure(split_characters, 300, overlap) for overlap in (0, 90)]
    chunks = [measure(split_recursive, 300, overlap) for overlap in (0, 90)]
    said = prose("overlap-why")
    more = [100 * (after[1] / before[1] - 1) for before, after in (windows, chunks)]
    assert f"windows embed {more[0]:.0f}% more text and recursive chunks {more[1]:.0f}%" in said
    assert f"windows: {windows[0][2]:.1f}% down to {windows[1][2]:.1f}%" in said
    assert f"less, {chunks[0][2]:.1f}% down to {chunks[1][2]:.1f}%" in said
    sentence = measure(by_sentence, 300)
    assert f"cuts {sentence[2]:.1f}%" in said
    assert sentence[2] < chunks[1][2], "the key points say so"
    total = sum(map(len, spans().values()))
    assert f"The {total:,} sentences" in said
    table = [line.split() for line in output("overlap-table").splitlines()]
    cut = {(row[0], row[1]): row[-2] for row in table[1:]}
    assert (cut["split_characters", "10%"], cut["split_characters", "20%"]) == ("2", "3")
    assert "10% overlap leaves two answers cut and 20% leaves three" in said


def test_the_questions_have_an_answer_of_twelve():
    source = cells(NOTEBOOK)["overlap-questions"].source
    names = {"english": corpus(), "documents": corpus()}
    exec(source, names)
    assert sum(map(len, names["answers"].values())) == 12
    for name, places in names["answers"].items():
        for start, end in places:
            assert corpus()[name].text[start:end].count("\n\n") == 0
            assert end - start < 300, "an answer longer than the chunk could not be whole"


@pytest.mark.slow
def test_numbers_about_calls():
    """Calls of the length function, and how often each character is seen."""
    shown = output("tokens-calls")
    (theirs, _), (ours, seen) = (
        (int(calls.replace(",", "")), float(times))
        for calls, times in re.findall(r"([\d,]+) calls, ([\d.]+) times", shown)
    )
    assert round(theirs / ours) == 8 and "about an eighth as often" in prose("tokens-trap")
    assert round(seen) == 3 and "sees the text three times over" in prose("tokens-trap")


def test_numbers_about_clauses():
    lines = output("practice-clauses").splitlines()
    (before, kept_before, total), (after, kept, _) = (
        map(int, re.findall(r"(\d+) chunks, (\d+) of (\d+)", line)[0]) for line in lines
    )
    said = prose("practice-size")
    assert f"{kept} of {total} instead of {kept_before}" in said
    assert f"{after} instead of {before}" in said
    assert (kept - kept_before, after - before) == (8, 7)  # "Eight more", "seven more chunks"
    names = {"re": re, "documents": read_eight(), "split_recursive": split_recursive}
    names["whole"] = lambda chunks, clauses: 0
    exec(cells(NOTEBOOK)["practice-clauses"].source, names)
    assert sum(end - start > 600 for start, end in names["clauses"]) == total - kept


@pytest.mark.slow
def test_facts_about_langchain():
    from langchain_text_splitters import RecursiveCharacterTextSplitter
    from transformers import AutoTokenizer

    from chunking_lib.models import fetch

    # "LangChain does the same with `length_function` (or `from_huggingface_tokenizer`)"
    essay = corpus()["essay_waiting"]
    length = token_length(load_tokenizer())
    splitter = RecursiveCharacterTextSplitter.from_huggingface_tokenizer(
        AutoTokenizer.from_pretrained(str(fetch("all-MiniLM-L6-v2"))),
        chunk_size=254,
        chunk_overlap=0,
    )
    ours = [chunk.text for chunk in split_recursive(essay, size=254, length=length)]
    assert splitter.split_text(essay.text) == ours

    # "With LangChain, pass the separators yourself": then a Chinese chunk ends with a mark.
    notices = read_eight()["notices_multilingual"].text
    begin = notices.index("各位旅客")
    chinese = notices[begin : notices.index("\n", begin)]
    splitter = RecursiveCharacterTextSplitter(
        chunk_size=100,
        chunk_overlap=0,
        separators=["\n\n", "\n", " ", "。", "，", ""],
        keep_separator="end",
    )
    parts = splitter.split_text(chinese)
    assert all(part[-1] in "。，" for part in parts[:-1]), parts

    # "The two chunks at 3 are two different ok, at 6 and at 9"
    splitter = RecursiveCharacterTextSplitter(chunk_size=5, chunk_overlap=2)
    assert splitter.split_text("ok ok ok ok late") == ["ok ok", "ok", "ok", "late"]


def test_blanks_and_zero_width_spaces_cut_thai():
    thai = "เรือข้ามฟาก\u200bทุกสาย จะหยุดเดิน"
    assert [c.text for c in split_recursive(thai, size=12)] == [
        "เรือข้ามฟาก",
        "\u200bทุกสาย",
        "จะหยุดเดิน",
    ]
