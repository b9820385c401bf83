"""Source code, split where the language itself has its parts: a syntax tree says where."""

from __future__ import annotations

from pathlib import Path

from chunking_lib.chunk import Chunk, Document, text_and_source
from chunking_lib.formats.code_cut import Cutter, cut_lines, join_crumbs
from chunking_lib.formats.code_grammars import LANGUAGES, find_language, parse
from chunking_lib.formats.code_names import label
from chunking_lib.formats.code_tree import Piece, Source
from chunking_lib.formats.source import decode, read_source
from chunking_lib.length import Length
from chunking_lib.spans import Builder, check_size, run_builder

__all__ = ["load_code", "split_code"]


def load_code(
    source: str | bytes | Path, *, id: str | None = None, language: str | None = None
) -> Document:
    r"""Make a document of source code, as it is but for a byte order mark at the start.

    1. A `Path` is a file; a `str` or `bytes` is the code itself. Bytes are UTF-8.
    2. The language goes into the metadata, where `split_code` finds it.

    Args:
        source: the code, or the file it is in.
        id: the id of the document; by default the name of the file.
        language: c, go, java, javascript (JSX too), python, rust, tsx or typescript; by default
            that of the suffix of `id`.
    Raises:
        ValueError: a file that cannot be read, or a language that is unknown.

    >>> load_code("x = 1\n", id="settings.py")
    Document(text='x = 1\n', id='settings.py', metadata={'language': 'python'})
    """
    raw, id, name = read_source(source, id)
    language = find_language(language, id)
    text = raw if isinstance(raw, str) else decode(raw, name)
    return Document(text.removeprefix("\ufeff"), id=id, metadata={"language": language})


def split_code(
    document: Document | str | Path,
    *,
    language: str | None = None,
    size: int = 1000,
    length: Length = len,
) -> list[Chunk]:
    r"""Split source code between definitions, then members, then statements, then lines.

    1. Parse it. A string with a `def` in it or a regular expression with a brace misleads nobody,
       and code with mistakes in it has a tree, too.
    2. The parts of the file are its statements, each with the comments, attributes and decorators
       that lead to it. From left to right, merge those that fit together.
    3. A part that is too long goes through the same steps: a class with its members, a function
       with its statements. The docstring stays with the signature as long as that fits, else its
       first paragraph; comments without a blank line between them stay together; a closing bracket
       stays with what is before it.
    4. What has no parts (a long string, a formula) is cut between lines, then words, as by
       `split_recursive`.
    5. A chunk of less than a quarter of the size joins its neighbour in the same definition. If the
       two are too long together, the cut moves to the place nearest to the middle where step 3
       or 4 could cut, if there is one.

    Joined, the chunks are the file again, except for white space where two parts meet that would
    make a chunk too long. `metadata["path"]` names the definitions that a chunk lies within, the
    outermost first; `metadata["kind"]` is the kind of the last ("class", "method", "function", ...)
    or "module". The context is the signatures of those that begin before the chunk, so a method
    knows its class; it does not count towards the size.

    Args:
        document: a document; or the code itself, or a file, which `load_code` then reads.
        language: as in `load_code`; by default the document's own, or that of its id.
        size: the most a chunk may measure, in units of `length`, 1 or more.
        length: measures a text; `len` for characters, `token_length(tokenizer)` for tokens.
    Raises:
        ValueError: an argument outside these bounds, or a language that is unknown.
        RuntimeError: a grammar that is not installed.

    >>> code = "class Tram:\n  def go(self):\n    run()\n\n  def stop(self):\n    pass\n"
    >>> for chunk in split_code(code, language="python", size=40):
    ...     print(chunk.metadata["path"], repr(chunk.context), repr(chunk.text))
    ['Tram'] '' 'class Tram:\n  def go(self):\n    run()\n\n'
    ['Tram', 'stop'] 'class Tram:' '  def stop(self):\n    pass\n'

    Source: the recursion is that of cAST (Zhang et al., 2025), which counts characters that are not
    white space and parts comments from what they explain.
    """
    if isinstance(document, str | Path):
        document = load_code(document, language=language)
    text, name = text_and_source(document)
    check_size(size, 0, length)
    if language is None and document.metadata.get("language") in LANGUAGES:
        language = document.metadata["language"]
    data, tree = parse(text, find_language(language, name))
    source = Source(text, data)
    pieces: list[tuple[Piece, int]] = []

    def cut(builder: Builder) -> None:
        pieces.clear()
        if tree is None:
            cut_lines(builder, 0, len(text))
        else:
            cutter = Cutter(builder, source, pieces)
            cutter.cut(0, len(text), [tree.root_node])
            named = label(builder.chunks, source, pieces)
            builder.chunks = join_crumbs(builder, named, cutter.places)

    chunks = run_builder(text, name, cut, size=size, overlap=0, length=length, strip=False)
    if tree is None:
        for chunk in chunks:
            chunk.metadata["fallback"] = "lines"
    return label(chunks, source, pieces)
