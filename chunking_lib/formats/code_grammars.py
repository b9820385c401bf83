"""What the splitter of source code knows of each language: suffixes, grammars, names of nodes."""

from __future__ import annotations

import importlib
import re
from functools import lru_cache
from pathlib import PurePath
from typing import NamedTuple

from tree_sitter import Language, Parser, Tree

__all__ = [
    "BINDERS",
    "CLAUSES",
    "KINDS",
    "LANGUAGES",
    "LISTS",
    "SUFFIXES",
    "find_language",
    "parse",
]


class _Grammar(NamedTuple):
    suffixes: tuple[str, ...]
    package: str
    function: str = "language"


_TS = "tree_sitter_typescript"
_GRAMMARS = {
    "c": _Grammar((".c", ".h"), "tree_sitter_c"),
    "go": _Grammar((".go",), "tree_sitter_go"),
    "java": _Grammar((".java",), "tree_sitter_java"),
    "javascript": _Grammar((".js", ".jsx", ".mjs", ".cjs"), "tree_sitter_javascript"),
    "python": _Grammar((".py", ".pyi", ".pyw"), "tree_sitter_python"),
    "rust": _Grammar((".rs",), "tree_sitter_rust"),
    "tsx": _Grammar((".tsx",), _TS, "language_tsx"),
    "typescript": _Grammar((".ts", ".mts", ".cts"), _TS, "language_typescript"),
}
#: The languages by name, and the name for each ending of a file.
LANGUAGES = tuple(_GRAMMARS)
SUFFIXES = {suffix: name for name, one in _GRAMMARS.items() for suffix in one.suffixes}

# fmt: off
#: Nodes that hold statements, members or elements; a text is cut between those.
LISTS = frozenset({
    # the file, blocks, bodies of classes and the like
    "block", "class_body", "compound_statement", "constructor_body", "declaration_list",
    "annotation_type_body", "enum_body", "enum_body_declarations", "enum_variant_list",
    "enumerator_list", "field_declaration_list", "interface_body", "interface_type", "module",
    "module_body", "object_type", "program", "source_file", "statement_block",
    "translation_unit",
    # alternatives
    "case_statement", "communication_case", "default_case", "expression_case",
    "expression_switch_statement", "match_block", "select_statement", "switch_block",
    "switch_block_statement_group", "switch_body", "switch_case", "switch_default", "type_case",
    "type_switch_statement",
    "preproc_elif", "preproc_elifdef", "preproc_else", "preproc_if", "preproc_ifdef",
    # groups of declarations
    "const_declaration", "export_clause", "import_spec_list", "named_imports", "type_declaration",
    "use_list", "var_spec_list",
    # data
    "argument_list", "arguments", "array", "array_expression", "array_initializer", "dictionary",
    "field_initializer_list", "initializer_list", "list", "literal_value", "object", "set", "tuple",
})
#: The later parts of a statement, which may begin a line.
CLAUSES = frozenset({
    "catch_clause", "elif_clause", "else_clause", "except_clause", "finally_clause",
})
#: What belongs to the node that follows it.
BINDERS = frozenset({
    "attribute_item", "block_comment", "comment", "decorator", "html_comment", "line_comment",
})
#: Nodes that define something, and the kind that chunks of it carry.
KINDS = {
    "function_definition": "function", "function_declaration": "function",
    "function_expression": "function", "function_signature": "function",
    "function_item": "function", "generator_function": "function",
    "generator_function_declaration": "function", "arrow_function": "function",
    "method_definition": "method", "method_declaration": "method",
    "constructor_declaration": "method", "compact_constructor_declaration": "method",
    "class_definition": "class", "class_declaration": "class", "class": "class",
    "abstract_class_declaration": "class", "record_declaration": "class",
    "annotation_type_declaration": "interface", "interface_declaration": "interface",
    "enum_declaration": "enum", "enum_item": "enum", "enum_specifier": "enum",
    "struct_item": "struct", "struct_specifier": "struct", "union_item": "struct",
    "union_specifier": "struct", "trait_item": "trait", "impl_item": "impl",
    "type_spec": "type", "type_alias_declaration": "type", "type_definition": "type",
    "internal_module": "namespace", "module": "namespace", "mod_item": "namespace",
    "macro_definition": "macro",
}
# fmt: on

_SURROGATE = re.compile("[\ud800-\udfff]")
_READ = 65_536


def find_language(language: str | None, id: str | None) -> str:
    """Return the name of a language: the one given, else that of the suffix of `id`.

    Raises:
        ValueError: a language, or a suffix, that there is no grammar for.

    >>> find_language(None, "src/fare_widget.mjs")
    'javascript'
    """
    known = ", ".join(LANGUAGES)
    if language is not None:
        if language not in _GRAMMARS:
            raise ValueError(f"language={language!r} must be one of {known}")
        return language
    found = SUFFIXES.get(PurePath(id or "").suffix.lower())
    if found is None:
        raise ValueError(
            f"id={id!r} must end like a file of a known language ({', '.join(SUFFIXES)}), "
            f"or language must be one of {known}"
        )
    return found


@lru_cache
def _load(language: str) -> Language:
    grammar = _GRAMMARS[language]
    try:
        package = importlib.import_module(grammar.package)
    except ImportError as error:
        name = grammar.package.replace("_", "-")
        raise RuntimeError(f"the grammar of {language} is missing: pip install {name}") from error
    return Language(getattr(package, grammar.function)())


def parse(text: str, language: str) -> tuple[bytes, Tree | None]:
    """Return the bytes that were parsed, of as many characters as `text`, and their syntax tree.

    No source is refused: what is wrong becomes a node of its own. Only on what is no source at all
    the parser can lose itself in guesses; after ten times the steps that dense code takes it is
    stopped, and there is no tree. Steps are counted, not seconds, so the result is always the same.
    """
    # Half of a surrogate pair cannot be encoded, and a NUL is the end of the file for the parser.
    data = _SURROGATE.sub("\ufffd", text).replace("\0", " ").encode()
    steps, most = 0, len(data) // 5 + 2000

    def too_much(offset: int, wrong: bool) -> bool:
        nonlocal steps
        steps += 1
        return steps > most

    try:
        tree = Parser(_load(language)).parse(
            lambda offset, _: data[offset : offset + _READ], progress_callback=too_much
        )
    except ValueError:
        tree = None
    return data, tree
