"""Markdown: the cases, the contract on documents of every kind, and what must stay whole."""

import re
from itertools import pairwise
from pathlib import Path

import case_checks
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from strategies import odd_text, texts
from test_cost import work_of

from chunking_lib.chunk import Document, check_chunks, is_blank
from chunking_lib.formats.markdown import load_markdown, split_markdown
from chunking_lib.formats.markdown_blocks import read_blocks
from chunking_lib.formats.markdown_rules import make_parser
from chunking_lib.length import token_length
from chunking_lib.models import load_tokenizer
from chunking_lib.recursive import split_recursive

CORPUS = sorted((Path(__file__).resolve().parent.parent / "data" / "corpus").glob("*.md"))
STOCK = MarkdownIt("commonmark", {"maxNesting": 100}).enable("table")
LENGTHS = {
    "characters": len,
    "MiniLM": token_length(load_tokenizer()),
    "cl100k": token_length(load_tokenizer("cl100k_base")),
    "quarters": lambda text: len(text) // 4,
    "words": lambda text: len(text.split()),
    "squares": lambda text: len(text) ** 2,
    "with two specials": lambda text: len(text) + 2,
    "not monotone": lambda text: len(text) // 3 + len(text) % 7,
}


def read(chunks):
    return [chunk.text for chunk in chunks]


def path_of(chunks, part):
    return next(chunk.metadata["path"] for chunk in chunks if part in chunk.text)


# --- cases --------------------------------------------------------------------------------


def passes(name):
    """Assert that the chunks of a case, at its size and others, do as it says; return them."""
    case = case_checks.CASES[name]
    text = case["input"]
    chunks = split_markdown(text, size=case["parameters"].get("chunk_size", 1000))
    case_checks.passes(name, text, chunks)
    assert check_chunks(text, chunks, size=case["parameters"].get("chunk_size")) == []
    return chunks


def test_md_fence_unbalanced_chunks():
    chunks = passes("md_fence_unbalanced_chunks")
    assert read(chunks) == [
        "Text before.",
        "```js\nconst a = 1;\nconst b = 2;\n```",
        "```js\nconst c = 3;\nconst d = 4;\n```",
        "Text after.",
    ]
    assert [chunk.derived for chunk in chunks] == [False, True, True, False]
    assert [chunk.metadata.get("fallback") for chunk in chunks] == [
        None,
        "fence cut",
        "fence cut",
        None,
    ]


FENCES = [("```", "py"), ("```", ""), ("~~~", "py"), ("`````", "md"), ("~~~~", "a b c")]


@pytest.mark.parametrize("prefix", ["", "  ", "> ", "> > ", ">   "])
@pytest.mark.parametrize(("marks", "info"), FENCES)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("closed", [True, False])
def test_md_fence_unbalanced_chunks_of_every_kind(prefix, marks, info, end, closed):
    """Each part of a fence that is cut is a fence of its own, with the same code."""
    code = [f"line {number} = {number}" for number in range(30)]
    lines = [marks + info, *code, *([marks] if closed else [])]
    text = end.join(["# H", "", *(prefix + line for line in lines), ""])
    chunks = split_markdown(text, size=110)
    assert check_chunks(text, chunks, size=110) == []
    assert len(chunks) > 4 and chunks[0].text.startswith("# H")
    found = []
    for chunk in chunks:
        assert chunk.metadata == {"path": ["H"], "fallback": "fence cut"} and chunk.derived
        (fence,) = [token for token in STOCK.parse(chunk.text) if token.type == "fence"]
        assert fence.info == info
        assert text[chunk.start : chunk.end] == chunk.text or chunk.text.rstrip().endswith(marks)
        found += fence.content.splitlines()
    assert found == code


@pytest.mark.parametrize("marker", ["- ", "1. ", "  * ", "> - "])
def test_a_fence_in_a_list_is_fenced_again_as_deep(marker):
    inner = "".join(c if c in "> " else " " for c in marker)
    code = [f"line {number}" for number in range(20)]
    text = f"{marker}```py\n" + "".join(f"{inner}{line}\n" for line in code) + f"{inner}```\n"
    chunks = split_markdown(text, size=80)
    assert check_chunks(text, chunks, size=80) == []
    assert all(chunk.text.startswith(f"{inner}```py\n") for chunk in chunks[1:])
    assert all(chunk.text.endswith(f"\n{inner}```") for chunk in chunks)
    assert sum(chunk.text.count("line") for chunk in chunks) == 20


@pytest.mark.parametrize(("size", "number"), [(16, 1), (15, 2)])
def test_a_fence_that_leaves_no_room_for_code_is_cut_as_text(size, number):
    text = "```py\nabcdef\n```"
    chunks = split_markdown(text, size=size)
    assert len(chunks) == number and check_chunks(text, chunks, size=size) == []
    assert not any(chunk.derived for chunk in chunks)
    assert all(chunk.metadata.get("fallback") == "fence cut" for chunk in chunks) == (number > 1)


def test_md_invisible_chars_dropped():
    passes("md_invisible_chars_dropped")


@given(st.lists(odd_text | texts, max_size=6).map("\n\n".join), st.integers(1, 60))
def test_md_invisible_chars_dropped_of_every_kind(text, size):
    chunks = split_markdown(Document(text), size=size)
    assert check_chunks(text, chunks, size=size) == []
    checks = [["slice"], ["ordered"], ["no_blank"], ["graphemes"]]
    whole = [chunk for chunk in chunks if not chunk.derived]
    assert case_checks.faults(checks, text, whole) == []


def test_md_level_jump_path():
    passes("md_level_jump_path")


@given(st.lists(st.integers(1, 6), min_size=1, max_size=20), st.booleans(), st.integers(1, 6))
def test_md_level_jump_path_of_every_kind(jumps, setext, levels):
    """The path is of the headings that no later one of the same level or above has ended."""
    parts, expected, above = [], [], {}
    for number, level in enumerate(jumps):
        line = f"{'#' * level} T{number}"
        if setext and level < 3:
            line = f"T{number}\n{'=-'[level - 1] * 3}"
        parts.append(f"{line}\n\nbody{number}.\n\n")
        if level <= levels:
            above = {other: title for other, title in above.items() if other < level}
            above[level] = f"T{number}"
        expected.append([above[other] for other in sorted(above)])
    text = "".join(parts)
    for size in (1000, 9):
        chunks = split_markdown(text, size=size, levels=levels)
        assert check_chunks(text, chunks, size=size) == []
        assert [path_of(chunks, f"body{n}.") for n in range(len(jumps))] == expected


def test_md_nested_fence():
    passes("md_nested_fence")


@pytest.mark.parametrize("mark", ["`", "~"])
@pytest.mark.parametrize("outer", [4, 5, 8])
@pytest.mark.parametrize("inner", ["```", "~~~", "```py", "    ````", "``` ```"])
def test_md_nested_fence_of_every_kind(mark, outer, inner):
    fence = mark * outer
    text = f"# A\n{fence}\n{inner}\n# no\n\n# no\n{inner}\n{fence}{mark}\n## B\ntail\n"
    chunks = split_markdown(text)
    assert [chunk.metadata["path"] for chunk in chunks] == [["A"], ["A", "B"]]
    assert read(chunks)[1] == "## B\ntail"


def test_md_nested_list_flattened():
    passes("md_nested_list_flattened")


@pytest.mark.parametrize("size", [16, 20, 30, 1000])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_md_nested_list_flattened_of_every_kind(size, end):
    """A chunk that begins inside a list keeps the indentation of its first line."""
    text = "1. one\n   - two\n     * three\n\n       more\n\n           code\n   - four\n2. five\n"
    text = text.replace("\n", end)
    chunks = split_markdown(text, size=size)
    assert check_chunks(text, chunks, size=size) == []
    for chunk in chunks:
        line = text.rfind("\n", 0, chunk.start) + 1
        assert chunk.start == line or text[line : chunk.start].strip()


def test_md_preamble_and_empty_headings():
    assert read(passes("md_preamble_and_empty_headings")) == [
        "odd remarks",
        "# Plan",
        "# Tasks\n- buy milk",
        "# Annex",
    ]


@pytest.mark.parametrize("size", [7, 30, 1000])
def test_md_preamble_and_empty_headings_of_every_kind(size):
    text = "pre\n\n# A\n## B\n\n#\n\n### C\n\n### D\nd\n\n## \n\nE\n=\n\n***\n\n# F #\n"
    chunks = split_markdown(text, size=size)
    assert check_chunks(text, chunks, size=size) == []
    assert chunks[0].metadata["path"] == [] and chunks[0].text == "pre"
    assert path_of(chunks, "## B") == ["A", "B"] and path_of(chunks, "### C") == ["C"]
    assert path_of(chunks, "### D") == ["D"] and path_of(chunks, "***") == ["E"]
    assert chunks[-1].text == "# F #" and chunks[-1].metadata["path"] == ["F"]


def test_md_unclosed_fence():
    passes("md_unclosed_fence")


@pytest.mark.parametrize(
    "opening", ["```", "~~~~", "> ```", "- ```py", "<!--", "<pre>", "<script>"]
)
@pytest.mark.parametrize("size", [10, 40, 1000])
def test_md_unclosed_fence_of_every_kind(opening, size):
    inner = "> " if opening[0] == ">" else "  " if opening[0] == "-" else ""
    text = f"# Top\nhello\n\n{opening}\n{inner}total = 7\n{inner}\n{inner}## Later\n{inner}keep me"
    chunks = split_markdown(text, size=size)
    assert check_chunks(text, chunks, size=size) == []
    assert path_of(chunks, "keep" if size < 20 else "keep me") == ["Top"]


# --- the contract ---------------------------------------------------------------------------

ATOMS = [
    "# A",
    "## B b",
    "### C",
    "#### *D*",
    "Head\n===",
    "Sub\n---",
    "#",
    "text one two three four.",
    "a",
    "longwordlongwordlongwordlongword",
    "- item",
    "  - nested",
    "    - deep",
    "1. one",
    "   para in item",
    "-",
    "> quote",
    ">",
    "> > deep",
    "> - q item",
    "> ```",
    "```py",
    "```",
    "~~~",
    "````",
    "code()",
    "    indented",
    "\tcode",
    "| a | b |\n|---|---|\n| 1 | 2 |\n| long cell here | \\| |",
    "x | y\n--|--\n1 | 2",
    "| 1 | 2 |",
    "<div>",
    "</div>",
    "<!-- c",
    "-->",
    "[a]: http://x",
    "[a]: /u 'ti",
    "---",
    "***",
    "- ```",
    "- - - x",
    "猫在睡觉。猫喜欢鱼，",
    "e\u0301 👩\u200d👧",
    "\u200b",
    "\u3000",
    "\u0600 ",
    " \u0301",
    "\ud800",
    "\x00\x0c",
]
documents = st.lists(
    st.sampled_from([*(f"{atom}\n" for atom in ATOMS), "\n", "\n", "  ", "\t"]),
    max_size=25,
).map("".join)
ends = st.sampled_from(["\n", "\n", "\r\n", "\r"])


@pytest.mark.parametrize("name", LENGTHS)
@given(documents, ends, st.integers(1, 40) | st.integers(40, 200), st.integers(1, 6))
def test_every_promise_is_kept(name, text, end, size, levels):
    text, length = text.replace("\n", end), LENGTHS[name]
    document = Document(text, id="x", metadata={"key": "value"})
    chunks = split_markdown(document, size=size, length=length, levels=levels)
    assert check_chunks(text, chunks, size=size, length=length) == []
    # Once more by other code than the library's own.
    checks = [["ordered"], ["no_blank"], ["graphemes"]]
    assert case_checks.faults(checks, text, chunks) == []
    for chunk in chunks:
        assert chunk.source == "x"
        assert set(chunk.metadata) <= {"path", "oversize", "fallback"}
        assert ("oversize" in chunk.metadata) == (length(chunk.text) > size)
        assert not chunk.derived or chunk.metadata["fallback"] == "fence cut"
    for left, right in pairwise(chunks):
        assert left.metadata["path"] is not right.metadata["path"]
    assert document == Document(text, id="x", metadata={"key": "value"})
    assert split_markdown(document, size=size, length=length, levels=levels) == chunks


def line_starts(text):
    return [0, *(m.end() for m in re.finditer(r"\r\n?|\n", text)), len(text)]


@given(documents, ends, st.integers(10, 120))
def test_what_must_stay_whole_is_whole(text, end, size):
    """Each fence, block of indented code and table row that fits, wherever it stands."""
    text = text.replace("\n", end)
    chunks, starts = split_markdown(Document(text), size=size), line_starts(text)
    source = re.sub("[\ud800-\udfff]", "?", text)
    if text.startswith("---"):  # front matter is another matter
        return
    for token in STOCK.parse(source):
        if token.type in ("fence", "code_block", "tr_open"):
            start, last = (starts[line] for line in token.map)
            if not (whole := text[start:last].rstrip()) or len(whole) > size:
                continue
            written = start + len(whole) - len(whole.lstrip())
            cut = [c for c in chunks if written < c.start < start + len(whole)]
            cut += [c for c in chunks if written < c.end < start + len(whole)]
            assert not cut, (whole, cut)


class Reader:
    """Notes the lines of every block, however deep it is."""

    def __init__(self):
        self.found = []

    def take(self, tokens):
        inner = ("inline", "thead_open", "tbody_open", "tr_open", "th_open", "td_open")
        self.found += [(t.type, t.map) for t in tokens if t.map and t.type not in inner]


MARKS = (
    *(
        "> ",
        "- ",
        "* ",
        "+ ",
        "1. ",
        "2) ",
        "7. ",
        "  ",
        "    ",
        "\t",
        "# ",
        "#",
        "---",
        "===",
        "- - -",
    ),
    *("```", "~~~", "<div>", "<!--", "-->", "<b>", "| a | b |", "|---|---|", "[a]: /x", "[a]:"),
    *(
        '"title',
        "[",
        "word",
        "é",
        "\\",
        "\xa0",
        "_ _ _",
        "1234567890. ",
        "\n",
        "\n",
        "\n\n",
        "\n> ",
    ),
)


@settings(max_examples=1000)
@given(st.lists(st.lists(st.sampled_from(MARKS), max_size=3).map("".join)).map("\n".join))
def test_each_rule_that_is_left_out_would_have_found_nothing(text):
    """The parser tries fewer rules than the stock parser, and looks for an end only once."""
    ours, stock = Reader(), Reader()
    ours.take(make_parser().parse(text, {"reader": ours}))
    stock.take(STOCK.parse(text))
    assert ours.found == stock.found


@given(documents, ends)
def test_blocks_are_those_of_the_parser(text, end):
    """Also where the library reads a table, or forgets what was read, in its own way."""
    text = text.replace("\n", end)
    if text.startswith("---"):
        return
    tokens = STOCK.parse(re.sub("[\ud800-\udfff]", "?", text))
    expected = [
        tuple(token.map)
        for token in tokens
        if token.level == 0 and token.nesting >= 0 and token.map and token.type != "inline"
    ]
    blocks = {(block.first, block.last): block for block in read_blocks(text)[0]}
    starts = line_starts(text)
    for first, last in expected:
        if text[starts[first] : starts[last]].strip():
            assert (first, last) in blocks
    rows = sum(token.type == "tr_open" for token in tokens)

    def count(block):
        return (block.kind == "row") + sum(map(count, block.children))

    assert sum(map(count, blocks.values())) == rows


@given(documents, ends, st.integers(1, 80))
def test_blocks_leave_no_gap(text, end, size):
    text = text.replace("\n", end)

    def check(blocks, start, stop):
        for block in blocks:
            assert is_blank(text[start : block.start]) or not text[start : block.start].strip()
            assert start <= block.start < block.end <= stop
            if block.children:
                assert block.children[0].start == block.start
                assert block.children[-1].end == block.end
                check(block.children, block.start, block.end)
            start = block.end
        assert not text[start:stop].strip()

    check(read_blocks(text)[0], 0, len(text))


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
@pytest.mark.parametrize("size", [40, 200, 1000])
def test_the_course_itself(path, size):
    document = load_markdown(path)
    chunks = split_markdown(document, size=size)
    assert check_chunks(document, chunks, size=size) == []
    assert {chunk.source for chunk in chunks} == {path.name}
    assert split_markdown(path, size=size) == chunks
    by_tokens = split_markdown(document, size=size, length=LENGTHS["cl100k"])
    assert check_chunks(document, by_tokens, size=size, length=LENGTHS["cl100k"]) == []
    if size == 1000:
        headings = [line for line in document.text.split("\n") if re.match("#{1,6} ", line)]
        titles = {title for chunk in chunks for title in chunk.metadata["path"]}
        assert len(titles) >= 0.8 * len(set(headings))
        # No heading stands alone at the end of a chunk, below which something stands.
        for left, right in pairwise(chunks):
            last = left.text.rpartition("\n")[2]
            assert not last.startswith("#") or right.text.startswith("#")


# --- examples ---------------------------------------------------------------------------------


def test_neighbours_of_one_section_are_merged():
    text = "# A\n\none\n\ntwo\n\n> three\n\n# B\n\nfour\n"
    assert read(split_markdown(text)) == ["# A\n\none\n\ntwo\n\n> three", "# B\n\nfour"]
    assert read(split_markdown(text, size=14)) == ["# A\n\none\n\ntwo", "> three", "# B\n\nfour"]


def test_context_is_what_does_not_stand_in_the_chunk():
    text = "# A\n\n## B\n\n" + "word " * 30 + "\n\n## C\n\nend\n"
    chunks = split_markdown(text, size=90)
    assert [(c.context, c.metadata["path"]) for c in chunks] == [
        ("", ["A", "B"]),
        ("A > B", ["A", "B"]),
        ("A", ["A", "C"]),
    ]
    assert chunks[1].embedding_text.startswith("A > B\n\nword")


def test_the_header_of_a_table_is_in_the_context_of_its_later_parts():
    rows = [f"| stop {n} | {n} |" for n in range(8)]
    text = "\n".join(
        ["# T", "", "Times:", "", "| Stop | Min \\| s |", "|:--|--:|", *rows, "", "end"]
    )
    chunks = split_markdown(text, size=70)
    assert check_chunks(text, chunks, size=70) == []
    assert read(chunks)[0].startswith("# T\n\nTimes:\n\n| Stop |")
    header = "| Stop | Min \\| s |\n| --- | --- |"
    assert [chunk.context for chunk in chunks] == ["", *[f"T\n\n{header}"] * (len(chunks) - 1)]
    assert len(chunks) > 2 and chunks[-1].text.endswith("end")
    assert [row for row in rows if any(row in part for part in read(chunks))] == rows


def test_the_header_of_a_table_in_a_quote_or_a_list():
    for prefix, inner in (("> ", "> "), ("- ", "  ")):
        lines = ["| a | b |", "|---|---|", *(f"| {n} | {n} |" for n in range(9))]
        text = "\n".join((inner if number else prefix) + line for number, line in enumerate(lines))
        chunks = split_markdown(text, size=40)
        assert check_chunks(text, chunks, size=40) == []
        assert {chunk.context for chunk in chunks[1:]} == {"| a | b |\n| --- | --- |"}
        assert chunks[0].context == ""


def test_a_row_that_is_too_long_is_cut_and_marked():
    text = "| a | b |\n|---|---|\n| 1 | 2 |\n| " + "word " * 20 + "| x |\n| 3 | 4 |\n"
    chunks = split_markdown(text, size=50)
    assert check_chunks(text, chunks, size=50) == []
    assert [chunk.metadata.get("fallback") for chunk in chunks] == [
        None,
        "row cut",
        "row cut",
        "row cut",
        None,
    ]
    assert chunks[-1].text == "| 3 | 4 |" and all("| a |" in c.context for c in chunks[1:])


def test_a_header_longer_than_the_size_is_no_context():
    text = f"| {'a' * 60} | b |\n|---|---|\n" + "| 1 | 2 |\n" * 9
    chunks = split_markdown(text, size=50)
    assert check_chunks(text, chunks, size=50) == []
    assert {chunk.context for chunk in chunks} == {""}


def test_code_that_fits_is_whole_and_its_heading_apart():
    code = "```\n" + "x = 1\n" * 10 + "```"
    text = f"# H\n\n{code}\n\n# I\n\n" + "    y = 2\n" * 8
    chunks = split_markdown(text, size=len(code))
    assert read(chunks)[:2] == ["# H", code]
    assert chunks[1].context == "H"
    assert read(split_markdown("    a\n\n    b\n", size=8)) == ["    a", "    b"]


def test_indented_code_is_cut_at_its_lines_and_marked():
    text = "# H\n\n" + "    y = 2\n" * 9
    chunks = split_markdown(text, size=35)
    assert check_chunks(text, chunks, size=35) == []
    assert {chunk.metadata["fallback"] for chunk in chunks} == {"code cut"}
    assert chunks[0].text == "# H\n\n    y = 2\n    y = 2\n    y = 2"
    assert all(chunk.text.startswith("    y") for chunk in chunks[1:])


def test_a_heading_takes_the_beginning_of_the_paragraph_along():
    text = "# Heading\n\n" + "A sentence here. " * 6
    chunks = split_markdown(text, size=100)
    assert read(chunks)[0] == "# Heading\n\n" + " ".join(["A sentence here."] * 5)
    assert read(chunks)[1] == "A sentence here."


@pytest.mark.parametrize(
    ("text", "front"),
    [
        ("---\ntitle: x\n# note\n---\n\n# A\n", "---\ntitle: x\n# note\n---"),
        ("---\r\na: b\r\n...\r\nText\r\n", "---\r\na: b\r\n..."),
        ("+++\na = 1\n\nb = 2\n+++\nText\n", "+++\na = 1\n\nb = 2\n+++"),
        ("\ufeff---\na: b\n---\nText\n", "\ufeff---\na: b\n---"),
    ],
)
def test_front_matter_stands_apart(text, front):
    chunks = split_markdown(Document(text))
    assert chunks[0].text == front and chunks[0].metadata == {"path": []}
    assert check_chunks(text, chunks) == [] and len(chunks) == 2


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("---\n\n# A\n\n---\n\nx", ["A"]),  # lines across the page
        ("---\na: b\n\n# A\n\nx", ["A"]),  # no end
        ("\n---\na: b\n---\nx", ["a: b"]),  # a heading, for it is not the first line
        ("+++", []),
        ("---", []),
        ("---\n---\n", []),
    ],
)
def test_what_is_no_front_matter(text, path):
    chunks = split_markdown(text)
    assert check_chunks(text, chunks) == []
    assert chunks[-1].metadata["path"] == path


def test_html_blocks_hide_what_is_in_them():
    text = "# A\n\n<!--\n# no\n\n# no\n-->\n\n<pre>\n# no\n\n# no\n</pre>\n\n"
    text += "<div>\n# no\n\n# B\n</div>\n"
    assert [chunk.metadata["path"] for chunk in split_markdown(text)] == [["A"], ["B"]]


def test_headings_in_quotes_and_lists_begin_no_section():
    text = "# A\n\n> # q\n\n- # l\n  text\n\n    # code\n"
    (chunk,) = split_markdown(text)
    assert chunk.metadata["path"] == ["A"] and chunk.text == text.rstrip()


def test_the_target_of_a_link_is_no_heading_and_not_lost():
    text = "# A\n\n[a]: /u\n[b]: /v\n---\n\ntext\n"
    (chunk,) = split_markdown(text)
    assert chunk.metadata["path"] == ["A"] and chunk.text == text.rstrip()


@pytest.mark.parametrize(
    ("heading", "title"),
    [
        ("# *Fares* and `a_b`", "Fares and a_b"),
        ("# [Link](http://x) ![pic *x*](y) #", "Link pic x"),
        ("# 10\u00a0EUR &amp; \\*more\\*", "10\u00a0EUR & *more*"),
        ("One\n  *two*\n===", "One two"),
        ('# <a id="x"></a>Title', "Title"),
        ("# [x](\ud800) y", "x y"),
        ("# 🇩🇪 猫 e\u0301", "🇩🇪 猫 e\u0301"),
        (f"# {'x' * 300}", "x" * 199 + "…"),
        ("#\tTab", "Tab"),
        ("# C#", "C#"),
    ],
)
def test_the_words_of_a_heading(heading, title):
    text = f"{heading}\n\nbody"
    chunks = split_markdown(text, size=4)
    assert chunks[-1].metadata["path"] == [title] and chunks[-1].context == title
    assert check_chunks(text, chunks, size=4) == []


def test_levels():
    text = "# A\n\n## B\n\none\n\n### C\n\ntwo\n\n## D\n\nthree\n"
    assert len(split_markdown(text)) == 3
    assert read(split_markdown(text, levels=2)) == [
        "# A\n\n## B\n\none\n\n### C\n\ntwo",
        "## D\n\nthree",
    ]
    # The deeper heading still stands with what is below it.
    assert read(split_markdown(text, levels=1, size=25)) == [
        "# A\n\n## B\n\none",
        "### C\n\ntwo\n\n## D\n\nthree",
    ]


@pytest.mark.parametrize("text", ["", "\n", " \t\r\n", "\ufeff", "\u200b\n\n\u200b"])
def test_nothing_to_read_gives_no_chunks(text):
    assert split_markdown(text) == []


# --- loading and arguments --------------------------------------------------------------------


def test_load_markdown(tmp_path):
    file = tmp_path / "notes.md"
    file.write_bytes(b"\xef\xbb\xbf# A\r\n\r\nb\r\n")
    assert load_markdown(file) == Document("# A\r\n\r\nb\r\n", id="notes.md")
    assert load_markdown(file, id="x").id == "x"
    assert load_markdown("\ufeff# A") == load_markdown(b"# A") == Document("# A")
    (chunk,) = split_markdown(file)
    assert (chunk.source, chunk.text) == ("notes.md", "# A\r\n\r\nb")


@pytest.mark.parametrize("source", [None, 3, ["# A"]])
def test_other_sources_are_refused(source):
    with pytest.raises(ValueError, match="must be a str, bytes or a Path"):
        split_markdown(source)


def test_files_that_cannot_be_read_are_named(tmp_path):
    with pytest.raises(ValueError, match=r"missing\.md: No such file"):
        split_markdown(tmp_path / "missing.md")
    (tmp_path / "latin.md").write_bytes(b"caf\xe9")
    with pytest.raises(ValueError, match=r"latin\.md: byte 0xe9 at 3 is not utf-8"):
        load_markdown(tmp_path / "latin.md")


@pytest.mark.parametrize("size", [0, -1, 1.5, "9", None, True])
@pytest.mark.parametrize("text", ["", "# A"])
def test_a_bad_size_fails_as_elsewhere(size, text):
    with pytest.raises(ValueError) as expected:
        split_recursive(text, size=size)
    with pytest.raises(ValueError, match=re.escape(str(expected.value))):
        split_markdown(text, size=size)


@pytest.mark.parametrize("length", [None, "len", lambda text: None, lambda text: -1])
def test_a_bad_length_fails_as_elsewhere(length):
    with pytest.raises(ValueError, match=r"length"):
        split_markdown("# A", length=length)


@pytest.mark.parametrize("levels", [0, 7, True, "2", None, 1.5])
def test_a_bad_level_is_refused(levels):
    with pytest.raises(ValueError, match=r"levels=.* must be a whole number from 1 to 6"):
        split_markdown("# A", levels=levels)


# --- cost -------------------------------------------------------------------------------------

LINE = "The ferry to Holm leaves at 14:05, and the tram waits for it. "
UNITS = {
    "paragraphs": LINE * 3 + "\n\n",
    "one paragraph": LINE,
    "headings": "# Head\n",
    "underlined": "Head\n===\n\n",
    "all levels": "".join(f"{'#' * n} H\n\ntext\n\n" for n in range(1, 7)),
    "list": f"- {LINE}\n  - nested\n",
    "short items": "1. a\n",
    "deep items": "- a\n  - b\n    1. c\n",
    "quote": f"> {LINE}\n>\n",
    "fences": "```py\n" + "x = 1\n" * 30 + "```\n\n",
    "tables": "| a | b |\n|---|---|\n| c | d |\n\n",
    "rows": "| a | b |\n",
    "html": "<div>\n<p>x</p>\n</div>\n",
    "link targets": "[a]: http://x.y/z 'title'\n",
    "brackets": "[\n",
    "lines": "---\n",
    "blanks": "\n",
    "Windows": f"# A\r\n\r\n- {LINE}\r\n",
    "Chinese": "猫在睡觉猫喜欢鱼船开走了",
}
BEGINNINGS = {
    "": "",
    "in a fence": "```\n",
    "in a table": "| a | b |\n|---|---|\n",
    "in front matter": "---\na: b\n",
    "in a comment": "<!--\n",
    "under a long heading": f"# {'a' * 500}\n\n",
}


@pytest.mark.parametrize("beginning", BEGINNINGS)
@pytest.mark.parametrize("unit", UNITS)
def test_four_times_the_text_is_four_times_the_work(unit, beginning):
    def split(text):
        split_markdown(Document(text), size=100)

    once, four_times = (
        work_of(split, BEGINNINGS[beginning] + UNITS[unit] * (times * 4000 // len(UNITS[unit])))
        for times in (1, 4)
    )
    assert four_times <= 4.4 * once + 2000


def test_headings_that_begin_no_section_are_not_looked_at_again_for_each_chunk():
    def split(text):
        split_markdown(Document(text), size=100, levels=1)

    once, four_times = (work_of(split, "# Head\n\n" + "## Head\n\n" * n) for n in (1000, 4000))
    assert four_times <= 4.4 * once


@pytest.mark.parametrize("unit", ["> ", "- ", "1. ", "# ", "*", "[", "`", "| ", "<", "\t", "> - "])
def test_deeply_nested(unit):
    """Deeper than the parser follows, and than Python's stack would: nothing is lost."""
    steps = "".join(f"{'  ' * depth}- step {depth}\n" for depth in range(150))
    for text in (unit * 3000 + "end\n\n# After\n\ntext", steps + "\n# After\n\ntext"):
        chunks = split_markdown(text, size=200)
        assert check_chunks(text, chunks, size=200) == []
