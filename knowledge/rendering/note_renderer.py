"""The tokens of a note as HTML. What is unsafe is taken out afterwards, by the sanitiser."""
# ruff: noqa: ARG002 the parser gives every rule the same arguments

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape, unescape
from typing import TYPE_CHECKING, cast
from urllib.parse import quote

from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from knowledge.parsing.markdown_links import plain_title
from knowledge.rendering.highlighting import language_of_fence
from knowledge.rendering.lines import code_lines
from knowledge.rendering.markdown_syntax import read_wiki, slug
from knowledge.rendering.sanitising import ID_PREFIX
from knowledge.rendering.targets import TargetKind, is_remote, read_target

if TYPE_CHECKING:
    from knowledge.rendering.markdown import NotePage

_IMAGE = re.compile(r"<img\b[^<>]*>", re.IGNORECASE)
_ATTRIBUTE = re.compile(
    r"\b(?P<name>src|alt)\s*=\s*(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)'|(?P<bare>[^\s>]+))", re.IGNORECASE
)
_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg", ".bmp", ".avif", ".ico")


class NoteRenderer(RendererHTML):
    """Tokens to HTML. Its public methods are rules by token type, as the parser wants it."""

    def render(self, tokens: Sequence[Token], options: OptionsDict, env: EnvType) -> str:
        page = _page(env)
        parts: list[str] = []
        for index, token in enumerate(tokens):
            if token.type == "inline":
                inside = tokens[index - 2].type if index > 1 and tokens[index - 1].type == "paragraph_open" else ""
                parts.append(page.inline(token, inside, options, env))
                continue
            if token.nesting == 1 and token.map and not token.hidden and token.type != "tr_open":
                token.attrSet("data-lines", "{}-{}".format(*page.numbers(token) or (0, 0)))
            parts.append(self.one(tokens, index, options, env))
        return "".join(parts)

    def one(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        """Render one token, whatever its type."""
        rule = self.rules.get(tokens[index].type)
        return rule(tokens, index, options, env) if rule else self.renderToken(tokens, index, options, env)

    def heading_open(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        tokens[index].attrSet("id", _page(env).heading_id(plain_title(tokens[index + 1].content)))
        return self.renderToken(tokens, index, options, env)

    def table_open(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        page = _page(env)
        page.in_table = True
        return f'<div class="{page.sign}scroll" tabindex="{page.sign}0">' + self.renderToken(
            tokens, index, options, env
        )

    def table_close(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        _page(env).in_table = False
        return self.renderToken(tokens, index, options, env) + "</div>"

    def tr_open(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        page = _page(env)
        mark = page.mark_of(tokens[index])
        return page.anchors.opening(mark, tag="tr", sign=page.sign) if mark else "<tr>"

    def td_open(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        return _cell(tokens[index], "td", _page(env).sign)

    def th_open(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        return _cell(tokens[index], "th", _page(env).sign)

    def fence(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        token = tokens[index]
        first = (token.map or [0, 0])[0] + _page(env).first + 1
        return _code(_page(env), token, first, language_of_fence(unescape(token.info)))

    def code_block(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        token = tokens[index]
        return _code(_page(env), token, (token.map or [0, 0])[0] + _page(env).first, "")

    def math_block(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        token = tokens[index]
        return _code(_page(env), token, (token.map or [0, 0])[0] + _page(env).first, "")

    math_block_label = math_block

    def math_inline(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        return f"<code>{escape(tokens[index].content, quote=False)}</code>"

    math_inline_double = math_inline

    def text(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        return escape(tokens[index].content, quote=False)

    def link_open(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        page = _page(env)
        if read_target(str(tokens[index].attrGet("href")), page.path).kind is TargetKind.OUTSIDE:
            tokens[index].attrSet("target", f"{page.sign}_blank")
        return self.renderToken(tokens, index, options, env)

    def image(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        token = tokens[index]
        alt = self.renderInlineAsText(token.children or [], options, env)
        return _image(_page(env), str(token.attrGet("src") or ""), alt)

    def wiki(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        page = _page(env)
        target, heading, shown, is_embedded = read_wiki(tokens[index].content)
        if not target:
            return f'<a href="#{quote(slug(heading))}">{escape(shown)}</a>'
        if is_embedded and target.lower().endswith(_PICTURES):
            address = page.links.wiki_picture(target)
            if address:
                alt = escape(shown if shown != target else target.rpartition("/")[2])
                return f'<img src="{page.sign}{escape(address)}" alt="{alt}" loading="{page.sign}lazy">'
        address = page.links.wiki(target) + (f"#{ID_PREFIX}{quote(slug(heading))}" if heading else "")
        return f'<a href="{page.sign}{escape(address)}">{escape(shown)}</a>'

    def container_note_open(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        kind, _, title = tokens[index].info.strip().partition(" ")
        return f"<blockquote><p><strong>{escape(title or kind.capitalize())}</strong></p>"

    def container_note_close(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        return "</blockquote>"

    def html_block(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        page, token = _page(env), tokens[index]
        html = _html(page, token.content)
        mark = page.mark_of(token)
        if mark is None:
            return html
        inner = page.sanitiser.balanced(html)
        return f"{page.anchors.opening(mark, tag='div', sign=page.sign)}{inner}</div>" if inner.strip() else inner

    def html_inline(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        return _html(_page(env), tokens[index].content)


def _page(env: EnvType) -> NotePage:
    return cast("NotePage", env["page"])


def _cell(token: Token, tag: str, sign: str) -> str:
    align = str(token.attrGet("style") or "").rpartition(":")[2]
    return f'<{tag} class="{sign}{align}">' if align in {"right", "center"} else f"<{tag}>"


def _code(page: NotePage, token: Token, first: int, language: str) -> str:
    content = token.content.removesuffix("\n")
    inner = code_lines(content, first=first, language=language, marks=page.marks, anchors=page.anchors)
    return page.kept(f"<pre><code>{inner}</code></pre>\n")


def _image(page: NotePage, source: str, alt: str) -> str:
    """Return an image, or a link where it would be loaded from elsewhere."""
    if is_remote(source):
        page.remote_pictures += 1
        return f'<a class="{page.sign}remote" href="{escape(source)}">{escape(alt or source)}</a>'
    return f'<img src="{escape(source)}" alt="{escape(alt)}" loading="{page.sign}lazy">'


def _html(page: NotePage, content: str) -> str:
    """Return a note's own HTML, its remote images replaced by links. What is unsafe is taken out later."""

    def replaced(match: re.Match[str]) -> str:
        values = {
            found["name"].lower(): unescape(found["double"] or found["single"] or found["bare"] or "")
            for found in _ATTRIBUTE.finditer(match[0])
        }
        source = values.get("src", "")
        return _image(page, source, values.get("alt", "")) if is_remote(source) else match[0]

    return _IMAGE.sub(replaced, content)
