"""Small stand-ins for the tests of scores: an embedder, a tokenizer, documents with questions."""

import re
import zlib
from collections.abc import Callable, Sequence

import numpy as np

from chunking_lib.benchmark import Benchmark, Question
from chunking_lib.chunk import Chunk, Document
from chunking_lib.metrics import Span

Chunker = Callable[[Document], list[Chunk]]


class WordTokens:
    """A token is a word with the white space before it, so that budgets can be worked by hand."""

    def offsets(self, text: str) -> list[tuple[int, int]]:
        return [match.span() for match in re.finditer(r"\s*\S+", text)]

    def count(self, text: str) -> int:
        return len(self.offsets(text))


class ToyEmbedder:
    """Counts words in 64 places, the same in every process. Reads `max_tokens` words."""

    def __init__(self, max_tokens: int = 1000) -> None:
        self.max_tokens = max_tokens

    def count(self, text: str) -> int:
        return len(text.split())

    def unseen(self, text: str) -> int:
        return max(0, self.count(text) - self.max_tokens)

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        vectors = np.zeros((len(texts), 64), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for word in re.findall(r"\w+", text.lower())[: self.max_tokens]:
                row[zlib.crc32(word.encode()) % 64] += 1
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors / np.where(lengths > 0, lengths, 1)


def windows(size: int, step: int | None = None) -> Chunker:
    """A chunker: `size` characters every `step`."""

    def split(document: Document) -> list[Chunk]:
        text = document.text
        starts = range(0, len(text), step or size)
        return [Chunk(text[i : i + size], i, min(i + size, len(text)), document.id) for i in starts]

    return split


def lines(document: Document) -> list[Chunk]:
    """A chunker: the lines."""
    return [
        Chunk(match[0], match.start(), match.end(), document.id)
        for match in re.finditer(r".+", document.text)
    ]


FACTS = {
    "ferry": ("The ferry sails at nine.", "Dogs ride free.", "A bicycle costs three euros."),
    "tram": ("The tram stops at the quay.", "Children under six ride free.", "Smoking is banned."),
    "lost": ("Umbrellas wait in the office.", "The office opens at ten.", "Wallets go to police."),
    "work": ("Drivers rest every four hours.", "Radios stay on.", "Gloves are in the locker."),
}


def facts() -> Benchmark:
    """Four documents of three lines, a question on each line, and two that nothing answers."""
    documents = {name: Document("\n".join(found), id=name) for name, found in FACTS.items()}
    questions = []
    for name, found in FACTS.items():
        for number, line in enumerate(found):
            start = documents[name].text.index(line)
            asked = " ".join(line.split()[-3:])
            place = Span(name, start, start + len(line))
            split = "dev" if name == "work" else "test"
            questions.append(
                Question(f"{name}{number}", asked, ((place,),), type="line", split=split)
            )
    questions += [
        Question(f"open{n}", text) for n, text in enumerate(("Why zebra?", "Which moon?"))
    ]
    return Benchmark(documents, tuple(questions))
