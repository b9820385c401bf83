"""Where separators are and which cuts they allow, against a list made by hand."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import clusters
from strategies import keeps, odd_text, separators, texts

from chunking_lib.boundaries import Boundaries
from chunking_lib.recursive import split_recursive
from chunking_lib.separators import check_separators, find_cuts, for_line_ends


def listed(text, start, end, separator, keep):
    """All cuts as pairs (end of one piece, start of the next), and where the last piece ends."""
    pattern = re.compile(re.escape(separator)) if isinstance(separator, str) else separator
    places, cuts = clusters(text), []
    for match in pattern.finditer(text, start, end):
        first, last = match.span()
        pair = {"start": (first, first), "end": (last, last), "none": (first, last)}[keep]
        if not places.issuperset(pair):
            continue
        if keep == "none" and cuts and cuts[-1][1] == first:
            pair = (cuts.pop()[0], last)
        cuts.append(pair)
    if keep == "none" and cuts and cuts[-1][1] == end:
        return cuts[:-1], cuts[-1][0]
    return cuts, end


# Few letters, so that separators stand in rows, at both ends, and across each other.
dense_text = st.text("ab-- \n\n\r.猫\u0301", max_size=24)


@given(
    st.data(),
    dense_text | texts | odd_text,
    separators.filter(lambda separator: separator != ""),
    keeps,
)
def test_cuts_are_those_of_the_list(data, text, separator, keep):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    places = clusters(text)
    start = max(p for p in places if p <= start)
    end = min(p for p in places if p >= end)
    found = find_cuts(text, start, end, separator, keep, Boundaries(text))
    occurs = (
        separator in text[start:end]
        if isinstance(separator, str)
        else separator.search(text, start, end) is not None
    )
    assert (found is not None) == occurs
    if found is None:
        return
    cuts, last_end = listed(text, start, end, separator, keep)
    assert found.end == last_end
    assert found.drops == (keep == "none")
    starts = [start, *(after for _, after in cuts)]
    for origin in starts:
        begin = found.skip(origin) if found.drops else origin
        if begin >= last_end:
            continue
        behind = [pair for pair in cuts if begin < pair[0] < last_end]
        nothing = (last_end, last_end)
        assert whole(found, found.first(begin)) == (behind[0] if behind else nothing)
        for limit in range(begin, end + 2):
            within = [pair for pair in behind if pair[0] <= limit]
            last = whole(found, found.last(begin, limit))
            assert last == (within[-1] if within else None), (begin, limit)


def whole(cuts, pair):
    """A cut may name the first of several dropped separators in a row; `skip` leads over all."""
    return (pair[0], cuts.skip(pair[1])) if pair and pair[0] < cuts.end and cuts.drops else pair


@pytest.mark.parametrize("blank_lines", range(1, 9))
@pytest.mark.parametrize("keep", ["start", "end", "none"])
def test_which_line_ends_of_a_row_are_the_separator(blank_lines, keep):
    """Counted from the first, as `re.split` does, also when asked from behind."""
    text = "a" + "\n" * blank_lines + "b"
    cuts = find_cuts(text, 0, len(text), "\n\n", keep, Boundaries(text))
    if blank_lines == 1:
        assert cuts is None
        return
    expected, _ = listed(text, 0, len(text), "\n\n", keep)
    for limit in range(1, len(text) + 1):
        within = [pair for pair in expected if 0 < pair[0] <= min(limit, len(text) - 1)]
        assert whole(cuts, cuts.last(0, limit)) == (within[-1] if within else None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one\n\ntwo", "\n\n"),
        ("one two", "\n\n"),
        ("one\r\n\r\ntwo", "\r\n\r\n"),
        ("one\rtwo", "\n\n"),
        ("one\r\rtwo\n", "\n\n"),
    ],
)
def test_line_ends_of_one_kind(text, expected):
    assert for_line_ends("\n\n", text) == expected


def test_line_ends_of_both_kinds():
    pattern = for_line_ends(".\n\n", "one.\r\n\r\ntwo.\n\nthree.\n\r\nfour.\r\n\n")
    assert pattern.findall("one.\r\n\r\ntwo.\n\nthree.\n\r\nfour.\r\n\nx\n\n") == [
        ".\r\n\r\n",
        ".\n\n",
        ".\n\r\n",
        ".\r\n\n",
    ]


@pytest.mark.parametrize("separator", [" ", "", "\r\n", "\r", re.compile("\n")])
def test_line_ends_do_not_change_other_separators(separator):
    for text in ("a\r\nb", "a\nb\r\nc", "a\nb"):
        assert for_line_ends(separator, text) is separator


@pytest.mark.parametrize("wrong", ["\n\n", "", [None], [" ", 3], [b" "], [["\n"]], (" ", None)])
def test_what_is_no_list_of_separators_is_named(wrong):
    with pytest.raises(ValueError, match=r"separators=.* must be a list of strings or of patterns"):
        check_separators(wrong)
    with pytest.raises(ValueError, match="separators="):
        split_recursive("a b", separators=wrong)


@pytest.mark.parametrize("right", [[], [""], ("a", re.compile("b")), [re.compile("")]])
def test_what_is_a_list_of_separators_is_taken(right):
    check_separators(right)
    assert [chunk.text for chunk in split_recursive("xyz", separators=right)] == ["xyz"]
