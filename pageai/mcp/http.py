"""`/mcp`: Streamable HTTP, stateless, POST only (spec 9).

Each request proves its caller and is answered by a transport of its own, so a restart between two calls loses nothing
and nothing of one caller can reach another. Who may not be answered at all is refused before the protocol begins.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from functools import lru_cache, partial
from importlib import import_module
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from mnote.exceptions import Forbidden, NotAuthenticated, TooLarge
from pageai.services import callers
from pageai.services.callers import Caller

MAX_BODY_BYTES = 1_000_000
_CALLER = "mnote.caller"
_loaded: dict[str, Any] = {}

Message = MutableMapping[str, Any]


@csrf_exempt  # a token is sent on purpose; a cookie counts for nothing here
@require_POST
async def mcp(request: HttpRequest) -> HttpResponse:
    """Answer one message of the protocol."""
    _refuse_foreign_pages(request)
    if len(request.body) > MAX_BODY_BYTES:
        raise TooLarge
    server: Any = _loaded.get("protocol") or await asyncio.to_thread(_load)
    caller = await server.in_thread(partial(callers.authenticate, _secret_of(request)))
    request.principal = caller.principal  # type: ignore[attr-defined] # for the log
    return await _exchange(request, caller)


def _refuse_foreign_pages(request: HttpRequest) -> None:
    """A browser names the page that asks. Only our own pages may: a page elsewhere whose name was pointed at this
    machine sends its own name as Host, or as Origin.

    Raises DisallowedHost, Forbidden.
    """
    host = request.get_host()
    origin = request.headers.get("Origin")
    if origin is not None and origin not in {f"{request.scheme}://{host}", *settings.CSRF_TRUSTED_ORIGINS}:
        raise Forbidden


def _secret_of(request: HttpRequest) -> str:
    scheme, _space, secret = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not secret.strip():
        raise NotAuthenticated
    return secret.strip()


def _load() -> Any:
    """Load the SDK when the first agent comes: it takes a second, and pages never need it."""
    return _loaded.setdefault("protocol", import_module("pageai.mcp.server"))


async def _who_calls(context: Any) -> Caller:
    caller: Caller = context.request.scope[_CALLER]
    return caller


@lru_cache(maxsize=1)
def _server() -> Any:
    return _load().make_server(_who_calls)


async def _exchange(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Let the SDK's transport answer this one request."""
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager  # noqa: PLC0415 see `_load`

    answer = _Answer(request.body)
    manager = StreamableHTTPSessionManager(
        app=_server(), stateless=True, json_response=True, max_request_body_size=MAX_BODY_BYTES
    )
    async with manager.run():
        await manager.handle_request(_scope(request, caller), answer.receive, answer.send)
    return answer.as_response()


def _scope(request: HttpRequest, caller: Caller) -> dict[str, Any]:
    """The request in the SDK's terms. The token stays here: handlers get the caller that it proved."""
    names = {name.lower() for name in request.headers} - {"authorization", "cookie"}
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": request.scheme,
        "path": request.path,
        "raw_path": request.path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(name.encode(), request.headers[name].encode("latin-1", "replace")) for name in sorted(names)],
        "client": None,
        "server": None,
        _CALLER: caller,
    }


class _Answer:
    """The two ends that the transport talks to."""

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body
        self._status = 500
        self._headers: list[tuple[bytes, bytes]] = []
        self._parts: list[bytes] = []

    async def receive(self) -> Message:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        wait: Callable[[], Awaitable[Any]] = asyncio.Event().wait  # there is nothing more, and nobody has left
        await wait()
        raise AssertionError("never set")

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status, self._headers = message["status"], list(message.get("headers", ()))
        else:
            self._parts.append(message.get("body", b""))

    def as_response(self) -> HttpResponse:
        response = HttpResponse(b"".join(self._parts), status=self._status, content_type=None)
        for name, value in self._headers:
            if name.lower() != b"content-length":
                response.headers[name.decode("latin-1")] = value.decode("latin-1")
        response.headers["Cache-Control"] = "no-store"
        return response
