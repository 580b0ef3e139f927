"""A conversation with opencode itself, beside the document: asking, reading on, stopping (spec 8.3, 8.4)."""

from __future__ import annotations

import re
from functools import partial

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from mnote.exceptions import AppError, Invalid
from mnote.htmx import is_fragment, no_content, toast, with_events
from pageai.panel.errors import PanelError
from pageai.services import cancelling, chats, direct, gatekeeping, panel, runs
from pageai.services.gatekeeping import Visit
from pageai.threads import in_thread
from pageai.views.aside_page import Now, own_page_address, principal_of
from pageai.views.chat_turn import ChatTurn
from pageai.views.direct_turn import DirectTurn
from pageai.views.talk_page import Talk

_MAX_QUESTION, _BROKEN_FROM = 20_000, 500
_REQUEST_ID = re.compile(r"[A-Za-z0-9_.:-]{8,64}")
_CHANGED = "page-ai:changed"


@login_required
@require_GET
def talk(request: HttpRequest, binding_id: str) -> HttpResponse:
    """The conversation as it stands."""
    visit = gatekeeping.enter(principal=principal_of(request), binding_id=binding_id)
    return render(request, "pageai/_talk.html", {"talk": Talk(visit)})


@login_required
@require_POST
async def ask(request: HttpRequest, binding_id: str) -> HttpResponse:
    """Ask a question. Its answer is read here to its end, whether or not the browser stays."""
    visit = await in_thread(partial(_enter, request, binding_id))
    question, key = _question(request), request.POST.get("request", "")
    request_id = key if _REQUEST_ID.fullmatch(key) else ""
    try:
        await _begin(visit, question, request_id)
    except (AppError, PanelError) as error:
        return _refused(request, panel.as_app_error(error) if isinstance(error, PanelError) else error)
    return await in_thread(partial(_asked, request, visit))


@login_required
@require_POST
def stop(request: HttpRequest, binding_id: str) -> HttpResponse:
    """Stop the run that goes on."""
    visit = gatekeeping.enter(principal=principal_of(request), binding_id=binding_id)
    run = runs.live_of(binding=visit.binding)
    try:
        if run is not None:
            cancelling.cancel(principal=visit.principal, run=run)
    except PanelError as error:
        raise panel.as_app_error(error) from error
    return no_content(**{_CHANGED: {}})


async def _begin(visit: Visit, question: str, request_id: str) -> None:
    is_chat = chats.is_chat(visit.binding)
    prepare = chats.prepare if is_chat else direct.prepare
    run = await in_thread(partial(prepare, visit, question, request_id=request_id))
    await (ChatTurn if is_chat else DirectTurn)(visit, run, question).start()


def _question(request: HttpRequest) -> str:
    given = request.POST.get("question", "").strip()
    if not given:
        raise Invalid(_("Write a question first."))
    if len(given) > _MAX_QUESTION:
        raise Invalid(_("This question is too long."))
    return given


def _enter(request: HttpRequest, binding_id: str) -> Visit:
    return gatekeeping.enter(principal=principal_of(request), binding_id=binding_id)


def _refused(request: HttpRequest, error: AppError) -> HttpResponse:
    """Say beside the question, which stays in its field, what is broken. Raises whatever is no failure of a service."""
    if error.status < _BROKEN_FROM or not is_fragment(request):
        raise error
    return toast(no_content(), error.detail or error.title, "bad")


def _asked(request: HttpRequest, visit: Visit) -> HttpResponse:
    if not is_fragment(request):  # without scripts the panel is a page of its own
        return redirect(own_page_address(visit))
    context = {"talk": Talk(visit), "now": Now(visit), "is_update": True, "is_asked": True}
    response = render(request, "pageai/_talk.html", context)
    return with_events(response, **{"page-ai:asked": {}})
