"""The text of a Word paragraph as it is read: insertions in, deletions, field codes and reading aids out."""

from __future__ import annotations

from collections.abc import Iterator

from lxml import etree

from knowledge.parsing.archives import attribute, local_name

_SKIPPED = frozenset(
    {"del", "moveFrom", "instrText", "delText", "Fallback", "txbxContent", "rt", "pPr", "rPr", "delInstrText", "tblPr"}
)
_MARKS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "ptab": "\t"}


def paragraph_text(paragraph: etree._Element) -> str:
    """Return the text of a paragraph, text boxes left out."""
    return "".join(_pieces(paragraph))


def box_paragraphs(paragraph: etree._Element) -> Iterator[etree._Element]:
    """Yield the paragraphs of text boxes that are anchored in a paragraph, each box once."""
    for element in paragraph:
        name = local_name(element)
        if name == "txbxContent":
            yield from element.iter("{*}p")
        elif name != "Fallback":
            yield from box_paragraphs(element)


def hyperlinks(element: etree._Element) -> Iterator[tuple[str, str]]:
    """Yield relation id and text of the links in an element."""
    for link in element.iter("{*}hyperlink"):
        identity = attribute(link, "id")
        if identity:
            yield identity, " ".join(paragraph_text(link).split())


def _pieces(element: etree._Element) -> Iterator[str]:
    for item in element:
        name = local_name(item)
        if name == "t":
            yield item.text or ""
        elif name in _MARKS:
            yield _MARKS[name]
        elif name == "sym":
            yield _symbol(item)
        elif name not in _SKIPPED:
            yield from _pieces(item)


def _symbol(element: etree._Element) -> str:
    code = attribute(element, "char") or ""
    try:
        return chr(int(code, 16))
    except (ValueError, OverflowError):
        return ""
