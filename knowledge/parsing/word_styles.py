"""What the styles of a Word file say: which paragraphs are headings, lists, captions, the title."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from lxml import etree

from knowledge.parsing.archives import Archive, attribute, child, local_name

#: Names of built-in heading styles; Word writes the English one, other programs write their own language's.
_HEADING = re.compile(
    r"(?:heading|标题|標題|überschrift|titre|título|titulo|見出し|제목|заголовок|titolo|kop|nagłówek|rubrik|overskrift|otsikko|"
    r"nadpis|başlık|címsor|titlu|επικεφαλίδα|כותרת|عنوان|tiêu đề)\s*([1-9])$",
    re.IGNORECASE,
)
_TITLE = re.compile(r"(?:title|标题|標題|titel|titre|título|表題|제목|titolo|заглавие|название)$", re.IGNORECASE)
_CAPTION = re.compile(r"(?:caption|题注|圖說|標號|beschriftung|légende|descripción|図表番号|캡션)$", re.IGNORECASE)
_LIST = re.compile(r"(?:list|列表|列出|liste)\b", re.IGNORECASE)
_BODY_LEVEL = 9
_MAX_DEPTH = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ParagraphStyle:
    """`level` is set for headings, 1 the outermost."""

    level: int | None = None
    is_list: bool = False
    is_caption: bool = False
    is_title: bool = False


@dataclass(frozen=True, slots=True)
class Styles:
    """The styles of one file, by their id."""

    _elements: dict[str, etree._Element] = field(default_factory=dict)

    @classmethod
    def of(cls, archive: Archive, relations: dict[str, tuple[str, str]]) -> Styles:
        name = next((target for kind, target in relations.values() if kind == "styles"), "word/styles.xml")
        root = archive.xml_or_none(name)
        if root is None:
            return cls()
        return cls({attribute(style, "styleId") or "": style for style in root if local_name(style) == "style"})

    def of_paragraph(self, paragraph: etree._Element) -> ParagraphStyle:
        """Return what a paragraph is: its own properties first, then its style and those it is based on."""
        properties = child(paragraph, "pPr")
        style = child(properties, "pStyle") if properties is not None else None
        chain = self._chain(attribute(style, "val") if style is not None else None)
        names = [_value(child(item, "name")) or "" for item in chain]
        own = [properties] if properties is not None else []
        inherited = [found for item in chain if (found := child(item, "pPr")) is not None]
        level = _level([*own, *inherited], names)
        listed = any(child(item, "numPr") is not None for item in [*own, *inherited]) or any(
            map(_LIST.match, names[:1])
        )
        return ParagraphStyle(
            level=level,
            is_list=listed and level is None,
            is_caption=any(map(_CAPTION.match, names)),
            is_title=any(map(_TITLE.match, names[:1])),
        )

    def _chain(self, identity: str | None) -> list[etree._Element]:
        chain: list[etree._Element] = []
        while identity in self._elements and len(chain) < _MAX_DEPTH:
            chain.append(self._elements[identity])
            identity = _value(child(chain[-1], "basedOn"))
        return chain


def _level(properties: list[etree._Element], names: list[str]) -> int | None:
    for item in properties:
        outline = _value(child(item, "outlineLvl"))
        if outline is not None and outline.isdigit():
            return int(outline) + 1 if int(outline) < _BODY_LEVEL else None
    for name in names:
        match = _HEADING.match(name)
        if match:
            return int(match[1])
    return None


def _value(element: etree._Element | None) -> str | None:
    return attribute(element, "val") if element is not None else None
