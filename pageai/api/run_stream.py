"""A run's events as they are written, until the run ends, the caller may no longer look, or long enough."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator
from functools import partial

from django.db import DatabaseError
from django.utils.translation import gettext as _

from mnote.api.events import Caller, Streams
from mnote.exceptions import AppError, Invalid
from pageai.run_shapes import event_frame
from pageai.selectors import runs
from pageai.selectors.runs import Reading
from pageai.threads import in_thread

HEADERS = {"Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no"}
_LOOK_SECONDS, _SIGN_OF_LIFE_SECONDS = 0.5, 15.0
#: A browser comes back by itself and goes on where it was.
_AT_MOST_SECONDS = 900.0
_RECONNECT_MS = 2000
_SEQ = re.compile(r"[0-9]{1,18}")

streams = Streams()


def resumed(last_event_id: str, after: int) -> int:
    """Return the number to go on after: what the browser saw last, else what was asked for. Raises Invalid."""
    if not last_event_id:
        return after
    if not _SEQ.fullmatch(last_event_id):
        problem = {"message": _("Give a whole number of at most 18 digits."), "code": "invalid"}
        raise Invalid(errors={"Last-Event-ID": [problem]})
    return int(last_event_id)


def look(caller: Caller, run_id: str, after: int) -> Reading:
    """Read what follows, as the caller's rights are now. Raises AppError when they may no longer look."""
    return runs.read(runs.get_run(caller.principal(), run_id), after=after)


async def follow(caller: Caller, run_id: str, after: int, *, user_id: int) -> AsyncIterator[str]:
    """Yield frames. Between looks it holds no thread and no database connection."""
    with streams.one_more(user_id):
        yield f"retry: {_RECONNECT_MS}\n\n"
        began = said = time.monotonic()
        while time.monotonic() - began < _AT_MOST_SECONDS:
            try:
                found = await in_thread(partial(look, caller, run_id, after))
            except AppError as error:
                yield f"event: end\ndata: {json.dumps({'code': error.code})}\n\n"
                return
            except DatabaseError:
                return  # the browser comes back
            for each in found.events:
                yield event_frame(each)
                after = each.seq
            if found.is_over:
                return
            if found.events:
                said = time.monotonic()
            elif time.monotonic() - said >= _SIGN_OF_LIFE_SECONDS:
                yield ": still here\n\n"
                said = time.monotonic()
            if len(found.events) < runs.MAX_EVENTS:
                await asyncio.sleep(_LOOK_SECONDS)
