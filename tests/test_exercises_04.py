"""Exercises, recipes and the numbers in the prose of notebook 4."""

import json
import re
from functools import cache, partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lesson import ROOT, Lesson, cells

from chunking_lib.benchmark import load_benchmark
from chunking_lib.exercises_04 import _hint_cuts, check_breakpoints, check_cuts
from chunking_lib.length import token_length
from chunking_lib.metrics import pk, window_diff
from chunking_lib.models import fetch, load_embedder, load_tokenizer
from chunking_lib.recursive import split_recursive
from chunking_lib.semantic import find_breakpoints, split_semantic
from chunking_lib.sentences import sentence_spans
from chunking_lib.turns import embed_sentences, find_sentences

LESSON = Lesson("04_semantic")
NOTEBOOK, output, prose = LESSON.notebook, LESSON.output, LESSON.prose


# --- the exercises ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["exercise-1-stub", "exercise-2-stub"])
def test_stubs_do_not_pass_and_do_not_raise(name, capsys):
    LESSON.check_stub(name, capsys)


@pytest.mark.parametrize("name", ["exercise-1-solution", "exercise-2-solution"])
def test_solutions_pass(name, capsys):
    LESSON.check_solution(name, capsys)


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


@pytest.mark.slow
@pytest.mark.parametrize("name", ["copy-library", "copy-plain"])
def test_recipes_run_alone(name, tmp_path):
    LESSON.check_recipe(name, tmp_path, EMBEDDING_MODEL=str(fetch("all-MiniLM-L6-v2")))


def test_every_recipe_is_tested():
    LESSON.check_recipes(["copy-library", "copy-plain"], plain=["copy-plain"])


# --- the numbers in the prose: recomputed, or read from the output that they speak of -----


@cache
def documents():
    return load_benchmark(ROOT / "data").documents


def test_the_search_that_fails():
    place, star, _ = output("failure-search").splitlines()[2].split(maxsplit=2)
    assert star == "*" and prose("failure-why").startswith(f"Place {place}.")
    assert output("failure-solved").splitlines()[1].startswith(" 2 *")
    assert prose("sentences").startswith("Second place")


def test_numbers_about_the_sign():
    parts, spans = (part.splitlines() for part in output("sentences-split").split("\n\n"))
    assert len(parts) == 6 and "usual way makes six parts" in prose("words")
    assert "made six parts of four sentences" in prose("key-points")
    assert len(spans) == 4 and "finds the four" in prose("words")


def test_numbers_about_words_and_vectors():
    rows = [re.findall(r"-?\d\.\d\d", line) for line in output("words-cosine").splitlines()[1:]]
    counted, model = zip(*((float(a), float(b)) for a, b in rows), strict=True)
    assert counted[:4] == (0, 0, 0, 0)
    assert f"2 / √(5 × 5) = {counted[4]:.2f}" in prose("windows")
    assert min(model[:4]) == model[2] and "farthest neighbours are 2 and 3" in prose("windows")


def test_numbers_about_twelve():
    shown = dict(re.findall(r"(\w+) +cuts at (.*)", output("thresholds-list")))
    assert shown["standard_deviation"] == "[]"
    assert shown["percentile"] == "[10]" and "takes one, place 10" in prose("function")
    assert shown["gradient"] == "[9]" and "Gradient has place 9" in prose("function")
    rise = re.search(r"at 9 it is ([\d.]+)", output("thresholds-list"))[1]
    assert f"half of 0.9 − 0.3 is a rise of {rise}" in prose("function")
    names = {}
    exec(cells(NOTEBOOK)["thresholds-list"].source.splitlines()[0], names)
    rises = np.gradient(names["twelve"])
    assert names["twelve"][8:11:2] == [0.3, 0.9] and rises.argmax() == 9
    assert f"{rises[9]:.2f}" == f"{(0.9 - 0.3) / 2:.2f}" == rise


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
    cuts = {}
    for kind, those in (("all", list(documents().values())), ("plain", texts)):
        ends = chunks = 0
        for one in those:
            spans = find_sentences(one.text, sentence_spans, 200, tokens)
            vectors = embed_sentences(one.text, spans, embedder, 1)
            ends += len(find_breakpoints(1 - (vectors[:-1] * vectors[1:]).sum(axis=1)))
            chunks += len(split(one, size=200, length=tokens)) - 1
        cuts[kind] = ends, chunks
    said = prose("size-why")
    assert "only {:,} of {:,} are the threshold's".format(*cuts["all"]) in said
    assert "{:,} of {:,} are.".format(*cuts["plain"]) in said
    shares = [round(12 * (1 - ends / chunks)) for ends, chunks in cuts.values()]
    assert shares == [9, 8]  # three in four, two in three
    assert "three cuts in four" in said and "it is two in three" in said
    assert "over all documents, two in three in the plain texts" in prose("key-points")


@UNSEEN
@pytest.mark.slow
def test_numbers_about_the_cost():
    tokens = token_length(load_tokenizer())
    found = {
        name: find_sentences(d.text, sentence_spans, 200, tokens) for name, d in documents().items()
    }
    read = sum(
        tokens(
            documents()[name].text[spans[max(i - 1, 0)][0] : spans[min(i + 1, len(spans) - 1)][1]]
        )
        for name, spans in found.items()
        for i in range(len(spans))
    )
    recursive = [
        c for d in documents().values() for c in split_recursive(d, size=200, length=tokens)
    ]
    split = partial(split_semantic, embedder=load_embedder(), size=200, length=tokens)
    semantic = sum(tokens(c.text) for d in documents().values() for c in split(d))
    times = f"{(read + semantic) / sum(tokens(c.text) for c in recursive):.1f}"
    assert f"with {times} times as many tokens" in prose("when")
    assert f"with {times} times as many tokens" in prose("key-points")
    assert f"{times} times what recursive splitting costs, here and over all" in prose("exercise-2")
    chat = token_length(load_tokenizer("o200k_base"))
    longest = max(recursive, key=lambda chunk: chat(chunk.text))
    assert f"*largest* has {chat(longest.text)} tokens" in prose("measured")
    assert f"It stands in *{longest.source}*" in prose("measured")


def test_the_time_between_is_what_was_measured():
    said = json.loads((ROOT / "tests/benchmarks/embedding.json").read_text(encoding="utf-8"))
    whole, part = said["semantic"]["split_semantic"], said["semantic"]["encode"]
    assert whole["wall"] / part["wall"] < 1.05 and whole["cpu"] / part["cpu"] < 1.05
    assert "less than 1.05 times" in prose("practice")


def test_the_interval_of_the_readme_is_wider():
    [row] = re.findall(
        r"\| semantic, 200 tokens \| recursive, 200 tokens \| (\S+) \[(\S+), (\S+)\] \| (\S+) \|",
        (ROOT / "README.md").read_text(encoding="utf-8"),
    )
    shown = re.search(
        r"^semantic, 200 .*?(-?\d+\.\d) \[(\S+), (\S+)\] +(\d\S+)",
        output("score").split("against")[1],
        re.M,
    ).groups()
    assert row[0] == shown[0] and f"the same {row[0].replace('-', '−')} points" in prose("when")
    assert float(row[1]) < float(shown[1]) and float(row[2]) > float(shown[2])
    assert float(row[3]) > float(shown[3])


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
    times = f"{embedded[0] / embedded[1]:.1f} times"
    assert f"embeds {times} as many texts" in prose("when")
    assert f"{times} over all documents" in prose("exercise-2")
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


def blocks(name):
    """The rows of an output that has one block for each kind of text."""
    found = {}
    for line in output(name).splitlines():
        if line[0] != " ":
            rows = found.setdefault(line.split()[0], {})
        else:
            rows[re.split(r"  +", line.strip())[0]] = line
    return found


def contrast(kind, name):
    """The two differences, and the two verdicts, by Pk and by WindowDiff."""
    line = blocks("shifts-contrasts")[kind][name]
    points = [number.replace("-", "−") for number in re.findall(r"(-?\d+\.\d) \[", line)]
    return points, re.findall(r"\b(better|worse|undecided|equivalent)\b", line)


def test_numbers_about_seams():
    said = prose("shifts-found")
    points, verdicts = contrast("stitched", "optimal against even cuts")
    assert verdicts == ["better", "undecided"]
    assert f"{points[0]} points more pairs right than even cuts: *better*" in said
    assert f"By WindowDiff it is {points[1]} points, *undecided*" in said
    assert f"{points[0]} points more pairs" in prose("when")
    assert f"beats even cuts by {points[0]} points of Pk; by WindowDiff it is" in prose(
        "key-points"
    )
    assert contrast("stitched", "optimal against number given")[1] == ["better", "better"]
    points, verdicts = contrast("stitched", "number given against even cuts")
    assert (
        verdicts == ["undecided", "undecided"] and "({} and {} points, und".format(*points) in said
    )
    assert contrast("stitched", "recursive against even cuts")[1] == ["worse", "worse"]
    points, verdicts = contrast("stitched", "number, buffer 0 against number given")
    assert verdicts == ["undecided"] * 2 and f"{points[0]} points by Pk, undecided" in said
    points, verdicts = contrast("stitched", "beside the gap against number, buffer 0")
    assert verdicts == ["better", "undecided"] and f"{points[0]} points, better by Pk" in said
    for name in blocks("shifts-contrasts")["real"]:
        assert contrast("real", name)[1] == ["undecided"] * 2


def test_numbers_about_parts_and_hits():
    said = prose("shifts-found")
    rows = {
        kind: {name: line[20:].split() for name, line in found.items()}
        for kind, found in blocks("shifts-means").items()
    }
    for kind, found in rows.items():
        assert min(found, key=lambda name: float(found[name][0])) == "optimal"
        assert f"it makes {found['optimal'][2]} parts where there are five" in said, kind
    real, hits = rows["real"], {name: row[3] for name, row in rows["stitched"].items()}
    assert f"WindowDiff of {real['optimal'][1]} is higher" in said
    assert f"even cuts, {real['even cuts'][1]}:" in said
    assert "hit exactly, of 160" in output("shifts-means")
    some = [hits[name] for name in ("number given", "number, buffer 0", "beside the gap")]
    assert "of 160 seams {} with windows, {} without, {} beside the gap".format(*some) in said
    assert "more seams to the sentence, {1} against {0} of 160".format(*some) in prose("exercise-2")
    why = prose("smear-why")
    assert (
        "`buffer=0` hit {1} of 160 seams with as many cuts, where the usual buffer hit {0}".format(
            *some
        )
        in why
    )
    parts = {name: float(row[2]) - 1 for name, row in rows["stitched"].items()}
    assert parts["number given"] == parts["number, buffer 0"] == 4
    for name, text in (
        ("optimal", "The optimal cut hit {}, with {:,} cuts"),
        ("two passes", "two passes hit {} with {:,}"),
    ):
        cuts = int(
            re.search(text.replace("{}", hits[name]).replace("{:,}", r"([\d,]+)"), why)[1].replace(
                ",", ""
            )
        )
        assert abs(cuts / 40 - parts[name]) < 0.051


def test_numbers_about_the_eleven_windows():
    truth, one_off, missing = "000100010000", "000010010000", "000100000000"
    shown = dict(re.findall(r"^(one off|one missing) +Pk ([\d.]+)", output("shifts-pk"), re.M))
    said = prose("shifts-texts")

    def wrong(found):
        pairs = [(i, i + 2) for i in range(10)]
        return [(a + 1, b + 1) for a, b in pairs if ("1" in truth[a:b]) != ("1" in found[a:b])]

    assert (
        wrong(one_off) == [(3, 5), (5, 7)]
        and "Third and fifth" in said
        and "fifth and seventh" in said
    )
    assert wrong(missing) == [(7, 9), (8, 10)] and "seventh and ninth, eighth and tenth" in said
    assert f"2 of 11, or {shown['one off']}" in said and shown["one off"] == shown["one missing"]
    longer = [round(pk(truth, found, k=3) * 10) for found in (one_off, missing)]
    assert longer == [2, 3] and "three for *one missing* and still two for *one off*" in said


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
    assert "no longer" in output("langchain-import")


def test_numbers_about_the_optimum():
    lines = output("optimal-three").splitlines()
    made = {line[:21].strip(): re.findall(r"\d+", line[21:])[:2] for line in lines}
    said = prose("optimal-why")
    assert f"Two passes make most, {made['two passes'][0]}." in said
    assert f"With 0.2 for both it is {made['two passes, 0.2'][0]} chunks" in said
    assert "cut makes {}, of which {} are below".format(*made["optimal"]) in said
    assert made["optimal, min_size 50"][1] == "0"
    assert f"{made['optimal, min_size 50'][0]} chunks and no crumbs" in said
    assert "Both are 0.4" in prose("langchain-why")


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
