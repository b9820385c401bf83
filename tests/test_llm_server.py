"""The server in front of a chat client, asked by OpenAI's own client."""

import openai
import pytest
from scripted import Scripted

from chunking_lib.llm import NoModelError, Reply
from chunking_lib.llm_server import serve_llm

ASK = [{"role": "user", "content": "Hi"}]
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}


def client(llm):
    http = openai.DefaultHttpxClient(trust_env=False)
    return openai.OpenAI(base_url=serve_llm(llm), api_key="none", http_client=http, max_retries=0)


def test_questions_and_replies_are_passed_on(capfd):
    llm = Scripted(Reply("Hello 🦥", "small", 7, 3), "Again")
    service = client(llm)
    named = {"type": "json_schema", "json_schema": {"name": "reply", "schema": SCHEMA}}
    reply = service.chat.completions.create(
        model="any", messages=ASK, temperature=0.5, max_tokens=9, response_format=named
    )
    assert reply.choices[0].message.content == "Hello 🦥" and reply.model == "small"
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (7, 3)
    service.chat.completions.create(model="any", messages=ASK)
    assert llm.asked == [ASK, ASK]
    assert llm.options == [
        {"schema": SCHEMA, "temperature": 0.5, "max_tokens": 9},
        {"schema": None, "temperature": 0, "max_tokens": 512},
    ]
    assert capfd.readouterr() == ("", "")


def test_an_error_reaches_the_client():
    service = client(Scripted(NoModelError("no recording: run make record")))
    with pytest.raises(openai.BadRequestError, match="run make record"):
        service.chat.completions.create(model="any", messages=ASK)
    with pytest.raises(openai.BadRequestError, match="stream"):
        service.chat.completions.create(model="any", messages=ASK, stream=True)


def test_what_cannot_chat_is_refused():
    with pytest.raises(ValueError, match="must have a method chat"):
        serve_llm(None)
