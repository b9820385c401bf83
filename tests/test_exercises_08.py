"""Exercises, recipes and the numbers in the prose of notebook 8."""

import os
import re
from functools import partial

import matplotlib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lesson import Lesson, cells

from chunking_lib.chunk import Chunk, Document
from chunking_lib.embedder import TokenVectors
from chunking_lib.exercises_08 import check_merge, check_pool
from chunking_lib.late import embed_early, embed_late, pool_tokens, token_windows
from chunking_lib.models import fetch, load_embedder

matplotlib.use("Agg")

LESSON = Lesson("08_late")
NOTEBOOK, output, prose = LESSON.notebook, LESSON.output, LESSON.prose


# --- the exercises ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["exercise-1-stub", "exercise-2-stub"])
def test_stubs_do_not_pass_and_do_not_raise(name, capsys):
    LESSON.check_stub(name, capsys)


@pytest.mark.parametrize("name", ["exercise-1-solution", "exercise-2-solution"])
def test_solutions_pass(name, capsys):
    LESSON.check_solution(name, capsys, begins="passed: ")


def pool(offsets, values, chunks, inside=None, empty=0.0, divide=True):
    inside = inside or (lambda a, b, start, end: a < end and start < b)
    means = []
    for start, end in chunks:
        chosen = [
            value for (a, b), value in zip(offsets, values, strict=True) if inside(a, b, start, end)
        ]
        if not chosen and empty is not None:
            means.append(empty)
        else:
            means.append(sum(chosen) / (len(chosen) if divide else 1))
    return means


def by_places(offsets, values, chunks):
    return [float(np.mean(values[start:end] or [0])) for start, end in chunks]


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        (lambda offsets, values, chunks: None, "is there a `return`?"),
        (lambda offsets, values, chunks: ..., "is there a `return`?"),
        (lambda offsets, values, chunks: [], "there are 2 chunks, so return 2 numbers"),
        (lambda offsets, values, chunks: ["1.5"], "return a list of numbers"),
        (lambda offsets, values, chunks: values[99], "IndexError"),
        (partial(pool, divide=False), "chunk (0, 5): its tokens are summed"),
        (partial(pool, inside=lambda a, b, s, e: a >= s and b <= e), "[CLS] and [SEP], at (0, 0)"),
        (partial(pool, inside=lambda a, b, s, e: a >= s and a < b < e), "compare with <= there"),
        (
            partial(pool, inside=lambda a, b, s, e: s < a and b <= e),
            "begins where the chunk begins",
        ),
        (by_places, "count characters, not tokens"),
        (partial(pool, inside=lambda a, b, s, e: a <= e and s <= b and a < b), "only touches"),
        (partial(pool, inside=lambda a, b, s, e: a >= s and a < b <= e), "cuts in two belongs to"),
        (partial(pool, inside=lambda a, b, s, e: s <= a < e and a < b), "cuts in two belongs to"),
        (partial(pool, empty=None), "the chunk (2, 6) has no token, so there is nothing"),
        (partial(pool, empty=float("nan")), "the chunk (2, 6) has no token"),
    ],
)
def test_pool_hints(wrong, hint, capsys):
    check_pool(wrong)
    shown = capsys.readouterr().out
    assert shown.startswith("Not yet: pool(")
    assert hint in shown, shown


def merge(windows, half=lambda shared: (shared + 1) // 2, added=1):
    merged = []
    for start, values in windows:
        values = values[added : len(values) - added]
        keep = start + half(len(merged) - start)
        merged = merged[:keep] + values[keep - start :]
    return merged


def mean_of_both(windows):
    found = {}
    for start, values in windows:
        for i, value in enumerate(values[1:-1], start):
            found.setdefault(i, []).append(value)
    return [sum(found[i]) / len(found[i]) for i in sorted(found)]


def alone(windows):
    """Leave out what is in two windows."""
    found = {}
    for start, values in windows:
        for i, value in enumerate(values[1:-1], start):
            found.setdefault(i, []).append(value)
    return [found[i][0] for i in sorted(found) if len(found[i]) == 1]


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        (lambda windows: None, "is there a `return`?"),
        (lambda windows: [], "each token counts once, also those in two windows: 6 values"),
        (lambda windows: ["1"], "return a list of numbers"),
        (lambda windows: [v for _, values in windows for v in values], "90 belongs to [CLS]"),
        (lambda windows: [v for _, values in windows for v in values[1:-1]], "in two windows, and"),
        (partial(merge, half=lambda shared: shared), "take the right one"),
        (partial(merge, half=lambda shared: 0), "take the left one"),
        (partial(merge, half=lambda shared: shared // 2), "An odd one in the middle"),
        (mean_of_both, "not a mean of both"),
        (alone, "each token counts once, also those in two windows"),
        (lambda windows: merge([windows[0], *windows[1:]]), "no windows, no tokens"),
    ],
)
def test_merge_hints(wrong, hint, capsys):
    check_merge(wrong)
    shown = capsys.readouterr().out
    assert shown.startswith("Not yet: merge(")
    assert hint in shown, shown


def test_the_right_ways_pass(capsys):
    check_pool(pool)
    check_pool(by_the_library)
    check_merge(merge)
    check_merge(lambda windows: (value for value in merge(windows)))
    assert capsys.readouterr().out.count("passed") == 4


def by_the_library(offsets, values, chunks):
    special = np.array([start == end for start, end in offsets])
    tokens = TokenVectors(np.array(values, dtype=float)[:, None], np.array(offsets), special)
    return pool_tokens(tokens, chunks)[:, 0]


@given(st.integers(1, 40), st.integers(2, 12), st.data())
def test_merging_takes_what_the_library_takes(tokens, size, data):
    overlap = data.draw(st.integers(0, size // 2))
    windows = token_windows(tokens, size=size, overlap=overlap)
    given_values = [
        (window.start, [-1, *((n, i) for i in range(window.start, window.end)), -1])
        for n, window in enumerate(windows)
    ]
    taken = [(n, i) for n, window in enumerate(windows) for i in range(window.first, window.last)]
    assert merge(given_values) == taken


# --- the recipes ------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["copy-library", "copy-plain"])
def test_recipes_run_alone(name, tmp_path):
    LESSON.check_recipe(name, tmp_path, EMBEDDING_MODEL=str(fetch("all-MiniLM-L6-v2")))


def test_every_recipe_is_tested():
    LESSON.check_recipes(["copy-library", "copy-plain"], plain=["copy-plain"])


# --- the numbers in the prose: read from the output that they speak of --------------------


def numbers(text):
    """The numbers of a text, with a minus of either kind."""
    found = re.findall(r"[−-]?\d[\d,]*(?:\.\d+)?", text)
    return [number.replace("−", "-").rstrip(",") for number in found]


def rows(name):
    """The lines of an output, by what stands before two blanks or more."""
    split = [re.split(r"  +", line.strip(), maxsplit=1) for line in output(name).splitlines()]
    return {row[0]: row[1] for row in split if len(row) == 2}


def test_the_search_that_fails_and_the_one_that_does_better():
    early, late = (output(f"failure-{name}").splitlines() for name in ("search", "solved"))
    assert early[-1].split()[1] == late[-1].split()[1] == "*"
    assert prose("failure-why").startswith(f"Place {early[-1].split()[0]}.")
    assert prose("solved").startswith(f"Place {late[-1].split()[0]}, from {early[-1].split()[0]}.")
    assert all("biography_tamsin_hale" in line for line in late[:2])
    assert "history_of_the_sound" in early[0] and "history_of_tarn_island" in early[1]


def test_numbers_about_the_city():
    lines = output("city-table").splitlines()
    berlin = [line.split()[:2] for line in lines[1:4]]
    vienna = [line.split()[:2] for line in lines[5:8]]
    said = prose("city-why")
    assert f"{berlin[1][0]} and {berlin[2][0]}. Read with the first, it is" in said
    assert f"it is {berlin[1][1]} and {berlin[2][1]}" in said
    gains = [float(late) - float(early) for early, late in berlin]
    assert max(gains) == gains[2] and abs(gains[0]) < 0.05
    assert f"{vienna[2][0]} early and {vienna[2][1]} late" in prose("library")
    without, counted, encode = (line.split()[-1] for line in output("special").splitlines())
    assert counted == encode and without == berlin[1][0]
    assert f"{counted} with [CLS] and [SEP]" in prose("library")
    assert f"{without} without, and {berlin[1][1]} late" in prose("library")


@pytest.mark.slow
def test_the_third_sentence_loses_some_of_its_own_subject():
    embedder, text = load_embedder(), "\n".join(output("city-table").splitlines()[1:4])
    sentences = [line.split(maxsplit=2)[2] for line in text.splitlines()]
    document = Document(" ".join(sentences))
    starts = [document.text.index(sentence) for sentence in sentences]
    chunks = [Chunk(t, i, i + len(t)) for t, i in zip(sentences, starts, strict=True)]
    state = embedder.encode(["a state"])[0]
    early, late = (f(document, chunks, embedder=embedder)[2] for f in (embed_early, embed_late))
    assert late @ state < early @ state - 0.1


@pytest.mark.slow
def test_the_cell_for_a_longer_model_changes_no_name_that_others_use(monkeypatch, capsys):
    monkeypatch.setenv("LATE_MODEL", str(fetch("all-MiniLM-L6-v2")))
    text = "Berlin is a city."
    asked = object()
    names = {"os": os, "load_embedder": load_embedder, "asked": asked, "text": text}
    names |= {"embed_early": embed_early, "embed_late": embed_late}
    names["cities"] = [Chunk(text, 0, len(text))]
    exec(cells(NOTEBOOK)["long-model"].source, names)
    assert names["asked"] is asked and names["text"] is text
    assert "embed_late" in capsys.readouterr().out


def test_numbers_about_windows_and_pronouns():
    toy = output("windows-toy")
    fits, unseen = re.search(r"(\d+) of 48", toy)[1], re.search(r"(\d+)% of them", toy)[1]
    said = prose("windows-why")
    assert f"{fits} of the 48 documents do not fit" in said and f"history {unseen}%" in said
    assert f"sees {100 - int(unseen)}% of the rest" in prose("key-points")
    assert re.search(r"[\d,]+ tokens, ", toy)[0].split()[0] in prose("key-points")
    found = {name: values.split() for name, values in rows("she-table").items()}
    near, far, rest = (
        found[n] for n in ("'she', name just before", "'she', no name near", "all others")
    )
    said = prose("she-why")
    assert near[0] == "8" and f"{near[1]} to {near[2]}" in said
    assert f"{far[0]} others with a pronoun: {far[1]} to {far[2]}" in said
    assert f"({rest[1]} to {rest[2]})" in said
    assert f"from {near[1]} to {near[2]}" in prose("when")


def test_numbers_about_the_two_tasks():
    shown = output("score")
    verdicts = re.findall(r"(\S+ against \S+) +(\S+) \[.*?\] +(\w+)|(\S+ \+ .*)", shown)
    assert [v[2] for v in verdicts if v[2]].count("better") <= 1
    [better] = [line for line in shown.splitlines() if line.endswith("better")]
    assert better.strip().startswith("name + encode against encode")
    gain = numbers(better)[0]
    for name in ("when", "plot-why", "key-points"):
        assert gain in numbers(prose(name))
    late = [numbers(line)[0] for line in shown.splitlines() if "late against early" in line]
    assert f"late against early {late[0]} points, undecided" in prose("key-points")
    assert f"*Where in the document*: {late[1]}, undecided" in prose("key-points")


def test_numbers_about_what_windows_lose():
    alike = {line.split()[0]: line.split()[-1] for line in output("windows-measure").splitlines()}
    said = prose("windows-lose")
    assert f"at {alike['254']} of those" in said and f"with 62 tokens, at {alike['62']}" in said
    lines = {line.split()[0]: line for line in output("windows-score").splitlines()}
    verdict = {name: line.split()[-1] for name, line in lines.items()}
    assert verdict == {"254": "undecided", "126": "better", "62": "better", "early": "better"}
    gain = {name: numbers(line.split(":")[1])[0] for name, line in lines.items()}
    assert f"found {gain['62']} points better" in said
    assert f"With 126 it is {gain['126']} points, and read alone {gain['early']}" in said
    assert f"{gain['early']} points of the same score, on 46 questions" in prose("when")
    assert output("windows-measure").startswith("5 documents, 46 questions")


def test_facts_about_faults():
    assert "in no span: ['.', 'no', 'final', 'mark']" in output("faults-spans")
    stops = [line.split()[0] for line in output("faults-stop").splitlines()]
    assert "{}, {} and {}".format(*stops) in prose("faults-units")
    held = [int(n) for n in re.findall(r"has (\d+)$", output("faults-characters"), re.M)]
    assert held[0] == 46 and held[1:] == [0, 0] and "There are 46 vectors" in prose("exercise-2")
    nothing, chunks = re.search(r"(\d+) of (\d+) chunks", output("faults-truncated")).groups()
    assert (int(nothing), chunks) == (int(chunks) - 2, "32")
    assert "two chunks of 32 have something" in prose("exercise-2")


def test_numbers_of_the_guide_stand_above_it():
    cells_above = ("finale-load", "finale-python", "finale-mean", "finale-types")
    shown = "".join(map(output, (*cells_above, "finale-types-best", "score")))
    known = set(numbers(shown)) | {number.strip("-") for number in numbers(shown)}
    # Counts, sizes, other notebooks, and the confidence of an interval.
    allowed = {"1", "4", "6", "7", "9", "17", "20", "30", "34", "44", "50", "64", "95", "100"}
    allowed |= {"200", "254", "352", "1,000"}
    for name in ("finale-by", "kinds-why", "plot-why"):
        for number in numbers(prose(name)):
            assert number in known or number in allowed, number


def test_verdicts_of_the_finale():
    found = [
        line.split()[-1] for line in output("finale-python").splitlines() if " against " in line
    ]
    assert len(found) == 34 and set(found) == {"undecided", "equivalent"}
    assert found.count("equivalent") == 4 and "Four are *equivalent*" in prose("finale-by")
    said = prose("finale-by")
    assert f"The other {found.count('undecided')} are *undecided*" in said
    shown = [line for line in output("finale-python").splitlines() if line.endswith("undecided")]
    ends = [re.search(r"\[(\S+), (\S+)\]", line).groups() for line in shown]
    assert sum(float(low) < -5 and float(high) > 5 for low, high in ends) > len(ends) / 2
    lines = output("finale-mean").splitlines()
    assert [line.split()[-1] for line in lines] == ["better", "better"]
    gains = [numbers(line.split(":")[1])[0] for line in lines]
    for name in ("finale-by", "plot-why", "key-points"):
        assert all(gain in numbers(prose(name)) for gain in gains)


def test_signs_in_the_finale():
    signed = {
        "finale-types": {("numeric", 0, "32-"), ("history", 0, "40-"), ("history", 6, "43-")},
        "finale-types-best": set(),
    }
    for cell, signs in signed.items():
        lines = [line for line in output(cell).splitlines() if "," not in line and "±" not in line]
        assert len(lines) == 10 + 15 + 7
        values = [(line.split()[0], line.split()[-10:-1]) for line in lines]
        assert signs == {
            (group, place, one)
            for group, row in values
            for place, one in enumerate(row)
            if one.endswith(("+", "-"))
        }


def test_how_many_lines_of_the_finale_could_have_a_sign():
    lines = []
    for cell in ("finale-types", "finale-types-best"):
        found = re.findall(r"^(\D+?) +(\d+)  .* (\d+)$", output(cell), re.MULTILINE)
        lines += [(int(size), int(half)) for _, size, half in found]
    sizes = [size for size, _ in lines]
    said = prose("kinds-why")
    assert f"in {sum(size >= 20 for size in sizes)} of the {len(lines)} lines" in said
    assert f"Groups have {min(sizes)} to {max(sizes)} questions" in said
    assert sum(half >= 10 for _, half in lines) > len(lines) / 2


def test_what_is_said_of_the_plot():
    """Every blue dot lies to the right of its grey one; on Python the blue ones are close."""
    found = [re.findall(r"([\d.]+) \[", line) for line in output("finale-load").splitlines()[1:]]
    rows = [[float(mean) for mean in row] for row in found]
    assert len(rows) == 9
    assert all(course < best and python < top for course, best, python, top in rows)
    python_best = [row[3] for row in rows]
    assert max(python_best) - min(python_best) < 2


def test_the_finale_runs_without_the_cells_before_it(monkeypatch):
    """A room without the weights can do it."""
    monkeypatch.chdir(NOTEBOOK.parent)
    names = {}
    for name, cell in cells(NOTEBOOK).items():
        if cell.cell_type == "code" and name.startswith("finale"):
            exec(cell.source, names)
    assert len(names["figure"].axes) == 3
