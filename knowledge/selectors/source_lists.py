"""The sources of a knowledge base and the looks at them, as one reader sees them. Nothing of it is stored: the state of
a source follows from its last look and from the jobs that wait or run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from django.db.models import Count, Q, QuerySet

from knowledge.models import Document, Exclusion, IndexStatus, KnowledgeBase, Source, SyncOutcome, SyncRun
from knowledge.querysets import readable_in_kb
from knowledge.scanner.safety import StopReason
from knowledge.selectors.kb_lists import latest_runs
from mnote.models import Access, Job, JobStatus, Root
from mnote.principals import Principal
from mnote.selectors import access
from mnote.selectors.access import AccessMap

_ACTIVE = (JobStatus.QUEUED, JobStatus.RUNNING)
_KIND = "knowledge.sync_source"
#: A look that could not see the folder: there is nothing to decide, only to mend.
_UNREACHABLE = frozenset({StopReason.ROOT_GONE.value, StopReason.SCAN_PARTIAL.value})


class SourceState(StrEnum):
    """How a source stands."""

    LEVEL = "level"
    LOOKING = "looking"
    WAITING = "waiting"
    NEVER = "never"
    STOPPED = "stopped"
    HELD = "held"
    UNREACHABLE = "unreachable"
    INTERRUPTED = "interrupted"
    FROZEN = "frozen"
    PAUSED = "paused"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """One look. `shows_counts` is False for who may not read everything below its folder: numbers would tell."""

    run: SyncRun
    shows_counts: bool
    is_interrupted: bool = False

    @property
    def counts(self) -> Mapping[str, int]:
        numbers = self.run.counts if self.shows_counts else {}
        return {name: value for name, value in numbers.items() if type(value) is int}

    @property
    def skipped_by(self) -> Mapping[str, int]:
        found: Mapping[str, int] = self.run.counts.get("skippedBy", {}) if self.shows_counts else {}
        return dict(sorted(found.items(), key=lambda pair: -pair[1]))

    @property
    def is_dismissed(self) -> bool:
        return bool(self.run.counts.get("dismissed"))


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceView:
    """One source with its last look; `failed` counts its readable documents that need a person."""

    source: Source
    state: SourceState
    last: RunView | None
    failed: int = 0


def sources_of(principal: Principal, kb: KnowledgeBase) -> list[SourceView]:
    """Return the sources whose folder the reader may enter, in path order; a fixed number of queries."""
    rows = list(kb.sources.select_related("root", "created_by").order_by("root__name", "path", "id"))
    maps = access.access_maps(principal, {row.root for row in rows})
    seen = [row for row in rows if maps[row.root_id].may_enter(row.path)]
    last = {run.source_id: run for run in latest_runs([kb.id])} | _last_of_frozen(seen)
    jobs = _active_jobs(kb)
    failed = _failed(principal, kb)
    return [_view(kb, row, last.get(row.id), jobs.get(row.id), maps, failed.get(row.id, 0)) for row in seen]


def runs_of(principal: Principal, kb: KnowledgeBase, *, source_id: str = "") -> QuerySet[SyncRun]:
    """Select the looks at folders that the reader may enter, newest first."""
    rows = list(kb.sources.select_related("root"))
    maps = access.access_maps(principal, {row.root for row in rows})
    seen = [row.id for row in rows if maps[row.root_id].may_enter(row.path)]
    runs = kb.sync_runs.filter(Q(source__in=seen) | Q(source=None)).select_related("source__root", "kb__root")
    return (runs.filter(source=source_id) if source_id else runs).order_by("-started_at", "-id")


def run_views(principal: Principal, kb: KnowledgeBase, runs: Iterable[SyncRun]) -> list[RunView]:
    """Say of each look what the reader may know of it."""
    listed = list(runs)
    roots = Root.objects.filter(workspace_id=kb.workspace_id)
    maps = access.access_maps(principal, roots)
    running = {job.id for job in _active_jobs(kb).values()}
    return [_run_view(run, maps, running) for run in listed]


def exclusions_of(principal: Principal, kb: KnowledgeBase) -> list[Exclusion]:
    """Return the paths that were taken out by hand, those the reader may read, in path order."""
    rows = list(Exclusion.objects.filter(kb=kb).select_related("root", "created_by").order_by("root__name", "path"))
    maps = access.access_maps(principal, {row.root for row in rows})
    return [row for row in rows if maps[row.root_id].may_read(row.path)]


def document_count(source: Source) -> int:
    """Count the documents that would leave the index together with a source."""
    rows = Document.objects.filter(source=source)
    return rows.exclude(index_status__in=[IndexStatus.DELETED, IndexStatus.SKIPPED]).count()


def reads_all_below(rights: AccessMap, path: str) -> bool:
    """Say whether nothing at or below a folder is closed to the reader."""
    closed = [prefix for prefix, given in rights.rules.items() if given == Access.NONE]
    return rights.may_read(path) and not any(AccessMap(rules={path: Access.READ}).may_read(each) for each in closed)


def _view(
    kb: KnowledgeBase, source: Source, run: SyncRun | None, job: Job | None, maps: Mapping[int, AccessMap], failed: int
) -> SourceView:
    last = _run_view(run, maps, {job.id} if job else set()) if run else None
    return SourceView(source=source, state=_state(kb, source, last, job), last=last, failed=failed)


def _state(kb: KnowledgeBase, source: Source, last: RunView | None, job: Job | None) -> SourceState:
    if source.frozen_at:
        return SourceState.FROZEN
    if job is not None and not kb.paused_at:
        return SourceState.LOOKING if job.status == JobStatus.RUNNING else SourceState.WAITING
    if kb.paused_at:
        return SourceState.PAUSED
    return _state_after(last) if last else SourceState.NEVER


def _state_after(last: RunView) -> SourceState:
    if last.run.outcome == SyncOutcome.SUCCEEDED:
        return SourceState.LEVEL
    if last.run.outcome != SyncOutcome.STOPPED:
        return SourceState.INTERRUPTED
    if last.run.reason_code in _UNREACHABLE:
        return SourceState.UNREACHABLE
    return SourceState.HELD if last.is_dismissed else SourceState.STOPPED


def _run_view(run: SyncRun, maps: Mapping[int, AccessMap], running: set[str]) -> RunView:
    rights = maps.get(run.source.root_id if run.source else run.kb.root_id)
    path = run.source.path if run.source else ""
    return RunView(
        run=run,
        shows_counts=rights is not None and reads_all_below(rights, path),
        is_interrupted=run.outcome == SyncOutcome.RUNNING and run.job_id not in running,
    )


def _active_jobs(kb: KnowledgeBase) -> dict[str, Job]:
    """Return the look that runs, else the one that waits, by source."""
    rows = Job.objects.filter(kb_id=kb.id, kind=_KIND, status__in=_ACTIVE).order_by("status")
    return {job.dedup_key: job for job in rows}


def _last_of_frozen(rows: Iterable[Source]) -> dict[str | None, SyncRun]:
    frozen = [row.id for row in rows if row.frozen_at]
    runs = SyncRun.objects.filter(source__in=frozen).select_related("source__root", "kb").order_by("started_at", "id")
    return {run.source_id: run for run in runs} if frozen else {}


def _failed(principal: Principal, kb: KnowledgeBase) -> dict[str | None, int]:
    rows = readable_in_kb(principal, kb).filter(index_status=IndexStatus.FAILED).order_by()
    return dict(rows.values_list("source_id").annotate(n=Count("pk")))
