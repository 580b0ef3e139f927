"""Zip containers (Office, OpenDocument, EPUB) within bounds, and the XML inside them without entities or network."""

from __future__ import annotations

import posixpath
import struct
import zipfile
import zlib
from io import BytesIO
from urllib.parse import unquote

from lxml import etree

from knowledge.parsing.base import ParseCode, ParseError, ParseLimits
from knowledge.parsing.signatures import OLE, signature_of

#: An entry smaller than this harms nobody, however well it is packed.
_RATIO_FROM_BYTES = 1024 * 1024
_ENCRYPTED_PACKAGE = "EncryptedPackage".encode("utf-16-le")
_IS_ENCRYPTED = 0x1
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, struct.error, ValueError, OSError, KeyError)


class Archive:
    """An opened container. Raises ParseError: encrypted, corrupt, too_large, unsupported_type (not a zip)."""

    def __init__(self, data: bytes, limits: ParseLimits) -> None:
        if signature_of(data) == OLE:
            check_not_locked(data)
            raise ParseError(ParseCode.UNSUPPORTED_TYPE, "the file has the older binary format")
        try:
            self._zip = zipfile.ZipFile(BytesIO(data))
        except _BROKEN as error:
            raise ParseError(ParseCode.CORRUPT, "the file is not a whole archive") from error
        _check(self._zip.infolist(), limits)
        self._names = {info.filename.lower(): info.filename for info in self._zip.infolist()}

    def has(self, name: str) -> bool:
        return name.lower() in self._names

    def read(self, name: str) -> bytes:
        """Return one entry, its name in any case. Raises ParseError corrupt."""
        try:
            return self._zip.read(self._names[name.lower()])
        except _BROKEN as error:
            raise ParseError(ParseCode.CORRUPT, "a part of the file is missing or damaged") from error

    def verify(self) -> None:
        """Unpack everything once, within the sizes that the archive declares. Raises ParseError corrupt."""
        for name in self._names:
            self.read(name)

    def xml(self, name: str) -> etree._Element:
        """Return the root of one XML entry. Raises ParseError corrupt."""
        return parse_xml(self.read(name))

    def xml_or_none(self, name: str) -> etree._Element | None:
        return self.xml(name) if self.has(name) else None

    def relations(self, part: str) -> dict[str, tuple[str, str]]:
        """Return the relations of a part: id to (type, target); targets inside the archive are full names."""
        folder, base = posixpath.split(part)
        root = self.xml_or_none(posixpath.join(folder, "_rels", f"{base}.rels"))
        if root is None:
            return {}
        found = {}
        for relation in root:
            target = relation.get("Target", "")
            if relation.get("TargetMode") != "External":
                target = posixpath.normpath(posixpath.join("/", folder, unquote(target))).lstrip("/")
            found[relation.get("Id", "")] = (relation.get("Type", "").rsplit("/", 1)[-1], target)
        return found

    def main_part(self, default: str) -> str:
        """Return the part that holds the document itself. Raises ParseError unsupported_type when there is none."""
        targets = [target for kind, target in self.relations("").values() if kind == "officeDocument"]
        for name in (*targets, default):
            if self.has(name):
                return name
        raise ParseError(ParseCode.UNSUPPORTED_TYPE, "the archive holds no such document")


def check_not_locked(data: bytes) -> None:
    """Raises ParseError encrypted for an Office file that is wrapped because it has a password."""
    if _ENCRYPTED_PACKAGE in data:
        raise ParseError(ParseCode.ENCRYPTED, "the file is protected by a password")


def parse_xml(data: bytes) -> etree._Element:
    """Parse XML from a stranger: no entities, no network, no DTD. Raises ParseError corrupt."""
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True
    )
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise ParseError(ParseCode.CORRUPT, "a part of the file is not well-formed") from error


def local_name(element: etree._Element) -> str:
    """Return the name of an element without its namespace: strict and transitional Office files differ only there."""
    tag = element.tag
    return tag.rsplit("}", 1)[-1] if isinstance(tag, str) else ""


def attribute(element: etree._Element, name: str) -> str | None:
    """Return an attribute by its local name."""
    for key, value in element.attrib.items():
        if str(key).rsplit("}", 1)[-1] == name:
            return str(value)
    return None


def child(element: etree._Element, *names: str) -> etree._Element | None:
    """Return the first descendant along a path of local names."""
    found: etree._Element | None = element
    for name in names:
        found = next((item for item in found if local_name(item) == name), None) if found is not None else None
    return found


def core_title(archive: Archive) -> str | None:
    """Return the title in the properties of an Office file."""
    root = archive.xml_or_none("docProps/core.xml")
    title = child(root, "title") if root is not None else None
    text = " ".join((title.text or "").split()) if title is not None else ""
    return text or None


def _check(entries: list[zipfile.ZipInfo], limits: ParseLimits) -> None:
    if len(entries) > limits.max_zip_entries:
        raise ParseError(ParseCode.TOO_LARGE, f"the archive has more than {limits.max_zip_entries} entries")
    if sum(entry.file_size for entry in entries) > limits.max_unzipped_bytes:
        raise ParseError(ParseCode.TOO_LARGE, f"unpacked, the file has more than {limits.max_unzipped_bytes} bytes")
    for entry in entries:
        if entry.flag_bits & _IS_ENCRYPTED:
            raise ParseError(ParseCode.ENCRYPTED, "the archive is protected by a password")
        if entry.file_size > max(_RATIO_FROM_BYTES, entry.compress_size * limits.max_zip_ratio):
            raise ParseError(ParseCode.TOO_LARGE, f"an entry is packed more than {limits.max_zip_ratio} to 1")
