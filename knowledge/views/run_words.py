"""What a look at a source found and did, in words: one place for the sources tab, the runs and the activity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from knowledge.models import SyncOutcome
from knowledge.reasons import reason_for
from knowledge.scanner.safety import StopReason
from knowledge.selectors.source_lists import RunView
from mnote.templatetags.mnote_ui import number

Words = str | Promise

_TRIGGERS: dict[str, Words] = {
    "manual": gettext_lazy("asked for by hand"),
    "schedule": gettext_lazy("by its schedule"),
    "change": gettext_lazy("because a file changed"),
    "added": gettext_lazy("because the source was added"),
    "rules": gettext_lazy("because its rules changed"),
    "confirmed": gettext_lazy("after somebody agreed to the removals"),
    "start": gettext_lazy("when MNote started"),
    "thawed": gettext_lazy("because it is followed again"),
}

#: Why nothing was removed -> what happened, what to do.
_STOPS: dict[str, tuple[Words, Words]] = {
    StopReason.ROOT_GONE: (
        gettext_lazy("The folder cannot be reached; its disk may be disconnected, or the folder renamed."),
        gettext_lazy("Connect it again or give it its old name. The next look goes on by itself."),
    ),
    StopReason.ROOT_EMPTY: (
        gettext_lazy("The folder looks empty, as a disk does that is not connected."),
        gettext_lazy("If its files were really deleted, agree below. If not, connect the disk and look again."),
    ),
    StopReason.SCAN_PARTIAL: (
        gettext_lazy("A part of the folder could not be read."),
        gettext_lazy("The next look tries again by itself; if it stays, ask an administrator to check the folder."),
    ),
    StopReason.DEVICE_CHANGED: (
        gettext_lazy("Another disk or folder now stands where the old one was."),
        gettext_lazy("If that is meant, agree below. If not, connect the old one and look again."),
    ),
    StopReason.OVER_LIMIT: (
        gettext_lazy("More documents are missing than the safety stop lets go at once."),
        gettext_lazy("If their files were really deleted, agree below. If not, put them back and look again."),
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pill:
    """One number of a look: a sign before it, and what it means in words."""

    sign: str
    count: int
    words: str
    kind: str = ""


def trigger_words(trigger: str) -> Words:
    return _TRIGGERS.get(trigger, trigger)


def stop_words(reason_code: str) -> tuple[Words, Words]:
    """What held the removals back, and what to do."""
    fallback = (_("The removals were held back."), _("Look at the list below."))
    return _STOPS.get(reason_code, fallback)


def pills(view: RunView) -> list[Pill]:
    """The numbers that are not nothing, in a fixed order."""
    counts = view.counts
    found = [
        Pill(sign="+", count=counts.get("added", 0), words=_("new")),
        Pill(sign="~", count=counts.get("changed", 0), words=_("changed")),
        Pill(sign="→", count=counts.get("moved", 0), words=_("moved")),
        Pill(sign="−", count=_removed(view), words=_("removed")),
        Pill(sign="", count=_waiting(view), words=_("missing since before")),
        Pill(sign="", count=_held_back(view), words=_("missing, kept"), kind="warn"),
        Pill(sign="", count=counts.get("deferred", 0), words=_("still being written")),
        Pill(sign="", count=counts.get("unread", 0), words=_("folders not readable"), kind="warn"),
    ]
    return [pill for pill in found if pill.count]


def outcome_words(view: RunView) -> str:
    """How a look ended, in a word or two."""
    if view.is_interrupted:
        return _("interrupted")
    match view.run.outcome:
        case SyncOutcome.RUNNING:
            return _("looking now")
        case SyncOutcome.SUCCEEDED:
            return _("done")
        case SyncOutcome.STOPPED:
            return _("removals held back")
        case SyncOutcome.CANCELLED:
            return _("cancelled")
    return _("failed")


def lamp_of(view: RunView) -> str:
    """The shape that goes with how a look ended."""
    if view.is_interrupted:
        return "failed"
    shapes = {
        SyncOutcome.RUNNING: "parsing",
        SyncOutcome.SUCCEEDED: "indexed",
        SyncOutcome.STOPPED: "stale",
        SyncOutcome.CANCELLED: "skipped",
    }
    return shapes.get(SyncOutcome(view.run.outcome), "failed")


def found_words(view: RunView) -> str:
    """How many files belong after this look."""
    counts = view.counts
    count = sum(counts.get(name, 0) for name in ("unchanged", "touched", "changed", "added", "moved"))
    return ngettext("%(count)s file", "%(count)s files", count) % {"count": number(count)}


def skipped_words(skipped_by: Mapping[str, int]) -> list[tuple[int, Words]]:
    """How many were left out, and why, most first."""
    return [(count, reason_for(code).sentence) for code, count in skipped_by.items()]


def _removed(view: RunView) -> int:
    """Files that this very look missed first, or that a rule leaves out now."""
    gone = view.counts.get("removed", 0) if view.run.outcome == SyncOutcome.SUCCEEDED else 0
    return gone - _waiting(view) + view.counts.get("withdrawn", 0)


def _waiting(view: RunView) -> int:
    """Files that were missing at the look before already and wait for their grace period to end."""
    return view.counts.get("missingBefore", 0) if view.run.outcome == SyncOutcome.SUCCEEDED else 0


def _held_back(view: RunView) -> int:
    kept = view.counts.get("removed", 0) if view.run.outcome == SyncOutcome.STOPPED else 0
    return kept + view.counts.get("held", 0)
