"""A JSON text read into a tree of places, for `split_json`."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

__all__ = ["TOKEN", "Key", "Node", "read_tree"]

Key = str | int
TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]:,]|[^\s"{}\[\]:,]+')


class Node:
    """A value: where it stands in the text, and where in the same JSON written in one line.

    `whole` and `line_whole` are where it starts with its key, which is what an object is cut into.
    """

    __slots__ = ("children", "end", "key", "line", "line_end", "line_whole", "start", "whole")

    def __init__(self, key: Key, whole: int, line_whole: int, start: int, line: int) -> None:
        self.key, self.whole, self.line_whole = key, whole, line_whole
        self.start, self.line = start, line
        self.end = self.line_end = 0
        self.children: Sequence[Node] = ()

    def brackets(self, line: str) -> str:
        """Return the two brackets of an object or a list."""
        return line[self.line] + line[self.line_end - 1]


def read_tree(text: str) -> tuple[Node, str]:
    r"""Return the root of a text that is valid JSON, and the text written in one line.

    Tokens stay as they are; between them stands what `json.dumps` writes. A loop takes the place of
    recursion.

    >>> root, line = read_tree('{"a":\n  [1, {}]}')
    >>> line, [line[node.line : node.line_end] for node in root.children[0].children]
    ('{"a": [1, {}]}', ['1', '{}'])
    """
    written: list[str] = []
    place = 0
    top: list[Node] = []
    # Open containers: their children so far, and whether these have keys.
    stack: list[tuple[Node | None, list[Node], bool]] = [(None, top, False)]
    pending: tuple[str, int, int] | None = None
    for match in TOKEN.finditer(text, text.startswith("\ufeff")):
        token = match.group()
        if token in "}]":
            node, children, _ = stack.pop()
            assert node is not None
            node.children, node.end, node.line_end = children, match.end(), place + 1
        elif token in ",:":
            token += " "
        elif stack[-1][2] and pending is None:
            key = token[1:-1] if "\\" not in token else json.loads(token)
            pending = key, match.start(), place
        else:
            siblings = stack[-1][1]
            start = match.start()
            if pending is None:
                node = Node(len(siblings), start, place, start, place)
            else:
                node = Node(*pending, start, place)
                pending = None
            siblings.append(node)
            if token in "{[":
                stack.append((node, [], token == "{"))
            else:
                node.end, node.line_end = match.end(), place + len(token)
        written.append(token)
        place += len(token)
    return top[0], "".join(written)
