"""One document: beside its list as a drawer, or as a page of its own. The same address serves both."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from knowledge.services import knowledge_bases
from knowledge.views.document_page import DocumentView
from knowledge.views.kb_frame import KBFrame
from mnote.htmx import is_fragment

_TEMPLATE = "knowledge/document.html"
#: Pieces that the drawer fetches for themselves: id of what is swapped -> partial.
_PARTS = {"lines": "lines", "head": "head"}


@login_required
@require_GET
def document(request: HttpRequest, kb_id: str, document_id: str) -> HttpResponse:
    frame = KBFrame(request, kb_id, tab="document")
    view = DocumentView(request, frame, document_id)
    context = {"frame": frame, "view": view, "workspace": frame.kb.workspace, "is_drawer": is_fragment(request)}
    if not is_fragment(request):
        knowledge_bases.note_use(principal=frame.principal, kb=frame.kb)
        return render(request, _TEMPLATE, context)
    part = _PARTS.get(request.GET.get("part", ""), "body")
    response = render(request, f"{_TEMPLATE}#{part}", context)
    if part == "body":
        response.headers["MNote-Address"] = view.address
    return response


@login_required
@require_GET
def menu(request: HttpRequest, kb_id: str, document_id: str) -> HttpResponse:
    """What can be done with one document now."""
    frame = KBFrame(request, kb_id, tab="document")
    view = DocumentView(request, frame, document_id)
    return render(request, "knowledge/_doc_menu.html", {"frame": frame, "view": view})
