"""What agents say is Markdown of strangers: it may look like much, and may do nothing."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from pageai.panel.answers import as_html


def test_markdown_is_shown_as_such() -> None:
    shown = as_html("# Term\n\n**Three** months:\n\n- to the end\n\n| a | b |\n|---|---|\n| 1 | 2 |")

    for part in ("<h3>Term</h3>", "<strong>Three</strong>", "<li>to the end</li>", "<td>2</td>"):
        assert part in shown


@pytest.mark.parametrize("origin", ["", "https://notes.example.org", "http://127.0.0.1:8000"])
def test_a_citation_opens_here_under_whatever_name_it_was_made(origin: str) -> None:
    shown = as_html(f"[agreement, line 3]({origin}/w/ws_1/open/a%20b.md?cite=tok.en&root=notes#cited)")

    assert 'href="/w/ws_1/open/a%20b.md?cite=tok.en&amp;root=notes#cited"' in shown
    assert "data-page-ai-chip" in shown


def test_an_address_elsewhere_opens_in_a_window_of_its_own() -> None:
    shown = as_html("[law](https://example.org/law)")

    assert '<a href="https://example.org/law" target="_blank" rel="noopener noreferrer">law</a>' in shown


@pytest.mark.parametrize(
    "said",
    [
        "<script>alert(1)</script>",
        '<img src=x onerror="alert(1)">',
        "[x](javascript:alert(1))",
        "[x](data:text/html,<script>alert(1)</script>)",
        "[x](vbscript:x)",
        "![x](https://example.org/pixel.png)",
        '[x](https://example.org/"onmouseover="alert(1))',
        "[x](//example.org/w/ws/open/a.md)",
        "[x](/admin/)",
        "<form action=/logout><button>x</button></form>",
        "<style>*{display:none}</style>",
    ],
)
def test_nothing_said_can_act_or_fetch(said: str) -> None:
    found = Tags()
    found.feed(as_html(said))

    assert {tag for tag, _attributes in found.seen} <= {"p", "a"}
    for _tag, attributes in found.seen:
        assert set(attributes) <= {"href", "target", "rel"}
        assert attributes.get("href", "https://").startswith("https://")


class Tags(HTMLParser):
    """Collects the tags of a page as a browser sees them."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, {name: value or "" for name, value in attrs}))
