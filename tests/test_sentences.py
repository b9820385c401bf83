import subprocess
import sys

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from chunking_lib.chunk import is_blank
from chunking_lib.sentences import sentence_spans


def sentences(text):
    return [text[start:end] for start, end in sentence_spans(text)]


@pytest.mark.parametrize(
    "expected",
    [
        "Dr. Smith left at 5 p.m. | He slept.",
        "Version 2.0.1 costs $3.50. | Use v3.1, e.g. today. | See fig. 3.",
        'He said "Go away." | Then he left. | “Really?” she asked. | (It was. | Truly.) | Next',
        "Wait... what? | Well… yes. | Hmm... | Then he left.",
        "What?! | No way!!! | Yes",
        "J. R. R. Tolkien wrote it. | The U.S. Government read it.",
        "Approx. five are left. | Really? asked Tom.",
        "Der Zug fährt z. B. am 3. Mai um acht. | Die Linie Nr. 5 fährt bzw. hält. | Ende.",
        "ما اسمك؟ | اسمي علي. | هذا جيد.",
        "नमस्ते। | आप कैसे हैं? | मैं ठीक हूँ।",
        "The cat naps. | A cat purrs. | Ship ahoy! | Fresh bread",
        "Short one. | This sentence is far longer than the limit. | End.",
        "The cat naps. | A cat purrs. | ###. | Ship ahoy. | The ship left.",
    ],
)
def test_sentences_between_blanks(expected):
    parts = expected.split(" | ")
    assert sentences(" ".join(parts)) == parts
    # Whatever stands between them, the offsets are those of the text.
    assert sentences("\n\n  " + " \t ".join(parts) + "\r\n") == parts


@pytest.mark.parametrize(
    "expected",
    [
        "猫在睡觉。|猫喜欢鱼！|船开走了。|船很大？",
        "他说：“走吧。”|她走了。|好",
        '我问："去吗？"|他说："去。"|"好。"|她笑了。',
        "「行く。」と言った。|「行く。」|彼は来た。",
        "真的！？|价格是3.5元。|第１．５版。|完",
        "猫が好き!|犬も好き?|「はい!」|以上",
        "（他走了。）|她没走。",
    ],
)
def test_marks_with_no_blank_after_them(expected):
    assert sentences(expected.replace("|", "")) == expected.split("|")


def test_blank_lines_items_and_headings_end_a_sentence():
    text = (
        "# Fares\r\nA ticket costs 2.40. You need\r\n- a card. Or cash\r\n- patience\r\n"
        "1. Open the valve.\r\n2) Wait 3.5 minutes\r\n (iv) close it\r\n\r\n \r\nThe end\r\n"
        "of it\r\n## Last\r\n一、开门\r\n（二）关门"
    )
    assert sentences(text) == [
        "# Fares", "A ticket costs 2.40.", "You need", "- a card.", "Or cash", "- patience",
        "1. Open the valve.", "2) Wait 3.5 minutes", "(iv) close it", "The end\r\nof it",
        "## Last", "一、开门", "（二）关门",
    ]  # fmt: skip


def test_a_paragraph_of_thai_is_a_sentence():
    assert sentences("สวัสดีครับ ผมชื่อสมชาย\n\nวันนี้อากาศดี") == [
        "สวัสดีครับ ผมชื่อสมชาย",
        "วันนี้อากาศดี",
    ]


@pytest.mark.parametrize("text", ["", " \n\t ", "\n\n", "\r", "\u200b", "\ufeff\n\n\u00ad"])
def test_nothing_to_read(text):
    assert sentence_spans(text) == []


PIECES = [
    "a", "A.", "b.c", "...", "…", "!", "?!", "。", "！", "「", "」", '"', "“", "”", ")", "．", "3.",
    "é", "e\u0301", "\u0301", "\u200d", "\ufeff", "\u0600", "\ud800", "\0", "猫", "は", "ก",
    "👩‍👩‍👧", "🇩🇪", "ا؟", "।", "-", "#", "1.", "(a)", "Dr.", "z.", "Mai", "bzw.", "x\u00ad",
]  # fmt: skip
SPACES = ["", " ", "  ", "\n", "\r\n", "\r", "\n\n", "\u2029", "\u3000", "\t", "\x1c", "\x85"]
odd = st.lists(st.sampled_from(PIECES + SPACES), max_size=40).map("".join)


@settings(max_examples=500)
@given(odd | st.text(st.characters(), max_size=80))
def test_spans_are_lossless_in_order_and_cut_no_cluster(text):
    spans = sentence_spans(text)
    edges = {0, *(match.end() for match in regex.finditer(r"\X", text))}
    reached = 0
    for start, end in spans:
        assert reached <= start < end
        assert is_blank(text[reached:start])
        assert not is_blank(text[start:end])
        assert {start, end} <= edges
        reached = end
    assert is_blank(text[reached:])


@pytest.mark.parametrize(
    "run", ["a", "!", "?!", ". ", "x…", "。」", "\n", "\u0301", "a.", '"', " "]
)
def test_giant_runs_end(run):
    # Some of these take nupunkt alone minutes.
    text = "One. " + run * (200_000 // len(run))
    spans = sentence_spans(text)
    assert spans[0][0] == 0
    assert spans[-1][1] == len(text.rstrip())


def test_the_model_is_not_loaded_by_the_import():
    code = "import chunking_lib.sentences, sys; sys.exit('nupunkt' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
