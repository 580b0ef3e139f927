"""The sources of a knowledge base: add, change, freeze, remove, look at; and what was taken out by hand."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from knowledge.models import Exclusion, Source
from knowledge.selectors.source_lists import document_count
from knowledge.services import sources
from knowledge.services.forecasts import Choice, forecast
from knowledge.services.intake import refusal_words
from knowledge.source_forms import SourceForm, rules_of
from knowledge.views.choosing import principal_of
from knowledge.views.kb_frame import KBFrame
from knowledge.views.source_flow import SourceFlow
from knowledge.views.sources_page import SourcesPage
from mnote.exceptions import Invalid, NotFound
from mnote.htmx import is_fragment
from mnote.models import Role
from mnote.selectors import access

_TAB = "kb-sources"
_SECONDS = 1.5


@login_required
@require_GET
def kb_sources(request: HttpRequest, kb_id: str) -> HttpResponse:
    frame = KBFrame(request, kb_id, tab=_TAB)
    return _page(request, frame, "knowledge/sources.html", page=SourcesPage(frame))


@login_required
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest, kb_id: str) -> HttpResponse:
    """Pick folders and files and say by which rules; curators may."""
    frame = KBFrame(request, kb_id, tab=_TAB, role=Role.CURATOR)
    flow = SourceFlow(request, frame)
    given = request.POST
    if "toggle" in given or "fold" in given:
        flow.touch(given.get("toggle", ""), given.get("fold", ""))
    elif given.get("go") == "paste":
        flow.paste()
    elif given.get("go") == "add":
        return _add(request, frame, flow)
    return _show_flow(request, frame, flow)


@login_required
@require_POST
def new_estimate(request: HttpRequest, kb_id: str) -> HttpResponse:
    """What the present picks and rules would mean."""
    flow = SourceFlow(request, KBFrame(request, kb_id, tab=_TAB, role=Role.CURATOR))
    return render(request, "knowledge/_kb_forecast.html", {"flow": flow, "found": flow.forecast})


@login_required
@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, kb_id: str, source_id: str) -> HttpResponse:
    """Change the rules; managers may."""
    frame = KBFrame(request, kb_id, tab=_TAB, role=Role.MANAGER)
    source = _source_of(request, frame, source_id)
    given = request.POST if request.method == "POST" else None
    form = SourceForm(rules_of(source), given, is_folder=source.is_folder)
    if given is None:
        return _page(request, frame, "knowledge/sources_edit.html", source=source, form=form)
    if form.is_valid():
        try:
            sources.update_source(principal=frame.principal, source=source, rules=form.rules)
        except Invalid as error:
            for name, found in error.extra["errors"].items():
                form.add_error(name if name in form.fields else None, [each["message"] for each in found])
        else:
            messages.success(request, _("The rules were saved. The source is looked at anew."))
            return redirect("knowledge:kb-sources", frame.kb.pk)
    return _page(request, frame, "knowledge/sources_edit.html", status=422, source=source, form=form)


@login_required
@require_POST
def edit_estimate(request: HttpRequest, kb_id: str, source_id: str) -> HttpResponse:
    """What the rules in the form would take in."""
    frame = KBFrame(request, kb_id, tab=_TAB, role=Role.MANAGER)
    source = _source_of(request, frame, source_id)
    form = SourceForm(rules_of(source), request.POST, is_folder=source.is_folder)
    rules = form.rules if form.is_valid() else rules_of(source)
    choice = Choice(root=source.root, path=source.path)
    found = forecast(principal=frame.principal, choices=[choice], rules=rules, seconds=_SECONDS)
    return render(request, "knowledge/sources_forecast.html", {"found": found, "is_valid": form.is_valid()})


@login_required
@require_http_methods(["GET", "POST"])
def remove(request: HttpRequest, kb_id: str, source_id: str) -> HttpResponse:
    """Detach a source, or freeze it; managers may. Files stay."""
    frame = KBFrame(request, kb_id, tab=_TAB, role=Role.MANAGER)
    source = _source_of(request, frame, source_id)
    if request.method == "POST":
        is_frozen = request.POST.get("how") == "freeze"
        sources.remove_source(principal=frame.principal, source=source, freeze=is_frozen)
        words = _("The source is frozen: searchable, but not followed any more.") if is_frozen else _(
            "The source was removed. Its documents leave the index in the background; your files stay."
        )  # fmt: skip
        messages.success(request, words)
        return redirect("knowledge:kb-sources", frame.kb.pk)
    context: dict[str, Any] = {
        "source": source,
        "count": document_count(source),
        "name": source.path or source.root.name,
    }
    if is_fragment(request):
        return render(request, "knowledge/sources_remove.html", {"frame": frame, **context})
    return _page(request, frame, "knowledge/sources_remove_page.html", **context)


@login_required
@require_POST
def thaw(request: HttpRequest, kb_id: str, source_id: str) -> HttpResponse:
    """Follow a frozen source again; managers may."""
    frame = KBFrame(request, kb_id, tab=_TAB, role=Role.MANAGER)
    sources.thaw_source(principal=frame.principal, source=_source_of(request, frame, source_id))
    messages.success(request, _("The source is followed again and looked at now."))
    return redirect("knowledge:kb-sources", frame.kb.pk)


@login_required
@require_POST
def sync(request: HttpRequest, kb_id: str, source_id: str) -> HttpResponse:
    """Look at one source now; curators may."""
    frame = KBFrame(request, kb_id, tab=_TAB, role=Role.CURATOR)
    source = _source_of(request, frame, source_id)
    if source.frozen_at:
        raise NotFound
    sources.request_sync(source=source, trigger="manual", requested_by=principal_of(request))
    messages.success(request, _("The source is looked at now."))
    return redirect("knowledge:kb-sources", frame.kb.pk)


@login_required
@require_POST
def include_again(request: HttpRequest, kb_id: str, exclusion_id: int) -> HttpResponse:
    """Let a path that was taken out by hand come back; curators may."""
    frame = KBFrame(request, kb_id, tab=_TAB, role=Role.CURATOR)
    row = Exclusion.objects.filter(kb=frame.kb, pk=exclusion_id).select_related("root").first()
    if row is None or not access.access_map(frame.principal, row.root).may_read(row.path):
        raise NotFound
    sources.include_again(principal=frame.principal, kb=frame.kb, root=row.root, path=row.path)
    covering = sources.covering(frame.kb, row.root, row.path)
    if covering is not None:
        sources.request_sync(source=covering, trigger="manual", requested_by=frame.principal)
        messages.success(request, _("“%(path)s” is included again and read now.") % {"path": row.path})
    else:
        messages.success(request, _("“%(path)s” may be added again.") % {"path": row.path})
    return redirect("knowledge:kb-sources", frame.kb.pk)


def _add(request: HttpRequest, frame: KBFrame, flow: SourceFlow) -> HttpResponse:
    if not flow.choices:
        flow.problems.append(_("Choose at least one folder or file."))
        return _show_flow(request, frame, flow)
    if not flow.rules_form.is_valid():
        return _show_flow(request, frame, flow, status=422)
    made, refused = flow.add()
    for path, code in refused:
        facts = {"path": path, "reason": refusal_words(code) or code}
        flow.problems.append(_("“%(path)s” was not added: %(reason)s") % facts)
    if not made:
        return _show_flow(request, frame, flow)
    words = ngettext("%(count)d source was added.", "%(count)d sources were added.", made) % {"count": made}
    messages.success(request, f"{words} {_('What is in it is read in the background.')}")
    for problem in flow.problems:
        messages.warning(request, problem)
    response = redirect("knowledge:kb-sources", frame.kb.pk)
    return HttpResponse(status=204, headers={"HX-Redirect": response.url}) if is_fragment(request) else response


def _show_flow(request: HttpRequest, frame: KBFrame, flow: SourceFlow, *, status: int = 200) -> HttpResponse:
    status = 422 if flow.problems else status
    if is_fragment(request):
        return render(request, "knowledge/sources_new_form.html", {"frame": frame, "flow": flow}, status=status)
    return _page(request, frame, "knowledge/sources_new.html", status=status, flow=flow)


def _source_of(request: HttpRequest, frame: KBFrame, source_id: str) -> Source:
    """Return a source whose folder the person may enter. Raises NotFound."""
    rows = frame.kb.sources.select_related("kb__workspace", "root")
    found = rows.filter(pk=source_id).first() if "\0" not in source_id else None
    if found is None or not access.access_map(principal_of(request), found.root).may_enter(found.path):
        raise NotFound
    return found


def _page(request: HttpRequest, frame: KBFrame, template: str, *, status: int = 200, **context: Any) -> HttpResponse:
    return render(request, template, {"frame": frame, "workspace": frame.kb.workspace, **context}, status=status)
