"""What is measured: the texts, and who splits them.

A contender makes a fresh splitter for every round, so that no round finds the cache of another
full. Peers are imported where they are used: memory is measured in a process that loads only one.
"""

import json
import random
import re
from collections.abc import Callable
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from chunking_lib.character import split_characters, split_tokens
from chunking_lib.formats.code import split_code
from chunking_lib.formats.html_split import split_html
from chunking_lib.formats.json_split import split_json
from chunking_lib.formats.markdown import split_markdown
from chunking_lib.length import token_length
from chunking_lib.models import MINILM, fetch, load_tokenizer
from chunking_lib.recursive import split_recursive

CHARACTERS, TOKENS = 1000, 256
OURS, WINDOWS = "chunking_lib split_recursive", "chunking_lib windows"
LANGCHAIN, CHONKIE = "LangChain RecursiveCharacterTextSplitter", "chonkie RecursiveChunker"
SEMCHUNK, TEXT_SPLITTER = "semchunk", "semantic-text-splitter"
BLAZECHUNK, SLICING = "blazechunk RecursiveChunker", "slicing alone"
TOKENIZING = "tokenizing alone"
COUNTING_TEXT, COUNTING_CHUNKS = "counting the text once", "counting the chunks once"
YARDSTICKS = (TOKENIZING, COUNTING_TEXT, COUNTING_CHUNKS)  # they make no chunks

CORPUS = Path(__file__).resolve().parents[2] / "data" / "corpus"
ENGLISH = (
    "council_meeting_2024-06-12.txt",
    "essay_waiting.txt",
    "history_of_the_sound.txt",
    "incident_log.txt",
    "passenger_faq.md",
    "safety_regulations.txt",
    "staff_handbook.md",
)
_WORD = re.compile(r"\d+|[^\W\d_]+")


def make_text(
    size: int, *, new: float = 0.05, shuffle: bool = True, documents: tuple[str, ...] = ENGLISH
) -> str:
    """Return `size` bytes of UTF-8 made of the course's documents, the same on every call.

    The documents are far shorter than a megabyte. Repeated, they would hold few different words
    and lines, which favours whoever remembers words. So each pass takes the paragraphs in another
    order, draws each number anew, and makes a share `new` of the words of four letters or more into
    other words: the first half of one, the second half of another.
    """
    rng = random.Random(0)
    texts = [(CORPUS / name).read_text("utf-8") for name in documents]
    paragraphs = [part for text in texts for part in text.split("\n\n")]
    words = sorted(set(re.findall(r"[^\W\d_]{4,}", " ".join(paragraphs))))

    def change(match: re.Match[str]) -> str:
        word = match.group()
        if word.isdecimal():
            return str(rng.randrange(10 ** len(word)))
        if len(word) < 4 or rng.random() >= new:
            return word
        other = rng.choice(words)
        return word[: len(word) // 2] + other[len(other) // 2 :]

    text = bytearray()
    while len(text) < size:
        if shuffle:
            rng.shuffle(paragraphs)
        for paragraph in paragraphs:
            text += (_WORD.sub(change, paragraph) if new else paragraph).encode() + b"\n\n"
    return text[:size].decode(errors="ignore")


class Contender(NamedTuple):
    """Somebody who splits, or does a part of the work for comparison."""

    name: str
    make: Callable[[], Callable[[str], Any]]  # returns a fresh splitter
    note: str
    slow: bool = False  # fewer rounds, and not on 10 MB


def read_chunks(result: Any) -> list[tuple[int | None, str | bytes]]:
    """Return offset and text of each chunk of a result; UTF-8 bytes if its offsets count bytes."""
    if isinstance(result, tuple):  # semchunk: texts, and spans
        return [(start, text) for text, (start, _) in zip(*result, strict=True)]
    first = result[0]
    if isinstance(first, tuple):  # semantic-text-splitter
        return result
    if isinstance(first, str):
        return [(None, text) for text in result]
    if isinstance(first, memoryview):
        starts = accumulate(map(len, result), initial=0)
        return [(start, bytes(view)) for start, view in zip(starts, result, strict=False)]
    if hasattr(first, "page_content"):
        return [(chunk.metadata["start_index"], chunk.page_content) for chunk in result]
    if hasattr(first, "start"):
        return [(chunk.start, chunk.text) for chunk in result]
    in_bytes = type(first).__module__ == "builtins"  # blazechunk's own, made in Rust
    return [(c.start_index, c.text.encode() if in_bytes else c.text) for c in result]


def _langchain(size: int, length: Callable[[str], int] = len, offsets: bool = False) -> Any:
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    splitter = RecursiveCharacterTextSplitter(
        chunk_size=size, chunk_overlap=0, length_function=length, add_start_index=offsets
    )
    return (lambda text: splitter.create_documents([text])) if offsets else splitter.split_text


def _chonkie(size: int, tokenizer: Any = "character") -> Any:
    from chonkie import RecursiveChunker

    return RecursiveChunker(tokenizer=tokenizer, chunk_size=size).chunk


def _semchunk(size: int, length: Callable[[str], int]) -> Any:
    from semchunk import chunkerify

    # semchunk remembers counts by function, so each round brings a function of its own.
    chunker = chunkerify(lambda text: length(text), size)
    return lambda text: chunker(text, offsets=True)


def _text_splitter(size: int, tokenizer: Any = None) -> Any:
    from semantic_text_splitter import TextSplitter

    if tokenizer:
        return TextSplitter.from_huggingface_tokenizer(tokenizer, size).chunk_indices
    return TextSplitter(size).chunk_indices


def _blazechunk(size: int, views: bool = False) -> Any:
    from blazechunk import RecursiveChunker, chunk

    if views:
        return lambda text: list(chunk(text, size=size))
    return RecursiveChunker(chunk_size=size).chunk


def load_tokie() -> Any:
    """Return MiniLM's tokenizer in tokie, which counts several times as fast."""
    from tokie import Tokenizer

    return Tokenizer.from_json(str(fetch(MINILM) / "tokenizer.json"))


def _by_characters(text: str) -> list[Contender]:
    n = CHARACTERS

    def slicing(text: str) -> list[str]:
        return [text[i : i + n] for i in range(0, len(text), n)]

    row = Contender
    return [
        row(OURS, lambda: split_recursive, "Python; no emoji, accent or CRLF is cut"),
        row(WINDOWS, lambda: split_characters, "Python; `split_characters`: no separators"),
        row(LANGCHAIN, lambda: _langchain(n), "Python; `split_text`: strings without offsets"),
        row(
            "LangChain, add_start_index",
            lambda: _langchain(n, offsets=True),
            "Python; `create_documents`: searches the text for each chunk",
        ),
        row(CHONKIE, lambda: _chonkie(n), "Python on a Rust core; sentences before words"),
        row(SEMCHUNK, lambda: _semchunk(n, len), "Python; `offsets=True`; many punctuation levels"),
        row(TEXT_SPLITTER, lambda: _text_splitter(n), "Rust; Unicode's sentences and words"),
        row(BLAZECHUNK, lambda: _blazechunk(n), "Rust; counts characters, offsets in UTF-8 bytes"),
        row(
            "blazechunk.chunk",
            lambda: _blazechunk(n, views=True),
            "Rust; not recursive: last newline, `.` or `?` in 1000 bytes; views, not strings",
        ),
        row(SLICING, lambda: slicing, "Python; cuts anywhere: what the copies cost"),
    ]


def _by_tokens(text: str) -> list[Contender]:
    n, tokenizer = TOKENS, load_tokenizer()

    def count(text: str) -> int:
        return len(tokenizer.encode(text, add_special_tokens=False))

    length = token_length(tokenizer)

    def ours(text: str) -> Any:
        return split_recursive(text, size=n, length=length)

    def windows(text: str) -> Any:
        return split_tokens(text, size=n, tokenizer=tokenizer)

    def tokenizing(text: str) -> Any:
        parts = [text[i : i + 20_000] for i in range(0, len(text), 20_000)]
        return tokenizer.encode_batch_fast(parts, add_special_tokens=False)

    row = Contender
    return [
        row(OURS, lambda: ours, "tokenizes each distinct word once, in batches on all cores"),
        row(
            WINDOWS,
            lambda: windows,
            "`split_tokens`: windows between words; copies the tokenizer first",
        ),
        row(TOKENIZING, lambda: tokenizing, "`encode_batch_fast`, parts of 20 kB, all cores"),
        row(CHONKIE, lambda: _chonkie(n, tokenizer), "encodes each piece of each level by itself"),
        row(SEMCHUNK, lambda: _semchunk(n, count), "counts with `encode`; remembers counts", True),
        row(TEXT_SPLITTER, lambda: _text_splitter(n, tokenizer), "calls Rust from Rust", True),
        row(LANGCHAIN, lambda: _langchain(n, count), "`length_function` over `encode`", True),
    ]


def _by_counting(text: str) -> list[Contender]:
    n, tokie = TOKENS, load_tokie()
    count = tokie.count_tokens

    def ours(text: str) -> Any:
        return split_recursive(text, size=n, length=count)

    chunks = [chunk.text for chunk in ours(text)]

    def count_chunks(text: str) -> Any:
        return [count(chunk) for chunk in chunks]

    row = Contender
    return [
        row(OURS, lambda: ours, "counts each stretch of text once; counts some chunks again"),
        row(COUNTING_TEXT, lambda: count, "one call with the whole text"),
        row(COUNTING_CHUNKS, lambda: count_chunks, "one call for each chunk of `split_recursive`"),
        row(CHONKIE, lambda: _chonkie(n, tokie), "takes tokie's tokenizer as it is"),
        row(SEMCHUNK, lambda: _semchunk(n, count), "remembers counts", True),
        row(LANGCHAIN, lambda: _langchain(n, count), "counts each piece of each level", True),
    ]


UNITS = {"characters": _by_characters, "tokens": _by_tokens, "counting": _by_counting}


def contenders(unit: str, text: str) -> list[Contender]:
    """Return who splits by "characters", "tokens" or "counting"; ours comes first."""
    return UNITS[unit](text)


def _repeated(size: int, *endings: str) -> str:
    """Return `size` bytes: the course's documents with these endings, again and again."""
    paths = sorted(path for path in CORPUS.iterdir() if path.suffix in endings)
    text = "\n\n".join(path.read_text("utf-8") for path in paths) + "\n\n"
    data = text.encode()
    return (data * (size // len(data) + 1))[:size].decode(errors="ignore")


def _records(size: int) -> str:
    """Return `size` bytes or a little more of JSON: a list of one of the course's documents."""
    text = (CORPUS / "api_departures.json").read_text("utf-8")
    return json.dumps([json.loads(text)] * (size // len(text.encode()) + 1))


def format_texts(size: int) -> dict[str, tuple[str, str]]:
    """Return the format and a text of about `size` bytes by what is in it."""

    def again(unit: str, before: str = "") -> str:
        return before + unit * (size // len(unit))

    return {
        "Markdown: the course's": ("markdown", _repeated(size, ".md")),
        "Markdown: a list": ("markdown", again("- The ferry to Holm\n")),
        "Markdown: headings": ("markdown", again("## The ferry to Holm\n\n")),
        "Markdown: a table": (
            "markdown",
            again("| The ferry | 14:05 |\n", "| A | B |\n|---|---|\n"),
        ),
        "Markdown: a fence": ("markdown", again("x = compute(1)\n", "```\n")),
        "Python: the course's": ("python", _repeated(size, ".py")),
        "Java: statements": ("java", again("    x = g(y);\n", "class A { void f() {\n") + "}}\n"),
        "HTML: the course's": ("html", _repeated(size, ".html")),
        "JSON: the course's": ("json", _records(size)),
    }


def format_pair(name: str) -> tuple[Callable[[str], Any], Callable[[str], Any]]:
    """Return our splitter of a format, which parses too, and LangChain's."""
    from langchain_text_splitters import (
        HTMLHeaderTextSplitter,
        Language,
        MarkdownTextSplitter,
        RecursiveCharacterTextSplitter,
        RecursiveJsonSplitter,
    )

    n = CHARACTERS
    if name == "markdown":
        theirs = MarkdownTextSplitter(chunk_size=n, chunk_overlap=0).split_text
        return partial(split_markdown, size=n), theirs
    if name == "html":
        headings = [(f"h{level}", f"h{level}") for level in range(1, 7)]
        return partial(split_html, size=n), HTMLHeaderTextSplitter(headings).split_text
    if name == "json":
        splitter = RecursiveJsonSplitter(max_chunk_size=n)
        return partial(split_json, size=n), lambda text: splitter.split_json(
            json.loads(text), convert_lists=True
        )
    code = RecursiveCharacterTextSplitter.from_language(
        Language(name), chunk_size=n, chunk_overlap=0
    )
    return partial(split_code, language=name, size=n), code.split_text
