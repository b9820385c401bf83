"""Checks of the exercises in notebook 3. They print what they find and never raise."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from chunking_lib.attempts import attempt, report

__all__ = ["check_definitions", "check_split_table"]

Definition = tuple[int, int, tuple[str, ...]]

_ENDLESS = "Does each turn of the loop use up a row?"

_PIERS = "| Pier | Step |\n|---|---|\n| Gull Quay | no |\n| Osk Point | yes |\n| Rock | yes |"
# table and size, the plain cases first.
_TABLES: list[tuple[str, int]] = [
    (_PIERS, 60),
    (_PIERS, 1000),
    (_PIERS, 41),
    (_PIERS, 58),
    (_PIERS, 59),
    (_PIERS, 30),
    ("| A |\n|---|\n| 1 |\n| 1 |\n| 1 |", 18),
    ("| A |\n|---|\n| 1 |\n| far too long for this size |\n| 2 |", 17),
    ("| A |\n|---|\n|   |\n| |", 100),
    ("| Pier | Step |\n|---|---|", 100),
    ("| Pier | Step |\n|---|---|", 5),
]

# Source code, the plain cases first.
_SOURCES = (
    "def fare():\n    return 280\n",
    "class Tariff:\n    single = 280\n\n    def covers(self, day):\n        return True\n",
    "import functools\n\n\n@functools.cache\n@rule('Free.')\ndef fare():\n    return 0\n",
    "@dataclass(\n    frozen=True,\n)\nclass Tariff:\n    @property\n    def night(self):\n"
    "        return 0\n",
    "async def board():\n    pass\n",
    "def price_day():\n    def spent():\n        return 0\n    return spent()\n\n\ndef euros():\n"
    "    pass\n",
    "if FAST:\n    def fare():\n        return 1\nelse:\n    def fare():\n        return 2\n",
    "class A:\n    class B:\n        async def c(self):\n            pass\n",
    "try:\n    import x\nexcept OSError:\n    class X:\n        def go(self):\n            pass\n",
    "def a(): return 1\ndef b(): return 2\n",
    "fare = lambda: 280\n",
    "",
)


def check_split_table(split_table: Callable[[str, int], Sequence[str]]) -> None:
    r"""Try `split_table(table, size)` on plain and odd tables; print the first fault, or passed.

    >>> check_split_table(lambda table, size: [])
    Not yet: split_table('| Pier | Step |\n|---|---|\n| Gull Quay | no |\n...', size=60)
      got       []
      expected  ['| Pier | Step |\n|---|---|\n| Gull Quay | no |', '| Pier | Step |\n|---|-- ...]
      hint      nothing came back, so all of the table is lost.
    """
    for table, size in _TABLES:
        call = f"split_table({_first(table, 45)}, size={size})"
        got = attempt(call, partial(_listed, split_table, table, size), endless=_ENDLESS)
        if got is None:
            return
        if not all(isinstance(part, str) for part in got):
            report(call, got, "return a list of strings.")
            return
        expected = _expected_parts(table, size)
        if got != expected:
            report(call, got, _hint_table(got, table, size), expected)
            return
    print(f"passed: {len(_TABLES)} tables, every part with its header, no row lost.")


def check_definitions(definitions: Callable[[str], Sequence[Definition]]) -> None:
    r"""Try `definitions(code)` on plain and odd code; print the first fault, or passed.

    >>> check_definitions(lambda code: [])
    Not yet: definitions('def fare():\n    return 280\n')
      got       []
      expected  [(1, 2, ('fare',))]
      hint      ('fare',) in line 1 is missing.
    """
    for code in _SOURCES:
        call = f"definitions({_first(code, 150)})"
        run = partial(definitions, code)
        got = attempt(call, run, endless="Does each call look at a smaller part of the tree?")
        if got is None:
            return
        try:
            found = [_definition(one) for one in got]
        except (TypeError, ValueError):
            report(call, got, "return a list of (first, last, path), the path a tuple of names.")
            return
        expected = _expected_definitions(ast.parse(code), ())
        if found != expected:
            report(call, found, _hint_definitions(found, expected, code), expected)
            return
    print(f"passed: {len(_SOURCES)} programs, decorators and nested definitions in their place.")


def _listed(split_table: Callable[[str, int], Any], table: str, size: int) -> Any:
    result = split_table(table, size)
    if isinstance(result, str):  # a list of it would be its letters
        raise TypeError("this is one string; return a list of strings.")
    return result


def _first(text: str, most: int) -> str:
    return repr(text) if len(text) <= most else repr(text[:most])[:-1] + "...'"


def _expected_parts(table: str, size: int) -> list[str]:
    header, line, *rows = table.split("\n")
    parts = [[header, line]]
    for row in rows:
        if len(parts[-1]) > 2 and len("\n".join([*parts[-1], row])) > size:
            parts.append([header, line])
        parts[-1].append(row)
    return ["\n".join(part) for part in parts]


def _hint_table(got: list[str], table: str, size: int) -> str:
    header, line, *rows = table.split("\n")
    head = f"{header}\n{line}"
    if not got:
        return "nothing came back, so all of the table is lost."
    for number, part in enumerate(got, 1):
        if part.endswith("\n"):
            return f"part {number} ends with a line end."
        if not f"{part}\n".startswith(f"{head}\n"):
            return f"part {number} does not begin with the header row and the line of dashes."
        if part == head and rows:
            return f"part {number} has a header and no row. When is a part begun, and when closed?"
        if len(part) > size and part.count("\n") > 2:
            return f"part {number} has {len(part)} characters, over the size of {size}."
    found = [row for part in got for row in part.split("\n")[2:]]
    if found != rows:
        missing = len(rows) - len(found)
        if missing > 0 and rows[: len(found)] == found:
            return f"the last {missing} of {len(rows)} rows are lost. What is open after the loop?"
        if missing > 0:
            return f"{len(rows)} rows went in and {len(found)} came out."
        return "all rows, once each, in their order: these are not the rows of the table."
    for number, (left, right) in enumerate(zip(got, got[1:], strict=False), 1):
        row = right.split("\n")[2]
        if len(left) + 1 + len(row) <= size:
            both = len(left) + 1 + len(row)
            return f"{row!r} fits into part {number}: {both} characters, and the size is {size}."
    return "as many rows as fit go into a part before the next begins."


def _definition(one: Any) -> Definition:
    first, last, path = one
    if isinstance(path, str):
        raise TypeError
    return int(first), int(last), tuple(map(str, path))


def _expected_definitions(node: ast.AST, path: tuple[str, ...]) -> list[Definition]:
    found: list[Definition] = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = min(child.lineno, *(one.lineno for one in child.decorator_list), child.lineno)
            inner = (*path, child.name)
            found.append((first, child.end_lineno or child.lineno, inner))
            found += _expected_definitions(child, inner)
        else:
            found += _expected_definitions(child, path)
    return found


def _hint_definitions(found: list[Definition], expected: list[Definition], code: str) -> str:
    if sorted(found) == sorted(expected):
        return "all there, but not in the order in which they begin."
    for first, last, path in expected:
        if (first, last, path) in found:
            continue
        same = [one for one in found if one[2] == path]
        if not same:
            if any(one[2][-1:] == path[-1:] for one in found):
                return f"the path of {path[-1]!r} is {path}: which definitions does it stand in?"
            return (
                f"{path} in line {first} is missing.{_reason(code.splitlines()[first - 1], path)}"
            )
        if all(one[0] != first for one in same):
            return f"{path} begins in line {first}, not {same[0][0]}. Where is its first decorator?"
        return f"{path} ends in line {last}, not {same[0][1]}."
    return "there are more than there should be: only classes and functions, once each."


def _reason(line: str, path: tuple[str, ...]) -> str:
    if line.lstrip().startswith("async "):
        return " `async def` is a node of its own."
    if len(path) == 1 and line[0] == " ":
        return " Does it stand inside an `if` or a `try`?"
    return ""
