"""What single lines say of headings: fences, numbers, words such as Article, what a title is."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from string import ascii_lowercase
from typing import NamedTuple

__all__ = [
    "Line",
    "Mark",
    "as_letter",
    "ends_sentence",
    "has_date",
    "is_rule",
    "is_title",
    "read_lines",
    "read_mark",
]

#: Words before a number, from the highest to the lowest. Their ranks leave room for the others.
_RANKS = {"book": 10, "part": 20, "title": 25, "chapter": 30, "section": 40}
_RANKS |= dict.fromkeys(("article", "clause", "rule", "§"), 70)
_RANKS |= dict.fromkeys(("annex", "appendix", "schedule", "exhibit"), 0)
_ROMAN, _LETTER, _DECIMAL = 50, 60, 80

_COUNT = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBER = r"(?:0|[1-9][0-9]{0,2})"
_WORD = re.compile(
    rf"(?P<word>{'|'.join(form for word in _RANKS for form in (word.title(), word.upper()))})"
    rf"(?:(?<=§)|[ \t]+)[ \t]*"
    rf"(?P<number>(?:[A-Z]\.)?{_NUMBER}(?:\.{_NUMBER})*[a-z]?|[IVXLC]+|[A-Z]"
    rf"|{'|'.join(form for word in _COUNT for form in (word.title(), word.upper()))})"
    rf"(?:[.:)]|(?![\w.]))[ \t–—-]*(?P<title>.*)"
)
_UNNUMBERED = re.compile(r"(?:Annex|ANNEX|Appendix|APPENDIX)[ \t]*:[ \t]*(?P<title>\S.*)")
_DOTTED = re.compile(
    rf"(?P<number>(?:[A-Z]\.)?{_NUMBER}(?:\.{_NUMBER})*)(?P<dot>[.)]?)[ \t]+(?P<title>\S.*)"
)
_LETTERED = re.compile(r"(?P<number>[IVXLC]{1,7}|[A-Z])(?P<dot>[.)])[ \t]+(?P<title>\S.*)")
_FENCE = re.compile(r"[ >]{0,6}(`{3,}|~{3,})(.*)")
_RULE = re.compile(r"([-=_*~#^])\1{2,}")
_ENDED = re.compile(r"[.;,:!…。；，：！、][)\]\"'”’»」]*\Z")
_TWO_SENTENCES = re.compile(r"\w{3}[.!?][\"'”’)]*\s+\S")
_COLUMNS = re.compile(r"\t|\S {3,}\S")
_DATE = re.compile(
    r"(?i)\b[0-9]{1,2}(?:\.|st|nd|rd|th)? (?:of )?(?:jan(?:uary?)?|feb(?:ruary?)?|mar(?:ch)?|märz"
    r"|apr(?:il)?|ma[iy]|jun[ei]?|jul[iy]?|aug(?:ust)?|sept?(?:ember)?|o[ck]t(?:ober)?"
    r"|nov(?:ember)?|de[cz](?:ember)?)\b"
)
_LONGEST = 100
_FULL_LINE = 65  # characters; a shorter one that ends no paragraph was not broken by its margin


class Line(NamedTuple):
    """A line without the white space around it; `code` is part of a fence or of front matter."""

    start: int
    end: int
    text: str
    code: bool
    indent: int


@dataclass(slots=True)
class Mark:
    """A number or word at the start of a line: of which series it is, and what follows it."""

    series: tuple[str, ...]
    number: int
    rank: int
    title: str
    written: str = ""
    word: bool = False


def read_lines(text: str) -> list[Line]:
    """Return the lines of a text, told by line feeds, and which of them are code."""
    lines: list[Line] = []
    fence = "---" if re.match(r"---[ \t]*\r?\n", text) and "\n---" in text else ""
    place = 0
    while place < len(text):
        found = text.find("\n", place)
        stop = found if found >= 0 else len(text)
        raw = text[place:stop]
        words = raw.strip()
        indent = len(raw) - len(raw.lstrip())
        code = bool(fence)
        opened = _FENCE.match(raw)
        if fence:
            bare = words.lstrip("> ")
            if place and len(bare) >= len(fence) and not bare.strip(fence[0]):
                fence = ""
        elif opened and not _underlines(words, lines) and "`" not in opened[2]:
            fence, code = opened[1], True
        start = place + indent
        lines.append(Line(start, start + len(words), words, code, indent + 3 * raw.count("\t")))
        place = stop + 1
    return lines


def _underlines(words: str, lines: list[Line]) -> bool:
    """Say whether tildes are a line as long as the one above it, and so no fence."""
    return bool(lines) and len(lines[-1].text) == len(words) and not words.strip("~")


def read_mark(line: str) -> Mark | None:
    """Return the number at the start of a line, if there is one that headings can have.

    >>> mark = read_mark("2.3.4  Brakes")
    >>> mark.series, mark.number, mark.title
    (('2.3', '', '3'), 4, 'Brakes')
    """
    if found := _WORD.match(line):
        word, written = found["word"].lower(), found["number"]
        above, _, number = written.rpartition(".")
        title = found["title"].strip()
        return Mark((word, above), _count(number), _RANKS[word], title, written, word=True)
    if found := _UNNUMBERED.match(line):
        return Mark(("annex", ":"), 1, 0, found["title"].capitalize(), word=True)
    if (found := _DOTTED.match(line)) and not _DATE.match(line):
        written = found["number"]
        above, _, number = written.rpartition(".")
        depth = str(written.count(".") + 1)
        rank = _DECIMAL + written.count(".")
        return Mark((above, found["dot"], depth), int(number), rank, found["title"], written)
    if found := _LETTERED.match(line):
        written, dot, title = found.groups()
        if roman := _roman(written):
            return Mark(("roman", dot), roman, _ROMAN, title, written)
        if len(written) == 1:
            return Mark(("letter", dot), _count(written), _LETTER, title, written)
    return None


def as_letter(mark: Mark) -> Mark | None:
    """Return the mark with its roman number read as a letter, if it can be one: I, V, X, L."""
    if mark.series[0] != "roman" or len(mark.written) > 1:
        return None
    series, number = ("letter", mark.series[1]), ord(mark.written) - ord("A") + 1
    return replace(mark, series=series, number=number, rank=_LETTER)


def is_title(title: str, after: str) -> bool:
    """Say whether words can be a title, `after` being the next line: no sentence and no row."""
    return (
        len(title) <= _LONGEST
        and any(map(str.isalpha, title))
        and not title[0].islower()
        and not _ENDED.search(title)
        and not _TWO_SENTENCES.search(title)
        and not _COLUMNS.search(title)
        and (not after or (len(title) < _FULL_LINE and not after[0].islower()))
    )


def ends_sentence(line: str) -> bool:
    """Say whether a line ends as a sentence, a list item or the row of a table does."""
    return bool(_ENDED.search(line[-20:])) or line.endswith(("?", "|"))


def has_date(line: str) -> bool:
    """Say whether a line names a day."""
    return bool(_DATE.search(line))


def is_rule(line: str) -> bool:
    """Say whether a line is nothing but a rule, or an underline."""
    return bool(_RULE.match(line)) and not line.strip(line[0])


def _count(number: str) -> int:
    if number.lower() in _COUNT:
        return _COUNT.index(number.lower()) + 1
    if number[0].isdigit():
        return int(number.rstrip(ascii_lowercase))
    return _roman(number) or ord(number[0]) - ord("A") + 1


def _roman(number: str) -> int:
    if not re.fullmatch(r"(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})", number):
        return 0
    values = [{"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}[letter] for letter in number]
    return sum(-a if a < b else a for a, b in zip(values, [*values[1:], 0], strict=True))
