"""HTML to a source map: lines with heading path, source line and anchor."""

from __future__ import annotations

import codecs
import re
from typing import cast

from lxml import etree, html

from knowledge.parsing.base import ParseCode, ParseError, ParseInput
from knowledge.parsing.decoding import Decoded, decode_text
from knowledge.parsing.derived import Derived
from knowledge.parsing.file_types import type_for_name
from knowledge.parsing.html_text import read_html
from knowledge.parsing.lines import one_line
from knowledge.parsing.source_map import Place, ResourceKind, SourceMap
from knowledge.parsing.text_size import check_data_size

_DECLARED = re.compile(
    rb"<meta[^>]+charset\s*=\s*[\"']?([\w.:-]+)|<\?xml[^>]+encoding\s*=\s*[\"']([\w.:-]+)", re.IGNORECASE
)
_DECLARED_WITHIN = 4096
_XML_DECLARATION = re.compile(r"\A\s*<\?xml.*?\?>", re.DOTALL)
#: What breaks a page into elements; of another version it may break it in another way.
LIBRARIES = f"{etree.LXML_VERSION[0]}.{etree.LXML_VERSION[1]}/{etree.LIBXML_VERSION[0]}.{etree.LIBXML_VERSION[1]}"


class HtmlParser:
    """Reads HTML and XHTML pages."""

    provider_id = "html"
    revision = f"2/{LIBRARIES}"

    def can_parse(self, item: ParseInput) -> bool:
        found = type_for_name(item.name)
        return found is not None and found.kind is ResourceKind.HTML

    def parse(self, item: ParseInput) -> SourceMap:
        check_data_size(item.data, item.limits)
        decoded = decode_html(item.data, encoding=item.options.get("encoding"))
        root = parse_html(decoded.text)
        derived = Derived()
        _add_title(root, derived)
        first = derived.next_line
        read_html(root, derived, Place())
        if derived.next_line == first:
            raise ParseError(ParseCode.NO_TEXT, "the page holds no text but its title")
        return derived.source_map(self, item, ResourceKind.HTML, title=page_title(root), meta=dict(decoded.meta))


def _add_title(root: etree._Element, derived: Derived) -> None:
    """Add the title that stands over the page in a browser, unless the first heading says the same."""
    element, title = root.find(".//title"), page_title(root)
    heading = next(root.iter("h1", "h2", "h3", "h4", "h5", "h6"), None)
    is_heading = heading is not None and one_line("".join(map(str, heading.itertext()))) == title
    if element is not None and title and not is_heading:
        place = Place(line=cast("int | None", element.sourceline))
        derived.add(title, place, "heading")
        derived.add_blank(place)


def decode_html(data: bytes, *, encoding: str | None = None) -> Decoded:
    """Decode a page by the choice given, by what it declares if that holds, else by content. Raises ParseError."""
    if encoding:
        return decode_text(data, encoding=encoding)
    declared = _DECLARED.search(data, 0, _DECLARED_WITHIN)
    if declared and not data.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        try:
            return decode_text(data, encoding=_web_name((declared[1] or declared[2]).decode()))
        except ParseError as error:
            if error.code is not ParseCode.NEEDS_ENCODING:
                raise
    return decode_text(data)


def parse_html(text: str) -> etree._Element:
    """Parse a page; no script runs, nothing is fetched. Raises ParseError: corrupt, too_large (nested too deep)."""
    blanked = _XML_DECLARATION.sub(lambda found: "\n" * found[0].count("\n"), text)
    parser = html.HTMLParser(encoding="utf-8", no_network=True, huge_tree=True, remove_comments=True, remove_pis=True)
    try:
        root = html.document_fromstring(blanked.encode(), parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError) as error:
        raise ParseError(ParseCode.CORRUPT, "the page cannot be read") from error
    if any(entry.level == etree.ErrorLevels.FATAL for entry in parser.error_log):
        raise ParseError(ParseCode.TOO_LARGE, "the page is nested too deep")  # the rest would be missing silently
    return root


def page_title(root: etree._Element) -> str | None:
    """Return the title that a page gives itself."""
    title = root.find(".//title")
    return one_line("".join(map(str, title.itertext()))) or None if title is not None else None


def _web_name(name: str) -> str:
    """Return the encoding that browsers take a label for: GB2312 pages are GBK, Latin-1 pages are windows-1252."""
    lowered = name.lower()
    if lowered in {"gb2312", "gbk", "gb_2312-80", "x-gbk"}:
        return "gb18030"
    if lowered in {"iso-8859-1", "latin1", "us-ascii", "ascii"}:
        return "cp1252"
    return {"shift_jis": "cp932", "euc-kr": "cp949", "ks_c_5601-1987": "cp949", "big5": "cp950"}.get(lowered, name)
