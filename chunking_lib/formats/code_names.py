"""What a piece of source code belongs to: names, signatures, and labels of chunks made of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from tree_sitter import Node

from chunking_lib.chunk import Chunk
from chunking_lib.formats.code_grammars import BINDERS, KINDS
from chunking_lib.formats.code_tree import Piece, Source, begins_line

__all__ = ["defines", "label"]

_LONGEST = 200  # characters of a signature
# Nodes around a definition, and the fields to follow to it.
_AROUND = {
    "decorated_definition": ("definition",),
    "export_statement": ("declaration", "value"),
    "variable_declarator": ("value",),
    "assignment_expression": ("right",),
    "pair": ("value",),
    "field_definition": ("value",),
    "public_field_definition": ("value",),
}
# Nodes around one definition that no field leads to.
_AROUND_ONE = frozenset(
    {
        "ambient_declaration",
        "declaration",
        "expression_statement",
        "lexical_declaration",
        "type_declaration",
        "variable_declaration",
    }
)
_NAMES = ("key", "property", "left")
# Of these a function is a method, and so is a function that is the value of a field.
_CLASSES = frozenset({"class", "enum", "impl", "interface", "struct", "trait"})
_FIELDS = frozenset({"field_definition", "public_field_definition"})


class _Definition(NamedTuple):
    """What a piece defines; it ends with the brackets that close it, and what is around it."""

    end: int
    names: tuple[str, ...]
    kind: str
    signature: str
    head: int  # where the comments right above it begin, or what it begins with
    at: int  # where the signature begins


def defines(node: Node) -> bool:
    """Say whether this is a definition, or the statement around one."""
    return _unwrap(node)[0] is not None


def _find_definition(source: Source, piece: Piece, limit: int) -> _Definition | None:
    """Return what `piece`, which ends at `limit` at the latest, defines."""
    main = next((node for node in piece.nodes if node.type not in BINDERS), None)
    if main is None:
        return None
    found, named, first = _unwrap(main)
    names = _names(source, found, named) if found else ()
    if found is None or not names:
        return None
    kind = "method" if named.type in _FIELDS else KINDS[found.type]
    if kind == "type" and (inner := found.child_by_field_name("type")):  # Go: type Stop struct
        kind = {"struct_type": "struct", "interface_type": "interface"}.get(inner.type, kind)
    at = source.start(first)
    body = found.child_by_field_name("body")
    end = source.closed(max(source.end(node) for node in piece.nodes), limit)
    stop = source.start(body) if body else end
    line = begins_line(source.text, at)
    indent = "" if line is None else source.text[line:at][:_LONGEST]
    signature = source.text[at : min(stop, at + 2 * _LONGEST)]
    if body is None:
        signature = signature.partition("\n")[0].rstrip(" \r{;")
    signature = indent + " ".join(signature.split())[:_LONGEST]
    return _Definition(end, names, kind, signature, _find_head(source, piece.nodes, main), at)


def _find_head(source: Source, nodes: Sequence[Node], main: Node) -> int:
    """Return where the comments without a blank line between them and `main` begin."""
    head = main
    for node in reversed(nodes[: nodes.index(main)]):
        if not source.adjoins(node, head):
            break
        head = node
    return source.start(head)


def _unwrap(node: Node) -> tuple[Node | None, Node, Node]:
    """Return the definition in `node`, the node that has its name, and the first of its line."""
    first, named = node, None
    while node.type not in KINDS:
        inner = None
        if node.type in _AROUND:
            fields = map(node.child_by_field_name, _AROUND[node.type])
            inner = next((child for child in fields if child is not None), None)
            if _AROUND[node.type] in (("value",), ("right",)):
                named = node
        elif node.type in _AROUND_ONE:
            rest = [child for child in node.named_children if child.type not in BINDERS]
            # In C the names of variables follow: struct stop { ... } first, last;
            inner = rest[0] if len(rest) == 1 or node.type == "declaration" else None
        if inner is None:
            return None, node, first
        first = inner if node.type == "decorated_definition" else first
        node = inner
    if node.type.endswith("_specifier") and node.child_by_field_name("body") is None:
        return None, node, first  # C: a struct that is used, not defined
    first = next((child for child in first.children if child.type not in BINDERS), first)
    return node, named or node, first


def _names(source: Source, node: Node, named: Node) -> tuple[str, ...]:
    """Return the name of a definition; of a method of Go, the type and the name."""
    field = "type" if node.type == "impl_item" else "name"
    names = [next((n for n in map(named.child_by_field_name, (field, *_NAMES)) if n), None)]
    if names == [None]:  # C: the name is in a declarator, in a declarator, ...
        found = node.child_by_field_name("declarator")
        while found and (inner := _declarator(found)):
            found = inner
        names = [found]
    elif names[0] and names[0].type == "generic_type":  # Rust: impl Stop<'a>
        names = [names[0].child_by_field_name("type")]
    receiver = node.child_by_field_name("receiver")
    while receiver and receiver.type != "type_identifier":  # Go: (s *Stop[T])
        last = receiver.named_children[-1] if receiver.named_children else None
        receiver = receiver.child_by_field_name("type") or last
    return tuple(
        " ".join(source.read(name).split())[:_LONGEST] for name in (receiver, *names) if name
    )


def _declarator(node: Node) -> Node | None:
    """Return the declarator in a declarator; in brackets it has no name."""
    if node.type == "parenthesized_declarator":
        return node.named_children[-1] if node.named_children else None
    return node.child_by_field_name("declarator")


def label(
    chunks: Iterable[Chunk], source: Source, pieces: Iterable[tuple[Piece, int]]
) -> list[Chunk]:
    """Return the chunks with path, kind and context: the definitions that each lies within.

    The context is the signatures of those that begin before the chunk. `pieces` come with where
    each ends; only those that hold a chunk are asked for what they define.
    """
    waiting = sorted(pieces, key=lambda one: (-one[0].start, one[1]))
    around: list[_Definition] = []
    labelled = []
    for chunk in chunks:
        start = chunk.end - len(chunk.text.lstrip())
        end = chunk.start + len(chunk.text.rstrip())
        while around and around[-1].end < end:
            around.pop()
        while waiting and waiting[-1][0].start <= start:
            piece, limit = waiting[-1]
            found = _find_definition(source, piece, limit) if limit >= end else None
            if found and found.head >= end:  # a banner above it, which is not a part of it
                break
            waiting.pop()
            if found and found.end >= end:
                around.append(found)
        kinds = [one.kind for one in around] or ["module"]
        if kinds[-1] == "function" and set(kinds[-2:-1]) & _CLASSES:
            kinds[-1] = "method"
        context = [one.signature for one in around if not chunk.start <= one.at < chunk.end]
        metadata = {
            **chunk.metadata,
            "path": [name for one in around for name in one.names],
            "kind": kinds[-1],
        }
        labelled.append(replace(chunk, context="\n".join(context), metadata=metadata))
    return labelled
