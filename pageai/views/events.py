"""One stream of events for an open panel: it says that something to show has changed; the page fetches it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from functools import partial

from django.conf import settings
from django.http import HttpRequest, StreamingHttpResponse
from django.views.decorators.http import require_GET

from mnote.api.events import Caller, Streams
from mnote.exceptions import AppError
from pageai.panel import headers
from pageai.services import gatekeeping, turns
from pageai.services.turns import Standing
from pageai.threads import in_thread

_LOOK_SECONDS, _SIGN_OF_LIFE_SECONDS = 1.0, 15.0

streams = Streams()


@require_GET
async def events(request: HttpRequest, binding_id: str) -> StreamingHttpResponse:
    """`changed` when the page should look again, `end` when the caller may no longer look."""
    caller = Caller(session_key=request.COOKIES.get(settings.SESSION_COOKIE_NAME, ""))
    first, user_id = await in_thread(partial(_first_look, caller, binding_id))
    streams.refuse_more(user_id)
    stream = _follow(caller, binding_id, first, user_id)
    return StreamingHttpResponse(
        stream, content_type="text/event-stream; charset=utf-8", headers=headers.stream_headers()
    )


async def _follow(caller: Caller, binding_id: str, seen: Standing, user_id: int) -> AsyncIterator[str]:
    with streams.one_more(user_id):
        async for each in _news(caller, binding_id, seen):
            yield each


async def _news(caller: Caller, binding_id: str, seen: Standing) -> AsyncIterator[str]:
    yield _event("ready", seen)
    said = time.monotonic()
    while True:
        await asyncio.sleep(_LOOK_SECONDS)
        try:
            found = await in_thread(partial(_look, caller, binding_id))
        except AppError as error:
            yield f"event: end\ndata: {json.dumps({'code': error.code})}\n\n"
            return
        if found != seen:
            seen = found
            yield _event("changed", seen)
        elif time.monotonic() - said >= _SIGN_OF_LIFE_SECONDS:
            yield ": still here\n\n"
        else:
            continue
        said = time.monotonic()


def _first_look(caller: Caller, binding_id: str) -> tuple[Standing, int]:
    return _look(caller, binding_id), caller.principal().user.pk


def _look(caller: Caller, binding_id: str) -> Standing:
    gatekeeping.enter(principal=caller.principal(), binding_id=binding_id)
    return turns.standing(binding_id=binding_id)


def _event(name: str, found: Standing) -> str:
    data = {"revision": found.revision, "isRunning": found.is_running}
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"
