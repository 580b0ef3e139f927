"""The rules of a source in words, and how it stands."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from knowledge.models import Disappearance, Source, SyncMode
from knowledge.selectors.source_lists import SourceState

Words = str | Promise

#: State -> the lamp's shape, the word beside it.
_STATES: dict[SourceState, tuple[str, Words]] = {
    SourceState.LEVEL: ("indexed", gettext_lazy("level with the disk")),
    SourceState.LOOKING: ("parsing", gettext_lazy("being looked at")),
    SourceState.WAITING: ("queued", gettext_lazy("is looked at next")),
    SourceState.NEVER: ("queued", gettext_lazy("not looked at yet")),
    SourceState.STOPPED: ("stale", gettext_lazy("waits for your decision")),
    SourceState.HELD: ("stale", gettext_lazy("removals held back")),
    SourceState.UNREACHABLE: ("failed", gettext_lazy("folder not reachable")),
    SourceState.INTERRUPTED: ("failed", gettext_lazy("last look interrupted")),
    SourceState.FROZEN: ("skipped", gettext_lazy("frozen: searchable, not followed")),
    SourceState.PAUSED: ("skipped", gettext_lazy("paused")),
}
_MOST = 6


def state_words(state: SourceState) -> tuple[str, Words]:
    return _STATES[state]


def what_words(source: Source) -> str:
    """Which of its files belong, as one line."""
    parts = []
    if source.include:
        parts.append(_("only %(patterns)s") % {"patterns": _patterns(source.include)})
    elif source.is_folder:
        parts.append(_("everything that can be read"))
    if source.exclude:
        parts.append(_("without %(patterns)s") % {"patterns": _patterns(source.exclude)})
    if source.is_folder:
        parts.append(_("with sub-folders") if source.recursive else _("without sub-folders"))
    parts.append(_("files up to %(limit)d MB") % {"limit": source.max_file_mb})
    return " · ".join(parts)


def when_words(source: Source) -> str:
    """When it is looked at."""
    if source.frozen_at:
        return _("Not looked at any more.")
    every = _every(source.interval_minutes)
    match source.sync_mode:
        case SyncMode.MANUAL:
            return _("Looked at only when somebody asks.")
        case SyncMode.ON_CHANGE:
            return _("Looked at when a file changes, and %(every)s.") % {"every": every}
    return _("Looked at %(every)s.") % {"every": every}


def gone_words(source: Source) -> str:
    """What happens to documents whose files disappear."""
    if source.disappearance == Disappearance.KEEP:
        return _("Documents of missing files stay until somebody decides.")
    count = source.grace_hours
    words = ngettext(
        "Documents of missing files leave the index after %(count)d hour.",
        "Documents of missing files leave the index after %(count)d hours.",
        count,
    )
    return words % {"count": count}


def stop_words(source: Source) -> str:
    """When a look asks before it removes."""
    return _("It asks before more than %(limit)d %% leave at once.") % {"limit": source.safety_stop_percent}


def _every(minutes: int) -> str:
    if minutes % 1440 == 0:
        return ngettext("every day", "every %(count)d days", minutes // 1440) % {"count": minutes // 1440}
    if minutes % 60 == 0:
        return ngettext("every hour", "every %(count)d hours", minutes // 60) % {"count": minutes // 60}
    return ngettext("every minute", "every %(count)d minutes", minutes) % {"count": minutes}


def _patterns(patterns: list[str]) -> str:
    shown = ", ".join(patterns[:_MOST])
    left = len(patterns) - _MOST
    return f"{shown}, +{left}" if left > 0 else shown
