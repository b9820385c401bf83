"""Texts, sizes and separators for Hypothesis, chosen to hit what breaks text splitters."""

import re

from hypothesis import strategies as st

# Letters and what belongs to them; clusters of several code points; things that only look blank.
LETTERS = [
    "a",
    "b",
    "Word",
    "x1",
    "é",
    "ß",
    "e\u0301",
    "猫",
    "犬",
    "で",
    "ก",
    "ทดสอบ",
    "ا",
    "한",
    "𝔘",
]
CLUSTERS = [
    "👩\u200d👩\u200d👧",
    "🇩🇪",
    "🇩",
    "👍🏽",
    "❤\ufe0f",
    "क्ष",
    "ក្ក",
    "\u1100\u1161\u11a8",
    "a\u0301\u0302",
    "\u0600",
    "\u0600 ",
    " \u0301",
    "\n\u0301",
    "\u200d",
    "\u0301",
]
INVISIBLE = ["\u200b", "\ufeff", "\u00ad", "\u2060", "\ufe0f", "\u115f"]
SPACES = [
    " ",
    "  ",
    "\t",
    "\n",
    "\n\n",
    "\n\n\n",
    "\r\n",
    "\r\n\r\n",
    "\r",
    "\u00a0",
    "\u3000",
    "\u2028",
]
CONTROLS = ["\x00", "\x0b", "\x0c", "\x1c", "\x1f", "\x85", "\ud83d", "\ude00", "\ud800", "\x7f"]
MARKS = [". ", ".", "。", "，", "！」", "-", "--", "---", ", ", ";", "(", ")", "[x]", "*", "|"]

any_text = st.text(st.characters(exclude_categories=()), max_size=60)
#: Every kind of trouble, densely.
odd_text = st.lists(
    st.sampled_from(LETTERS + CLUSTERS + INVISIBLE + SPACES + CONTROLS + MARKS), max_size=40
).map("".join)
#: Words, lines and paragraphs: text as people write it, with either line end.
plain_text = st.lists(
    st.sampled_from(
        ["one", "two", "a", "three,", "four.", "longerword", " ", " ", " ", "\n", "\n\n"]
    ),
    max_size=60,
).map("".join)
windows_text = plain_text.map(lambda text: text.replace("\n", "\r\n"))
#: One character again and again.
run_text = st.builds(
    lambda piece, times: piece * times,
    st.sampled_from(LETTERS + CLUSTERS + SPACES + MARKS),
    st.integers(0, 60),
)
texts = st.one_of(any_text, odd_text, plain_text, windows_text, run_text)

ascii_text = st.lists(
    st.sampled_from([*map(chr, range(14, 127)), " ", " ", "\n", "\n\n", " a ", "word", ". ", "--"]),
    max_size=80,
).map("".join)

sizes = st.integers(1, 12) | st.integers(1, 80)
size_and_overlap = sizes.flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size - 1)))
keeps = st.sampled_from(["start", "end", "none"])
PATTERNS = [
    re.compile(pattern)
    for pattern in (
        r"(?<=[.。])",
        r"(?=W)",
        r"\s+",
        r"(-)|(=)",
        r"[;,]+\s*",
        r"\n{2,}",
        r"(?P<mark>[.!?])\s?",
        r"a|b",
        r"",
        r"(?:)",
        r"$",
        r"(?m)^",
        r".",
        r"(x)?1",
    )
]
STRINGS = [
    "\n\n",
    "\n",
    " ",
    "",
    "\u200b",
    "-",
    "--",
    "---",
    "aba",
    "aa",
    ". ",
    "猫",
    "\u0301",
    "\r\n",
    "\r",
]
separators = st.sampled_from(STRINGS + PATTERNS)
separator_lists = st.lists(separators, max_size=5)
