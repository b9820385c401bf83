"""`load_html`: links on request, and the choice of what is left out."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from chunking_lib.chunk import check_chunks
from chunking_lib.formats.html import load_html
from chunking_lib.formats.html_links import unlink
from chunking_lib.formats.html_split import split_html

MARKDOWN = MarkdownIt()


def linked(page: str) -> str:
    return load_html(page, links=True).text.removesuffix("\n")


def escaped(text: str) -> str:
    return text.translate({ord(mark): f"&#{ord(mark)};" for mark in "&<>'\""})


def links_of(text: str) -> list[tuple[str, str]]:
    """Return the words and the target of each link in a line, as a parser of Markdown reads it."""
    found, target, words = [], "", ""
    for token in MARKDOWN.parseInline(text)[0].children or ():
        if token.type == "link_open":
            target, words = str(token.attrs["href"]), ""
        elif token.type == "link_close":
            found.append((words, target))
        else:
            words += token.content
    return found


# Words that hold nothing that Markdown would read on its own.
_words = st.sampled_from(
    ["tea", "two mugs", "a]", "[b", "[1]", "猫", "می\u200cخ", "\\", "`", "<c", "!"]
)
_inline = st.recursive(
    st.one_of(
        _words.map(escaped),
        st.sampled_from([" ", "\n", "&nbsp;", "&shy;", "<br>", "<img alt=pier>", "<img>"]),
    ),
    lambda inner: st.tuples(
        st.sampled_from(["b", "span", "a href=/x", "a href='/y_(z)'", "a href=#", "a name=n"]),
        st.lists(inner, max_size=4),
    ).map(lambda pair: f"<{pair[0]}>{''.join(pair[1])}</{pair[0].split()[0]}>"),
    max_leaves=8,
)
_tags = ["p", "div", "h2", "blockquote", "ul", "li", "dl", "dt", "dd", "table", "tr", "td"]
_tags += ["caption", "figure", "section", "pre", "a href=/block"]
pages = st.recursive(
    _inline,
    lambda inner: st.tuples(st.sampled_from(_tags), st.lists(inner, max_size=4)).map(
        lambda pair: f"<{pair[0]}>{''.join(pair[1])}</{pair[0].split()[0]}>"
    ),
    max_leaves=12,
)


class TestLinks:
    @given(pages)
    def test_without_their_marks_the_text_is_the_same(self, page):
        text = load_html(page).text
        marked = load_html(page, links=True).text
        assert unlink(marked) == text
        assert (marked == text) == ("](" not in marked)

    @given(
        st.lists(st.sampled_from([*"ab12[]()\\`<>!é猫. ", "](", "]:"]), min_size=1).map("".join),
        st.lists(st.sampled_from([*"abc/?&=#%();:\\<>[]!|' \u00adé", "&amp;"])).map("".join),
        st.sampled_from(["", "!", "\\", "\\\\", "\\!", "x"]),
    )
    @example("[a](b)", "x", "")
    @example("a", "?b&amp;c", "")
    def test_a_parser_of_markdown_reads_the_link(self, words, path, before):
        page = f"<p>{escaped(before)}<a href='{escaped('/' + path)}'>{escaped(words)}</a></p>"
        shown = " ".join(words.split())
        if not shown:
            assert linked(page) == load_html(page).text.removesuffix("\n")
            return
        text = linked(page)
        [(read, target)] = links_of(text)
        assert read == shown
        assert target == MARKDOWN.normalizeLink(f"/{path}".rstrip(" "))  # spaces as %20

    @pytest.mark.parametrize(
        ("page", "expected"),
        [
            ("<p>To <a href=/x>Gull <b>Quay</b> <i>now</i></a>.", "To [Gull Quay now](/x)."),
            ("<p>a<a href=/x> b </a>c", "a [b](/x) c"),
            ("<p><a href='/a b'>x</a>", "[x](/a%20b)"),
            ("<p><a href='/a_(b)'>x</a>", "[x](</a_(b)>)"),
            ("<p><a href='?a=1&amp;b=2#c'>x</a>", "[x](?a=1&b=2#c)"),
            ("<p><a href=mailto:a@b.c>x</a>", "[x](mailto:a@b.c)"),
            ("<p><a href=#fares>x</a>", "[x](#fares)"),
            ("<p>Go!<a href=/x>[1]</a>", r"Go\![[1]](/x)"),
            # Nowhere to go, or nothing to say.
            *(
                (f'<p><a {attribute}>x</a><a href="/y">z</a>', "x[z](/y)")
                for attribute in (
                    "", "name=n", "href", "href=''", "href=' '", "href=#", "href='javascript:f()'",
                    "href=' JAVA\nscript:f()'", "href='data:text/plain,x'",
                )
            ),
            ("<p>a<a href=/x></a> <a href=/x> <img></a>b", "a b"),
            ("<p>a <a href=/x><img alt=''><svg><text>s</text></svg></a>", "a"),
            # Images.
            ("<p><a href=/x><img alt=a> b</a>", "[[Image: a] b](/x)"),
            ("<div><a href=/x><img alt=a></a> <a href=/y><img alt=b></a></div>",
             "[[Image: a]](/x)\n\n[[Image: b]](/y)"),
            ("<div><a href=/x><img alt=a> <img alt=b></a></div>",
             "[[Image: a]](/x)\n\n[Image: b]"),
            ("<figure><a href=/x><img alt=a></a><figcaption>c</figcaption></figure>",
             "[[Image: a]](/x)\n\nc"),
            # Around blocks and lines.
            ("<a href=/x><h2>A</h2><p>b</p></a><p>c", "## [A](/x)\n\nb\n\nc"),
            ("<a href=/x><div><img></div>a<h2>B</h2></a>", "[a](/x)\n\n## B"),
            ("<p><a href=/x><br>a<br><br>b</a>", "[a](/x)\n\nb"),
            # In blocks.
            ("<h1><a href=/x>A</a></h1><ul><li><a href=/y>b</a><li>c</ul>",
             "# [A](/x)\n\n- [b](/y)\n- c"),
            ("<table><tr><td><a href='/x|y'>a</a><td>b</table>",
             "| [a](/x\\|y) | b |\n| --- | --- |"),
            ("<dl><dt><a href=/x>a</a><dd>b<dd>c</dl>", "[a](/x): b\n[a](/x): c"),
            ("<pre>a <a href=/x>b</a></pre>", "a b"),
            # Links do not nest, as in a browser.
            ("<a href=/x>a<div><a href=/y>b</a>c</div></a>d", "[a](/x)\n\n[b](/y)c\n\nd"),
        ],
    )  # fmt: skip
    def test_each_rule(self, page, expected):
        assert linked(page) == expected
        assert unlink(expected).replace("\\|y", "") == load_html(page).text.removesuffix("\n")

    def test_a_page_with_one_link_around_all_grows_once(self):
        page = f"<a href='/{'x' * 5000}'>{'<div>a</div>' * 500}</a>"
        assert len(linked(page)) < len(page)

    @given(pages, st.integers(1, 60))
    def test_offsets_are_those_of_the_text_with_links(self, page, size):
        document = load_html(page, links=True)
        chunks = split_html(document, size=size)
        assert check_chunks(document, chunks, size=size) == []

    def test_a_path_has_the_words_alone(self):
        page = "<h1><a href='/x_(y)'>Piers [old]</a> &amp; <a href=/z>quays</a></h1><p>a"
        [chunk] = split_html(load_html(page, links=True))
        assert chunk.metadata["path"] == ["Piers [old] & quays"]
        assert chunk.text == "# [Piers [old]](</x_(y)>) & [quays](/z)\n\na"


class TestLeaveOut:
    PAGE = (
        "<header>h</header><nav>n<p>m</nav><p>x<form>s<input></form><aside>a</aside>"
        "<section><header>i</header></section><footer>f</footer>"
        "<script>1</script><style>2</style><template>3</template><!-- 4 --><p hidden>5"
    )

    @pytest.mark.parametrize(
        ("leave_out", "expected"),
        [
            (("aside", "footer", "header", "nav"), "x s i"),
            ({"nav"}, "h x s a i f"),
            (["nav", "form"], "h x a i f"),
            (frozenset(), "h n m x s a i f"),
            (("input", "header"), "n m x s a i f"),
        ],
    )
    def test_is_chosen_by_name(self, leave_out, expected):
        assert load_html(self.PAGE, leave_out=leave_out).text.split() == expected.split()

    @given(st.sets(st.sampled_from(["nav", "aside", "footer", "form", "p", "b", "ul", "table"])))
    def test_the_words_left_are_those_of_the_other_elements(self, names):
        tags = ["nav", "aside", "footer", "form", "p", "b", "ul", "table"]
        page = "".join(f"<{tag}><i>{tag}word</i></{tag}> " for tag in tags)
        left = load_html(page, leave_out=names).text.split()
        assert left == [f"{tag}word" for tag in tags if tag not in names]

    def test_what_stands_outside_the_content_is_not_brought_back(self):
        page = "<nav>n</nav><main><nav>m</nav>the text</main>"
        assert load_html(page, leave_out=()).text == "m\n\nthe text\n"

    def test_what_is_kept_is_a_block(self):
        page = "".join(f"<{tag}>{tag}</{tag}>" for tag in ("nav", "aside", "header", "footer"))
        assert load_html(page, leave_out=()).text == "nav\n\naside\n\nheader\n\nfooter\n"
        assert load_html("<section><header>a</header>b</section>").text == "a\n\nb\n"

    @pytest.mark.parametrize("wrong", ["nav", 3, None, ["<nav>"], [".menu"], ["NAV"], [1], [""]])
    def test_faults(self, wrong):
        with pytest.raises(ValueError, match=re.escape(f"leave_out={wrong!r} must be a list of")):
            load_html("<p>x", leave_out=wrong)
