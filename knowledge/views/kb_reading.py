"""How the provider of a knowledge base reads its files: sections of its settings, shown only where it does."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from knowledge.forms import ReadingForm
from knowledge.models import KnowledgeBase, Reader
from knowledge.reader_forms import EnginesForm, PicturesForm, add_errors
from knowledge.selectors.reading_offers import offer_of
from knowledge.services import knowledge_bases, reader_settings, rereading
from knowledge.services.rereading import READS_ITSELF
from knowledge.views.kb_frame import KBFrame
from mnote.exceptions import Invalid

SECTIONS = frozenset({"reading", "engines", "pictures", "reread"})


def are_there(kb: KnowledgeBase) -> bool:
    """Say whether its provider could read the files of a knowledge base."""
    return kb.provider in READS_ITSELF


def sections(kb: KnowledgeBase) -> dict[str, Any]:
    """Return the forms that are shown for a knowledge base, as the context of its settings."""
    if not are_there(kb):
        return {}
    found: dict[str, Any] = {"reading_form": ReadingForm(initial={"parsed_by": kb.parsed_by})}
    if kb.parsed_by != Reader.PROVIDER:
        return found
    offer, stored = offer_of(kb.profile), reader_settings.stored(kb)
    return {
        **found,
        "offer": offer,
        "engines_form": EnginesForm(offer, stored["engines"]),
        "pictures_form": PicturesForm(initial=PicturesForm.initial_of(stored)),
        "read_otherwise": rereading.read_otherwise(kb).count(),
    }


def save(request: HttpRequest, frame: KBFrame, section: str) -> dict[str, Any]:
    """Save one section. Returns the form with what is wrong in it, by its name in the context; nothing when it is
    saved."""
    match section:
        case "reread":
            return _reread(request, frame)
        case "engines":
            form = EnginesForm(offer_of(frame.kb.profile), reader_settings.stored(frame.kb)["engines"], request.POST)
            return _save(request, frame, form, "engines_form")
        case "pictures":
            return _save(request, frame, PicturesForm(request.POST), "pictures_form")
    return _save_reader(request, frame)


def _save_reader(request: HttpRequest, frame: KBFrame) -> dict[str, Any]:
    form = ReadingForm(request.POST)
    if not form.is_valid():
        return {"reading_form": form}
    is_other = form.cleaned_data["parsed_by"] != frame.kb.parsed_by
    knowledge_bases.update_kb(principal=frame.principal, kb=frame.kb, **form.cleaned_data)
    words = _("The settings were saved; every file is read anew.") if is_other else _("The settings were saved.")
    messages.success(request, words)
    return {}


def _save(request: HttpRequest, frame: KBFrame, form: EnginesForm | PicturesForm, name: str) -> dict[str, forms.Form]:
    if not form.is_valid():
        return {name: form}
    wanted = {"engines": form.engines} if isinstance(form, EnginesForm) else form.reading
    try:
        knowledge_bases.update_kb(principal=frame.principal, kb=frame.kb, reading_json=wanted)
    except Invalid as error:
        add_errors(form, error.extra["errors"])
        frame.kb.refresh_from_db()
        return {name: form}
    messages.success(request, _("The settings were saved. They hold for files that are read from now on."))
    return {}


def _reread(request: HttpRequest, frame: KBFrame) -> dict[str, Any]:
    count = knowledge_bases.reread(principal=frame.principal, kb=frame.kb)
    words = ngettext("%(count)d file is read again.", "%(count)d files are read again.", count)
    messages.success(request, words % {"count": count})
    return {}
