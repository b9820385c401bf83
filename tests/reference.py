"""The splitters as short as they can be written, to test the fast ones against."""

import re
from collections.abc import Callable, Sequence

import regex


def clusters(text: str) -> set[int]:
    places, position = {0}, 0
    for cluster in regex.findall(r"\X", text):
        position += len(cluster)
        places.add(position)
    return places


def recursive_spans(
    text: str,
    size: int,
    separators: Sequence[str | re.Pattern[str]],
    keep: str = "start",
    length: Callable[[str], int] = len,
    overlap: int = 0,
) -> list[tuple[int, int]]:
    """Split on the first separator that occurs, merge what fits, recurse into what does not."""
    places = clusters(text)
    chunks: list[tuple[int, int]] = []

    def fits(start: int, end: int) -> bool:
        return length(text[start:end]) <= size

    def trim(start: int, end: int) -> tuple[int, int]:
        while start < end and text[start].isspace():
            start += 1
        while end > start and text[end - 1].isspace():
            end -= 1
        if start < end:
            start = max(place for place in places if place <= start)
            end = min(place for place in places if place >= end)
        return start, end

    def emit(start: int, end: int) -> None:
        start, end = trim(start, end)
        blank = not regex.sub(r"[\s\x1c-\x1f\p{DI}]", "", text[start:end])
        if not blank and not (chunks and end <= chunks[-1][1]):
            chunks.append((start, end))

    def word_starts(start: int, end: int) -> list[int]:
        return [
            place
            for place in range(start, end)
            if place in places
            and not text[place].isspace()
            and (place == 0 or text[place - 1].isspace())
        ]

    def open_at(start: int, first_end: int) -> int:
        """Begin earlier, by the overlap, as far as the first piece still fits."""
        if not overlap or not chunks:
            return start
        before_start, before_end = chunks[-1]
        earliest = min(
            (p for p in places if p <= before_end and length(text[p:before_end]) <= overlap),
            default=before_end,
        )
        words = word_starts(max(earliest, before_start + 1), before_end)
        if not words and earliest > before_start and earliest < before_end:
            words = [] if any(c.isspace() for c in text[earliest:before_end]) else [earliest]
        for place in words:
            if fits(place, first_end):
                return place
        return start

    def pieces_of(start: int, end: int, separator: str | re.Pattern[str]) -> list[tuple[int, int]]:
        pattern = re.compile(re.escape(separator)) if isinstance(separator, str) else separator
        pieces, begin = [], start
        for match in pattern.finditer(text, start, end):
            cut, after = match.span()
            cut, after = {"start": (cut, cut), "end": (after, after), "none": (cut, after)}[keep]
            if cut in places and after in places and after < end:
                if cut > begin:
                    pieces.append((begin, cut))
                begin = max(begin, after) if keep == "none" or cut > begin else begin
            elif cut in places and after in places and keep == "none":
                if cut > begin:
                    pieces.append((begin, cut))
                begin = after
        if begin < end:
            pieces.append((begin, end))
        return pieces

    def split(start: int, end: int, rest: Sequence[str | re.Pattern[str]]) -> None:
        for number, separator in enumerate(rest):
            if separator == "":
                break
            found = (
                text.find(separator, start, end) >= 0
                if isinstance(separator, str)
                else separator.search(text, start, end)
            )
            if found:
                merge(pieces_of(start, end, separator), rest[number + 1 :])
                return
        inside = sorted(place for place in places if start <= place <= end)
        merge(list(zip(inside, inside[1:], strict=False)), None)

    def merge(pieces: list[tuple[int, int]], rest: Sequence[str | re.Pattern[str]] | None) -> None:
        opened: int | None = None
        last = 0
        for start, end in pieces:
            if opened is not None and fits(opened, end):
                last = end
                continue
            if opened is not None:
                emit(opened, last)
                opened = None
            if fits(start, end) or rest is None:
                opened, last = open_at(start, end), end
            else:
                split(start, end, rest)
        if opened is not None:
            emit(opened, last)

    split(0, len(text), separators)
    return chunks
