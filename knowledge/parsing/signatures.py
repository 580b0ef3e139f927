"""What the first bytes of a file say it is, to check what its name promises."""

from __future__ import annotations

import re

from knowledge.parsing.base import ParseCode, ParseError
from knowledge.parsing.source_map import ResourceKind

ZIP = "zip"
OLE = "ole"
PDF = "pdf"

_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"PK\x03\x04", ZIP),
    (b"PK\x05\x06", ZIP),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", OLE),
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"\xff\xd8\xff", "jpeg"),
    (b"GIF87a", "gif"),
    (b"GIF89a", "gif"),
    (b"II*\x00", "tiff"),
    (b"MM\x00*", "tiff"),
    (b"\x1f\x8b\x08", "gzip"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"Rar!\x1a\x07", "rar"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x7fELF", "elf"),
    (b"SQLite format 3\x00", "sqlite"),
    (b"\xca\xfe\xba\xbe", "class"),
    (b"ID3", "mp3"),
    (b"OggS\x00", "ogg"),
    (b"{\\rtf", "rtf"),
)
_RIFF = re.compile(rb"RIFF....(WEBP|WAVE|AVI )", re.DOTALL)
_PDF_START = re.compile(rb"%PDF-\d")
_PDF_HEADER_WITHIN = 1024
_CONTAINER: dict[ResourceKind, frozenset[str]] = {
    ResourceKind.PDF: frozenset({PDF}),
    ResourceKind.WORD: frozenset({ZIP, OLE}),
    ResourceKind.SLIDES: frozenset({ZIP, OLE}),
    ResourceKind.SHEET: frozenset({ZIP, OLE}),
}


def signature_of(data: bytes) -> str | None:
    """Return the name of a known binary format, or None for text and anything unknown."""
    for magic, name in _SIGNATURES:
        if data.startswith(magic):
            return name
    riff = _RIFF.match(data)
    if riff:
        return riff[1].decode().strip().lower()
    if _PDF_START.search(data, 0, _PDF_HEADER_WITHIN) and b"endobj" in data:
        return PDF
    return None


def check_content(kind: ResourceKind, data: bytes, *, container: bool) -> None:
    """Check that the content can be of `kind`; `container` says that it must be a zip (EPUB).

    Raises ParseError: unsupported_type for content of another type, corrupt for content of no known type.
    """
    found = signature_of(data)
    wanted = frozenset({ZIP}) if container else _CONTAINER.get(kind, frozenset())
    if found in wanted or (found is None and not wanted):
        return
    if found is not None:
        raise ParseError(ParseCode.UNSUPPORTED_TYPE, f"the name says {kind.value}, the content is {found}")
    if kind is ResourceKind.PDF and _PDF_START.search(data, 0, _PDF_HEADER_WITHIN):
        return  # cut before its first object: the PDF parser says so itself
    raise ParseError(ParseCode.CORRUPT, f"the content is not {kind.value}")
