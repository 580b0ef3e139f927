"""Finding runs and their events, as far as they are the caller's own and their root is still to be seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from mnote.exceptions import NotFound
from mnote.principals import Principal
from mnote.selectors import access
from pageai.models import LIVE, EventKind, EventSource, Run, RunEvent
from pageai.selectors import bindings

MAX_EVENTS = 500
TERMINAL = frozenset({EventKind.RUN_COMPLETED, EventKind.RUN_FAILED, EventKind.RUN_CANCELLED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A piece of a run's events. `is_over`: the run ended and nothing follows this piece."""

    run: Run
    events: Sequence[RunEvent]
    is_over: bool


def runs_of(principal: Principal) -> QuerySet[Run]:
    """Select the caller's runs in roots that they still see, the newest first."""
    workspaces = list(access.workspaces_for(principal))
    seen = access.visible_roots(principal, workspaces)
    places = Q(pk__in=[])
    for workspace_id, roots in seen.items():
        places |= Q(binding__workspace_id=workspace_id, binding__root_uri__in=[root.root_uri for root in roots])
    rows = Run.objects.filter(places, binding__user=principal.user)
    return rows.select_related("binding").order_by("-created_at", "-id")


def get_run(principal: Principal, run_id: str) -> Run:
    """Fetch one of them. Raises NotFound, also for another person's."""
    rows = Run.objects.filter(pk=run_id) if "\0" not in run_id else Run.objects.none()
    run = rows.select_related("binding__workspace", "binding__user", "parent_run").first()
    if run is None or not _may_see(principal, run):
        raise NotFound
    return run


def active_of(principal: Principal, *, session_id: str, workspace_id: str = "", document_id: str = "") -> Run | None:
    """Return the live run of the caller's session, None when nothing runs. Raises NotFound for a session that is not
    theirs, or is another workspace's or page's."""
    binding = bindings.binding_of_session(principal, session_id)
    if workspace_id not in ("", binding.workspace_id) or document_id not in ("", binding.page_resource_id):
        raise NotFound
    run = Run.objects.filter(binding=binding, status__in=LIVE).select_related("binding").order_by("-created_at").first()
    if run is not None and not _may_see(principal, run):
        raise NotFound
    return run


def read(run: Run, *, after: int, limit: int = MAX_EVENTS) -> Reading:
    """Read a run's events after a number. The end of a run that has no end event any more is made up from its status.

    `run` may be older than its events: they are read first, so that no end is told before all there is.
    """
    rows = list(RunEvent.objects.filter(run_id=run.pk, seq__gt=after).order_by("seq")[:limit])
    if len(rows) == limit:
        return Reading(run=run, events=rows, is_over=False)
    if rows and rows[-1].kind in TERMINAL:
        return Reading(run=run, events=rows, is_over=True)
    if run.is_live:
        return Reading(run=run, events=rows, is_over=False)
    return Reading(run=run, events=[*rows, *_made_up_end(run, after)], is_over=True)


def receipt_of(run: Run) -> list[dict[str, object]]:
    """Return the evidence that the tools of a run gave, each once."""
    rows = RunEvent.objects.filter(run=run, kind=EventKind.TOOL_COMPLETED, payload__has_key="evidence")
    found: dict[tuple[str, str], dict[str, object]] = {}
    for payload in rows.order_by("seq").values_list("payload", flat=True):
        for each in payload["evidence"] if isinstance(payload["evidence"], list) else ():
            key = (str(each.get("evidenceId")), str(each.get("label")))
            kept = {name: each.get(name) for name in ("evidenceId", "sourceTitle", "locator", "toolCallId")}
            found.setdefault(key, kept)
    return list(found.values())


def _made_up_end(run: Run, after: int) -> list[RunEvent]:
    has_end = RunEvent.objects.filter(run_id=run.pk, seq__gte=run.last_seq, kind__in=TERMINAL).exists()
    if has_end or after > run.last_seq:
        return []
    payload = {"status": run.status, "reason": run.end_reason}
    at = run.ended_at or run.updated_at
    made = RunEvent(run_id=run.pk, seq=run.last_seq + 1, kind=f"run.{run.status}", payload=payload, created_at=at)
    made.source = EventSource.MNOTE
    return [made]


def _may_see(principal: Principal, run: Run) -> bool:
    binding = run.binding
    if binding.user_id != principal.user.pk:
        return False
    try:
        bindings.get_binding(principal, binding.pk)
        root = access.root_of(binding.workspace, binding.root_uri)
    except NotFound:
        return False
    return access.access_map(principal, root).sees_anything
