"""A Markdown note as HTML for a page: sanitised, its links pointing into the pane, its cited lines marked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape, unescape
from itertools import accumulate
from typing import Any, Protocol, cast
from urllib.parse import quote

from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from knowledge.parsing.front_matter import read_front_matter
from knowledge.parsing.source_map import SourceMap
from knowledge.rendering.inline_marks import InlinePlaces, Passage, Piece, boundaries_in, cut_inline, without, wrap
from knowledge.rendering.markdown_syntax import reader, slug
from knowledge.rendering.markdown_windows import window_of_note
from knowledge.rendering.marks import CITED, Anchors, Mark, mark_of_lines, marks_on
from knowledge.rendering.note_renderer import NoteRenderer
from knowledge.rendering.sanitising import ID_PREFIX, Sanitiser
from knowledge.rendering.targets import TargetKind, read_target
from knowledge.rendering.windows import Wanted, Window

_REFERENCE = re.compile(r" {0,3}\[[^\]]+\]:\s*\S")
_BLOCK = re.compile(r"<(?:p|h[1-6]|li|blockquote)\b[^<>]*\bdata-lines=\"(?P<first>\d+)-\d+\"[^<>]*>")
_TASK = re.compile(r"\[(?P<done>[ xX])\][ \t]+")
_CALLOUT = re.compile(r"\[!(?P<kind>[\w-]+)\][+-]?[ \t]*")


class Links(Protocol):
    """Addresses of what a note points to, all below the same root."""

    def file(self, path: str) -> str:
        """The document pane of a file."""
        ...

    def picture(self, path: str) -> str:
        """The bytes of a picture."""
        ...

    def wiki(self, name: str) -> str:
        """The document pane of the file that a wiki link names."""
        ...

    def wiki_picture(self, name: str) -> str:
        """The bytes of the picture that a wiki link names, "" when it is not known."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One entry of the front matter, on `line` of the file."""

    name: str
    value: str
    line: int
    is_cited: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A rendered note: `html` is safe. `window` counts lines; `remote_pictures` were not loaded but linked."""

    html: str
    window: Window
    facts: tuple[Fact, ...] = ()
    remote_pictures: int = 0


def render_note(source_map: SourceMap, *, path: str, marks: Sequence[Mark], links: Links, wanted: Wanted) -> Note:
    """Render the note at `path`, or the window of it that is wanted."""
    text = source_map.text
    lines = text.split("\n")
    front = read_front_matter(lines)
    window = window_of_note(source_map, lines, wanted)
    facts: tuple[Fact, ...] = ()
    first = window.first
    if front is not None and window.first == 1:
        facts = _facts(lines[1 : front.end - 1], marks)
        first = front.end + 1
    page = NotePage(lines, path=path, marks=marks, links=links, first=first)
    html = _with_anchor(page.render(lines[first - 1 : window.last]), marks, window)
    return Note(html=html, window=window, facts=facts, remote_pictures=page.remote_pictures)


def _with_anchor(html: str, marks: Sequence[Mark], window: Window) -> str:
    """Make sure that the cited place can be jumped to, also where nothing of it is shown: a link's address, say."""
    main = next((mark for mark in marks if mark.is_main), None)
    if main is None or f'id="{CITED}"' in html or not window.first <= main.first <= window.last:
        return html
    before = [match for match in _BLOCK.finditer(html) if int(match["first"]) <= main.first]
    at = before[-1].end() if before else 0
    return f'{html[:at]}<span id="{CITED}" tabindex="-1"></span>{html[at:]}'


def _facts(lines: Sequence[str], marks: Sequence[Mark]) -> tuple[Fact, ...]:
    found: list[Fact] = []
    for number, line in enumerate(lines, start=2):
        cited = mark_of_lines(marks, number, number) is not None
        name, separator, value = line.partition(":")
        if separator and not line.startswith((" ", "\t", "-", "#")):
            found.append(Fact(name=name.strip().strip("\"'"), value=value.strip(), line=number, is_cited=cited))
        elif line.strip() and found:
            before = found[-1]
            more = f"{before.value} {line.strip()}".strip()
            found[-1] = Fact(name=before.name, value=more, line=before.line, is_cited=before.is_cited or cited)
    return tuple(found)


class NotePage:
    """One note while it is rendered. The renderer finds it in the environment of the parse."""

    def __init__(self, lines: Sequence[str], *, path: str, marks: Sequence[Mark], links: Links, first: int) -> None:
        self.path = path
        self.marks = marks
        self.links = links
        self.first = first
        self.anchors = Anchors()
        self.sanitiser = Sanitiser(self._href, self._src)
        self.sign = self.sanitiser.sign
        self.remote_pictures = 0
        self.in_table = False
        self._lines = lines
        self._offsets = [0, *accumulate(len(line) + 1 for line in lines)]
        self._slugs: dict[str, int] = {}
        self._blocks: list[str] = []
        self._md = reader(NoteRenderer)

    def render(self, lines: Sequence[str]) -> str:
        env: dict[str, Any] = {"page": self, "references": self._references(len(lines))}
        tokens = self._md.parse("\n".join(lines), env)
        html = self.sanitiser.clean(self._md.renderer.render(tokens, self._md.options, env))
        for number, block in enumerate(self._blocks):
            html = html.replace(f"{self.sign}{number}.", block, 1)
        return html

    def _references(self, shown: int) -> dict[str, Any]:
        """Read the link definitions outside the window, so that links inside it find their targets."""
        last = self.first - 1 + shown
        outside = [*self._lines[: self.first - 1], *self._lines[last:]]
        env: dict[str, Any] = {}
        self._md.parse("\n\n".join(line for line in outside if _REFERENCE.match(line)), env)
        return cast("dict[str, Any]", env.get("references", {}))

    def numbers(self, token: Token) -> tuple[int, int] | None:
        """The lines of the file that a block token covers, 1-based, inclusive."""
        return (token.map[0] + self.first, max(token.map[0] + 1, token.map[1]) + self.first - 1) if token.map else None

    def kept(self, html: str) -> str:
        """Put HTML of our own aside until the note is cleaned; return what stands for it."""
        self._blocks.append(html)
        return f"{self.sign}{len(self._blocks) - 1}."

    def heading_id(self, title: str) -> str:
        name = slug(title)
        count = self._slugs.get(name, 0)
        self._slugs[name] = count + 1
        return f"{name}-{count}" if count else name

    def inline(self, token: Token, inside: str, options: OptionsDict, env: EnvType) -> str:
        """Render the text of a block that begins `inside` an element of this token type, "" for none of note."""
        passage = self._cut(token, env)
        pieces = self._lead(passage, inside)
        renderer = cast("NoteRenderer", self._md.renderer)
        part = 0
        for index, child in enumerate(passage.children):
            count = boundaries_in(child, passage.boundary) if passage.boundary else 0
            if child.type == "text" and count:
                for number, text in enumerate(child.content.split(passage.boundary)):
                    mark = passage.marks[part + number]
                    pieces.append(Piece(escape(text, quote=False), mark=mark))
            else:
                html = without(renderer.one(passage.children, index, options, env), passage.boundary)
                mark = passage.marks[part + count]
                pieces.append(Piece(html, nesting=child.nesting, mark=mark))
            part += count
        return wrap(pieces, self.anchors, self.sign)

    def _lead(self, passage: Passage, inside: str) -> list[Piece]:
        """Take the box of a task, or the kind of a callout, off the beginning of a list item or a quote."""
        lead = passage.children[0] if passage.children else None
        pattern = {"list_item_open": _TASK, "blockquote_open": _CALLOUT}.get(inside)
        match = pattern.match(lead.content) if pattern and lead and lead.type == "text" else None
        if match is None or lead is None:
            return []
        lead.content = lead.content[match.end() :]
        if inside == "blockquote_open":
            return [Piece(f"<strong>{escape(match['kind'].capitalize())}</strong> ", mark=passage.marks[0])]
        return [Piece("☐ " if match["done"] == " " else "☑ ", mark=passage.marks[0])]

    def _cut(self, token: Token, env: EnvType) -> Passage:
        children = token.children or []
        lines = self.numbers(token)
        if not self.marks or self.in_table or lines is None:
            return Passage(children=children, boundary="", marks=(None,))
        marks = marks_on(self.marks, self._offsets[lines[0] - 1], self._offsets[lines[1]])
        if not marks:
            return Passage(children=children, boundary="", marks=(None,))
        places = InlinePlaces(token.content, self._lines, self._offsets, lines[0] - 1)
        return cut_inline(self._md, token, places, marks, cast("dict[str, Any]", env))

    def mark_of(self, token: Token) -> Mark | None:
        lines = self.numbers(token)
        return mark_of_lines(self.marks, *lines) if lines and self.marks else None

    def _href(self, written: str) -> str | None:
        if written.startswith(self.sign):
            return written.removeprefix(self.sign)
        target = read_target(unescape(written), self.path)
        match target.kind:
            case TargetKind.HERE:
                return f"#{ID_PREFIX}{target.fragment}"
            case TargetKind.OUTSIDE:
                return target.address
            case TargetKind.FILE:
                return self.links.file(target.path) + _at(target.fragment)
        return None

    def _src(self, written: str) -> str | None:
        if written.startswith(self.sign):
            return written.removeprefix(self.sign)
        target = read_target(unescape(written), self.path)
        if target.kind is TargetKind.PICTURE:
            return target.address
        return self.links.picture(target.path) if target.kind is TargetKind.FILE else None


def _at(fragment: str) -> str:
    if not fragment:
        return ""
    return f"#{fragment}" if re.fullmatch(r"L\d+", fragment) else f"#{ID_PREFIX}{quote(fragment)}"
