"""Absolute paths as `file://` URIs and back. Percent-encoding is over bytes, so any name survives."""

from __future__ import annotations

from urllib.parse import quote_from_bytes, unquote_to_bytes

from mnote.files.errors import InvalidPath
from mnote.files.names import path_to_bytes, path_to_text


def path_to_uri(path: bytes) -> str:
    """Give the URI of an absolute path.

    Raises:
        InvalidPath: not absolute, or not in plain form (`//`, `.`, `..`, trailing `/`, NUL).
    """
    _check_absolute(path)
    return "file://" + quote_from_bytes(path, safe="/")


def uri_to_path(uri: str) -> bytes:
    """Give the absolute path of a `file://` URI. Characters that should have been encoded are taken as UTF-8.

    Raises:
        InvalidPath: another scheme, another host, a query or fragment, or a path that is not plain and absolute.
    """
    scheme, _, rest = uri.partition("://")
    host, slash, encoded = rest.partition("/")
    if scheme != "file" or host not in {"", "localhost"} or not slash or "?" in encoded or "#" in encoded:
        raise InvalidPath("", "not a file URI")
    try:
        raw = unquote_to_bytes("/" + encoded)
    except UnicodeEncodeError as error:
        raise InvalidPath("", "not a file URI") from error
    path = raw.rstrip(b"/") or b"/"
    _check_absolute(path)
    return path


def join_uri(root_uri: str, relative: str) -> str:
    """Give the URI of a path below a root; `relative` is its text form, `""` the root itself.

    Raises:
        InvalidPath: `relative` is no relative path.
    """
    base = root_uri.rstrip("/")
    return f"{base}/{quote_from_bytes(path_to_bytes(relative), safe='/')}" if relative else base or root_uri


def _check_absolute(path: bytes) -> None:
    if path == b"/":
        return
    if not path.startswith(b"/"):
        raise InvalidPath("", "not absolute")
    try:
        path_to_text(path[1:])
    except InvalidPath as error:
        # The path is absolute: it must not travel in a message.
        raise InvalidPath("", error.detail) from None
