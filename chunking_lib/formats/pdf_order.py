"""The order in which a page of a PDF is read: its columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import median

from chunking_lib.formats.pdf_lines import Item, Line

__all__ = ["regions"]


def regions(items: Sequence[Item]) -> list[list[Item]]:
    """Return the items of a page in stretches that are read one after the other.

    Text stands in columns where many lines begin at one place that no line crosses, with prose on
    both sides of it at the same height. What does cross it, such as a title over both columns,
    divides the page: above, left, right, below.
    """
    lines = [item for item in items if isinstance(item, Line)]
    starts = Counter(round(line.box.x0) for line in lines)
    for start, count in starts.most_common():
        if count < 4:
            break
        crossing = [item for item in items if item.box.x0 < start - 2 and item.box.x1 > start + 1]
        found: list[list[Item]] = [[]]
        columns = False
        bands = _bands(items, crossing)
        for band in bands:
            left = [item for item in band if item.box.x0 < start - 2]
            right = [item for item in band if item.box.x0 >= start - 2]
            if band[0] not in crossing and _side_by_side(left, right):
                after = _after_columns(left, right, ends=band is not bands[-1])
                left = [item for item in left if item not in after]
                found += [*regions(left), *regions(right), after]
                columns = True
            else:
                found[-1] += band
        if columns:
            return [region for region in found if region]
    return [list(items)]


def _bands(items: Sequence[Item], crossing: Sequence[Item]) -> list[list[Item]]:
    """Cut the page into bands: what crosses, and what stands between."""
    bands: list[list[Item]] = [[]]
    edges = sorted({item.box.top for item in crossing})
    for top, bottom in zip([-1e9, *edges], [*edges, 1e9], strict=False):
        here = [item for item in items if top <= item.box.top < bottom]
        across = [item for item in here if item in crossing]
        bands += [across, [item for item in here if item not in across]]
    return [band for band in bands if band]


def _after_columns(left: Sequence[Item], right: Sequence[Item], ends: bool) -> list[Item]:
    """Return what stands below both columns at the left, and is to be read after the right one.

    Where other text follows across the page (`ends`), columns end at one height, and what is set
    off below belongs to them no more. At the end of a page a left column may well be longer; there,
    both must stop at one line, well above the rest.
    """
    lowest = max(item.box.bottom for item in right)
    ordered = sorted(left, key=lambda item: item.box.top)
    for i, (above, item) in enumerate(zip(ordered, ordered[1:], strict=False), start=1):
        size = above.size if isinstance(above, Line) else 10
        gap = item.box.top - above.box.bottom
        level = abs(above.box.bottom - lowest) < 1.2 * size and gap > 1.5 * size
        if item.box.top > lowest and gap > 0.8 * size and (ends or level):
            return ordered[i:]
    return []


def _side_by_side(left: Sequence[Item], right: Sequence[Item]) -> bool:
    if not (_prose(left) and _prose(right)):
        return False
    tops = [min(item.box.top for item in side) for side in (left, right)]
    bottoms = [max(item.box.bottom for item in side) for side in (left, right)]
    shared = min(bottoms) - max(tops)
    return shared > 0.5 * min(bottoms[0] - tops[0], bottoms[1] - tops[1])


def _prose(items: Sequence[Item]) -> bool:
    """Say whether these are lines of running text: not too few, not too short."""
    lines = [item for item in items if isinstance(item, Line)]
    if len(lines) < 4:
        return False
    width = max(line.box.x1 for line in lines) - min(line.box.x0 for line in lines)
    lengths = [line.box.x1 - line.box.x0 for line in lines]
    return median(len(line.text) for line in lines) >= 15 and median(lengths) >= 0.6 * width
