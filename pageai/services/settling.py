"""Runs that nobody reads: asked after at opencode until they have their end. Every run gets one, with its reason."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from mnote.exceptions import AppError, NotFound
from mnote.principals import Principal
from mnote.services import jobs
from pageai.exceptions import PanelNotConfigured
from pageai.models import LIVE, EndReason, PanelTurn, Run, RunStatus
from pageai.panel.drafts import Draft
from pageai.panel.errors import PanelError, PanelRefused, PanelUnavailable
from pageai.panel.scribe import Scribe, Snapshot
from pageai.services import changes, gatekeeping, journals, runs, turns
from pageai.services.gatekeeping import Visit
from pageai.services.opencodes import running

logger = logging.getLogger(__name__)

SETTLE_KIND = "pageai.settle_run"
#: A run that was announced and never asked.
_NEVER_ASKED = timedelta(minutes=10)
#: How long opencode may not answer before its run counts as lost.
_UNREACHABLE = timedelta(minutes=2)
#: How long an agent may work or wait without a word.
_WAITS_AT_MOST = timedelta(hours=6)
_BATCH = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How the reading of a run's stream ended: with a proper last frame or without; `reason` when that is known
    whatever opencode says; `source` tells the end."""

    is_proper: bool
    source: str = "openhub"
    reason: EndReason | None = None
    detail: str = ""


def unattended() -> QuerySet[Run]:
    """Select live runs that no process reads."""
    now = timezone.now()
    reading = PanelTurn.objects.filter(run=OuterRef("pk"), ended_at__isnull=True, beat_at__gte=now - turns.STALE)
    never = Q(status=RunStatus.PENDING, updated_at__lt=now - _NEVER_ASKED)
    begun = Q(status__in=[RunStatus.RUNNING, RunStatus.INTERRUPTED])
    return Run.objects.filter(never | begun).exclude(Exists(reading))


def ask_for_all() -> int:
    """Have every unattended run settled, and say how many there are."""
    found = list(unattended().order_by("updated_at").values_list("pk", flat=True)[:_BATCH])
    for run_id in found:
        jobs.enqueue(kind=SETTLE_KIND, payload={"runId": run_id}, dedup_key=run_id)
    return len(found)


def settle(run_id: str) -> bool:
    """Bring an unattended run up to date, and to its end when its agent works no more. True when it has to be looked
    at again."""
    run = unattended().filter(pk=run_id).select_related("binding__user").first()
    if run is None:
        return False
    if run.status == RunStatus.PENDING:
        return not runs.end(run_id=run_id, reason=EndReason.LOST, detail="never-asked")
    try:
        visit = _visit(run)
    except AppError as error:
        _stop(run)
        runs.end(run_id=run_id, reason=EndReason.SIGNED_OUT, detail=error.code)
        return False
    return _settled(visit, run)


def settle_before(visit: Visit) -> None:
    """End what is left of earlier runs of a conversation: its agent was found to work no more."""
    for run in Run.objects.filter(binding=visit.binding, status__in=LIVE).exclude(status=RunStatus.PENDING):
        _settled(visit, run)
        runs.end(run_id=run.pk, reason=EndReason.LOST)


def fail(visit: Visit, *, code: str) -> None:
    """End the run of the binding's turn, if it has one, for a question that could not be asked."""
    for run_id in Run.objects.filter(turn__binding=visit.binding, status__in=LIVE).values_list("pk", flat=True):
        runs.end(run_id=run_id, reason=EndReason.FAILED, detail=code)


def give_up(visit: Visit, *, code: str) -> None:
    """Give the conversation free whose question could not be asked, and end its run."""
    fail(visit, code=code)
    turns.end(binding_id=visit.binding.pk)


def conclude(visit: Visit, run: Run, scribe: Scribe, outcome: Outcome) -> None:
    """Write the end of a run whose stream was read here. One whose agent still works, or of which nobody can say, stays
    interrupted and is settled later."""
    rest = list(scribe.flush(is_all=True))
    if outcome.reason is not None:
        runs.end(run_id=run.pk, reason=outcome.reason, drafts=rest, detail=outcome.detail)
        return
    try:
        snapshot: Snapshot | None = journals.fetch(visit)
    except (AppError, PanelError):
        snapshot = None
    # Who could not be asked has not said that nothing waits any more.
    drafts = [*rest, *(scribe.look(snapshot) if snapshot else ())]
    if (snapshot is None or snapshot.is_busy) and not outcome.is_proper:
        runs.append(run_id=run.pk, drafts=[*drafts, *scribe.flush()], provider_run_id=scribe.anchor)
        runs.interrupt(run_id=run.pk)
        return
    drafts += last_drafts(scribe, source=outcome.source)
    runs.append(run_id=run.pk, drafts=(), provider_run_id=scribe.anchor)
    reason = journals.reason_of(scribe, was_cut=not outcome.is_proper)
    runs.end(run_id=run.pk, reason=reason, drafts=drafts)


def last_drafts(scribe: Scribe, *, source: str) -> Iterator[Draft]:
    """Give what is left to say when the agent works no more: text that waited, and how it ended."""
    yield from scribe.flush(is_all=True)
    if scribe.error and not scribe.was_aborted:
        yield Draft(kind="error", payload={"message": scribe.error}, source=source, key="end")
    else:
        yield Draft(kind="end", payload={"aborted": scribe.was_aborted}, source=source, key="end")


def _visit(run: Run) -> Visit:
    """Raises AppError when the person may no longer work there."""
    if not run.binding.user.is_active:
        raise NotFound
    return gatekeeping.enter(principal=Principal(user=run.binding.user), binding_id=run.binding_id)


def _settled(visit: Visit, run: Run) -> bool:
    if run.provider == "chat_only":  # its answer came over a connection that is gone
        return not runs.end(run_id=run.pk, reason=EndReason.LOST, detail="reader-gone")
    try:
        snapshot = journals.fetch(visit)
    except PanelRefused:
        return not runs.end(run_id=run.pk, reason=EndReason.LOST, detail="conversation-gone")
    except PanelNotConfigured as error:
        return not runs.end(run_id=run.pk, reason=EndReason.LOST, detail=error.code)
    except PanelError as error:
        return _unreachable(run, error)
    return _written(visit, run, journals.scribe_of(visit, run), snapshot)


def _written(visit: Visit, run: Run, scribe: Scribe, snapshot: Snapshot) -> bool:
    drafts = [*scribe.look(snapshot), *scribe.flush(is_all=not snapshot.is_busy)]
    if snapshot.is_busy:
        if timezone.now() - run.updated_at > _WAITS_AT_MOST:
            _stop(run)
            return not runs.end(run_id=run.pk, reason=EndReason.LOST, drafts=drafts, detail="waited-too-long")
        if drafts:
            runs.append(run_id=run.pk, drafts=drafts, provider_run_id=scribe.anchor, is_waiting=True)
            turns.touch(binding_id=run.binding_id)
        runs.interrupt(run_id=run.pk)
        return True
    drafts += last_drafts(scribe, source="opencode")
    runs.append(run_id=run.pk, drafts=(), provider_run_id=scribe.anchor)
    runs.end(run_id=run.pk, reason=journals.reason_of(scribe, was_cut=True), drafts=drafts)
    _note_changes(visit, run)
    return False


def _unreachable(run: Run, error: PanelError) -> bool:
    is_over = isinstance(error, PanelUnavailable) and error.reason == journals.NOT_RUNNING
    if is_over or timezone.now() - run.updated_at > _UNREACHABLE:
        return not runs.end(run_id=run.pk, reason=EndReason.LOST, detail=error.code)
    runs.interrupt(run_id=run.pk)
    return True


def _note_changes(visit: Visit, run: Run) -> None:
    try:
        changes.note_turn(visit, run_id=run.pk)
    except (AppError, PanelError) as error:
        logger.warning("changes of a run were not noted", extra={"code": error.code})
    turns.touch(binding_id=run.binding_id)


def _stop(run: Run) -> None:
    """Stop the agent of somebody who may not, or does not, go on."""
    root = run.binding.workspace.roots.filter(root_uri=run.binding.root_uri).first()
    if root is None or not run.session_id:
        return
    visit = Visit(principal=Principal(user=run.binding.user), binding=run.binding, root=root)
    try:
        opencode = running(visit)
        if opencode is not None:
            opencode.abort(run.session_id, directory=visit.directory)
    except (AppError, PanelError) as error:
        logger.warning("an agent could not be stopped", extra={"code": error.code})
