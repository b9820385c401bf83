"""The loaders: the corpus byte for byte, each rule on a small document, each fault by name."""

import json
import os
import random
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chunking_lib.chunk import Document
from chunking_lib.formats import load_document
from chunking_lib.formats.html import load_html
from chunking_lib.formats.json import load_json
from chunking_lib.formats.pdf import load_pdf

# The course's documents; another folder for a run before they are in place.
DATA = Path(os.environ.get("CHUNKING_DATA") or Path(__file__).resolve().parent.parent / "data")
NAMES = [
    "annual_report_2023.pdf",
    "annual_report_2024.pdf",
    "api_departures.json",
    "api_fares.json",
    "help_accessibility.html",
    "help_bicycles_and_luggage.html",
    "help_delays_and_refunds.html",
    "help_lost_property.html",
    "help_tickets.html",
]


def corpus(name: str) -> Path:
    path = DATA / "corpus" / name
    if not path.exists():
        pytest.skip(f"{path} is not there yet; set CHUNKING_DATA to a folder that has it")
    return path


@pytest.mark.parametrize("name", NAMES)
def test_the_corpus_is_read_byte_for_byte(name: str) -> None:
    document = load_document(corpus(name))
    expected = DATA / "canonical" / f"{name}.txt"
    assert document.text.encode() == expected.read_bytes()
    assert document.id == name


@pytest.mark.parametrize("name", NAMES[:2])
def test_the_pages_of_a_report_are_spans_of_its_text(name: str) -> None:
    document = load_pdf(corpus(name))
    spans = document.metadata["pages"]
    assert len(spans) == 8
    assert [start for start, _ in spans] == sorted(start for start, _ in spans)
    assert spans[0][0] == 0 and spans[-1][1] == len(document.text) - 1
    assert document.text[slice(*spans[1])].startswith("Foreword\n\n")
    assert "\n\nThe year in figures\n\n" not in document.text[slice(*spans[1])]


def test_a_scan_says_that_it_needs_ocr() -> None:
    with pytest.raises(ValueError, match=r"notice_pier_closure\.pdf: no text layer.*OCR"):
        load_document(corpus("notice_pier_closure.pdf"))


# ---------------------------------------------------------------------------------------- HTML


def html(body: str) -> str:
    return load_html(f"<html><body><main>{body}</main></body></html>").text.removesuffix("\n")


HTML_RULES = {
    "headings": ("<h1>A</h1><h3>B <i>c</i><br>d</h3>", "# A\n\n### B c d"),
    "empty heading": ("<h2> </h2><p>x</p>", "x"),
    "heading in a heading": ("<h1>a<h2>b</h2>", "# a\n\n## b"),
    "white space": ("<p>a\n  b\t<b> c</b> </p>", "a b c"),
    "inline elements adjoin": ("<p><b>F</b>1</p>", "F1"),
    "br": ("<p>a <br> b<br/>c</p>", "a\nb\nc"),
    "blocks never share a line": ("<div>a</div><div>b</div>", "a\n\nb"),
    "loose text": ("a<p>b</p>c", "a\n\nb\n\nc"),
    "list": ("<ul><li>a<li>b<br>c</ul>", "- a\n- b c"),
    "nested list": ("<ul><li>a<ol><li>b</ol>c</ul>", "- a\n  1. b\n  c"),
    "numbers": ('<ol start=4><li>a<li value="9">b<li>c</ol>', "4. a\n9. b\n10. c"),
    "backwards": ("<ol reversed><li>a<li>b</ol>", "2. a\n1. b"),
    "empty item counts": ("<ol><li>a<li><li>c</ol>", "1. a\n3. c"),
    "paragraphs of an item": ("<ul><li><p>a</p><p>b</p></ul>", "- a b"),
    "list in a list": ("<ul><li>a</li><ul><li>b</li></ul></ul>", "- a\n  - b"),
    "definitions": ("<dl><dt>a<dd>b<dd>c<dt>d<dt>e<dd>f<dt>g</dl>", "a: b\na: c\nd, e: f\ng"),
    "table": (
        "<table><caption>T</caption><tr><th>a<th><tr><td>1<br>2<td>x|y</table>",
        "T\n\n| a |  |\n| --- | --- |\n| 1 2 | x\\|y |",
    ),
    "spans": (
        "<table><tr><td>a<td>b<td>c<tr><td rowspan=2>d<td colspan=2>e<tr><td>f<td>g</table>",
        "| a | b | c |\n| --- | --- | --- |\n| d | e | e |\n| d | f | g |",
    ),
    "a wide span": (
        "<table><tr><td colspan=999>a<tr><td>b<td>c</table>",
        "| a | a |\n| --- | --- |\n| b | c |",
    ),
    "table for looks": (
        "<table><tr><td><h2>a</h2><table><tr><td>b</table></table>",
        "## a\n\n| b |\n| --- |",
    ),
    "parts out of place": ("<tr><td>a</td></tr><li>b</li><dd>c</dd><td>d</td>", "a\n\nb\n\nc\n\nd"),
    "details": ("<details><summary>a</summary>b<p>c</p></details>", "a\n\nb\n\nc"),
    "image in a figure": (
        "<figure><img alt='a  b'><figcaption>c</figcaption></figure>",
        "[Image: a b]\n\nc",
    ),
    "image in a line": ("<p>Press <img alt=Start> now</p>", "Press [Image: Start] now"),
    "images in a container": (
        "<div><img alt=a> <img alt=b></div>",
        "[Image: a]\n\n[Image: b]",
    ),
    "image without words": ("<p>a<img alt=''><img></p>", "a"),
    "link": ("<a href=x>here</a>", "here"),
    "quote": ("<blockquote><p>a<br>b</p><p>c</p></blockquote>", "> a\n> b\n>\n> c"),
    "pre": ("<pre>\na  b\n  c\n</pre>", "a  b\n  c"),
    "characters": (
        "<p>1&nbsp;&nbsp;km, un&shy;do, a&#8203;b, caf&#101;&#769;</p>",
        "1 km, undo, ab, café",
    ),
    "no-break hyphen stays": ("<p>25&#8209;1</p>", "25‑1"),
    "left out": (
        "<nav>n</nav><aside>a</aside><script>'<p>'</script><style>s</style>"
        "<template>t</template><noscript>n</noscript><!-- c --><p hidden>h</p>"
        "<p aria-hidden=true>h</p><p style='display: none'>d</p><p>x</p><footer>f</footer>",
        "x",
    ),
    "text after what is left out": ("<p>a<script>x</script>b<!-- c -->c</p>", "abc"),
}


@pytest.mark.parametrize("rule", HTML_RULES)
def test_html_rule(rule: str) -> None:
    source, expected = HTML_RULES[rule]
    assert html(source) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("<header>h</header><main>a</main><main>b</main><p>c", "a\n\nb\n"),
        ("<div role=main>a</div><p>c", "a\n"),
        ("<main hidden>x</main><main>a</main>", "a\n"),
        ("x<article>a</article>y<article>b</article>", "a\n\nb\n"),
        ("<nav>n</nav><p>a<footer>f</footer>", "a\n"),
        ("a", "a\n"),
        ("", ""),
        ("<main></main>", ""),
    ],
)
def test_html_content(source: str, expected: str) -> None:
    assert load_html(source).text == expected


def test_html_metadata_and_id(tmp_path: Path) -> None:
    source = "<html lang=cy><head><title> Pier\n&amp; quay </title></head><body><p>x"
    document = load_html(source)
    assert document == Document("x\n", "", {"title": "Pier & quay", "language": "cy"})
    (tmp_path / "page.htm").write_text(source)
    assert load_html(tmp_path / "page.htm").id == "page.htm"
    assert load_html(tmp_path / "page.htm", id="p").id == "p"


@pytest.mark.parametrize(
    "data",
    [
        "<p>é€".encode(),
        b"\xef\xbb\xbf" + "<p>é€".encode(),
        "\ufeff<p>é€".encode("utf-16-le"),
        "\ufeff<p>é€".encode("utf-16-be"),
        "<meta charset='windows-1252'><p>é€".encode("cp1252"),
        "<meta http-equiv=x content='text/html; charset=iso-8859-1'><p>é€".encode("cp1252"),
        "<meta charset=iso-8859-15><p>é€".encode("iso-8859-15"),
        b"<meta charset=utf-16>" + "<p>é€".encode(),
        '<?xml version="1.0" encoding="utf-8"?><html><body><p>é€'.encode(),
    ],
)
def test_html_encodings(data: bytes) -> None:
    assert load_html(data).text == "é€\n"


def test_html_faults(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_bytes(b"<p>caf\xe9")
    with pytest.raises(ValueError, match=r"page\.html: byte 0xe9 at 6 is not utf-8"):
        load_html(path)
    with pytest.raises(ValueError, match="unknown encoding 'klingon'"):
        load_html(b"<meta charset=klingon>")
    with pytest.raises(ValueError, match=r"gone\.html: No such file"):
        load_html(tmp_path / "gone.html")
    with pytest.raises(ValueError, match="source=3 must be"):
        load_html(3)  # type: ignore[arg-type]


def test_html_with_odd_characters() -> None:
    assert load_html("<p>a\0b\ud800c").text == "a\ufffdb\ufffdc\n"


@pytest.mark.parametrize("tags", ["<div>", "<b>", "<blockquote>", "<ul><li>", "<table><tr><td>"])
def test_deeply_nested_html_keeps_every_word(tags: str) -> None:
    text = load_html(f"{tags}word " * 5000 + "deepest").text
    assert text.count("word") == 5000 and "deepest" in text


@pytest.mark.slow
def test_five_megabytes_of_html_take_seconds() -> None:
    part = "<h2>Head</h2><p>Some <b>words</b> of text &amp; more.</p><ul><li>one<li>two</ul>"
    part += "<p>A longer paragraph, as most are, with a <a href=x>link</a> in it.</p>"
    started = time.process_time()
    load_html(part * (5_000_000 // len(part)))
    assert time.process_time() - started < 60


# Pages whose words are numbered, so that each can be looked for.
_words = st.integers(0, 10**6).map(lambda number: f"w{number:07d}")
_inline = st.recursive(
    _words,
    lambda inner: st.tuples(
        st.sampled_from(["b", "a", "span", "code"]), st.lists(inner, max_size=3)
    ),
    max_leaves=4,
)
_block_tags = ["p", "div", "h2", "blockquote", "ul", "ol", "li", "dl", "dt", "dd", "table", "tr"]
_block_tags += ["td", "th", "caption", "details", "summary", "figure", "pre", "section", "br"]
_blocks = st.recursive(
    _inline,
    lambda inner: st.tuples(st.sampled_from(_block_tags), st.lists(inner, max_size=4)),
    max_leaves=25,
)


def _source(node: object) -> str:
    if isinstance(node, str):
        return f"{node} "
    tag, children = node  # type: ignore[misc]
    return f"<{tag}>{''.join(map(_source, children))}</{tag}>"


@given(_blocks)
def test_html_never_loses_a_word(page: object) -> None:
    source = _source(page)
    text = load_html(f"<main>{source}</main>").text
    for word in (
        part for part in source.replace("<", " ").replace(">", " ").split() if "w0" in part
    ):
        assert word in text


# ---------------------------------------------------------------------------------------- JSON


def test_json_is_written_one_way(tmp_path: Path) -> None:
    path = tmp_path / "fares.json"
    path.write_bytes(b'\xef\xbb\xbf{"b":1.0,"a":["\\u00e9", null, "\\ud800"],"c":{}}\r\n')
    document = load_json(path)
    value = {"b": 1.0, "a": ["é", None, "\ud800"], "c": {}}
    assert document.text == json.dumps(value, ensure_ascii=False, indent=2) + "\n"
    assert document.id == "fares.json"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32"])
def test_json_encodings(encoding: str) -> None:
    assert load_json('["é"]'.encode(encoding)).text == '[\n  "é"\n]\n'


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ('{"a": 1,\n "b" 2}', r"f\.json: not JSON: .* at line 2, column 6"),
        ("", r"f\.json: not JSON: .* at line 1, column 1"),
        ("[1] x", r"not JSON: Extra data at line 1, column 5"),
        ("[NaN]", "NaN is not JSON"),
        ("[-Infinity]", "-Infinity is not JSON"),
        ('[{"a": 1, "b": 2, "a": 3}]', "key 'a' stands twice"),
        ("[" * 200_000, "too deeply nested"),
        ("[" * 100_000 + "]" * 100_000, "too deeply nested"),
    ],
)
def test_json_faults(source: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "f.json"
    path.write_text(source)
    with pytest.raises(ValueError, match=message):
        load_json(path)


def test_json_bytes_that_are_no_text() -> None:
    with pytest.raises(ValueError, match="byte 0xff at 1"):
        load_json(b'"\xff"', id="x")


_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(_json)
def test_json_comes_back_as_it_was(value: object) -> None:
    text = load_json(json.dumps(value)).text
    assert json.loads(text) == value
    assert load_json(text).text == text


# ----------------------------------------------------------------------------------------- PDF

_CODES = {"ﬁ": 1, "ﬂ": 2, "\u00ad": 3, "•": 4, "¹": 5, "\u00a0": 6, "’": 7}
_WIDE = 6.0  # the width of a character of Courier at 10 points


def pdf(*pages: list[tuple[object, ...] | str]) -> bytes:
    """Make a PDF. A page has texts (x, top, string, size, "bold") and drawing operators."""
    to_unicode = "".join(f"<{code:02x}> <{ord(char):04x}>\n" for char, code in _CODES.items())
    cmap = (
        f"begincmap 1 begincodespacerange <00> <ff> endcodespacerange {len(_CODES)} beginbfchar\n"
    )
    font = "<< /Type /Font /Subtype /Type1 /Encoding /WinAnsiEncoding /ToUnicode 3 0 R /BaseFont "
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count {len(pages)} /Kids ["
        + " ".join(f"{6 + 2 * i} 0 R" for i in range(len(pages)))
        + "] >>",
        _stream(f"{cmap}{to_unicode}endbfchar endcmap"),
        f"{font} /Courier >>",
        f"{font} /Courier-Bold >>",
    ]
    for i, page in enumerate(pages):
        content = []
        for item in page:
            if isinstance(item, str):
                content.append(item)
                continue
            x, top, text, size, bold, *_ = (*item, *(10, False)[len(item) - 3 :], False)
            codes = "".join(f"{_CODES.get(char, ord(char)):02x}" for char in str(text))
            turn = "0 1 -1 0" if bold == "turned" else "1 0 0 1"
            name = "B" if bold == "bold" else "R"
            y = 800 - float(str(top)) - 0.8 * float(str(size))
            content.append(f"BT /{name} {size} Tf {turn} {x} {y} Tm <{codes}> Tj ET")
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] "
            f"/Resources << /Font << /R 4 0 R /B 5 0 R >> >> /Contents {7 + 2 * i} 0 R >>"
        )
        objects.append(_stream("\n".join(content)))
    data, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        places.append(len(data))
        data += f"{number} 0 obj {body} endobj\n".encode("latin-1")
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    end = f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(data)}\n%%EOF\n"
    return data + f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{end}".encode()


def _stream(content: str) -> str:
    return f"<< /Length {len(content)} >> stream\n{content}\nendstream"


def lines(
    *texts: str, x: float = 50, top: float = 100, size: float = 10
) -> list[tuple[object, ...]]:
    """Set lines of a paragraph, 12 points apart."""
    return [(x, top + 12 * i, text, size) for i, text in enumerate(texts)]


FILLER = lines(*["This line is here to say what size the text has."] * 8, "The end.", top=400)
END = " ".join(["This line is here to say what size the text has."] * 8 + ["The end."])


@pytest.fixture
def read(tmp_path: Path):  # type: ignore[no-untyped-def]
    def read(*pages: list[tuple[object, ...] | str]) -> str:
        path = tmp_path / "made.pdf"
        path.write_bytes(pdf(*pages))
        return load_pdf(path).text

    return read


def test_pdf_paragraphs_and_headings(read) -> None:  # type: ignore[no-untyped-def]
    page = [
        (50, 60, "A large title of", 20),
        (50, 84, "two lines", 20),
        (50, 120, "Small but bold", 10, "bold"),
        *lines("A paragraph of two", "lines.", top=140),
        *lines("Another one, set apart.", top=172),
        *lines("One sentence ends here: no more.", "And another one begins below it.", top=200),
        *FILLER,
    ]
    assert read(page).split("\n\n") == [
        "A large title of two lines",
        "Small but bold",
        "A paragraph of two lines.",
        "Another one, set apart.",
        "One sentence ends here: no more. And another one begins below it.",
        END + "\n",
    ]


def test_pdf_indented_paragraphs(read) -> None:  # type: ignore[no-untyped-def]
    page = [
        *lines("The first line of a paragraph that", "goes on to here, it is full to the end."),
        *lines("It is followed by an indented one", x=65, top=124),
        *lines("that goes on at the left.", "A line after an early end."[:26], top=136),
        *FILLER,
    ]
    assert read(page).split("\n\n")[:3] == [
        "The first line of a paragraph that goes on to here, it is full to the end.",
        "It is followed by an indented one that goes on at the left.",
        "A line after an early end.",
    ]


def test_pdf_hyphens(read) -> None:  # type: ignore[no-untyped-def]
    page = lines(
        "A step-free boat. The step-",
        "free boat is diesel-elec-",
        "tric, and diesel-",
        "electric, for the com\u00ad",
        "mittee on 2024-",
        "25 under Mrs Duarte-",
        "Voss, tram-",
        "and boatmen.",
    )
    assert read(page) == (
        "A step-free boat. The step-free boat is diesel-electric, and dieselelectric, for the "
        "committee on 2024-25 under Mrs Duarte-Voss, tram- and boatmen.\n"
    )


def test_pdf_characters(read) -> None:  # type: ignore[no-untyped-def]
    assert read(lines("The oﬃce ﬁled a ﬂat 5\u00a0km¹".replace("ﬃ", "ffi"))) == (
        "The office filed a flat 5 km¹\n"
    )


def test_pdf_lists(read) -> None:  # type: ignore[no-untyped-def]
    page = [
        *lines("What was counted:"),
        *lines("•", top=118),
        *lines("one thing that takes", "two lines", x=65, top=118),
        *lines("• inner", x=65, top=148),
        *lines("•", top=166),
        *lines("another", x=65, top=166),
        *lines("After the list.", top=178),
        *lines("1. First", "2. Second", top=220),
        *FILLER,
    ]
    assert read(page).split("\n\n")[:4] == [
        "What was counted:",
        "- one thing that takes two lines\n  - inner\n- another",
        "After the list.",
        "1. First\n2. Second",
    ]


def test_pdf_dash_or_number_where_a_line_breaks(read) -> None:  # type: ignore[no-untyped-def]
    page = lines(
        "It is as in the second part of article", "3. of the rules of the year", "- or so."
    )
    assert read(page) == (
        "It is as in the second part of article 3. of the rules of the year - or so.\n"
    )


def test_pdf_running_lines_are_left_out(read) -> None:  # type: ignore[no-untyped-def]
    words = ["First", "Second", "Third", "Fourth"]
    pages = [
        [(50, 30, "The report"), *lines(f"{word} page."), (50, 770, f"Page {i} of 4", 8)]
        for i, word in enumerate(words, start=1)
    ]
    pages[0] += lines("The report", top=300)
    assert read(*pages).split() == (
        ["First", "page.", "The", "report", "Second", "page.", "Third", "page.", "Fourth", "page."]
    )


def test_pdf_columns_and_a_title_across(read) -> None:  # type: ignore[no-untyped-def]
    left = [f"left line {i} of the column" for i in range(8)]
    right = [f"right line {i} of the column" for i in range(8)]
    page = [
        (50, 60, "A title that goes over both of the columns", 14),
        *lines(*left, x=50),
        *lines(*right[:-1], "and a full stop.", x=230, top=104),
        *lines("Below, there is text that goes over both columns.", top=230),
    ]
    assert read(page).split("\n\n") == [
        "A title that goes over both of the columns",
        " ".join([*left, *right[:-1], "and a full stop."]),
        "Below, there is text that goes over both columns.\n",
    ]


def test_pdf_text_that_runs_over_a_page(tmp_path: Path) -> None:
    first = [
        *lines("A paragraph that does not end on", "this page, where a note stands but"),
        (50, 700, "¹ A note.", 7),
    ]
    second = [*lines("ends on the next one."), *FILLER]
    path = tmp_path / "two.pdf"
    path.write_bytes(pdf(first, second))
    document = load_pdf(path)
    assert document.text.split("\n\n") == [
        "A paragraph that does not end on this page, where a note stands but ends on the next one.",
        "¹ A note.",
        END + "\n",
    ]
    (start, end), (second_start, second_end) = document.metadata["pages"]
    assert document.text[start:end].endswith("A note.")
    assert document.text[second_start:second_end].startswith("ends on the next one.")


def test_pdf_notes_with_a_small_mark(read) -> None:  # type: ignore[no-untyped-def]
    note = [(50, 699, "1", 4), (54, 700, "A note of two", 7), (50, 709, "lines.", 7)]
    text = read([*lines("Text."), *FILLER, *note], lines("A next page."))
    assert text.endswith("The end.\n\n1 A note of two lines.\n\nA next page.\n")


def grid(columns: list[int], rows: list[int]) -> list[str]:
    across = [f"{columns[0]} {800 - y} m {columns[-1]} {800 - y} l S" for y in rows]
    return across + [f"{x} {800 - rows[0]} m {x} {800 - rows[-1]} l S" for x in columns]


def test_pdf_ruled_table(read) -> None:  # type: ignore[no-untyped-def]
    page = [
        *lines("Before the table."),
        *grid([50, 150, 250], [120, 140, 170]),
        (55, 125, "Ticket"),
        (155, 125, "Price"),
        (55, 145, "For a mul-"),
        (55, 157, "titude"),
        (155, 145, "2|3"),
        *lines("After the table.", top=190),
        *FILLER,
    ]
    assert read(page).startswith(
        "Before the table.\n\n"
        "| Ticket | Price |\n| --- | --- |\n| For a multitude | 2\\|3 |\n\nAfter the table."
    )


def test_pdf_table_without_rules(read) -> None:  # type: ignore[no-untyped-def]
    page = [
        (50, 100, "Table 1. Boardings", 9, "bold"),
        *[(x, 120, text) for x, text in ((50, "Line"), (200, "2022"), (300, "2023"))],
        *[(x, 140, text) for x, text in ((50, "One and"), (206, "1.2"), (306, "1.3¹"))],
        (50, 151, "only"),
        *[(x, 171, text) for x, text in ((50, "Two"), (206, "2.2"))],
        *[(x, 191, text) for x, text in ((50, "Four"), (194, "14.25"), (306, "2.3"))],
        *lines("After the table.", top=220),
        *FILLER,
    ]
    assert read(page).startswith(
        "Table 1. Boardings\n\n| Line | 2022 | 2023 |\n| --- | --- | --- |\n"
        "| One and only | 1.2 | 1.3¹ |\n| Two | 2.2 |  |\n| Four | 14.25 | 2.3 |\n\n"
        "After the table."
    )


def test_pdf_figures_keep_their_caption_only(read) -> None:  # type: ignore[no-untyped-def]
    bars = [f"{100 + 30 * i} 600 20 {20 + 10 * i} re f" for i in range(5)]
    page = [
        *lines("Before the figure."),
        *bars,
        "95 600 m 260 600 l S 95 600 m 95 680 l S",
        *[(105 + 30 * i, 203, "ab", 6) for i in range(5)],
        (150, 214, "Month", 6),
        (88, 170, "Boardings", 6, "turned"),
        *lines("Figure 1. Boardings by month.", top=240, size=9),
        *FILLER,
    ]
    assert read(page).split("\n\n")[:3] == [
        "Before the figure.",
        "Figure 1. Boardings by month.",
        END + "\n",
    ]


def test_pdf_turned_text_is_not_lost(read) -> None:  # type: ignore[no-untyped-def]
    assert read([(30, 400, "In the margin", 8, "turned"), *FILLER]) == f"{END}\n\nIn the margin\n"


def test_pdf_panel_is_no_table(read) -> None:  # type: ignore[no-untyped-def]
    panel = "0.9 g 0 600 600 150 re f 0 g 20 620 m 560 620 l S 20 640 m 560 640 l S"
    assert read([panel, (50, 80, "Annual report", 24), *FILLER]) == f"Annual report\n\n{END}\n"


def test_pdf_bold_by_printing_twice(read) -> None:  # type: ignore[no-untyped-def]
    assert read([(50, 100, "Bold"), (50.3, 100, "Bold"), *FILLER]).startswith("Bold\n\n")


@pytest.mark.parametrize("seed", range(20))
def test_pdf_never_loses_a_word(read, seed) -> None:  # type: ignore[no-untyped-def]
    chance = random.Random(seed)
    places = chance.sample(
        [(x, top) for x in range(40, 500, 90) for top in range(110, 680, 19)], 40
    )
    words = [f"word{i}" for i in range(40)]
    sizes = [chance.choice([8, 10, 14]) for _ in words]
    text = read(
        [(*place, word, size) for place, word, size in zip(places, words, sizes, strict=True)]
    )
    assert sorted(text.replace("|", "").replace("---", "").split()) == sorted(words)


def test_pdf_empty_pages_have_empty_spans(tmp_path: Path) -> None:
    path = tmp_path / "gap.pdf"
    path.write_bytes(pdf(lines("One."), [], lines("Two.")))
    assert load_pdf(path).metadata["pages"] == [(0, 4), (4, 4), (6, 10)]


def test_pdf_faults(tmp_path: Path) -> None:
    import pikepdf

    def refused(name: str, data: bytes, message: str) -> None:
        path = tmp_path / name
        path.write_bytes(data)
        with pytest.raises(ValueError, match=rf"{name}: {message}"):
            load_pdf(path)

    good = pdf(lines("One."))
    refused("empty.pdf", b"", "the file is empty")
    refused("page.pdf", b"<html>", "not a PDF file")
    refused("broken.pdf", good[:40], "broken PDF")
    refused("noise.pdf", b"%PDF-1.4\n" + bytes(range(256)) * 9, "broken PDF")
    refused("blank.pdf", pdf([]), "no text layer")
    (tmp_path / "good.pdf").write_bytes(good)
    with pikepdf.open(tmp_path / "good.pdf") as opened:
        opened.save(tmp_path / "locked.pdf", encryption=pikepdf.Encryption(user="a", owner="b"))
        opened.save(tmp_path / "owned.pdf", encryption=pikepdf.Encryption(user="", owner="b"))
    refused("locked.pdf", (tmp_path / "locked.pdf").read_bytes(), "encrypted; it needs a password")
    assert load_pdf(tmp_path / "owned.pdf").text == "One.\n"
    with pytest.raises(ValueError, match=r"gone\.pdf: No such file"):
        load_pdf(tmp_path / "gone.pdf")


# ---------------------------------------------------------------------------------- every file


def test_load_document_reads_plain_text_as_it_is(tmp_path: Path) -> None:
    for name in ("a.txt", "a.md", "a.py", "a.JS", "a.ts"):
        (tmp_path / name).write_bytes(b"\xef\xbb\xbf# caf\xc3\xa9\r\n")
        assert load_document(tmp_path / name) == Document("# café\r\n", name)
    (tmp_path / "a.json").write_text("[1]")
    assert load_document(str(tmp_path / "a.json")).text == "[\n  1\n]\n"


def test_load_document_faults(tmp_path: Path) -> None:
    (tmp_path / "a.docx").write_bytes(b"PK")
    (tmp_path / "a.txt").write_bytes(b"caf\xe9")
    (tmp_path / "dir.md").mkdir()
    for name, message in (
        ("a.docx", r"a\.docx: no loader for '\.docx'"),
        ("noname", "noname: no loader for a name without an ending"),
        ("a.txt", r"a\.txt: byte 0xe9 at 3 is not utf-8"),
        ("dir.md", r"dir\.md: a folder, not a file"),
        ("gone.md", r"gone\.md: No such file"),
    ):
        with pytest.raises(ValueError, match=message):
            load_document(tmp_path / name)
