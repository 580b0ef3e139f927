"""Markdown as people write it in notes: CommonMark with tables, footnotes, strikethrough, formulas and wiki links."""

from __future__ import annotations

import re
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererProtocol
from markdown_it.rules_inline import StateInline
from mdit_py_plugins.container import container_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin

_WIKI = re.compile(r"!?\[\[(?P<target>[^\[\]|\n]+)(?:\|(?P<text>[^\[\]\n]*))?\]\]")
_CONTAINERS = frozenset({"tip", "info", "note", "warning", "danger", "important", "caution", "details"})
#: Token types whose plugins bring rules of their own, which ours replace.
_PLUGIN_TOKENS = (
    "math_inline",
    "math_inline_double",
    "math_block",
    "math_block_label",
    "container_note_open",
    "container_note_close",
)
_NOT_IN_SLUG = re.compile(r"[^\w\- ]")


@cache
def reader(renderer: type[RendererProtocol]) -> MarkdownIt:
    """Return the one parser that renders with `renderer`. It keeps no state between texts."""
    md = MarkdownIt("commonmark", renderer_cls=renderer).enable(["table", "strikethrough"])
    md.use(footnote_plugin, inline=False)
    md.use(dollarmath_plugin, allow_space=False, allow_digits=False, double_inline=True)
    md.inline.ruler.before("link", "wiki", _wiki)
    md.use(container_plugin, name="note", validate=_is_container)
    for name in _PLUGIN_TOKENS:
        md.add_render_rule(name, getattr(renderer, name))
    return md


def _is_container(info: str, _markup: str) -> bool:
    return info.strip().partition(" ")[0] in _CONTAINERS


def slug(title: str) -> str:
    """Return the name by which links point to a heading: "2.1 Scope & terms" -> "21-scope--terms"."""
    return _NOT_IN_SLUG.sub("", title.strip().lower()).replace(" ", "-")


def _wiki(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 the parser's own signature
    if state.src[state.pos] not in "![":
        return False
    match = _WIKI.match(state.src, state.pos)
    if match is None or match.end() > state.posMax:
        return False
    if not silent:
        token = state.push("wiki", "", 0)
        token.content = match[0]
    state.pos = match.end()
    return True


def wiki_names(text: str) -> set[str]:
    """Return the names of the files that the wiki links of a text point to."""
    found = (match["target"].partition("#")[0].strip() for match in _WIKI.finditer(text))
    return {name for name in found if name}


def read_wiki(written: str) -> tuple[str, str, str, bool]:
    """Return target, heading, shown text, and whether it is embedded, of a wiki link as written."""
    match = _WIKI.match(written)
    if match is None:
        return "", "", written, False
    target, _, heading = match["target"].strip().partition("#")
    shown = (match["text"] or "").strip() or (f"{target} › {heading}" if target and heading else target or heading)
    return target.strip(), heading.lstrip("^").strip(), shown, written.startswith("!")
