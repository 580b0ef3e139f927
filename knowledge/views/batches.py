"""Doing one thing to many documents: a question with fresh numbers, then the work, then what came of it."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_POST

from knowledge.models import KnowledgeBase, ProviderKind
from knowledge.selectors.kb_folders import places_of
from knowledge.services import batches
from knowledge.services.batches import Action, Done, Preview, Selection
from knowledge.views.kb_frame import KBFrame
from knowledge.views.list_state import ListState, address
from mnote.exceptions import Invalid
from mnote.htmx import is_fragment, no_content, toast, with_events
from mnote.models import Role
from mnote.templatetags.mnote_ui import lamp_word, number

#: Actions done at once: nothing can be lost by them.
_UNASKED = frozenset({Action.RETRY})
_LABELS: dict[Action, Promise] = {
    Action.REINDEX: gettext_lazy("Re-index"),
    Action.STOP: gettext_lazy("Stop"),
    Action.EXCLUDE: gettext_lazy("Exclude"),
}


@login_required
@require_POST
def batch(request: HttpRequest, kb_id: str) -> HttpResponse:
    frame = KBFrame(request, kb_id, tab="kb-detail", role=Role.CURATOR)
    action = _action(request)
    selection = _selection(request, frame)
    if action is Action.TAGS:
        return _tags(request, frame, selection)
    if action not in _UNASKED and "confirmed" not in request.POST:
        return _question(request, frame, selection, action)
    found = batches.preview(principal=frame.principal, kb=frame.kb, selection=selection, action=action)
    if found.total > batches.MANY:
        batches.run_later(principal=frame.principal, kb=frame.kb, selection=selection, action=action)
        return _answer(request, frame, _("It is done in the background; the numbers above follow."))
    done = batches.run(principal=frame.principal, kb=frame.kb, selection=selection, action=action)
    return _answer(request, frame, _done_words(action, done), done=done)


def _action(request: HttpRequest) -> Action:
    try:
        return Action(request.POST.get("action", ""))
    except ValueError:
        raise Invalid from None


def _selection(request: HttpRequest, frame: KBFrame) -> Selection:
    """What the form means: documents by id, or all that its list lets through but some."""
    given = request.POST
    state = ListState(frame.kb, QueryDict(given.get("list", "")), places_of(frame.reader))
    ids = tuple(each for each in given.getlist("doc") if "\0" not in each)
    if given.get("scope") == "all":
        return Selection(filters=state.filters, is_all=True, left_out=tuple(given.getlist("exclude")))
    return Selection(filters=state.filters, ids=ids)


def _question(request: HttpRequest, frame: KBFrame, selection: Selection, action: Action) -> HttpResponse:
    found = batches.preview(principal=frame.principal, kb=frame.kb, selection=selection, action=action)
    context = {
        "title": _title(action, found.fitting),
        "text": _effect(action, frame.kb),
        "passed_over": _passed_over_words(found),
        "confirm_label": _LABELS[action],
        "is_destructive": action is Action.EXCLUDE,
        "is_possible": found.fitting > 0,
        **_form(request, frame, action),
    }
    return _show(request, "knowledge/batch_question.html", context)


def _tags(request: HttpRequest, frame: KBFrame, selection: Selection) -> HttpResponse:
    if "confirmed" not in request.POST:
        found = batches.preview(principal=frame.principal, kb=frame.kb, selection=selection, action=Action.TAGS)
        context = {
            "title": ngettext("Tags of %(count)d document", "Tags of %(count)d documents", found.fitting)
            % {"count": found.fitting},
            "tags": batches.tags_in(frame.principal, frame.kb, selection),
            "total": found.fitting,
            **_form(request, frame, Action.TAGS),
        }
        return _show(request, "knowledge/batch_tags.html", context)
    done = batches.change_tags(
        principal=frame.principal,
        kb=frame.kb,
        selection=selection,
        add=[*request.POST.getlist("add"), *request.POST.get("new", "").split(",")],
        remove=request.POST.getlist("remove"),
    )
    words = ngettext(
        "The tags of %(count)d document were changed.", "The tags of %(count)d documents were changed.", done.count
    )
    return _answer(request, frame, words % {"count": done.count}, done=done, event="kb:refresh")


def _form(request: HttpRequest, frame: KBFrame, action: Action) -> dict[str, Any]:
    """What the question's form repeats of the one that asked for it."""
    given = request.POST
    names = ("list", "scope", "doc", "exclude", "next")
    return {
        "frame": frame,
        "workspace": frame.kb.workspace,
        "action": action,
        "url": reverse("knowledge:kb-batch", args=[frame.kb.pk]),
        "kept": [(name, value) for name in names for value in given.getlist(name)],
        "cancel_url": _list_url(request, frame),
    }


def _show(request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
    return render(request, f"{template}#form" if is_fragment(request) else template, context)


def _answer(
    request: HttpRequest, frame: KBFrame, words: str, *, done: Done | None = None, event: str = ""
) -> HttpResponse:
    """Say what was done, and show the rows that were passed over when somebody wants to see them."""
    if not is_fragment(request):
        messages.success(request, words)
        return redirect(_list_url(request, frame))
    events: dict[str, dict[str, Any]] = {
        name: {} for name in ("kb:close-modal", "kb:poke", "kb:select-none", event) if name
    }
    if done is None or not done.examples:
        return toast(with_events(no_content(), **events), words)
    context = {"text": words, "url": _examples_url(frame, done)}
    response = render(request, "knowledge/_batch_toast.html", context)
    response.headers["HX-Retarget"], response.headers["HX-Reswap"] = "#toasts", "afterbegin"
    return with_events(response, **events)


def _list_url(request: HttpRequest, frame: KBFrame) -> str:
    return address(frame.url, request.POST.get("list", ""))


def _examples_url(frame: KBFrame, done: Done) -> str:
    query = QueryDict(mutable=True)
    query.setlist("doc", list(done.examples))
    return address(frame.url, query.urlencode())


def _title(action: Action, count: int) -> str:
    facts = {"count": count}
    match action:
        case Action.REINDEX:
            return ngettext("Re-index %(count)d document?", "Re-index %(count)d documents?", count) % facts
        case Action.STOP:
            return ngettext("Stop %(count)d document?", "Stop %(count)d documents?", count) % facts
    return ngettext("Exclude %(count)d document?", "Exclude %(count)d documents?", count) % facts


def _effect(action: Action, kb: KnowledgeBase) -> str:
    match action:
        case Action.REINDEX if kb.provider != ProviderKind.LOCAL:
            return _(
                "They are read again, a few at a time. A document whose text is the same is not searchable while the"
                " indexing service works on it."
            )
        case Action.REINDEX:
            return _("They are read again. What is searchable stays so until the new version is ready.")
        case Action.STOP:
            return _("What was searchable stays searchable. You can retry them at any time.")
    return _("They leave the index and stay out of later syncs. The files stay where they are.")


def _passed_over_words(found: Preview) -> str:
    """Say which of the chosen documents are passed over, e.g. "2 parsing"."""
    return ", ".join(f"{number(count)} {lamp_word(status)}" for status, count in found.passed_over.items())


def _done_words(action: Action, done: Done) -> str:
    count = {"count": done.count}
    match action:
        case Action.STOP:
            words = ngettext("%(count)d document stopped", "%(count)d documents stopped", done.count) % count
        case Action.EXCLUDE:
            words = ngettext("%(count)d document excluded", "%(count)d documents excluded", done.count) % count
        case _:
            words = ngettext("%(count)d document queued", "%(count)d documents queued", done.count) % count
    if not done.passed_over:
        return words + "."
    rest = ngettext("%(count)d passed over", "%(count)d passed over", done.passed_over) % {"count": done.passed_over}
    return f"{words}, {rest}."
