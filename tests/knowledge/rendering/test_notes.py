from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.rendering.markdown import render_note
from knowledge.rendering.marks import Mark, MarkKind
from knowledge.rendering.windows import Wanted
from tests.knowledge.rendering.files import PlainLinks, cited, mark, note, parsed, tree

AGREEMENT = """# Agreement

First paragraph stays.

Either party may terminate. The notice must be *in writing*; see [the annex](annex.md) for more.
It continues on a second line.

- one item
- another item

| Name | Price |
|------|------:|
| Basic | 100 |
| Plus | 250 |

```py
first = 1
second = 2
```
"""


@pytest.mark.parametrize(
    ("quote", "expected"),
    [
        ("First paragraph stays.", ["First paragraph stays."]),
        ("# Agreement", ["Agreement"]),
        ("Either party may terminate.", ["Either party may terminate."]),
        ("The notice must be *in writing*; see", ["The notice must be in writing; see"]),
        ("terminate. The notice must be *in", ["terminate. The notice must be ", "in"]),
        ("see [the annex](annex.md) for", ["see the annex for"]),
        ("for more.\nIt continues", ["for more.\nIt continues"]),
        ("another item", ["another item"]),
        ("second = 2", ["second = 2"]),
        ("stays.\n\nEither party", ["stays.", "Either party"]),
    ],
)
def test_note_marks_exactly_the_cited_words(quote, expected):
    assert cited(note(AGREEMENT, quote).html) == expected


def test_note_marks_a_table_by_its_rows():
    rows = tree(note(AGREEMENT, "| Plus | 250 |").html).xpath('.//tr[@class="cite"]')

    assert [row.text_content().split() for row in rows] == [["Plus", "250"]]


@pytest.mark.parametrize("quote", ["party may", "| Plus | 250 |", "second = 2", "# Agreement", "item\n- another"])
def test_note_gives_the_first_marked_element_the_anchor(quote):
    anchors = tree(note(AGREEMENT, quote).html).xpath('.//*[@id="cited"]')

    assert [anchor.get("tabindex") for anchor in anchors] == ["-1"]


def test_note_gives_a_place_without_shown_words_an_anchor():
    html = note("Text [here][x].\n\nMore.\n\n[x]: https://example.org/target\n", "[x]: https://example.org/target").html

    assert cited(html) == []
    assert len(tree(html).xpath('.//*[@id="cited"]')) == 1


@pytest.mark.parametrize("quote", ["*in writing", "writing*", "annex](annex", "see [the", "**"])
def test_note_marks_never_change_what_is_read(quote):
    text = AGREEMENT + "\n**bold** and _slanted_ words\n"

    assert tree(note(text, quote).html).text_content() == tree(note(text).html).text_content()


_PARTS = st.sampled_from(
    ["word ", "文字", "*", "**", "_", "`", "[", "](x.md)", "![a](b.png)",
     "\n", "\n\n", "# ", "- ", "> ", "| a | b |\n", "\\", "&amp;",
     "<b>", "</b>", "$x$", "[[w]]", "~~", "    ", "```\n", "<https://e.org>", "[^1]", "---\n", "1. "]
)  # fmt: skip


@given(st.lists(_PARTS, min_size=1, max_size=25).map("".join), st.integers(0, 120), st.integers(1, 60))
def test_note_marks_never_change_any_text(text, start, length):
    text = f"x{text}"
    source_map = parsed(text)
    start = min(start, len(source_map.text) - 1)
    end = min(len(source_map.text), start + length)
    first, last = (source_map.text.count("\n", 0, at) + 1 for at in (start, end - 1))
    marks = [Mark(start=start, end=end, first=first, last=last)]

    marked = render_note(source_map, path="n.md", marks=marks, links=PlainLinks(), wanted=Wanted()).html
    plain = render_note(source_map, path="n.md", marks=[], links=PlainLinks(), wanted=Wanted()).html

    assert tree(marked).text_content() == tree(plain).text_content()
    assert marked.count('id="cited"') == 1


def test_note_marks_a_place_that_is_only_near_otherwise():
    source_map = parsed(AGREEMENT)
    near = mark(source_map, "# Agreement", MarkKind.NEAR)

    html = render_note(source_map, path="n.md", marks=[near], links=PlainLinks(), wanted=Wanted()).html
    assert tree(html).xpath('.//*[@id="cited"]/@class') == ["near"]


@pytest.mark.parametrize(
    ("written", "href"),
    [
        ("[a](../other.md)", "/open/other.md"),
        ("[a](sub/x%20y.md#part-2)", "/open/folder/sub/x y.md#s-part-2"),
        ("[a](/top.md)", "/open/top.md"),
        ("[a](sub\\\\back.md)", "/open/folder/sub/back.md"),
        ("[a](#terms)", "#s-terms"),
        ("[a](https://example.org/x)", "https://example.org/x"),
        ("[[Other note]]", "/find/Other note"),
        ("[[Other note#Some part|shown]]", "/find/Other note#s-some-part"),
        ('<a href="../raw.md">a</a>', "/open/raw.md"),
        ("[a](caf%E9.md)", "/open/folder/caf\\xe9.md"),
    ],
)
def test_note_links_lead_into_the_pane(written, href):
    assert tree(note(written).html).xpath(".//a/@href") == [href]


@pytest.mark.parametrize(
    "written",
    [
        "[a](../../outside.md)",
        "[a](javascript:alert(1))",
        '<a href="javascript:alert(1)">a</a>',
        '<a href="data:text/html,<script>alert(1)</script>">a</a>',
        '<a href="file:///etc/passwd">a</a>',
        '<a href="../../../etc/passwd">a</a>',
    ],
)
def test_note_links_that_lead_out_lead_nowhere(written):
    assert tree(note(written).html).xpath(".//a/@href") == []


def test_note_loads_pictures_of_its_root_only():
    html = note(
        "![a](img/x.png) ![b](https://example.org/t.png) <img src='https://example.org/u.png' alt='c'> ![[p.png]]"
    ).html

    assert tree(html).xpath(".//img/@src") == ["/raw/folder/img/x.png", "/raw/pictures/p.png"]
    assert tree(html).xpath('.//a[@class="remote"]/@href') == ["https://example.org/t.png", "https://example.org/u.png"]


def test_note_counts_the_pictures_it_did_not_load():
    assert note("![b](https://example.org/t.png) <img src='//example.org/u.png'>").remote_pictures == 2


@pytest.mark.parametrize(
    "written",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "<iframe src='https://example.org'></iframe>",
        "<svg><script>alert(1)</script></svg>",
        "<form action='/x'><input name=a></form>",
        "<div hx-get='/w/x/' data-hx-get='/y' style='position:fixed'>x</div>",
        "<style>body{display:none}</style>",
        "<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
        "![x](x.png 'a\" onerror=\"alert(1)')",
        "<details open ontoggle=alert(1)>x</details>",
        "<meta http-equiv=refresh content='0;url=https://example.org'>",
        "<base href='https://example.org/'>",
    ],
)
def test_note_html_holds_nothing_active(written):
    root = tree(note(written).html)

    assert root.xpath(".//script|.//iframe|.//svg|.//form|.//input|.//style|.//object|.//meta|.//base|.//link") == []
    names = {name for element in root.iter() for name in element.attrib}
    assert names <= {
        "href",
        "src",
        "alt",
        "title",
        "class",
        "id",
        "rel",
        "target",
        "loading",
        "data-lines",
        "open",
        "tabindex",
    }


def test_note_cannot_pose_as_a_citation():
    html = note('<mark class="cite" id="cited" tabindex="0">I am cited</mark> <b class="lamp indexed">x</b>').html

    assert cited(html) == []
    assert tree(html).xpath('.//*[@id="cited"]') == []
    assert tree(html).xpath(".//*/@class") == []


def test_note_html_that_is_not_closed_ends_with_the_note():
    html = note("<div><b>open\n\nlast words\n", "last words").html

    assert html.count("<div") == html.count("</div>")


def test_note_shows_front_matter_apart():
    found = note("---\ntitle: Terms\ntags:\n  - a\n  - b\n---\n# Heading\n", "title: Terms")

    assert [(fact.name, fact.value, fact.line, fact.is_cited) for fact in found.facts] == [
        ("title", "Terms", 2, True),
        ("tags", "- a - b", 3, False),
    ]
    assert "title" not in tree(found.html).text_content()


def test_note_blocks_carry_their_lines():
    html = note("---\na: b\n---\n\n# Heading\n\nText\nmore\n").html

    assert tree(html).xpath(".//h1/@data-lines | .//p/@data-lines") == ["5-5", "7-8"]


def test_note_shows_tasks_callouts_and_footnotes():
    html = note("- [ ] open\n- [x] done\n\n> [!warning] Mind\n> the gap\n\nText[^1].\n\n[^1]: The note.\n").html
    words = tree(html).text_content()

    assert "☐ open" in words
    assert "☑ done" in words
    assert "Warning Mind" in words
    assert tree(html).xpath('.//a[@href="#s-fn1"]')
    assert tree(html).xpath('.//*[@id="s-fn1"]')


def test_note_leaves_formulas_and_prices_alone():
    words = tree(note("Einstein: $E = a_1 + b_1$, and $5 and $10 are prices.").html).text_content()

    assert words.strip() == "Einstein: E = a_1 + b_1, and $5 and $10 are prices."


def test_note_headings_get_unique_anchors():
    html = note("# A & B\n\n## Part\n\n## Part\n").html

    assert tree(html).xpath(".//h1/@id | .//h2/@id") == ["s-a--b", "s-part", "s-part-1"]


def _long_note() -> str:
    sections = (f"## Section {number}\n\n" + "Words of it. " * 400 + "\n" for number in range(120))
    return "# Long\n\n" + "\n".join(sections) + "\n[far]: https://example.org/far\n"


def test_long_note_shows_a_window_around_the_cited_place():
    text = _long_note().replace("## Section 60\n", "## Section 60\n\nThe place, see [it][far].\n")
    found = note(text, "The place,", wanted=Wanted(focus=text[: text.index("The place,")].count("\n") + 1))

    assert cited(found.html) == ["The place,"]
    assert len(found.html) < 200_000
    assert found.window.has_before
    assert found.window.has_after
    assert tree(found.html).xpath('.//a[@href="https://example.org/far"]')


def test_long_note_windows_cover_every_line_once():
    text = _long_note()
    lines: list[int] = []
    window = note(text).window
    while True:
        lines += range(window.first, window.last + 1)
        if not window.has_after:
            break
        window = note(text, wanted=Wanted(start=window.after)).window

    assert lines == list(range(1, window.total + 1))
