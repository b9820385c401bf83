"""JSON cut into parts that are JSON themselves and know their path."""

from __future__ import annotations

import operator
import sys
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from chunking_lib.chunk import Chunk, Document
from chunking_lib.formats.json import load_json
from chunking_lib.formats.json_tree import Key, Node, read_tree
from chunking_lib.length import Length
from chunking_lib.spans import check_length, check_size

__all__ = ["split_json"]

# A long text is measured by its beginning. A cut word can count for more than the whole one: that
# much more, in tokens of a word of 100 letters.
_SLACK = 100
_LONGEST_KEY = 200  # in a context


def split_json(
    source: str | bytes | Path | Document, *, size: int = 1000, length: Length = len
) -> list[Chunk]:
    r"""Split JSON into chunks that are valid JSON, each with the path to its place.

    1. A document that fits is one chunk.
    2. Else the members of an object, or the elements of a list, are put together from left to
       right, as many as fit: into an object or a list, written in one line. A part of a list is a
       list, even of one element.
    3. An object or a list that is a member and comes to stand alone is kept as the document has it,
       its key in the path.
    4. A value that does not fit together with its key, or in its brackets, goes through the same
       steps by itself, its key or index in the path. A string or a number that is still too long is
       kept whole and marked `oversize`.

    Each value is in one chunk and no other, those that are empty, `null` or `false` too; so there
    is no overlap. No chunk has the brackets and keys of a value that was taken apart: the path has.

    Args:
        source: a document of `load_json`, or what `load_json` takes. The text of any other document
            must be JSON as well.
        size: the most a chunk may measure, in units of `length`, 1 or more.
        length: measures a chunk as it is stored; a longer text must not measure less.
    Returns:
        The chunks, in order. `metadata["path"]` lists the keys and indices that lead to the object
        or list of which the chunk is a part, or to the value that it is; `context` has them in one
        line, keys of more than 200 characters shortened. What was written anew is `derived`, and
        its offsets say from what.
    Raises:
        ValueError: an argument outside these bounds, or a text that is not JSON.

    >>> for chunk in split_json('{"F1": {"stops": ["Quay", "Isle"], "cents": 150}}', size=30):
    ...     print(chunk.metadata["path"], chunk.text)
    ['F1'] {"stops": ["Quay", "Isle"]}
    ['F1'] {"cents": 150}

    Source: LangChain's `RecursiveJsonSplitter` does it with objects; it loses lists and `{}`.
    """
    check_size(size, 0, length)
    if isinstance(source, Document):
        load_json(source.text, id=source.id)  # raises what there is to say about it
        document = source
    else:
        document = load_json(source)
    check_length(length, document.text[:20])
    root, line = read_tree(document.text)
    # No text is longer than `maxsize`.
    most = min(operator.index(size), sys.maxsize)
    splitter = _Splitter(document, line, most, length, 1.0 if length is len else 4.0)
    chunks: list[Chunk] = []
    waiting: list[Chunk | tuple[Node, tuple[Key, ...]]] = [(root, ())]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Chunk):
            chunks.append(item)
        else:
            waiting += reversed(list(splitter.split(*item)))
    return chunks


@dataclass(slots=True)
class _Splitter:
    document: Document
    line: str
    size: int
    length: Length
    rate: float  # characters in a unit of length

    def split(
        self, node: Node, path: tuple[Key, ...]
    ) -> Iterator[Chunk | tuple[Node, tuple[Key, ...]]]:
        """Yield the chunks of a value, and in their place the children that must be cut first."""
        children = node.children
        if not children or self._fits(self.document.text, node.start, node.end):
            yield self._whole(node, path)
            return
        first = 0
        while first < len(children):
            last = self._reach(node, first)
            child = children[first]
            if last == first:
                yield child, (*path, child.key)
                last += 1
            elif last == first + 1 and self._stands_alone(child):
                yield self._whole(child, (*path, child.key))
            else:
                yield self._part(node, first, last, path)
            first = last

    def _stands_alone(self, child: Node) -> bool:
        named = isinstance(child.key, str) and len(child.children) > 0
        return named and self._fits(self.document.text, child.start, child.end)

    def _reach(self, node: Node, first: int) -> int:
        """Return the end of the longest row of children that fits: `first` if not one does.

        The first guess is by the characters of the last row. From there steps are doubled, then
        halved, so that what is measured stays in proportion to what fits, and the time linear.
        """
        children = node.children
        start = children[first].line_whole
        room = start + int(self.size * self.rate) - 2
        guess = bisect_right(children, room, first, key=_line_end)
        if self.length is len:
            return guess
        good, bad, step = first, len(children) + 1, 1
        while good < bad - 1:
            if not good < guess < bad:
                guess = (good + bad) // 2 if bad <= len(children) else good + 1
            if self._fits(self.line, *_line_span(node, first, guess), node.brackets(self.line)):
                good, guess = guess, min(guess + step, len(children))
            else:
                bad, guess = guess, guess - step
            step *= 2
        if first < good < bad <= len(children):
            self.rate = (children[good - 1].line_end - start) / self.size
        return good

    def _fits(self, text: str, start: int, end: int, brackets: str = "") -> bool:
        if self.length is len:
            return end - start + len(brackets) <= self.size
        width = 8 * (self.size + _SLACK)
        while width < end - start:
            if self.length(text[start : start + width]) > self.size + _SLACK:
                return False
            width *= 2
        return self.length(brackets[:1] + text[start:end] + brackets[1:]) <= self.size

    def _whole(self, node: Node, path: tuple[Key, ...]) -> Chunk:
        text = self.document.text[node.start : node.end]
        chunk = Chunk(text, node.start, node.end, self.document.id, *_described(path))
        if not node.children and self.length(text) > self.size:
            chunk.metadata["oversize"] = True
        return chunk

    def _part(self, node: Node, first: int, last: int, path: tuple[Key, ...]) -> Chunk:
        begin, end = _line_span(node, first, last)
        brackets = node.brackets(self.line)
        text = brackets[0] + self.line[begin:end] + brackets[1]
        start, stop = node.children[first].whole, node.children[last - 1].end
        if last - first == len(node.children):
            start, stop = node.start, node.end
        context, _, metadata = _described(path)
        return Chunk(text, start, stop, self.document.id, context, True, metadata)


def _line_end(node: Node) -> int:
    return node.line_end


def _line_span(node: Node, first: int, last: int) -> tuple[int, int]:
    return node.children[first].line_whole, node.children[last - 1].line_end


def _described(path: tuple[Key, ...]) -> tuple[str, bool, dict[str, list[Key]]]:
    return " > ".join(_short(str(key)) for key in path), False, {"path": list(path)}


def _short(key: str) -> str:
    # Each chunk below a key of a megabyte would repeat it.
    return key if len(key) <= _LONGEST_KEY else key[: _LONGEST_KEY - 1] + "…"
