"""Loaders of HTML, JSON and text on odd input: nothing is lost, changed, or grows out of bounds."""

import codecs
import json
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chunking_lib.formats import load_document
from chunking_lib.formats.html import load_html
from chunking_lib.formats.json import _unique, load_json
from chunking_lib.formats.json_split import split_json

# ------------------------------------------------------------------------------ HTML: what counts

# fmt: off
VOID = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
]
# fmt: on


@pytest.mark.parametrize("tag", VOID)
@pytest.mark.parametrize("hidden", ["hidden", "aria-hidden=true", "style='display:none'"])
def test_a_hidden_element_without_an_end_hides_nothing_else(tag: str, hidden: str) -> None:
    text = load_html(f"<body><div>one <{tag} {hidden}>two</div><h1>Three</h1><p>four").text
    assert text.split() == ["one", "two", "#", "Three", "four"]


@pytest.mark.parametrize("tag", VOID)
def test_an_element_without_an_end_does_not_move_the_end_of_another(tag: str) -> None:
    page = f"<article><{tag}>one</article><p>x</p><nav><{tag}>n</nav><article>two</article>"
    assert load_html(page).text == "one\n\ntwo\n"


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        # A teaser, an empty frame of a script, and a second part.
        ("<h1>Rules</h1><p>Long text.</p><article>ad</article>", "# Rules\n\nLong text.\n\nad\n"),
        ("<main></main><p>All the text.", "All the text.\n"),
        ("<main>1234</main><main>5</main><p>x", "1234\n\n5\n"),
        ("<article><main>part</main> rest of it</article><p>x", "part\n"),
        ("<main>1</main><article>1234567890</article><p>x", "1234567890\n"),
        # At the limit: a tenth of the text for main, half of it for articles.
        ("<main>1</main><p>123456789", "1\n"),
        ("<main>1</main><p>1234567890", "1\n\n1234567890\n"),
        ("<article>12</article><p>12", "12\n"),
        ("<article>12</article><p>123", "12\n\n123\n"),
        # What is left out is no text of the page.
        ("<main>1</main><nav>a long menu of a page</nav>", "1\n"),
        # A header of the page, and those of its parts.
        ("<header>h</header><main><header><h1>A</h1></header>b</main>", "# A\n\nb\n"),
        ("<article><header><h1>A</h1></header>b</article>", "# A\n\nb\n"),
        ("<section><header><h2>A</h2></header>b</section><header>h</header>", "## A\n\nb\n"),
        # Hidden, or not.
        ("<p hidden=until-found>a<p hidden>b<p hidden=''>c<p hidden=hidden>d", "a\n"),
        ("<p style='color:red; DISPLAY : None !important'>a<p>b", "b\n"),
        ("<p style='display:none;display:block'>a<p style='--x-display:none'>b", "a\n\nb\n"),
    ],
)
def test_the_content_of_a_page(page: str, expected: str) -> None:
    assert load_html(page).text == expected


_PARTS = st.tuples(
    st.sampled_from(["main", "article", "section", "div", "p", "blockquote"]),
    st.text("abc ", max_size=30),
)


@given(st.lists(_PARTS, min_size=1, max_size=8))
def test_a_page_keeps_a_tenth_of_its_text_at_least(parts: list[tuple[str, str]]) -> None:
    page = "".join(f"<{tag}>{text}</{tag}>" for tag, text in parts)
    said = sum(len(text.replace(" ", "")) for _, text in parts)
    kept = sum(map(load_html(page).text.count, "abc"))
    assert 10 * kept >= said


def test_the_title_is_that_of_the_head_alone() -> None:
    def title(page: str) -> object:
        return load_html(page).metadata.get("title")

    assert title("<body><svg><title>icon</title></svg><p>x") is None
    assert title("<title>A</title><style>b</style><script>c</script><p>x") == "A"
    assert title("<head><title>A</title></head><svg><title>icon</title></svg>") == "A"


# ------------------------------------------------------------------------------- HTML: characters


@pytest.mark.parametrize(
    "word",
    [
        "می\u200cخواهم",
        "क्\u200dष",
        "न्\u200cन",
        "👨\u200d👩\u200d👧",
        "❤\ufe0f\u200d🔥",
        "ශ්\u200dරී",
    ],
)
def test_words_keep_the_joiners_in_them(word: str) -> None:
    spelt = word.replace("\u200c", "&zwnj;").replace("\u200d", "<b>&zwj;</b>")
    page = f"<title>{word}</title><p>{word} a {spelt}<img alt='{word}'><pre>{spelt}</pre>"
    document = load_html(page)
    assert document.text == f"{word} a {word}[Image: {word}]\n\n{word}\n"
    assert document.metadata == {"title": word}


@given(st.text("aé م\u200c\u200d\u200b\u00a0", max_size=12))
def test_no_joiner_stands_where_it_joins_nothing(text: str) -> None:
    found = load_html(f"<main>{text}x</main>").text
    assert "  " not in found
    for place, char in enumerate(found):
        if char in "\u200c\u200d":
            assert found[place - 1] in "éم\u200c\u200d" and found[place + 1] in "éم\u200c\u200d"
    assert [c for c in found if c in "aéم"] == [c for c in text if c in "aéم"]


def _page(label: str, text: str, encoding: str) -> bytes:
    return f"<meta charset='{label}'><p>{text}".encode(encoding)


@pytest.mark.parametrize(
    "data",
    [
        "<p>é€".encode("utf-16-le"),
        "<p>é€".encode("utf-16-be"),
        _page("utf-8", "é€", "utf-16-le"),
        _page("utf_16", "é€", "utf-8"),
        _page("utf16", "é€", "utf-8"),
        _page("utf-16le", "é€", "utf-8"),
        _page("latin1", "é€", "cp1252"),
        _page("US-ASCII", "é€", "cp1252"),
        _page("iso-8859-9", "é€", "cp1254"),
        b"<!-- <meta charset=koi8-r> -->" + _page("utf-8", "é€", "utf-8"),
        b"<!-- <meta charset=koi8-r>\n -->" + "<p>é€".encode(),
    ],
)
def test_a_page_is_read_as_browsers_do(data: bytes) -> None:
    assert load_html(data).text == "é€\n"


@pytest.mark.parametrize(
    ("label", "text", "encoding"),
    [
        ("windows-31j", "波止場①", "cp932"),
        ("shift_jis", "波止場①", "cp932"),
        ("iso-8859-8-i", "רציף", "iso8859-8"),
        ("gb2312", "碼頭", "gb18030"),
        ("ks_c_5601-1987", "뷁", "cp949"),
        ("windows-1251", "пристань", "cp1251"),
    ],
)
def test_labels_of_the_web(label: str, text: str, encoding: str) -> None:
    assert load_html(_page(label, text, encoding)).text == f"{text}\n"


@pytest.mark.parametrize(
    "label",
    ["unicode_escape", "utf-7", "cp037", "idna", "punycode", "undefined", "hex", "rot13", "utf-32"],
)
def test_an_encoding_that_browsers_do_not_know_is_refused(label: str, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_bytes(b"<meta charset=%s><p>\\x41+AGE-" % label.encode())
    with pytest.raises(ValueError, match=rf"page\.html: unknown encoding '{label}'"):
        load_html(path)


# ------------------------------------------------------------------------------------ HTML: sizes


def _nested_tables(levels: int) -> str:
    page = "x"
    for _ in range(levels):
        page = f"<table><tr><td colspan=9><ul><li>{page}</ul><td>b<tr>{'<td>c' * 10}</table>"
    return page


BOMBS = {
    "spans of a long text": lambda n: (
        f"<table><tr><td colspan=1000 rowspan=1000>{'x' * n}<td>b{'<tr><td>c' * n}</table>"
    ),
    "spans of a short text": lambda n: "<table><tr><td colspan=1000>a<td>b</table>" * n,
    "a wide row and a tall column": lambda n: f"<table><tr>{'<td>c' * n}{'<tr><td>c' * n}</table>",
    "a column far to the right": lambda n: (
        f"<table><tr>{'<td>c' * n}<td rowspan={n}>c{'<tr><td>c' * n}</table>"
    ),
    "many spans in a row": lambda n: f"<table><tr>{'<td colspan=1000>c' * n}<tr><td>a<td>b</table>",
    "tables in lists in tables": lambda n: _nested_tables(min(n // 100, 30)),
    "many terms, many definitions": lambda n: (
        f"<dl>{'<dt>term</dt>' * n}{'<dd>text</dd>' * n}</dl>"
    ),
    "a long term, many definitions": lambda n: (
        f"<dl><dt>{'x' * 9 * n}</dt>{'<dd>text</dd>' * n}</dl>"
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_no_page_grows_far_beyond_its_length(name: str) -> None:
    for n in (300, 2400):
        page = BOMBS[name](n)
        assert len(load_html(page).text) < 40 * len(page) + 2000


@pytest.mark.parametrize("name", BOMBS)
def test_what_is_too_large_for_a_table_keeps_every_word(name: str) -> None:
    page = BOMBS[name](300)
    said = Counter(re.sub("<[^>]*>", " ", page).split())
    assert said <= Counter(re.findall(r"\w+", load_html(page).text))


@pytest.mark.parametrize("around", ["{}", "<ul><li>{}</ul>", "<blockquote>{}</blockquote>"])
def test_a_table_that_holds_another_is_no_table(around: str) -> None:
    inner = around.format("<table><tr><td>b<td>c</table>")
    text = load_html(f"<table><tr><td>a<td>{inner}</table>").text
    assert text.startswith("a\n\n") and text.count("| b | c |") == text.count("| --- |") == 1


def test_a_large_plain_table_stays_one() -> None:
    row = "<tr>" + "<td>cell" * 40
    span = "<tr><td colspan=40>A note below the rows, as long as one is in a table of its size."
    text = load_html(f"<table>{(row * 5 + span) * 200}</table>").text
    assert text.count("\n") == 6 * 200 + 1
    assert {line.count("|") for line in text.splitlines()} == {41}


def test_terms_that_share_a_definition_stand_together() -> None:
    page = "<dl><dt>a<dt>b<dd>c<dd>d<dt>{0}<dd>e<dd>f<dt>g<dt>h</dl>"
    assert load_html(page.format("i" * 200)).text.splitlines() == [
        "a, b: c",
        "a, b: d",
        f"{'i' * 200}: e",
        f"{'i' * 200}: f",
        "g",
        "h",
    ]
    # A long term is not repeated.
    assert f"{'i' * 201}: e\nf\n" in load_html(page.format("i" * 201)).text


# ------------------------------------------------------------------------------------------- JSON

NUMBERS = [
    "1234567890123456789.0",
    "0.10000000000000000000000001",
    "10.10",
    "1e-400",
    "1e999",
    "-0",
    "-0.0",
    "1E5",
    "1e+05",
    "9" * 5000,
]
_numbers = st.from_regex(
    r"-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,4})?", fullmatch=True
)
_texts = st.text(max_size=5).map(json.dumps)


def _written(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    members = st.dictionaries(st.text(max_size=3), inner, max_size=4)
    return st.lists(inner, max_size=4).map(lambda parts: f"[{','.join(parts)}]") | members.map(
        lambda parts: "{" + ",".join(f"{json.dumps(k)}:{v}" for k, v in parts.items()) + "}"
    )


_source = st.recursive(_numbers | _texts | st.sampled_from(["true", "null"]), _written)


def _as_written(text: str) -> object:
    """Read JSON with its numbers as they stand there, apart from strings."""
    return json.loads(text, parse_int=lambda n: ("number", n), parse_float=lambda n: ("number", n))


@given(_source)
def test_json_keeps_every_number_as_it_is_written(source: str) -> None:
    text = load_json(source).text
    assert _as_written(text) == _as_written(source)
    assert load_json(text).text == text


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=15,
    ),
    st.sampled_from([None, 0, 3]),
    st.booleans(),
)
def test_json_is_set_out_as_python_does(value: object, indent: int | None, ascii: bool) -> None:
    source = json.dumps(value, indent=indent, ensure_ascii=ascii)
    assert load_json(source).text == json.dumps(value, ensure_ascii=False, indent=2) + "\n"


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("size", [1, 30, 10_000])
def test_split_json_keeps_every_number_as_it_is_written(number: str, size: int) -> None:
    source = f'{{"id": {number}, "prices": [{number}, "{number}", [{number}]]}}'
    chunks = split_json(source, size=size)
    assert sum(chunk.text.count(number) for chunk in chunks) == source.count(number)
    for chunk in chunks:
        _as_written(chunk.text)  # still JSON


@pytest.mark.parametrize("depth", [0, 19, 20, 21, 400])
def test_deep_json_is_not_mostly_indent(depth: int) -> None:
    source = "[" * depth + "[" + "1," * 5000 + "1" + "]" + "]" * depth
    text = load_json(source).text
    assert json.loads(text) == json.loads(source)
    assert len(text) < 25 * len(source)
    assert text.splitlines()[depth + 1] == "  " * min(depth + 1, 20) + "1,"


def test_json_that_is_too_deep_is_refused() -> None:
    assert load_json("[" * 500 + "]" * 500).text.count("[") == 500
    with pytest.raises(ValueError, match="x: too deeply nested: more than 500 levels"):
        load_json("[" * 501 + "]" * 501, id="x")


def test_a_key_that_stands_twice_is_found_without_comparing_all_with_all() -> None:
    compared = 0

    class Key(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

    keys = [Key(i) for i in range(2000)] + [Key(1999)]
    with pytest.raises(ValueError, match="key '1999' stands twice"):
        _unique([(key, None) for key in keys])
    assert compared < 5 * len(keys)


# ------------------------------------------------------------------------------------- every file


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.py", "a.csv"])
@pytest.mark.parametrize(
    "data",
    [
        "caf\u00e9 \u2603".encode("utf-16-le"),
        "caf\u00e9 \u2603".encode("utf-16-be"),
        codecs.BOM_UTF16_LE + "caf\u00e9 \u2603".encode("utf-16-le"),
        "caf\u00e9 \u2603".encode(),
    ],
)
def test_plain_text_in_utf_16(name: str, data: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(data)
    assert load_document(tmp_path / name).text == "caf\u00e9 \u2603"


@pytest.mark.parametrize(
    ("data", "place"),
    [(b"\0" * 4, 0), (b"\0abc", 0), (b"a\0", 1), (b"text\0text", 4), (b"t\0\0\0e\0\0\0", 1)],
)
def test_a_file_with_a_nul_is_no_text(data: bytes, place: int, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(data)
    with pytest.raises(ValueError, match=rf"a\.txt: not a text: it has a NUL at {place}"):
        load_document(tmp_path / "a.txt")


@pytest.mark.parametrize("load", [load_html, load_json])
@pytest.mark.parametrize("name", ["page.html", "folder/page.HTM", "../fares.json"])
def test_the_name_of_a_file_is_not_its_content(load, name: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=r"source='.*' is the name of a file: it must be a Path"):
        load(name)
    assert load_html(f"See {name}").text == f"See {name}\n"


def test_the_message_about_a_missing_loader_is_short(tmp_path: Path) -> None:
    (tmp_path / "a.docx").write_bytes(b"PK")
    with pytest.raises(ValueError, match=r"a\.docx: no loader for '\.docx', but for HTML") as error:
        load_document(tmp_path / "a.docx")
    assert len(str(error.value)) < len(str(tmp_path)) + 140
