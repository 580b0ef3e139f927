"""The list of knowledge bases, and what can be done to one from anywhere: pin, sync, pause, duplicate, remove."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from knowledge.exceptions import NameTaken
from knowledge.forms import DuplicateForm, RemoveForm
from knowledge.models import IndexStatus, KnowledgeBase
from knowledge.selectors.document_lists import Filters
from knowledge.selectors.kb_heads import switch_list
from knowledge.services import batches, kb_setup, knowledge_bases, sources
from knowledge.services.batches import Action, Selection
from knowledge.views.choosing import principal_of
from knowledge.views.contexts import SORT_KEY, VIEW_KEY, KBListPage
from knowledge.views.kb_frame import KBFrame
from mnote.exceptions import Invalid
from mnote.htmx import is_fragment, no_content, toast, with_events
from mnote.models import Role
from mnote.services import users
from mnote.views.addresses import next_path

_LIST = "knowledge/kb_list.html"
#: Removing more documents than this asks for the name.
ASK_NAME_ABOVE = 100


@login_required
@require_GET
def kb_list(request: HttpRequest) -> HttpResponse:
    page = KBListPage(request)
    _keep_choice(request, page)
    part = "grid" if is_fragment(request) else ""
    response = render(request, f"{_LIST}#{part}" if part else _LIST, {"page": page})
    if part:
        response.headers["MNote-Address"] = page.url()
        count = len(page.cards)
        words = ngettext("%(count)d knowledge base", "%(count)d knowledge bases", count) % {"count": count}
        return with_events(response, **{"kb:announce": {"text": words}})
    return response


@login_required
@require_GET
def live(request: HttpRequest) -> HttpResponse:
    """The health lines of the list; 204 when none changed."""
    page = KBListPage(request)
    if request.GET.get("print") == page.fingerprint:
        return HttpResponse(status=204)
    return render(request, f"{_LIST}#late", {"page": page})


@login_required
@require_POST
def pin(request: HttpRequest, kb_id: str) -> HttpResponse:
    principal = principal_of(request)
    kb = knowledge_bases.get_kb(principal=principal, kb_id=kb_id)
    knowledge_bases.set_pinned(principal=principal, kb=kb, pinned=bool(request.POST.get("pinned")))
    if is_fragment(request):
        return with_events(no_content(), **{"kb:refresh": {}})
    return redirect(next_path(request, reverse("knowledge:kb-list")))


@login_required
@require_POST
def sync(request: HttpRequest, kb_id: str) -> HttpResponse:
    """Look at the folders now, read every file again, or work off what failed or is out of date."""
    principal = principal_of(request)
    kb = knowledge_bases.get_kb(principal=principal, kb_id=kb_id, role=Role.CURATOR)
    what = request.POST.get("what", "changes")
    if what in _BY_STATUS:
        action, status = _BY_STATUS[what]
        selection = Selection(filters=Filters(statuses=(status,)), is_all=True)
        done = batches.run(principal=principal, kb=kb, selection=selection, action=action)
        words = ngettext("%(count)d document queued", "%(count)d documents queued", done.count) % {"count": done.count}
        return _did(request, kb, words + ".")
    if kb.paused_at is not None:
        return _did(request, kb, _("The sync is paused. Resume it first."), kind="bad")
    if not sources.sync_now(principal=principal, kb=kb, full=what == "full"):
        return _did(request, kb, _("There is nothing to look at: add a folder or files first."), kind="bad")
    return _did(request, kb, _("The folders are looked at now."))


_BY_STATUS = {
    "failed": (Action.RETRY, IndexStatus.FAILED),
    "stale": (Action.REINDEX, IndexStatus.STALE),
}


@login_required
@require_POST
def pause(request: HttpRequest, kb_id: str) -> HttpResponse:
    principal = principal_of(request)
    kb = knowledge_bases.get_kb(principal=principal, kb_id=kb_id, role=Role.CURATOR)
    if request.POST.get("paused"):
        knowledge_bases.set_paused(principal=principal, kb=kb, paused=True)
        words = _("Paused. Changes of the files are not followed until you resume.")
    else:
        kb_setup.resume(principal=principal, kb=kb)
        words = _("Resumed. The folders are looked at now.")
    return _did(request, kb, words, is_whole=True)


@login_required
@require_http_methods(["GET", "POST"])
def duplicate(request: HttpRequest, kb_id: str) -> HttpResponse:
    """Make another knowledge base with the same settings and nothing in it."""
    frame = KBFrame(request, kb_id, tab="kb-settings", role=Role.MANAGER)
    if request.method == "GET":
        name = _("%(name)s, copy") % {"name": frame.kb.name}
        return _dialog(request, frame, "knowledge/kb_duplicate.html", form=DuplicateForm(initial={"name": name[:50]}))
    form = DuplicateForm(request.POST)
    if not form.is_valid():
        return _dialog(request, frame, "knowledge/kb_duplicate.html", form=form, status=422)
    try:
        copy = knowledge_bases.duplicate_kb(principal=frame.principal, kb=frame.kb, name=form.cleaned_data["name"])
    except (Invalid, NameTaken) as error:
        for name, found in error.extra["errors"].items():
            form.add_error(name if name in form.fields else None, [each["message"] for each in found])
        return _dialog(request, frame, "knowledge/kb_duplicate.html", form=form, status=422)
    messages.success(request, _("“%(name)s” was made. Add folders or files to it.") % {"name": copy.name})
    return _go(request, reverse("knowledge:kb-detail", args=[copy.pk]))


@login_required
@require_http_methods(["GET", "POST"])
def remove(request: HttpRequest, kb_id: str) -> HttpResponse:
    """Take a knowledge base away. Large ones want their name typed."""
    frame = KBFrame(request, kb_id, tab="kb-settings", role=Role.MANAGER)
    total = frame.kb.documents.exclude(index_status__in=[IndexStatus.DELETED, IndexStatus.SKIPPED]).count()
    wants_name = total > ASK_NAME_ABOVE
    form = RemoveForm(frame.kb.name if wants_name else "", request.POST if request.method == "POST" else None)
    if request.method == "GET" or not form.is_valid():
        status = 200 if request.method == "GET" else 422
        return _dialog(
            request, frame, "knowledge/kb_remove.html", form=form, total=total, wants_name=wants_name, status=status
        )
    knowledge_bases.archive_kb(principal=frame.principal, kb=frame.kb)
    messages.success(
        request,
        _("“%(name)s” was removed. Its index is cleaned up in the background; your files stay where they are.")
        % {"name": frame.kb.name},
    )
    return _go(request, reverse("knowledge:kb-list"))


@login_required
@require_http_methods(["GET", "POST"])
def clear(request: HttpRequest, kb_id: str) -> HttpResponse:
    """Empty the index and pause."""
    frame = KBFrame(request, kb_id, tab="kb-settings", role=Role.MANAGER)
    if request.method == "GET":
        total = frame.kb.documents.exclude(index_status__in=[IndexStatus.DELETED, IndexStatus.SKIPPED]).count()
        return _dialog(request, frame, "knowledge/kb_clear.html", total=total)
    count = kb_setup.clear(principal=frame.principal, kb=frame.kb)
    words = ngettext(
        "%(count)d document leaves the index. The sync is paused.",
        "%(count)d documents leave the index. The sync is paused.",
        count,
    )
    messages.success(request, words % {"count": count})
    return _go(request, frame.url)


@login_required
@require_GET
def about(request: HttpRequest, kb_id: str) -> HttpResponse:
    """Facts about one knowledge base, among them those too dear for every page."""
    frame = KBFrame(request, kb_id, tab="kb-detail")
    sums = frame.reader.readable.order_by().aggregate(chunks=Sum("chunk_count"), size=Sum("size_bytes"))
    return _dialog(request, frame, "knowledge/kb_about.html", sums=sums)


@login_required
@require_GET
def switch(request: HttpRequest, kb_id: str) -> HttpResponse:
    """Other knowledge bases to go to."""
    principal = principal_of(request)
    kb = knowledge_bases.get_kb(principal=principal, kb_id=kb_id)
    return render(request, "knowledge/_kb_switch.html", {"kbs": switch_list(principal, kb), "kb": kb})


def _keep_choice(request: HttpRequest, page: KBListPage) -> None:
    """Remember the order and the form a person chose, when they were chosen just now."""
    chosen = {key: value for key, name, value in ((SORT_KEY, "sort", page.sort), (VIEW_KEY, "view", page.view))
              if request.GET.get(name) == value}  # fmt: skip
    kept = users.preferences_of(page.principal.user) if chosen else {}
    changed = {key: value for key, value in chosen.items() if kept.get(key) != value}
    if changed:
        users.set_preferences(user=page.principal.user, values=changed)


def _dialog(request: HttpRequest, frame: KBFrame, template: str, *, status: int = 200, **context: Any) -> HttpResponse:
    name = f"{template}#form" if is_fragment(request) else template
    context |= {"frame": frame, "workspace": frame.kb.workspace}
    return render(request, name, context, status=status)


def _did(
    request: HttpRequest, kb: KnowledgeBase, words: str, *, kind: str = "good", is_whole: bool = False
) -> HttpResponse:
    """Say what was done. `is_whole` loads the page anew, where its buttons are others now."""
    back = next_path(request, reverse("knowledge:kb-detail", args=[kb.pk]))
    if is_fragment(request) and not is_whole:
        return toast(with_events(no_content(), **{"kb:poke": {}, "kb:refresh-cards": {}}), words, kind)
    (messages.error if kind == "bad" else messages.success)(request, words)
    if is_fragment(request):
        return HttpResponse(status=204, headers={"HX-Refresh": "true"})
    return redirect(back)


def _go(request: HttpRequest, url: str) -> HttpResponse:
    """Go to another page, from a dialog too."""
    return HttpResponse(status=204, headers={"HX-Redirect": url}) if is_fragment(request) else redirect(url)
