"""File names are bytes; this is their one text form, which every database column, JSON body and page can hold.

Valid UTF-8 stays itself. A byte that is not valid UTF-8 becomes `\\xHH` (lower-case hex), a backslash becomes `\\\\`.
Each name has exactly one text form, so another spelling of the same bytes (`\\x41` for `A`) is refused: it would slip
past a rule written for the plain spelling. NFC and NFD stay two names, as they are to the file system.
"""

from __future__ import annotations

import re

from mnote.files.errors import InvalidPath

_ESCAPE = re.compile(rb"\\(\\|x[0-9a-f]{2})")


def name_to_text(name: bytes) -> str:
    """Give the text form of one path component.

    Raises:
        InvalidPath: empty, `.`, `..`, or holding `/` or NUL.
    """
    text = _escaped(name)
    _check_component(name, text)
    return text


def text_to_name(text: str) -> bytes:
    """Give the bytes of one path component back.

    Raises:
        InvalidPath: not the text form of any name.
    """
    name = _unescaped(text)
    _check_component(name, text)
    return name


def path_to_text(path: bytes) -> str:
    """Give the text form of a whole path relative to a root; `b""` (the root itself) gives `""`.

    Raises:
        InvalidPath: absolute, or a component that is no name.
    """
    text = _escaped(path)
    for name in path.split(b"/") if path else ():
        _check_component(name, text)
    return text


def path_to_bytes(text: str) -> bytes:
    """Give the bytes of a whole relative path back; `""` (the root itself) gives `b""`.

    Raises:
        InvalidPath: absolute, `.` or `..` or an empty component, NUL, or no text form of any path.
    """
    path = _unescaped(text)
    for name in path.split(b"/") if text else ():
        _check_component(name, text)
    return path


def _escaped(raw: bytes) -> str:
    return raw.replace(b"\\", b"\\\\").decode("utf-8", "backslashreplace")


def _unescaped(text: str) -> bytes:
    try:
        raw = text.encode()
    except UnicodeEncodeError as error:
        raise InvalidPath(text.encode("ascii", "backslashreplace").decode(), "not text") from error
    if b"\\" not in raw:
        return raw
    plain = _ESCAPE.sub(_unescape_one, raw)
    if _escaped(plain) != text:
        raise InvalidPath(text, "not the text form of a name")
    return plain


def _unescape_one(match: re.Match[bytes]) -> bytes:
    escape = match.group(1)
    return escape if escape == b"\\" else bytes.fromhex(escape[1:].decode())


def _check_component(name: bytes, text: str) -> None:
    if name in {b"", b".", b".."}:
        raise InvalidPath(text, "empty, '.' or '..' component")
    if b"/" in name or b"\0" in name:
        raise InvalidPath(text.replace("\0", "\\x00"), "'/' or NUL in a name")
