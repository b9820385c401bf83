"""`split_json`: every value once, valid JSON in each chunk, and the document back from all."""

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from case_checks import CASES
from corpus import FOLDER
from hypothesis import given
from hypothesis import strategies as st
from test_cost import work_of

from chunking_lib.chunk import Chunk, Document
from chunking_lib.formats.json import load_json
from chunking_lib.formats.json_split import split_json
from chunking_lib.formats.json_tree import read_tree
from chunking_lib.length import token_length
from chunking_lib.models import load_tokenizer

DOCUMENTS = ["api_departures.json", "api_fares.json"]
WORDS = st.sampled_from(
    ["", "a", "id", "é", "猫", "👩\u200d👧", "a\nb", '"', "\\", "x" * 30, "\ud800"]
)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | WORDS
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(WORDS | st.text(), inner),
    max_leaves=30,
)
sizes = st.integers(1, 40) | st.integers(1, 300)
LENGTHS = {
    "characters": len,
    "bytes": lambda text: len(text.encode("utf-8", "surrogatepass")),
    "quarters": lambda text: len(text) // 4,
    "words": lambda text: len(text.split()),
    "not monotone": lambda text: len(text) // 3 + len(text) % 7,
}


class Holder:
    """A value under construction: containers are filled by the chunks that are parts of them."""

    def __init__(self) -> None:
        self.value: object = None
        self.inside: dict[object, Holder] = {}
        self.kind: type | None = None

    def at(self, key: object) -> "Holder":
        kind = list if isinstance(key, int) else dict
        assert self.kind in (None, kind)
        self.kind = kind
        return self.inside.setdefault(key, Holder())

    def put(self, value: object) -> None:
        if not isinstance(value, list | dict):
            assert self.kind is None and not self.inside
            self.kind, self.value = type(value), value
            return
        assert self.kind in (None, type(value))
        self.kind = type(value)
        new = (
            value.items()
            if isinstance(value, dict)
            else enumerate(value, start=len(self.inside))  # a part goes on where the last stopped
        )
        for key, part in new:
            assert key not in self.inside, f"{key!r} stands in two chunks"
            self.at(key).put(part)

    def get(self) -> object:
        if self.kind is dict:
            return {key: part.get() for key, part in self.inside.items()}
        if self.kind is list:
            assert list(self.inside) == list(range(len(self.inside)))
            return [part.get() for part in self.inside.values()]
        return self.value


def rebuild(chunks: list[Chunk]) -> object:
    """Put the document together from nothing but texts and paths."""
    root = Holder()
    for chunk in chunks:
        holder = root
        for key in chunk.metadata["path"]:
            holder = holder.at(key)
        holder.put(json.loads(chunk.text))
    return root.get()


def same(left: object, right: object) -> bool:
    """Equal to the type: 1 is neither 1.0 nor true, and the order of keys counts."""
    return json.dumps(left) == json.dumps(right)


def assert_promises(document: Document, chunks: list[Chunk], size: int, length=len) -> None:
    text = document.text
    assert same(rebuild(chunks), json.loads(text.removeprefix("\ufeff")))
    gaps, end = [], 0
    for chunk in chunks:
        value = json.loads(chunk.text)
        alone = not isinstance(value, list | dict) or not value
        assert length(chunk.text) <= size or alone
        oversize = {"oversize": True} if length(chunk.text) > size else {}
        assert chunk.metadata == {"path": chunk.metadata["path"], **oversize}
        piece = text[chunk.start : chunk.end]
        if chunk.derived:
            # The same tokens, brackets around them apart.
            assert squeeze(piece) in squeeze(chunk.text)
            assert len(squeeze(chunk.text)) - len(squeeze(piece)) in (0, 2)
        else:
            assert piece == chunk.text
        assert chunk.source == document.id
        gaps.append(text[end : chunk.start])
        end = chunk.end
    assert all(left.end <= right.start for left, right in pairwise(chunks))
    # Between chunks there is nothing but brackets, commas, and the keys of what was taken apart.
    for gap in [*gaps, text[end:]]:
        rest = re.sub(r'"[^"\\]*(?:\\.[^"\\]*)*"\s*:', "", gap)
        assert not rest.strip("\ufeff \t\r\n{}[],"), gap


def squeeze(text: str) -> str:
    """Leave out what white space and separators differ by."""
    return re.sub(r'("[^"\\]*(?:\\.[^"\\]*)*")|\s+', r"\1", text)


@given(values, sizes)
def test_the_chunks_are_the_document(value, size):
    document = load_json(json.dumps(value), id="x")
    chunks = split_json(document, size=size)
    assert_promises(document, chunks, size)
    assert split_json(document, size=size) == chunks
    # Raw text, bytes and the document give the same.
    assert [(c.text, c.start) for c in split_json(json.dumps(value), size=size)] == [
        (c.text, c.start) for c in chunks
    ]


@pytest.mark.parametrize("name", LENGTHS)
@given(value=values, size=sizes)
def test_any_length(name, value, size):
    document = load_json(json.dumps(value))
    chunks = split_json(document, size=size, length=LENGTHS[name])
    assert_promises(document, chunks, size, LENGTHS[name])


@given(values, sizes, st.sampled_from([None, 1, "\t"]), st.booleans(), st.booleans())
def test_a_document_that_is_written_in_another_way(value, size, indent, escaped, marked):
    text = json.dumps(value, indent=indent, ensure_ascii=escaped).replace("\n", "\r\n")
    document = Document("\ufeff" * marked + text, id="other")
    assert_promises(document, split_json(document, size=size), size)


@given(values)
def test_the_tree_is_the_text(value):
    text = load_json(json.dumps(value)).text
    root, line = read_tree(text)
    assert line == json.dumps(value, ensure_ascii=False)
    waiting = [(root, value)]
    while waiting:
        node, part = waiting.pop()
        assert same(json.loads(text[node.start : node.end]), part)
        assert same(json.loads(line[node.line : node.line_end]), part)
        items = (
            part.items()
            if isinstance(part, dict)
            else enumerate(part)
            if isinstance(part, list)
            else ()
        )
        for child, (key, inner) in zip(node.children, items, strict=True):
            assert child.key == key
            waiting.append((child, inner))


# ------------------------------------------------------------------------------ each rule


def parts(value: object, size: int) -> list[tuple[list[object], str]]:
    return [(c.metadata["path"], c.text) for c in split_json(json.dumps(value), size=size)]


@pytest.mark.parametrize("value", [None, True, 0, -1.5, "", "é", {}, []])
def test_any_root(value):
    (chunk,) = split_json(json.dumps(value))
    assert (chunk.start, chunk.derived, chunk.context) == (0, False, "")
    assert same(json.loads(chunk.text), value) and chunk.metadata == {"path": []}
    (chunk,) = split_json(json.dumps([value]), size=1)
    assert chunk.metadata["path"] == [0] and same(json.loads(chunk.text), value)


def test_what_fits_is_as_the_document_has_it():
    (chunk,) = split_json('{"a":[1,2]}')
    assert chunk.text == '{\n  "a": [\n    1,\n    2\n  ]\n}' and not chunk.derived
    (chunk,) = split_json('{"a":[1,2],"b":3}', size=25)  # written in one line it fits
    assert chunk.text == '{"a": [1, 2], "b": 3}' and chunk.derived
    assert (chunk.start, chunk.end) == (0, 39)
    chunks = split_json('{"a": {"b": 1}, "c": "dddddddddd"}', size=20)
    assert [(c.text, c.derived) for c in chunks] == [
        ('{\n    "b": 1\n  }', False),
        ('{"c": "dddddddddd"}', True),
    ]
    assert [c.metadata["path"] for c in chunks] == [["a"], []]


def test_lists_stay_lists():
    assert parts([[1, 2], [3], 4, []], 10) == [([], "[[1, 2]]"), ([], "[[3], 4]"), ([], "[[]]")]
    assert parts({"a": [11, 22, 33]}, 9) == [(["a"], "[11, 22]"), (["a"], "[33]")]


def test_parts_before_and_after_what_was_taken_apart():
    value = {"k": [1, {"in": "x" * 20, "m": 2}, 3], "z": None}
    assert parts(value, 22) == [
        (["k"], "[1]"),
        (["k", 1, "in"], f'"{"x" * 20}"'),
        (["k", 1], '{"m": 2}'),
        (["k"], "[3]"),
        ([], '{"z": null}'),
    ]
    assert [c.context for c in split_json(json.dumps(value), size=22)] == [
        "k",
        "k > 1 > in",
        "k > 1",
        "k",
        "",
    ]


@pytest.mark.parametrize("value", ["x" * 100, 10**99, -1.25e-300, "猫" * 9])
def test_what_is_too_long_is_whole_and_marked(value):
    chunks = split_json(json.dumps({"a": 1, "b": value, "c": [value]}), size=8)
    assert [c.metadata.get("oversize", False) for c in chunks] == [False, True, True]
    assert [c.text for c in chunks[1:]] == [json.dumps(value, ensure_ascii=False)] * 2
    assert [c.metadata["path"] for c in chunks] == [[], ["b"], ["c", 0]]


def test_a_long_key_is_in_the_path():
    key = "k" * 10_000
    chunks = split_json(json.dumps({key: {"a": 1, "b": [2] * 9}}), size=20)
    assert all(c.metadata["path"][0] == key and len(c.context) < 220 for c in chunks)
    assert same(rebuild(chunks), {key: {"a": 1, "b": [2] * 9}})


def test_keys_that_look_like_something_else():
    value = {
        "": {"": [1] * 9},
        "0": {"0": [2] * 9},
        "a > b": [3] * 9,
        '"': [4] * 9,
        "\\u00e9": [5] * 9,
    }
    chunks = split_json(json.dumps(value), size=20)
    assert same(rebuild(chunks), value)
    assert {tuple(c.metadata["path"]) for c in chunks} == {
        ("", ""),
        ("0", "0"),
        ("a > b",),
        ('"',),
        ("\\u00e9",),
    }


def test_numbers_stay_as_they_are_written():
    text = '{"a": 1.0, "b": 1E5, "c": 12345678901234567890, "d": -0, "e": 0.10}'
    chunks = split_json(Document(text), size=25)
    assert len(chunks) > 1
    assert re.findall("[-0-9.E]{2,}", " ".join(c.text for c in chunks)) == re.findall(
        "[-0-9.E]{2,}", text
    )


@pytest.mark.parametrize("size", [1, 30, 1000])
@pytest.mark.parametrize(
    "open_, close", [("[", "]"), ('{"a": ', "}"), ('[0, {"b": ', ', "c": 1}]')]
)
def test_deep_nesting(open_, close, size):
    depth = 400 // (len(open_) // 8 + 1)
    text = open_ * depth + "7" + close * depth
    document = load_json(text)
    chunks = split_json(document, size=size)
    assert_promises(document, chunks, size)


@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("size", [50, 200, 1000])
def test_the_documents_of_the_course(name, size):
    document = load_json(FOLDER / name)
    chunks = split_json(FOLDER / name, size=size)
    assert_promises(document, chunks, size)
    assert {c.source for c in chunks} == {name}
    length = token_length(load_tokenizer())
    assert_promises(document, split_json(document, size=size, length=length), size, length)


# ------------------------------------------------------------------------------ what is refused


def test_faults(tmp_path: Path):
    for options, message in (
        ({"size": 0}, "size=0 must be a whole number of 1 or more"),
        ({"size": 1.5}, "size=1.5 must be a whole number of 1 or more"),
        ({"length": 3}, "length=3 must be a callable from a text to a number"),
        ({"length": lambda text: None}, "=None must be a number of 0 or more"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            split_json("[1]", **options)
    with pytest.raises(ValueError, match=r"not JSON: .* at line 2, column 2"):
        split_json("[1,\n x]")
    with pytest.raises(ValueError, match=r"f\.json: not JSON: .* at line 1, column 4"):
        split_json(Document("[1 2]", id="f.json"))
    with pytest.raises(ValueError, match="key 'a' stands twice"):
        split_json(Document('{"a": 1, "a": 2}'))
    with pytest.raises(ValueError, match=r"gone\.json: No such file"):
        split_json(tmp_path / "gone.json")
    with pytest.raises(ValueError, match=r"source=\[1\] must be"):
        split_json([1])  # type: ignore[arg-type]


def test_sizes_of_numpy_and_beyond_all_numbers():
    import numpy as np

    assert parts([1, 2], np.int64(4)) == [([], "[1]"), ([], "[2]")]
    assert len(split_json("[1, 2]", size=10**400, length=lambda text: len(text))) == 1


# ------------------------------------------------------------------------------ cases


def test_json_empty_containers_lost():
    case = CASES["json_empty_containers_lost"]
    chunks = split_json(case["input"], size=40)
    assert len(chunks) > 1
    assert same(rebuild(chunks), case["right_value"]["exact"]["merged"])


@given(
    st.recursive(
        st.sampled_from([{}, [], "", None, 0, False, 0.0]),
        lambda inner: st.lists(inner, min_size=1) | st.dictionaries(WORDS, inner, min_size=1),
        max_leaves=40,
    ),
    sizes,
)
def test_json_empty_containers_lost_at_any_boundary(value, size):
    assert same(rebuild(split_json(json.dumps(value), size=size)), value)


def test_json_non_ascii_size():
    case = CASES["json_non_ascii_size"]
    chunks = split_json(case["input"], size=60)
    assert [list(json.loads(c.text)) for c in chunks] == case["right_value"]["exact"]["keys"]
    assert len(chunks[0].text) == 52 and "日本語の本" in chunks[0].text


@given(st.dictionaries(st.text("ab"), st.text("é猫😀", min_size=1), min_size=1), sizes)
def test_json_non_ascii_size_measures_what_is_stored(value, size):
    """Letters of other scripts fill a chunk just as ASCII letters do."""
    plain = {key: "x" * len(text) for key, text in value.items()}
    chunks = split_json(json.dumps(value), size=size)
    assert [len(c.text) for c in chunks] == [
        len(c.text) for c in split_json(json.dumps(plain), size=size)
    ]
    assert not any("\\u" in c.text for c in chunks)


def test_json_state_between_calls():
    case = CASES["json_state_between_calls"]
    first, second = map(json.dumps, json.loads(case["input"]))
    results = [
        [json.loads(c.text) for c in split_json(text, size=200)] for text in (first, second, first)
    ]
    assert results == case["right_value"]["exact"]["results"]


@given(values, values, sizes)
def test_json_state_between_calls_of_any_kind(first, second, size):
    texts = [json.dumps(first), json.dumps(second)]
    before = [split_json(text, size=size) for text in texts]
    for chunks in before:
        for chunk in chunks:  # what a caller does to a chunk is his own affair
            assert chunk.metadata["path"] is not chunks[0].metadata["path"] or chunk is chunks[0]
    copies = [[(c.text, list(c.metadata["path"])) for c in chunks] for chunks in before]
    before[0][0].metadata["path"].append("mine")
    again = [split_json(text, size=size) for text in texts]
    assert [[(c.text, c.metadata["path"]) for c in chunks] for chunks in again] == copies


def test_json_top_level_list():
    case = CASES["json_top_level_list"]
    chunks = split_json(case["input"], size=40)
    joined = [element for c in chunks for element in json.loads(c.text)]
    assert joined == case["right_value"]["exact"]["joined"]
    assert all(c.metadata["path"] == [] for c in chunks)


# ------------------------------------------------------------------------------ time


def _counted(value: object, size: int) -> float:
    """Return the characters measured for each character of the document."""
    text = load_json(json.dumps(value)).text
    counted = 0

    def length(piece: str) -> int:
        nonlocal counted
        counted += len(piece)
        return len(piece.split())

    split_json(Document(text), size=size, length=length)
    return counted / len(text)


def nested(depth: int, inner: object) -> object:
    for i in range(depth):
        inner = {"k": inner} if i % 2 else [i, inner]
    return inner


RECORD = {"id": 1, "tags": ["a", "b", {}], "note": "word " * 20}
SHAPES = {
    "records": lambda n: [RECORD] * n,
    "numbers": lambda n: list(range(20 * n)),
    "large beside small": lambda n: [1, [RECORD] * 9, 2, 3, 4] * (n // 9),
    "deep": lambda n: nested(200, [RECORD] * n),
    "object of objects": lambda n: {str(i): RECORD for i in range(n)},
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", [5, 100])
def test_the_time_is_linear(shape, size):
    few, many = (_counted(SHAPES[shape](n), size) for n in (100, 1600))
    assert many < 1.3 * few + 1


@pytest.mark.parametrize("shape", SHAPES)
def test_four_times_the_document_is_four_times_the_steps(shape):
    """Counted in calls of functions: this sees the walk through the values, too."""

    def split(text):
        split_json(Document(text))

    once, four_times = (
        work_of(split, load_json(json.dumps(SHAPES[shape](n))).text) for n in (400, 1600)
    )
    assert four_times <= 4.4 * once + 2000
