"""Headings, and the splitter at headings."""

import json
import re
from itertools import pairwise

import case_checks
import pytest
from case_checks import passes
from corpus import FOLDER
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lengths import LENGTHS
from markdown_it import MarkdownIt
from strategies import odd_text, texts
from test_cost import work_of

from chunking_lib.chunk import Chunk, Document, check_chunks
from chunking_lib.headings import find_headings
from chunking_lib.recursive import split_recursive
from chunking_lib.section import split_sections

CASES = case_checks.CASES
CANONICAL = FOLDER.parent / "canonical"
DOCUMENTS = [
    Document(path.read_text(encoding="utf-8"), id=path.name)
    for path in sorted([*FOLDER.iterdir(), *CANONICAL.glob("*.txt")])
    if path.suffix in (".txt", ".md") and ".json" not in path.name
]
PIECES = st.sampled_from(
    [
        "# One\n",
        "## Two\n",
        "### Three\n\n",
        "Article 1\nScope\n\n",
        "1. Open\n",
        "1.1 Deep\n\n",
        "2. Shut\n",
        "Title\n=====\n",
        "=====\n",
        "---\n",
        "CAPS HERE\n\n",
        "Plain words\n\n",
        "```\n",
        "A sentence here.\n\n",
        "Text that goes on and on, line\nafter line, and then stops.\n\n",
        "§ 3 Rest\n",
        "A. Law\n\n",
        "B. Rule\n\n",
        "--- 2022 ---\n\n",
        "| a | b |\n| --- | --- |\n| 1 | 2 |\n\n",
        " \u0301# accent\n",
        "\u0600 \n",
        "\n",
        "\r\n",
    ]
)
made_text = st.lists(PIECES | odd_text, max_size=14).map("".join)


def titles(text: str) -> list[tuple[int, str]]:
    return [(heading.level, heading.title) for heading in find_headings(text)]


def paths(chunks: list[Chunk]) -> list[list[str]]:
    return [chunk.metadata["path"] for chunk in chunks]


def document(name: str) -> Document:
    return next(document for document in DOCUMENTS if document.id == name)


# The fault cases and their kinds


def test_sec_numbered_list_not_headings():
    case = CASES["sec_numbered_list_not_headings"]
    chunks = split_sections(case["input"])
    passes("sec_numbered_list_not_headings", case["input"], chunks)
    assert find_headings(case["input"]) == []


@pytest.mark.parametrize(
    "text",
    [
        "To do:\n1. Open the valve\n2. Wait 3.5 minutes\n3. Close it\n\nThen go.\n",
        "Buy:\n\n1. Eggs\n\n2. Milk\n\n3. Flour\n\nThen go.\n",
        "Do this.\n\n1. Eggs\n   1.1 Brown\n   1.2 White\n2. Milk\n\nThen go.\n",
        "1. We met on Tuesday.\n\nIt rained.\n\n2. We left.\n\nIt had stopped.\n",
        "12 June 2024\n\nWe met.\n\n13 June 2024\n\nWe met again.\n",
        "1. Juni 2024\n\nEins.\n\n2. Juni 2024\n\nZwei.\n",
        "1.6.24 Montag\n\nEins.\n\n2.6.24 Dienstag\n\nZwei.\n",
        "2023\n\nA good year.\n\n2024\n\nNot so good.\n",
        "12.50 EUR\n\nPaid.\n\n13.50 EUR\n\nPaid.\n",
        "1.5 million boarded in May\n\nIt was warm.\n",
        "0900 555 014\n\nCall us.\n",
        "As said in\nArticle 5, all go. See\nSection 4\nfor more.\n\nArticle 5 applies to trams.\n",
        "No.  What\n---  ----\n1    Single   2.80\n2    Day      7.40\n\nAll paid.\n",
        "1.1 A ticket must be held before boarding, and kept\nto the end.\n\n1.2 Dogs ride free\n",
        "Dear Ms Kell,\n\nThank you.\n\nYours sincerely\n\nFintan Greaves\n\nMerrow Transit\n",
        "Roses are red\n\nViolets are blue\n\nSugar is sweet\n\nAnd so are you\n",
        "Thank you. I did not know.\n\nA. Droy\n\n-------\nFrom: G. Amory\nTo: A. Droy\n",
        "```\n# no\n\n## nor this\n```\n",
        "~~~~\n# no\n~~~\n# no\n~~~~\n",
        "---\ntitle: The front matter\n---\nText.\n",
    ],
)
def test_sec_numbered_list_not_headings_nor_what_else_only_looks_like_one(text):
    assert find_headings(text) == []


@pytest.mark.parametrize("pages", [" ....... 3", "      3", " 3", ""])
@pytest.mark.parametrize("gap", ["\n", "\n\n"])
def test_a_table_of_contents_has_no_headings(pages, gap):
    entries = ["1 Introduction", "1.1 Aim", "1.2 Means", "2 Methods", "Annex A Sheets"]
    contents = "".join(f"{entry}{pages}{gap}" for entry in entries)
    body = "".join(f"{entry}\n\nThis is the text of it.\n\n" for entry in entries)
    levels = [1, 2, 2, 1, 1]
    assert titles(f"{contents}\n{body}") == list(zip(levels, entries, strict=True))


def test_sec_overlap_mid_word():
    text = CASES["sec_overlap_mid_word"]["input"]
    chunks = split_sections(text, size=40, overlap=9)
    passes("sec_overlap_mid_word", text, chunks)


@settings(deadline=None)
@given(st.lists(st.sampled_from(["municipal", "water", "a", "networks"]), max_size=30), st.data())
def test_sec_overlap_mid_word_anywhere(words, data):
    text = " ".join(words)
    size = data.draw(st.integers(10, 60))  # the longest word and its blank
    overlap = data.draw(st.integers(0, size - 1))
    chunks = split_sections(text, size=size, overlap=overlap)
    assert check_chunks(text, chunks, size=size, overlap=overlap) == []
    starts = {match.start() for match in re.finditer(r"\S+", text)}
    assert {chunk.start for chunk in chunks} <= starts


@pytest.mark.parametrize("mark", ["", "# ", "## "])
def test_sec_titles_merged(mark):
    parts = json.loads(CASES["sec_titles_merged"]["input"])
    text = "\n\n".join(mark * (kind == "title") + words for kind, words in parts)
    chunks = split_sections(text, size=200)
    passes("sec_titles_merged", text, chunks)
    assert paths(chunks) == [["Intro"], ["Usage"]]
    # Joined when that is asked for, and only then.
    assert len(split_sections(text, size=200, min_size=30)) == 1


@settings(deadline=None, max_examples=50)
@given(
    levels=st.lists(st.integers(1, 3), min_size=1, max_size=12),
    size=st.integers(30, 200),
    least=st.integers(0, 200),
)
def test_sec_titles_merged_only_below_one_heading(levels, size, least):
    text = "".join(f"{'#' * level} H{n}\n\nText {n}.\n\n" for n, level in enumerate(levels))
    chunks = split_sections(text, size=size, min_size=min(least, size))
    assert check_chunks(text, chunks, size=size) == []
    held = [[int(n) for n in re.findall(r"# H(\d+)", chunk.text)] for chunk in chunks]
    for numbers in held:
        assert all(levels[n] >= levels[numbers[0]] for n in numbers)
    for (before, left), (after, right) in pairwise(zip(chunks, held, strict=True)):
        small = min(len(before.text), len(after.text)) < min(least, size)
        fit = after.end - before.start <= size
        assert not (small and fit and levels[right[0]] >= levels[left[0]])
    if not least:
        assert held == [[n] for n in range(len(levels))]


# Headings, kind by kind


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A\n\ntext\n\n## B ##\n\n#no\n####### no\n    # code\n", [(1, "A"), (2, "B")]),
        ("Big\n===\n\nText.\n\nSmall\n-----\n\nText.\n", [(1, "Big"), (2, "Small")]),
        ("===\nBig\n===\n\nSub\n---\n\nLow\n~~~\n\nText.\n", [(1, "Big"), (2, "Sub"), (3, "Low")]),
        ("--- 2022 ---\n\nWet.\n\n--- 2023 ---\n\nDry.\n", [(1, "2022"), (1, "2023")]),
        ("== Past ==\nText.\n=== Early ===\nText.\n", [(1, "Past"), (2, "Early")]),
        ("2.3.4 Brakes\n\nText.\n\n2.3.5 Doors\n\nText.\n",
         [(1, "2.3.4 Brakes"), (1, "2.3.5 Doors")]),
        ("1) Open\nText.\n2) Shut\nText.\n", [(1, "1) Open"), (1, "2) Shut")]),
        ("Section 2.1 Fares\nPay.\nSection 2.2 Dogs\nNo.\n",
         [(1, "Section 2.1 Fares"), (1, "Section 2.2 Dogs")]),
        ("§12a Hunde\n\nFrei.\n\n§ 13  Katzen\n\nAuch.\n", [(1, "§12a Hunde"), (1, "§ 13 Katzen")]),
        ("CHAPTER IV.\n\nThe Pool\n\nShe cried.\n\nCHAPTER V.\n\nAdvice\n\nHe spoke.\n",
         [(1, "CHAPTER IV."), (2, "The Pool"), (1, "CHAPTER V."), (2, "Advice")]),
        ("Chapter One\nLoomings\n\nCall me Ishmael.\n", [(1, "Chapter One Loomings")]),
        ("I. LAW\n\nText.\n\nA. Scope\n\nText.\n\nB. Words\n\nText.\n\nII. FACTS\n\nText.\n",
         [(1, "I. LAW"), (2, "A. Scope"), (2, "B. Words"), (1, "II. FACTS")]),
        ("".join(f"{c}. Name\n\nText.\n\n" for c in "ABCDEFGHIJ"),
         [(1, f"{c}. Name") for c in "ABCDEFGHIJ"]),
        ("PART I\nGENERAL\n\nArticle 1\nScope\n\nAll.\n\nANNEX A\nFees\n\nNone.\n",
         [(1, "PART I GENERAL"), (2, "Article 1 Scope"), (1, "ANNEX A Fees")]),
        ("ABSTRACT\n\nIn.\n\n1 Aim\n\nTo.\n\n1.1 Means\n\nBy.\n\n2 End\n\nSo.\n\nNOTES\n\nOne.\n",
         [(1, "ABSTRACT"), (1, "1 Aim"), (2, "1.1 Means"), (1, "2 End"), (1, "NOTES")]),
        ("INTRODUCTION\n\nText.\n\nNOTE: beware.\n\nEUR 48.30\n\nEND\n", [(1, "INTRODUCTION")]),
        ("概要\n\n本書は説明します。\n\n方法\n\n数えました。\n", [(1, "概要"), (1, "方法")]),
        ("1 Open\r\n\r\nText.\r\n\r\n2 Shut\r\n\r\nText.\r\n", [(1, "1 Open"), (1, "2 Shut")]),
        ("# How\n\n1. First step\n\n   So.\n\n2. Next step\n\n   So.\n\nCAPS\n\nText.\n",
         [(1, "How")]),
        ("# Law\n\n§ 1 Scope\n\nText.\n\n§ 2 Words\n\nText.\n",
         [(1, "Law"), (2, "§ 1 Scope"), (2, "§ 2 Words")]),
        # As lines come out of a PDF, with no blank ones.
        ("1 Aim\nTo count.\n2 Way\nBy day. With\n3 trams at most.\n2.1 Who\nAll.\n2.2 When\nNow.\n",
         [(1, "1 Aim"), (1, "2 Way"), (2, "2.1 Who"), (2, "2.2 When")]),
    ],
)  # fmt: skip
def test_headings_and_their_levels(text, expected):
    assert titles(text) == expected


def test_a_heading_is_where_it_says():
    text = "  Article 1\n  Scope  \n\nAll of it.\n"
    (heading,) = find_headings(Document(text))
    assert text[heading.start : heading.end] == "Article 1\n  Scope"


def test_own_markers_come_first():
    text = "22-1 / Quay\nWet.\n22-2 / Pier\nDry.\n\n# 22-3 / Yard\n\n```\n22-4 / no\n```\n"
    entry = re.compile(r"\d\d-\d / (?P<title>.*)")
    found = find_headings(text, markers=[(entry, 3)])
    assert [(h.level, h.title) for h in found] == [(3, "Quay"), (3, "Pier"), (1, "22-3 / Yard")]
    whole = find_headings(text, markers=[(re.compile("# 22"), 2), (entry, 3)])
    assert (whole[2].level, whole[2].title) == (2, "# 22-3 / Yard")
    chunks = split_sections(text, markers=[(entry, 3)])
    assert paths(chunks) == [["Quay"], ["Pier"], ["22-3 / Yard"]]


MARKERS = [(re.compile(one), level) for level, one in enumerate(("=", "-", "[A-Z]{2}", "[a-z]"), 1)]


@settings(deadline=None)
@given(text=made_text, markers=st.lists(st.sampled_from(MARKERS)), size=st.integers(1, 30))
@example(text="Fees\n====\nText.\n", markers=MARKERS[:1], size=20)
@example(text="====\nFees\n====\nText.\n", markers=MARKERS[:1], size=9)
@example(text="Article 1\nFEES\nText.\n\nArticle 2\nText.\n", markers=MARKERS[2:3], size=20)
def test_a_line_is_in_one_heading_whatever_the_markers(text, markers, size):
    found = find_headings(text, markers=markers)
    assert all(one.end <= other.start for one, other in pairwise(found))
    assert check_chunks(text, split_sections(text, size=size, markers=markers), size=size) == []


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.md")), ids=lambda path: path.stem)
def test_headings_of_markdown_are_those_of_its_parser(path):
    text = path.read_text(encoding="utf-8")
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    expected = [(int(t.tag[1]), t.map[0]) for t in tokens if t.type == "heading_open"]
    found = [(h.level, text.count("\n", 0, h.start)) for h in find_headings(text)]
    assert found == expected


ARTICLE = re.compile(r"Article \d+ ")


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("safety_regulations.txt", [10, 23]),
        ("conditions_of_carriage.txt", [10, 25]),
        ("harbour_byelaws.txt", [7, 28]),
        ("contract_bus_31.txt", [13]),
        ("contract_ferry_construction.txt", [11]),
        ("paper_boarding_times.txt", [11, 13]),
        ("safety_committee_2022-11-10.txt", [8]),
        ("council_meeting_2024-06-12.txt", [1]),
        ("works_council_2025-02-05.txt", []),
        ("history_of_the_sound.txt", [8]),
        ("ferry_log_2024.txt", [5]),
        ("incident_log.txt", [4]),
        ("essay_waiting.txt", []),
        ("emails_petrel_successor.txt", []),
        ("emails_noise_wall.txt", []),
        ("defect_log_t6.txt", []),
        ("annual_report_2023.pdf.txt", [17, 3]),
    ],
)
def test_headings_of_the_course_s_documents(name, counts):
    """Counted by reading them."""
    levels = [level for level, _ in titles(document(name).text)]
    assert [levels.count(level) for level in sorted(set(levels))] == counts


def test_a_table_of_contents_of_the_course_is_none():
    found = [title for _, title in titles(document("safety_regulations.txt").text)]
    articles = [title for title in found if ARTICLE.match(title)]
    assert [int(title.split()[1]) for title in articles] == list(range(1, 24))


# Chunks


@settings(deadline=None)
@given(text=made_text | texts, size=st.integers(1, 80), least=st.integers(0, 80), data=st.data())
def test_the_contract_is_kept(text, size, least, data):
    overlap = data.draw(st.integers(0, size - 1))
    options = {"size": size, "overlap": overlap, "min_size": min(size, least)}
    chunks = split_sections(Document(text, "a"), **options)
    assert check_chunks(text, chunks, size=size, overlap=overlap) == []
    assert chunks == split_sections(Document(text, "a"), **options)
    assert {chunk.source for chunk in chunks} <= {"a"}
    # No chunk has text of two sections unless that was asked for.
    if not least:
        starts = [h.start for h in find_headings(text)]
        for chunk in chunks:
            inside = [place for place in starts if chunk.start < place < chunk.end]
            if inside:
                assert len(chunk.metadata["path"]) > len(inside)


@pytest.mark.parametrize("length", LENGTHS.values(), ids=LENGTHS)
@settings(deadline=None, max_examples=30)
@given(text=made_text, size=st.integers(1, 60), least=st.integers(0, 60))
def test_the_contract_is_kept_in_any_unit(length, text, size, least):
    chunks = split_sections(text, size=size, min_size=min(size, least), length=length)
    assert check_chunks(text, chunks, size=size, length=length) == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.id)
def test_the_contract_is_kept_on_the_documents_of_the_course(document):
    for size, least in ((80, 0), (500, 200), (1000, 1000)):
        chunks = split_sections(document, size=size, min_size=least)
        assert check_chunks(document, chunks, size=size, overlap=0) == []


def test_a_part_without_its_heading_has_it_as_context():
    text = "# Fares\n\n## Day\n\nAdults pay 6.50.\n\nChildren pay 3.20.\n\n## Dogs\n\nFree.\n"
    chunks = split_sections(text, size=36)
    assert [(chunk.context, chunk.text) for chunk in chunks] == [
        ("", "# Fares\n\n## Day\n\nAdults pay 6.50."),
        ("Fares > Day", "Children pay 3.20."),
        ("Fares", "## Dogs\n\nFree."),
    ]
    assert paths(chunks) == [["Fares", "Day"], ["Fares", "Day"], ["Fares", "Dogs"]]


def test_what_stands_above_the_first_heading_is_kept():
    chunks = split_sections("Print of 1 April.\n\n# Fares\n\nFree.\n")
    assert [(chunk.metadata["path"], chunk.text) for chunk in chunks] == [
        ([], "Print of 1 April."),
        (["Fares"], "# Fares\n\nFree."),
    ]
    assert split_sections(" \n\u200b\n") == []


def test_joined_sections_have_the_path_they_share():
    text = "# A\n\nText.\n\n## B\n\nText.\n\n## C\n\nText.\n\n# D\n\nText.\n"
    chunks = split_sections(text, size=34, min_size=15)
    assert paths(chunks) == [["A"], ["A", "C"], ["D"]]
    assert [chunk.context for chunk in chunks] == ["", "A", ""]
    assert paths(split_sections(text, size=200, min_size=15)) == [[]]
    siblings = split_sections("# A\n\n## B\n\nText.\n\n## C\n\nText.\n", min_size=100)
    assert (paths(siblings), siblings[0].context) == ([["A"]], "")


def test_a_fence_that_fits_is_not_cut():
    fence = "```\none\n\ntwo\n\n# three\n```"
    text = f"# Code\n\nSome words to begin with.\n\n{fence}\n\nAnd some words to end with.\n"
    for size in range(len(fence), len(text)):
        chunks = split_sections(text, size=size)
        assert any(fence in chunk.text for chunk in chunks)
        assert case_checks.faults([["even_fences"]], text, chunks) == []


def test_without_headings_it_is_cut_at_paragraphs_as_by_split_recursive():
    text = document("essay_waiting.txt").text
    ours = split_sections(text, size=3000)
    theirs = split_recursive(text, size=3000)
    assert [chunk.text for chunk in ours] == [chunk.text for chunk in theirs]


@pytest.mark.parametrize(
    "unit",
    [
        "The ferry to Holm leaves at 14:05, and the tram waits for it.\n\n",
        "# A\n\nText.\n\n",
        "# A\n",
        "1. Alpha\n\nText here.\n\n2. Beta\n\nText.\n\n",
        "Heading one\n\nSome text here.\n\n",
        "CAPS\n\nText.\n\n",
        "Title\n-----\n",
        "Article 1\nScope\n",
        "```\na\n\nb\n```\n",
        "".join(f"{n} Down\n\nText.\n\n" for n in range(50, 0, -1)),
        "1.",
        "#",
        " ",
    ],
)
def test_work_grows_with_the_text(unit):
    def split(text):
        split_sections(text, size=300, min_size=200)

    short, long = (unit * (n // len(unit)) for n in (4000, 16000))
    assert work_of(split, long) < 5 * work_of(split, short)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 0}, "size=0"),
        ({"size": 5, "overlap": 5}, "overlap=5 must be smaller than size=5"),
        ({"min_size": -1}, "min_size=-1 must be a whole number of 0 or more"),
        ({"min_size": 9, "size": 8}, "min_size=9 must be at most size=8"),
        ({"length": 3}, "length=3"),
        ({"markers": "x"}, "markers='x' must be a list of pairs"),
        ({"markers": ["x"]}, "markers has 'x'"),
        ({"markers": [("x", 1)]}, "markers has ('x', 1): it must be"),
        ({"markers": [(re.compile(b"x"), 1)]}, "markers has (re.compile(b'x'), 1)"),
        ({"markers": [(re.compile("x"), 0)]}, "a level of 1 or more"),
        ({"markers": [(re.compile("x"), True)]}, "a level of 1 or more"),
    ],
)
@pytest.mark.parametrize("text", ["", "# A\n\nText.\n"])
def test_a_wrong_argument_is_named(options, message, text):
    with pytest.raises(ValueError, match=re.escape(message)):
        split_sections(text, **options)


def test_a_text_must_be_one():
    with pytest.raises(ValueError, match="text=None must be"):
        split_sections(None)
    with pytest.raises(ValueError, match="text=5 must be"):
        find_headings(5)
