"""Documents and questions: read in both layouts, and refused with a reason."""

import csv
import json
import re

import pytest
from case_checks import CASES
from hypothesis import given
from hypothesis import strategies as st

from chunking_lib.benchmark import (
    Benchmark,
    Question,
    load_benchmark,
    locate,
    read_questions,
)
from chunking_lib.chunk import Document
from chunking_lib.metrics import Span

FAQ = "Dogs ride free.\nA bicycle costs 3 EUR.\nDogs ride free.\n"
DOCUMENTS = {"faq.md": Document(FAQ, "faq.md"), "log.txt": Document("No dogs.", "log.txt")}


def question(*excerpts: dict, **fields) -> dict:
    return {"question": "Who rides free?", "excerpts": list(excerpts), **fields}


def quote(words: str, document: str = "faq.md") -> dict:
    return {"document": document, "quote": words}


def read(tmp_path, *rows: object) -> list[Question]:
    path = tmp_path / "questions.jsonl"
    texts = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
    path.write_bytes("\n".join(texts).encode())
    return read_questions(path, DOCUMENTS)


# --- Question and Benchmark -------------------------------------------------------------


def test_the_document_of_a_question_is_that_of_its_first_excerpt():
    places = ((Span("b", 0, 1), Span("a", 0, 1)), (Span("c", 0, 1),))
    assert Question("1", "?", places).document == "b"
    assert Question("1", "?").document == ""


@pytest.mark.parametrize(
    ("questions", "message"),
    [
        ([Question("q", "?", ((Span("x", 0, 1),),))], "question q: no document 'x'"),
        ([Question("q", "?", ((Span("a", 2, 6),),))], "2 to 6 does not lie in a, which has 5"),
        ([Question("q", "?", ((Span("a", -1, 2),),))], "-1 to 2 does not lie in a"),
        ([Question("q", "?", ((Span("a", 2, 2),),))], "2 to 2 does not lie in a"),
        ([Question("q", "?", ((Span("a", 0, 1), Span("a", 3, 2)),))], "3 to 2 does not lie in a"),
        ([Question("q", "?", ((),))], "question q: an excerpt has no place"),
        ([Question("q", "?"), Question("q", "!")], "two questions have the id 'q'"),
    ],
)
def test_a_benchmark_refuses_what_would_be_scored_wrongly(questions, message):
    with pytest.raises(ValueError, match=message):
        Benchmark({"a": Document("abcde", "a")}, tuple(questions))


def test_a_document_goes_by_its_id():
    """Else its chunks would belong to a document that no question is about."""
    with pytest.raises(ValueError, match="of the id 'x' as 'a'"):
        Benchmark({"a": Document("abc", "x")}, ())


def test_a_part_has_the_questions_of_one_split_and_all_documents():
    questions = (Question("1", "?", split="dev"), Question("2", "?", split="test"))
    whole = Benchmark(DOCUMENTS, questions)
    assert whole.part("dev") == Benchmark(DOCUMENTS, questions[:1])
    with pytest.raises(ValueError, match=r"split='train' must be one of \['dev', 'test'\]"):
        whole.part("train")


# --- locate -----------------------------------------------------------------------------


def test_eval_reference_whitespace():
    case = CASES["eval_reference_whitespace"]
    given_texts = json.loads(case["input"])
    corpus = given_texts["corpus"]
    assert list(locate(given_texts["excerpt"], corpus)) == case["right_value"]["exact"]["range"]
    assert locate("The fee is low.", corpus) == (20, 35)


def test_eval_reference_whitespace_not_found_is_said_by_name(tmp_path):
    with pytest.raises(ValueError, match=r"line 2: not in faq\.md: 'Cats ride free.'"):
        read(tmp_path, question(quote("Dogs ride free.")), question(quote("Cats ride free.")))


words = st.lists(st.text("ab.(*é", min_size=1, max_size=4), min_size=1, max_size=5)
blanks = st.text(" \n\t\u00a0\u2028", min_size=1, max_size=3)


@given(st.data(), words, words, words)
def test_eval_reference_whitespace_of_any_kind_to_the_last_character(data, before, quoted, after):
    def join(parts: list[str]) -> str:
        return "".join(part + data.draw(blanks) for part in parts)

    head, middle = join(before), join(quoted).strip()
    text = head + middle + " " + join(after)
    asked = join(quoted).strip()
    start, end = locate(asked, text)
    assert text[start:end].split() == quoted
    assert not text[start].isspace() and not text[end - 1].isspace()
    assert text[start:end] == asked if asked in text else start <= len(head)
    assert locate(middle, text) == (text.find(middle), text.find(middle) + len(middle))


@given(st.text("ab \n\x1f\u3000", max_size=12), st.text("ab \n\x1f\u3000", max_size=5))
def test_a_quote_is_found_where_a_pattern_finds_it(text, quoted):
    """The pattern is what the search means; it takes quadratic time where words repeat."""
    pattern = re.compile(r"\s+".join(map(re.escape, quoted.split())))
    found = locate(quoted, text)
    if not quoted.strip():
        assert found is None
    elif quoted in text:
        assert found == (text.index(quoted), text.index(quoted) + len(quoted))
    else:
        assert found == (match.span() if (match := pattern.search(text)) else None)


def test_eval_reference_whitespace_around_the_quote():
    assert locate("\n Dogs  ride\t", "All dogs. Dogs ride.") == (10, 19)


@pytest.mark.parametrize("text", ["", "Dogs", "dogsride", "Dogs  Ride", "Dogs, ride"])
def test_eval_reference_whitespace_is_all_that_may_differ(text):
    assert locate("Dogs ride", text) is None


def test_nothing_is_nowhere():
    assert locate("", "abc") is None and locate(" \n", "a b") is None


# --- read_questions ---------------------------------------------------------------------


def test_a_question_of_offsets_and_one_of_a_quote(tmp_path):
    place = {"document": "faq.md", "start": 16, "end": 38}
    one, other = read(
        tmp_path,
        question(place, id="fee", type="fact", split="dev"),
        question(quote("A bicycle  costs 3\nEUR.")),
    )
    span = Span("faq.md", 16, 38)
    assert one == Question("fee", "Who rides free?", ((span,),), "fact", "dev")
    assert other == Question("2", "Who rides free?", ((span,),))


def test_a_copy_in_the_same_document_is_a_place_too(tmp_path):
    [found] = read(tmp_path, question({"document": "faq.md", "start": 39, "end": 54}))
    assert found.excerpts == ((Span("faq.md", 39, 54), Span("faq.md", 0, 15)),)
    aaa = {"a": Document("a" * 7, "a")}
    path = tmp_path / "questions.jsonl"
    path.write_text(json.dumps(question({"document": "a", "start": 1, "end": 4})))
    [found] = read_questions(path, aaa)  # copies do not overlap each other
    assert found.excerpts == ((Span("a", 1, 4), Span("a", 0, 3), Span("a", 3, 6)),)
    [found] = read(tmp_path, question(quote("free.")))
    assert found.excerpts == ((Span("faq.md", 10, 15), Span("faq.md", 49, 54)),)


def test_other_places_stand_for_a_single_excerpt(tmp_path):
    also = [quote("No dogs.", "log.txt")]
    fee = quote("A bicycle costs 3 EUR.")
    [found] = read(tmp_path, question(fee, also=also))
    assert found.excerpts == ((Span("faq.md", 16, 38), Span("log.txt", 0, 8)),)
    assert found.document == "faq.md"
    [found] = read(tmp_path, question(fee, quote("3 EUR"), also=also))
    assert found.excerpts == ((Span("faq.md", 16, 38),), (Span("faq.md", 32, 37),))


@pytest.mark.parametrize("more", [{}, {"also": []}, {"answer": None, "near": ["faq.md"]}])
def test_without_excerpts_nothing_answers(tmp_path, more):
    [found] = read(tmp_path, question(question="Why?", **more))
    assert found == Question("1", "Why?")


def test_blank_lines_windows_lines_and_a_byte_order_mark_are_no_questions(tmp_path):
    path = tmp_path / "questions.jsonl"
    row = json.dumps(question())
    path.write_bytes(f"\ufeff{row}\r\n\r\n{row}\r\n\n".encode())
    assert [found.id for found in read_questions(path, DOCUMENTS)] == ["1", "3"]


@pytest.mark.parametrize("odd", ["\u2028", "\u2029", "\x85"])
def test_a_line_ends_where_json_says(tmp_path, odd):
    """`splitlines` cuts at these, and JSON may hold them as they are."""
    [found] = read(tmp_path, question(question=f"Who{odd}rides?"))
    assert found.text == f"Who{odd}rides?"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("{", "line 2: Expecting property name.* at character 2; a line must be one JSON object"),
        ("[" * 100_000, "line 2: nested too deeply"),
        ('{"question": "?", "excerpts": [], "question": "!"}', "line 2: 'question' stands twice"),
        ("[1]", r"line 2: \[1\] must be an object"),
        ({"excerpts": []}, "line 2: no 'question'"),
        # A slip in a key must not make a question without an answer of one that has some.
        ({"question": "?", "excerpt": [quote("Dogs")]}, "line 2: no 'excerpts', the list of"),
        (question("Dogs"), "line 2: excerpt 'Dogs' must be an object"),
        (question({"quote": "Dogs"}), "line 2: no 'document'"),
        (question({"document": "faq.md"}), "line 2: an excerpt must have a 'quote', or 'start'"),
        (question({"document": "faq.md", "end": 3, "quote": "Dog"}), "line 2: no 'start'"),
        (question({"document": "faq.md", "start": 3}), "line 2: no 'end'"),
        (question(quote("Dogs", "x.md")), "line 2: no document 'x.md'"),
        (question(quote("dogs ride")), "line 2: not in faq.md: 'dogs ride'"),
        (
            question({"document": "faq.md", "start": 0, "end": 4, "quote": "Cats"}),
            "line 2: 0 to 4 of faq.md is 'Dogs', not 'Cats'",
        ),
        (
            question(quote("Dogs ride free."), also=[quote("Cats", "log.txt")]),
            "line 2: not in log.txt: 'Cats'",
        ),
        (question(also=[quote("Dogs")]), "line 2: 'also' has other places, and 'excerpts' none"),
    ],
)
def test_a_question_that_is_wrong_is_named(tmp_path, row, message):
    with pytest.raises(ValueError, match=rf"questions\.jsonl, {message}"):
        read(tmp_path, question(), row)


@pytest.mark.parametrize(
    ("key", "values", "kind"),
    [
        ("question", [None, "", " ", 3, ["Why?"]], "a text"),
        ("id", [None, "", 7, True], "a text"),
        ("type", [None, 1, []], "a text"),
        ("split", [None, 1, " "], "a text"),
        ("excerpts", [None, 0, {}, "", {"document": "faq.md"}], "a list"),
        ("also", [None, 0, {}, ""], "a list"),
    ],
)
def test_a_field_is_of_its_type_and_not_blank(tmp_path, key, values, kind):
    for value in values:
        with pytest.raises(ValueError, match=f"line 1: {key!r} is .*, not {kind}"):
            read(tmp_path, question() | {key: value})


@pytest.mark.parametrize(
    ("key", "value", "kind"),
    [
        ("document", ["faq.md"], "a text"),
        ("quote", 3, "a text"),
        ("quote", "  ", "a text"),
        ("start", 0.9, "a whole number"),
        ("start", "0", "a whole number"),
        ("start", False, "a whole number"),
        ("start", None, "a whole number"),
        ("end", float("inf"), "a whole number"),
    ],
)
def test_so_is_a_field_of_an_excerpt(tmp_path, key, value, kind):
    place = {"document": "faq.md", "start": 0, "end": 4} | {key: value}
    for row in (question(place), question(quote("Dogs"), also=[place])):
        with pytest.raises(ValueError, match=f"line 1: {key!r} is .*, not {kind}"):
            read(tmp_path, row)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"nowhere\.jsonl: No such file"):
        read_questions(tmp_path / "nowhere.jsonl", DOCUMENTS)
    path = tmp_path / "latin.jsonl"
    path.write_bytes('{"question": "Un caf\xe9 ?"}'.encode("latin-1"))
    with pytest.raises(ValueError, match=r"latin\.jsonl: byte 0xe9 at 20 is not utf-8"):
        read_questions(path, DOCUMENTS)


# --- load_benchmark, the course's layout ------------------------------------------------


@pytest.fixture
def course(tmp_path):
    (tmp_path / "corpus").mkdir()
    (tmp_path / "canonical").mkdir()
    (tmp_path / "corpus" / "faq.md").write_bytes(FAQ.encode())
    (tmp_path / "corpus" / "page.html").write_bytes(b"<p>Ferries sail.</p>")
    (tmp_path / "corpus" / "scan.pdf").write_bytes(b"%PDF \xff\xfe")
    (tmp_path / "corpus" / ".hidden").write_bytes(b"\xff")
    (tmp_path / "canonical" / "page.html.txt").write_bytes("Ferries sail – daily.".encode())
    (tmp_path / "canonical" / "scan.pdf.txt").write_bytes(b"Closed.\r\nBe patient.")
    rows = [
        question(quote("Dogs ride free."), id="dogs", split="dev"),
        question(quote("sail – daily.", "page.html"), id="ferry", split="test"),
        question(quote("Be patient.", "scan.pdf"), id="scan", split="test"),
        question(question="Why?", split="test"),
    ]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (tmp_path / "questions.jsonl").write_bytes(text.encode())
    return tmp_path


def test_the_layout_of_the_course(course):
    found = load_benchmark(course)
    assert list(found.documents) == ["faq.md", "page.html", "scan.pdf"]
    assert all(document.id == name for name, document in found.documents.items())
    assert found.documents["page.html"].text == "Ferries sail – daily."
    assert [one.id for one in found.questions] == ["dogs", "ferry", "scan", "4"]
    assert found.questions[0].excerpts == ((Span("faq.md", 0, 15), Span("faq.md", 39, 54)),)
    assert found.questions[3].excerpts == ()
    assert load_benchmark(str(course)) == found


def test_line_ends_are_kept_so_offsets_are_those_of_the_loaders(course):
    found = load_benchmark(course)
    assert found.documents["scan.pdf"].text == "Closed.\r\nBe patient."
    assert found.questions[2].excerpts == ((Span("scan.pdf", 9, 20),),)


def test_one_split_of_the_course(course):
    assert [one.id for one in load_benchmark(course, split="dev").questions] == ["dogs"]
    assert len(load_benchmark(course, split="test").questions) == 3
    with pytest.raises(ValueError, match="split='train' must be one of"):
        load_benchmark(course, split="train")


def test_a_page_without_its_canonical_text_goes_through_its_loader(course):
    (course / "canonical" / "page.html.txt").unlink()
    path = course / "questions.jsonl"
    path.write_text(json.dumps(question(quote("Ferries sail.", "page.html"))), encoding="utf-8")
    assert load_benchmark(course).documents["page.html"].text.strip() == "Ferries sail."


def test_documents_in_folders_count_too(course):
    for folder in (course / "corpus", course / "canonical"):
        (folder / "old").mkdir()
    (course / "corpus" / "old" / "faq.md").write_bytes(b"Cats ride free.")
    (course / "corpus" / "old" / "scan.pdf").write_bytes(b"%PDF")
    (course / "canonical" / "old" / "scan.pdf.txt").write_bytes(b"Open.")
    found = load_benchmark(course).documents
    assert list(found)[:2] == ["faq.md", "old/faq.md"]
    assert found["old/faq.md"] == Document("Cats ride free.", "old/faq.md")
    assert found["old/scan.pdf"].text == "Open."


def test_a_folder_that_is_not_searched_is_named(course):
    (course / "corpus" / "linked").symlink_to(course / "canonical")
    with pytest.raises(ValueError, match="linked: links to folders are not followed"):
        load_benchmark(course)


def test_a_document_that_is_no_text_is_named(course):
    (course / "corpus" / "note.txt").write_bytes(b"caf\xe9")
    with pytest.raises(ValueError, match=r"note\.txt"):
        load_benchmark(course)


def test_a_place_outside_its_document_is_refused(course):
    place = {"document": "faq.md", "start": 50, "end": 99}
    (course / "questions.jsonl").write_text(json.dumps(question(place)), encoding="utf-8")
    with pytest.raises(ValueError, match=r"question 1: 50 to 99 does not lie in faq\.md"):
        load_benchmark(course)


def test_questions_need_a_corpus(tmp_path):
    with pytest.raises(ValueError, match=r"neither questions\.jsonl nor questions_df\.csv"):
        load_benchmark(tmp_path)
    with pytest.raises(ValueError, match="neither"):
        load_benchmark(tmp_path / "nowhere")
    (tmp_path / "questions.jsonl").touch()
    with pytest.raises(ValueError, match="no folder corpus/"):
        load_benchmark(tmp_path)


# --- load_benchmark, the public layout --------------------------------------------------


def public(path, *rows: tuple[str, object, str], head=("question", "references", "corpus_id")):
    (path / "corpora").mkdir(exist_ok=True)
    (path / "corpora" / "wiki.md").write_bytes("Über uns\r\nAll rise. All rise.".encode())
    (path / "corpora" / "notes.txt").write_bytes(b"not Markdown, not read")
    with (path / "questions_df.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(head)
        for asked, references, corpus in rows:
            text = references if isinstance(references, str) else json.dumps(references)
            writer.writerow([asked, text, corpus])
    return path


def reference(start: object, end: object) -> dict:
    return {"content": "All rise.", "start_index": start, "end_index": end}


def test_the_public_layout(tmp_path):
    """Its offsets count a Windows line end as one character."""
    folder = public(
        tmp_path,
        ("Who,\n“rises”?", [reference(9, 18)], "wiki"),
        ("Which?", [reference(0, 4), reference("19", "28")], "wiki"),
    )
    found = load_benchmark(folder)
    assert list(found.documents) == ["wiki"]
    assert found.documents["wiki"].text == "Über uns\nAll rise. All rise."
    twice = (Span("wiki", 9, 18), Span("wiki", 19, 28))
    assert found.questions == (
        Question("0", "Who,\n“rises”?", (twice,), "wiki"),
        Question("1", "Which?", ((Span("wiki", 0, 4),), twice[::-1]), "wiki"),
    )


def test_references_may_be_longer_than_a_cell_of_csv(tmp_path):
    long = {"content": "x" * 200_000, "start_index": 0, "end_index": 4}
    assert len(load_benchmark(public(tmp_path, ("Who?", [long], "wiki"))).questions) == 1


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (("Who?", [reference(0, 4)], "x"), "question 0: no document 'x' in corpora/"),
        (("Who?", "[{'content': 1}]", "wiki"), "question 0: Expecting property name"),
        (("Who?", [{"start_index": 0}], "wiki"), "question 0: no 'end_index'"),
        (("Who?", [3], "wiki"), "question 0: 'int' object"),
        (("Who?", 3, "wiki"), "question 0: 'int' object"),
        (("Who?", [reference(None, 3)], "wiki"), "question 0: int"),
        (("Who?", [reference(float("inf"), 3)], "wiki"), "question 0: cannot convert"),
        (("Who?", "[" * 100_000, "wiki"), "question 0: nested too deeply"),
        (("Who?", [reference(0, 99)], "wiki"), "0 to 99 does not lie in wiki, which has 28"),
    ],
)
def test_a_public_question_that_is_wrong_is_named(tmp_path, row, message):
    with pytest.raises(ValueError, match=message):
        load_benchmark(public(tmp_path, row))


def test_a_column_that_is_missing_is_named(tmp_path):
    folder = public(
        tmp_path, ("Who?", [reference(0, 4)], "wiki"), head=("question", "references", "id")
    )
    with pytest.raises(ValueError, match=r"questions_df\.csv, question 0: no 'corpus_id'"):
        load_benchmark(folder)


@pytest.mark.parametrize("name", ["questions_df.csv", "corpora/wiki.md"])
def test_a_public_file_that_is_no_utf_8_is_named(tmp_path, name):
    folder = public(tmp_path, ("Who?", [reference(0, 4)], "wiki"))
    (folder / name).write_bytes(b"caf\xe9")
    with pytest.raises(ValueError, match=rf"{name}: byte 0xe9 at 3 is not utf-8"):
        load_benchmark(folder)


def test_public_questions_without_their_corpora(tmp_path):
    folder = public(tmp_path, ("Who?", [reference(0, 4)], "wiki"))
    (folder / "corpora" / "wiki.md").unlink()
    with pytest.raises(ValueError, match="no document 'wiki' in corpora/"):
        load_benchmark(folder)
