"""What an agent says, Markdown, as safe HTML. A link of ours opens in the document pane, one to elsewhere in a window
of its own; pictures are not loaded, and what stands there as HTML is text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from html import escape
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

_TAG_NAMES = "a blockquote br code del em h3 hr li ol p pre strong table tbody td th thead tr ul"
_ATTRIBUTES = {"a": {"href", "target", "class", "data-page-ai-chip"}, "ol": {"start"}}
_OUTSIDE = ("http://", "https://", "mailto:")
_MAX_CHARACTERS = 200_000


def as_html(text: str) -> str:
    """Render what was said."""
    html = str(_reader().render(text[:_MAX_CHARACTERS]))
    return nh3.clean(html, tags=set(_TAG_NAMES.split()), attributes=_ATTRIBUTES, link_rel="noopener noreferrer")


def own_address(url: str) -> str:
    """Return the path of an address of ours, so that it opens here whatever name MNote is reached by; else ""."""
    marker = "/w/"
    if url.startswith("/"):
        return "" if url.startswith(("//", "/\\")) else url
    return url[url.index(marker) :] if url.startswith(("http://", "https://")) and marker in url else ""


class _Renderer(RendererHTML):
    """Its public methods are rules by token type, as the parser wants it."""

    def heading_open(self, *_given: Any) -> str:
        return "<h3>"  # below the heading of the panel, whatever level the agent chose

    def heading_close(self, *_given: Any) -> str:
        return "</h3>\n"

    def image(self, tokens: Sequence[Token], index: int, *_given: Any) -> str:
        return escape(tokens[index].content)

    def link_open(self, tokens: Sequence[Token], index: int, *_given: Any) -> str:
        url = str(tokens[index].attrGet("href") or "")
        if url.startswith("/w/") or (own_address(url) and "/open/" in url):
            return f'<a class="chip" data-page-ai-chip href="{escape(own_address(url))}">'
        return f'<a href="{escape(url)}" target="_blank">' if url.startswith(_OUTSIDE) else "<a>"


@cache
def _reader() -> MarkdownIt:
    options = {"html": False, "linkify": False, "typographer": False}
    return MarkdownIt("commonmark", options, renderer_cls=_Renderer).enable(["table", "strikethrough"])
