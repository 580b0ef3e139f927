"""Bytes to text for every text format. Never guesses silently: what cannot be decided is `needs_encoding`."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from knowledge.parsing.base import ParseCode, ParseError
from knowledge.parsing.charsets import guess_encoding, guess_utf16
from knowledge.parsing.lines import normalise_breaks

_MARKS: tuple[tuple[bytes, str], ...] = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
    (b"\x84\x31\x95\x33", "gb18030"),
)
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\x08\x0b\x0c\x1a\x1b"))
_ESCAPED_JAPANESE = re.compile(rb"\x1b\$[@B]")
#: Share of control bytes above which bytes are no text.
_BINARY_SHARE = 0.01
#: Below this confidence the user is asked.
_DECIDED = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """Text with LF line ends and no byte order mark, the encoding it came from and how sure that is, 0 to 1."""

    text: str
    encoding: str
    confidence: float

    @property
    def meta(self) -> dict[str, str | float]:
        return {"encoding": self.encoding, "encodingConfidence": self.confidence}


def decode_text(data: bytes, *, encoding: str | None = None) -> Decoded:
    """Decode the bytes of a text file; `encoding` is the user's choice, which then decides alone.

    Raises ParseError: empty (nothing but white space), corrupt (binary), needs_encoding.
    """
    if not data.strip(b" \t\r\n\x0b\x0c"):
        raise ParseError(ParseCode.EMPTY, "the file is blank")
    decoded = _by_choice(data, encoding) if encoding else _by_content(data)
    text = normalise_breaks(decoded.text)
    if not text.strip(" \t\n\x0b\x0c\ufeff\u3000\xa0"):
        raise ParseError(ParseCode.EMPTY, "the file is blank")
    if "\x00" in text:
        text = _without_nuls(text)
    return Decoded(text=text, encoding=decoded.encoding, confidence=decoded.confidence)


def _by_choice(data: bytes, encoding: str) -> Decoded:
    try:
        name = codecs.lookup(encoding).name
        text = data.decode(name)
    except (LookupError, UnicodeError, TypeError) as error:
        raise ParseError(ParseCode.NEEDS_ENCODING, "the bytes are not in the chosen encoding") from error
    return Decoded(text=text.removeprefix("\ufeff"), encoding=name, confidence=1.0)


def _by_content(data: bytes) -> Decoded:
    for mark, name in _MARKS:
        if data.startswith(mark):
            return _strictly(data[len(mark) :], name, 1.0)
    if len(data.translate(None, _CONTROLS)) < len(data) * (1 - _BINARY_SHARE):
        return _as_utf16(data)
    if data.isascii():
        return _as_ascii(data)
    try:
        return Decoded(text=data.decode(), encoding="utf-8", confidence=1.0)
    except UnicodeDecodeError:
        return _as_legacy(data)


def _strictly(data: bytes, name: str, confidence: float) -> Decoded:
    try:
        return Decoded(text=data.decode(name), encoding=name, confidence=confidence)
    except UnicodeError as error:
        raise ParseError(ParseCode.NEEDS_ENCODING, f"the bytes are cut or not {name}") from error


def _as_ascii(data: bytes) -> Decoded:
    if _ESCAPED_JAPANESE.search(data):
        try:
            return Decoded(text=data.decode("iso2022_jp_ext"), encoding="iso2022_jp", confidence=0.95)
        except UnicodeDecodeError:
            pass  # terminal output may hold the same escape
    return Decoded(text=data.decode("ascii"), encoding="utf-8", confidence=1.0)


def _as_utf16(data: bytes) -> Decoded:
    """Decode bytes with many controls, NULs above all: UTF-16 without a mark, or no text at all."""
    name = guess_utf16(data[: len(data) // 2 * 2])
    if name is None:
        raise ParseError(ParseCode.CORRUPT, "the content is binary, not text")
    return _strictly(data, name, 0.95)


def _as_legacy(data: bytes) -> Decoded:
    if _is_broken_utf8(data):
        raise ParseError(ParseCode.NEEDS_ENCODING, "the bytes are UTF-8 with characters cut or damaged")
    for guess in guess_encoding(data):
        if guess.confidence < _DECIDED:
            break
        try:
            return Decoded(text=data.decode(guess.encoding), encoding=guess.encoding, confidence=guess.confidence)
        except UnicodeDecodeError:
            break  # a rival that fits by chance would be mojibake
    raise ParseError(ParseCode.NEEDS_ENCODING, "the encoding cannot be told from the bytes")


def _is_broken_utf8(data: bytes) -> bool:
    """Say whether bytes are UTF-8 but for few places: real legacy text hardly ever holds valid UTF-8 sequences."""
    text = data.decode(errors="replace")
    bad = text.count("\ufffd") - data.count(b"\xef\xbf\xbd")
    good = len(text) - len(text.encode("ascii", errors="ignore")) - text.count("\ufffd")
    cut_end = data[:-1].isascii() is False and _ends_cut(data)
    return good >= 2 * bad or cut_end


def _ends_cut(data: bytes) -> bool:
    """Say whether all is UTF-8 and only the last character, of which at least two bytes are there, is cut."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data" and len(data) - error.start >= 2
    return False


def _without_nuls(text: str) -> str:
    if text.count("\x00") > len(text) * _BINARY_SHARE:
        raise ParseError(ParseCode.CORRUPT, "the content is binary, not text")
    return text.replace("\x00", " ")  # a crash leaves NULs in a log; a database column cannot hold them
