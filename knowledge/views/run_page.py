"""What the pages of looks show of each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from django.urls import reverse
from django.utils.functional import Promise

from knowledge.models import KnowledgeBase, SyncOutcome, SyncRun
from knowledge.selectors.source_lists import RunView, run_views
from knowledge.services import sync_runs
from knowledge.views import run_words
from knowledge.views.kb_frame import KBFrame
from knowledge.views.run_words import Pill
from mnote.models import Access, Root
from mnote.selectors import access
from mnote.selectors.access import AccessMap

_SHOWN = 500


class RunRow:
    """One look in a list."""

    def __init__(self, kb: KnowledgeBase, view: RunView) -> None:
        self.kb = kb
        self.view = view
        self.run: SyncRun = view.run

    @property
    def url(self) -> str:
        return reverse("knowledge:run", args=[self.kb.pk, self.run.pk])

    @property
    def folder(self) -> str:
        """The folder looked at, "" when its source is no longer there."""
        source = self.run.source
        return (source.path or source.root.name) if source else ""

    @property
    def lamp(self) -> str:
        return run_words.lamp_of(self.view)

    @property
    def outcome(self) -> str:
        return run_words.outcome_words(self.view)

    @property
    def trigger(self) -> str | Promise:
        return run_words.trigger_words(self.run.trigger)

    @property
    def pills(self) -> list[Pill]:
        return run_words.pills(self.view)

    @property
    def is_stopped(self) -> bool:
        return self.run.outcome == SyncOutcome.STOPPED

    @property
    def why(self) -> str | Promise:
        return run_words.stop_words(self.run.reason_code)[0] if self.is_stopped else ""

    @property
    def next_step(self) -> str | Promise:
        return run_words.stop_words(self.run.reason_code)[1] if self.is_stopped else ""

    @property
    def skipped(self) -> list[tuple[int, str | Promise]]:
        return run_words.skipped_words(self.view.skipped_by)

    @property
    def found(self) -> str:
        return run_words.found_words(self.view)

    @property
    def seconds(self) -> float | None:
        end = self.run.finished_at
        return (end - self.run.started_at).total_seconds() if end else None

    @property
    def asks(self) -> bool:
        """Whether the look waits for a decision."""
        return self.is_stopped and not self.view.is_dismissed


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """Paths that a look would have taken out, those that the reader may read; `total` counts all there were."""

    paths: tuple[str, ...]
    total: int

    @property
    def left(self) -> int:
        return max(0, self.total - len(self.paths))


class RunPage(RunRow):
    """One look, with what it asks for."""

    def __init__(self, frame: KBFrame, run: SyncRun) -> None:
        super().__init__(frame.kb, run_views(frame.principal, frame.kb, [run])[0])
        self._frame = frame

    @property
    def may_decide(self) -> bool:
        return self._frame.can_curate and sync_runs.may_confirm(self.run)

    @property
    def may_look_again(self) -> bool:
        source = self.run.source
        return self._frame.can_curate and source is not None and source.frozen_at is None

    @property
    def is_superseded(self) -> bool:
        """Whether a later look made the question pointless."""
        source = self.run.source
        return (
            self.is_stopped
            and source is not None
            and source.sync_runs.filter(started_at__gt=self.run.started_at).exists()
        )

    @cached_property
    def missing(self) -> Missing:
        readable = self._readable
        paths = tuple(path for path in self.run.review if readable.may_read(path))
        total = self.run.counts.get("removed", 0) if self.view.shows_counts else len(paths)
        return Missing(paths=paths[:_SHOWN], total=total)

    @property
    def collisions(self) -> list[str]:
        """Names that differ only in case or accents: one file on other systems."""
        groups = self.run.counts.get("collisions", [])
        return [" · ".join(group) for group in groups if all(self._readable.may_read(path) for path in group)]

    @cached_property
    def _readable(self) -> AccessMap:
        root: Root = self.run.source.root if self.run.source else self.kb.root
        return access.access_maps(self._frame.principal, [root]).get(root.pk, AccessMap(default=Access.NONE))
