"""Exercises, recipes and the numbers in the prose of notebook 6."""

import re
from functools import cache, partial

import pytest
from lesson import ROOT, Lesson, cells

from chunking_lib.benchmark import load_benchmark
from chunking_lib.exercises_06 import MONTHS, check_is_heading, check_join
from chunking_lib.headings import find_headings
from chunking_lib.length import token_length
from chunking_lib.models import load_tokenizer
from chunking_lib.recursive import split_recursive
from chunking_lib.sentences import sentence_spans

LESSON = Lesson("06_section_and_topic")
NOTEBOOK, output, prose = LESSON.notebook, LESSON.output, LESSON.prose


# --- the exercises ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["exercise-1-stub", "exercise-2-stub"])
def test_stubs_do_not_pass_and_do_not_raise(name, capsys):
    LESSON.check_stub(name, capsys)


@pytest.mark.parametrize("name", ["exercise-1-solution", "exercise-2-solution"])
def test_solutions_pass(name, capsys):
    LESSON.check_solution(name, capsys, begins="passed: ")


NUMBER = r"\s*\d{1,3}(?:\.\d{1,3})*\.?\s+(\S.*)"


def is_heading(line, number=NUMBER, capital=str.isupper, marks=".,:;", digit=True, months=MONTHS):
    match = re.fullmatch(number, line.rstrip())
    if not match:
        return False
    words = match[1]
    if words[-1] in marks or (digit and words[-1].isdigit()) or words in months:
        return False
    return capital(words[0])


@pytest.mark.parametrize(
    ("wrong", "line", "hint"),
    [
        (lambda line: None, "2 Fares", "is there a `return`?"),
        (lambda line: ..., "2 Fares", "is there a `return`?"),
        (lambda line: False, "2 Fares", "words that begin with a capital letter"),
        (lambda line: True, "A day ticket", "it does not begin with a number"),
        (lambda line: line[99], "2 Fares", "IndexError"),
        (partial(is_heading, number=r"\s*\d+ (\S.*)"), "1. DEFINITIONS", "one dot may stand"),
        (partial(is_heading, number=r"\s*\d+\.? +(\S.*)"), "2.3.4", "dots inside"),
        (partial(is_heading, number=r"\d{1,3}[\d.]*\s+(\S.*)"), "4 RESULTS", "before the number"),
        (partial(is_heading, marks=",:;"), "3. Close", "it ends with a full stop"),
        (partial(is_heading, marks=".,;"), "2.1 In this", "it ends with a colon"),
        (partial(is_heading, marks=".,:;?"), "5 Why", "none of the four marks"),
        (partial(is_heading, capital=bool), "7 of them", "no capital letter"),
        (partial(is_heading, capital=re.compile("[A-Z]").match), "6 Ü", "is a capital letter"),
        (partial(is_heading, number=r"\s*\d+[.\d]*\s+(\S.*)"), "2024 Report", "four digits"),
        (partial(is_heading, months=()), "25 December", "a date"),
        (partial(is_heading, digit=False), "12 March 2024", "a date"),
        (lambda line: is_heading(line) and "May" not in line, "3 May", "goes on"),
        (
            lambda line: is_heading(line) and not re.search(r"[a-z] \d", line),
            "7.1 Table 3",
            "no number at the end",
        ),
        (partial(is_heading, number=r"\s*\d{1,3}(?:\.\d{1,3})*\.?\s*(\D.*)"), "8.Boats", "blank"),
        (lambda line: line.strip().isdigit() or is_heading(line), "9", "no words follow"),
        (lambda line: is_heading(line) and line == line.rstrip(), "12 Tickets", "do not count"),
        (lambda line: is_heading(line) or line.endswith("   "), "13 Ask us", "full stop"),
    ],
)
def test_heading_hints(wrong, line, hint, capsys):
    check_is_heading(wrong)
    shown = capsys.readouterr().out
    assert shown.startswith(f"Not yet: is_heading('{line}") or line in shown.split("\n")[0], shown
    assert hint in shown, shown


def join(levels, sizes, min_size, size, small=min, level=0, fits=True, strict=True):
    chunks = []
    for number, own in enumerate(sizes):
        total = sum(sizes[one] for one in chunks[-1]) if chunks else 0
        below = small(total, own) < min_size if strict else small(total, own) <= min_size
        same = level is None or not chunks or levels[number] >= levels[chunks[-1][level]]
        if chunks and below and same and (not fits or total + own <= size):
            chunks[-1].append(number)
        else:
            chunks.append([number])
    return chunks


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        (lambda *given: None, "is there a `return`?"),
        (lambda *given: [], "section 0 is in 0 chunks"),
        (lambda levels, *rest: [[i] for i in range(len(levels))], "joins the chunk before it"),
        (lambda levels, *rest: [list(range(len(levels)))], "are not below min_size=10"),
        (lambda levels, *rest: list(range(len(levels))), "a list of lists"),
        (lambda levels, *rest: ["0"], "a list of lists"),
        (lambda levels, *rest: levels[99], "IndexError"),
        (lambda *given: join(*given)[::-1], "keep the order"),
        (lambda *given: [*join(*given), []], "a chunk has no section"),
        (lambda *given: [*join(*given), [99]], "their numbers end before 3"),
        (lambda *given: [*join(*given), [0]], "section 0 is in 2 chunks"),
        (partial(join, fits=False), "are above size=100"),
        (partial(join, level=None), "higher than level 2"),
        (partial(join, level=-1), "is not higher"),
        (partial(join, small=lambda total, own: own), "the chunk before is below min_size=10"),
        (partial(join, small=lambda total, own: total), "the section is below min_size=10"),
        (partial(join, small=max), "below min_size=10, together they are"),
        (partial(join, strict=False), "are not below min_size=10"),
        (lambda a, b, least, size: join(a, b, least, size - 1), "together they are at most"),
    ],
)
def test_join_hints(wrong, hint, capsys):
    check_join(wrong)
    shown = capsys.readouterr().out
    assert shown.startswith("Not yet: join(")
    assert hint in shown, shown


def test_the_right_ways_pass(capsys):
    check_is_heading(is_heading)
    check_is_heading(partial(is_heading, number=r"[ \t]*\d{1,3}(?:\.\d{1,3})*[.]?[ \t]+(\S.*)"))
    check_join(join)
    check_join(lambda *given: (tuple(group) for group in join(*given)))
    assert capsys.readouterr().out.count("passed") == 4


# --- the recipes ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["copy-library", "copy-plain"])
def test_recipes_run_alone(name, tmp_path):
    LESSON.check_recipe(name, tmp_path)


def test_every_recipe_is_tested():
    LESSON.check_recipes(["copy-library", "copy-plain"], plain=["copy-plain"])


# --- the numbers in the prose: recomputed, or read from the output that they speak of -----


@cache
def documents():
    return load_benchmark(ROOT / "data").documents


@cache
def defined():
    """Return what the cells by hand define."""
    names = {"documents": documents(), "re": re}
    for name in ("hand-regex", "hand-numbered", "hand-sections"):
        exec(cells(NOTEBOOK)[name].source, names)
    return names


def test_the_search_that_fails():
    places = dict(re.findall(r"place +(\d+)  [\d.]+  (.+)", output("failure-mended")))
    places = {name: int(place) for place, name in places.items()}
    last = output("failure-search").splitlines()[-1].split()[0]
    assert prose("failure-predict").startswith(f"Place {last}.")
    assert places["as it was"] == int(last) and places["both"] == 1
    alone = places["with the headings above"], places["its own section alone"]
    assert "ten places or more up, to {} and to {};".format(*alone) in prose("hand")
    assert int(last) - max(alone) >= 10
    assert output("failure-sections").startswith(" 1 ")


def test_numbers_about_headings_by_hand(capsys):
    names = defined()
    lines = [x for x in names["contract"].text.split("\n") if names["NUMBER"].fullmatch(x)]
    assert f"{len(lines)} lines" in output("hand-regex")
    assert prose("hand-rules").startswith(f"{len(lines)} lines, and ten of them are headings")
    assert len(names["numbered"](names["contract"].text)) == 10
    assert "47 headings agree" in output("library-agree")


def test_what_only_looks_like_a_heading():
    rows = re.findall(r"^(.+?) +by hand (\d), library (\d)", output("hard-cases"), re.MULTILINE)
    assert [name for name, mine, theirs in rows if mine != "0" and theirs == "0"] == [
        "contents",
        "a list",
        "dates",
        "clauses",
    ]
    assert rows[-1] == ("headings", "3", "3")


def test_numbers_about_sizes():
    shares = re.findall(r"(\d+)% of them", output("sizes-toy"))
    assert f"from {shares[0]}% to {shares[1]}%" in prose("measure")
    assert "['1 Fares'] '1.1 Dogs\\n\\nFree.\\n\\n1.2 Bikes" in output("sizes-toy")
    chunks = [line.split("] ")[1] for line in output("sizes-toy").splitlines()[:3]]
    first, joined, last = (len(chunk.strip("'").replace("\\n", "\n")) for chunk in chunks)
    assert last < 25 and joined + 2 + last == 61 <= 65 < first + 2 + len("1.1 Dogs\n\nFree.")
    assert "the two together would be 61" in prose("measure")


def verdicts(shown):
    found = re.findall(r"^ *(.+?) against (.+?): (\S+) \[.*\] (\w+)$", shown, re.MULTILINE)
    return {(one, other): (points, verdict) for one, other, points, verdict in found}


def test_numbers_about_kinds():
    shown = output("kinds-score")
    assert shown.count("undecided") == shown.count(" against ") == 6
    assert "none of the six differences is decided" in prose("when")
    tokens, begun, headings = token_length(load_tokenizer()), 0, 0
    for document in documents().values():
        found = [heading.start for heading in find_headings(document)]
        if len(found) >= 5:
            starts = {c.start for c in split_recursive(document, size=200, length=tokens)}
            begun, headings = begun + len(starts & set(found)), headings + len(found)
    assert f"begins at {begun} of their {headings}." in prose("when")


def test_numbers_about_the_snippet():
    shown = output("snippet-count")
    longest = re.search(r"longest chunk: ([\d,]+) tokens", shown)[1]
    alone, of = re.search(r"in one chunk: (\d+) of (\d+)", shown).groups()
    wrong = re.findall(r"(\d+) wrong", shown)
    said = prose("snippet-why")
    assert "last branch: 0" in shown
    assert int(alone) == sum(name.endswith(".txt") for name in documents())
    assert f"has {longest} tokens" in said and f"{alone} of the {of} texts" in said
    assert f"{wrong[0]} wrong headings in the drivers' manual and {wrong[1]} in the crew's" in said


def test_numbers_about_the_article():
    sentences, runs, each = re.search(
        r"(\d+) sentences, (\d+) runs, ([\d.]+)", output("article-run")
    ).groups()
    assert f"{sentences} sentences and {runs} runs, {each} sentences each" in prose("noise")


def test_numbers_about_agreement():
    rows = dict(re.findall(r"^(\w+, \d at a time): (\S+) \[", output("noise-table"), re.MULTILINE))
    said = prose("number")
    assert f"agree by {rows['LDA, 1 at a time']} of 100" in said
    assert f"by {rows['LDA, 5 at a time']} with passages" in said
    assert f"NMF {rows['NMF, 1 at a time']} and {rows['NMF, 5 at a time']}" in said
    found = verdicts(output("noise-table"))
    points, verdict = found["NMF, 5 at a time", "LDA, 5 at a time"]
    assert verdict == "better" and f"agrees by {points} points more than LDA" in said
    assert found["LDA, 5 at a time", "LDA, 1 at a time"][1] == "undecided"
    sizes = [len(sentence_spans(d.text)) for n, d in documents().items() if n.endswith(".txt")]
    assert f"have {min(sizes)} to {max(sizes)} sentences" in said
    assert f"two seeds agree by {rows['LDA, 1 at a time']} of 100" in prose("key-points")


def test_numbers_about_seams():
    by_pk, by_window = map(verdicts, output("seams-contrasts").split("(1 - WindowDiff)"))
    said = prose("summary")
    for pair, (points, verdict) in by_pk.items():
        shown = f"{points.replace('-', '−')} points" in said
        assert shown == (verdict != "undecided"), pair
    different = [pair for pair in by_pk if by_pk[pair][1] != by_window[pair][1]]
    assert different == [("LDA, passages", "LDA, sentences")]
    assert (by_pk[different[0]][1], by_window[different[0]][1]) == ("equivalent", "better")
    even = "every so many sentences"
    assert by_pk["NMF, smoothed", even][1] == "undecided"
    assert f"by {by_pk['clusters', even][0]} points of Pk" in prose("key-points")
    rows = {line[:25].strip(): line[25:].split() for line in output("seams-table").splitlines()}
    assert f"Pk of {rows['LDA, sentences'][0]} is above" in said
    assert float(rows["LDA, sentences"][0]) > float(rows["not cut"][0])
    assert f"in {rows['LDA, sentences'][2]} parts" in said
    assert f"TextTiling makes {rows['TextTiling'][2]} parts" in said


def test_numbers_about_the_number_of_topics():
    found = {float(value) for value in re.findall(r"\d: +([\d.]+)", output("number-topics"))}
    best, second = sorted(found)[:-3:-1]
    assert f"{best} for three topics, {second} for two" in prose("seams")


def test_numbers_taken_from_the_score():
    found = dict(re.findall(r"^(.+?)  .*?\]  (\d\d\.\d) \[", output("score"), re.MULTILINE))
    pair = "sections find {}% and recursive splitting {}%".format(
        found["sections"], found["recursive"]
    )
    assert pair in prose("title") and pair in prose("key-points")
    rows = dict(re.findall(r"^(\w.+?): .*?; (.*)$", output("kinds-score"), re.MULTILINE))
    shown = {kind: re.findall(r"[\d.]+", row) for kind, row in rows.items()}
    recursive, sections = shown["headings"][:2]
    assert f"find {sections}% and recursive splitting {recursive}%." in prose("when")
    recursive, sections = shown["no headings"][:2]
    assert f"it is {sections}% and {recursive}%" in prose("when")


def test_what_the_model_made_up():
    text = documents()["paper_boarding_times.txt"].text
    related = text[text.index("2 RELATED WORK") : text.index("3 METHODS")]
    assert "driver" not in related and "bus driver" in output("summary-map")
    shown = output("manual-replies")
    assert shown.count("Question:") == 4 and shown.count("(right)") == 2


def test_numbers_about_the_manual():
    right, of = re.search(r"for (\d+) of (\d+) questions", output("manual-answers")).groups()
    assert f"right for {right} of {of} questions" in prose("exercise-2")
    assert f"{right} of {of} questions" in prose("key-points")
