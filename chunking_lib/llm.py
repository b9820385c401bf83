"""A chat client: a hosted model, a server of your own, or the small model on this computer.

`OPENAI_API_KEY` or `OPENAI_BASE_URL` choose a server that speaks OpenAI's protocol (OpenAI, Ollama,
vLLM, llama.cpp), and `CHUNKING_LLM` the model there. With none of them SmolLM2 answers, a model of
135 million parameters that runs anywhere and understands little.
"""

from __future__ import annotations

import hashlib
import math
import os
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from chunking_lib.local_server import SMOLLM, start_server
from chunking_lib.models import without_surrogates
from chunking_lib.recordings import Recordings, open_recordings, request_key
from chunking_lib.reply_cache import ReplyCache
from chunking_lib.service import read_key, redact

__all__ = ["Chat", "ChatClient", "Messages", "NoModelError", "Reply", "Usage", "load_llm"]

#: One question, or a conversation: dictionaries with "role" and "content".
Messages = str | Sequence[Mapping[str, str]]


class NoModelError(RuntimeError):
    """Nothing can answer, now or later: no recording, no key, no such model, no weights."""


@dataclass(frozen=True)
class Reply:
    """What a model said.

    Attributes:
        text: its words; "" if it gave none.
        model: its name, as the server gave it.
        prompt_tokens: tokens that it read.
        completion_tokens: tokens that it wrote.
    """

    text: str
    model: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass
class Usage:
    """What the replies of a client took, recorded and cached ones as when they were made.

    Attributes:
        calls: replies.
        prompt_tokens: tokens read.
        completion_tokens: tokens written.
        seconds: time to wait for them, retries included.
        cost: in the currency of `prices`.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    cost: float = 0.0


class Chat(Protocol):
    """What the strategies ask for: `ChatClient`, or anything of your own with this method."""

    def chat(
        self,
        messages: Messages,
        *,
        schema: Mapping[str, Any] | None = None,
        temperature: float | None = 0,
        max_tokens: int = 512,
    ) -> Reply:
        """Return what the model says."""


class ChatClient:
    """A client of one model. Made by `load_llm`."""

    def __init__(
        self,
        model: str,
        *,
        recordings: Recordings | None = None,
        prices: tuple[float, float] = (0.0, 0.0),
        timeout: float = 120,
        retries: int = 3,
        cache: bool = False,
    ) -> None:
        #: The model's name.
        self.model = model
        #: What all replies so far took.
        self.usage = Usage()
        self._recordings, self._prices = recordings, prices
        self._timeout, self._retries = timeout, retries
        service = "" if model == SMOLLM else os.environ.get("OPENAI_BASE_URL", "")
        self._cache = ReplyCache(hashlib.sha256(service.encode()).hexdigest()) if cache else None
        self._lock = threading.Lock()
        self._made: Any = None

    def __repr__(self) -> str:
        return f"ChatClient({self.model!r})"

    @property
    def base_url(self) -> str:
        """The server's address, for other clients of it; starts the local one."""
        return str(self._client().base_url)

    def chat(
        self,
        messages: Messages,
        *,
        schema: Mapping[str, Any] | None = None,
        temperature: float | None = 0,
        max_tokens: int = 512,
    ) -> Reply:
        """Return what the model says to `messages`.

        1. A recorded reply, if there are recordings and this request is among them: no server is
           started or asked. Else one that the client's cache has.
        2. Else the model's. What may pass is tried again after a while: 408, 409, 429, 5xx,
           time-outs, lost connections. No try lasts longer than the client's `timeout`.

        Args:
            messages: one question, or the conversation so far.
            schema: a JSON schema that the text of the reply is to follow. Servers enforce it or
                not: validate the reply.
            temperature: 0 for the likeliest words, or more; None for a model that takes none.
            max_tokens: the most to write, 1 or more; the text then ends in mid-sentence.
        Raises:
            ValueError: messages that are none, or another argument outside its bounds.
            NoModelError: no recording and no model, a key that is refused, an unknown model.
            RuntimeError: no reply, after all retries. No error holds the key.
        """
        listed = _checked(messages)
        if not isinstance(max_tokens, int) or isinstance(max_tokens, bool) or max_tokens < 1:
            raise ValueError(f"max_tokens={max_tokens!r} must be a whole number of 1 or more")
        if temperature is not None and not _is_amount(temperature):
            raise ValueError(f"temperature={temperature!r} must be a number of 0 or more, or None")
        try:
            key = request_key(
                self.model, listed, schema=schema, temperature=temperature, max_tokens=max_tokens
            )
        except (TypeError, ValueError) as error:
            raise ValueError(f"schema={schema!r:.60} cannot be written as JSON: {error}") from error
        row = self._recordings.get(key) if self._recordings is not None else None
        recording = self._recordings is not None and self._recordings.recording
        if row is None and self._cache and not recording:
            row = self._cache.get(key)
        if row is None:
            row = self._ask(listed, schema, temperature, max_tokens)
            if self._recordings is not None and recording:
                self._recordings.add(key, row)
            if self._cache:
                self._cache.put(key, row)
        self._count(row)
        return Reply(row["text"], row["model"], row["prompt_tokens"], row["completion_tokens"])

    def _ask(
        self,
        messages: list[dict[str, str]],
        schema: Mapping[str, Any] | None,
        temperature: float | None,
        max_tokens: int,
    ) -> dict[str, Any]:
        client = self._client()
        import openai

        # OpenAI's newer models refuse the old name, and some other servers do not know the new one.
        hosted = client.base_url.host == "api.openai.com"
        options: dict[str, Any] = {
            "max_completion_tokens" if hosted else "max_tokens": max_tokens,
            "temperature": openai.omit if temperature is None else temperature,
        }
        if schema is not None:
            named = {"name": "reply", "strict": True, "schema": schema}
            options["response_format"] = {"type": "json_schema", "json_schema": named}
        began, kind = time.monotonic(), RuntimeError
        try:
            reply = client.chat.completions.create(model=self.model, messages=messages, **options)
            message, usage = reply.choices[0].message, reply.usage
            return {
                "text": without_surrogates(message.content or message.refusal or ""),
                "model": without_surrogates(reply.model or self.model),
                "prompt_tokens": usage.prompt_tokens if usage else 0,
                "completion_tokens": usage.completion_tokens if usage else 0,
                "seconds": round(time.monotonic() - began, 3),
            }
        except openai.OpenAIError as error:
            hopeless = (
                openai.AuthenticationError,
                openai.PermissionDeniedError,
                openai.NotFoundError,
            )
            kind = NoModelError if isinstance(error, hopeless) else RuntimeError
            problem = redact(str(error), client.api_key)
        except (AttributeError, IndexError, TypeError):
            problem = "what came back holds no message"
        # Not chained: a service may repeat the key in what it says.
        raise kind(f"no reply of {self.model!r} from {client.base_url.host}: {problem}")

    def _client(self) -> Any:
        with self._lock:
            if self._made is None:
                self._made = self._connect()
            return self._made

    def _connect(self) -> Any:
        recordings = self._recordings
        missing = ""
        if recordings is not None and not recordings.recording:
            missing = (
                f"no recording of this request to {self.model!r} in {recordings.path.name}, and "
            )
        if missing and os.environ.get("CHUNKING_RECORD") == "0":
            raise NoModelError(f"{missing}CHUNKING_RECORD=0 allows no live model: run make record")
        try:
            import openai

            local = self.model == SMOLLM
            key = "local" if local else read_key()
            if not local and not (key or os.environ.get("OPENAI_BASE_URL")):
                raise RuntimeError(
                    f"{self.model!r} needs a service: set OPENAI_API_KEY, or OPENAI_BASE_URL for "
                    "a server of your own"
                )
            options: dict[str, Any] = {"timeout": self._timeout, "max_retries": self._retries}
            if local:
                # A proxy of the network does not lead back to this computer.
                options["http_client"] = openai.DefaultHttpxClient(trust_env=False)
                options["base_url"] = start_server()
            return openai.OpenAI(api_key=key or "no-key", **options)
        except ImportError:
            problem = "the package openai is not installed: pip install openai"
        except RuntimeError as error:
            problem = str(error)
        raise NoModelError(f"{missing}no live model: {problem}" if missing else problem)

    def _count(self, row: Mapping[str, Any]) -> None:
        with self._lock:
            self.usage.calls += 1
            self.usage.prompt_tokens += row["prompt_tokens"]
            self.usage.completion_tokens += row["completion_tokens"]
            self.usage.seconds += row["seconds"]
            read, written = self._prices
            tokens = read * row["prompt_tokens"] + written * row["completion_tokens"]
            self.usage.cost += tokens / 1_000_000


def _checked(messages: Messages) -> list[dict[str, str]]:
    """Return the messages as a list of dictionaries that JSON can hold."""
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    listed: list[Any] = list(messages) if isinstance(messages, Sequence) else []
    for message in listed:
        right = isinstance(message, Mapping) and message.keys() >= {"role", "content"}
        if not right or not all(isinstance(said, str) for pair in message.items() for said in pair):
            raise ValueError(
                f"messages has {message!r:.60} and needs a role and a content in each, all of text"
            )
    if not listed:
        raise ValueError(f"messages={messages!r:.60} must be a string or a list of messages")
    return [{name: without_surrogates(said) for name, said in one.items()} for one in listed]


def _is_amount(value: object) -> bool:
    """Say whether a value is a finite number of 0 or more."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 <= value < math.inf


def load_llm(
    model: str | None = None,
    *,
    recordings: str | Path | None = None,
    prices: tuple[float, float] = (0.0, 0.0),
    timeout: float = 120,
    retries: int = 3,
    cache: bool = False,
) -> ChatClient:
    """Return a client of a chat model; nothing is started or asked before the first `chat`.

    ```python
    llm = load_llm(recordings="data/replies/05_agentic.jsonl")
    llm.chat("Name a colour.").text
    ```

    With `recordings`, a request that is in the file gets the reply from there. Another is answered
    by the model, and not recorded, unless `CHUNKING_RECORD` is 1: then every request is answered
    by the model, and the file written anew. With 0, a request without a recording is an error.

    Args:
        model: its name; by default `CHUNKING_LLM`, and without that SmolLM2-135M-Instruct, unless
            a service is set. SmolLM2-135M-Instruct is always the one on this computer.
        recordings: a file of replies, JSON Lines.
        prices: of a million tokens read, and of a million written, 0 or more.
        timeout: seconds that one try may last, more than 0.
        retries: tries after the first, 0 or more.
        cache: keep each reply in the cache folder, and never ask the same again: for long runs that
            may be interrupted. Its replies count in `usage` as when they were made.
    Raises:
        NoModelError: a service is set, but not which of its models.
        ValueError: an argument outside its bounds.
        RuntimeError: recordings that cannot be read.
    """
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0:
        raise ValueError(f"timeout={timeout!r} must be a number of seconds above 0")
    if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
        raise ValueError(f"retries={retries!r} must be a whole number of 0 or more")
    pair = isinstance(prices, tuple | list) and len(prices) == 2
    if not pair or not all(map(_is_amount, prices)):
        raise ValueError(f"prices={prices!r} must be two numbers of 0 or more")
    if recordings is not None and not (isinstance(recordings, str | Path) and str(recordings)):
        raise ValueError(f"recordings={recordings!r} must be the path of a file, or None")
    name = model if model is not None else os.environ.get("CHUNKING_LLM", "").strip()
    if not isinstance(name, str) or (model is not None and not name.strip()):
        raise ValueError(f"model={model!r} must be the name of a model, or None")
    if not name and (os.environ.get("OPENAI_API_KEY") or os.environ.get("OPENAI_BASE_URL")):
        raise NoModelError(
            "OPENAI_API_KEY or OPENAI_BASE_URL names a service: set CHUNKING_LLM to the name of "
            f"its model, or to {SMOLLM} for the small model on this computer"
        )
    rows = None
    if recordings is not None:
        path = Path(recordings).resolve()
        rows = open_recordings(path, os.environ.get("CHUNKING_RECORD", ""))
    return ChatClient(
        name or SMOLLM,
        recordings=rows,
        prices=prices,
        timeout=timeout,
        retries=retries,
        cache=cache,
    )
