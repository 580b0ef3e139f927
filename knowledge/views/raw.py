"""The bytes of a file, and pages of a PDF as pictures. Nothing that a browser would run is ever shown in place."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse, HttpResponseNotModified, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_safe

from knowledge.parsing.base import ParseError
from knowledge.reasons import reason_for
from knowledge.scanner.fingerprint import ChangedWhileReading
from knowledge.services import contents, parsing
from knowledge.views.choosing import number_of, principal_of, root_of, workspace_of
from mnote.exceptions import ServiceUnavailable, Unprocessable
from mnote.files.names import text_to_name
from mnote.files.opening import OpenedFile
from mnote.services import files

#: Types a browser may draw itself. Everything else is a download of unknown type.
_INLINE = {"png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"}
#: Types that an <img> of ours may show, but that are a download when opened by themselves.
_ATTACHED = {
    "svg": "image/svg+xml",
    "avif": "image/avif",
    "bmp": "image/bmp",
    "ico": "image/x-icon",
    "pdf": "application/pdf",
}
_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_RANGE = re.compile(r"bytes=(\d*)-(\d*)$")
_BLOCK = 256 * 1024
_WIDTHS = (600, 900, 1200, 1800, 2400)
_UNSAFE = re.compile(r"[\x00-\x1f\x7f/\\]")


@login_required
@require_safe
def raw(request: HttpRequest, workspace_id: str, path: str) -> HttpResponseBase:
    root = root_of(request, workspace_of(request, workspace_id))
    opened = files.open_file(principal=principal_of(request), root=root, path=path)
    try:
        return _answer(request, opened, wants_download="download" in request.GET)
    except BaseException:
        opened.close()
        raise


@login_required
@require_safe
def page_image(request: HttpRequest, workspace_id: str, path: str) -> HttpResponseBase:
    root = root_of(request, workspace_of(request, workspace_id))
    page, width = number_of(request.GET, "page") or 1, _width(number_of(request.GET, "w"))
    with files.open_file(principal=principal_of(request), root=root, path=path) as opened:
        try:
            etag = f'"{contents.hash_of(root=root, opened=opened)[7:39]}-{page}-{width}"'
            if request.headers.get("If-None-Match") == etag:
                response: HttpResponse = HttpResponseNotModified()
            else:
                image = parsing.render_page(fd=opened.fd, page=page, max_width=width)
                response = HttpResponse(image.png, content_type="image/png")
        except ParseError as error:
            raise Unprocessable(reason_for(error.code.value).sentence) from error
        except ChangedWhileReading as error:
            raise ServiceUnavailable from error
    response.headers["ETag"] = etag
    response.headers["Cache-Control"] = "private, no-cache"
    return response


def _width(wanted: int | None) -> int:
    """Few widths, so that few pictures are made."""
    return next((width for width in _WIDTHS if width >= (wanted or 1200)), _WIDTHS[-1])


def _answer(request: HttpRequest, opened: OpenedFile, *, wants_download: bool) -> HttpResponseBase:
    size, etag = opened.facts.size, _etag(opened)
    headers = _headers(opened, wants_download=wants_download)
    span = _span(request, size, etag)
    if span is None:
        opened.close()
        return HttpResponse(status=416, headers={**headers, "Content-Range": f"bytes */{size}"})
    start, end = span
    headers |= {"Content-Length": str(end - start), "ETag": etag}
    if end - start < size:
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{size}"
    body = _AsyncBody(opened, start, end) if isinstance(request, ASGIRequest) else _Body(opened, start, end)
    response = StreamingHttpResponse(body, status=206 if end - start < size else 200)
    for name, value in headers.items():
        response.headers[name] = value
    return response


def _headers(opened: OpenedFile, *, wants_download: bool) -> dict[str, str]:
    name = opened.path.rpartition("/")[2]
    extension = name.rpartition(".")[2].lower()
    is_inline = extension in _INLINE and not wants_download
    return {
        "Content-Type": _INLINE.get(extension) or _ATTACHED.get(extension) or "application/octet-stream",
        "Content-Disposition": content_disposition_header(not is_inline, file_name(name)) or "attachment",
        "Content-Security-Policy": _POLICY,
        "X-Content-Type-Options": "nosniff",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "private, no-store",
        "Accept-Ranges": "bytes",
    }


def file_name(name: str) -> str:
    """Return a name that a header can carry and any system can save: bytes that are no text become `_`."""
    decoded = text_to_name(name).decode("utf-8", "replace").replace("\ufffd", "_")
    return _UNSAFE.sub("_", decoded)


def _etag(opened: OpenedFile) -> str:
    facts = opened.facts
    return f'"{facts.size:x}-{facts.mtime_ns:x}-{facts.ctime_ns:x}-{facts.inode:x}"'


def _span(request: HttpRequest, size: int, etag: str) -> tuple[int, int] | None:
    """Return the bytes asked for, end exclusive: the whole file unless one satisfiable range of this very content is
    asked for; None when that range lies outside."""
    match = _RANGE.match(request.headers.get("Range", ""))
    if match is None or match[0] == "bytes=-" or request.headers.get("If-Range", etag) != etag:
        return 0, size
    if not match[1]:
        start, end = max(0, size - int(match[2])), size
    else:
        start, end = int(match[1]), min(size, int(match[2]) + 1) if match[2] else size
    if match[1] and match[2] and int(match[2]) < int(match[1]):
        return 0, size
    return (start, end) if start < end else None


class _Body:
    """Bytes `start` to `end` of an open file, a block at a time. Closing it closes the file."""

    def __init__(self, opened: OpenedFile, start: int, end: int) -> None:
        self._opened = opened
        self._at, self._end = start, end
        self._closed = False

    def __iter__(self) -> Iterator[bytes]:
        while block := self._next():
            yield block

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._opened.close()

    def _next(self) -> bytes:
        block = os.pread(self._opened.fd, min(_BLOCK, self._end - self._at), self._at) if self._at < self._end else b""
        self._at += len(block)
        return block


class _AsyncBody:
    """The same for a server that must not wait for a disk."""

    def __init__(self, opened: OpenedFile, start: int, end: int) -> None:
        self._body = _Body(opened, start, end)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        blocks: Any = iter(self._body)
        while block := await asyncio.to_thread(next, blocks, b""):
            yield block

    def close(self) -> None:
        self._body.close()
