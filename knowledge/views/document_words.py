"""What a document's state is called in lists and drawers: one place, so that they never differ."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext

from knowledge.models import Document, IndexStatus, ReasonClass
from knowledge.reasons import Reason, reason_for
from knowledge.services import dropping, pending
from mnote.templatetags.mnote_ui import age_words, calendar_words, lamp_word

#: Reasons that are said beside the lamp of a skipped file, in place of the word.
_STOPPED = "stopped"
_STUCK_SECONDS = 15 * 60
#: What is said beside the lamp of a document that the indexing service has.
_WITH_SERVICE: dict[str, Promise] = {
    pending.WAITING: gettext_lazy("waiting at the indexing service"),
    pending.AT_WORK: gettext_lazy("being indexed"),
    pending.TRYING_AGAIN: gettext_lazy("read again by the indexing service"),
    pending.FINISHING: gettext_lazy("searchable, being finished"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StateView:
    """A document's lamp in words. `text` stands beside the shape, `why` below it where there is something to say;
    `kind` of it is "temporary" where nobody has to do anything."""

    status: str
    text: str
    title: str
    why: str | Promise = ""
    next_step: str | Promise = ""
    kind: str = ""
    is_stopped: bool = False


def state_of(document: Document, now: datetime | None = None) -> StateView:
    """Say where a document stands, since when and why."""
    now = now or timezone.now()
    is_stopped = document.index_status == IndexStatus.FAILED and document.reason_code == _STOPPED
    reason = _reason(document)
    return StateView(
        status=document.index_status,
        text=_text(document, now, is_stopped=is_stopped),
        title=_("%(state)s since %(time)s") % {
            "state": lamp_word(document.index_status),
            "time": calendar_words(document.status_since, now),
        },
        why=_why(document, reason, now, is_stopped=is_stopped),
        next_step=reason.next_step if reason else "",
        kind="temporary" if _is_calm(document, is_stopped=is_stopped) else "",
        is_stopped=is_stopped,
    )  # fmt: skip


def clock(seconds: float) -> str:
    """A running time as it is read off a clock: "0:42", "12:05", "1:02:05"."""
    minutes, rest = divmod(max(0, int(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _reason(document: Document) -> Reason | None:
    return reason_for(document.reason_code) if document.reason_code else None


def _text(document: Document, now: datetime, *, is_stopped: bool) -> str:
    if is_stopped and document.reason_detail:
        return _("stopped by %(name)s") % {"name": document.reason_detail}
    if is_stopped:
        return pgettext("lamp", "stopped")
    match document.index_status:
        case IndexStatus.PARSING:
            seconds = (now - document.status_since).total_seconds()
            if document.reason_code in _WITH_SERVICE and not document.worker:
                return f"{_WITH_SERVICE[document.reason_code]} · {clock(seconds)}"
            return _("reading · %(time)s") % {"time": clock(seconds)}
        case IndexStatus.STALE:
            return _("changed %(age)s") % {"age": age_words(document.status_since, now)}
        case IndexStatus.DELETED if document.missing_since and not document.deleted_at:
            return pgettext("lamp", "file missing")
        case IndexStatus.DELETED if document.provider_status == dropping.BEING_REMOVED:
            return _("being removed from the index")
    return lamp_word(document.index_status)


def _why(document: Document, reason: Reason | None, now: datetime, *, is_stopped: bool) -> str | Promise:
    if document.index_status == IndexStatus.PARSING:
        is_tried_again = document.reason_code == pending.TRYING_AGAIN
        return reason.sentence if reason and is_tried_again else _still_reading(document, now)
    if reason is None or is_stopped:
        return ""
    if document.index_status == IndexStatus.QUEUED and document.next_try_at:
        wait = (document.next_try_at - now).total_seconds()
        return f"{reason.sentence} {_next_try(wait)}"
    if document.index_status in (IndexStatus.FAILED, IndexStatus.DELETED, IndexStatus.SKIPPED, IndexStatus.STALE):
        kept = _("The older version is still searchable.")
        is_kept = document.index_status == IndexStatus.FAILED and document.is_searchable
        return f"{reason.sentence} {kept if is_kept else reason.next_step}"
    return ""


def _still_reading(document: Document, now: datetime) -> str:
    """A reading that takes very long is said so; one that hides an older version too."""
    if (now - document.status_since).total_seconds() > _STUCK_SECONDS:
        return _("It takes very long. You can stop it and look at the file.")
    return ""


def _next_try(seconds: float) -> str:
    if seconds <= 60:
        return _("Next try within a minute.")
    return _("Next try in %(minutes)d min.") % {"minutes": round(seconds / 60)}


def _is_calm(document: Document, *, is_stopped: bool) -> bool:
    """Whether the reason is no alarm: it heals by itself, a person did it, or it is only left out."""
    heals = document.reason_class == ReasonClass.TEMPORARY or document.index_status == IndexStatus.QUEUED
    return is_stopped or heals or document.index_status in (IndexStatus.SKIPPED, IndexStatus.DELETED, IndexStatus.STALE)
