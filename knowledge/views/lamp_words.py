"""What a lamp of the file tree says when pointed at: every knowledge base of a file, every state of a folder."""

from __future__ import annotations

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from knowledge.models import IndexStatus
from knowledge.reasons import reason_for
from knowledge.selectors.lamps import FileLamp, FolderLamp, KbState
from mnote.templatetags.mnote_ui import calendar_words, lamp_word, number


def tooltip(lamp: FileLamp | FolderLamp) -> str:
    """Return one line for each knowledge base of a file, or the counts of a folder."""
    if isinstance(lamp, FolderLamp):
        return counts_words(lamp)
    return "\n".join(_state_words(state) for state in lamp.states)


def counts_words(lamp: FolderLamp) -> str:
    """Return e.g. "3 failed · 12 parsing · 140 indexed"."""
    return " · ".join(
        pgettext("so many in this state", "%(count)s %(word)s") % {"count": number(count), "word": lamp_word(status)}
        for status, count in lamp.counts.items()
    )


def _state_words(state: KbState) -> str:
    now = timezone.now()
    since = calendar_words(state.since, now)
    words = _("%(kb)s: %(state)s since %(time)s") % {
        "kb": state.kb_name,
        "state": lamp_word(state.status),
        "time": since,
    }
    if state.reason_code and state.status is not IndexStatus.INDEXED:
        return f"{words}. {reason_for(state.reason_code).sentence}"
    return words
