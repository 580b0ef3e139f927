"""EPUB to a source map: the chapters in reading order, each line placed by chapter, line and anchor."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from urllib.parse import unquote

from lxml import etree

from knowledge.parsing.archives import Archive, attribute, child, local_name
from knowledge.parsing.base import ParseCode, ParseError, ParseInput
from knowledge.parsing.derived import Derived
from knowledge.parsing.file_types import BOOK, type_for_name
from knowledge.parsing.html_pages import LIBRARIES, decode_html, page_title, parse_html
from knowledge.parsing.html_text import read_html
from knowledge.parsing.lines import one_line
from knowledge.parsing.source_map import Place, ResourceKind, SourceMap

_PAGES = frozenset({"application/xhtml+xml", "text/html", "application/html"})
#: Fonts may be disguised without the book being locked.
_FONT_DISGUISES = frozenset({"http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"})


class EpubParser:
    """Reads books without a lock."""

    provider_id = "html"
    revision = f"epub-1/{LIBRARIES}"

    def can_parse(self, item: ParseInput) -> bool:
        return type_for_name(item.name) is BOOK

    def parse(self, item: ParseInput) -> SourceMap:
        archive = Archive(item.data, item.limits)
        _check_lock(archive)
        package_name = _package_name(archive)
        package = archive.xml(package_name)
        derived = Derived()
        for name in _chapters(archive, package, posixpath.dirname(package_name)):
            _read_chapter(archive, name, derived)
        return derived.source_map(self, item, ResourceKind.HTML, title=_title(package))


def _check_lock(archive: Archive) -> None:
    root = archive.xml_or_none("META-INF/encryption.xml")
    methods = root.iter("{*}EncryptionMethod") if root is not None else ()
    if any(attribute(method, "Algorithm") not in _FONT_DISGUISES for method in methods):
        raise ParseError(ParseCode.ENCRYPTED, "the book is locked")


def _package_name(archive: Archive) -> str:
    root = archive.xml_or_none("META-INF/container.xml")
    files = root.iter("{*}rootfile") if root is not None else ()
    for file in files:
        name = unquote(attribute(file, "full-path") or "")
        if archive.has(name):
            return name
    raise ParseError(ParseCode.CORRUPT, "the archive holds no book")


def _chapters(archive: Archive, package: etree._Element, folder: str) -> Iterator[str]:
    manifest, spine = child(package, "manifest"), child(package, "spine")
    if manifest is None or spine is None:
        raise ParseError(ParseCode.CORRUPT, "the book has no reading order")
    items = {attribute(item, "id"): item for item in manifest if local_name(item) == "item"}
    for reference in spine:
        item = items.get(attribute(reference, "idref"))
        if item is not None and attribute(item, "media-type") in _PAGES:
            name = posixpath.normpath(posixpath.join(folder, unquote(attribute(item, "href") or "")))
            if archive.has(name):
                yield name


def _read_chapter(archive: Archive, name: str, derived: Derived) -> None:
    try:
        root = parse_html(decode_html(archive.read(name)).text)
    except ParseError as error:
        if error.code is ParseCode.EMPTY:
            return
        raise
    place = Place(part=name)
    derived.add_blank(place)
    derived.start_block()
    before, headings = derived.next_line, len(derived.headings)
    title = page_title(root)
    read_html(root, derived, place)
    if title and len(derived.headings) == headings and derived.next_line > before:
        derived.open_section(title, at=before)


def _title(package: etree._Element) -> str | None:
    title = next(package.iter("{*}title"), None)
    return one_line(title.text or "") or None if title is not None else None
