"""Where the sentences of a text begin and end."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import regex

from chunking_lib.boundaries import Boundaries
from chunking_lib.chunk import Document, is_blank, text_and_source

__all__ = ["sentence_spans"]

_BREAK = r"(?:\r\n?+|\n|\u2029)"
_SPACE = r"[^\S\r\n\u2029]"
_ITEM = r"""
    [-*+•◦▪‣–] [ \t]                            # - a bullet
  | \(? \d{1,3} [.)] [ \t] | \(? (?: [a-z] | [ivx]{2,4} ) \) [ \t]  # 1. (2) b) (iv)
  | [(（]? [\d一二三四五六七八九十]{1,3} [、）．]      # 一、 or （2）
"""
# Blank lines; the end of a line before a list item or a Markdown heading; the end of a heading.
_BLOCK = regex.compile(
    rf"{_BREAK} (?: {_SPACE}*+ {_BREAK} )++"
    rf"| {_BREAK} (?= {_SPACE}*+ (?: \#{{1,6}}[ \t] | {_ITEM} ))"
    rf"| (?<![^\r\n\u2029]) \#{{1,6}} [ \t] [^\r\n\u2029]* {_BREAK}",
    regex.VERBOSE,
)

# Marks that end a sentence without a blank after them: 。！？ and their like in every script. Not
# the full-width point in a number, and not the Burmese comma, which Unicode counts among them.
_MARK = r"[\p{Sentence_Terminal}--[.!?．၊]]"
_LETTER = r"[\p{Han}\p{Hiragana}\p{Katakana}]"
_STOP = regex.compile(
    rf"""
    (?: {_MARK} [{_MARK}!?…]*+
      | (?<!\p{{N}}) ．
      | (?<= {_LETTER}) [!?]++ (?= [\p{{Ps}}\p{{Pe}}\p{{Pi}}\p{{Pf}}"]*+ {_LETTER})
    )
    (?P<closers> [\p{{Pe}}\p{{Pf}}]*+ ) "?
    # 「行く。」と言った: "と" reports what was said, and the sentence goes on.
    (?! (?<=[」』]) (?: と | って ))
    """,
    regex.VERBOSE | regex.V1,
)

# nupunkt knows English. The day of a German date ends no sentence either.
_DAY = regex.compile(
    r"(?<!\d)\d{1,2}\.\s+(?=(?:Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober"
    r"|November|Dezember)\b)"
)

# nupunkt reads ahead to the end of the word at every mark, and back over every ". . .": hours, for
# a megabyte of them. It needs to see the last few only.
_LONG_RUN = regex.compile(r"\S{200,}+ | (?:[.!?…]\s+){100,}+", regex.VERBOSE)
_ANY_LETTER = regex.compile(r"\p{L}")


def sentence_spans(text: str | Document) -> list[tuple[int, int]]:
    """Return the character spans of the sentences of `text`, in order.

    1. A blank line ends a sentence, and so does the start of a list item or of a heading.
    2. Between those, `nupunkt` decides which full stops end a sentence and which belong to an
       abbreviation or a number. Where a paragraph begins with a capital, no sentence begins with a
       small letter.
    3. Marks of other scripts (。！？ । ؟) end one with no blank after them.
    4. White space around a sentence is left out. Nothing else is: every character that shows lies
       in some span, with or without a mark at the end. No span cuts a grapheme cluster.

    Thai writes no marks: there, a paragraph is one sentence.

    Args:
        text: a text or a document; offsets count code points.
    Raises:
        ValueError: a text that is none.

    >>> text = "Dr. Li paid 3.50. Mind the step"
    >>> [text[start:end] for start, end in sentence_spans(text)]
    ['Dr. Li paid 3.50.', 'Mind the step']
    """
    text, _ = text_and_source(text)
    boundaries = Boundaries(text)
    cuts = {0, len(text)}
    blocks = [0, *(match.end() for match in _BLOCK.finditer(text)), len(text)]
    for start, end in pairwise(blocks):
        cuts.add(boundaries.before(start))
        for cut in _cuts(text[start:end]):
            cuts.add(boundaries.before(start + cut))
    spans = []
    for start, end in pairwise(sorted(cuts)):
        piece = text[start:end]
        if is_blank(piece):
            continue
        # A blank may be part of a cluster: it carries an accent, or follows a mark that leads it.
        first = boundaries.before(end - len(piece.lstrip()))
        last = boundaries.after(start + len(piece.rstrip()))
        spans.append((first, last))
    return spans


def _cuts(block: str) -> Iterator[int]:
    """Yield, in any order, where a sentence of `block` begins after another."""
    # Imported at the first use: with its model, that takes a tenth of a second.
    import nupunkt

    days = {match.end() for match in _DAY.finditer(block)}
    letter = _ANY_LETTER.search(block)
    capitals = letter is not None and letter[0].isupper()
    for start, _ in nupunkt.sent_spans(_LONG_RUN.sub(_shorten, block)):
        if start not in days and not (capitals and block[start].islower()):
            yield start
    # A straight quote does not say whether it opens or closes: every second one closes.
    quotes = seen = 0
    for match in _STOP.finditer(block):
        quotes += block.count('"', seen, match.end("closers"))
        seen = match.end("closers")
        yield match.end() if quotes % 2 else seen


def _shorten(run: regex.Match[str]) -> str:
    """Blot out the middle of a run, so that every character stays where it is."""
    return f"{run[0][:50]}{'x' * (len(run[0]) - 150)}{run[0][-100:]}"
