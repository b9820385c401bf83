"""The semantic splitters: breakpoints, two passes, the best of all cuts."""

import re
from collections.abc import Sequence
from functools import partial
from itertools import combinations, pairwise
from pathlib import Path

import case_checks
import numpy as np
import pytest
from case_checks import passes
from corpus import read_eight
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import odd_text
from toys import ToyEmbedder

from chunking_lib.benchmark import load_benchmark
from chunking_lib.chunk import Chunk, Document, check_chunks
from chunking_lib.length import token_length
from chunking_lib.models import load_embedder
from chunking_lib.semantic import THRESHOLDS, find_breakpoints, sentence_distances, split_semantic
from chunking_lib.semantic_merge import split_semantic_merge
from chunking_lib.semantic_optimal import split_semantic_optimal
from chunking_lib.sentences import sentence_spans
from chunking_lib.turns import embed_sentences

CASES = case_checks.CASES
DATA = Path(__file__).resolve().parent.parent / "data"
DOCUMENTS = list(read_eight().values())
# It is announced as no longer maintained, and still what most tutorials use.
SUNSET = pytest.mark.filterwarnings("ignore:`langchain-(experimental|community)` is being sunset")
SPLITTERS = [split_semantic, split_semantic_merge, split_semantic_optimal]


class Counts:
    """A vector of the counts of some words, plus 0.01. Remembers what it was asked for."""

    max_tokens = 1000

    def __init__(self, *words: str) -> None:
        self.words, self.seen = words, []

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        self.seen += texts
        lower = [text.lower() for text in texts]
        return np.array([[text.count(word) + 0.01 for word in self.words] for text in lower])

    def count(self, text: str) -> int:
        return len(text.split())

    unseen = count


class Given(Counts):
    """Gives the same vectors whatever it is asked."""

    def __init__(self, *vectors: Sequence[float]) -> None:
        super().__init__()
        self.vectors = np.array(vectors, dtype=float)

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        return self.vectors


@pytest.fixture(scope="module")
def embedder():
    return load_embedder()


def cats() -> Counts:
    return Counts("cat", "ship", "bread")


def read(chunks: Sequence[Chunk]) -> list[str]:
    return [chunk.text for chunk in chunks]


# The fault cases and their kinds


@pytest.mark.parametrize("split", SPLITTERS)
def test_sem_blank_document(split):
    embedder = cats()
    for text, right in (("", []), (" \n\t ", []), ("One sentence.", ["One sentence."])):
        assert read(split(text, embedder=embedder)) == right
    assert embedder.seen == []


@pytest.mark.parametrize("split", SPLITTERS)
@pytest.mark.parametrize("text", ["\u200b \u2060", "\ufeff", "\u3000\n\n\u2028"])
def test_sem_blank_document_of_invisible_characters(split, text):
    embedder = cats()
    split(f"{text}\n\nA cat.\n\n{text}\n\nA ship.\n\n{text}", embedder=embedder)
    assert all(any(character.isalnum() for character in seen) for seen in embedder.seen)
    assert split(text, embedder=embedder) == []


def test_sem_cjk_no_space():
    case = CASES["sem_cjk_no_space"]
    chunks = split_semantic(
        case["input"], embedder=Counts("猫", "船"), number_of_chunks=2, buffer=0
    )
    passes("sem_cjk_no_space", case["input"], chunks)


def test_sem_cjk_no_space_in_other_scripts():
    text = "बिल्ली सोती है। बिल्ली खाती है। जहाज़ चला गया। جاءت القطة؟ ذهبت السفينة۔"
    spans = sentence_spans(text)
    assert [text[start:end] for start, end in spans] == re.findall(r"[^।؟۔]+[।؟۔]", text)[:1] + [
        part.strip() for part in re.findall(r"[^।؟۔]+[।؟۔]", text)[1:]
    ]


@pytest.mark.parametrize("split", SPLITTERS)
@pytest.mark.parametrize("end", ["", ".", "!", "…", "\n", " x"])
def test_sem_last_sentence_lost(split, end):
    case = CASES["sem_last_sentence_lost"]
    chunks = split(case["input"] + end, embedder=cats(), size=30)
    passes("sem_last_sentence_lost", case["input"] + end, chunks)
    assert len(chunks) > 1


@pytest.mark.parametrize("split", SPLITTERS)
def test_sem_nan_and_zero_vectors(split):
    text = CASES["sem_nan_and_zero_vectors"]["input"]
    cat, ship = (1.0, 0.0), (0.0, 1.0)
    for odd in (np.nan, np.inf, -np.inf):
        with pytest.raises(ValueError, match=r"no finite numbers for sentence 2: '###\.'"):
            split(text, embedder=Given(cat, cat, (odd, 0.0), ship, ship))
    with np.errstate(all="raise"):
        chunks = split(text, embedder=Given(cat, cat, (0.0, 0.0), ship, ship))
    assert check_chunks(text, chunks) == []


def test_sem_nan_and_zero_vectors_keep_the_topics_apart():
    case = CASES["sem_nan_and_zero_vectors"]
    zero = Given((1, 0), (1, 0), (0, 0), (0, 1), (0, 1))
    chunks = split_semantic(
        case["input"], embedder=zero, threshold="percentile", amount=50, buffer=0
    )
    passes("sem_nan_and_zero_vectors", case["input"], chunks)
    assert sentence_distances(case["input"], embedder=zero, buffer=0)[1].tolist() == [0, 1, 1, 0]


def test_sem_number_of_chunks():
    text = CASES["sem_number_of_chunks"]["input"]
    split = partial(split_semantic, text, embedder=cats(), buffer=0)
    counts = {str(n): len(split(number_of_chunks=n)) for n in (1, 2, 3, 4)}
    assert counts == CASES["sem_number_of_chunks"]["right_value"]["exact"]["count by n"]
    assert (
        read(split(number_of_chunks=2))
        == (CASES["sem_number_of_chunks"]["right_value"]["exact"]["n=2"])
    )
    assert len(split(number_of_chunks=5)) == 4


@settings(deadline=None)
@given(st.lists(st.sampled_from([0, 1, 2]), min_size=1, max_size=12), st.integers(1, 14))
def test_sem_number_of_chunks_is_reached_whatever_the_ties(topics, number):
    text = " ".join(f"Word{topic} stands here." for topic in topics)
    embedder = Counts("word0", "word1", "word2")
    chunks = split_semantic(text, embedder=embedder, number_of_chunks=number, buffer=0)
    assert len(chunks) == min(number, len(topics))


@pytest.mark.parametrize("threshold", [*THRESHOLDS, 0.0, 0.5])
def test_sem_one_or_zero_sentences(threshold):
    embedder = cats()
    results = [
        read(split_semantic(text, embedder=embedder, threshold=threshold))
        for text in ("", "   ", "One cat only.", "no terminator at all")
    ]
    assert results == CASES["sem_one_or_zero_sentences"]["right_value"]["exact"]["results"]
    assert embedder.seen == []
    assert len(split_semantic("A cat. A ship.", embedder=embedder, threshold=threshold)) in (1, 2)


@pytest.mark.parametrize("split", [partial(split_semantic, number_of_chunks=2), *SPLITTERS[1:]])
def test_sem_whitespace_and_offsets(split):
    case = CASES["sem_whitespace_and_offsets"]
    chunks = split(case["input"], embedder=cats(), buffer=0)
    passes("sem_whitespace_and_offsets", case["input"], chunks)
    assert {chunk.source for chunk in split(Document(case["input"], "a"), embedder=cats())} == {"a"}


# The contract


@pytest.mark.parametrize("split", SPLITTERS)
@settings(deadline=None, max_examples=60)
@given(
    text=st.lists(
        odd_text | st.sampled_from(["A cat. ", "Ship left! ", "Why?\n\n"]), max_size=8
    ).map("".join),
    size=st.integers(1, 60),
    words=st.booleans(),
)
def test_the_contract_is_kept(split, text, size, words):
    length = (lambda text: len(text.split())) if words else len
    chunks = split(text, embedder=ToyEmbedder(), size=size, length=length)
    assert check_chunks(text, chunks, size=size, length=length, overlap=0) == []
    assert chunks == split(text, embedder=ToyEmbedder(), size=size, length=length)


@pytest.mark.parametrize("split", SPLITTERS)
def test_the_contract_is_kept_on_the_documents_of_the_course(split):
    for document in DOCUMENTS:
        for size in (80, 500):
            chunks = split(document, embedder=ToyEmbedder(), size=size)
            assert check_chunks(document, chunks, size=size, overlap=0) == []


@settings(deadline=None, max_examples=60)
@given(
    topics=st.lists(st.sampled_from("abc"), min_size=2, max_size=20),
    size=st.integers(20, 120),
    least=st.integers(0, 40),
)
def test_only_what_cannot_grow_is_below_the_least_size(topics, size, least):
    text = " ".join(f"{topic * 3} now." for topic in topics)
    chunks = split_semantic(
        text,
        embedder=Counts(*"abc"),
        threshold=0.01,
        buffer=0,
        size=size,
        min_size=min(least, size),
    )
    assert check_chunks(text, chunks, size=size) == []
    for before, after in pairwise(chunks):
        small = min(len(before.text), len(after.text))
        assert small >= min(least, size) or after.end - before.start > size


# Breakpoints


@pytest.mark.parametrize(
    ("threshold", "amount", "places"),
    [
        ("percentile", None, [7]),
        ("percentile", 70, [2, 4, 7]),
        ("standard_deviation", 1, [7]),
        ("standard_deviation", None, []),
        ("interquartile", None, [7]),
        ("gradient", 70, [0, 1, 6]),
        (0.35, None, [2, 4, 7]),
        (2, None, []),
    ],
)
def test_thresholds_by_hand(threshold, amount, places):
    distances = [0.1, 0.2, 0.4, 0.1, 0.5, 0.1, 0.3, 0.9, 0.2, 0.1]
    assert find_breakpoints(distances, threshold, amount) == places


@pytest.mark.parametrize("threshold", THRESHOLDS)
@pytest.mark.parametrize("distances", [[], [0.4], [0.4, 0.4], [0.4] * 9])
def test_equal_distances_have_no_breakpoint(threshold, distances):
    assert find_breakpoints(distances, threshold) == []


@SUNSET
@pytest.mark.parametrize("threshold", THRESHOLDS)
@pytest.mark.parametrize("buffer", [0, 1])
def test_the_boundaries_are_those_of_langchain(threshold, buffer, embedder):
    """On its own terms: its sentences, sentences with one blank between them, no limit on size."""
    from langchain_experimental.text_splitter import SemanticChunker

    class Embeddings:
        def embed_documents(self, texts):
            return embedder.encode(texts).tolist()

    for document in DOCUMENTS[2:4]:
        text = " ".join(document.text.split())
        amount = 80 if THRESHOLDS[threshold] == 95 else 1
        for chosen in (None, amount):
            theirs = SemanticChunker(
                Embeddings(),
                buffer_size=buffer,
                breakpoint_threshold_type=threshold,
                breakpoint_threshold_amount=chosen,
            ).split_text(text)
            ours = split_semantic(
                text,
                embedder=embedder,
                threshold=threshold,
                amount=chosen,
                buffer=buffer,
                size=len(text),
                sentences=_on_marks,
            )
            assert read(ours) == theirs
            assert len(ours) > 1 or chosen is None


@SUNSET
@pytest.mark.parametrize("least", [100, 1000])
def test_small_chunks_grow_as_in_langchain_but_for_the_last(least, embedder):
    from langchain_experimental.text_splitter import SemanticChunker

    class Embeddings:
        def embed_documents(self, texts):
            return embedder.encode(texts).tolist()

    text = " ".join(DOCUMENTS[0].text.split())
    theirs = SemanticChunker(
        Embeddings(), breakpoint_threshold_amount=60, min_chunk_size=least
    ).split_text(text)
    ours = split_semantic(
        text,
        embedder=embedder,
        amount=60,
        min_size=least,
        size=len(text),
        sentences=_on_marks,
    )
    if len(theirs[-1]) < least:
        theirs[-2:] = [f"{theirs[-2]} {theirs[-1]}"]
    assert read(ours) == theirs
    assert len(ours) > 1


def _on_marks(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(r"\S.*?(?:[.?!](?=\s)|$)", text)]


# The best of all cuts


@settings(deadline=None, max_examples=100)
@given(
    vectors=st.lists(st.tuples(*[st.integers(-3, 3)] * 3).filter(any), min_size=1, max_size=8),
    most=st.integers(1, 5),
)
def test_no_way_to_cut_is_worth_more(vectors, most):
    text = " ".join(f"Sentence{n} is it." for n in range(len(vectors)))
    chunks = split_semantic_optimal(
        text,
        embedder=Given(*vectors),
        size=most,
        length=lambda text: text.count("Sentence"),
    )
    units = np.array(vectors) / np.linalg.norm(vectors, axis=1, keepdims=True)
    count = len(units)
    alike = units @ units.T
    pairs = list(combinations(range(count), 2))
    mean = np.mean([alike[pair] for pair in pairs]) if pairs else 0

    def worth(cuts: Sequence[int]) -> float:
        return sum(
            alike[i, j] - mean
            for first, last in pairwise([0, *cuts, count])
            for i, j in combinations(range(first, last), 2)
        )

    def fit(cuts: Sequence[int]) -> bool:
        return all(last - first <= most for first, last in pairwise([0, *cuts, count]))

    ways = [
        cuts
        for number in range(count)
        for cuts in combinations(range(1, count), number)
        if fit(cuts)
    ]
    sizes = np.cumsum([chunk.text.count("Sentence") for chunk in chunks])[:-1]
    assert worth(sizes) == pytest.approx(max(map(worth, ways)), abs=1e-6)


@settings(deadline=None, max_examples=100)
@given(
    vectors=st.lists(st.tuples(*[st.integers(-3, 3)] * 3).filter(any), min_size=1, max_size=8),
    sizes=st.lists(st.integers(1, 4), min_size=8, max_size=8),
    most=st.integers(4, 9),
    least=st.integers(0, 4),
)
def test_crumbs_are_left_only_where_the_size_asks_for_them(vectors, sizes, most, least):
    """As few as any way to cut leaves; and if the best leaves none, it is what it was."""
    count = len(vectors)
    text = " ".join("word " * size + "end." for size in sizes[:count])
    spans = [match.span() for match in re.finditer(r"(?:word )+end\.", text)]
    split = partial(
        split_semantic_optimal,
        text,
        embedder=Given(*vectors),
        size=most,
        length=lambda text: text.count("word"),
        sentences=lambda _: spans,
    )
    made = [chunk.text.count("word") for chunk in split(min_size=least)]
    totals = np.cumsum([0, *sizes[:count]])
    ways = []
    for number in range(count):
        for cuts in combinations(range(1, count), number):
            way = [int(totals[b] - totals[a]) for a, b in pairwise([0, *cuts, count])]
            if max(way) <= most:
                ways.append(way)
    assert sum(size < least for size in made) == min(sum(n < least for n in way) for way in ways)
    free = [chunk.text.count("word") for chunk in split()]
    if min(free) >= least:
        assert made == free


# Ties


@pytest.mark.parametrize("sentences", [8, 16, 32])
def test_equal_distances_are_cut_in_the_middle(sentences):
    text = " ".join(["A cat sat."] * sentences)
    chunks = split_semantic(text, embedder=cats(), size=4 * 11)
    assert [len(chunk.text) for chunk in chunks] == [43] * (sentences // 4)


def test_of_equal_distances_the_one_nearest_the_middle_is_cut():
    cat, ship = (1.0, 0.0), (0.0, 1.0)
    text = "Ab one. Ab two. Ab tri. Ab four. Ab five."
    split = partial(split_semantic, text, buffer=0, threshold=2, size=33)
    assert read(split(embedder=Given(cat, ship, ship, ship, cat)))[0] == "Ab one."
    assert read(split(embedder=Given(cat, ship, ship, cat, ship)))[0] == "Ab one. Ab two. Ab tri."


# Sentences that are too long


@pytest.mark.parametrize("split", SPLITTERS)
def test_a_sentence_that_is_too_long_counts_as_its_parts(split):
    text = " ".join(["cat"] * 9 + ["ship"] * 9)
    embedder = cats()
    chunks = split(text, embedder=embedder, size=8, buffer=0)
    assert read(chunks) == ["cat cat"] * 4 + ["cat", *["ship"] * 9]
    assert "cat ship" not in embedder.seen and max(map(len, embedder.seen)) <= 8


@pytest.mark.parametrize("split", SPLITTERS)
@pytest.mark.parametrize(
    "spans",
    [
        [(0, 6), (3, 13), (14, 21)],
        [(7, 13), (0, 6), (14, 21)],
        [(0, 6), (14, 21)],
        [(7, 13), (14, 21)],
        [(0, 6), (7, 13)],
        [(0, 6), (7, 99)],
        [(0, 0), (0, 21)],
        [],
    ],
)
def test_sentences_that_would_lose_text_are_refused(split, spans):
    with pytest.raises(ValueError, match="sentences "):
        split("A cat. A dog. A ship.", embedder=cats(), sentences=lambda _: spans)


# Two passes


def test_a_chunk_reaches_over_one_that_differs():
    text = "A cat. Cats nap. E = mc2. The cat. A ship. The ship."
    split = partial(split_semantic_merge, text, embedder=Counts("cat", "ship", "mc2"))
    assert read(split(append=0.5, merge=0.5)) == [
        "A cat. Cats nap. E = mc2. The cat.",
        "A ship. The ship.",
    ]
    assert read(split(append=1, merge=1, size=16)) == [
        "A cat. Cats nap.",
        "E = mc2.",
        "The cat.",
        "A ship.",
        "The ship.",
    ]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::chunking_lib.embedder.UnseenWarning")
def test_how_much_is_merged_is_as_the_docstring_says(embedder):
    tokens = token_length(embedder.tokenizer)
    texts = [d for name, d in load_benchmark(DATA).documents.items() if name.endswith(".txt")]
    spans = [sentence_spans(text.text) for text in texts]
    vectors = [
        embed_sentences(text.text, s, embedder, 0) for text, s in zip(texts, spans, strict=True)
    ]
    alike = np.concatenate([(v[:-1] * v[1:]).sum(axis=1) for v in vectors])
    assert round(np.mean(alike >= 0.4), 1) == 0.1
    said = " ".join(split_semantic_merge.__doc__.split())
    assert f"of {sum(map(len, spans)):,} sentences in the plain texts" in said
    split = partial(split_semantic_merge, embedder=embedder, size=200, length=tokens)
    made = [sum(len(split(t, append=x, merge=x)) for t in texts) for x in (0.4, 0.3, 0.2)]
    assert (
        "{:,} chunks (`size` 200 tokens). With both at 0.3 it is {:,}, with 0.2 it is {:,}.".format(
            *made
        )
        in said
    )


# Cost and errors


@pytest.mark.parametrize("split", SPLITTERS)
def test_every_sentence_is_embedded_once(split):
    text = "The cat naps. A cat purrs. Ship ahoy. The ship left. Bread is warm."
    embedder = cats()
    split(text, embedder=embedder, size=25, buffer=1)
    assert len(embedder.seen) == len(sentence_spans(text)) == 5
    assert embedder.seen[1] == "The cat naps. A cat purrs. Ship ahoy."


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": "median"}, "threshold='median' must be 'percentile'"),
        ({"threshold": 3}, "threshold=3 must be a name or a distance from 0 to 2"),
        ({"threshold": float("nan")}, "threshold=nan"),
        ({"threshold": True}, "threshold=True"),
        ({"threshold": 0.5, "amount": 2}, "amount=2 is for a named threshold"),
        ({"amount": 101}, "amount=101 must be a number from 0 to 100"),
        ({"threshold": "interquartile", "amount": -1}, "amount=-1 must be a number of 0 or more"),
        ({"number_of_chunks": 0}, "number_of_chunks=0 must be a whole number of 1 or more"),
        ({"number_of_chunks": 2, "amount": 9}, "number_of_chunks=2 sets the threshold"),
        ({"min_size": -1}, "min_size=-1"),
        ({"min_size": 9, "size": 8}, "min_size=9 must be at most size=8"),
        ({"buffer": -1}, "buffer=-1 must be a whole number of 0 or more"),
        ({"buffer": 1.5}, "buffer=1.5"),
        ({"size": 0}, "size=0"),
    ],
)
@pytest.mark.parametrize("text", ["", "A cat. A ship. Bread."])
def test_a_wrong_argument_is_named(options, message, text):
    with pytest.raises(ValueError, match=re.escape(message)):
        split_semantic(text, embedder=cats(), **options)


def test_a_wrong_least_size_of_the_best_cut_is_named():
    for wrong, message in ((-1, "min_size=-1 must be a whole number"), (9, "at most size=8")):
        with pytest.raises(ValueError, match=message):
            split_semantic_optimal("A cat.", embedder=cats(), size=8, min_size=wrong)


@pytest.mark.parametrize("option", ["append", "merge"])
@pytest.mark.parametrize("value", [-1.5, 2, float("nan"), "0.5", True])
def test_a_wrong_cosine_is_named(option, value):
    with pytest.raises(ValueError, match=f"{option}={re.escape(repr(value))} must be"):
        split_semantic_merge("A cat.", embedder=cats(), **{option: value})


@pytest.mark.parametrize("split", SPLITTERS)
@pytest.mark.parametrize("vectors", [[(1, 0)], [(1, 0)] * 3, [1, 2], [[(1, 0)] * 2]])
def test_a_vector_too_many_or_too_few_is_an_error(split, vectors):
    with pytest.raises(ValueError, match="for 2 sentences: it must give one row for each"):
        split("A cat. A ship.", embedder=Given(*vectors))


@pytest.mark.parametrize("threshold", ["percentile", "standard_deviation", "interquartile"])
@pytest.mark.parametrize("value", [0.1, 0.3, 0.7, 1 / 3])
def test_equal_distances_are_not_above_their_mean(threshold, value):
    for count in range(1, 40):
        assert find_breakpoints([value] * count, threshold) == []


@pytest.mark.parametrize("distances", [[float("nan"), 1], [[1, 2], [3, 4]], None])
def test_distances_that_are_none_are_named(distances):
    with pytest.raises(ValueError, match="must be a row of finite numbers"):
        find_breakpoints(distances)


@pytest.mark.parametrize("embedder", [None, object(), 5])
def test_what_cannot_embed_is_named(embedder):
    with pytest.raises(ValueError, match="must have a method encode"):
        split_semantic("One. Two.", embedder=embedder)
