"""The settings of one knowledge base."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from knowledge.exceptions import NameTaken
from knowledge.forms import SettingsForm, SyncForm
from knowledge.services import knowledge_bases, sources
from knowledge.views import kb_reading
from knowledge.views.kb_frame import KBFrame
from mnote.exceptions import Invalid
from mnote.models import Role

#: Where the rules lie that new sources begin with.
RULES_KEY = "source_rules"


@login_required
@require_http_methods(["GET", "POST"])
def settings(request: HttpRequest, kb_id: str) -> HttpResponse:
    frame = KBFrame(request, kb_id, tab="kb-settings", role=Role.MANAGER)
    if request.method == "GET":
        return _page(request, frame)
    section = request.POST.get("section", "")
    if section == "sync":
        return _save_sync(request, frame)
    if section in kb_reading.SECTIONS and kb_reading.are_there(frame.kb):
        wrong = kb_reading.save(request, frame, section)
        return _page(request, frame, status=422, **wrong) if wrong else redirect("knowledge:kb-settings", kb_id)
    form = SettingsForm(request.POST)
    if not form.is_valid():
        return _page(request, frame, form=form, status=422)
    try:
        knowledge_bases.update_kb(principal=frame.principal, kb=frame.kb, **form.cleaned_data)
    except (Invalid, NameTaken) as error:
        for name, problems in error.extra["errors"].items():
            form.add_error(name, [each["message"] for each in problems])
        frame.kb.refresh_from_db()
        return _page(request, frame, form=form, status=422)
    messages.success(request, _("The settings were saved."))
    return redirect("knowledge:kb-settings", frame.kb.pk)


def _save_sync(request: HttpRequest, frame: KBFrame) -> HttpResponse:
    form = SyncForm(request.POST)
    if not form.is_valid():
        return _page(request, frame, sync_form=form, status=422)
    kb = frame.kb
    knowledge_bases.update_kb(
        principal=frame.principal, kb=kb, settings_json={**kb.settings_json, RULES_KEY: form.rules}
    )
    changed = list(kb.sources.select_related("kb__workspace", "root")) if form.cleaned_data["also_present"] else []
    for source in changed:
        sources.update_source(principal=frame.principal, source=source, rules=form.rules)
    words = ngettext(
        "The rules were saved, also for %(count)d source.", "The rules were saved, also for %(count)d sources.",
        len(changed),
    ) % {"count": len(changed)} if changed else _("The rules were saved for new sources.")  # fmt: skip
    messages.success(request, words)
    return redirect("knowledge:kb-settings", kb.pk)


def _page(request: HttpRequest, frame: KBFrame, *, status: int = 200, **given: Any) -> HttpResponse:
    kb = frame.kb
    names = ("name", "description", "default_tool_enabled")
    context: dict[str, Any] = {
        "frame": frame,
        "workspace": kb.workspace,
        "form": SettingsForm(initial={name: getattr(kb, name) for name in names}),
        "sync_form": SyncForm(initial=SyncForm.initial_of(kb.settings_json.get(RULES_KEY, {}))),
    }
    return render(request, "knowledge/kb_settings.html", context | kb_reading.sections(kb) | given, status=status)
