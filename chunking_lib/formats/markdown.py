"""Markdown: cut between its blocks, each chunk under the path of its headings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from chunking_lib.chunk import Chunk, Document
from chunking_lib.formats.markdown_blocks import read_blocks
from chunking_lib.formats.markdown_cut import Cutter
from chunking_lib.formats.markdown_sections import Outline, Tables
from chunking_lib.formats.source import decode, read_source
from chunking_lib.length import Length
from chunking_lib.spans import Builder, check_size, run_builder

__all__ = ["load_markdown", "split_markdown"]


def load_markdown(source: str | bytes | Path, *, id: str | None = None) -> Document:
    r"""Make a document of Markdown: the text as it is, but for a byte order mark at the start.

    Args:
        source: the Markdown itself as `str` or `bytes` (UTF-8), or a file as `Path`.
        id: the id of the document; by default the name of the file.
    Raises:
        ValueError: a file that cannot be read, or bytes that are not UTF-8.

    >>> load_markdown(b"\xef\xbb\xbf# Fares\r\n").text
    '# Fares\r\n'
    """
    raw, id, name = read_source(source, id)
    text = raw if isinstance(raw, str) else decode(raw, name)
    return Document(text.removeprefix("\ufeff"), id=id)


def split_markdown(
    document: str | bytes | Path | Document,
    *,
    size: int = 1000,
    length: Length = len,
    levels: int = 6,
) -> list[Chunk]:
    r"""Split Markdown between its blocks, each chunk inside one section.

    1. A section is a heading and what stands below it, up to the next. A heading with nothing
       below it but a deeper heading goes with that one. Front matter is a section of its own.
    2. From top to bottom, neighbouring blocks of a section are merged as long as they fit.
    3. A block that is too long by itself is cut between the blocks inside it: items of a list,
       paragraphs of a quote, rows of a table. Its first part goes with what stands before it, its
       last part with what follows.
    4. A paragraph that is too long is cut as by `split_recursive`.
    5. Code and a row of a table stay whole if they fit by themselves. If not, they are cut, and
       their parts say so in `metadata["fallback"]`: "fence cut", "code cut" or "row cut". A fence
       is cut at its lines, and each part is fenced again: such a chunk is `derived`.

    `metadata["path"]` has the words of the headings above a chunk, and of those it begins with.
    `context` has those that do not stand in the chunk itself, as "A > B", then the header of a
    table that began in a chunk before. It does not count towards the size. A title of more than 200
    characters is shortened there, and the header of a table that is longer than `size` left out.

    The time grows in proportion to the text, to its blocks and to its chunks: a text of nothing but
    short items or headings takes about seven times as long as ordinary Markdown of that length.

    Args:
        document: a document, or what `load_markdown` takes; offsets refer to its text.
        size: the most a chunk may measure, in units of `length`, 1 or more.
        length: measures a text; `len` for characters, `token_length(tokenizer)` for tokens.
        levels: headings down to this level begin a section, 1 to 6.
    Raises:
        ValueError: an argument outside these bounds, or a file that cannot be read.

    >>> text = "# Fares\n\n## Day ticket\n\nAdults pay €6.50.\n\n## Dogs\n\nFree.\n"
    >>> [(chunk.context, chunk.text) for chunk in split_markdown(text)]
    [('', '# Fares\n\n## Day ticket\n\nAdults pay €6.50.'), ('Fares', '## Dogs\n\nFree.')]

    Source: CommonMark and GitHub's tables, as `markdown-it-py` reads them; the rule for what does
    not fit is that of `split_recursive`.
    """
    if not isinstance(document, Document):
        document = load_markdown(document)
    check_size(size, 0, length)
    if isinstance(levels, bool) or levels not in range(1, 7):
        raise ValueError(f"levels={levels!r} must be a whole number from 1 to 6")
    blocks, lines = read_blocks(document.text)
    outline = Outline(blocks, levels)

    def cut(builder: Builder) -> None:
        cutter = Cutter(builder, lines, document.id, length)
        for section in outline.sections:
            cutter.cut(section)

    chunks = run_builder(
        document.text, document.id, cut, size=size, overlap=0, length=length, strip=False
    )
    tables = Tables(blocks, size, length)
    return [_described(chunk, outline, tables) for chunk in chunks]


def _described(chunk: Chunk, outline: Outline, tables: Tables) -> Chunk:
    """Return the chunk with its path, and with what it needs from above as its context."""
    path = outline.path(chunk.end)
    above = " > ".join(title for place, title in path if place < chunk.start)
    context = "\n\n".join(filter(None, (above, tables.header(chunk.start))))
    metadata = {"path": [title for _, title in path], **chunk.metadata}
    return replace(chunk, context=context, metadata=metadata)
