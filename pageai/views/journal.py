"""The run journal for people: what was asked on a page and how it went, readable without OpenHub."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from pageai.selectors import runs
from pageai.services import diffs, gatekeeping
from pageai.views.aside import page_of
from pageai.views.aside_page import pane_address, principal_of
from pageai.views.journal_page import RunPage
from pageai.views.run_line import recent

_SHOWN = 100


@login_required
@require_GET
def of_page(request: HttpRequest) -> HttpResponse:
    """The newest runs of a page."""
    page = page_of(request)
    lines = recent(principal_of(request), page.root, page.resource_id, limit=_SHOWN)
    back = pane_address(page.root, page.path)
    context = {"page": page, "workspace": page.root.workspace, "lines": lines, "back_url": back, "limit": _SHOWN}
    return render(request, "pageai/runs.html", context)


@login_required
@require_GET
def one(request: HttpRequest, run_id: str) -> HttpResponse:
    """One run, step by step; while it goes on the page follows it."""
    principal = principal_of(request)
    shown = RunPage(principal, runs.get_run(principal, run_id))
    return render(request, "pageai/run.html", {"shown": shown, "workspace": shown.run.binding.workspace})


@login_required
@require_GET
def changes(request: HttpRequest, run_id: str) -> HttpResponse:
    """What a run changed in files, line by line, for its page."""
    principal = principal_of(request)
    run = runs.get_run(principal, run_id)
    visit = gatekeeping.enter(principal=principal, binding_id=run.binding_id)
    shown = [(each, pane_address(visit.root, each.path)) for each in diffs.of_run(visit, run)]
    return render(request, "pageai/_changes.html", {"changes": shown})
