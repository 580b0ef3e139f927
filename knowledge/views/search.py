"""Searching: one knowledge base to test it, or all that a person sees."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from knowledge.services import knowledge_bases, opening, passages, references
from knowledge.services.passages import Window
from knowledge.shapes import open_url, short_place
from knowledge.views.around import Around
from knowledge.views.choosing import principal_of
from knowledge.views.search_choices import offer_for
from knowledge.views.search_page import SearchPage
from mnote.htmx import is_fragment, with_events

_PARTS = {"found": "knowledge/search_found.html", "narrow": "knowledge/search_narrow.html"}


@login_required
@require_GET
def search(request: HttpRequest) -> HttpResponse:
    """Search every knowledge base that the person sees, or those chosen with `?kb=`."""
    return _answer(request, SearchPage(request))


@login_required
@require_GET
def kb_search(request: HttpRequest, kb_id: str) -> HttpResponse:
    """Test how one knowledge base answers."""
    kb = knowledge_bases.get_kb(principal=principal_of(request), kb_id=kb_id)
    page = SearchPage(request, kb)
    if page.is_asked:
        knowledge_bases.note_use(principal=principal_of(request), kb=kb)
    return _answer(request, page)


@login_required
@require_GET
def around(request: HttpRequest) -> HttpResponse:
    """What stands around a hit in the file as it is now."""
    token = references.read_token(request.GET.get("cite", ""))
    place = opening.open_citation(principal=principal_of(request), token=token)
    found = passages.around(place, window=Window(before=2, after=2, section=False, max_chars=4_000))
    shown = Around(place, found, request.GET.get("q", ""))
    context = {"around": shown, "place": short_place(place.locator), "url": open_url(place.root, place.locator)}
    return render(request, "knowledge/search_around.html", context)


def _answer(request: HttpRequest, page: SearchPage) -> HttpResponse:
    part = request.GET.get("part", "")
    is_open = "narrow" in request.GET or page.chosen.narrows > 0
    workspace = page.kb.workspace if page.kb else None
    context: dict[str, Any] = {"page": page, "workspace": workspace, "is_narrow_open": is_open}
    if is_open or part == "narrow":
        context["offer"] = offer_for(principal_of(request), page.searched)
    if not is_fragment(request) or part not in _PARTS:
        return render(request, "knowledge/search.html", context)
    response = render(request, _PARTS[part], context)
    if part == "found":
        response.headers["HX-Push-Url"] = page.address()
        if page.announcement:
            with_events(response, **{"kb:announce": {"text": page.announcement}})
    return response
