"""Walk a tree of HTML and give its text line by line, as a browser would break it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import cast

from lxml import etree

from knowledge.parsing.archives import local_name
from knowledge.parsing.derived import Derived
from knowledge.parsing.lines import CELL_GAP, one_line
from knowledge.parsing.source_map import Link, Place

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_DROPPED = frozenset({"script", "style", "noscript", "template", "head", "svg", "iframe", "object", "canvas", "select"})
_KINDS = {
    "li": "list",
    "dt": "list",
    "dd": "list",
    "blockquote": "quote",
    "pre": "code",
    "figcaption": "caption",
    "caption": "caption",
    **dict.fromkeys(_HEADINGS, "heading"),
}
_BLOCKS = frozenset(
    {
        *_KINDS,
        *("p", "div", "section", "article", "main", "header", "footer", "nav", "aside", "ul", "ol", "dl", "table"),
        *("thead", "tbody", "tfoot", "tr", "td", "th", "form", "fieldset", "legend", "figure", "hr", "address", "body"),
        *("details", "summary", "dialog", "option", "html", "center"),
    }
)
#: Blocks with white around them; the lines of the others stand close together.
_SPACED = frozenset(
    {"p", "div", "section", "article", "ul", "ol", "dl", "table", "blockquote", "pre", "figure", *_HEADINGS}
)
_NOT_A_ROW = frozenset({"table", *_HEADINGS})
#: libxml2 stops counting lines here.
_LAST_COUNTED_LINE = 65_535


def read_html(root: etree._Element, derived: Derived, place: Place) -> None:
    """Add the lines of a tree; every place is `place` with line and anchor. Scripts and hidden parts are left out."""
    _Walk(derived, place).read(root)


@dataclass(slots=True)
class _Walk:
    derived: Derived
    place: Place
    _text: list[str] = field(default_factory=list)
    _links: list[Link] = field(default_factory=list)
    _line: int | None = None
    _anchor: str | None = None
    _kinds: list[str] = field(default_factory=lambda: ["paragraph"])
    _groups: list[etree._Element] = field(default_factory=list)

    def read(self, root: etree._Element) -> None:
        """Walk without recursion: a page may be nested deeper than the stack."""
        skipping: etree._Element | None = None
        for event, element in etree.iterwalk(root, events=("start", "end")):
            if skipping is not None:
                if event == "end" and element is skipping:
                    skipping = None
                    self._add_tail(element)
            elif event == "end":
                self._close(element)
                if element is not root:
                    self._add_tail(element)
            elif _is_left_out(element):
                skipping = element
            elif local_name(element) == "tr" and _is_row(element):
                self._add_row(element)
                skipping = element
            else:
                self._open(element)
        self._flush()

    def _open(self, element: etree._Element) -> None:
        name = local_name(element)
        if name in _BLOCKS:
            self._flush()
            self._space(name)
            self._kinds.append(_KINDS.get(name, self._kinds[-1]))
            self._groups.append(element)
        self._anchor = element.get("id") or self._anchor
        if name == "br":
            self._break()
        self._note_link(element)
        self._add_text(element.text, element)

    def _close(self, element: etree._Element) -> None:
        name = local_name(element)
        if name in _BLOCKS:
            self._flush(level=_HEADINGS.get(name))
            self._kinds.pop()
            self._groups.pop()
            self._space(name)

    def _space(self, name: str) -> None:
        if name in _SPACED and "list" not in self._kinds[1:]:
            self.derived.add_blank(self.place)

    def _break(self) -> None:
        if self._kinds[-1] in {"code", "heading"}:
            self._text.append("\n")
        else:
            self._flush()

    def _add_text(self, text: str | None, element: etree._Element, inside: int = 0) -> None:
        """Gather text that starts `inside` lines below the line of its element."""
        if not text:
            return
        if self._line is None and text.strip():
            line = cast("int | None", element.sourceline)
            before = text[: len(text) - len(text.lstrip())].count("\n")
            self._line = line + inside + before if line is not None and line < _LAST_COUNTED_LINE else None
        self._text.append(text)

    def _add_tail(self, element: etree._Element) -> None:
        """Gather the text after an element; where the element ends is told by what it holds."""
        if not (element.tail and element.tail.strip()):
            self._text.append(element.tail or "")
            return
        last = element
        while len(last):
            last = last[-1]
        lines = sum(str(text).count("\n") for text in element.itertext(with_tail=False))
        first, below = (cast("int | None", item.sourceline) or 0 for item in (element, last))
        self._add_text(element.tail, element, max(lines, below - first))

    def _note_link(self, element: etree._Element) -> None:
        name = local_name(element)
        target = element.get("href") if name == "a" else element.get("src") if name == "img" else None
        if target:
            text = one_line("".join(_visible_text(element))) if name == "a" else element.get("alt") or ""
            kind = "html" if name == "a" else "embed"
            self._links.append(Link(target=target.strip(), text=text, line=0, kind=kind))

    def _flush(self, *, level: int | None = None) -> None:
        """Turn the text gathered so far into lines."""
        kind = self._kinds[-1]
        raw = "".join(self._text)
        lines = [line.rstrip() for line in raw.split("\n")] if kind == "code" else [one_line(raw)]
        place = self._place(self._line)
        first = next((offset for offset, line in enumerate(lines) if line.strip()), 0)
        kept = [(offset - first, line) for offset, line in enumerate(lines) if line.strip()]
        if level is not None and kept:
            self.derived.add_heading(one_line(raw), place, level)
        else:
            for offset, line in kept:
                at = place.line + offset if place.line is not None else None
                self.derived.add(line, replace(place, line=at), kind, group=self._group(kind))
        if kept:
            self._keep_links()
        self._text, self._line = [], None

    def _group(self, kind: str) -> object:
        """Return what holds the lines together: a list, a quotation, a piece of code; nothing for paragraphs."""
        if kind == "paragraph" or not self._groups:
            return None
        return kind if kind == "list" else self._groups[-1]

    def _add_row(self, row: etree._Element) -> None:
        self._flush()
        cells = [cell for cell in row if local_name(cell) in {"td", "th"}]
        texts = [one_line(" ".join(_visible_text(cell))) for cell in cells]
        if any(texts):
            table = next(row.iterancestors("{*}table", "table"), None)
            self.derived.add(
                CELL_GAP.join(texts), self._place(cast("int | None", row.sourceline)), "table", group=table
            )
            for element in row.iter("{*}a", "a", "{*}img", "img"):
                self._note_link(element)
            self._keep_links()

    def _place(self, line: int | None) -> Place:
        return replace(self.place, line=line, href=f"#{self._anchor}" if self._anchor else None)

    def _keep_links(self) -> None:
        at = len(self.derived.lines)
        self.derived.links += [replace(link, line=at) for link in self._links]
        self._links = []


def _is_left_out(element: etree._Element) -> bool:
    style = (element.get("style") or "").replace(" ", "").lower()
    return local_name(element) in _DROPPED or element.get("hidden") is not None or "display:none" in style


def _is_row(row: etree._Element) -> bool:
    """Say whether a table row is data: pages are also laid out with tables."""
    return not any(local_name(element) in _NOT_A_ROW for element in row.iterdescendants())


def _visible_text(element: etree._Element) -> Iterator[str]:
    skipping: etree._Element | None = None
    for event, item in etree.iterwalk(element, events=("start", "end")):
        if skipping is None and event == "start":
            if _is_left_out(item):
                skipping = item
            else:
                yield item.text or ""
        elif event == "end" and skipping in (None, item):
            skipping = None
            yield (item.tail or "") if item is not element else ""
