"""Exercises, recipes and the numbers in the prose of notebook 5."""

import json
import re
from functools import partial
from itertools import pairwise
from types import SimpleNamespace

import pytest
from lesson import ROOT, Lesson, cells

from chunking_lib.exercises_05 import check_parts, check_support
from chunking_lib.llm import load_llm
from chunking_lib.llm_server import serve_llm
from chunking_lib.local_server import SMOLLM

LESSON = Lesson("05_agentic")
NOTEBOOK, output, prose = LESSON.notebook, LESSON.output, LESSON.prose
REPLIES = ROOT / "data" / "replies" / "05_agentic.jsonl"
SCORES = ROOT / "data" / "replies" / "05_scores.npz"


# --- the exercises ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["exercise-1-stub", "exercise-2-stub"])
def test_stubs_do_not_pass_and_do_not_raise(name, capsys):
    LESSON.check_stub(name, capsys)


@pytest.mark.parametrize("name", ["exercise-1-solution", "exercise-2-solution"])
def test_solutions_pass(name, capsys):
    LESSON.check_solution(name, capsys, begins="passed: ")


def parts(starts, count, kinds=True, least=2, most=0, order=True, twice=False, close=1):
    if kinds and not all(type(start) is int for start in starts):
        return []
    if not all(least <= start <= count + most for start in starts):
        return []
    if order and starts != sorted(starts if twice else set(starts)):
        return []
    return [(first, after - 1) for first, after in pairwise([1, *starts, count + close])]


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        (lambda starts, count: None, "is there a `return`?"),
        (lambda starts, count: ..., "is there a `return`?"),
        (lambda starts, count: [], "the first part is sentences 1 to 3, the second 4 to 6"),
        (lambda starts, count: [1, 4], "return pairs of whole numbers"),
        (lambda s, n: [(a - 1, b) for a, b in parts(s, n)], "count from 1, and the last one"),
        (lambda s, n: [(a, b + 1) for a, b in parts(s, n)], "first part is sentences 1 to 3"),
        (lambda s, n: parts(s, n)[:-1], "(1, 3) is in no part: the last part ends with 6"),
        (lambda s, n: [*parts(s, n), (n, n)], "is one part too many: 1 starts make 2"),
        (partial(parts, close=0), "part 2 is sentences 4 to 6"),
        (lambda s, n: parts(s, n) if s else [], "no number means one part: sentences 1 to 3"),
        (partial(parts, most=1), "7 is more than the 6 sentences that were shown"),
        (partial(parts, least=1), "1 begins nothing new: the first number that can is 2"),
        (partial(parts, least=-9), "begins nothing new"),
        (partial(parts, order=False), "[5, 3] is not in order"),
        (partial(parts, twice=True), "4 stands there twice"),
        (partial(parts, kinds=False), "TypeError"),
        (lambda s, n: parts([int(one) for one in s], n), "'4' is a text, not a whole number"),
        (lambda s, n: mended(s, n), "[5, 3] is not in order"),
        (lambda s, n: without(True, s, n), "True is a truth value, not a whole number"),
    ],
)
def test_parts_hints(wrong, hint, capsys):
    check_parts(wrong)
    shown = capsys.readouterr().out
    assert shown.startswith("Not yet: parts(")
    assert hint in shown, shown


def mended(starts, count):
    """Sort the reply instead of refusing it: nobody knows what the model meant."""
    return parts(sorted(starts), count) if {type(start) for start in starts} <= {int} else []


def without(value, starts, count):
    return parts([start for start in starts if start is not value], count)


def support(words, sentences, most=None, shortest=True, last=False, empty=True):
    words = words & set().union(*sentences) if most is None else words
    if not words:
        return [] if empty else [0, 0]
    lengths = range(1, len(sentences) + 1)
    for length in lengths if shortest else reversed(lengths):
        firsts = range(len(sentences) - length + 1)
        for first in reversed(firsts) if last else firsts:
            if words <= set().union(*sentences[first : first + length]):
                return [first, first + length - 1]
    return []


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        (lambda words, sentences: None, "is there a `return`?"),
        (lambda words, sentences: [], "return two whole numbers"),
        (lambda words, sentences: [0], "return two whole numbers"),
        (lambda words, sentences: [1, 0], "count from 0 to 1, and the first comes first"),
        (lambda words, sentences: [0, 2], "count from 0 to 1"),
        (lambda words, sentences: [0, 0], "'sold' stands in a sentence, but not in 0 to 0"),
        (partial(support, shortest=False), "a shorter run of sentences holds as many"),
        (partial(support, last=True), "is as short and comes first"),
        (partial(support, most="all"), "return two whole numbers"),
        (partial(support, empty=False), "no sentence holds any of the words"),
        (lambda words, sentences: sentences[99], "IndexError"),
    ],
)
def test_support_hints(wrong, hint, capsys):
    check_support(wrong)
    shown = capsys.readouterr().out
    assert shown.startswith("Not yet: support(")
    assert hint in shown, shown


def test_the_right_ways_pass(capsys):
    check_parts(parts)
    check_parts(lambda *given: ([first, last] for first, last in parts(*given)))
    check_support(support)
    check_support(lambda *given: tuple(support(*given)))
    assert capsys.readouterr().out.count("passed") == 4


# --- the recordings ---------------------------------------------------------------------


def test_recordings_name_their_model_and_are_small():
    rows = [json.loads(line) for line in REPLIES.read_text(encoding="utf-8").splitlines()]
    assert {row["model"] for row in rows} == {SMOLLM}
    assert all(re.fullmatch(r"2\d{3}-\d\d-\d\d", row["date"]) for row in rows)
    assert len({row["key"] for row in rows}) == len(rows)
    assert REPLIES.stat().st_size + SCORES.stat().st_size < 1_500_000


# --- the recipes ------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["copy-library", "copy-plain"])
def test_recipes_run_alone(name, tmp_path, monkeypatch):
    monkeypatch.setenv("CHUNKING_RECORD", "0")
    service = serve_llm(load_llm(SMOLLM, recordings=REPLIES))
    LESSON.check_recipe(
        name,
        tmp_path,
        CHUNKING_LLM=SMOLLM,
        REPLIES=str(REPLIES),
        OPENAI_BASE_URL=service,
        NO_PROXY="127.0.0.1",
    )


@pytest.mark.parametrize("bad", ["[4.0]", "[true, 4]", "[4, 4]", '["4"]', "[[4]]", "[17]", "null"])
def test_a_window_without_a_good_reply_is_one_part(bad):
    names = {}
    exec(cells(NOTEBOOK)["copy-plain"].source.split("\n\n\nclient = ")[0], names)
    replies = iter([f'{{"starts": {bad}}}', '{"starts": [3]}'])

    def create(**_):
        message = SimpleNamespace(content=next(replies))
        return SimpleNamespace(choices=[SimpleNamespace(message=message)])

    client = SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)))
    text = " ".join(f"The ferry number {number} sails." for number in range(10, 30))
    made = names["split_by_model"](text, client, "none")
    assert "".join(text[start:end] for start, end in made) == text
    assert [text[start:end].count("ferry") for start, end in made] == [16, 2, 2]


def test_every_recipe_is_tested():
    LESSON.check_recipes(["copy-library", "copy-plain"], plain=["copy-plain"])


def test_no_key_is_in_the_notebook_or_the_recordings():
    for path in (NOTEBOOK, REPLIES):
        assert not re.search(r"\bsk-[\w-]{8,}", path.read_text(encoding="utf-8"))


# --- the numbers in the prose: recomputed, or read from the output that they speak of -----


def test_what_is_said_of_positions():
    shown = output("position-agno")
    said = re.findall(r"the model: (.*)", shown)
    assert len(said) == 5 and not any(re.fullmatch(r"['\"]\d+['\"]", one) for one in said)
    assert "1994 London O" in shown and "new employee" in shown
    assert shown.count("word for word: False") == 2 and "Two chunks are not" in prose("numbered")
    assert sum(line.endswith(".'") for line in shown.splitlines()) == 1
    assert "The first chunk ends with a sentence" in prose("numbered")


def test_what_is_said_of_numbers():
    lines = output("numbered-reply").splitlines()
    assert "[2, 3, 4, 5]" in lines[0] and "[2, 2]" in lines[1]
    assert lines[2].count("16") == 11 and "writes 16 ten times" in prose("library")
    assert "counts from 11 to 16" in prose("library")


def test_what_is_said_of_three_documents():
    shown = output("documents-run")
    calls = [int(number) for number in re.findall(r"(\d+) calls", shown)]
    assert f"{sum(calls)} calls bought one cut" in prose("surprise")
    assert re.findall(r"(\d+) by the model", shown) == ["0", "0", "2"]
    assert re.findall(r"split_recursive: (\w+)", shown) == ["True", "True", "False"]


def test_what_is_said_of_surprise():
    rows = re.findall(r"'(.*?)' +p +[\de.-]+ +-log p +([\d.]+)", output("surprise-tokens"))
    values = {token.strip(): value for token, value in rows}
    said = prose("surprise-minima")
    assert f"*Paris* costs {values['Paris']} nats and *cheese* {values['cheese']}" in said
    capital = [value for token, value in rows if token == " capital"]
    assert "falls from {} to {}".format(*capital) in said


def test_what_is_said_of_the_plot():
    shown, said = output("surprise-late"), prose("measure")
    assert shown.startswith("9 paragraphs, 3 chunks") and "nine paragraphs" in said
    assert "at a paragraph: 0" in shown and "none begins with a paragraph" in said
    everywhere, first = re.search(
        r"all ([\d.]+), of the paragraphs' first ([\d.]+)", shown
    ).groups()
    assert f"{first} nats and {everywhere}" in said
    assert "'Now to what a late tram is.'" in shown


def test_what_is_said_of_seams():
    rows = {line[:26].strip(): line[26:].split() for line in output("seams-table").splitlines()}
    said = prose("margin")
    assert f"{rows['surprise, threshold 0'][2]} parts where there are five" in said
    assert f"number of parts to {rows['surprise, threshold 2'][2]}" in said
    lines = output("seams-contrasts").splitlines()[1:]
    assert [line.split()[-1] for line in lines] == ["worse", *["undecided"] * 3]
    mean, low, high = re.search(r"-([\d.]+) \[-([\d.]+), -([\d.]+)\]", lines[0]).groups()
    assert f"{mean} points fewer" in said and f"from −{low} to −{high}" in said


def test_what_is_said_of_margins():
    margins = [float(one) for one in re.findall(r"margin ([+-][\d.]+)", output("margin-run"))]
    said = f"between −{-max(margins):.2f} and −{-min(margins):.2f} at all four places"
    assert len(margins) == 4 and said in prose("propositions")


def test_what_is_said_of_orders():
    replies = re.findall(r"replies (.*)", output("injection-run"))
    assert json.loads(replies[0])["starts"] == [2, 3]
    assert json.loads(replies[1])["starts"] == [2, 3, 4]


def test_what_is_said_of_words_asked_for():
    shown = output("subclass-run")
    found = re.findall(r"words found: (True|False) +… '(.*)'", shown)
    assert [end for yes, end in found if yes == "True" and end[-1] not in ".?!"] == [
        end for yes, end in found if yes == "True"
    ]
    assert (len(found), sum(yes == "True" for yes, _ in found)) == (7, 3)
    assert "Three times out of seven" in prose("pretend")


def test_what_is_said_of_propositions():
    shown = output("propositions-run")
    wrong = re.findall(r"^✗ (.*)", shown, re.M)
    assert [one.split()[-1] for one in wrong] == ["1787.", "1853.", "sixty-two."]
    assert shown.count("left out:") == 2
    last = shown.rstrip().splitlines()[-1]
    assert last.startswith("  The company") and "Now read the last line" in prose("shelf")


def test_what_is_said_of_the_shelf():
    shown = output("shelf-run")
    parts = re.findall(r"^'(.*)': (\d) facts", shown, re.M)
    assert len(parts) == 6 and sum(int(number) for _, number in parts) == 8
    assert [number for _, number in parts] == ["3", "1", "1", "1", "1", "1"]
    assert parts[0][0].startswith("It says that it says") and "2022 movie" in parts[4][0]
    calls = re.search(r"(\d+) calls", shown)[1]
    assert f"{calls} calls for eight facts" in prose("exercise-2")


def test_numbers_taken_from_the_score():
    lines = output("score").splitlines()
    recall = {
        re.split(r"  +", line)[0]: re.findall(r"[\d.,]+", line[13:])[3] for line in lines[1:4]
    }
    read = lines[1:4][1].split()[-1]
    pair = recall["surprise"], recall["recursive"]
    questions = re.search(r"(\d+) questions", output("score"))[1]
    said = "on {} questions it finds {}% where recursive splitting finds {}%, undecided"
    assert said.format(questions, *pair) in prose("when") and f"{read} tokens read" in prose("when")
    said = "On {} questions cuts by it find {}% and recursive splitting {}%, undecided"
    assert said.format(questions, *pair) in prose("key-points")
    assert [line.split()[-1] for line in lines if " recursive " in line] == ["undecided"] * 2
    assert f"documents, {questions} questions" in output("score-questions")
