"""The second corpus of the course: the reference topics that Python itself carries."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from chunking_lib.benchmark import Benchmark, make_question
from chunking_lib.chunk import Document

__all__ = ["load_python_topics"]


def load_python_topics(path: str | Path) -> Benchmark:
    """Read the course's questions on the topics that `help()` of Python shows.

    The texts are in every Python (`pydoc_data.topics`), written by Python's authors, so that they
    need no copy here; they change between releases. The questions are for those of 3.11.7.

    ```python
    benchmark = load_python_topics("data/python_topics.jsonl")
    ```

    Args:
        path: the file of questions. Each excerpt has the topic, start and end in characters, and
            the SHA-256 of the words there.
    Returns:
        The 79 topics as documents, and the questions.
    Raises:
        RuntimeError: this Python's topics are other texts, so that the places do not fit.
    """
    from pydoc_data.topics import topics

    documents = {name: Document(text, id=name) for name, text in sorted(topics.items())}
    questions = []
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
        row = json.loads(line)
        for key in ("excerpts", "also"):
            row[key] = [_place(excerpt, documents) for excerpt in row.get(key, [])]
        questions.append(make_question(row, str(number), documents))
    return Benchmark(documents, tuple(questions))


def _place(excerpt: dict[str, Any], documents: dict[str, Document]) -> dict[str, Any]:
    topic, start, end = excerpt["topic"], excerpt["start"], excerpt["end"]
    words = documents[topic].text[start:end] if topic in documents else ""
    if hashlib.sha256(words.encode()).hexdigest() != excerpt["sha256"]:
        raise RuntimeError(
            f"the questions are for the topics of Python 3.11.7; in this one, "
            f"{sys.version.split()[0]}, {topic!r} has other words from {start} to {end}"
        )
    return {"document": topic, "start": start, "end": end}
