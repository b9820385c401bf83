"""The parser that reads the blocks of Markdown: the rules of `markdown-it-py`, fewer at a time."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from markdown_it import MarkdownIt
from markdown_it.rules_block import (
    StateBlock,
    blockquote,
    code,
    fence,
    heading,
    hr,
    html_block,
    lheading,
    list_block,
    paragraph,
    reference,
    table,
)

__all__ = ["make_parser"]

_Rule: TypeAlias = Callable[[StateBlock, int, int, bool], bool]
#: What the blocks of a rule begin with; the other rules look at more than one character.
_FIRST: dict[_Rule, str] = {
    fence: "`~",
    blockquote: ">",
    hr: "*-_",
    list_block: "*+-0123456789",
    reference: "[",
    html_block: "<",
    heading: "#",
}
_UNDERLINE = re.compile(r"(=+|-+)[ \t]*")


def make_parser() -> MarkdownIt:
    """Return a parser that hands its tokens over to `env["reader"]`, except for the last."""
    # A list nested deeper than this would take in all that follows.
    parser = MarkdownIt("commonmark", {"maxNesting": 100})
    parser.core.ruler.enableOnly(["normalize", "block"])
    ruler = parser.block.ruler
    ruler.enableOnly(["code"])  # the parser asks whether there is such a rule
    ruler.before("code", "block", _read)
    for name, rule in (("paragraph", _ends_paragraph), ("blockquote", _ends_quote)):
        ruler.push(f"end of {name}", rule, {"alt": [name]})
    ruler.push("end of reference", _ends_paragraph, {"alt": ["reference"]})
    ruler.push("end of list", _ends_list, {"alt": ["list"]})
    return parser


def _first_of(*rules: _Rule) -> _Rule:
    """Return a rule that tries these in order, without those whose blocks begin otherwise."""
    others = [rule for rule in rules if rule not in _FIRST]
    choices = {
        first: [rule for rule in rules if first in _FIRST.get(rule, first)]
        for first in "".join(_FIRST.values())
    }

    def try_rules(state: StateBlock, first: int, last: int, silent: bool) -> bool:
        place = state.bMarks[first] + state.tShift[first]
        for rule in choices.get(state.src[place : place + 1], others):
            if rule(state, first, last, silent):
                return True
        return False

    return try_rules


def _read(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """Hand over the tokens so far and forget them: millions of them would take long to keep."""
    state.env["reader"].take(state.tokens)
    state.tokens.clear()
    return _read_block(state, first, last, silent)


def _table(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """Let the parser read the header of a table; a row is a line, and needs no token a cell."""
    number = len(state.tokens)
    found = table(state, first, min(last, first + 2), silent)
    if silent or not found:
        return found
    line, parent, state.parentType = first + 2, state.parentType, "table"
    while (
        line < last
        and state.src[state.bMarks[line] : state.eMarks[line]].strip()
        and state.sCount[line] >= state.blkIndent
        and not state.is_code_block(line)
        and not _ends_quote(state, line, last, True)
    ):
        line += 1
    state.parentType, state.line = parent, line
    state.tokens[number].map = [first, line]
    return True


def _paragraph(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """Read lines of text as `lheading` and `paragraph` do, but look for their end only once."""
    underlined, line = False, first + 1
    state.parentType = "paragraph"  # the end of a paragraph depends on it
    while not underlined and line < last and not state.isEmpty(line):
        indent = state.sCount[line] - state.blkIndent
        if indent <= 3:  # else the line goes with the text before it, whatever is in it
            place = state.bMarks[line] + state.tShift[line]
            underlined = indent >= 0 and bool(
                _UNDERLINE.fullmatch(state.src, place, state.eMarks[line])
            )
            if state.sCount[line] >= 0 and _ends_paragraph(state, line, last, True):
                break
        line += 1
    if underlined:
        return lheading(state, first, last, silent) or paragraph(state, first, last, silent)
    state.push("paragraph_open", "p", 0).map = [first, line]
    state.line = line
    return True


_ends_list = _first_of(fence, blockquote, hr)
_ends_quote = _first_of(fence, blockquote, hr, list_block, html_block, heading)
_ends_paragraph = _first_of(_table, fence, blockquote, hr, list_block, html_block, heading)
_read_block = _first_of(
    *(_table, code, fence, blockquote, hr, list_block, reference, html_block, heading, _paragraph)
)
