"""Stand-ins for language models: one that says what a test tells it to, one with a fixed taste."""

import re
from collections.abc import Iterable, Sequence
from itertools import chain, repeat

import numpy as np

from chunking_lib.llm import Reply
from chunking_lib.lm import TokenScores


class Scripted:
    """Gives these replies in turn, then the last one for ever; raises those that are exceptions."""

    def __init__(self, *replies: object) -> None:
        last: Iterable[object] = repeat(replies[-1]) if replies else ()
        self._replies = chain(replies, last)
        self.asked: list[list[dict]] = []
        self.options: list[dict] = []

    def chat(self, messages, **options):
        self.asked.append([dict(message) for message in messages])
        self.options.append(options)
        reply = next(self._replies)
        if isinstance(reply, BaseException):
            raise reply
        return Reply(reply) if isinstance(reply, str) else reply


class ScriptedLM:
    """A token is a word with the blanks before it; `taste` gives its surprise."""

    def __init__(self, taste=len, chances: Sequence[Sequence[float]] = ((0.0, 1.0),)) -> None:
        self._taste, self._chances = taste, chain(chances, repeat(chances[-1]))
        self.read: list[str] = []
        self.questions: list[str] = []

    def score(self, text):
        self.read.append(text)
        found = [(m.span(), m[0].strip()) for m in re.finditer(r"\s*\S+|\s+\Z", text)]
        offsets = np.array([span for span, _ in found], dtype=np.int64).reshape(-1, 2)
        return TokenScores(
            np.array([-float(self._taste(word)) for _, word in found], dtype=np.float32), offsets
        )

    def choose(self, question, choices):
        self.questions.append(question)
        return np.array(next(self._chances))
