"""How large a request may be, decided before Django takes it in.

Django's ASGI handler reads the whole body of a request into a file before any view runs, whatever its size. Here what
announces or turns out to be too large is refused while it arrives; only addresses that take files, and only callers who
bring credentials, may send more than an ordinary request. Large bodies wait in the data folder, not in /tmp.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.core.exceptions import RequestAborted, RequestDataTooBig
from django.core.handlers.asgi import ASGIHandler

from mnote.ids import new_id
from mnote.problems import MEDIA_TYPE, problem_of

Scope = dict[str, Any]
Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

#: Addresses that take files; a question may bring pictures.
_FILES = re.compile(
    r"/api/knowledge/files|/api/knowledge/knowledge-bases/[^/]+/sources|/kb/[^/]+/upload/"
    r"|/pageai/openhub/[^/]+/api/query/stream"
)
#: What a form adds to the file in it.
_FORM_BYTES = 1024 * 1024
_MEGABYTE = 1024 * 1024


class WaitingBodies(ASGIHandler):
    """Django's handler, with bodies that are too large for memory in the data folder."""

    async def read_body(self, receive: Receive) -> IO[bytes]:
        folder = Path(settings.MNOTE_DATA_DIR) / "incoming"
        folder.mkdir(parents=True, exist_ok=True)
        body: IO[bytes] = tempfile.SpooledTemporaryFile(settings.FILE_UPLOAD_MAX_MEMORY_SIZE, "w+b", dir=str(folder))  # noqa: SIM115
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                body.close()
                raise RequestAborted
            body.write(message.get("body", b""))
            more = message.get("more_body", False)
        body.seek(0)
        return body


def limited(application: Application) -> Application:
    """Wrap an ASGI application so that it never sees more of a body than is allowed; the rest is answered with 413."""

    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await application(scope, receive, send)
            return
        limit = limit_of(scope)
        if _announced(scope) > limit:
            await _refuse(send)
            return
        counter = _Counter(receive, limit)
        await application(scope, counter, _unless(counter, send))
        if counter.is_over:
            await _refuse(send)

    return wrapped


def limit_of(scope: Scope) -> int:
    """Return how many bytes the body of a request may have."""
    is_file = _FILES.search(scope["path"]) is not None and scope["method"] == "POST"
    if not is_file or not _has_credentials(scope):
        return int(settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
    return int(settings.MNOTE_UPLOAD_MAX_MB * _MEGABYTE + _FORM_BYTES)


class _Counter:
    """Counts the bytes that arrive; beyond the limit the application is told that the caller has gone."""

    def __init__(self, receive: Receive, limit: int) -> None:
        self._receive = receive
        self._left = limit
        self.is_over = False

    async def __call__(self) -> Message:
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        if self._left >= 0:
            return message
        self.is_over = True
        return {"type": "http.disconnect"}


def _unless(counter: _Counter, send: Send) -> Send:
    async def sending(message: Message) -> None:
        if not counter.is_over:
            await send(message)

    return sending


def _announced(scope: Scope) -> int:
    given = _header(scope, b"content-length")
    return int(given) if given.isdigit() and len(given) < 20 else 0


def _has_credentials(scope: Scope) -> bool:
    """Say whether the caller at least claims to be somebody; whether that is true is found out by the view."""
    has_session = settings.SESSION_COOKIE_NAME.encode() + b"=" in _header(scope, b"cookie")
    return has_session or bool(_header(scope, b"authorization"))


def _header(scope: Scope, name: bytes) -> bytes:
    return next((bytes(value) for key, value in scope["headers"] if key.lower() == name), b"")


async def _refuse(send: Send) -> None:
    problem = problem_of(RequestDataTooBig())
    body = json.dumps({**problem.as_json(), "requestId": new_id("req")}).encode()
    headers = [(b"content-type", MEDIA_TYPE.encode()), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
