"""Exercises, recipes and the numbers in the prose of notebook 4."""

import os
import re
import subprocess
import sys
from functools import cache, partial
from pathlib import Path

import nbformat
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chunking_lib.benchmark import load_benchmark
from chunking_lib.exercises_04 import _hint_cuts, check_breakpoints, check_cuts
from chunking_lib.length import token_length
from chunking_lib.metrics import pk, window_diff
from chunking_lib.models import fetch, load_embedder, load_tokenizer
from chunking_lib.semantic import find_breakpoints, split_semantic
from chunking_lib.sentences import sentence_spans

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOK = ROOT / "notebooks" / "04_semantic.ipynb"
SOLUTIONS = ROOT / "notebooks" / "solutions" / "04_semantic_solutions.ipynb"


@cache
def cells(path):
    return {cell.id: cell for cell in nbformat.read(path, as_version=4).cells}


def output(name, path=NOTEBOOK):
    return "".join(
        o.get("text") or o.get("data", {}).get("text/plain", "") for o in cells(path)[name].outputs
    )


def prose(name):
    return " ".join(cells(NOTEBOOK)[name].source.split())


# --- the exercises ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["exercise-1-stub", "exercise-2-stub"])
def test_stubs_do_not_pass_and_do_not_raise(name, capsys):
    exec(cells(NOTEBOOK)[name].source, {})
    shown = capsys.readouterr().out
    assert shown.startswith("Not yet")
    assert "passed" not in shown
    assert output(name) == shown


@pytest.mark.parametrize("name", ["exercise-1-solution", "exercise-2-solution"])
def test_solutions_pass(name, capsys):
    names = {}
    exec(cells(SOLUTIONS)["setup"].source, names)
    exec(cells(SOLUTIONS)[name].source, names)
    shown = capsys.readouterr().out
    assert shown.startswith("passed: 1")
    assert output(name, SOLUTIONS) == shown


def breakpoints(distances, amount, middle=np.mean, above=np.greater, ends=(25, 75), empty=True):
    if not distances and empty:
        return []
    low, high = np.percentile(distances, ends)
    limit = middle(distances) + amount * (high - low)
    return np.flatnonzero(above(distances, limit))


def upper(distances):
    return np.percentile(distances, 75)


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        (lambda distances, amount: None, "is there a `return`?"),
        (lambda distances, amount: ..., "is there a `return`?"),
        (lambda distances, amount: [], "place 3 has the distance 0.9, and the limit is"),
        (lambda distances, amount: ["3"], "whole numbers that count from 0"),
        (lambda distances, amount: [d for d in distances if d > 0.4], "whole numbers"),
        (lambda distances, amount: breakpoints(distances, amount) + 1, "places count from 0"),
        (lambda distances, amount: breakpoints(distances, amount)[::-1], "in order"),
        (lambda distances, amount: [*breakpoints(distances, amount), 99], "at the places 0 to 5"),
        (lambda distances, amount: distances[99], "IndexError"),
        (partial(breakpoints, middle=np.median), "the mean, not the median"),
        (partial(breakpoints, above=np.greater_equal), "Only what is above it is cut"),
        (partial(breakpoints, ends=(5, 95)), "and the limit is"),
        (lambda d, amount: breakpoints(d, amount) if d else [0], "return an empty list"),
        (partial(breakpoints, empty=False), "return an empty list, before anything is computed"),
        (partial(breakpoints, middle=upper), "the mean, not the 75th percentile (0.70)"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_breakpoint_hints(wrong, hint, capsys):
    check_breakpoints(wrong)
    shown = capsys.readouterr().out
    assert shown.startswith("Not yet: breakpoints(")
    assert hint in shown, shown


def cut(distances, sizes, count, min_size, order=None, more=0, small=None, sort=True, tried=None):
    cuts = []
    for place in sorted(range(len(distances)), key=order or (lambda i: (-distances[i], i)))[:tried]:
        if len(cuts) == count - 1 + more:
            break
        first = max([c + 1 for c in cuts if c < place], default=0)
        last = min([c for c in cuts if c > place], default=len(sizes) - 1)
        if small == "whole":
            first, last = 0, len(sizes) - 1
        parts = [sum(sizes[first : place + 1]), sum(sizes[place + 1 : last + 1])]
        enough = min(parts) > min_size if small == "strict" else min(parts) >= min_size
        if enough or small == "ignored":
            cuts.append(place)
        elif small == "stop":
            break
    return sorted(cuts) if sort else cuts


def filtered(distances, sizes, count, min_size):
    """Takes count - 1 places, and leaves out of these what is too small."""
    return cut(distances, sizes, count, min_size, tried=count - 1)


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        (lambda d, sizes, count, min_size: None, "is there a `return`?"),
        (lambda d, sizes, count, min_size: [], "there is room for a cut at place 1"),
        (lambda d, sizes, count, min_size: [0, 1], "take the largest first"),
        (lambda d, sizes, count, min_size: [1, 1], "named twice"),
        (lambda d, sizes, count, min_size: [1.5], "whole numbers"),
        (lambda d, sizes, count, min_size: [1, 9], "at the places 0 to 3"),
        (lambda d, *rest: [0] if not d else cut(d, *rest), "there is nothing to cut"),
        (lambda d, *rest: cut(d, *rest, order=lambda i: (-d[i], -i)), "take the first"),
        (lambda d, *rest: cut(d, *rest, sort=False), "in order"),
        (partial(cut, more=1), "3 chunks have 2 cuts between them, not 3"),
        (partial(cut, small="ignored"), "the cut at place 0 leaves a part of 1, below min_size=4"),
        (
            partial(cut, small="whole"),
            "the cut at place 2 leaves a part of 1 beside the cut at place 1, below min_size=6",
        ),
        (partial(cut, small="strict"), "place 1 leaves a part of 4. That is min_size"),
        (partial(cut, small="stop"), "place 0 is refused: do not stop there, go on with the"),
        (filtered, "place 0 is refused: it does not count as one of the 2 cuts, go on with the"),
        (partial(cut, order=lambda i: i), "take the largest first"),
        (lambda d, sizes, count, min_size: d[99], "IndexError"),
    ],
)
def test_cut_hints(wrong, hint, capsys):
    check_cuts(wrong)
    shown = capsys.readouterr().out
    assert shown.startswith("Not yet: cut(")
    assert hint in shown, shown


@settings(max_examples=300)
@given(st.data(), st.integers(1, 7), st.integers(1, 5), st.integers(0, 8))
def test_no_hint_blames_a_right_cut(data, sentences, count, least):
    some = st.lists(st.sampled_from([0.2, 0.5, 0.8, 0.9]), min_size=sentences - 1)
    distances = data.draw(some)[: sentences - 1]
    sizes = data.draw(st.lists(st.integers(1, 6), min_size=sentences, max_size=sentences))
    got = (
        data.draw(st.lists(st.sampled_from(range(sentences - 1)), unique=True)) if distances else []
    )
    right = cut(distances, sizes, count, least)
    if sorted(got) != right:
        hint = _hint_cuts(got, right, distances, sizes, count, least)
        for place in re.findall(r"^the cut at place (\d+)", hint):
            assert int(place) in got and int(place) not in right
        for place in re.findall(
            r"(?:^a cut at|room for a cut at|^|next largest,) place (\d+)", hint
        ):
            refused = hint.startswith(f"place {place} is refused")
            assert int(place) not in got and (int(place) in right) is not refused


def test_the_right_ways_pass(capsys):
    check_breakpoints(breakpoints)
    check_breakpoints(by_the_library)
    check_cuts(cut)
    check_cuts(lambda *given: (place for place in cut(*given)))
    assert capsys.readouterr().out.count("passed") == 4


def by_the_library(distances, amount):
    return find_breakpoints(distances, "interquartile", amount)


# --- the recipes ------------------------------------------------------------------------

OFFLINE = """
import socket
def refuse(self, address, *rest):
    if address[0] not in ("127.0.0.1", "::1"):
        raise OSError(f"a recipe opened a connection to {address}")
socket.socket.connect = refuse
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["copy-library", "copy-plain"])
def test_recipes_run_alone(name, tmp_path):
    script = tmp_path / "recipe.py"
    script.write_text(OFFLINE + cells(NOTEBOOK)[name].source, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-X", "utf8", str(script)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "EMBEDDING_MODEL": str(fetch("all-MiniLM-L6-v2"))},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == output(name)


def test_every_recipe_is_tested():
    tagged = [id_ for id_, c in cells(NOTEBOOK).items() if "recipe" in c.metadata.get("tags", [])]
    assert tagged == ["copy-library", "copy-plain"]
    assert "chunking_lib" not in cells(NOTEBOOK)["copy-plain"].source


# --- the numbers in the prose: recomputed, or read from the output that they speak of -----


@cache
def documents():
    return load_benchmark(ROOT / "data").documents


def test_the_search_that_fails():
    place, star, _ = output("failure-search").strip().splitlines()[-1].split(maxsplit=2)
    assert star == "*" and prose("failure-predict").startswith(f"Place {place}.")
    assert output("failure-solved").splitlines()[1].startswith(" 2 *")
    assert prose("sentences").startswith("Second place")


def test_numbers_about_the_sign():
    parts = output("sentences-split").splitlines()
    assert len(parts) == 6 and prose("sentences-why").startswith("Six, and not one")
    assert "made six parts of four sentences" in prose("key-points")
    assert len(output("sentences-spans").splitlines()) == 4


def test_numbers_about_words_and_vectors():
    values = [float(line.split()[3]) for line in output("words-cosine").splitlines()]
    assert values[:4] == [0, 0, 0, 0] and values[4] > 0
    farthest = max(output("vectors").splitlines(), key=lambda line: float(line.split()[-1]))
    assert farthest.startswith("2 and 3") and "farthest neighbours are 2 and 3" in prose("windows")


def test_numbers_about_twelve():
    shown = dict(re.findall(r"(\w+) +cuts at (.*)", output("thresholds-list")))
    assert shown["standard_deviation"] == "[]"
    assert shown["percentile"] == "[10]" and "takes one, place 10" in prose("function")
    assert shown["gradient"] == "[9]" and "Gradient has place 9" in prose("function")


UNSEEN = pytest.mark.filterwarnings("ignore::chunking_lib.embedder.UnseenWarning")


@UNSEEN
@pytest.mark.slow
def test_numbers_about_the_size():
    tokens, embedder = token_length(load_tokenizer()), load_embedder()
    texts = [d for name, d in documents().items() if name.endswith(".txt")]
    split = partial(split_semantic, embedder=embedder)
    counts = [tokens(c.text) for d in texts for c in split(d, size=10**6)]
    unread = sum(max(0, count - 254) for count in counts) / sum(counts)
    assert f"no better than {max(counts):,} tokens, and {unread:.0%}" in prose("size-why")
    assert f"never reads {unread:.0%} of the plain texts" in prose("key-points")
    rows = [line.split() for line in output("size-measure").splitlines()]
    free, limited = (int(row[-4].replace(",", "")) - 48 for row in rows if row[-5:][0] == "all")
    assert round(4 * (1 - free / limited)) == 3
    assert "three cuts in four come from the limit" in prose("size-why")


@UNSEEN
@pytest.mark.slow
def test_the_cuts_that_are_late():
    """Said at the plot: two of four begin a paragraph's second sentence."""
    text = documents()["essay_against_timetables.txt"].text
    starts = [c.start for c in split_semantic(text, embedder=load_embedder(), size=10**6)][1:]
    first = [text[start - 2 : start] == "\n\n" for start in starts]
    assert first == [True, False, False, False]
    spans = sentence_spans(text)
    numbers = [[start for start, _ in spans].index(start) for start in starts]
    late = [text[spans[i - 1][0] - 2 : spans[i - 1][0]] == "\n\n" for i in numbers]
    assert late == [False, True, True, False]


def scores():
    lines = output("score").splitlines()
    return {re.split(r"  +", line)[0]: re.findall(r"[\d.,]+", line[18:]) for line in lines[1:4]}


def test_numbers_taken_from_the_score():
    found = scores()
    recall = {name: row[3] for name, row in found.items()}
    pair = recall["semantic, 200"], recall["recursive, 200"]
    assert "finds {}% where recursive splitting finds {}%".format(*pair) in prose("when")
    assert "finds {}% and recursive {}%".format(*pair) in prose("key-points")
    assert f"that finds {recall['semantic, no limit']}%" in prose("when")
    embedded = [
        int(found[name][-2].replace(",", "")) for name in ("semantic, 200", "recursive, 200")
    ]
    assert round(embedded[0] / embedded[1]) == 8 and "nearly eight times" in prose("when")
    assert embedded[0] / embedded[1] < 8
    assert "{:,} texts in place of {:,}".format(*embedded) in prose("key-points")
    verdicts = [line.split()[-1] for line in output("score").strip().splitlines()[-2:]]
    assert verdicts == ["undecided", "worse"]


def test_numbers_about_pk():
    for line in output("shifts-pk").splitlines():
        name, p, w = re.match(r"(.+?) +Pk ([\d.]+)  WindowDiff ([\d.]+)", line).groups()
        names = {}
        exec(cells(NOTEBOOK)["shifts-pk"].source.split("for name")[0], names)
        marks = names["found"][name]
        assert (float(p), float(w)) == (
            round(pk(names["truth"], marks), 2),
            round(window_diff(names["truth"], marks), 2),
        )


def contrast(kind, name):
    [line] = [
        x for x in output("shifts-contrasts").splitlines() if x.startswith(f"{kind:8} {name}")
    ]
    return line.split("  ")[-1].strip(), re.findall(r"-?\d+\.\d", line)[0]


def test_numbers_about_seams():
    even = contrast("stitched", "optimal against every")
    points = contrast("stitched", "optimal against number")
    assert (even[0], points[0]) == ("better", "better")
    said = prose("shifts-found")
    assert f"{even[1]} points more pairs" in said and f"{points[1]} more than by break" in said
    assert f"{even[1]} points more pairs" in prose("when")
    assert f"beats even cuts by {even[1]} points" in prose("key-points")
    verdict, difference = contrast("stitched", "number given against every")
    assert verdict == "undecided" and f"even cuts: {difference.replace('-', '−')} points" in said
    real = [line for line in output("shifts-contrasts").splitlines() if line.startswith("real")]
    assert len(real) == 4 and all(line.endswith("undecided") for line in real)
    rows = {line[:24].strip(): line[24:].split() for line in output("shifts-table").splitlines()}
    assert f"WindowDiff of {rows['optimal'][4]} is higher than that of even cuts" in said
    assert f"even cuts, {rows['every so many sentences'][4]}" in said
    assert f"makes {rows['optimal'][5]} parts where there are five" in said
    assert float(rows["recursive"][0]) > float(rows["not cut"][0])
    assert min(rows, key=lambda n: rows[n][3] if rows[n][3:] else "9") == "optimal"


def test_numbers_about_smearing():
    rows = {int(line.split()[0]): line.split()[1:] for line in output("smear").splitlines()[1:]}
    said = prose("smear-why")
    assert f"{rows[0][2]} against {rows[0][5]}" in said
    assert f"{rows[1][1]} and {rows[1][3]} against {rows[1][2]}" in said
    assert min(rows[2][0], rows[2][4]) > max(rows[2][1:4])


def test_facts_about_langchain():
    shown = output("langchain-faults")
    assert shown.count("in its place: False, blank: False") == 4
    assert shown.count("blank: True") == 1
    assert [int(n) for n in re.findall(r"LangChain gives (\d)", shown)] == [1, 1, 1]
    assert "no longer" in output("langchain-same")


def test_numbers_about_the_optimum():
    shown = output("optimal-three")
    made = re.findall(r"(\d+) chunks, (\d+) of them", shown)
    said = prose("optimal-why")
    assert f"Two passes make most, {made[1][0]}." in said
    assert f"cut makes {made[2][0]}, of which {made[2][1]} are below" in said
    looked, of = re.search(r"optimal: ([\d,]+) chunks looked at, of ([\d,]+)", shown).groups()
    assert f"at {looked} possible chunks out of {of}" in said


def test_numbers_about_kinds_and_cost():
    rows = {line.split()[0]: line.split()[1:] for line in output("kinds-table").splitlines()}
    said = prose("practice")
    assert "Interquartile cuts {} and {}".format(*rows["interquartile"]) in said
    assert "deviation {} and {}".format(*rows["standard_deviation"]) in said
    assert rows["percentile"] == rows["gradient"]
    windows, chunks = re.findall(r"([\d,]+) tokens", output("practice-cost"))
    assert f"{windows} tokens to find the cuts and {chunks} to embed" in prose("exercise-2")
    windows, chunks = (int(number.replace(",", "")) for number in (windows, chunks))
    assert round(windows / chunks) == 3 and round((windows + chunks) / chunks) == 4
