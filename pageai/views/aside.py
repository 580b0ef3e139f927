"""The panel beside a document, and on phones a page of its own: host strip, conversation, requests, references."""

from __future__ import annotations

import re
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from mnote.exceptions import AppError, Invalid, NotFound
from mnote.htmx import is_fragment, no_content, with_events
from mnote.principals import Principal
from mnote.selectors import access
from pageai.agents import agent_named
from pageai.exceptions import PanelNotConfigured
from pageai.panel.bodies import BadBody, answers_of
from pageai.panel.errors import PanelError
from pageai.selectors.agent_settings import agent_of
from pageai.services import agent_choice, asks, bindings, chats, gatekeeping, health, opencodes, pages, panel, turns
from pageai.services.gatekeeping import Visit
from pageai.services.pages import Page
from pageai.views.aside_page import OPEN_COOKIE, Now, page_path, pane_address, principal_of, query_of, troubles_of
from pageai.views.aside_settings import strip_of
from pageai.views.run_line import recent
from pageai.views.talk_page import Talk

_CHANGED = "page-ai:changed"
_RECENT = 5
_COUNT = re.compile(r"[0-9]{1,3}")


@login_required
@require_GET
def aside(request: HttpRequest) -> HttpResponse:
    """The panel of a page, for the place beside it: opens or resumes its conversation."""
    return render(request, "pageai/panel.html", _panel(request, page_of(request)))


@login_required
@require_GET
def own_page(request: HttpRequest) -> HttpResponse:
    """The same on a page of its own."""
    page = page_of(request)
    back = pane_address(page.root, page.path)
    context = {"page": page, "workspace": page.root.workspace, "back_url": back, "is_own_page": True}
    return render(request, "pageai/own_page.html", context | _panel(request, page))


@login_required
@require_GET
def now(request: HttpRequest, binding_id: str) -> HttpResponse:
    """What changes while the panel is open."""
    return render(request, "pageai/_now.html", {"now": Now(_visit(request, binding_id)), "is_update": True})


@login_required
@require_POST
def start_anew(request: HttpRequest, binding_id: str) -> HttpResponse:
    """Put the conversation of a page away and begin a new one, with the agent that is named or was chosen."""
    visit = _visit(request, binding_id)
    page = _page_again(visit)
    named = agent_named(request.POST.get("agent", ""))
    agent = named if named and agent_choice.can_run(named) else agent_choice.chosen(visit.principal.user)
    metadata = visit.binding.metadata_json | {"agentId": agent.agent_id}
    bindings.start_anew(principal=visit.principal, page=page, metadata=metadata)
    return render(request, "pageai/panel.html", _panel(request, page))


@login_required
@require_POST
def reopen(request: HttpRequest, binding_id: str) -> HttpResponse:
    """Take an old conversation up again, under its own page."""
    visit = _visit(request, binding_id)
    bindings.reopen(binding=visit.binding, by=visit.principal)
    response = redirect(pane_address(visit.root, page_path(visit.binding, visit.root)))
    response.set_cookie(OPEN_COOKIE, "open", max_age=31_536_000, samesite="Lax")
    return response


@login_required
@require_GET
def belongs(request: HttpRequest, binding_id: str) -> HttpResponse:
    """Say to which page a conversation of the list belongs, when it is another one."""
    visit = _visit(request, binding_id)
    other = gatekeeping.owned(visit, request.GET.get("session", ""))
    path = "" if other.pk == visit.binding.pk else page_path(other, visit.root)
    return render(request, "pageai/_belongs.html", {"path": path, "other": other})


@login_required
@require_POST
def select(request: HttpRequest, binding_id: str) -> HttpResponse:
    """Keep what the person selected on the page, for the next question."""
    visit = _visit(request, binding_id)
    turns.select(binding=visit.binding, text=request.POST.get("text", ""))
    return no_content()


@login_required
@require_POST
def decide(request: HttpRequest, binding_id: str, ask_id: str) -> HttpResponse:
    """Allow or decline what the agent asks for."""
    visit = _visit(request, binding_id)
    if request.POST.get("decision") == "allow":
        return _done(request, lambda: asks.allow(visit, ask_id), _("Allowed once."))
    return _done(request, lambda: asks.decline(visit, ask_id), _("Declined."))


@login_required
@require_POST
def answer(request: HttpRequest, binding_id: str, request_id: str) -> HttpResponse:
    """Answer a question of the agent, or leave it."""
    visit = _visit(request, binding_id)
    if request.POST.get("decision") == "dismiss":
        return _done(request, lambda: asks.dismiss(visit, request_id), _("Left unanswered."))
    given = _answers(request)
    return _done(request, lambda: asks.answer(visit, request_id, given), _("Your answer was passed on."))


def _answers(request: HttpRequest) -> list[list[str]]:
    """Read what was chosen and written for each question. Raises Invalid."""
    try:
        return answers_of({"answers": _chosen(request)})
    except BadBody:
        raise Invalid(_("This answer is too long.")) from None


def _chosen(request: HttpRequest) -> list[list[str]]:
    """Read the choices and own words of each question, in the order of the questions."""
    said = request.POST.get("questions", "1")
    count = min(int(said), 20) if _COUNT.fullmatch(said) else 1
    found = []
    for number in range(count):
        own = request.POST.get(f"own-{number}", "").strip()
        found.append([*request.POST.getlist(f"choice-{number}"), *([own] if own else [])])
    return found


def _done(request: HttpRequest, act: Any, sentence: str) -> HttpResponse:
    try:
        act()
    except NotFound as error:
        return _gone(request, error)
    except PanelError as error:
        raise panel.as_app_error(error) from error
    # Said to readers only: everybody else sees the request go, where a message in the corner would cover what comes.
    return no_content(**{_CHANGED: {}, "kb:announce": {"text": sentence}})


def _gone(request: HttpRequest, error: NotFound) -> HttpResponse:
    """Say that nobody waits for the answer any more, and let the page look what does. Raises it for whole pages."""
    if not is_fragment(request):
        raise error
    problem = {"status": error.status, "title": error.detail}
    response = render(request, "_components/problem.html", {"problem": problem}, status=error.status)
    return with_events(response, **{_CHANGED: {}})


def _panel(request: HttpRequest, page: Page) -> dict[str, Any]:
    """What the panel's template needs; why there is no conversation, when there is none."""
    principal = principal_of(request)
    search = f"{reverse('knowledge:search')}?workspace={page.root.workspace_id}"
    base = {"page": page, "query": query_of(request), "search_url": search}
    lines = recent(principal, page.root, page.resource_id, limit=_RECENT)
    if not opencodes.layers_set_up():
        return base | {"missing": str(PanelNotConfigured.title), "lines": lines}
    try:
        visit = _opened(principal, page)
    except AppError as error:
        return base | {"problem": str(error.detail), "lines": lines}
    if not agent_choice.can_run(agent_of(visit.binding)):
        return base | {"stuck": visit.binding, "spare": agent_choice.chosen(principal.user), "lines": lines}
    facts = {
        "now": Now(visit, is_patient=False),
        "binding": visit.binding,
        "selection": turns.selection(binding=visit.binding),
    }
    way = _way_of(visit)
    shown = {"lines": lines if way["troubles"] else [], "strip": strip_of(visit.binding)}
    return base | facts | way | shown


def _opened(principal: Principal, page: Page) -> Visit:
    """Open or resume the conversation of a page. One that has not begun goes to an agent that can run here."""
    metadata = {"agentId": agent_choice.chosen(principal.user).agent_id}
    binding = bindings.open_binding(principal=principal, page=page, metadata=metadata).binding
    if not agent_choice.can_run(agent_of(binding)):
        agent_choice.fit(binding)
    return gatekeeping.enter(principal=principal, binding_id=binding.pk)


def _way_of(visit: Visit) -> dict[str, Any]:
    """Say how a conversation is shown: by us, or in OpenHub's own page."""
    if chats.is_chat(visit.binding):
        return {"troubles": [], "talk": Talk(visit)}
    return _direct(visit) if opencodes.is_direct(visit) else _through_openhub(visit)


def _direct(visit: Visit) -> dict[str, Any]:
    return {"troubles": troubles_of(health.look_at_opencode(visit.principal)), "talk": Talk(visit)}


def _through_openhub(visit: Visit) -> dict[str, Any]:
    """While OpenHub is down opencode, if that answers, can be asked itself, in a conversation of its own."""
    troubles = troubles_of(health.look(visit.principal))
    silent = {each.layer for each in troubles}
    has_spare = bool(silent & {"OpenHub", "Redis"}) and "opencode" not in silent
    return {"troubles": troubles, "spare": agent_named("opencode") if has_spare else None}


def page_of(request: HttpRequest) -> Page:
    """Return the page that a query names, as its reader may see it. Raises NotFound."""
    principal = principal_of(request)
    workspace = access.get_workspace(principal, request.GET.get("workspaceId", ""))
    root = access.root_of(workspace, request.GET.get("root") or None)
    return pages.locate(principal=principal, root=root, path=request.GET.get("path", ""))


def _page_again(visit: Visit) -> Page:
    path = page_path(visit.binding, visit.root)
    resource = visit.binding.page_resource_id
    return pages.locate(principal=visit.principal, root=visit.root, path=path, resource_id=resource)


def _visit(request: HttpRequest, binding_id: str) -> Visit:
    return gatekeeping.enter(principal=principal_of(request), binding_id=binding_id)
