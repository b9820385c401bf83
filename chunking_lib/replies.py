"""What the strategies that ask a language model share: one question, one retry, and its reply read.

Only the reply is read, never the prompt: nothing in a document can pass for an answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from chunking_lib.llm import Chat, NoModelError

__all__ = ["Asker", "NoReplyError", "ask_once", "check_llm", "read_json"]

T = TypeVar("T")

_LONGEST = 100_000  # characters of a reply: beyond, it is no answer to what is asked here
_MOST_READ = 10 * _LONGEST  # in all: thousands of brackets may open and none close
_OPENING = re.compile(r"[\[{]")
_DECODER = json.JSONDecoder()


def check_llm(llm: object) -> None:
    """Raise a `ValueError` unless `llm` can chat."""
    if not callable(getattr(llm, "chat", None)):
        raise ValueError(f"llm={llm!r:.60} must have a method chat: see load_llm")


def read_json(text: str) -> Any:
    """Return the JSON value that a reply is or holds.

    A reply may be a value, or have one array or object in its prose or in a fence. With two, such
    as one quoted from the document and one of its own, nobody can say which is meant.

    Raises:
        ValueError: no value, more than one, or one that is cut off.

    >>> read_json('Sure! {"starts": [4]}')
    {'starts': [4]}
    """
    if len(text) > _LONGEST:
        raise ValueError("it is too long")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    found: list[Any] = []
    place = steps = 0
    while len(found) < 2 and (opening := _OPENING.search(text, place)):
        try:
            value, place = _DECODER.raw_decode(text, opening.start())
            found.append(value)
        except RecursionError:
            break
        except json.JSONDecodeError as error:
            steps += error.pos - opening.start()
            if steps > _MOST_READ:
                raise ValueError("it has too many brackets") from error
            place = opening.end()
    if len(found) != 1:
        raise ValueError(f"it holds {'several' if found else 'no'} JSON values")
    return found[0]


class NoReplyError(Exception):
    """The client gave no reply; the message says what it raised."""


def ask_once(llm: Chat, messages: list[dict[str, str]], **options: Any) -> Any:
    """Return what a client of any make gives as the text of its reply.

    Raises:
        NoModelError: there is no model to ask, or it may not be asked.
        NoReplyError: anything else was raised.
    """
    try:
        return getattr(llm.chat(messages, **options), "text", None)
    except NoModelError:
        raise
    except Exception as error:
        raise NoReplyError(f"no reply: {type(error).__name__}") from error


class Asker:
    """Asks one model a number of questions, each at most twice.

    Attributes:
        problem: why there was no good reply to the last question.
    """

    def __init__(self, llm: Chat, instructions: str) -> None:
        check_llm(llm)
        self._llm, self._instructions = llm, instructions
        self._silent = False
        self.problem = ""

    def ask(
        self,
        question: str,
        read: Callable[[str], T],
        *,
        schema: Mapping[str, Any],
        max_tokens: int,
    ) -> T | None:
        """Return what `read` makes of the reply to `question`; None if two replies were no good.

        1. `read` raises a `ValueError` for a bad reply. The model is told why, and asked once more.
        2. A model that gives no reply twice in a row is not asked again, whatever the question:
           each try may last until the time is out.

        Raises:
            NoModelError: there is no model to ask, or it may not be asked.
        """
        messages = [
            {"role": "system", "content": self._instructions},
            {"role": "user", "content": question},
        ]
        failures = 0
        for _ in range(0 if self._silent else 2):
            try:
                said = ask_once(
                    self._llm, messages, schema=schema, temperature=0, max_tokens=max_tokens
                )
            except NoReplyError as error:
                self.problem = str(error)
                failures += 1
                self._silent = failures == 2
                continue
            try:
                if not isinstance(said, str):
                    raise ValueError("it is no text")
                return read(said)
            except ValueError as error:
                self.problem = f"bad reply: {error}"
                messages += [
                    {"role": "assistant", "content": str(said)[:_LONGEST]},
                    {"role": "user", "content": f"That cannot be used: {error}. Answer again."},
                ]
        return None
