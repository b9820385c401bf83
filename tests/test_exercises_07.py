"""Exercises, recipes and the numbers in the prose of notebook 7."""

import json
import re
from functools import partial

import pytest
from lesson import ROOT, Lesson

from chunking_lib.exercises_07 import check_context, check_fuse
from chunking_lib.models import fetch

LESSON = Lesson("07_contextual")
NOTEBOOK, output, prose = LESSON.notebook, LESSON.output, LESSON.prose
REPLIES = ROOT / "data" / "replies" / "07_contextual.jsonl"


# --- the exercises ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["exercise-1-stub", "exercise-2-stub"])
def test_stubs_do_not_pass_and_do_not_raise(name, capsys):
    LESSON.check_stub(name, capsys)


@pytest.mark.parametrize("name", ["exercise-1-solution", "exercise-2-solution"])
def test_solutions_pass(name, capsys):
    LESSON.check_solution(name, capsys)


def in_front(context, text, size, length, keep="first", behind=False, strict=False, blank="\n\n"):
    words = context.split()
    for count in range(len(words), 0, -1):
        kept = words[:count] if keep == "first" else words[-count:]
        parts = [text, " ".join(kept)] if behind else [" ".join(kept), text]
        whole = blank.join(parts)
        if length(whole) < size or (length(whole) == size and not strict):
            return whole
    return text


def by_letters(context, text, size, length):
    while context and length(f"{context}\n\n{text}") > size:
        context = context[:-1]
    return f"{context}\n\n{text}" if context.strip() else text


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        (lambda context, text, size, length: None, "is there a `return`?"),
        (lambda context, text, size, length: text, "there is room for all of it"),
        (lambda context, text, size, length: [context, text], "return one string"),
        (lambda context, text, size, length: f"{context}\n\n{text}", "Shorten the context"),
        (lambda context, text, size, length: f"{context}\n\n{text}"[:size], "text is not whole"),
        (partial(in_front, behind=True), "It belongs in front"),
        (partial(in_front, blank="\n"), "one blank line"),
        (partial(in_front, blank=" "), "one blank line"),
        (partial(in_front, keep="last"), "its beginning stays"),
        (partial(in_front, strict=True), "there is room for"),
        (by_letters, "Take whole words away"),
        (
            lambda c, t, size, length: in_front(c, t, size, length) if c else f"\n\n{t}",
            "is no cont",
        ),
        (lambda c, t, size, length: in_front(c, t.strip(), size, length), "white space of the"),
        (lambda context, text, size, length: context[99], "IndexError"),
    ],
)
def test_context_hints(wrong, hint, capsys):
    check_context(wrong)
    shown = capsys.readouterr().out
    assert shown.startswith("Not yet: with_context(")
    assert hint in shown, shown


def fuse(lists, k=60, first=1, reverse=True, again=False):
    sums = {}
    for one in lists:
        for rank, name in enumerate(one, first):
            sums[name] = sums.get(name, 0) + 1 / (k + rank) if not again else 1 / (k + rank)
    return sorted(sums, key=lambda name: sums[name], reverse=reverse)


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        (lambda lists, k: None, "is there a `return`?"),
        (lambda lists, k: [], "'a' is missing"),
        (lambda lists, k: [name for one in lists for name in one], "a name stands twice"),
        (lambda lists, k: [(name, 1.0) for name in fuse(lists, k)], "the names alone"),
        (partial(fuse, reverse=False), "the best comes first"),
        (lambda lists, k: sorted(fuse(lists, k), reverse=True), "the best comes first"),
        (partial(fuse, again=True), "1/(60 + 1)"),
        (lambda lists, k: list(dict.fromkeys(n for one in lists for n in one)), "1/("),
        (lambda lists, k: [*fuse(lists, k), "zz"], "'zz' is in none of the lists"),
        (partial(fuse, first=0), "ZeroDivisionError"),
        (lambda lists, k: lists[99], "IndexError"),
    ],
)
def test_fuse_hints(wrong, hint, capsys):
    check_fuse(wrong)
    shown = capsys.readouterr().out
    assert shown.startswith("Not yet: fuse(")
    assert hint in shown, shown


def test_the_right_ways_pass(capsys):
    check_context(in_front)
    check_fuse(fuse)
    check_fuse(lambda lists, k: (name for name in fuse(lists, k)))
    assert capsys.readouterr().out.count("passed") == 3


# --- the recipes ------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["copy-library", "copy-plain"])
def test_recipes_run_alone(name, tmp_path):
    LESSON.check_recipe(name, tmp_path, EMBEDDING_MODEL=str(fetch("all-MiniLM-L6-v2")))


def test_every_recipe_is_tested():
    LESSON.check_recipes(["copy-library", "copy-plain"], plain=["copy-plain"])


# --- what the model said ------------------------------------------------------------------


def test_the_model_is_named_in_every_recording():
    rows = [json.loads(line) for line in REPLIES.read_text(encoding="utf-8").splitlines()]
    assert rows and {row["model"] for row in rows} == {"SmolLM2-135M-Instruct"}
    assert REPLIES.stat().st_size < 1_500_000


# --- the numbers in the prose: recomputed, or read from the output that they speak of -----


def test_the_search_that_fails():
    [place] = re.findall(r"^place (\d+) of", output("failure-search"))
    assert prose("failure-why").startswith(f"Place {place}.")
    [better] = re.findall(r"place (\d+)", output("failure-before"))
    assert f"from place {place} to place {better}" in prose("hand")
    answer = output("failure-search").lower()
    assert not any(word in answer for word in ("button", "emergency"))


def numbers(text):
    return re.findall(r"(?<![\w.])-?\d+(?:,\d{3})*(?:\.\d+)?", text.replace("−", "-"))


def test_numbers_about_the_steps():
    recall = {
        line[:27].strip(): numbers(line[27:])[1] for line in output("steps-read").splitlines()
    }
    best, none = recall["context + BM25 + re-ranked"], recall["vectors alone"]
    for name in ("title", "steps-measured"):
        assert best in prose(name) and none in prose(name)
    effects = {
        line.split(" against")[0].strip(): line for line in output("steps-effects").splitlines()
    }
    gain = {name: numbers(line.split("without")[-1])[0] for name, line in effects.items()}
    said = prose("steps-measured").replace("−", "-")
    for line in effects.values():
        assert all(n in said for n in numbers(line[34:]) if n != "0.0"), line
    verdicts = [line.split()[-1] for line in effects.values()]
    assert verdicts == ["better", "undecided", "undecided", "better"]
    for name in ("title", "when", "key-points"):
        assert f"{gain['with context']} points" in prose(name)
    assert f"BM25 {gain['with BM25']} and re-ranking {gain['with re-ranked']}" in prose(
        "key-points"
    )
    pair = recall["re-ranked"], recall["BM25 + re-ranked"]
    assert "finds {}%, and with BM25 besides {}%".format(*pair) in said


def test_numbers_about_what_is_sent():
    shown = output("score").strip().splitlines()
    assert [line.split()[-1] for line in shown[-2:]] == ["better", "equivalent"]
    said = prose("measured")
    for line in shown[-2:]:
        found = re.search(r"(-?\d+\.\d) \[(-?\d+\.\d), (-?\d+\.\d)\]", line)
        assert all(n.lstrip("-") in said for n in found.groups())
    recall = [re.findall(r"\d+\.\d", line)[3] for line in shown[1:4]]
    assert "together find {1}%, vectors alone {0}%".format(*recall) in said
    assert "{1}% without, {2}% with, *equivalent*".format(*recall) in prose("when")


def test_numbers_about_cost_and_the_limit():
    window, whole = output("cost-estimate").splitlines()
    assert all(number in prose("run") for number in re.findall(r"\d+,\d+|0\.\d+", whole))
    assert re.findall(r"\d+,\d+", window)[0] in prose("run")
    assert "42 unread, likeness of the two endings 1.00" in output("limit-unseen")
    [over] = re.findall(
        r"([1-9][\d,]+ tokens) unread, in (.*) chunks", output("fault-append-score")
    )
    assert f"{over[0]} in {over[1]} chunks" in prose("faults-why")


def test_what_is_said_of_the_controls():
    lines = output("controls-score").strip().splitlines()[-6:]
    verdicts = ["undecided", "undecided", "worse", "undecided", "undecided", "undecided"]
    assert [line.split()[-1] for line in lines] == verdicts
    said = prose("controls-why").replace("−", "-")
    for line, count in zip(lines, (1, 1, 3, 3, 3, 3), strict=True):
        assert all(n in said for n in numbers(line.split("against")[1])[-3:][:count]), line
    again = numbers(output("fault-append-run"))
    assert "{} points, from {} to {}".format(*again) in prose("faults-why").replace("−", "-")
    board = json.loads((ROOT / "tests/benchmarks/scores.json").read_text(encoding="utf-8"))
    [smooth] = [c for c in board["contrasts"] if c["name"].endswith("with neighbours")]
    ends = (100 * smooth["difference"][end] for end in ("low", "high"))
    assert "wider interval, {:.1f} to {:.1f},".format(*ends) in said


def test_what_is_said_of_what_the_model_wrote():
    [documents, good, chunks] = numbers(output("few-score"))
    assert documents == "12"
    said = prose("when").replace("−", "-")
    assert f"For {good} of {chunks} chunks" in said
    shown = output("few-run").strip().splitlines()
    assert all(line.endswith("undecided") for line in shown[-3:])
    for line in shown[-3:]:
        found = re.search(r"(-?\d+\.\d) \[(-?\d+\.\d), (-?\d+\.\d)\]", line)
        assert all(n in said for n in found.groups())
    rows = {line[:24].strip(): re.findall(r"\d+(?:,\d+)*\.?\d*", line[24:]) for line in shown[1:5]}
    assert f"With it {rows['SmolLM2-135M'][3]}% are found" in said
    assert f"without it {rows['bare'][3]}%" in said and rows["SmolLM2-135M"][-1] in said


def test_what_is_said_of_other_texts_in_the_index():
    missing = [numbers(line)[:2] for line in output("indexing-look").splitlines()[:2]]
    told = [str(int(of) - int(none)) for none, of in missing]
    assert f"for {told[0]} of {missing[0][1]} chunks, and a question for {told[1]}" in prose(
        "indexing-why"
    )
    shown = output("indexing-run").strip().splitlines()
    verdicts = {re.split(r" {2,}", line)[0]: line.split()[-1] for line in shown[-6:]}
    worse = {name for name, verdict in verdicts.items() if verdict != "undecided"}
    assert worse == {"summary", "questions"} and {verdicts[name] for name in worse} == {"worse"}
    said = prose("indexing-found").replace("−", "-")
    for line, count in zip(shown[-6:], (3, 0, 0, 3, 3, 1), strict=True):
        found = re.search(r"(-?\d+\.\d) \[(-?\d+\.\d), (-?\d+\.\d)\]", line).groups()
        assert all(n.lstrip("-") in said for n in found[:count]), line


def test_what_the_model_got_wrong():
    told = output("run-model")
    assert told.count("bad reply: it only repeats the passage") == 3 and told.count("->") == 8
    assert "windmill" in told and "elderly" in told and "train" in told
    document = (ROOT / "data" / "corpus" / "faq_school_groups.md").read_text(encoding="utf-8")
    assert "windmill" not in document and "elderly" not in document
    assert "no such source [3], uncited 2" in output("rag-answer")
