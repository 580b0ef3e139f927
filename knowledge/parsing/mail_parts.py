"""Mail (eml) to a source map: the headers, then each text part, placed by the part's number."""

from __future__ import annotations

from collections.abc import Iterator
from email.errors import MessageError
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import default

from knowledge.parsing.base import ParseCode, ParseError, ParseInput
from knowledge.parsing.decoding import decode_text
from knowledge.parsing.derived import Derived
from knowledge.parsing.file_types import type_for_name
from knowledge.parsing.html_pages import decode_html, parse_html
from knowledge.parsing.html_text import read_html
from knowledge.parsing.lines import one_line, split_lines
from knowledge.parsing.source_map import Place, ResourceKind, SourceMap

_HEADERS = ("Subject", "From", "To", "Cc", "Date")
_TEXT = frozenset({"text/plain", "text/html"})
_HEADER_PART = "headers"
_MAX_DEPTH = 20


class MailParser:
    """Reads single messages; attachments are named, not read."""

    provider_id = "text"
    revision = "mail-1"

    def can_parse(self, item: ParseInput) -> bool:
        found = type_for_name(item.name)
        return found is not None and found.kind is ResourceKind.MAIL

    def parse(self, item: ParseInput) -> SourceMap:
        if not item.data.strip():
            raise ParseError(ParseCode.EMPTY, "the file is blank")
        try:
            message = BytesParser(EmailMessage, policy=default).parsebytes(item.data)
            derived = Derived()
            _read_message(message, "", derived)
            subject = _header(message, "Subject")
        except (MessageError, LookupError, ValueError) as error:
            raise ParseError(ParseCode.CORRUPT, "the message cannot be read") from error
        if not message.keys():
            raise ParseError(ParseCode.CORRUPT, "the file has no mail headers")
        return derived.source_map(self, item, ResourceKind.MAIL, title=subject or None)


def _read_message(message: EmailMessage, number: str, derived: Derived) -> None:
    place = Place(part=f"{number}.{_HEADER_PART}".lstrip("."))
    derived.add_blank(place)
    derived.start_block()
    subject = _header(message, "Subject")
    if subject:
        derived.open_section(subject, level=1 + number.count(".") + bool(number))
    for name in _HEADERS:
        value = _header(message, name)
        if value:
            derived.add(f"{name}: {value}", place, "front_matter", group=number)
    for path, part in _parts(message, number):
        _read_part(part, path, derived)


def _parts(part: EmailMessage, number: str) -> Iterator[tuple[str, EmailMessage]]:
    """Yield the leaves and inner messages with their numbers; of alternatives only the simplest text."""
    if not part.is_multipart() or part.get_content_type() == "message/rfc822":
        yield number or "1", part
        return
    children = [child for child in part.iter_parts() if isinstance(child, EmailMessage)]
    numbered = [(f"{number}.{index}".lstrip("."), child) for index, child in enumerate(children, start=1)]
    if part.get_content_subtype() == "alternative":
        plain = [entry for entry in numbered if entry[1].get_content_type() == "text/plain"]
        numbered = plain[:1] or numbered[-1:]
    for path, child in numbered:
        if path.count(".") < _MAX_DEPTH:
            yield from _parts(child, path)


def _read_part(part: EmailMessage, path: str, derived: Derived) -> None:
    place = Place(part=path)
    if part.get_content_type() == "message/rfc822":
        inner = part.get_payload(0)
        if isinstance(inner, EmailMessage):
            _read_message(inner, path, derived)
        return
    name = part.get_filename()
    if part.get_content_type() in _TEXT and not part.is_attachment():
        derived.add_blank(place)
        derived.start_block()
        _read_text(part, place, derived)
    elif name:
        derived.add_blank(place)
        derived.add(one_line(name.replace("\ufffd", "_")), place, "caption")


def _read_text(part: EmailMessage, place: Place, derived: Derived) -> None:
    payload = part.get_payload(decode=True)
    data = payload if isinstance(payload, bytes) else b""
    if not data.strip():
        return
    if part.get_content_type() == "text/html":
        read_html(parse_html(_decoded(data, part, is_html=True)), derived, place)
        return
    for line in split_lines(_decoded(data, part, is_html=False).rstrip("\n")):
        derived.add(line.rstrip(), place, "quote" if line.startswith(">") else "paragraph", group=bool(line.strip()))


def _decoded(data: bytes, part: EmailMessage, *, is_html: bool) -> str:
    """Decode a part by its declared charset if that holds, else by content. Raises ParseError."""
    charset = part.get_content_charset()
    decode = decode_html if is_html else decode_text
    try:
        return decode(data, encoding=charset).text if charset and charset != "us-ascii" else decode(data).text
    except ParseError as error:
        if error.code is not ParseCode.NEEDS_ENCODING or not charset:
            raise
        return decode(data).text


def _header(message: EmailMessage, name: str) -> str:
    """Return a header as text; bytes that were written raw are decoded by content."""
    value = message.get(name)
    if value is None:
        return ""
    text = one_line(str(value))
    if "\ufffd" not in text:
        return text
    raw = next((raw for key, raw in message.raw_items() if key.lower() == name.lower()), "")
    try:
        return one_line(decode_text(str(raw).encode("ascii", "surrogateescape")).text)
    except (ParseError, UnicodeError):
        return text.replace("\ufffd", "")
