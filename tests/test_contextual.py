"""A context for every chunk: from the structure, from a model that is scripted, and the limits."""

import json
import re
import threading
import warnings
from functools import partial

import case_checks
import pytest
from case_checks import passes
from corpus import read_eight
from scripted import Scripted

from chunking_lib.chunk import Chunk, Document
from chunking_lib.context_prompts import (
    context_prompts,
    estimate_context_cost,
)
from chunking_lib.contextual import PARTS, ContextWarning, add_context
from chunking_lib.formats.markdown import split_markdown
from chunking_lib.llm import Reply
from chunking_lib.models import load_tokenizer
from chunking_lib.recursive import split_recursive

CASES = case_checks.CASES
PAGE = Document(
    "# Fares\n\nPaid on board.\n\n## Dogs\n\nThey ride free. Not on seats.\n\n"
    "## Bicycles\n\nThey cost 3.50. Two a tram.\n",
    "fares.md",
)
SIZE = 40


class Letters:
    """A token is a character."""

    def count(self, text):
        return len(text)

    def offsets(self, text):
        return [(i, i + 1) for i in range(len(text))]


class Speaker:
    """Answers from any number of threads with what `say` makes of a passage."""

    def __init__(self, say):
        self._say, self._lock = say, threading.Lock()
        self.asked = []

    def chat(self, messages, **options):
        with self._lock:
            self.asked.append(messages)
        said = self._say(passage(messages))
        if isinstance(said, BaseException):
            raise said
        return Reply(said)


def passage(messages):
    found = re.search(r"<passage>\n(.*)\n</passage>", messages[1]["content"], re.DOTALL)
    return found[1]


def cut(document=PAGE, size=SIZE):
    return split_recursive(document, size=size)


def same_text(chunks, before):
    return [(c.text, c.start, c.end, c.source, c.derived) for c in chunks] == [
        (c.text, c.start, c.end, c.source, c.derived) for c in before
    ]


def quietly(*arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ContextWarning)
        return add_context(*arguments, **options)


def at(chunks, words):
    return next(chunk for chunk in chunks if words in chunk.text)


# --- the fault cases and their kinds ----------------------------------------------------


def test_ctx_heading_twice():
    case = CASES["ctx_heading_twice"]
    document = Document(case["input"], "rates.md")
    for include in (("title", "path"), ("path",), PARTS):
        (chunk,) = add_context(document, split_markdown(document), include=include)
        assert {"count of 'Rates' in the embedded text": chunk.embedding_text.count("Rates")} == (
            case["right_value"]["exact"]
        )


@pytest.mark.parametrize("split", [split_markdown, split_recursive])
@pytest.mark.parametrize("size", [30, 60, 1000])
@pytest.mark.parametrize("title", [None, "Fares", "FARES"])
def test_ctx_heading_twice_in_no_chunk(split, size, title):
    """Whether splitter, document or its metadata know the heading: it stands there once."""
    document = Document(PAGE.text, PAGE.id, {"title": title} if title else {})
    once = add_context(document, split(document, size=size))
    for chunk in once:
        for heading in ("Fares", "Dogs", "Bicycles"):
            assert chunk.embedding_text.casefold().count(heading.casefold()) <= 1
    assert add_context(document, once) == once, "a second time adds nothing"


@pytest.mark.parametrize(
    "text", ["Rates\n=====\n\nThe first.", "1 Rates\n\nThe first.\n\n2 Dues\n\nThe second."]
)
def test_ctx_heading_twice_of_any_kind(text):
    document = Document(text, "a.txt")
    for chunk in add_context(document, split_recursive(document, size=25)):
        assert chunk.embedding_text.count("Rates") <= 1


def test_ctx_metadata_longer_than_chunk():
    case = CASES["ctx_metadata_longer_than_chunk"]
    size = case["parameters"]["chunk_size"]
    document = Document(case["input"], metadata=case["parameters"]["metadata"])
    chunks = [Chunk(case["input"], 0, len(case["input"]))]
    llm = Scripted()
    with pytest.raises(ValueError) as raised:
        add_context(document, chunks, include=["summary"], size=size, llm=llm)
    for part in [*case["right_value"]["raises"]["mentions"], "'summary'", "208"]:
        assert part in str(raised.value)
    assert llm.asked == []
    assert add_context(document, chunks, size=size) == chunks


@pytest.mark.parametrize(("key", "shown"), [("title", "a" * 28), ("author", "a" * 20)])
@pytest.mark.parametrize("size", [5, 28, 29])
def test_ctx_metadata_longer_than_chunk_of_any_key(key, shown, size):
    document = Document("Free.", metadata={key: shown})
    add = partial(quietly, document, [Chunk("Free.", 0, 5)], size=size)
    assert add(include=())[0].embedding_text == "Free."
    if size > 28:
        assert add(include=[key])[0].text == "Free."
    else:
        with pytest.raises(ValueError, match=rf"metadata\['{key}'\] measures 28, .*size={size}"):
            add(include=[key])


def test_ctx_offsets_after_prefix():
    case = CASES["ctx_offsets_after_prefix"]
    size, said = case["parameters"]["chunk_size"], case["parameters"]["context"]
    chunks = split_recursive(case["input"], separators=[". ", ""], keep="end", size=size)
    for found in (
        add_context(case["input"], chunks, llm=Scripted(said)),
        add_context(Document(case["input"], metadata={"title": said}), chunks),
    ):
        passes("ctx_offsets_after_prefix", case["input"], found)
        assert [(chunk.start, chunk.end) for chunk in found] == [(0, 14), (15, 29)]
        for chunk in found:
            assert chunk.embedding_text == f"{said}\n\n{chunk.text}"


def test_ctx_prompt_repeats_document():
    case = CASES["ctx_prompt_repeats_document"]
    made = json.loads(case["input"])
    text = made["repeat"] * made["times"]
    chunks = split_recursive(text, size=case["parameters"]["chunk_size"])
    window = case["parameters"]["model_context_chars"]
    llm = Speaker(lambda said: f"About {len(said)} letters.")
    add_context(text, chunks, llm=llm, window=window, tokens=Letters())
    most = max(sum(len(m["content"]) for m in asked) for asked in llm.asked)
    assert {"max prompt characters": window, "calls": len(llm.asked)} == (
        case["right_value"]["exact"]
    ) and most <= window
    assert all(passage(asked) == "p" * 100 for asked in llm.asked)
    prompts = context_prompts(text, chunks, window=window, tokens=Letters())
    sizes = [len(prompt.shown) for prompt in prompts]
    assert min(sizes) > 500, "as much of the document as there is room for"


@pytest.mark.parametrize("window", [300, 700, 1000, 4000])
def test_ctx_prompt_repeats_document_in_no_window(window):
    """In real tokens, on real documents: bounded, the passage whole, the work linear."""
    tokens = load_tokenizer("o200k_base")
    for name, text in read_eight().items():
        document = Document(getattr(text, "text", text), name)
        chunks = split_recursive(document, size=600)
        prompts = context_prompts(document, chunks, window=window)
        for chunk, prompt in zip(chunks, prompts, strict=True):
            if prompt is None:
                assert window == 300
                continue
            asked = [m["content"] for m in prompt.messages(again=True)]
            assert sum(map(tokens.count, asked)) <= window
            assert chunk.text in asked[1] and prompt.shown in document.text
        cost = estimate_context_cost(document, chunks, window=window)
        assert cost.prompt_tokens <= window * len(chunks)
        assert window < 1000 or cost.new_tokens < cost.prompt_tokens
