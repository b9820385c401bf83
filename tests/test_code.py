"""`split_code`: definitions whole with what leads to them, nothing lost, whatever the source is."""

import ast
import re
from itertools import pairwise
from pathlib import Path

import case_checks
import pytest
from case_checks import CASES
from corpus import FOLDER
from hypothesis import given
from hypothesis import strategies as st
from strategies import odd_text, texts
from test_cost import work_of

from chunking_lib.chunk import Chunk, Document, check_chunks
from chunking_lib.formats import code_grammars
from chunking_lib.formats.code import load_code, split_code
from chunking_lib.formats.code_grammars import LANGUAGES
from chunking_lib.length import token_length
from chunking_lib.models import load_tokenizer

CORPUS = ("fare_engine.py", "fare_widget.js", "fare_types.ts")
LENGTHS = {
    "characters": len,
    "MiniLM": token_length(load_tokenizer()),
    "words": lambda text: len(text.split()),
    "quarters": lambda text: len(text) // 4,
    "not monotone": lambda text: len(text) // 3 + len(text) % 7,
}


def read(chunks: list[Chunk]) -> list[str]:
    return [chunk.text for chunk in chunks]


def split(code: str, language: str, size: int = 1000, **options) -> list[Chunk]:
    """Split and assert what always holds; return the chunks."""
    document = Document(code, id="name", metadata={"key": "value"})
    length = options.get("length", len)
    chunks = split_code(document, language=language, size=size, **options)
    assert check_chunks(document, chunks, size=size, overlap=0, length=length) == []
    checks = [["slice"], ["ordered"], ["no_blank"], ["graphemes"], ["overlap_max", 0]]
    assert case_checks.faults(checks, code, chunks) == []
    for chunk in chunks:
        assert chunk.source == "name" and not chunk.derived
        names, kind = chunk.metadata["path"], chunk.metadata["kind"]
        assert bool(names) == (kind != "module") and all(names)
        assert bool(chunk.metadata.get("oversize")) == (length(chunk.text) > size)
        assert set(chunk.metadata) <= {"path", "kind", "oversize", "fallback"}
        assert not chunk.context or names
    if length(code) <= size:
        assert len(chunks) <= 1
    assert split_code(document, language=language, size=size, **options) == chunks
    return chunks


def where(chunks: list[Chunk], part: str) -> Chunk:
    """Return the one chunk that holds `part`."""
    [found] = [chunk for chunk in chunks if part in chunk.text]
    return found


# --- cases ------------------------------------------------------------------------------


def run_case(name: str) -> list[Chunk]:
    """Split the input of a case, assert that its checks find nothing, return the chunks."""
    case = CASES[name]
    code, language = case["input"], case["parameters"]["strategy"]
    chunks = split(code, language, case["parameters"]["chunk_size"])
    case_checks.passes(name, code, chunks)
    assert "".join(read(chunks)) == code
    return chunks


def test_js_braces_in_literals():
    chunks = run_case("js_braces_in_literals")
    assert [chunk.metadata["path"] for chunk in chunks] == [["a"], ["b"]]


# A line of a function in which a bracket or a quote misleads those who count them.
MISLEADING = {
    "javascript": ["s = '}';", "s = /[}/]{2}/g;", "s = `}${{a: '}'}.a}{`;", "// }", "/* }\n } */"],
    "typescript": ["s = '}';", "s = `}${'}'}{`;", "// }", "let x: { a: '}' };"],
    "tsx": ["s = '}';", "r = <b a='}'>{'}'}</b>;", "// }"],
    "java": ['s = "}";', "c = '}';", "// }", "/* } */", 's = """\n  }\n  """;'],
    "go": ['s = "}"', "s = `}\n}`", "c = '}'", "// }"],
    "rust": ['let s = "}";', 'let s = r#"}"}"#;', "let c = '}';", "/* } /* } */ */"],
    "c": ['s = "}";', "c = '}';", "// }", "/* } */", 's = "\\"}";'],
    "python": ['s = "def f(): }"', 's = """\ndef x():\nclass Y:\n"""', "# def f():", "s = f'{{'"],
}


def function(language: str, name: str, lines: list[str]) -> str:
    """Write a function that nothing can be left out of."""
    if language == "python":
        body = "\n".join(f"    {line}" for line in [*lines, "return 1"])
        return f"def {name}(a):\n{body}\n"
    head = {
        "javascript": f"function {name}(a) {{",
        "typescript": f"export function {name}(a: number): number {{",
        "tsx": f"const {name} = (a: number) => {{",
        "java": f"class {name} {{ void go() {{",
        "go": f"func {name}(a int) int {{",
        "rust": f"pub fn {name}(a: i32) -> i32 {{",
        "c": f"static int {name}(int a) {{",
    }[language]
    tail = {"java": "}}", "tsx": "};"}.get(language, "}")
    return "\n".join([head, *(f"  {line}" for line in lines), "  return 1;", tail]) + "\n"


def binders(language: str) -> list[str]:
    """What may lead to a function and belongs to it."""
    if language == "python":
        return ["# why: é 猫\n", "@cached\n", "@app.get('/x', a={'b': 1})\n"]
    plain = ["// why: é 猫\n", "/* why {\n * it is */\n"]
    return [*plain, *{"rust": ["#[test]\n", "/// Doc }\n"], "java": ["@A\n"]}.get(language, [])]


@st.composite
def sources(draw, language):
    """Functions, each with what leads to it, between other statements; and those functions."""
    other = {"python": "x = {'a': (1,\n  2)}\n", "go": "var x = 1\n", "java": "import a.b;\n"}.get(
        language, {"rust": "const X: i32 = 1;\n", "c": "int x;\n"}.get(language, "let x = [1];\n")
    )
    parts, units = [], []
    for number in range(draw(st.integers(1, 6))):
        lead = draw(st.lists(st.sampled_from(binders(language)), max_size=3))
        lines = draw(st.lists(st.sampled_from(MISLEADING[language]), max_size=4))
        body = function(language, f"name{number}", lines)
        units.append(("".join(lead), body))
        parts.append("".join(lead) + body)
        parts += draw(st.lists(st.just(other), max_size=2))
        parts.append(draw(st.sampled_from(["", "\n", "\n\n\n"])))
    return "".join(parts), units


@pytest.mark.parametrize("name", LENGTHS)
@pytest.mark.parametrize("language", LANGUAGES)
@given(data=st.data(), size=st.integers(1, 60) | st.integers(60, 400))
def test_js_braces_in_literals_in_any_language(name, language, data, size):
    """No function that fits is cut, whatever stands in its strings; nor what leads to it."""
    code, units = data.draw(sources(language))
    length = LENGTHS[name]
    chunks = split(code, language, size, length=length)
    if name == "not monotone":
        return
    for lead, body in units:
        if length(lead + body) <= size:
            assert any((lead + body).rstrip() in text for text in read(chunks))
        elif length(body) <= size and "\n@" not in f"\n{lead}":
            assert any(body.rstrip() in text for text in read(chunks))


@pytest.mark.parametrize("language", LANGUAGES)
@given(data=st.data(), size=st.integers(60, 400))
def test_the_path_is_that_of_the_function(language, data, size):
    code, units = data.draw(sources(language))
    chunks = split(code, language, size)
    names = [re.findall(r"\bname\d", body)[0] for _, body in units]
    for chunk in chunks:
        assert set(chunk.metadata["path"]) <= {*names, "go"}  # "go": the method in Java
        if chunk.metadata["path"]:
            lead, body = units[names.index(chunk.metadata["path"][0])]
            assert chunk.text.strip() in lead + body
            assert f"{chunk.metadata['path'][0]}" in chunk.context + chunk.text


def test_js_leading_comment():
    chunks = run_case("js_leading_comment")
    assert [chunk.metadata["path"] for chunk in chunks] == [[], ["add"], ["id"]]


def test_js_leading_comment_that_does_not_fit():
    """Of many comments, the nearest stay; a comment at the end of a line is of that line."""
    code = "a(); // of a\n\n// number one\n\n// two\nfunction f() {\n  return 1;\n}\n"
    chunks = split(code, "javascript", 40)
    assert read(chunks) == [
        "a(); // of a\n\n",
        "// number one\n\n",
        "// two\nfunction f() {\n  return 1;\n}\n",
    ]
    # A blank line parts it from the function: it need not be about it.
    assert (chunks[1].metadata["path"], chunks[1].context) == ([], "")
    code = "a(); // of a\n\n// one two three four five six\nfunction f() {\n  return 1;\n}\n"
    chunks = split(code, "javascript", 40)
    assert (chunks[1].metadata["path"], chunks[1].context) == (["f"], "function f()")


def test_py_decorator_separated():
    chunks = run_case("py_decorator_separated")
    assert [chunk.metadata["path"] for chunk in chunks] == [["a"], ["b"]]


def test_py_decorator_separated_from_a_method():
    code = "class A:\n    x = 1\n\n    # note\n    @property\n    def b(self):\n        return 2\n"
    chunks = split(code, "python", 70)
    assert read(chunks) == [code[:20], code[20:]]
    assert chunks[1].metadata == {"path": ["A", "b"], "kind": "method"}
    assert chunks[1].context == "class A:"


def test_py_def_inside_string():
    chunks = run_case("py_def_inside_string")
    assert [chunk.metadata["path"] for chunk in chunks] == [[], ["real"]]


def test_py_duplicate_nested_nodes():
    [chunk] = run_case("py_duplicate_nested_nodes")
    assert chunk.metadata == {"path": ["outer"], "kind": "function"}


@pytest.mark.parametrize("name", CORPUS)
@pytest.mark.parametrize("size", [40, 120, 300, 1000])
def test_py_duplicate_nested_nodes_never(name, size):
    """Each character lies in exactly one chunk."""
    document = load_code(FOLDER / name)
    chunks = split_code(document, size=size)
    assert check_chunks(document, chunks, size=size, overlap=0) == []
    for left, right in pairwise(chunks):
        assert document.text[left.end : right.start].isspace() or left.end == right.start


def test_py_module_level_dropped():
    chunks = run_case("py_module_level_dropped")
    assert chunks[0].metadata == {"path": [], "kind": "module"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_py_module_level_dropped_in_any_language(language):
    """Imports, constants, the docstring, statements between: the file is the sum of the chunks."""
    parts = {
        "python": ["#!/usr/bin/python\n", '"""Doc."""\n', "import os\n", "X = 1\n", "f()\n"],
        "java": ["package a;\n", "import b.c;\n", "// end\n"],
        "go": ["package a\n", 'import (\n\t"os"\n)\n', "const (\n\tA = 1\n)\n", "// end\n"],
        "rust": ["#![allow(x)]\n", "use a::b;\n", "static X: i32 = 1;\n", "m!(a);\n"],
        "c": ["#include <a.h>\n", "#define X 1\n", "int x = 2;\n", "// end\n"],
    }.get(language, ['"use strict";\n', "import a from 'b';\n", "const x = 1;\n", "f(x);\n"])
    code = "\n\n".join([*parts, function(language, "last", [])])
    for size in (20, 40, 80):
        held = "".join(read(split(code, language, size)))
        assert "".join(held.split()) == "".join(code.split())
    assert "".join(read(split(code, language, 400))) == code


# --- classes and functions that are too large -------------------------------------------


def test_a_class_is_cut_between_its_members_and_they_know_it():
    code = (
        "// A stop.\nexport class Stop extends Place {\n  #n = 1;\n\n  // Goes.\n  go() {\n"
        "    a();\n    b();\n  }\n\n  stay() {\n    c();\n  }\n}\n"
    )
    chunks = split(code, "javascript", 62)
    assert [(c.metadata["path"], c.metadata["kind"], c.context) for c in chunks] == [
        (["Stop"], "class", ""),
        (["Stop", "go"], "method", "export class Stop extends Place"),
        (["Stop", "stay"], "method", "export class Stop extends Place"),
    ]
    assert chunks[1].text == "  // Goes.\n  go() {\n    a();\n    b();\n  }\n\n"
    assert chunks[2].text == "  stay() {\n    c();\n  }\n}\n"


def test_small_members_are_merged():
    code = "class A:\n" + "".join(f"    def f{n}(self):\n        pass\n\n" for n in range(6))
    chunks = split(code, "python", 80)
    assert [chunk.text.count("def ") for chunk in chunks] == [2, 2, 2]
    assert all(chunk.metadata == {"path": ["A"], "kind": "class"} for chunk in chunks)
    assert [chunk.context for chunk in chunks] == ["", "class A:", "class A:"]


def test_a_function_is_cut_between_statements_then_lines():
    code = (
        "def f(a):\n    if a:\n        b = 1\n        c = 2\n    else:\n        d = 3\n"
        '    text = """\n    one line\n    two lines\n    """\n    return a\n'
    )
    chunks = split(code, "python", 36)
    assert read(chunks) == [
        "def f(a):\n    if a:\n        b = 1\n",
        "        c = 2\n    else:\n",
        "        d = 3\n",
        '    text = """\n    one line\n',
        '    two lines\n    """\n',
        "    return a\n",
    ] or all(chunk.text.endswith("\n") for chunk in chunks)
    assert [chunk.context for chunk in chunks] == [""] + ["def f(a):"] * (len(chunks) - 1)


def test_the_docstring_stays_with_the_signature():
    doc = '    """Say what it does,\n    in two lines.\n    """\n'
    code = "# note\n\n" * 9 + "@cached\ndef f(a):\n" + doc + "    a += 1\n" * 9
    chunks = split(code, "python", 100)
    whole = where(chunks, "def f").text
    assert whole.startswith("# note\n") and doc.rstrip() in whole
    # If it is too much together, the docstring goes alone: decorators are part of the function.
    for size in (55, 60):
        chunks = split(code, "python", size)
        assert where(chunks, "Say what").text.startswith(doc.rstrip())
        assert where(chunks, "def f").text.endswith("@cached\ndef f(a):\n")


def test_of_a_long_docstring_the_first_paragraph_stays_with_the_signature():
    doc = '    """Say what.\n\n    Say why.\n\n    ' + "Say more. " * 8 + '\n    """\n'
    code = "@cached\ndef f(a):\n" + doc + "    return a\n"
    chunks = split(code, "python", 100)
    assert chunks[0].text == code[: code.index("    Say more")]
    assert chunks[1].text.startswith("    Say more")


@pytest.mark.parametrize("mark", ["#", "# ----------"])
def test_comments_without_a_blank_line_between_them_stay_together(mark):
    banner = f"{mark}\n# Title\n{mark}\n"
    function = "def f(a):\n" + "    a += 1\n" * 8
    for size in range(len(function), len(banner + function)):
        chunks = split("x = 1\n\n" + banner + "\n" + function, "python", size)
        found = where(chunks, "# Title")
        assert banner.rstrip() in found.text
        assert found.metadata["path"] == [] and found.context == ""
        assert where(chunks, "def f").text == function


def test_a_short_comment_is_not_parted_from_data():
    rows = "".join(f"    row({n}),\n" for n in range(9))
    code = "# What it is,\n# and why.\nROWS = (\n" + rows + ")\n"
    chunks = split(code, "python", 120)
    assert "".join(read(chunks)) == code and len(chunks) == 2
    assert chunks[0].text.startswith("# What it is,\n# and why.\nROWS = (\n    row(0),\n")
    # A definition that fits is whole: the context of its comment says what it is about.
    code = "# What it is,\n# and why.\ndef f(a):\n" + "    a += 1\n" * 9
    assert [chunk.metadata["path"] for chunk in split(code, "python", 120)] == [["f"], ["f"]]


@pytest.mark.parametrize("size", range(110, 151, 10))
def test_no_crumb_is_left_behind_statements(size):
    loop = "    for b in a:\n" + "        call(b)\n" * 9
    code = "def f(a):\n" + loop + "    return a\n"
    for text in (code, code * 2, code.replace("return a", "a = 1")):
        assert min(len(one.rstrip()) for one in read(split(text, "python", size))) * 4 >= size
    code = "function f(a) {\n  if (a) {\n" + "    call(a);\n" * (size // 13) + "  }\n}\n"
    assert min(map(len, read(split(code, "javascript", size)))) * 4 >= size


def test_a_bracket_is_not_left_alone():
    for more in range(20):
        rows = "      1,\n" * 9 + f"      {'2' * more}\n"
        code = "class A {\n  f() {\n    g(\n" + rows + "    );\n  }\n}\n"
        assert re.search(r"\w", split(code, "javascript", 100)[-1].text)


def test_nested_definitions_have_all_names():
    code = (
        "mod outer {\n    impl Show for Stop<T> {\n        fn show(&self) {\n"
        "            first();\n            second();\n        }\n    }\n}\n"
    )
    last = split(code, "rust", 45)[-1]
    assert last.metadata == {"path": ["outer", "Stop", "show"], "kind": "method"}
    assert last.context == "mod outer\n    impl Show for Stop<T>\n        fn show(&self)"


NAMED = {
    "python": [("async def f():\n    pass", ["f"], "function"), ("class A: x = 1", ["A"], "class")],
    "javascript": [
        ("export default class A {}", ["A"], "class"),
        ("const f = async (a) => a;", ["f"], "function"),
        ("exports.f = function () {};", ["exports.f"], "function"),
        ("function* g() {}", ["g"], "function"),
        ("const x = 1;", [], "module"),
        ("const { a } = b;", [], "module"),
    ],
    "typescript": [
        ("@A() export abstract class B<T> {}", ["B"], "class"),
        ("export interface I { a: 1 }", ["I"], "interface"),
        ("declare module 'x' { }", ["'x'"], "namespace"),
        ("namespace N { }", ["N"], "namespace"),
        ("export type T = 1;", ["T"], "type"),
        ("const enum E { A }", ["E"], "enum"),
    ],
    "tsx": [("const Box = () => <p>}</p>;", ["Box"], "function")],
    "java": [
        ("record R(int a) {}", ["R"], "class"),
        ("@interface A {}", ["A"], "interface"),
        ("public enum E { A, B }", ["E"], "enum"),
    ],
    "go": [
        ("func (s *Stop[T]) Go() {}", ["Stop", "Go"], "method"),
        ("func F[T any](a T) {}", ["F"], "function"),
        ("type S struct { a int }", ["S"], "struct"),
        ("type I interface { F() }", ["I"], "interface"),
        ("type N int\n", ["N"], "type"),
    ],
    "rust": [
        ("pub(crate) async fn f<T>() {}", ["f"], "function"),
        ("#[derive(A)]\npub struct S(i32);", ["S"], "struct"),
        ("pub trait T { fn f(); }", ["T"], "trait"),
        ("macro_rules! m { () => {} }", ["m"], "macro"),
        ("enum E { A }", ["E"], "enum"),
    ],
    "c": [
        ("static char **f(int a) { return 0; }", ["f"], "function"),
        ("int (*f(int a))(void) { return 0; }", ["f"], "function"),
        ("struct s { int a; };", ["s"], "struct"),
        ("typedef struct { int a; } point;", ["point"], "type"),
        ("struct s x;", [], "module"),
    ],
}


@pytest.mark.parametrize(
    ("language", "code", "path", "kind"),
    [(language, *row) for language, rows in NAMED.items() for row in rows],
)
def test_names_and_kinds(language, code, path, kind):
    [chunk] = split(code, language)
    assert (chunk.metadata["path"][: len(path)], chunk.metadata["kind"]) == (path, kind)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_name_of_a_node_is_one_of_a_grammar(language):
    """A name that no grammar has would be a typing error."""
    known = set()
    for name in LANGUAGES:
        grammar = code_grammars._load(name)
        known |= {grammar.node_kind_for_id(number) for number in range(grammar.node_kind_count)}
    for names in (code_grammars.LISTS, code_grammars.CLAUSES, code_grammars.BINDERS):
        assert set(names) <= known
    assert set(code_grammars.KINDS) <= known


# --- the course's own -------------------------------------------------------------------


def test_every_function_of_the_fare_engine_is_whole_and_named():
    document = load_code(FOLDER / "fare_engine.py")
    chunks, lines = split_code(document, size=1500), document.text.splitlines(keepends=True)
    seen = 0
    for node in ast.walk(ast.parse(document.text)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            text = "".join(lines[first - 1 : node.end_lineno])
            if len(text) <= 1500:
                assert any(text.rstrip() in chunk.text for chunk in chunks), node.name
                seen += 1
            else:
                assert any(node.name in chunk.metadata["path"] for chunk in chunks)
    assert seen > 25


@pytest.mark.parametrize("name", LENGTHS)
@pytest.mark.parametrize("path", CORPUS)
@pytest.mark.parametrize("size", [1, 30, 250, 100_000])
def test_the_corpus_keeps_every_promise(path, name, size):
    document = load_code(FOLDER / path)
    split(document.text, document.metadata["language"], size, length=LENGTHS[name])


@pytest.mark.parametrize("path", CORPUS)
def test_joined_the_chunks_are_the_file(path):
    document = load_code(FOLDER / path)
    assert "".join(read(split_code(document))) == document.text


@pytest.mark.parametrize("path", CORPUS)
def test_windows_line_ends_make_no_difference(path):
    document = load_code(FOLDER / path)
    windows = document.text.replace("\n", "\r\n")
    length = lambda text: len(text.replace("\r", ""))  # noqa: E731
    one = split(document.text, document.metadata["language"], 500)
    two = split(windows, document.metadata["language"], 500, length=length)
    assert [text.replace("\r\n", "\n") for text in read(two)] == read(one)
    assert [chunk.metadata for chunk in two] == [chunk.metadata for chunk in one]


# --- what is no good source -------------------------------------------------------------


@pytest.mark.parametrize("language", LANGUAGES)
@given(code=texts | odd_text, size=st.integers(1, 40))
def test_any_text_is_split_and_nothing_is_lost(language, code, size):
    split(code, language, size)


@pytest.mark.parametrize("language", LANGUAGES)
@given(data=st.data(), size=st.integers(1, 120))
def test_source_with_mistakes_is_split_and_nothing_is_lost(language, data, size):
    code, _ = data.draw(sources(language))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(code)))
        gone = data.draw(st.integers(0, 5))
        new = data.draw(st.sampled_from(["", "{", "}", '"', "`", "(", "<<<<", "é\u0301", "\x00"]))
        code = code[:at] + new + code[at + gone :]
    split(code, language, size)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "code",
    [
        "",
        " \n\n\t",
        "\ufeff\n",
        "{" * 3000,
        "(" * 3000 + "猫" + ")" * 3000,
        "}\n" * 1000,
        "[" * 500 + "\n" * 500 + "]" * 500,
        "a" * 5000,
        "\x00" * 50 + "x",
        "x = '\ud800'\n" * 50,
        "\n" * 3000 + "x",
        " " * 3000 + "x",
        "猫 = '👩\u200d👩\u200d👧'\r\n" * 50,
        "f(\r  a,\r  b\r)\r" * 50,
    ],
    ids=lambda code: ascii(code[:6]),
)
def test_extremes(language, code):
    for size in (1, 7, 100):
        split(code, language, size)


def test_deep_nesting_ends_in_lines():
    code = "".join(f"{' ' * n}if (a) {{\n" for n in range(200)) + "x();\n" + "}\n" * 200
    split(code, "javascript", 100)
    code = "".join(f"{' ' * n}function f{n}() {{\n" for n in range(200)) + "}\n" * 200
    chunks = split(code, "javascript", 100)
    assert max(len(chunk.metadata["path"]) for chunk in chunks) > 20


def test_what_the_parser_gives_up_is_split_between_lines(monkeypatch):
    code = ("<" * 30 + "\n") * 4

    class Lost:
        def __init__(self, language):
            pass

        def parse(self, read, *, progress_callback):
            assert read(0, None) == code.encode() and read(len(code), None) == b""
            while not progress_callback(0, True):
                pass
            raise ValueError("Parsing failed")

    monkeypatch.setattr(code_grammars, "Parser", Lost)
    chunks = split(code, "typescript", 31)
    assert read(chunks) == [code[:31]] * 4
    assert all(chunk.metadata["fallback"] == "lines" for chunk in chunks)


def test_minified_code_is_cut_between_statements():
    code = "function f(a){var b=a+1;return b*2};" * 30
    for text in read(split(code, "javascript", 80)):
        assert text == "function f(a){var b=a+1;return b*2};" * 2
    code = "(function(){" + "a=1;" * 60 + "})();"
    assert all(
        re.fullmatch(r"\W*(function\(\)\{)?(a=1;)*\W*", text)
        for text in read(split(code, "javascript", 30))
    )


# --- arguments --------------------------------------------------------------------------


def test_the_language_is_that_of_the_suffix():
    code = "fn f() {}\n"
    assert split_code(Document(code, id="src/A.RS"))[0].metadata["path"] == ["f"]
    assert split_code(load_code(code, language="rust"))[0].metadata["path"] == ["f"]
    assert split_code(code, language="rust")[0].metadata["path"] == ["f"]
    # A document may say in which language people wrote it.
    said = Document("def f(): pass", id="a.py", metadata={"language": "fr"})
    assert split_code(said)[0].metadata["path"] == ["f"]
    for suffix, language in code_grammars.SUFFIXES.items():
        assert load_code("", id=f"x{suffix}").metadata == {"language": language}


def test_files(tmp_path: Path):
    path = tmp_path / "a.py"
    path.write_bytes(b"\xef\xbb\xbfx = '\xc3\xa9'\r\n")
    document = load_code(path)
    assert (document.text, document.id) == ("x = 'é'\r\n", "a.py")
    assert load_code(path, id="b", language="python").id == "b"
    assert split_code(path) == split_code(document)
    assert load_code(path.read_bytes(), id="a.py") == document
    path.write_bytes(b"x = '\xe9'\n")
    with pytest.raises(ValueError, match=r"a\.py: byte 0xe9 at 5 is not utf-8"):
        load_code(path)
    with pytest.raises(ValueError, match=r"none\.py: No such file"):
        split_code(tmp_path / "none.py")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: split_code("x"), r"id='' must end like .*\.py.*one of c, go, .*typescript"),
        (lambda: split_code(Document("x", id="a.kt")), r"id='a.kt' must end like"),
        (lambda: split_code("x", language="cobol"), "language='cobol' must be one of c, go, java"),
        (lambda: load_code("x", id="readme"), "id='readme' must end like"),
        (lambda: load_code(1, language="c"), "source=1 must be a str, bytes or a Path"),
        (lambda: split_code(1, language="c"), "text=1 must be a str or a Document"),
        (lambda: split_code("", language="c", size=0), "size=0 must be a whole number of 1"),
        (lambda: split_code("", language="c", size=2.5), "size=2.5 must be a whole number"),
        (lambda: split_code("", language="c", length=3), "length=3 must be a callable"),
    ],
)
def test_wrong_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_missing_grammar_says_what_to_install(monkeypatch):
    code_grammars._load.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "tree_sitter_go", None)
    with pytest.raises(RuntimeError, match="pip install tree-sitter-go"):
        split_code("package a", language="go")
    code_grammars._load.cache_clear()


# --- cost -------------------------------------------------------------------------------

UNITS = {
    "functions": ("python", "# note é\ndef f(a):\n    return a\n\n\n"),
    "a class": ("java", "    // note\n    int f(int x) { return x; }\n"),
    "statements": ("c", "    x = g(y);\n"),
    "one line": ("javascript", "function f(a){return a+1};"),
    "comments": ("python", "# a comment\n"),
    "a formula": ("python", "a + "),
    "nested lists": ("javascript", "[[1, 2],\n [3]],\n"),
}
AROUND = {
    "a class": ("class A {\n", "}\n"),
    "statements": ("int f() {\n", "}\n"),
    "a formula": ("x = (", "1)"),
    "nested lists": ("x = [\n", "];"),
}


def measured(name: str, times: int) -> int:
    """Return the characters that a counting length is asked to measure."""
    language, unit = UNITS[name]
    before, after = AROUND.get(name, ("", ""))
    asked = []

    def length(text: str) -> int:
        asked.append(len(text))
        return len(text)

    split_code(before + unit * times + after, language=language, size=100, length=length)
    return sum(asked)


@pytest.mark.parametrize("name", UNITS)
def test_four_times_the_code_is_four_times_the_work(name):
    assert measured(name, 400) <= 4.4 * measured(name, 100) + 2000


@pytest.mark.parametrize("name", [*UNITS, *CORPUS])
def test_four_times_the_code_is_four_times_the_steps(name):
    """Counted in calls of functions: this sees the walk through the tree, too."""
    if name in CORPUS:
        document = load_code(FOLDER / name)
        language, unit = document.metadata["language"], document.text
    else:
        language, unit = UNITS[name]
    before, after = AROUND.get(name, ("", ""))

    def split(text):
        split_code(Document(text), language=language)

    times = 20_000 // len(unit) + 1
    once, four_times = (work_of(split, before + unit * n + after) for n in (times, 4 * times))
    assert four_times <= 4.4 * once + 2000
