from __future__ import annotations

import pytest

from knowledge.parsing.html_markdown import to_markdown
from knowledge.parsing.html_pages import parse_html

URL = "https://example.com/docs/page.html"


def markdown(html: str) -> str:
    return to_markdown(parse_html(html), url=URL)


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<h1>One</h1><h3>Three</h3>", "# One\n\n### Three\n"),
        ("<p>a <b>bold</b> and <em>soft</em> word</p>", "a **bold** and *soft* word\n"),
        ("<p>a<b> x </b>b</p>", "a **x** b\n"),
        ("<p>one<br>two</p>", "one\\\ntwo\n"),
        ("<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>", "- a\n\n  - b\n- c\n"),
        ("<ol><li>a</li><li>b</li></ol>", "1. a\n2. b\n"),
        ("<pre>x = 1\n  y</pre>", "```\nx = 1\n  y\n```\n"),
        ("<pre>```</pre>", "````\n```\n````\n"),
        ("<p><code>a`b</code></p>", "``a`b``\n"),
        ("<blockquote><p>q</p><p>r</p></blockquote>", "> q\n>\n> r\n"),
        (
            "<table><tr><th>A</th><th>B</th></tr><tr><td>1|2</td></tr></table>",
            "| A | B |\n| --- | --- |\n| 1\\|2 |  |\n",
        ),
        ("<hr>", "---\n"),
        ("<div>bare text<p>block</p>tail</div>", "bare text\n\nblock\n\ntail\n"),
        ("<p>合同解除</p>", "合同解除\n"),
        ("", ""),
    ],
)
def test_markdown_of(html: str, expected: str) -> None:
    assert markdown(f"<html><body>{html}</body></html>") == expected


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ('<a href="/x">t</a>', "[t](https://example.com/x)\n"),
        ('<a href="../a b(c).html">t</a>', "[t](https://example.com/a%20b%28c%29.html)\n"),
        ('<a href="#here">t</a>', "t\n"),
        ('<a href="javascript:alert(1)">t</a>', "t\n"),
        ('<a href="data:text/html,x">t</a>', "t\n"),
        ('<a href="http://[bad">t</a>', "t\n"),
        ('<a href="mailto:a@example.com">t</a>', "[t](mailto:a@example.com)\n"),
        ('<img src="i.png" alt="pic">', "![pic](https://example.com/docs/i.png)\n"),
        ('<img src="i.png">', ""),
        ('<img src="data:image/png;base64,AA" alt="pic">', "pic\n"),
    ],
)
def test_links_become_absolute_or_text(html: str, expected: str) -> None:
    assert markdown(f"<html><body><p>{html}</p></body></html>") == expected


@pytest.mark.parametrize(
    "html",
    [
        "<script>secret</script>", "<style>secret</style>", "<nav>secret</nav>", "<form>secret</form>",
        '<div hidden>secret</div>', '<p style="display: none">secret</p>', '<p aria-hidden="true">secret</p>',
        "<header>secret</header>", "<footer>secret</footer>", "<!-- secret -->", "<noscript>secret</noscript>",
    ],
)  # fmt: skip
def test_what_is_no_text_of_the_page_is_left_out(html: str) -> None:
    assert markdown(f"<html><body>{html}<p>kept</p></body></html>") == "kept\n"


@pytest.mark.parametrize(
    "text", ["# not a heading", "- not a list", "1. not a list", "> not a quote", "[x](y)", "*a*", "<b>", "`c`", "\\"]
)
def test_text_stays_text(text: str) -> None:
    from html import escape

    from markdown_it import MarkdownIt

    page = markdown(f"<html><body><p>{escape(text)}</p></body></html>")

    assert MarkdownIt().render(page) == f"<p>{escape(text, quote=False)}</p>\n"


def test_main_part_is_taken_where_there_is_one() -> None:
    text = "long enough text " * 20

    page = markdown(f"<html><body><div>frame</div><main><header>Head</header><p>{text}</p></main></body></html>")

    assert page.startswith("Head\n\nlong enough")
    assert "frame" not in page


def test_a_tiny_main_part_is_not_taken_for_the_page() -> None:
    assert "all of it" in markdown("<html><body><main>x</main><p>all of it</p></body></html>")


def test_deep_nesting_ends() -> None:
    page = markdown("<html><body>" + "<div>" * 1500 + "deep" + "</div>" * 1500 + "</body></html>")

    assert page == "deep\n"
