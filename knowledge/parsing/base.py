"""The parse seam (spec 10.1): bytes of one file in, source map or typed refusal out. Parsers never write anywhere."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from knowledge.parsing.source_map import SourceMap


class ParseCode(StrEnum):
    """Why a file could not be read. The value is public: API, pages and docs/errors.md use it."""

    UNSUPPORTED_TYPE = "unsupported_type"
    ENCRYPTED = "encrypted"
    CORRUPT = "corrupt"
    EMPTY = "empty"
    NO_TEXT = "no_text"
    TOO_LARGE = "too_large"
    NEEDS_ENCODING = "needs_encoding"
    PARSE_FAILED = "parse_failed"
    PARSE_TIMEOUT = "parse_timeout"


class ParseError(Exception):
    """A file that cannot be read. `retryable` only where trying again could help without the file changing."""

    def __init__(self, code: ParseCode, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.retryable = retryable

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.code, self.message, self.retryable)


def _rebuild(code: ParseCode, message: str, retryable: bool) -> ParseError:  # noqa: FBT001 pickle calls by position
    return ParseError(code, message, retryable=retryable)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseLimits:
    """Bounds of one parse. Sizes in bytes, time in seconds."""

    max_bytes: int = 200 * 1024 * 1024
    max_text_chars: int = 20_000_000
    max_pages: int = 5_000
    max_zip_entries: int = 20_000
    max_unzipped_bytes: int = 512 * 1024 * 1024
    max_zip_ratio: int = 200
    seconds: float = 120.0
    memory_bytes: int = 2 * 1024 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseInput:
    """One file to read. `name` is the base name (type by extension, checked against `data`); `data` its bytes."""

    name: str
    data: bytes
    source_hash: str
    limits: ParseLimits = field(default_factory=ParseLimits)
    options: dict[str, Any] = field(default_factory=dict)


class ParseProvider(Protocol):
    """One parser. `provider_id` is one of markdown, text, liteparse, office, html (spec 10.1).

    `revision` changes whenever the same bytes may give another source map, so that stale maps are found.
    """

    provider_id: str
    revision: str

    def can_parse(self, item: ParseInput) -> bool:
        """Say whether this parser reads files of this name and content."""
        ...

    def parse(self, item: ParseInput) -> SourceMap:
        """Read the file. Raises ParseError."""
        ...
