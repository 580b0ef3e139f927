"""Choose the parser of a file: by its extension, checked against its content."""

from __future__ import annotations

from importlib import import_module

from knowledge.parsing.base import ParseCode, ParseError, ParseInput, ParseProvider
from knowledge.parsing.file_types import SUPPORTED, FileType, type_for_name
from knowledge.parsing.signatures import check_content
from knowledge.parsing.source_map import ResourceKind, SourceMap

__all__ = ["SUPPORTED", "FileType", "is_supported", "kind_for_name", "parse_bytes", "parser_for", "type_for_name"]

#: Module of this package to its class. Loaded when first used: a process that parses no PDF never loads that parser.
_PARSERS = {
    "markdown": "MarkdownParser",
    "text": "TextParser",
    "pdf": "PdfParser",
    "word": "WordParser",
    "sheets": "SheetsParser",
    "slides": "SlidesParser",
    "html_pages": "HtmlParser",
    "epub": "EpubParser",
    "csv_rows": "CsvParser",
    "mail_parts": "MailParser",
}


def kind_for_name(name: str) -> ResourceKind | None:
    """Return what a file of this base name is read as, or None when it is not read."""
    found = type_for_name(name)
    return found.kind if found is not None else None


def is_supported(name: str) -> bool:
    """Say whether a file of this base name can give text; images cannot, though they can be shown."""
    found = type_for_name(name)
    return found is not None and bool(found.parser)


def parser_for(name: str) -> ParseProvider:
    """Return the parser of a base name. Raises ParseError unsupported_type, or no_text for images."""
    found = type_for_name(name)
    if found is None:
        raise ParseError(ParseCode.UNSUPPORTED_TYPE, "files of this name are not read")
    if not found.parser:
        raise ParseError(ParseCode.NO_TEXT, "an image holds no text of its own")
    module = import_module(f"knowledge.parsing.{found.parser}")
    make = getattr(module, _PARSERS[found.parser])
    parser: ParseProvider = make(name) if found.parser == "text" else make()
    return parser


def parse_bytes(item: ParseInput) -> SourceMap:
    """Parse one file in this process. Raises ParseError."""
    if len(item.data) > item.limits.max_bytes:
        raise ParseError(ParseCode.TOO_LARGE, f"the file has more than {item.limits.max_bytes} bytes")
    if not item.data:
        raise ParseError(ParseCode.EMPTY, "the file is empty")
    parser = parser_for(item.name)
    found = type_for_name(item.name)
    if found is not None:
        check_content(found.kind, item.data, container=found.parser == "epub")
    return parser.parse(item)
