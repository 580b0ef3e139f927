"""Activity: work in the background and what people did, of one knowledge base or of all workspaces one sees."""

from __future__ import annotations

import csv
from collections.abc import Iterator

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from knowledge.views import activity_words
from knowledge.views.activity_page import ActivityPage, back_url
from knowledge.views.choosing import principal_of
from knowledge.views.kb_frame import KBFrame
from mnote.exceptions import Conflict
from mnote.htmx import is_fragment
from mnote.models import AuditEntry, Job, Role
from mnote.selectors import access
from mnote.selectors import jobs as job_rows
from mnote.services import audit, jobs
from mnote.views.addresses import next_path

_PARTS = {"jobs": "knowledge/activity_jobs.html", "rows": "knowledge/activity_rows.html"}
_HEAD = ("at", "person", "token", "action", "target", "outcome", "workspace", "knowledge base", "details")
#: A spreadsheet takes a cell that begins so for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@login_required
@require_GET
def activity(request: HttpRequest) -> HttpResponseBase:
    return _answer(request, ActivityPage(request), None)


@login_required
@require_GET
def kb_activity(request: HttpRequest, kb_id: str) -> HttpResponseBase:
    frame = KBFrame(request, kb_id, tab="kb-activity")
    return _answer(request, ActivityPage(request, frame.kb), frame)


@login_required
@require_POST
def retry_job(request: HttpRequest, job_id: str) -> HttpResponse:
    """Run a failed or cancelled job again; curators may."""
    job = _job_to_change(request, job_id)
    try:
        jobs.retry(job=job)
    except Conflict as error:
        messages.error(request, str(error.detail))
        return redirect(next_path(request, back_url(job.kb_id)))
    _note(request, "job.retry", job)
    messages.success(request, _("It is tried again now."))
    return redirect(next_path(request, back_url(job.kb_id)))


@login_required
@require_POST
def cancel_job(request: HttpRequest, job_id: str) -> HttpResponse:
    """Cancel a waiting job, or ask a running one to stop; curators may."""
    job = _job_to_change(request, job_id)
    jobs.cancel(job=job)
    _note(request, "job.cancel", job)
    messages.success(request, _("It is cancelled. What was done already stays."))
    return redirect(next_path(request, back_url(job.kb_id)))


def _answer(request: HttpRequest, page: ActivityPage, frame: KBFrame | None) -> HttpResponseBase:
    if request.GET.get("format") == "csv":
        return _csv(page)
    context = {"page": page, "frame": frame, "workspace": page.kb.workspace if page.kb else None}
    part = request.GET.get("part", "")
    if is_fragment(request) and part in _PARTS:
        return render(request, _PARTS[part], context)
    return render(request, "knowledge/kb_activity.html" if frame else "knowledge/activity.html", context)


def _csv(page: ActivityPage) -> StreamingHttpResponse:
    response = StreamingHttpResponse(_lines(page), content_type="text/csv; charset=utf-8")
    response.headers["Content-Disposition"] = 'attachment; filename="activity.csv"'
    return response


class _Line:
    """Takes what the csv writer writes and gives it back."""

    def write(self, text: str) -> str:
        return text


def _lines(page: ActivityPage) -> Iterator[str]:
    writer = csv.writer(_Line())
    yield "\ufeff" + writer.writerow(_HEAD)  # spreadsheets take a file without the mark for an old code page
    names = page.kb_names
    for entry in page.entries.iterator(chunk_size=500):
        yield writer.writerow([_cell(each) for each in _columns(entry, names)])


def _columns(entry: AuditEntry, names: dict[str, str]) -> list[str]:
    details = "; ".join(f"{label}: {value}" for label, value in activity_words.details(entry))
    return [
        entry.at.isoformat(timespec="seconds"),
        entry.actor.shown_name if entry.actor else "",
        entry.token_name,
        entry.action,
        entry.target,
        entry.outcome,
        entry.workspace.name if entry.workspace else "",
        names.get(entry.kb_id, ""),
        details,
    ]


def _cell(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text


def _job_to_change(request: HttpRequest, job_id: str) -> Job:
    job = job_rows.get_job(principal_of(request), job_id)
    if job.workspace is not None:
        access.require_role(principal_of(request), job.workspace, Role.CURATOR)
    return job


def _note(request: HttpRequest, action: str, job: Job) -> None:
    audit.record(
        principal=principal_of(request), action=action, workspace=job.workspace, kb_id=job.kb_id, target=job.pk,
        facts={"kind": job.kind},
    )  # fmt: skip
