"""The processing of a document as its drawer tells it: attempts, steps, durations, what goes on now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from knowledge.models import Document, DocumentEvent, IndexStatus
from knowledge.providers.base import ProviderError, Stage
from knowledge.reasons import REASONS, reason_for
from knowledge.selectors.document_facts import Run, runs_of
from knowledge.services import chunks
from knowledge.services.documents import attempts_for
from mnote.templatetags.mnote_ui import duration as long_duration

_WORDS: dict[str, Promise] = {
    "reading": gettext_lazy("Read"),
    "transferred": gettext_lazy("Hand over"),
    "indexing": gettext_lazy("Index"),
    "failed": gettext_lazy("Failed"),
}
_READING, _INDEXING = "reading", "indexing"
#: The steps of an indexing service, and how they stand.
_STAGES: dict[str, Promise] = {
    "reading": gettext_lazy("Read"),
    "splitting": gettext_lazy("Split"),
    "indexing": gettext_lazy("Index"),
    "images": gettext_lazy("Look at images"),
    "finishing": gettext_lazy("Finish"),
}
_STAGE_STATES: dict[str, Promise] = {
    "waiting": gettext_lazy("waiting"),
    "running": gettext_lazy("going on"),
    "done": gettext_lazy("done"),
    "failed": gettext_lazy("failed"),
    "skipped": gettext_lazy("not needed"),
    "cancelled": gettext_lazy("stopped"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One step: its name, where it lies in the attempt (percent), how long it took, what came of it. `css` is "run"
    while it goes on and "bad" when it failed; `is_bar` is False for steps that take no time."""

    name: str | Promise
    start: float = 0.0
    end: float = 0.0
    took: str = ""
    note: str | Promise = ""
    css: str = ""
    is_bar: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt, newest first. `problem` says why it failed."""

    started_at: datetime
    took: str
    lines: Sequence[Line]
    problem: str | Promise = ""
    is_now: bool = False


class Processing:
    """Everything the tab shows of one document."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.max_attempts = attempts_for(document.reason_code)
        self.now = timezone.now()

    @property
    def is_running(self) -> bool:
        return self.document.index_status == IndexStatus.PARSING

    @property
    def is_waiting(self) -> bool:
        return self.document.index_status == IndexStatus.QUEUED

    @cached_property
    def attempts(self) -> list[Attempt]:
        runs = runs_of(self.document)
        if not self.is_running:
            return [self._past(run) for run in runs]
        since = self.document.status_since
        is_current = bool(runs) and runs[0].started_at >= since
        present = self._present(runs[0] if is_current else None)
        return [present, *(self._past(run) for run in (runs[1:] if is_current else runs))]

    @cached_property
    def stages(self) -> list[Line]:
        """The steps that the indexing service itself keeps, in their order."""
        try:
            found = chunks.provider_stages(self.document)
        except ProviderError:
            return []
        flat = [stage for each in found for stage in (each, *each.children)]
        times = [moment for stage in flat for moment in (stage.started_at, stage.finished_at) if moment]
        if not times:
            return [Line(name=_stage_name(stage), note=_stage_note(stage), is_bar=False) for stage in flat]
        return [self._stage(stage, min(times), max(times)) for stage in flat]

    def _past(self, run: Run) -> Attempt:
        whole = (run.finished_at - run.started_at).total_seconds()
        code = run.failure_code
        return Attempt(
            started_at=run.started_at,
            took=duration(whole),
            lines=[self._line(event, run.started_at, whole) for event in run.events],
            problem=reason_for(code).sentence if code else "",
        )

    def _present(self, run: Run | None) -> Attempt:
        """What goes on: the finished steps of this attempt, then the one that is not finished."""
        began = self.document.status_since
        whole = max(0.1, (self.now - began).total_seconds())
        done = list(run.events) if run else []
        lines = [self._line(event, began, whole) for event in done]
        is_read = any(event.stage == _READING for event in done)
        last = max((event.finished_at or event.started_at for event in done), default=began)
        lines.append(
            Line(
                name=_WORDS[_INDEXING if is_read else _READING],
                start=_percent(last - began, whole),
                end=100.0,
                took=duration((self.now - last).total_seconds()),
                css="run",
            )
        )
        return Attempt(started_at=began, took=duration(whole), lines=lines, is_now=True)

    def _line(self, event: DocumentEvent, began: datetime, whole: float) -> Line:
        ended = event.finished_at or event.started_at
        is_failed = event.state == "failed"
        return Line(
            name=_WORDS.get(event.stage, event.stage),
            start=_percent(event.started_at - began, whole) if not is_failed else 99.0,
            end=_percent(ended - began, whole),
            took="" if is_failed else duration((ended - event.started_at).total_seconds()),
            note=_note(event),
            css="bad" if is_failed else "",
        )

    def _stage(self, stage: Stage, began: datetime, ended: datetime) -> Line:
        whole = (ended - began).total_seconds()
        started, finished = stage.started_at or began, stage.finished_at or self.now
        return Line(
            name=_stage_name(stage),
            start=_percent(started - began, whole),
            end=_percent(finished - began, whole),
            took=duration((finished - started).total_seconds()),
            note=_stage_note(stage),
            css={"failed": "bad", "running": "run"}.get(stage.state, ""),
        )


def duration(seconds: float) -> str:
    """How long a step took; most take less than a second."""
    return _("%(count)d ms") % {"count": round(1000 * seconds)} if seconds < 1 else long_duration(seconds)


def _percent(part: timedelta, whole: float) -> float:
    return min(100.0, max(0.0, 100 * part.total_seconds() / whole)) if whole else 100.0


def _stage_name(stage: Stage) -> str | Promise:
    return _STAGES.get(stage.name, stage.name)


def _stage_note(stage: Stage) -> str | Promise:
    """Why a step failed, else how it stands unless its bar says so."""
    if stage.detail in REASONS:
        return REASONS[stage.detail].sentence
    return "" if stage.state == "done" and stage.finished_at else _STAGE_STATES.get(stage.state, stage.state)


def _note(event: DocumentEvent) -> str | Promise:
    facts = event.facts
    if event.stage == "failed":
        return reason_for(str(facts.get("code", ""))).sentence
    if facts.get("duplicate"):
        return _("content was there already")
    count = facts.get("chunks", facts.get("blocks"))
    if count is None:
        return ""
    return ngettext("%(count)d passage", "%(count)d passages", count) % {"count": count}
