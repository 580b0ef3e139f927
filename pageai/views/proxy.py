"""OpenHub's panel inside MNote: `/pageai/openhub/<binding>/…` (spec 8.3).

The allow-list decides what exists, gatekeeping whose it is; the host signs in at OpenHub for the person. Streams pass
unbuffered and hold neither a thread nor a database connection between two looks at the caller's session.
"""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Mapping
from functools import partial
from typing import NoReturn

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from mnote.api.events import Caller
from mnote.exceptions import AppError, Invalid, NotFound, TooLarge
from mnote.middleware import request_id
from mnote.problems import json_response, problem_of
from pageai.exceptions import PanelDown, TurnRunning
from pageai.panel import bodies, headers, routes
from pageai.panel.bodies import BadBody
from pageai.panel.connection import Connection
from pageai.panel.errors import PanelError, PanelUnavailable
from pageai.panel.frames import Frame, frame
from pageai.panel.openhub import OpenHub
from pageai.panel.routes import Action, Match
from pageai.panel.scrubbing import Scrub
from pageai.panel.upstream import Call
from pageai.services import errands, gatekeeping, journals, panel, prompting, settling
from pageai.services.errands import Errand
from pageai.services.gatekeeping import Visit
from pageai.services.prompting import Prepared
from pageai.threads import in_thread
from pageai.views.looking import Looking
from pageai.views.running import Head, Texts, Turn, turn_of

_MAX_BODY_BYTES = 40 * 1024 * 1024
_LOOK_SECONDS, _SIGN_OF_LIFE_SECONDS = 1.0, 15.0
REQUEST_HEADER, REQUEST_ID = "X-MNote-Request-ID", re.compile(r"[A-Za-z0-9_.:-]{8,64}")
_STREAMS = frozenset({Action.PROMPT, Action.RETRY, Action.RECONNECT})


async def api(request: HttpRequest, binding_id: str, path: str) -> HttpResponseBase:
    """Answer one request of OpenHub's page, always in JSON or as a stream."""
    try:
        return await _answered(request, binding_id, path)
    except BadBody as error:
        field = {str(error): [{"message": _("This value cannot be used."), "code": "invalid"}]}
        return json_response(problem_of(Invalid(errors=field)))
    except PanelError as error:
        return json_response(problem_of(panel.as_app_error(error)))
    except AppError as error:
        return json_response(problem_of(error))


async def _answered(request: HttpRequest, binding_id: str, path: str) -> HttpResponseBase:
    match = routes.match(str(request.method), f"/api/{path}")
    caller = Caller(session_key=request.COOKIES.get(settings.SESSION_COOKIE_NAME, ""))
    visit = await in_thread(partial(_enter, caller, binding_id))
    if match is None:
        raise NotFound
    raw = _body_of(request)
    if match.action in _STREAMS:
        return await _streamed(request, caller, visit, match, raw)
    query = {name: value for name, value in request.GET.items() if isinstance(value, str)}
    errand = Errand(visit=visit, match=match, query=query, body=bodies.read_object(raw))
    found = await in_thread(partial(errands.run, errand))
    return JsonResponse(found, headers=headers.to_browser({}))


def _enter(caller: Caller, binding_id: str) -> Visit:
    return gatekeeping.enter(principal=caller.principal(), binding_id=binding_id)


def _body_of(request: HttpRequest) -> bytes:
    """Read the body: it may hold pictures, so it may be larger than a form. Raises TooLarge."""
    raw: bytes = request.read(_MAX_BODY_BYTES + 1)
    if len(raw) > _MAX_BODY_BYTES:
        raise TooLarge
    return raw


async def _streamed(request: HttpRequest, caller: Caller, visit: Visit, match: Match, raw: bytes) -> HttpResponseBase:
    if match.action is Action.RECONNECT:
        turn = await _rejoined(request, visit)
    else:
        turn = await _begun(request, visit, match, raw)
    if turn is None:
        idle = frame("session_idle", conversation_id=visit.session_id, done=False)
        return _stream_response(_only(idle))
    return _stream_response(_watched(caller, visit, turn))


async def _rejoined(request: HttpRequest, visit: Visit) -> Turn | None:
    """Go on with the running turn: the one read here, or one that OpenHub still runs after this process was started
    anew. None when nothing runs."""
    session_id = await in_thread(partial(gatekeeping.pinned, visit, request.GET.get("session_id", "")))
    known = turn_of(visit.binding.pk)
    if known is not None:
        return known
    connection = await in_thread(panel.connection)
    try:
        prepared = await in_thread(partial(prompting.prepare_reconnect, visit, session_id))
    except TurnRunning:
        return None  # read by another process: its page shows it
    turn = Turn(visit, prepared.run, connection, _texts())
    await _opened(turn, connection, prepared, method="GET", params={"session_id": session_id})
    return turn


async def _begun(request: HttpRequest, visit: Visit, match: Match, raw: bytes) -> Turn:
    """Ask a question. One that was asked already and is being answered is joined, never asked twice."""
    last = turn_of(visit.binding.pk)
    if last is not None and last.relay.is_over:
        await last.finished()
    try:
        prepared = await in_thread(_preparing(visit, match, raw, _request_id(request)))
    except TurnRunning as running:
        known = turn_of(visit.binding.pk)
        if known is None or not running.extra.get("same"):
            raise
        return known
    connection = await in_thread(panel.connection)
    turn = Turn(visit, prepared.run, connection, _texts())
    await _opened(turn, connection, prepared, method="POST")
    return turn


def _preparing(visit: Visit, match: Match, raw: bytes, key: str) -> partial[Prepared]:
    if match.action is Action.RETRY:
        return partial(prompting.prepare_retry, visit, match.ids["session_id"], request_id=key)
    return partial(prompting.prepare_question, visit, bodies.prompt_of(bodies.read_object(raw)), request_id=key)


def _request_id(request: HttpRequest) -> str:
    """The host's key of this click, "" when it gave none that can be used."""
    given = request.headers.get(REQUEST_HEADER, "")
    return given if REQUEST_ID.fullmatch(given) else ""


async def _opened(
    turn: Turn,
    connection: Connection,
    prepared: Prepared,
    *,
    method: str,
    params: Mapping[str, str] | None = None,
) -> None:
    """Open OpenHub's stream with a token made for it. Raises AppError, PanelError."""
    hub = OpenHub(connection)
    try:
        token = await in_thread(partial(errands.mint, hub, prepared.identity))
    except PanelError as error:
        await in_thread(partial(settling.give_up, turn.visit, code=error.code))
        raise
    call = Call(
        method=method,
        url=connection.openhub_url + prepared.path,
        headers=headers.to_openhub(
            {"Accept": "text/event-stream", "Content-Type": "application/json"},
            token=token,
            request_id=request_id.get(),
        ),
        params=params or {},
        json=prepared.body,
    )
    try:
        head = await turn.start(call)
    finally:
        await in_thread(partial(hub.drop_token, token))
    if not head.is_stream:
        _refuse(head, await in_thread(partial(journals.scrub_of, turn.visit)))


def _refuse(head: Head, scrub: Scrub) -> NoReturn:
    """Raise for an answer that is no stream. What OpenHub says to its user is passed on, what broke is not."""
    if head.status in {400, 403, 409, 422, 429}:
        error = AppError(scrub.text(str(head.said.get("detail") or "")[:500]))
        error.code, error.status, error.title = "panel-refused", head.status, _("The assistant refused")
        raise error
    if head.status == 200:
        raise PanelUnavailable(layer="openhub_fastapi", reason="no stream")
    raise PanelDown(layer="openhub_fastapi", retry_after=5)


async def _watched(caller: Caller, visit: Visit, turn: Turn) -> AsyncIterator[bytes]:
    """Yield the frames of a turn while the caller may see them."""
    veil = (await in_thread(partial(journals.scrub_of, visit))).stream()
    said = time.monotonic()
    async with Looking(partial(_refusal, caller, visit)) as look:
        async for each in turn.relay.view(every_seconds=_LOOK_SECONDS):
            if (refusal := await look.refusal(is_idle=each is None)) is not None:
                yield refusal.raw
                return
            now = time.monotonic()
            if each is not None:
                for shown in veil.pass_on(each):
                    yield shown.raw
                said = now
            elif now - said >= _SIGN_OF_LIFE_SECONDS:
                yield b": still here\n\n"
                said = now
        for shown in veil.rest():
            yield shown.raw


async def _refusal(caller: Caller, visit: Visit) -> Frame | None:
    try:
        await in_thread(partial(_enter, caller, visit.binding.pk))
    except AppError as error:
        return frame("error", error=str(error.detail), done=True)
    return None


async def _only(one: Frame) -> AsyncIterator[bytes]:
    yield one.raw


def _stream_response(stream: AsyncIterator[bytes]) -> HttpResponse | StreamingHttpResponse:
    kind = "text/event-stream; charset=utf-8"
    return StreamingHttpResponse(stream, content_type=kind, headers=headers.stream_headers())


def _texts() -> Texts:
    return Texts(
        cut=_("The answer broke off. Your question was not sent again; reload to see how far it came."),
        ended=_("This conversation was ended."),
    )
