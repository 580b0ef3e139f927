"""Looks at the sources of a knowledge base: the list, one of them, and the decision that a stopped one asks for."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from knowledge.models import SyncRun
from knowledge.selectors.source_lists import run_views, runs_of
from knowledge.services import sources, sync_runs
from knowledge.views.choosing import number_of, principal_of
from knowledge.views.kb_frame import KBFrame
from knowledge.views.run_page import RunPage, RunRow
from mnote.exceptions import NotFound
from mnote.htmx import is_fragment
from mnote.models import Role
from mnote.templatetags.mnote_ui import number

_PAGE = 50


@login_required
@require_GET
def kb_runs(request: HttpRequest, kb_id: str) -> HttpResponse:
    frame = KBFrame(request, kb_id, tab="kb-runs")
    principal, source_id = principal_of(request), request.GET.get("source", "")
    pages = Paginator(runs_of(principal, frame.kb, source_id=source_id), _PAGE)
    page = pages.get_page(number_of(request.GET, "page"))
    rows = [RunRow(frame.kb, view) for view in run_views(principal, frame.kb, page)]
    kept = f"source={source_id}&" if source_id else ""
    context: dict[str, Any] = {
        "frame": frame,
        "workspace": frame.kb.workspace,
        "rows": rows,
        "total": pages.count,
        "shown": page.end_index(),
        "is_narrowed": bool(source_id),
        "more_url": f"{request.path}?{kept}page={page.next_page_number()}" if page.has_next() else "",
    }
    template = "knowledge/runs_rows.html" if is_fragment(request) else "knowledge/runs.html"
    return render(request, template, context)


@login_required
@require_GET
def run(request: HttpRequest, kb_id: str, run_id: str) -> HttpResponse:
    frame = KBFrame(request, kb_id, tab="kb-runs")
    page = RunPage(frame, _run_of(request, frame, run_id))
    return render(request, "knowledge/run.html", {"frame": frame, "workspace": frame.kb.workspace, "page": page})


@login_required
@require_http_methods(["GET", "POST"])
def confirm(request: HttpRequest, kb_id: str, run_id: str) -> HttpResponse:
    """Ask, then agree to the removals that were held back."""
    frame = KBFrame(request, kb_id, tab="kb-runs", role=Role.CURATOR)
    found = _run_of(request, frame, run_id)
    address = reverse("knowledge:run", args=[frame.kb.pk, found.pk])
    if request.method == "POST":
        sync_runs.confirm(principal=principal_of(request), run=found)
        messages.success(request, _("The folder is looked at again now. What is still missing is taken out."))
        return redirect(address)
    count = found.counts.get("removed", 0)
    words = ngettext(
        "%(count)s document leaves the index if its file is still missing. No file is touched.",
        "%(count)s documents leave the index if their files are still missing. No file is touched.",
        count,
    )
    context = {
        "title": _("Agree to the removals?"),
        "text": words % {"count": number(count)},
        "action": reverse("knowledge:run-confirm", args=[frame.kb.pk, found.pk]),
        "confirm_label": _("Look again and remove"),
        "cancel_url": address,
        "is_destructive": True,
    }
    template = "_components/confirm.html" if is_fragment(request) else "mnote/confirm_page.html"
    return render(request, template, context)


@login_required
@require_POST
def dismiss(request: HttpRequest, kb_id: str, run_id: str) -> HttpResponse:
    """Keep everything, and stop asking."""
    frame = KBFrame(request, kb_id, tab="kb-runs", role=Role.CURATOR)
    sync_runs.dismiss(principal=principal_of(request), run=_run_of(request, frame, run_id))
    messages.success(request, _("Nothing is removed. You are asked again when something else is missing."))
    return redirect("knowledge:run", frame.kb.pk, run_id)


@login_required
@require_POST
def look_again(request: HttpRequest, kb_id: str, run_id: str) -> HttpResponse:
    """Look at the folder of a run again, without agreeing to anything."""
    frame = KBFrame(request, kb_id, tab="kb-runs", role=Role.CURATOR)
    found = _run_of(request, frame, run_id)
    if found.source is None or found.source.frozen_at:
        raise NotFound
    sources.request_sync(source=found.source, trigger="manual", requested_by=principal_of(request))
    messages.success(request, _("The folder is looked at again now."))
    return redirect("knowledge:run", frame.kb.pk, run_id)


def _run_of(request: HttpRequest, frame: KBFrame, run_id: str) -> SyncRun:
    found = runs_of(principal_of(request), frame.kb).filter(pk=run_id).first() if "\0" not in run_id else None
    if found is None:
        raise NotFound
    return found
