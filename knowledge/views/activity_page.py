"""What the activity pages show: work in the background, and what people did."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Page, Paginator
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_date
from django.utils.functional import Promise

from knowledge.models import KnowledgeBase
from knowledge.querysets import visible_kbs
from knowledge.selectors.activity_lists import KINDS, Narrow, actors_in, is_curator, narrowed, visible_entries
from knowledge.views import activity_words
from knowledge.views.choosing import number_of, principal_of
from mnote.models import AuditEntry, Job, JobStatus, User, Workspace
from mnote.selectors import access
from mnote.selectors import jobs as job_rows

_ENTRIES, _JOBS = 50, 20
_ACTIVE = Q(status__in=[JobStatus.QUEUED, JobStatus.RUNNING])
_ENDED = Q(status__in=[JobStatus.SUCCEEDED, JobStatus.FAILED, JobStatus.CANCELLED])
#: Failures of the last days are shown without being asked for.
_LATELY = timedelta(days=7)
#: What the list of jobs can be narrowed to.
JOB_STATES = ("", "failed", "all")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    """A job as its reader may see it."""

    job: Job
    kb: KnowledgeBase | None
    may_act: bool
    shows_detail: bool

    @property
    def words(self) -> str | Promise:
        return activity_words.job_words(self.job.kind)

    @property
    def lamp(self) -> str:
        return activity_words.state_of(self.job)[0]

    @property
    def state(self) -> str | Promise:
        return activity_words.state_of(self.job)[1]

    @property
    def since(self) -> datetime:
        return self.job.finished_at or self.job.started_at or self.job.created_at

    @property
    def error(self) -> str | Promise:
        code = self.job.error_code
        return activity_words.error_words(code) if code and code != "cancelled" else ""

    @property
    def is_waiting(self) -> bool:
        """Whether a next try is set for later."""
        return self.job.status == JobStatus.QUEUED and self.job.run_at > timezone.now()

    @property
    def progress(self) -> str:
        return activity_words.progress_words(self.job) if self.job.status == JobStatus.RUNNING else ""

    @property
    def may_cancel(self) -> bool:
        is_active = self.job.status in (JobStatus.QUEUED, JobStatus.RUNNING)
        return self.may_act and is_active and self.job.cancel_requested_at is None

    @property
    def may_retry(self) -> bool:
        return self.may_act and self.job.status in (JobStatus.FAILED, JobStatus.CANCELLED)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryRow:
    """One thing that was done."""

    entry: AuditEntry
    kb: KnowledgeBase | None

    @property
    def words(self) -> str:
        return activity_words.entry_words(self.entry)

    @property
    def details(self) -> list[tuple[str | Promise, str]]:
        return activity_words.details(self.entry)

    @property
    def names_kb(self) -> bool:
        """Whether the sentence names the knowledge base already."""
        return self.kb is None or self.kb.name == self.entry.target

    @property
    def is_failed(self) -> bool:
        return self.entry.outcome != "succeeded"


class ActivityPage:
    """Jobs and entries of every workspace the person sees, or of one knowledge base."""

    def __init__(self, request: HttpRequest, kb: KnowledgeBase | None = None) -> None:
        self._request = request
        self._principal = principal_of(request)
        self.kb = kb
        self.narrow = _narrow_of(request)
        self.job_state = state if (state := request.GET.get("jobs", "")) in JOB_STATES else ""

    @cached_property
    def workspaces(self) -> list[Workspace]:
        found = [self.kb.workspace] if self.kb else list(access.workspaces_for(self._principal))
        wanted = self._request.GET.get("workspace", "")
        return [each for each in found if each.pk == wanted] or found

    @cached_property
    def every_workspace(self) -> list[Workspace]:
        return [] if self.kb else list(access.workspaces_for(self._principal))

    @property
    def workspace_id(self) -> str:
        return self.workspaces[0].pk if len(self.workspaces) == 1 and len(self.every_workspace) > 1 else ""

    # --- Jobs.

    @cached_property
    def jobs(self) -> list[JobRow]:
        """What waits and runs first, then what ended last."""
        rows = self._jobs()
        active = list(rows.filter(_ACTIVE).order_by("-status", "run_at", "id")[:_JOBS])
        ended = rows.filter(_ENDED)
        if self.job_state != "all":
            ended = ended.filter(status=JobStatus.FAILED)
        if not self.job_state:
            ended = ended.filter(finished_at__gte=timezone.now() - _LATELY)
        more = [] if self.job_state == "failed" else active
        return [self._job(job) for job in [*more, *ended.order_by("-finished_at", "-id")[:_JOBS]]]

    @cached_property
    def is_busy(self) -> bool:
        return self._jobs().filter(_ACTIVE, run_at__lte=timezone.now()).exists()

    def _jobs(self) -> QuerySet[Job]:
        rows = job_rows.visible_jobs(self._principal)
        return rows.filter(kb_id=self.kb.id) if self.kb else rows.filter(workspace__in=self.workspaces)

    def _job(self, job: Job) -> JobRow:
        is_own = job.requested_by_id == self._principal.user.pk
        return JobRow(
            job=job,
            kb=self._kbs.get(job.kb_id),
            may_act=self._curates.get(job.workspace_id or "", False),
            shows_detail=is_own or self._principal.is_administrator,
        )

    @property
    def jobs_url(self) -> str:
        return f"{self._request.path}?{urlencode({**self._kept('jobs'), 'part': 'jobs'})}"

    @property
    def job_tabs(self) -> list[tuple[str, str, bool]]:
        """State, address, whether it is shown now."""
        return [(state, self._address(jobs=state), state == self.job_state) for state in JOB_STATES]

    # --- What was done.

    @cached_property
    def is_curator(self) -> bool:
        return any(self._curates.values())

    @cached_property
    def entries(self) -> QuerySet[AuditEntry]:
        return narrowed(self._visible, self.narrow)

    @cached_property
    def page(self) -> Page[AuditEntry]:
        return Paginator(self.entries, _ENTRIES).get_page(number_of(self._request.GET, "page"))

    @property
    def rows(self) -> list[EntryRow]:
        return [EntryRow(entry=entry, kb=self._kbs.get(entry.kb_id)) for entry in self.page]

    @property
    def more_url(self) -> str:
        return self._address(page=self.page.next_page_number()) if self.page.has_next() else ""

    @property
    def csv_url(self) -> str:
        return self._address(format="csv")

    @property
    def all_url(self) -> str:
        return self._request.path

    @property
    def here(self) -> str:
        """This page as it is, to come back to."""
        return self._address()

    @property
    def is_narrowed(self) -> bool:
        return any(self._request.GET.get(name) for name in ("kind", "actor", "outcome", "from", "to"))

    @property
    def kinds(self) -> list[tuple[str, str | Promise]]:
        return [(kind, activity_words.KIND_WORDS[kind]) for kind in KINDS]

    @cached_property
    def actors(self) -> list[User]:
        return actors_in(self._visible)

    @property
    def dates(self) -> tuple[str, str]:
        return self._request.GET.get("from", ""), self._request.GET.get("to", "")

    @cached_property
    def _visible(self) -> QuerySet[AuditEntry]:
        return visible_entries(self._principal, self.workspaces, self.kb)

    @cached_property
    def _curates(self) -> dict[str, bool]:
        return {workspace.pk: is_curator(self._principal, workspace) for workspace in self.workspaces}

    @cached_property
    def _kbs(self) -> dict[str, KnowledgeBase]:
        if self.kb:
            return {self.kb.id: self.kb}
        return {kb.id: kb for kb in visible_kbs(self._principal).filter(workspace__in=self.workspaces)}

    @property
    def kb_names(self) -> dict[str, str]:
        """The names of the knowledge bases that entries may belong to, by id."""
        return {kb_id: kb.name for kb_id, kb in self._kbs.items()}

    def _kept(self, *left_out: str) -> dict[str, str]:
        names = ("workspace", "jobs", "kind", "actor", "outcome", "from", "to")
        return {name: value for name in names if name not in left_out and (value := self._request.GET.get(name))}

    def _address(self, **changes: Any) -> str:
        query = {name: value for name, value in {**self._kept(), **changes}.items() if value}
        return f"{self._request.path}?{urlencode(query)}".removesuffix("?")


def back_url(kb_id: str) -> str:
    """The page a job belongs to."""
    return reverse("knowledge:kb-activity", args=[kb_id]) if kb_id else reverse("knowledge:activity")


def _narrow_of(request: HttpRequest) -> Narrow:
    query = request.GET
    until = _day(query.get("to", ""))
    return Narrow(
        kind=query.get("kind", ""),
        actor=query.get("actor", "").replace("\0", ""),
        outcome=query.get("outcome", ""),
        since=_day(query.get("from", "")),
        until=until + timedelta(days=1) if until else None,
    )


def _day(written: str) -> datetime | None:
    """The beginning of a day, on the reader's clock."""
    try:
        day = parse_date(written)
    except ValueError:
        return None
    return timezone.make_aware(datetime(day.year, day.month, day.day)) if day else None  # noqa: DTZ001
