"""`split_html`: sections, blocks, rows and items; the cases about HTML, loader and splitter."""

import re
from itertools import pairwise

import pytest
from case_checks import CASES, passes
from corpus import FOLDER
from hypothesis import given
from hypothesis import strategies as st
from lengths import LENGTHS
from strategies import odd_text, texts
from test_cost import work_of

from chunking_lib.chunk import Chunk, Document, check_chunks
from chunking_lib.formats.html import load_html
from chunking_lib.formats.html_split import split_html

PAGES = sorted(FOLDER.glob("*.html"))
WORDS = st.sampled_from(
    [
        "tea",
        "two mugs",
        "Long words stand here.",
        "é",
        "猫が好き。",
        "👩\u200d👧",
        "x" * 25,
        "| a",
        "- b",
    ]
)
inline = st.lists(WORDS, min_size=1, max_size=6).map(" ".join)
items = st.recursive(
    inline,
    lambda inner: st.tuples(inline, st.lists(inner, min_size=1, max_size=3)).map(
        lambda pair: f"{pair[0]}<ul>{''.join(f'<li>{item}' for item in pair[1])}</ul>"
    ),
    max_leaves=5,
)


def rows(cells: list[list[str]]) -> str:
    return "".join(f"<tr>{''.join(f'<td>{cell}' for cell in row)}" for row in cells)


blocks = st.one_of(
    st.tuples(st.integers(1, 6), inline).map(lambda pair: f"<h{pair[0]}>{pair[1]}</h{pair[0]}>"),
    inline.map(lambda text: f"<p>{text}</p>"),
    st.lists(inline, min_size=1, max_size=4).map(lambda lines: f"<p>{'<br>'.join(lines)}</p>"),
    st.lists(items, min_size=1, max_size=5).map(
        lambda found: f"<ul>{''.join(f'<li>{item}</li>' for item in found)}</ul>"
    ),
    st.lists(st.lists(inline, min_size=1, max_size=3), min_size=1, max_size=6).map(
        lambda cells: f"<table>{rows(cells)}</table>"
    ),
)
pages = st.lists(blocks, max_size=12).map("".join)
sizes = st.integers(1, 60) | st.integers(1, 400)


def heading_paths(text: str) -> dict[int, list[str]]:
    """Return the headings in force from each heading on, by code of the test's own."""
    found, open_ = {-1: []}, []
    for match in re.finditer(r"(?:(?<=\n\n)|\A)(#{1,6}) +(\S[^\n]*)(?=\n\n|\n?\Z)", text):
        level = len(match[1])
        open_ = [*((n, title) for n, title in open_ if n < level), (level, match[2].rstrip())]
        found[match.start()] = [title for _, title in open_]
    return found


def assert_promises(document: Document, chunks: list[Chunk], size: int, overlap=0, length=len):
    text = document.text
    assert check_chunks(document, chunks, size=size, overlap=overlap, length=length) == []
    paths = heading_paths(text)
    for chunk in chunks:
        # The path is that of the last heading that begins before the end of the chunk.
        begun = max(place for place in paths if place < chunk.end)
        oversize = {"oversize": True} if length(chunk.text) > size else {}
        assert chunk.metadata == {"path": paths[begun], **oversize}
        # Between its first and last character no heading begins, but those it begins with.
        inside = [place for place in paths if chunk.start < place < chunk.end]
        between = text[chunk.start : max(inside, default=chunk.start)]
        assert all(line.startswith("#") for line in between.split("\n\n") if line)
        assert chunk.source == document.id and not chunk.derived
        titles = chunk.context.split("\n\n")[0].split(" > ")
        for title in chunk.metadata["path"]:
            assert title in titles or title in chunk.text or len(title) > 200
    assert_lines_are_whole(text, chunks, size, length)


def assert_lines_are_whole(text: str, chunks: list[Chunk], size: int, length=len) -> None:
    """No row, item or line that fits is cut, and no item that fits with its inner lists."""
    lines = [(m.start(), m.end()) for m in re.finditer(r"[^\n]*\S[^\n]*", text)]
    units = list(lines)
    for i, (start, end) in enumerate(lines):
        if re.match(r" *(- |\d+\. )", text[start:end]):
            depth = len(text[start:end]) - len(text[start:end].lstrip(" "))
            for below_start, below_end in lines[i + 1 :]:
                below = text[below_start:below_end]
                if len(below) - len(below.lstrip(" ")) <= depth or "\n\n" in text[end:below_start]:
                    break
                end = below_end
            units.append((start, end))
    edges = sorted({place for chunk in chunks for place in (chunk.start, chunk.end)})
    for start, end in units:
        heading = text.startswith("#", start)
        if heading or length(text[start:end].strip()) > size:
            continue
        first = start + len(text[start:end]) - len(text[start:end].lstrip())
        last = start + len(text[start:end].rstrip())
        inside = [place for place in edges if first < place < last]
        assert inside == [], text[start:end]


@given(pages, sizes)
def test_pages_of_every_kind(page, size):
    document = load_html(page, id="page")
    chunks = split_html(document, size=size)
    assert_promises(document, chunks, size)
    assert split_html(document, size=size) == chunks
    assert [(c.text, c.context) for c in split_html(page, size=size)] == [
        (c.text, c.context) for c in chunks
    ]


@pytest.mark.parametrize("name", LENGTHS)
@given(page=pages, size=sizes)
def test_any_length(name, page, size):
    document, length = load_html(page), LENGTHS[name]
    chunks = split_html(document, size=size, length=length)
    assert check_chunks(document, chunks, size=size, length=length) == []


@given(
    st.lists(
        texts | st.sampled_from(["# A", "## B", "| a |\n| --- |\n| b |", "- a\n  - b"]), max_size=8
    ),
    st.sampled_from(["\n\n", "\n", "\r\n\r\n"]),
    sizes,
    st.integers(0, 59),
)
def test_documents_that_no_loader_made(parts, between, size, overlap):
    document = Document(between.join(parts), id="any")
    chunks = split_html(document, size=size, overlap=min(overlap, size - 1))
    assert check_chunks(document, chunks, size=size, overlap=overlap) == []


@given(odd_text, sizes)
def test_html_of_any_characters(text, size):
    document = load_html(f"<h1>{text}</h1><p>{text}<ul><li>{text}<li>{text}</ul>")
    assert check_chunks(document, split_html(document, size=size), size=size) == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
@pytest.mark.parametrize("size", [40, 200, 1000])
def test_the_pages_of_the_course(path, size):
    document = load_html(path)
    assert_promises(document, split_html(path, size=size), size)
    length = LENGTHS["tokens"]
    chunks = split_html(document, size=size, length=length)
    assert_promises(document, chunks, size, length=length)


# ------------------------------------------------------------------------------ each rule


def read(page: str, **options) -> list[tuple[list[str], str, str]]:
    return [(c.metadata["path"], c.context, c.text) for c in split_html(page, **options)]


def test_headings_go_with_what_follows():
    page = "<h1>A</h1><h3>B</h3><p>b</p><h2>C</h2><h2>D</h2><p>d</p><h1>E</h1>"
    assert read(page) == [
        (["A", "B"], "", "# A\n\n### B\n\nb"),
        (["A", "C"], "A", "## C"),
        (["A", "D"], "A", "## D\n\nd"),
        (["E"], "", "# E"),
    ]


def test_a_heading_is_not_left_alone():
    page = f"<h1>Head</h1><p>{'word ' * 20}</p>"
    assert [text for *_, text in read(page, size=50)] == [
        "# Head\n\nword word word word word word word word",
        "word word word word word word word word word word",
        "word word",
    ]
    # It is, where the block below would be cut for it.
    page = "<h1>Head</h1><p>One two three four.</p><p>Five.</p>"
    assert read(page, size=20) == [
        (["Head"], "", "# Head"),
        (["Head"], "Head", "One two three four."),
        (["Head"], "Head", "Five."),
    ]


def test_tables_repeat_their_header():
    page = (
        "<h1>H</h1><table><caption>Fares</caption><tr><th>Name<th>Cents"
        "<tr><td>One<td>100<tr><td>Two<td>200<tr><td>Three<td>300</table><p>After.</p>"
    )
    header = "| Name | Cents |\n| --- | --- |"
    assert read(page, size=62) == [
        (["H"], "", f"# H\n\nFares\n\n{header}\n| One | 100 |"),
        (["H"], f"H\n\nFares\n\n{header}", "| Two | 200 |\n| Three | 300 |"),
        (["H"], "H", "After."),
    ]
    # A row that does not fit with its header stands apart from it.
    assert read(page, size=32)[-3:] == [
        (["H"], f"H\n\nFares\n\n{header}", "| One | 100 |\n| Two | 200 |"),
        (["H"], f"H\n\nFares\n\n{header}", "| Three | 300 |"),
        (["H"], "H", "After."),
    ]
    # A header longer than a chunk is not repeated.
    assert [context for _, context, text in read(page, size=12) if "Three" in text] == [
        "H\n\nFares"
    ]


def test_lists_are_cut_between_items():
    page = "<ul><li>one<ul><li>a<li>b</ul><li>two<li>three<ul><li>c</ul></ul>"
    assert [text for *_, text in read(page, size=22)] == [
        "- one\n  - a\n  - b",
        "- two\n- three\n  - c",
    ]
    assert [text for *_, text in read(page, size=12)] == [
        "- one\n  - a",
        "- b",
        "- two",
        "- three",
        "- c",
    ]


def test_overlap_is_inside_a_text_only():
    page = "<p>One two three four five six.</p><p>Seven.</p><ul><li>Eight nine<li>Ten</ul>"
    chunks = split_html(page, size=14, overlap=6)
    assert [c.text for c in chunks] == [
        "One two three",
        "three four",
        "four five six.",
        "Seven.",
        "- Eight nine",
        "- Ten",
    ]
    assert [max(0, a.end - b.start) for a, b in pairwise(chunks)] == [5, 4, 0, 0, 0]


def test_long_titles_are_shortened_in_contexts():
    page = f"<h1>{'long ' * 100}</h1><p>{'word ' * 100}</p>"
    chunks = split_html(page, size=100)
    assert all(len(c.metadata["path"][0]) == 499 and len(c.context) <= 200 for c in chunks)


def test_faults():
    for options, message in (
        ({"size": 0}, "size=0 must be a whole number of 1 or more"),
        ({"size": 5, "overlap": 5}, "overlap=5 must be smaller than size=5"),
        ({"length": 3}, "length=3 must be a callable from a text to a number"),
        ({"length": lambda text: None}, "=None must be a number of 0 or more"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            split_html("<p>x", **options)
    with pytest.raises(ValueError, match=r"gone\.html: No such file"):
        split_html(FOLDER / "gone.html")
    with pytest.raises(ValueError, match="source=3 must be"):
        split_html(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "page", ["", " ", "<p></p>", "<script>x</script>", "<ul><li></ul>", "<table>"]
)
def test_nothing_to_read_is_no_chunk(page):
    assert split_html(page) == []


@pytest.mark.parametrize(
    "page", ["<p>a<p", "<h1>a", "</p>a<li>b</table><td>", "<table><tr><td>a<h1>b", "&#0;<b>&amp"]
)
def test_broken_pages(page):
    document = load_html(page)
    for size in (1, 3, 100):
        assert_promises(document, split_html(document, size=size), size)


@pytest.mark.parametrize("tags", ["<ul><li>w ", "<blockquote>w ", "<div>w ", "<table><tr><td>w "])
def test_deep_nesting(tags):
    document = load_html(tags * 500)
    for size in (1, 30, 500):
        assert check_chunks(document, split_html(document, size=size), size=size) == []


def test_indents_that_grow_for_ever():
    document = Document("\n".join(" " * i + "- x" for i in range(600)))
    assert check_chunks(document, split_html(document, size=50), size=50) == []


# ------------------------------------------------------------------------------ cases


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case["area"] == "html"])
@pytest.mark.parametrize("size", [30, 500])
def test_cases_of_html_at_other_sizes(name, size):
    """What the cases say holds for the text of the loader too, and when the page is cut."""
    document = load_html(CASES[name]["input"])
    chunks = split_html(document, size=size)
    assert_promises(document, chunks, size)
    passes(name, document.text, chunks)


def checked(name: str) -> list[Chunk]:
    document = load_html(CASES[name]["input"])
    chunks = split_html(document, size=500)
    passes(name, document.text, chunks)
    return chunks


def test_html_inline_reordered():
    checked("html_inline_reordered")


_parts = st.recursive(
    st.integers(0, 999).map(lambda number: f"w{number:03d} "),
    lambda inner: st.tuples(
        st.sampled_from(["b", "i", "a", "span", "code", "em", "sub"]), st.lists(inner, max_size=4)
    ).map(lambda pair: f"<{pair[0]}>{''.join(pair[1])}</{pair[0]}>"),
    max_leaves=20,
)


@given(_parts, st.sampled_from(["p", "li", "td", "h2", "dd", "blockquote", "div"]), sizes)
def test_html_inline_reordered_in_no_block(part, tag, size):
    source = f"<{tag}>{part}</{tag}>"
    chunks = split_html(source, size=max(size, 10))
    assert re.findall(r"w\d+", " ".join(c.text for c in chunks)) == re.findall(r"w\d+", source)


def test_html_parent_heading_lost():
    chunks = checked("html_parent_heading_lost")
    assert [c.text for c in chunks] == [
        "# Manual\n\nAbout.",
        "## Install\n\nSteps.",
        "# Legal\n\nTerms.",
    ]


@given(st.lists(st.integers(1, 6), min_size=1, max_size=12), st.booleans())
def test_html_parent_heading_lost_at_no_level(levels, wrapped):
    """Whatever levels are jumped, the path is that of all headings still open."""
    page, expected, open_ = "", [], []
    for number, level in enumerate(levels):
        head = f"<h{level}>T{number}</h{level}>"
        page += f"<div>{head}</div>" if wrapped else head
        page += f"<p>text{number}.</p>"
        open_ = [*((n, title) for n, title in open_ if n < level), (level, f"T{number}")]
        expected.append([title for _, title in open_])
    chunks = split_html(page)
    assert [c.metadata["path"] for c in chunks] == expected
    assert [f"text{number}." in c.text for number, c in enumerate(chunks)] == [True] * len(levels)


def test_html_script_style_leak():
    checked("html_script_style_leak")


@pytest.mark.parametrize(
    "hidden",
    [
        "<script>{}</script>",
        "<script type='text/template'><p>{}</p></script>",
        "<style>{}</style>",
        "<template><h1>{}</h1></template>",
        "<noscript>{}</noscript>",
        "<!-- <p>{}</p> -->",
        "<p hidden>{}</p>",
        "<div aria-hidden=true><p>{}</div>",
        "<div style='display:none'><h2>{}</h2></div>",
        "<svg><text>{}</text></svg>",
        "<nav>{}</nav>",
        "<?php {} ?>",
    ],
)
def test_html_script_style_leak_of_no_kind(hidden):
    page = f"<h1>Tea</h1>{hidden.format('HIDDEN')}<p>Mint.</p>{hidden.format('HIDDEN')}"
    assert read(page) == [(["Tea"], "", "# Tea\n\nMint.")]


def test_html_title_sentinel_leak():
    checked("html_title_sentinel_leak")


@pytest.mark.parametrize("title", ["#TITLE#", "None", "", "0", "# x", "a > b", "{}", "\\"])
def test_html_title_sentinel_leak_of_no_title(title):
    """Before the first heading the path is empty, and a heading may be called anything."""
    chunks = split_html(f"<p>before.</p><h2>{title}</h2><p>after.</p>")
    paths = [c.metadata["path"] for c in chunks]
    assert paths == ([[], [title]] if title else [[]])
    assert chunks[0].context == ""


def test_html_words_welded():
    checked("html_words_welded")


@pytest.mark.parametrize(
    "page",
    [
        f"<{tag}>one</{tag}><{tag}>two</{tag}>"
        for tag in ("p", "div", "h1", "h2", "section", "blockquote", "pre", "article", "figcaption")
    ]
    + [
        "<ul><li>one</li><li>two</li></ul>",
        "<ol><li>one<li>two</ol>",
        "<dl><dt>one<dd>two</dl>",
        "<table><tr><td>one<td>two</table>",
        "<table><tr><td>one<tr><td>two</table>",
        "<table><tr><th>one</th></tr><tr><td>two</td></tr></table>",
        "<select><option>one<option>two</select>",
        "<p>one<br>two</p>",
        "<p>one<br/>two</p>",
        "one<hr>two",
        "one<p>two</p>",
        "<p>one</p>two",
        "<ul><li>one<ul><li>two</ul></ul>",
        "<details><summary>one</summary>two</details>",
    ],
)
def test_html_words_welded_by_no_element(page):
    for size in (5, 500):
        text = " ".join(c.text for c in split_html(page, size=size))
        assert re.findall("[a-z]+", text) == ["one", "two"]


# ------------------------------------------------------------------------------ time

LONG = {
    "sections": "<h2>Head</h2><p>Some <b>words</b> of text.</p><ul><li>one<li>two</ul>",
    "one list": "<li>An item of a long list<ul><li>with one below</ul>",
    "one table": "<tr><td>A cell<td>and another<td>of a table",
    "one paragraph": "words of a text that never ends ",
    "short lines": "<p>line</p>",
    "headings": "<h1>a</h1><h2>b</h2><h3>c</h3>",
}


@pytest.mark.parametrize("name", LONG)
def test_four_times_the_page_is_four_times_the_steps(name):
    """Counted in calls of functions: this sees the walk through the blocks, too."""
    around = {"one list": "<ul>{}</ul>", "one table": "<table>{}</table>"}.get(name, "{}")

    def split(text):
        split_html(Document(text))

    once, four_times = (
        work_of(split, load_html(around.format(LONG[name] * times)).text) for times in (200, 800)
    )
    assert four_times <= 4.4 * once + 2000


@pytest.mark.parametrize("name", LONG)
def test_the_time_is_linear(name):
    """Counted in characters that are measured: a longer page costs no more for each."""

    def cost(times: int) -> float:
        counted = 0

        def length(piece: str) -> int:
            nonlocal counted
            counted += len(piece)
            return len(piece.split())

        around = {"one list": "<ul>{}</ul>", "one table": "<table>{}</table>"}.get(name, "{}")
        document = load_html(around.format(LONG[name] * times))
        split_html(document, size=50, length=length)
        return counted / len(document.text)

    assert cost(3000) < 1.5 * cost(300) + 1
