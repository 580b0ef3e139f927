"""One event stream a page: it says that something changed, up to which revision; the page fetches the difference."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, TypeVar

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth import get_user
from django.http import HttpRequest, StreamingHttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from mnote import connections, revisions
from mnote.exceptions import AppError, Forbidden, Invalid, NotAuthenticated, NotFound, RateLimited
from mnote.models import TokenScope, User
from mnote.principals import Principal
from mnote.revisions import Revision
from mnote.selectors import access
from mnote.services import tokens

_POLL_SECONDS, _HEARTBEAT_SECONDS = 2.0, 15.0
_STREAMS_PER_USER = 12
_RECONNECT_MS = 3000

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """How the caller proved who they are. Looked at again each time: a revoked right ends the stream. `scope` is what a
    token has to have."""

    session_key: str = ""
    token: str = ""
    scope: str = TokenScope.KNOWLEDGE_READ

    def principal(self) -> Principal:
        """Raises NotAuthenticated or Forbidden once the proof counts no more."""
        if not self.token:
            return _of_session(self.session_key)
        principal = tokens.authenticate(self.token)
        if not principal.has_scope(self.scope):
            raise Forbidden
        return principal


def _of_session(key: str) -> Principal:
    """Load the session anew: signing out, a new password and a closed account all end it."""
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(key)
    user = get_user(request)
    if not key or not isinstance(user, User) or not user.is_active:
        raise NotAuthenticated
    return Principal(user=user)


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """What one page wants to hear about."""

    caller: Caller
    workspace_id: str
    root: str | None

    def read(self, seen: Revision) -> Revision:
        """Check the rights and read the present revision. Raises an AppError when the caller may no longer look."""
        principal = self.caller.principal()
        workspace = access.get_workspace(principal, self.workspace_id)
        if self.root is not None and not access.access_map(principal, access.root_of(workspace, self.root)).may_enter(
            ""
        ):
            raise NotFound
        return revisions.read(workspace.pk, seen)

    def user_id(self) -> int:
        return self.caller.principal().user.pk


class Streams:
    """How many streams each person has open in this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: Counter[int] = Counter()

    def refuse_more(self, user_id: int) -> None:
        if self._open[user_id] >= _STREAMS_PER_USER:
            raise RateLimited(_("Too many open pages follow changes. Close some."), retry_after=30)

    @contextmanager
    def one_more(self, user_id: int) -> Iterator[None]:
        with self._lock:
            self._open[user_id] += 1
        try:
            yield
        finally:
            with self._lock:
                self._open[user_id] -= 1


_streams = Streams()


@require_GET
async def events(request: HttpRequest) -> StreamingHttpResponse:
    """`GET /api/jobs/events?workspaceId&rootUri&since`: a stream of `changed` events `{revision, changed: [kinds]}`.

    Without `since` the first event, `ready`, tells the revision to start from. A client that reconnects sends the last
    one it saw. Ends with `end` when the caller may no longer look.
    """
    watch, since = _watch_of(request), _since(request)
    user_id = await _in_thread(watch.user_id)
    _streams.refuse_more(user_id)
    now = await _in_thread(partial(watch.read, Revision()))
    stream = follow(watch, now, since=since, user_id=user_id)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingHttpResponse(stream, content_type="text/event-stream; charset=utf-8", headers=headers)


async def follow(
    watch: Watch,
    now: Revision,
    *,
    since: int | None,
    user_id: int,
    poll_seconds: float = _POLL_SECONDS,
    heartbeat_seconds: float = _HEARTBEAT_SECONDS,
) -> AsyncIterator[str]:
    """Yield the stream's frames. Between looks it holds no thread and no database connection."""
    with _streams.one_more(user_id):
        yield f"retry: {_RECONNECT_MS}\n\n"
        yield _first(now, since)
        said_at = time.monotonic()
        while True:
            await asyncio.sleep(poll_seconds)
            try:
                latest = await _in_thread(partial(watch.read, now))
            except AppError as error:
                yield _frame("end", {"code": error.code})
                return
            changed = latest.changed_since(now)
            now = latest
            if changed:
                yield _changed(now, changed)
            elif time.monotonic() - said_at >= heartbeat_seconds:
                yield ": still here\n\n"
            else:
                continue
            said_at = time.monotonic()


def _first(now: Revision, since: int | None) -> str:
    if since is None:
        return _frame("ready", {"revision": now.documents}, now)
    # Only documents have a number the page can name; of the rest it must assume a change while it was away.
    away = [name for name in sorted(now.numbers) if name != revisions.DOCUMENTS or now.documents > since]
    return _changed(now, away)


def _changed(now: Revision, changed: list[str]) -> str:
    return _frame("changed", {"revision": now.documents, "changed": changed}, now)


def _frame(event: str, data: dict[str, Any], now: Revision | None = None) -> str:
    number = f"id: {now.documents}\n" if now else ""
    return f"{number}event: {event}\ndata: {json.dumps(data)}\n\n"


def _watch_of(request: HttpRequest) -> Watch:
    workspace_id = request.GET.get("workspaceId", "")
    if not workspace_id:
        raise Invalid(errors={"workspaceId": [{"message": _("This field is required."), "code": "required"}]})
    return Watch(caller=_caller(request), workspace_id=workspace_id, root=request.GET.get("rootUri") or None)


def _caller(request: HttpRequest) -> Caller:
    scheme, _space, secret = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return Caller(token=secret.strip())
    return Caller(session_key=request.COOKIES.get(settings.SESSION_COOKIE_NAME, ""))


def _since(request: HttpRequest) -> int | None:
    """The revision the page has: what it last heard, when it reconnects, else what it asks from."""
    given = request.headers.get("Last-Event-ID") or request.GET.get("since")
    if not given:
        return None
    if not (given.isascii() and given.isdigit() and len(given) < 19):
        raise Invalid(errors={"since": [{"message": _("Give a whole number."), "code": "invalid"}]})
    return int(given)


async def _in_thread(function: Callable[[], T]) -> T:
    return await sync_to_async(_then_let_go, thread_sensitive=False)(function)


def _then_let_go(function: Callable[[], T]) -> T:
    try:
        return function()
    finally:
        connections.let_go()
