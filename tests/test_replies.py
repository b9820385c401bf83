"""Replies of a language model, read without trust."""

import json

import pytest

from chunking_lib import replies
from chunking_lib.chunk import Chunk, Document
from chunking_lib.contextual import ContextWarning, add_context
from chunking_lib.replies import Asker, read_json


def test_what_never_closes_is_refused_before_all_is_read_again(monkeypatch):
    """Each opening bracket could be read to the end: 900 times 90,000 characters."""
    read = []

    class Decoder(json.JSONDecoder):
        def raw_decode(self, text, idx=0):
            try:
                return super().raw_decode(text, idx)
            except json.JSONDecodeError as error:
                read.append(error.pos - idx)
                raise

    monkeypatch.setattr(replies, "_DECODER", Decoder())
    with pytest.raises(ValueError, match="too many brackets"):
        read_json("[" * 900 + "1," * 45_000)
    assert sum(read) < 1_200_000


def test_brackets_in_prose_hide_no_value():
    assert read_json("See [1, [2 and {x}. " * 100 + '{"starts": [4]}') == {"starts": [4]}


@pytest.mark.parametrize("text", ["[1] [2]", "{} [1] {}"])
def test_of_several_values_none_is_meant(text):
    with pytest.raises(ValueError, match="several JSON values"):
        read_json(text)


class Broken:
    """A client whose reply has no text to be had."""

    @property
    def text(self):
        raise RuntimeError("gone")

    def chat(self, messages, **options):
        return self


def test_a_reply_whose_text_cannot_be_had_is_no_reply():
    asker = Asker(Broken(), "Answer.")
    assert asker.ask("Where?", str, schema={}, max_tokens=5) is None
    assert asker.problem == "no reply: RuntimeError"


def test_it_is_none_for_a_context_either():
    chunk = Chunk("Dogs ride free.", 0, 15, "fares.txt")
    with pytest.warns(ContextWarning, match="no reply: RuntimeError"):
        found = add_context(Document(chunk.text, "fares.txt"), [chunk], llm=Broken(), include=())
    assert found[0].metadata["fallback"] == "no reply: RuntimeError"
