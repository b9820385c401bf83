"""What the PDF parser passes over in silence: missing pages, and content it cannot unpack."""

from __future__ import annotations

import zlib
from typing import Any

from pdfminer.pdftypes import LITERALS_FLATE_DECODE, PDFStream, dict_value, list_value, resolve1
from pdfminer.psparser import LIT

__all__ = ["check_content", "check_tree"]

# A full page of text has some 10,000 bytes, a detailed map a few millions.
_MOST = 50_000_000


def check_tree(pdf: Any) -> None:
    """Raise ValueError if the list of pages names one that pdfplumber did not find."""
    read = {page.page_obj.pageid for page in pdf.pages}
    root = pdf.doc.catalog.get("Pages")
    seen = {getattr(root, "objid", None)}
    # Of a file without this list the parser gathers the pages itself.
    waiting = [*reversed(list_value(dict_value(root).get("Kids")))]
    number = 0
    while waiting:
        entry = waiting.pop()
        if entry.objid in seen:
            continue
        seen.add(entry.objid)
        node = dict_value(entry)
        if "Kids" in node:
            waiting += reversed(list_value(node["Kids"]))
            continue
        number += 1
        if entry.objid not in read:
            raise ValueError(f"page {number} is missing")


def check_content(page: Any) -> None:
    """Raise ValueError if content of a page of pdfminer is missing, damaged or too large.

    Content is the page's own, and that of the forms it can call, which hold text as well.
    """
    contents = [resolve1(entry) for entry in page.contents]
    resources = [page.resources]
    seen = set()
    while resources:
        named = dict_value(dict_value(resources.pop()).get("XObject"))
        for form in map(resolve1, named.values()):
            if not isinstance(form, PDFStream) or form.get("Subtype") is not LIT("Form"):
                continue
            if form.objid not in seen:
                seen.add(form.objid)
                contents.append(form)
                resources.append(form.get("Resources"))
    for stream in contents:
        if not isinstance(stream, PDFStream):
            raise ValueError("its content is missing")
        _check_packing(stream)


def _check_packing(stream: PDFStream) -> None:
    filters = [name for name, _ in stream.get_filters()]
    inner = [i for i, name in enumerate(filters) if name in LITERALS_FLATE_DECODE]
    if stream.rawdata is None or not inner:  # None: unpacked already, for a page before
        return
    outer = PDFStream({"Filter": filters[: inner[0]]}, stream.rawdata, stream.decipher)
    outer.objid, outer.genno = stream.objid, stream.genno  # part of the key, if encrypted
    packed = outer.get_data()
    # Without the head of two bytes and the check sum, which many files have cut off.
    unpack = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        size = len(unpack.decompress(packed[2:], _MOST))
    except zlib.error as error:
        raise ValueError(f"its content is damaged: {error}") from error
    if size == _MOST:
        raise ValueError(f"its content unpacks to more than {_MOST:,} bytes; no text is that long")
    if packed and not unpack.eof:
        raise ValueError("its content is damaged: the end is missing")
