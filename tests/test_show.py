import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chunking_lib.character import split_characters
from chunking_lib.chunk import Chunk, Document
from chunking_lib.show import chunk_table, plot_sizes, show_chunks

texts = st.text(st.characters(), max_size=60)
# Everything that is not the text: styles, the marks of chunks, the signs for line ends.
MARKS = re.compile(r"<style>.*?</style>|<b class.*?</b>|<i>.*?</i>|<small>.*?</small>", re.DOTALL)


@st.composite
def chunked(draw):
    text = draw(texts)
    places = st.integers(0, len(text))
    spans = draw(st.lists(st.tuples(places, places), max_size=6))
    return text, [Chunk(text[a:b], a, b) for a, b in (sorted(span) for span in spans)]


def body(view):
    return MARKS.sub("", view._repr_html_()).replace("<br>", "\n")


def as_shown(text):
    """What one character after the other becomes; a CRLF may be cut, and then its CR shows."""
    text = re.sub("[\x00-\x08\x0b-\x1f]", lambda m: chr(0x2400 + ord(m[0])), text)
    return re.sub("[\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", "\ufffd", text)


@given(chunked())
def test_html_shows_all_of_the_text_and_nothing_else(case):
    text, chunks = case
    shown = html.unescape(re.sub("<[^>]*>", "", body(show_chunks(text, chunks))))
    assert shown.replace("␍", "") == as_shown(text).replace("␍", "")


@given(chunked())
def test_plain_text_shows_all_of_the_text(case):
    text, chunks = case
    clean = re.sub(r"[\[\]|«»~\d]", "x", text)
    chunks = [Chunk(clean[c.start : c.end], c.start, c.end) for c in chunks]
    shown = str(show_chunks(clean, chunks)).partition("\n")[2]
    shown = re.sub(r"\[\d+\||\d*\]|[«»~]", "", shown)
    assert shown.replace("␍", "") == as_shown(clean).replace("␍", "")


@given(texts, texts)
def test_no_tag_of_the_text_survives(text, title):
    for hostile in (text, f"<script>{text}</script>", f'"><img onerror="{text}">', f"</div>{text}"):
        chunks = [Chunk(hostile, 0, len(hostile), source=hostile, context=hostile)]
        view = show_chunks(Document(hostile, id=hostile), chunks, title=title + hostile)
        table = chunk_table(chunks, title=title + hostile)
        for shown in (view, table):
            tags = re.findall("<[^>]*>", shown._repr_html_())
            ours = "style|div|strong|bdi|small|ins|del|b|i|sub|br|span|table|thead|tbody|tr|th|td"
            plain = r"""(?: (?:class|title|dir)=(?:"[\w .:,]*"|'[\w ]*'))*"""
            assert all(re.fullmatch(rf"</?(?:{ours}){plain}>", tag) for tag in tags)
        str(view).encode(), view._repr_html_().encode()


@given(chunked())
def test_tags_are_balanced(case):
    opened = []
    for close, name in re.findall(r"<(/?)(\w+)[^>]*>", show_chunks(*case)._repr_html_()):
        if close:
            assert opened.pop() == name
        elif name != "br":
            opened.append(name)
    assert opened == []


def test_overlap_is_shown_once_with_both_colours_and_a_title():
    text = "Mind the step"
    shown = show_chunks(text, split_characters(text, size=9, overlap=4))._repr_html_()
    assert '<ins class="c01" title="in chunks 1, 2">the </ins>' in shown
    assert "4 shared" in shown
    assert str(show_chunks(text, split_characters(text, size=9, overlap=4))).endswith(
        "[1|Mind [2|«the »1]step]"
    )


def test_a_gap_shows_and_a_blank_one_is_discreet():
    text = "One. Two.\n\nThree."
    view = show_chunks(text, [Chunk("One.", 0, 4), Chunk("Three.", 11, 17)])
    assert '<del title="in no chunk"> Two.<i>↵</i><br><i>↵</i><br></del>' in view._repr_html_()
    assert "4 lost" in str(view)
    view = show_chunks(text, [Chunk("One. Two.", 0, 9), Chunk("Three.", 11, 17)])
    assert "in no chunk" not in view._repr_html_()
    assert "<i>↵</i><br><i>↵</i><br>" in view._repr_html_()
    assert "~" not in str(view)
    assert "0 lost" in str(view)


def test_deep_overlap_names_the_chunks():
    text = "abcdefgh" * 4
    chunks = [Chunk(text[a : a + 16], a, a + 16) for a in range(16)]
    assert 'title="in chunks 1, 2, 3"' in show_chunks(text, chunks)._repr_html_()
    assert "in chunks 1, 2, 3, 4, 5, 6, 7, 8, 9, …" in show_chunks(text, chunks)._repr_html_()


def test_a_rebuilt_chunk_is_marked():
    shown = show_chunks("a  b", [Chunk("a b", 0, 4, derived=True)])._repr_html_()
    assert "≈3" in shown
    assert "not word for word" in shown


def test_every_chunk_has_its_number_and_length_and_another_colour_than_its_neighbours():
    text = "abcdefghij"
    shown = show_chunks(text, split_characters(text, size=2))._repr_html_()
    assert re.findall(r"\[(\d)<sub>(\d)", shown) == [(str(n), "2") for n in range(1, 6)]
    assert re.findall(r'<span class="(c\d)"', shown) == ["c0", "c1", "c2", "c3", "c0"]


def test_a_long_text_is_cut_between_characters_that_a_reader_sees():
    text = "a" + "👩‍👩‍👧" * 10
    view = show_chunks(text, split_characters(text, size=6), limit=4)
    assert str(view).splitlines()[1:] == ["[1|a", "… 50 more characters, 9 more chunks"]


def test_direction_controls_and_escapes_are_disarmed():
    view = show_chunks("a\u202eb\x1b[31m\x00\ud800", [], title="\u202e<b>")
    assert str(view).splitlines()[::2] == ["�<b>", "~a�b␛[31m␀�~"]
    assert "\u202e" not in view._repr_html_()


def test_same_input_same_output():
    text = "One two three four five"
    chunks = split_characters(text, size=8, overlap=3)
    first = show_chunks(text, chunks)
    assert show_chunks(text, list(chunks)) == first
    assert " at 0x" not in repr(first) + first._repr_html_()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("abc", [], {"limit": 0}), "limit=0 must be a whole number of 1 or more"),
        (("abc", [Chunk("abcd", 0, 4)], {}), "chunk 1 ends at 4, but the text has 3 characters"),
    ],
)
def test_bad_arguments(arguments, message):
    text, chunks, options = arguments
    with pytest.raises(ValueError, match=message):
        show_chunks(text, chunks, **options)


def contrast(one, other):
    def luminance(colour):
        parts = [c / 255 for c in colour]
        r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(
    ("ground", "ink"),
    # JupyterLab's themes: black at 87 % on white, and white on grey 900.
    [((255, 255, 255), (33, 33, 33)), ((17, 17, 17), (255, 255, 255))],
)
def test_text_on_every_colour_has_enough_contrast_in_both_themes(ground, ink):
    style = show_chunks("", [])._repr_html_()
    tints = set(re.findall(r"rgb\((\d+) (\d+) (\d+) / (\.\d+)\)", style))
    assert len(tints) == 4
    for *colour, alpha in tints:
        part = float(alpha)
        seen = [part * int(c) + (1 - part) * g for c, g in zip(colour, ground, strict=True)]
        assert contrast(seen, ink) > 7


def test_table():
    chunks = [Chunk(f"part {n}\n<b>", n, n + 10, metadata={"page": n}) for n in range(3)]
    view = chunk_table(chunks, title="Parts", limit=2)
    assert str(view).splitlines() == [
        "Parts",
        "chunk  start  end  length  text        metadata",
        "1      0      10   10      part 0 <b>  page: 0",
        "2      1      11   10      part 1 <b>  page: 1",
        "… 1 more chunks",
    ]
    assert "&lt;b&gt;" in view._repr_html_()
    assert chunk_table([])._repr_html_().count("<tr>") == 1


def test_plot_counts_every_chunk_and_marks_what_is_over_the_limit():
    splits = {
        "even": [Chunk("x" * 100, 0, 100)] * 3,
        "odd": [Chunk("x" * n, 0, n) for n in (5, 100, 101)],
    }
    figure = plot_sizes(splits, size=100)
    heights = [[bar.get_height() for bar in axes.patches] for axes in figure.axes]
    assert [sum(row) for row in heights] == [3, 4]  # the one over the limit is drawn over itself
    assert figure.axes[1].get_title(loc="left") == "odd: 3 chunks, mean 69, 1 over the limit"
    assert figure.axes[1].get_xlabel() == "length in characters (dashed line: size 100)"
    assert figure.axes[0].get_shared_x_axes().joined(*figure.axes)
    # No bar reaches over the line.
    line = figure.axes[0].lines[0].get_xdata()[0]
    for bar in figure.axes[1].patches:
        assert bar.get_x() + bar.get_width() <= line + 1e-9 or bar.get_x() >= line - 1e-9


def test_plot_leaves_no_figure_open_for_a_second_display():
    from matplotlib import pyplot

    before = pyplot.get_fignums()
    figure = plot_sizes(split_characters("abc def ghi", size=3), length=lambda text: 1)
    assert pyplot.get_fignums() == before
    assert figure.get_facecolor() == (1, 1, 1, 1)
    with pytest.raises(ValueError, match="at least one chunk"):
        plot_sizes([])
