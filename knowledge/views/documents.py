"""The documents tab of a knowledge base: its list, its folders, its filters, and the poll that keeps it fresh."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET

from knowledge.file_words import TYPE_WORDS
from knowledge.models import Source
from knowledge.services import knowledge_bases
from knowledge.views.documents_page import DocumentsPage
from knowledge.views.kb_frame import KBFrame
from knowledge.views.list_state import DAYS
from mnote.htmx import is_fragment, with_events

_TEMPLATE = "knowledge/kb_detail.html"
#: Rows that one look of the poller is asked about.
_MAX_ROWS = 1000


@login_required
@require_GET
def detail(request: HttpRequest, kb_id: str) -> HttpResponse:
    frame = KBFrame(request, kb_id, tab="kb-detail")
    page = DocumentsPage(request, frame)
    if "toggle" in request.GET:
        return redirect(page.state.url())
    context = {"frame": frame, "page": page, "workspace": frame.kb.workspace}
    if not is_fragment(request):
        knowledge_bases.note_use(principal=frame.principal, kb=frame.kb)
        return render(request, _TEMPLATE, context)
    if request.GET.get("part") == "rows":
        return _with_address(render(request, f"{_TEMPLATE}#rows", context), page)
    response = _with_address(render(request, f"{_TEMPLATE}#list_answer", context), page)
    return with_events(response, **{"kb:announce": {"text": _found_words(page)}})


@login_required
@require_GET
def tree(request: HttpRequest, kb_id: str) -> HttpResponse:
    """One level of the folder tree."""
    page = DocumentsPage(request, KBFrame(request, kb_id, tab="kb-detail"))
    nodes = page.level(request.GET.get("at", ""), request.GET.get("below", "").strip("/"))
    return render(request, "knowledge/_kb_nodes.html", {"nodes": nodes})


@login_required
@require_GET
def live(request: HttpRequest, kb_id: str) -> HttpResponse:
    """What changed since the caller last looked; 204 when nothing did."""
    query = request.GET
    tab = query.get("tab", "")
    frame = KBFrame(request, kb_id, tab=tab)
    page = DocumentsPage(request, frame) if tab == "kb-detail" else None
    since = int(query["rev"]) if query.get("rev", "").isdigit() else 0
    ids = [each for each in query.get("docs", "").split(",") if each][:_MAX_ROWS]
    is_news = frame.head.rev > since
    rows = page.changed_rows(ids, since) if page and ids and is_news else []
    is_same = query.get("print") == frame.fingerprint
    wants_folders = "folders" in query and is_news and page is not None and not page.is_many
    if is_same and not rows and not wants_folders:
        return HttpResponse(status=204)
    is_other = page is not None and is_news and query.get("had", "") != str(page.entry_count)
    context = {
        "frame": frame,
        "page": page,
        "rows": rows,
        "wants_folders": wants_folders,
        "wants_tree": "bare" in query and is_news and page is not None,
        "is_other": is_other,
    }
    response = render(request, "knowledge/kb_live.html", context)
    return with_events(response, **_events(frame, page, is_other=is_other and "calm" in query))


@login_required
@require_GET
def filters(request: HttpRequest, kb_id: str) -> HttpResponse:
    """The filters that need more room than a row has: types, tags, sources, times."""
    frame = KBFrame(request, kb_id, tab="kb-detail")
    page = DocumentsPage(request, frame)
    on = page.state.params
    context = {
        "frame": frame,
        "page": page,
        "workspace": frame.kb.workspace,
        "types": [(key, TYPE_WORDS[key], n) for key, n in frame.reader.types() if key in TYPE_WORDS],
        "tags": frame.reader.tags(),
        "sources": _sources(frame),
        "days": DAYS,
        "on_types": on.get("type", "").split(","),
        "on_tags": on.get("tag", []),
        "kept": [(name, value) for name, value in page.frame.filter_fields if name not in _HERE],
    }
    name = "knowledge/kb_filters.html"
    return render(request, f"{name}#form" if is_fragment(request) else name, context)


_HERE = frozenset({"type", "tag", "source", "changed", "indexed", "doc", "page"})


def _sources(frame: KBFrame) -> list[Source]:
    """The sources whose path the person may see."""
    rows = frame.kb.sources.select_related("root").order_by("path")
    return [row for row in rows if frame.reader.maps[row.root_id].may_enter(row.path)]


def _found_words(page: DocumentsPage) -> str:
    total = page.page.total + len(page.folders)
    return ngettext("%(count)d entry fits", "%(count)d entries fit", total) % {"count": total}


def _with_address(response: HttpResponse, page: DocumentsPage) -> HttpResponse:
    """Tell the script which address stands for what it got."""
    response.headers["MNote-Address"] = page.address
    return response


def _events(frame: KBFrame, page: DocumentsPage | None, *, is_other: bool) -> dict[str, Any]:
    events: dict[str, Any] = {}
    if frame.announcement:
        events["kb:announce"] = {"text": frame.announcement}
    if is_other and page is not None:
        events["kb:refresh"] = {}
    return events
