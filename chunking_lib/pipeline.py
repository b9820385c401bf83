"""Retrieval-augmented generation around an index: from documents to a prompt and an answer."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import textwrap
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from numbers import Real
from pathlib import Path

from chunking_lib.chunk import Chunk, Document
from chunking_lib.index import ChunkIndex
from chunking_lib.length import Length
from chunking_lib.models import load_tokenizer
from chunking_lib.retrieve import Encoder, merge_hits

__all__ = ["RagPipeline"]

Chunker = Callable[[Document], list[Chunk]]

_MISSES = 20  # chunks in a row that do not fit a budget, before the search ends


class RagPipeline:
    """Retrieval-augmented generation in one object: index, retrieve, prompt, answer.

    Args:
        chunker: from a document to chunks.
        embedder: makes the vectors.
        path: a folder for the index and the texts of the documents; in memory if None. A pipeline
            that is made with it later goes on where this one stopped.
        llm: from a prompt to an answer; without it there are prompts, but no answers.
        length: measures what is sent; tokens of OpenAI's o200k if None.
    Raises:
        ValueError, RuntimeError: as `ChunkIndex`; a `length` that is no function, or the text of
            a document that cannot be read.
    """

    def __init__(
        self,
        chunker: Chunker,
        embedder: Encoder,
        *,
        path: str | Path | None = None,
        llm: Callable[[str], str] | None = None,
        length: Length | None = None,
    ) -> None:
        self._chunker, self._llm = chunker, llm
        self._index = ChunkIndex(embedder, path)
        self._documents = _Documents(None if path is None else Path(path).expanduser())
        if length is not None and not callable(length):
            raise ValueError(f"length={length!r} must be a function that measures a text")
        self._length: Length = length or load_tokenizer("o200k_base").count

    def index(self, documents: Iterable[Document]) -> int:
        """Index documents, each in place of its older version; return the number of chunks in all.

        Raises:
            ValueError: what is no document, one without an id, two with the same, or chunks that do
                not carry it as their source.
        """
        if isinstance(documents, Document):
            raise ValueError(f"documents={documents!r:.60} must be a list of documents")
        documents = list(documents)
        seen: set[str] = set()
        for document in documents:
            if not isinstance(document, Document):
                raise ValueError(f"documents has {document!r:.60}, which is no Document")
            if not document.id:
                raise ValueError("a document needs an id: its chunks are found again by it")
            if document.id in seen:
                raise ValueError(f"two documents have the id {document.id!r}")
            seen.add(document.id)
        for document in documents:
            chunks = self._chunker(document)
            # If what follows fails halfway, chunks must not be merged with another version's text.
            self._documents.forget(document.id)
            self._index.replace(document.id, chunks)
            self._documents.keep(document)
        return len(self._index)

    def retrieve(self, question: str, *, budget: int = 1000) -> list[Chunk]:
        """Return passages for a question: the best chunks that fit the budget, neighbours merged.

        A chunk that does not fit is passed over, as a smaller one may; after 20 in a row the search
        ends.

        Args:
            question: the question.
            budget: the most that all passages may measure together, in units of `length`.
        Raises:
            ValueError: a budget below 1, or a blank question.
            RuntimeError: as `ChunkIndex.search`.
        """
        if isinstance(budget, bool) or not isinstance(budget, Real) or not budget >= 1:
            raise ValueError(f"budget={budget!r} must be 1 or more")
        length = functools.cache(self._length)  # most passages stay as they are from hit to hit

        def merge(chunks: list[Chunk]) -> list[Chunk]:
            return merge_hits(chunks, self._documents.texts)

        hits = self._index.hits(question, step=100)
        chosen: list[Chunk] = []
        waiting: list[Chunk] = []
        misses, together = 0, 1  # tried one by one, many hits would be measured again and again
        while misses < _MISSES:
            waiting += [hit.chunk for hit in islice(hits, max(0, together - len(waiting)))]
            tried = waiting[:together]
            if not tried:
                break
            passages = merge([*chosen, *tried])
            if sum(length(passage.embedding_text) for passage in passages) <= budget:
                chosen += tried
                del waiting[: len(tried)]
                misses, together = 0, 2 * together
            elif len(tried) > 1:
                together = len(tried) // 2
            else:
                del waiting[0]
                misses += 1
        return merge(chosen)

    def prompt(self, question: str, passages: Sequence[Chunk]) -> str:
        """Return the prompt: what to do, numbered sources with their offsets, the question.

        Each line of a source begins with "> ": whatever stands in it cannot pass for the head of
        another source, nor can an id, whose line ends become blanks. A model may still follow an
        order that a source gives.
        """
        sources = "\n\n".join(
            f"[{number}] {' '.join(passage.source.splitlines())}, "
            f"characters {passage.start} to {passage.end}\n"
            f"{textwrap.indent(passage.embedding_text, '> ', lambda _: True)}"
            for number, passage in enumerate(passages, 1)
        )
        return (
            "Answer the question from the sources alone, and name the numbers of those you used, "
            "like [1]. If they do not hold the answer, say that you do not know.\n\n"
            f"Sources:\n\n{sources or '(none)'}\n\nQuestion: {question}\nAnswer:"
        )

    def answer(self, question: str, *, budget: int = 1000) -> tuple[str, list[Chunk]]:
        """Return the model's answer and the passages that its numbers refer to.

        Raises:
            RuntimeError: there is no model.
        """
        if self._llm is None:
            raise RuntimeError("there is no language model: RagPipeline(..., llm=...)")
        passages = self.retrieve(question, budget=budget)
        return self._llm(self.prompt(question, passages)), passages


class _Documents:
    """The texts of documents, by id; with a folder, kept there in a file each."""

    def __init__(self, path: Path | None) -> None:
        self._folder = path and path / "documents"
        self.texts: dict[str, str] = {}
        for file in self._folder.glob("*.json") if self._folder else ():
            try:
                source, text = json.loads(file.read_text(encoding="ascii"))
                Document(text, source)  # which checks both
            except (OSError, ValueError, TypeError) as error:
                raise RuntimeError(f"cannot read the document in {file.name}: {error}") from error
            self.texts[source] = text

    def keep(self, document: Document) -> None:
        self.texts[document.id] = document.text
        if self._folder:
            self._folder.mkdir(exist_ok=True)
            part = self._file(document.id).with_suffix(".part")
            part.write_text(json.dumps([document.id, document.text]), encoding="ascii")
            os.replace(part, self._file(document.id))  # whole, or not at all

    def forget(self, source: str) -> None:
        self.texts.pop(source, None)
        if self._folder:
            self._file(source).unlink(missing_ok=True)

    def _file(self, source: str) -> Path:
        assert self._folder is not None
        return self._folder / f"{hashlib.sha256(json.dumps(source).encode()).hexdigest()}.json"
