"""Marks inside a paragraph of Markdown: where they begin and end, kept through the parsing of emphasis and links.

A rare punctuation character is put where marks begin and end, then looked for in the parsed result. Where it would
change how the text is read, it is moved out of the way; where that fails the whole paragraph is marked.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import Any
from urllib.parse import quote

from markdown_it import MarkdownIt
from markdown_it.token import Token

from knowledge.rendering.marks import Anchors, Mark, cut

#: Punctuation, so that it delimits emphasis as white space would; of scripts no longer written.
_RARE = "\U00010a51\U00010a52\U00010a53\U00016e98"
_DELIMITERS = "*_~`[]()<>!\\"


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """The content of an inline token cut where marks begin and end. `boundary` is the character that stands there,
    "" when no mark begins or ends inside; `marks` has one entry for each part."""

    children: Sequence[Token]
    boundary: str
    marks: tuple[Mark | None, ...]


class InlinePlaces:
    """Where the content of one inline token stands in the text of the document."""

    def __init__(self, content: str, lines: Sequence[str], offsets: Sequence[int], first: int) -> None:
        """`lines` are the document's, `offsets` the characters they begin at, `first` the 0-based line of `content`."""
        self._parts: list[tuple[int, int, int]] = []  # start in the content, start in the document, length
        at = 0
        for number, line in enumerate(content.split("\n"), start=first):
            inner = line.strip()
            column = lines[number].rfind(inner) if number < len(lines) else -1
            if column < 0:
                self._parts = []
                return
            indent = len(line) - len(line.lstrip())
            self._parts.append((at + indent, offsets[number] + column, len(inner)))
            at += len(line) + 1

    @property
    def span(self) -> tuple[int, int] | None:
        """The characters of the document that the content comes from; None when they could not be told."""
        if not self._parts:
            return None
        _, last, length = self._parts[-1]
        return self._parts[0][1], last + length

    def in_content(self, offset: int) -> int:
        """Return where character `offset` of the document stands in the content, or the next that does."""
        for start, origin, length in self._parts:
            if offset <= origin + length:
                return start + max(0, offset - origin)
        start, _, length = self._parts[-1]
        return start + length


def cut_inline(
    md: MarkdownIt, token: Token, places: InlinePlaces, marks: Sequence[Mark], env: dict[str, Any]
) -> Passage:
    """Return the content of `token` cut at its marks; `env` is that of the parse and is not changed."""
    children = token.children or []
    span = places.span
    if span is None or not marks:
        return Passage(children=children, boundary="", marks=(marks[0] if marks else None,))
    parts = list(cut(*span, marks))
    if len(parts) < 2:
        return Passage(children=children, boundary="", marks=(parts[0][2] if parts else None,))
    whole = Passage(children=children, boundary="", marks=(next(mark for _, _, mark in parts if mark),))
    boundary = next((char for char in _RARE if char not in token.content), "")
    if not boundary:
        return whole
    wanted = [places.in_content(start) for start, _, _ in parts[1:]]
    found = [_harmless(md, token.content, at, boundary, env) for at in wanted]
    cuts = [at for at in found if at is not None]
    if len(cuts) < len(wanted) or sorted(set(cuts)) != cuts:
        return whole
    marked = _parse(md, _with_boundaries(token.content, cuts, boundary), env)
    if _told(marked, boundary) != _told(children, boundary) or _count(marked, boundary) != len(cuts):
        return whole
    return Passage(children=marked, boundary=boundary, marks=tuple(mark for _, _, mark in parts))


def _harmless(md: MarkdownIt, content: str, at: int, boundary: str, env: dict[str, Any]) -> int | None:
    """Return the place nearest to `at` where the boundary does not change how the text is read."""
    left = right = at
    while left > 0 and content[left - 1] in _DELIMITERS:
        left -= 1
    while right < len(content) and content[right] in _DELIMITERS:
        right += 1
    plain = _told(_parse(md, content, env), boundary)
    for place in dict.fromkeys((at, left, right)):
        tokens = _parse(md, _with_boundaries(content, [place], boundary), env)
        if _told(tokens, boundary) == plain and _count(tokens, boundary) == 1:
            return place
    return None


def _parse(md: MarkdownIt, content: str, env: dict[str, Any]) -> list[Token]:
    known = {key: copy.deepcopy(value) for key, value in env.items() if key in {"references", "footnotes"}}
    return md.inline.parse(content, md, known, [])


def _with_boundaries(content: str, cuts: Sequence[int], boundary: str) -> str:
    edges = [0, *cuts, len(content)]
    return boundary.join(content[left:right] for left, right in pairwise(edges))


def _told(tokens: Sequence[Token], boundary: str) -> list[tuple[str, str]]:
    """Return what the tokens say, without boundaries and however the text is split."""
    found: list[tuple[str, str]] = []
    for token in tokens:
        attributes = ";".join(f"{key}={value}" for key, value in sorted(token.attrs.items()))
        said = without(token.content + attributes, boundary)
        if token.type == "text" and found and found[-1][0] == "text":
            found[-1] = ("text", found[-1][1] + said)
        elif said or token.type != "text":
            found.append((token.type, said))
    return found


def _count(tokens: Sequence[Token], boundary: str) -> int:
    return sum(boundaries_in(token, boundary) for token in tokens)


def boundaries_in(token: Token, boundary: str) -> int:
    """Count the boundaries in a token, each once: an image repeats its content in its children."""
    values = [token.content, *(str(value) for value in token.attrs.values())]
    return sum(value.count(boundary) + value.count(quote(boundary)) for value in values)


def without(text: str, boundary: str) -> str:
    """Return `text` without boundaries, also those that were percent-encoded in an address."""
    return text.replace(boundary, "").replace(quote(boundary), "") if boundary else text


@dataclass(slots=True)
class Piece:
    """A part of rendered inline text: HTML, how it nests (1 opens, -1 closes), and its mark."""

    html: str
    nesting: int = 0
    mark: Mark | None = None


@dataclass(slots=True)
class _Node:
    opening: str = ""
    closing: str = ""
    mark: Mark | None = None
    mixed: bool = False
    children: list[_Node] = field(default_factory=list)

    @property
    def html(self) -> str:
        return self.opening + "".join(child.html for child in self.children) + self.closing


def wrap(pieces: Sequence[Piece], anchors: Anchors, sign: str) -> str:
    """Return the pieces as HTML, each run of one mark in as few elements as nesting allows."""
    return "".join(_emit(_tree(pieces), anchors, sign))


def _tree(pieces: Sequence[Piece]) -> list[_Node]:
    top = _Node()
    path = [top]
    for piece in pieces:
        if piece.nesting < 0 and len(path) > 1:
            node = path.pop()
            node.closing = piece.html
            _sum_up(node)
            continue
        node = _Node(opening=piece.html, mark=piece.mark)
        path[-1].children.append(node)
        if piece.nesting > 0:
            path.append(node)
    return top.children


def _sum_up(node: _Node) -> None:
    marks = {id(child.mark) for child in node.children if not child.mixed}
    node.mixed = len(marks) > 1 or any(child.mixed for child in node.children)
    if node.children:
        node.mark = node.children[0].mark


def _emit(nodes: Sequence[_Node], anchors: Anchors, sign: str) -> Iterator[str]:
    is_first = True
    for (mixed, _), group in groupby(nodes, key=lambda node: (node.mixed, id(node.mark))):
        found = list(group)
        is_inside, is_first = not is_first, False
        mark = found[0].mark
        if mixed:
            for node in found:
                yield from (node.opening, *_emit(node.children, anchors, sign), node.closing)
        elif mark is None:
            yield from (node.html for node in found)
        else:
            yield anchors.opening(mark, sign=sign, is_inside=is_inside)
            yield from (node.html for node in found)
            yield "</mark>"
