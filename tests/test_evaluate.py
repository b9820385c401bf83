"""The ruler: what a budget sends, what it is worth, and what the public evaluator says."""

import dataclasses
import math
import warnings

import ir_measures
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toys import ToyEmbedder, WordTokens, facts, lines, windows

from chunking_lib.benchmark import Benchmark, Question
from chunking_lib.chunk import Chunk, Document
from chunking_lib.evaluate import Arm, Result, evaluate, public_scores, sent_spans
from chunking_lib.metrics import Span, overlaps, size_of, span_scores
from chunking_lib.retrieve import bm25_scores, rank

TEXT = "one two three four five six seven eight nine ten"
WORDS = WordTokens()


def at(words: str, **fields) -> Chunk:
    start = TEXT.index(words)
    return Chunk(words, start, start + len(words), "doc", **fields)


def sent(chunks: list[Chunk], budget: int) -> list[str]:
    return [TEXT[start:end] for _, start, end in sent_spans(chunks, budget, WORDS)]


def score(
    chunks: list[Chunk],
    *places: tuple[Span, ...],
    table: object = None,
    text: str = TEXT,
    **options,
) -> Result:
    """Evaluate these chunks, ranked as given or by `table`, on one question."""
    benchmark = Benchmark({"doc": Document(text, "doc")}, (Question("q", "?", places),))
    fixed = np.array([range(len(chunks), 0, -1)], dtype=np.float32) if table is None else table
    arm = Arm(lambda document: chunks, scorer=lambda questions, found: fixed)
    return evaluate(benchmark, arm, embedder=ToyEmbedder(), tokens=WORDS, **options)


def place(words: str) -> Span:
    return Span("doc", TEXT.index(words), TEXT.index(words) + len(words))


# --- sent_spans: the rule of the budget -------------------------------------------------


@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        (1, ["one"]),
        (2, ["one two"]),
        (3, ["one two", "six"]),
        (4, ["one two", "six seven"]),
        (5, ["one two", "six seven eight"]),
        (6, ["one two", "six seven eight", "ten"]),
        (99, ["one two", "six seven eight", "ten"]),
    ],
)
def test_chunks_are_sent_in_order_and_the_last_is_cut(budget, expected):
    assert sent([at("one two"), at("six seven eight"), at("ten")], budget) == expected


def test_nothing_after_the_chunk_that_was_cut_is_sent():
    """A short chunk that would still fit does not jump the queue."""
    assert sent([at("one two"), at("six seven eight"), at("ten")], 4) == ["one two", "six seven"]
    assert sent([at("one two three", derived=True), at("ten")], 2) == []


def test_overlap_costs_as_often_as_it_is_sent():
    chunks = [at("one two three"), at("two three four"), at("three four five")]
    assert sent(chunks, 6) == ["one two three", "two three four"]
    assert size_of(sent_spans(chunks, 6, WORDS)) == len("one two three four")


def test_context_costs_and_answers_nothing():
    chunk = at("one two three", context="From the list:")
    assert sent([chunk], 6) == ["one two three"]
    assert [text.strip() for text in sent([chunk], 4)] == ["one"]
    assert sent([chunk], 3) == [] and sent([chunk], 1) == []
    assert sent([chunk, at("ten")], 6) == ["one two three"]
    assert sent([chunk, at("ten")], 7) == ["one two three", "ten"]


def test_a_rebuilt_text_counts_only_whole():
    """A proposition pays for its own words, and answers with the span it came from."""
    proposition = Chunk("There are five of them.", 0, 23, "doc", derived=True)
    assert sent([proposition], 5) == [TEXT[:23]]
    assert sent([proposition], 4) == []
    assert sent([at("ten"), proposition], 5) == ["ten"]
    short = Chunk("Five.", 0, 23, "doc", derived=True)
    assert sent([short], 1) == [TEXT[:23]]


def test_nothing_to_send():
    assert sent([], 5) == [] and sent([at("one")], 0) == []
    assert sent([Chunk("", 3, 3, "doc"), at("ten")], 1) == ["", "ten"]


chunk_lists = st.lists(
    st.tuples(st.integers(0, len(TEXT)), st.integers(1, 20), st.sampled_from(["", "a b"])),
    max_size=6,
)


def chunks_of(rows: list[tuple[int, int, str]]) -> list[Chunk]:
    return [
        Chunk(TEXT[s : s + n], s, min(s + n, len(TEXT)), "doc", context=context)
        for s, n, context in rows
    ]


@given(chunk_lists, st.integers(0, 30))
def test_what_is_sent_is_the_first_tokens_of_all_chunks_in_a_row(rows, budget):
    """Slowly: write down, token by token, what document characters each token shows."""
    chunks = chunks_of(rows)
    tokens: list[set[int]] = []
    for chunk in chunks:
        offset = len(chunk.embedding_text) - len(chunk.text)
        tokens += [
            {chunk.start + i - offset for i in range(a, b) if i >= offset}
            for a, b in WORDS.offsets(chunk.embedding_text)
        ]
    shown = set().union(*tokens[:budget])
    found = {i for _, s, e in sent_spans(chunks, budget, WORDS) for i in range(s, e)}
    # A chunk sent whole shows the white space at its end, which is no token.
    assert shown <= found
    assert all(TEXT[i].isspace() for i in found - shown)


@given(chunk_lists, st.integers(0, 15), st.integers(0, 15))
def test_a_larger_budget_sends_no_less(rows, budget, more):
    chunks = chunks_of(rows)
    less = sent_spans(chunks, budget, WORDS)
    both = less + sent_spans(chunks, budget + more, WORDS)
    assert size_of(both) == size_of(sent_spans(chunks, budget + more, WORDS))


# --- evaluate ---------------------------------------------------------------------------


def test_recall_at_each_budget_by_hand():
    chunks = [at("one two three four"), at("five six"), at("seven eight nine ten")]
    found = score(chunks, (place("four five"),), budgets=(3, 4, 5, 6))
    assert found.recall == {3: [0], 4: [4 / 9], 5: [8 / 9], 6: [8 / 9]}
    # The main budget is the middle one: of four, the third.
    assert found.precision == [8 / 22] and found.iou == [8 / 23]
    assert score(chunks, (place("four five"),), budgets=(1, 6, 2)).iou == [0]


def test_equal_budgets_level_what_five_chunks_do_not():
    """Five large chunks look better than five small ones, and cost ten times as much."""
    text = " ".join(f"w{i:02}" for i in range(100))
    wanted = (Span("doc", 0, len(text)),)
    document = Document(text, "doc")
    small, large = (
        score(windows(size)(document), wanted, text=text, budgets=(10,)) for size in (8, 80)
    )
    for found in (small, large):
        assert found.recall == {10: [pytest.approx(0.1, abs=0.01)]}
    assert (small.tokens_at_5, large.tokens_at_5) == (10, 100)
    assert small.recall_at_5 == [pytest.approx(0.1, abs=0.01)] and large.recall_at_5 == [1]


def test_touching_is_no_hit():
    chunks = [at("one two "), at("three "), at("four")]
    found = score(chunks, (place("three "),), budgets=(2, 4))
    assert found.recall == {2: [0], 4: [1]}
    assert found.mrr == [0.5] and found.precision_omega == [1]


def test_a_copy_and_another_place_are_credited():
    places = (place("one two"), place("six seven"))
    for words in ("one two", "six seven"):
        found = score([at(words), at("ten")], places, budgets=(2,))
        assert (found.recall, found.precision, found.mrr) == ({2: [1]}, [1], [1])
    # Another place may be of another size, and counts whole as soon as it is whole.
    found = score([at("ten")], (place("one two three four"), place("ten")), budgets=(1,))
    assert found.recall == {1: [1]} and found.hit == [1]


def test_a_proposition_answers_only_if_it_was_sent():
    proposition = Chunk("They are two: one and two.", 0, 7, "doc", derived=True)
    found = score([proposition], (place("one two"),), budgets=(5, 6))
    assert found.recall == {5: [0], 6: [1]}
    # One fact of a sentence of four is a quarter of it.
    short = Chunk("One to ten", 0, 39, "doc", derived=True)
    assert score([short], (Span("doc", 0, 39),), budgets=(3,)).recall == {3: [1]}
    assert found.mean_size == 6 and found.max_size == 6


def readable(text: str) -> int:
    return len("".join(text.split()))


def derived(text: str, start: int = 0, end: int = len(TEXT)) -> Chunk:
    return Chunk(text, start, end, "doc", derived=True)


@pytest.mark.parametrize("text", ["", " ", "x", "ten", "1 2 3", "one to ten", TEXT, TEXT * 2])
def test_a_rebuilt_text_answers_with_four_characters_for_each_of_its_own(text):
    """Or a chunker that gives next to nothing for each document would find everything."""
    found = score([derived(text)], (Span("doc", 0, len(TEXT)),), budgets=(99,))
    most = min(4 * readable(text), readable(TEXT))
    sizes = [n for n in range(len(TEXT) + 1) if readable(TEXT[:n]) == most]
    assert found.recall[99][0] * len(TEXT) == pytest.approx(sizes[0])
    assert found.recall_at_5 == found.recall[99]
    assert found.hit == [float(most > 0)] == found.mrr


def test_a_rebuilt_text_does_not_answer_with_the_far_end_of_its_place():
    found = score([derived("ten")], (place("ten"),), budgets=(99,))
    assert found.recall == {99: [0]} and found.hit == found.mrr == found.precision_omega == [0]


def test_white_space_that_was_left_out_takes_no_credit_away():
    """JSON written anew, from a text with wide margins."""
    text = "{\n" + " " * 200 + '"fee": 2,\n' + " " * 200 + '"dogs": 0\n}'
    chunk = Chunk('{"fee":2,"dogs":0}', 0, len(text), "doc", derived=True)
    assert score([chunk], (Span("doc", 0, len(text)),), text=text).recall_at_5 == [1]


def test_the_scorer_gets_the_chunks_as_they_are():
    chunks = [derived("ten"), at("one")]
    seen = []

    def scorer(questions, found):
        seen.extend(found)
        return np.zeros((1, 2))

    benchmark = Benchmark({"doc": Document(TEXT, "doc")}, (Question("q", "?", ((place("one"),),)),))
    arm = Arm(lambda document: chunks, scorer)
    evaluate(benchmark, arm, embedder=ToyEmbedder(), tokens=WORDS)
    assert seen == chunks


def test_several_excerpts_are_all_needed():
    chunks = [at("one two"), at("six seven")]
    found = score(chunks, (place("one two"),), (place("six seven"),), budgets=(2, 4))
    assert found.recall == {2: [7 / 16], 4: [1]}


def test_ranks_by_hand():
    chunks = [at(word) for word in TEXT.split()]
    found = score(chunks, (place("five six"),), (place("ten"),), budgets=(1,))
    assert found.mrr == [1 / 5] and found.hit == [1]
    discount = 1 / np.log2(np.arange(2, 12))
    gain = discount[4] + discount[5] + discount[9]
    assert found.ndcg == [pytest.approx(gain / discount[:3].sum())]
    assert found.precision_omega == [10 / 10]
    assert score(chunks, (place("six"),), budgets=(1,)).hit == [0]


def test_what_an_arm_costs():
    benchmark = facts()
    arm = Arm(lines, model_tokens=123)
    embedder = ToyEmbedder(max_tokens=4)
    found = evaluate(benchmark, arm, embedder=embedder, name="lines", budgets=(5,), tokens=WORDS)
    sizes = [len(c.text.split()) for d in benchmark.documents.values() for c in lines(d)]
    assert found.name == "lines" and found.model_tokens == 123
    assert (found.chunks, found.embedded) == (12, 12)
    assert found.mean_size == np.mean(sizes) and found.max_size == 6
    assert found.unseen == sum(max(0, size - 4) for size in sizes) / sum(sizes)
    assert found.seconds > 0
    assert found.questions == [q.id for q in benchmark.questions if q.excerpts]
    assert found.documents == [q.document for q in benchmark.questions if q.excerpts]
    for column in (found.recall[5], found.precision, found.iou, found.recall_at_5, found.ndcg):
        assert len(column) == 12 and all(0 <= value <= 1 for value in column)


def test_texts_that_are_the_same_are_embedded_once():
    text = "Dogs ride free.\nDogs ride free."
    place = Span("doc", 0, 15)
    benchmark = Benchmark({"doc": Document(text, "doc")}, (Question("q", "Dogs?", ((place,),)),))
    found = evaluate(benchmark, lines, embedder=ToyEmbedder(), tokens=WORDS)
    assert (found.chunks, found.embedded) == (2, 1)


def test_what_is_blank_is_not_embedded():
    chunks = [at("one"), Chunk("", 3, 3, "doc"), Chunk(" ", 3, 4, "doc")]
    assert score(chunks, (place("one"),)).embedded == 1


def test_a_scorer_may_say_what_it_embeds():
    """One that knows words only embeds nothing, and nothing is hidden from it."""
    embedder = ToyEmbedder(max_tokens=1)
    for embedded, unseen in ((None, True), (4, True), (0, False)):
        arm = Arm(lines, bm25_scores, embedded=embedded)
        found = evaluate(facts(), arm, embedder=embedder, tokens=WORDS)
        assert found.embedded == (12 if embedded is None else embedded)
        assert (found.unseen > 0) == unseen


def test_an_embedder_without_counts_has_nothing_unseen():
    class Plain:
        def encode(self, texts):
            return ToyEmbedder().encode(texts)

    assert evaluate(facts(), lines, embedder=Plain(), tokens=WORDS).unseen == 0


def test_questions_that_nothing_answers_give_separation_not_recall():
    found = evaluate(facts(), lines, embedder=ToyEmbedder(), tokens=WORDS)
    assert found.separation == 1.0 and len(found.recall[500]) == 12
    answered = tuple(question for question in facts().questions if question.excerpts)
    some = Benchmark(facts().documents, answered)
    assert evaluate(some, lines, embedder=ToyEmbedder(), tokens=WORDS).separation is None


def test_separation_by_hand():
    """The best scores are 0.9 and 0.3 with an answer, 0.5 without."""
    documents = {"doc": Document(TEXT, "doc")}
    wanted = ((place("one"),),)
    questions = (Question("a", "?", wanted), Question("b", "?"), Question("c", "?", wanted))
    table = np.array([[0.1, 0.9], [0.5, 0.2], [0.3, 0.1]], dtype=np.float32)
    arm = Arm(lambda document: [at("one"), at("two")], scorer=lambda *_: table)
    found = evaluate(
        Benchmark(documents, questions), arm, embedder=ToyEmbedder(), tokens=WORDS, budgets=(1,)
    )
    assert found.separation == 0.5
    assert found.recall == {1: [0, 1]} and found.mrr == [0.5, 1]


def test_eval_nothing_retrieved_in_a_whole_evaluation():
    """A chunker that gives nothing scores 0 and stops nobody."""
    found = evaluate(facts(), lambda document: [], embedder=ToyEmbedder(), tokens=WORDS)
    assert found.recall[1000] == found.precision == found.iou == found.mrr == [0.0] * 12
    assert found.recall_at_5 == found.precision_omega == found.hit == found.ndcg == [0.0] * 12
    assert (found.chunks, found.mean_size, found.max_size, found.unseen) == (0, 0, 0, 0)
    assert found.tokens_at_5 == 0 and found.separation == 0.5
    assert public_scores(facts(), [], np.zeros((14, 0), dtype=np.float32))["iou"] == 0


def test_eval_nothing_retrieved_for_one_document():
    def some(document: Document) -> list[Chunk]:
        return [] if document.id == "tram" else lines(document)

    found = evaluate(facts(), some, embedder=ToyEmbedder(), tokens=WORDS)
    scores = dict(zip(found.questions, found.recall[1000], strict=True))
    assert [scores[f"tram{n}"] for n in range(3)] == [0, 0, 0] and scores["ferry0"] == 1


def test_arguments_are_checked():
    benchmark, embedder = facts(), ToyEmbedder()
    with pytest.raises(ValueError, match="no question with an answer"):
        evaluate(Benchmark(benchmark.documents, ()), lines, embedder=embedder, tokens=WORDS)
    for budgets in ((), (0,), (500, -1), (1.5,), (math.nan,), (math.inf,), (True,), "5", 5, None):
        with pytest.raises(ValueError, match=r"budgets=.* must be one or more"):
            evaluate(benchmark, lines, embedder=embedder, tokens=WORDS, budgets=budgets)
    for budget in (-1, 1.5, math.inf, None):
        with pytest.raises(ValueError, match=r"budget=.* must be a whole number of 0 or more"):
            sent([at("one")], budget)
    wrong = {
        "gave NoneType for the document 'ferry'": lambda d: None,
        "gave str": lambda d: d.text,
        "gave dict": lambda d: [{"text": d.text}],
        "hand it the document, not its text": lambda d: [Chunk(d.text, 0, len(d.text))],
        "behind the end of 'ferry'": lambda d: [Chunk("x" * 999, 0, 999, d.id)],
        "is not the text at 1:4 of 'ferry'": lambda d: [Chunk(d.text[:3], 1, 4, d.id)],
    }
    for message, chunker in wrong.items():
        with pytest.raises(ValueError, match=message):
            evaluate(benchmark, chunker, embedder=embedder, tokens=WORDS)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.zeros((14, 3)), r"of the shape \(14, 3\), not \(14, 12\)"),
        (None, "of the shape"),
        ("scores", "table of numbers"),
        ([[0.0] * 12] * 13 + [[0.0]], "table of numbers"),
        (np.full((14, 12), np.nan), "scores have nan, and must be finite"),
        (np.where(np.eye(14, 12), -np.inf, 0), "scores have -inf, and must be finite"),
    ],
)
def test_scores_that_are_none(table, message):
    arm = Arm(lines, lambda *_: table)
    with pytest.raises(ValueError, match=message):
        evaluate(facts(), arm, embedder=ToyEmbedder(), tokens=WORDS)
    chunks = [chunk for document in facts().documents.values() for chunk in lines(document)]
    with pytest.raises(ValueError, match=message):
        public_scores(facts(), chunks, table)


def test_scores_may_be_whole_numbers_without_a_sign():
    unsigned = np.array([[0, 200, 100]], dtype=np.uint8)
    words = [at("one"), at("two"), at("ten")]
    for table in (unsigned, unsigned.tolist(), unsigned.astype(float)):
        found = score(words, (place("two"),), table=table, budgets=(1,))
        assert found.recall == {1: [1]}


def test_a_budget_given_twice_counts_once():
    found = score([at("one")], (place("one"),), budgets=(2, 1, 2))
    assert found.recall == {1: [1], 2: [1]}


def test_chunks_may_come_one_by_one():
    def one_by_one(document):
        yield from lines(document)

    listed, yielded = (
        evaluate(facts(), chunker, embedder=ToyEmbedder(), tokens=WORDS)
        for chunker in (lines, one_by_one)
    )
    assert listed == yielded


def test_the_order_of_documents_and_questions_does_not_matter():
    """As long as no two chunks have the same score."""
    benchmark = facts()
    turned = Benchmark(
        dict(reversed(benchmark.documents.items())), tuple(reversed(benchmark.questions))
    )
    one, other = (
        evaluate(b, lines, embedder=ToyEmbedder(), tokens=WORDS, budgets=(8,))
        for b in (benchmark, turned)
    )
    assert one.recall[8] == other.recall[8][::-1] and one.ndcg == other.ndcg[::-1]
    assert one.separation == other.separation and one.mean_size == other.mean_size


def test_the_tokens_of_openai_pay_if_nobody_else_is_named():
    found = evaluate(facts(), lines, embedder=ToyEmbedder(), budgets=(1,))
    assert found.max_size == 7  # six words and a full stop
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dataclasses.replace(found, seconds=9.0) == found


@settings(max_examples=25)
@given(st.data(), st.integers(1, 12))
def test_ranking_measures_are_those_of_ir_measures(data, size):
    """Whole evaluations of random rankings, five questions on one text."""
    chunks = windows(size)(Document(TEXT, "doc"))
    numbers = range(5)
    spans = [
        (start := data.draw(st.integers(0, len(TEXT) - 1)), data.draw(st.integers(start + 1, 48)))
        for _ in numbers
    ]
    questions = [
        Question(str(number), "?", ((Span("doc", *span),),)) for number, span in enumerate(spans)
    ]
    order = [data.draw(st.permutations(range(len(chunks)))) for _ in numbers]
    table = -np.array(order, dtype=np.float32)
    found = evaluate(
        Benchmark({"doc": Document(TEXT, "doc")}, tuple(questions)),
        Arm(lambda document: chunks, scorer=lambda *_: table),
        embedder=ToyEmbedder(),
        tokens=WORDS,
    )
    qrels = [
        ir_measures.Qrel(str(n), str(i), int(chunk.start < end and start < chunk.end))
        for n, (start, end) in enumerate(spans)
        for i, chunk in enumerate(chunks)
    ]
    run = [
        ir_measures.ScoredDoc(str(n), str(i), float(table[n, i]))
        for n in numbers
        for i in range(len(chunks))
    ]
    wanted = {"mrr": ir_measures.RR, "ndcg": ir_measures.nDCG @ 10, "hit": ir_measures.Success @ 5}
    for name, measure in wanted.items():
        theirs = {one.query_id: one.value for one in measure.iter_calc(qrels, run)}
        assert getattr(found, name) == pytest.approx([theirs[str(n)] for n in numbers], abs=1e-9)


@settings(max_examples=25)
@given(chunk_lists, st.lists(st.integers(0, 40), min_size=1, max_size=4), st.integers(1, 20))
def test_every_score_is_the_slow_one(rows, starts, budget):
    chunks = chunks_of(rows)
    excerpts = [[Span("doc", start, start + 5)] for start in starts]
    found = score(chunks, *map(tuple, excerpts), budgets=(budget,))
    expected = span_scores(excerpts, sent_spans(chunks, budget, WORDS))
    assert (found.recall[budget][0], found.precision[0], found.iou[0]) == expected
    spans = [Span("doc", chunk.start, chunk.end) for chunk in chunks]
    assert found.recall_at_5 == [span_scores(excerpts, spans[:5]).recall]
    wanted = {i for [one] in excerpts for i in range(one.start, one.end)}
    hits = [bool(wanted & set(range(start, end))) for _, start, end in spans]
    assert found.hit == [any(hits[:5])]
    held = {i for (_, a, b), hit in zip(spans, hits, strict=True) if hit for i in range(a, b)}
    assert found.precision_omega == [len(wanted & held) / len(held) if held else 0]
    assert found.tokens_at_5 == sum(WORDS.count(chunk.embedding_text) for chunk in chunks[:5])


@given(chunk_lists, st.lists(st.tuples(st.integers(0, 40), st.integers(1, 8)), min_size=1))
def test_what_is_relevant_is_what_overlaps(rows, places):
    chunks = chunks_of(rows)
    spans = [Span("doc", start, min(start + size, len(TEXT))) for start, size in places]
    found = score(chunks, *[(span,) for span in spans])
    ranks = [
        rank
        for rank, chunk in enumerate(chunks, 1)
        if overlaps(Span("doc", chunk.start, chunk.end), spans)
    ]
    assert found.mrr == [1 / ranks[0] if ranks else 0]


def test_no_more_chunks_are_read_than_a_budget_sends():
    """The fourth is the one that no longer fits."""
    ranked = iter([at(word) for word in TEXT.split()])
    sent_spans(ranked, 3, WORDS)
    assert len(list(ranked)) == len(TEXT.split()) - 4


# --- public_scores ----------------------------------------------------------------------


def slow_public(benchmark: Benchmark, chunks: list[Chunk], order: list[list[int]], k: int):
    """The public evaluator as its description says, character by character."""
    ranges = []
    for chunk in chunks:
        text = chunk.text[:-1] if chunk.text.endswith(".") else chunk.text
        start = benchmark.documents[chunk.source].text.find(text)
        ranges.append((chunk.source, start, start + len(text)))
    rows = []
    for question, ranked in zip(benchmark.questions, order, strict=True):
        references = [places[0] for places in question.excerpts]
        if not references:
            continue
        size = sum(end - start for _, start, end in references)
        found, length = set(), 0
        unused = [{(d, i) for i in range(s, e)} for d, s, e in references]
        for number in ranked[:k]:
            document, start, end = ranges[number]
            length += end - start
            for reference in references:
                if reference.document == document:
                    shared = range(max(start, reference.start), min(end, reference.end))
                    found |= {(document, i) for i in shared}
        missed = sum(len(one - found) for one in unused)
        held, overlap = set(), set()
        for document, start, end in ranges:
            for reference in references:
                first, last = max(start, reference.start), min(end, reference.end)
                if reference.document == document and first <= last:  # touching is enough
                    held |= {(document, i) for i in range(start, end)}
                    overlap |= {(document, i) for i in range(first, last)}
        left = set().union(*unused) - overlap
        rows.append(
            (
                len(found) / size,
                len(found) / length if length else 0,
                len(overlap) / len(held | left) if overlap else 0,
                len(found) / (length + missed) if length + missed else 0,
            )
        )
    names = ("recall", "precision", "precision_omega", "iou")
    return dict(zip(names, np.mean(rows, axis=0), strict=True))


@given(
    st.text("ab. ", min_size=6, max_size=30),
    st.text("ab. ", min_size=6, max_size=30),
    st.lists(
        st.lists(st.tuples(st.sampled_from("xy"), st.integers(0, 4), st.integers(1, 9))),
        min_size=1,
        max_size=3,
    ),
    st.tuples(st.integers(1, 9), st.integers(1, 9)),
    st.integers(1, 6),
    st.randoms(use_true_random=False),
)
def test_public_scores_are_the_slow_ones(first, second, references, sizes, k, random):
    documents = {"x": Document(first, "x"), "y": Document(second, "y")}
    questions = []
    for number, places in enumerate([*references, [("x", 0, 3)]]):
        spans = [Span(d, s, min(s + n, len(documents[d].text))) for d, s, n in places]
        questions.append(Question(str(number), "?", tuple((span,) for span in spans)))
    benchmark = Benchmark(documents, tuple(questions))
    chunks = [c for d in documents.values() for c in windows(max(sizes), min(sizes))(d)]
    order = [random.sample(range(len(chunks)), len(chunks)) for _ in questions]
    table = np.zeros((len(questions), len(chunks)), dtype=np.float32)
    for row, ranked in zip(table, order, strict=True):
        row[ranked] = -np.arange(len(chunks))
    assert rank(table).tolist() == order
    found = public_scores(benchmark, chunks, table, k=k)
    assert found == pytest.approx(slow_public(benchmark, chunks, order, k))


def public_on(text: str, places: list[tuple[int, int]], chunks: list[Chunk], k: int = 5):
    excerpts = tuple((Span("doc", *place),) for place in places)
    benchmark = Benchmark({"doc": Document(text, "doc")}, (Question("q", "?", excerpts),))
    table = -np.arange(len(chunks), dtype=np.float32)[None]
    return public_scores(benchmark, chunks, table, k=k)


def test_what_is_odd_about_the_public_evaluator():
    chunks = [at("one two "), at("three "), at("four")]
    # "one two " only touches, and counts as a chunk that retrieval should find.
    assert public_on(TEXT, [(8, 14)], chunks)["precision_omega"] == 6 / 18
    # Overlap is counted twice in precision, and once in precision omega.
    twice = [at("one two three"), at("two three four")]
    found = public_on(TEXT, [(4, 13)], twice)
    assert found == {
        "recall": 1,
        "precision": 9 / 27,
        "iou": 9 / 27,
        "precision_omega": 9 / 18,
    }
    # A copy is taken for the first of its kind.
    text = "Dogs ride. Dogs ride. "
    copies = [Chunk("Dogs ride. ", 0, 11, "doc"), Chunk("Dogs ride. ", 11, 22, "doc")]
    assert public_on(text, [(12, 21)], copies[1:])["recall"] == 0
    # The full stop at the end of a chunk is lost.
    assert public_on("All rise.", [(0, 9)], [Chunk("All rise.", 0, 9, "doc")])["recall"] == 8 / 9
    # What no chunk holds is in the denominator of precision omega.
    assert public_on(TEXT, [(0, 7)], [at("one")])["precision_omega"] == 3 / 7


def test_public_scores_of_a_text_that_was_rebuilt():
    rebuilt = Chunk("One, two.", 0, 7, "doc", derived=True)
    assert public_on(TEXT, [(0, 7)], [rebuilt])["recall"] == 1


def test_public_scores_leave_open_questions_out_and_need_others():
    benchmark = facts()
    chunks = [c for d in benchmark.documents.values() for c in lines(d)]
    table = np.random.default_rng(0).normal(size=(14, 12)).astype(np.float32)
    answered = Benchmark(benchmark.documents, benchmark.questions[:12])
    assert public_scores(benchmark, chunks, table) == public_scores(answered, chunks, table[:12])
    with pytest.raises(ValueError, match="no question with an answer"):
        public_scores(Benchmark(benchmark.documents, ()), chunks, table)
    for k in (0, -1, 2.5):
        with pytest.raises(ValueError, match=f"k={k} must be a whole number of 1 or more"):
            public_scores(benchmark, chunks, table, k=k)
    with pytest.raises(ValueError, match="chunks have one of 'bus', which benchmark has not"):
        public_scores(benchmark, [*chunks[1:], Chunk("a", 0, 1, "bus")], table)
