"""Exercises, recipes and the numbers in the prose of notebook 3."""

import ast
import re
from collections import Counter, defaultdict
from functools import cache, partial
from pathlib import Path

import pytest
from lesson import ROOT, Lesson, cells

from chunking_lib.benchmark import load_benchmark
from chunking_lib.exercises_03 import check_definitions, check_split_table
from chunking_lib.formats.code import split_code
from chunking_lib.formats.load import load_document
from chunking_lib.formats.markdown import split_markdown
from chunking_lib.formats.split import split_document
from chunking_lib.length import token_length
from chunking_lib.models import load_embedder

CORPUS = ROOT / "data" / "corpus"
LESSON = Lesson("03_document_specific")
NOTEBOOK, output, prose = LESSON.notebook, LESSON.output, LESSON.prose


# --- the exercises ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["exercise-1-stub", "exercise-2-stub"])
def test_stubs_do_not_pass_and_do_not_raise(name, capsys):
    LESSON.check_stub(name, capsys)


@pytest.mark.parametrize("name", ["exercise-1-solution", "exercise-2-solution"])
def test_solutions_pass(name, capsys):
    LESSON.check_solution(name, capsys)


def split_right(table, size, fits=lambda part, size: len(part) <= size, empty=False, keep=True):
    header, dashes, *rows = table.split("\n")
    parts = [[header, dashes]]
    for row in rows:
        if (empty or len(parts[-1]) > 2) and not fits("\n".join([*parts[-1], row]), size):
            parts.append([header, dashes] if keep else [])
        parts[-1].append(row)
    return ["\n".join(part) for part in parts]


def without_line_ends(part, size):
    return len(part.replace("\n", "")) <= size


def drops_long_rows(table, size):
    header, dashes, *rows = table.split("\n")
    head = f"{header}\n{dashes}\n"
    short = [row for row in rows if len(head + row) <= size]
    return split_right("\n".join([header, dashes, *short]), size)


def forgets_the_last(table, size):
    return split_right(table, size)[:-1] or [table]


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        (lambda table, size: None, "is there a `return`?"),
        (lambda table, size: ..., "is there a `return`?"),
        (lambda table, size: [], "all of the table is lost"),
        (lambda table, size: [table], "over the size of 60"),
        (lambda table, size: [1], "return a list of strings"),
        (lambda table, size: table, "return a list of strings"),
        (lambda table, size: table[999], "IndexError"),
        (lambda table, size: [p + "\n" for p in split_right(table, size)], "ends with a line end"),
        (partial(split_right, keep=False), "does not begin with the header row"),
        (partial(split_right, empty=True), "has a header and no row"),
        (partial(split_right, fits=without_line_ends), "over the size of"),
        (partial(split_right, fits=lambda p, size: len(p) < size), "fits into part"),
        (lambda table, size: split_right(table, size)[::-1], "all rows, once each, in their order"),
        (drops_long_rows, "no row|rows went in|rows are lost"),
        (forgets_the_last, "rows are lost"),
        (lambda table, size: split_right(table, 0), "fits into part 2"),
    ],
)
def test_table_hints(wrong, hint, capsys):
    check_split_table(wrong)
    shown = capsys.readouterr().out
    assert shown.startswith("Not yet: split_table(")
    assert any(part in shown for part in hint.split("|")), shown


KINDS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def define(code, kinds=KINDS, decorators=True, deep=True, through=True, path=True, last=True):
    found = []

    def visit(node, above):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, kinds):
                inner = (*above, child.name) if path else (child.name,)
                lines = [child.lineno]
                lines += [one.lineno for one in child.decorator_list] if decorators else []
                end = child.end_lineno if last else child.end_lineno - 1
                found.append((min(lines), end, inner))
                if deep:
                    visit(child, inner)
            elif through:
                visit(child, above)

    visit(ast.parse(code), ())
    return found


def define_by_walk(code):
    nodes = [node for node in ast.walk(ast.parse(code)) if isinstance(node, KINDS)]
    return [(node.lineno, node.end_lineno, (node.name,)) for node in nodes]


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        (lambda code: None, "is there a `return`?"),
        (lambda code: [], "('fare',) in line 1 is missing"),
        (lambda code: ["fare"], "return a list of (first, last, path)"),
        (lambda code: [(a, b, p[-1]) for a, b, p in define(code)], "the path a tuple of names"),
        (partial(define, decorators=False), "Where is its first decorator?"),
        (partial(define, deep=False), "is missing"),
        (partial(define, through=False), "Does it stand inside an `if` or a `try`?"),
        (partial(define, path=False), "which definitions does it stand in?"),
        (partial(define, last=False), "ends in line 2"),
        (partial(define, kinds=KINDS[:2]), "is missing. `async def` is a node of its own."),
        (define_by_walk, "which definitions does it stand in?"),
        (
            lambda code: sorted(define(code), key=lambda one: one[1]),
            "the order in which they begin",
        ),
        (lambda code: define(code) * 2, "more than there should be"),
        (lambda code: code[99], "IndexError"),
    ],
)
def test_definition_hints(wrong, hint, capsys):
    check_definitions(wrong)
    shown = capsys.readouterr().out
    assert shown.startswith("Not yet: definitions(")
    assert hint in shown, shown


def test_the_right_ways_pass(capsys):
    check_split_table(split_right)
    check_split_table(lambda table, size: tuple(split_right(table, size)))
    check_definitions(define)
    check_definitions(lambda code: ([a, b, list(p)] for a, b, p in define(code)))
    assert capsys.readouterr().out.count("passed") == 4


# --- the recipes ------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["copy-library", "copy-langchain"])
def test_recipes_run_alone(name, tmp_path):
    LESSON.check_recipe(name, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["recipe.py"]


def test_every_recipe_is_tested():
    LESSON.check_recipes(["copy-library", "copy-langchain"], plain=["copy-langchain"])


# --- the numbers in the prose: recomputed, or read from the output that they speak of -----


@cache
def markdown():
    return {path.name: load_document(path) for path in sorted(CORPUS.glob("*.md"))}


@cache
def embedding_parts():
    embedder = load_embedder()
    return embedder, token_length(embedder.tokenizer)


def names_of(*ids):
    """Run some cells of the notebook on the Markdown files and return their names."""
    names = {"re": re, "documents": markdown(), "manual": markdown()["tram_driver_manual.md"].text}
    names["section"] = names["manual"][
        names["manual"].index("### 6.1 How") : names["manual"].index("### 6.2 Off")
    ]
    for id_ in ids:
        exec(cells(NOTEBOOK)[id_].source, names)
    return names


def test_numbers_about_headings(capsys):
    names = names_of("hand-tokens", "hand-compare")
    capsys.readouterr()
    headings = names["headings"]
    found = re.findall(r"^#{1,6} .+", names["section"], flags=re.MULTILINE)
    assert len(headings(names["section"])) == 1
    assert len(found) == 7 and prose("hand-fence").startswith("Seven. Six of them")
    invented, missed = Counter(), Counter()
    for name, document in markdown().items():
        titles = Counter(title for _, _, title in headings(document.text))
        matches = Counter(re.findall(r"^#{1,6} (.+)", document.text, flags=re.MULTILINE))
        invented[name] = (matches - titles).total()
        missed[name] = (titles - matches).total()
    assert invented.total() == 17 and sum(count > 0 for count in invented.values()) == 3
    assert missed == Counter({"ferry_crew_manual.md": 2})
    assert "seventeen headings in three of the files, and misses two" in prose("hand-path")
    assert "seventeen remarks for headings in three" in prose("key-points")


def test_the_table_by_format_has_what_the_other_lacks():
    shown = output("table-cut")
    first, second = shown.split("--- split_markdown")
    assert "Crew, least | 7" in first and "Crew, least | 7" in second
    assert "Tamsin Hale" not in first and "|  | Tamsin Hale | Oriel |" in second
    assert "so *7* is under *Tamsin Hale*" in prose("table-why")


@pytest.mark.slow
def test_the_longest_text_with_its_context():
    embedder, tokens = embedding_parts()
    chunks = [
        chunk
        for document in load_benchmark(ROOT / "data").documents.values()
        for chunk in split_document(document, size=200, length=tokens)
    ]
    longest = max(tokens(chunk.embedding_text) for chunk in chunks)
    said = f"with its context has {longest}, and the model reads {embedder.max_tokens}."
    assert said in prose("table-why")


def test_the_sections_agree():
    found = sum(
        len(names_of("hand-tokens", "hand-compare", "hand-sections")["sections"](d.text))
        for d in markdown().values()
    )
    assert output("library-agree").startswith(f"{found} headings in ")


def test_no_chunk_of_the_questions_ends_with_a_heading():
    """Said at the coloured chunks."""
    faq = markdown()["passenger_faq.md"]
    last = [c.text.rstrip().split("\n")[-1] for c in split_markdown(faq, size=300)]
    assert not any(line.startswith("#") for line in last)


def scores():
    lines = output("score").splitlines()
    row = {re.split(r"  +", line)[0]: line for line in lines[1:4]}
    return {name: re.findall(r"[\d.,]+", line) for name, line in row.items()}


def test_numbers_taken_from_the_score():
    found = {name: row[3] for name, row in scores().items()}
    largest = scores()["recursive"][-4]
    assert f"a chunk of 200 can have {largest} there" in prose("benchmark")
    assert (
        f"finds {found['by format']}% where recursive splitting finds {found['recursive']}%"
        in prose("key-points")
    )
    embedded = {name: row[-2] for name, row in scores().items()}
    assert f"{embedded['by format']} texts to embed in place of {embedded['recursive']}" in prose(
        "when"
    )
    verdicts = [line.split()[-1] for line in output("score").strip().splitlines()[-2:]]
    assert verdicts == ["undecided", "undecided"]


def test_numbers_about_kinds():
    rows = {line.split()[0]: line.split()[1:] for line in output("kinds").splitlines()[1:-1]}
    said = prose("when")
    files = defaultdict(set)
    for question in load_benchmark(ROOT / "data", split="test").questions:
        if question.excerpts:
            files[Path(question.document).suffix].add(question.document)
    assert f"The {rows['.py'][0]} questions on Python" in said
    assert all(len(files[kind]) == 1 for kind in (".py", ".ts", ".json", ".pdf"))
    assert len(files[".html"]) == 4 and "HTML is four files" in said
    assert rows[".json"][1] == "14.3" and "Recursive has 14.3, one question of seven" in prose(
        "json-found"
    )
    assert f"the JSON row is {rows['.json'][0]} questions" in said
    assert f"they go from {rows['.txt'][1]} to {rows['.txt'][2]}" in said
    assert f"JSON has {rows['.json'][2]} by format" in prose("json-found")


@pytest.mark.slow
def test_the_search_that_fails():
    shown = output("failure-search").strip().splitlines()
    place, star, _ = shown[-1].split(maxsplit=2)
    assert star == "*" and prose("failure-predict").startswith(f"Place {place}.")
    assert output("failure-solved").splitlines()[2].startswith(" 3 *")
    assert prose("hand").startswith("Third place")
    places = [re.search(r"place +(\d+)", line)[1] for line in output("failure-ends").splitlines()]
    was, headings, freed, both = places
    assert was == headings == place
    assert (
        f"stays at place {headings}. Freed of the next question, it goes to place {freed}"
        in prose("hand")
    )
    assert f"with both it is at {both}." in prose("hand")


def test_facts_about_langchain_markdown():
    rows = {
        line[:32].strip(): list(map(int, line[32:].split()))
        for line in output("langchain-markdown-show").splitlines()[1:-1]
    }
    blank, theirs, language, ours = rows.values()
    said = prose("langchain-markdown-why")
    assert f"{theirs[2]} of its {theirs[0]} chunks end with a heading, against {blank[2]}" in said
    assert f"{language[1]} of {language[0]} chunks begin with a heading" in said
    assert language[2] == 7 and "Seven still end with one" in said
    assert ours[2] == 0


def test_facts_about_langchain_python():
    from langchain_text_splitters import PythonCodeTextSplitter

    text = (CORPUS / "fare_engine.py").read_text(encoding="utf-8")
    theirs = PythonCodeTextSplitter(chunk_size=800, chunk_overlap=0).split_text(text)
    left = [one.strip().split("\n")[-1] for one in theirs]
    left = [line for line in left if line.startswith("@")]
    assert len(left) == 9 and left.count("@whole_cents") == 6
    assert "Of the nine, six are shown" in prose("json")
    ours = split_code(CORPUS / "fare_engine.py", size=800)
    assert not any(c.text.strip().split("\n")[-1].startswith("@") for c in ours)


def test_facts_about_json():
    assert "41,671" in prose("json-found") and "41,671" in output("json-langchain-show")
    assert "the longest 582" in output("json-langchain-show") and "582" in prose("json-found")
    asked = [q for q in load_benchmark(ROOT / "data").questions if q.document.endswith(".json")]
    assert sum(q.type == "multilingual" for q in asked) == 3 and len(asked) == 14
    assert "none of the fourteen" in prose("pdf") and "of 14 answers, in the first 25: 0" in output(
        "json-search"
    )
    assert "By words it is four" in prose("pdf")
    assert re.search(r"by words .*first 25: 4,", output("json-search"))


def test_facts_about_unstructured():
    assert "'Table'" not in output("unstructured-fast").splitlines()[0]
    assert prose("unstructured-title").startswith("None.")
    assert "fast: []" in output("unstructured-silent")
    assert "no error; folder there: False" in output("unstructured-silent")


def test_the_scan_says_what_ocr_misread():
    text = (ROOT / "data" / "canonical" / "notice_pier_closure.pdf.txt").read_text(encoding="utf-8")
    assert "at berth 2, with" in text
    assert "at berth ai with" in cells(NOTEBOOK)["unstructured-ocr"].source.replace("\n", " ")


def test_html_has_the_sentence_that_langchain_tears():
    shown = output("html-split")
    assert "not from the reminder" in shown
    assert "the slip, from the reminder" in shown and "3.00" in shown
