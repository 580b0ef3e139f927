"""The run journal (spec 8.4): what an agent did for a person, as rows that are only added. The one writer of runs.

A run's number sequence has one keeper, its row: whoever adds events holds it while they are written, so that a reader
who has seen event n has seen all before it. A run that ended takes no more events.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from mnote.ids import new_id
from pageai.models import LIVE, EndReason, OpenHubBinding, PanelTurn, Run, RunEvent, RunStatus
from pageai.panel.drafts import Draft, bounded, short, size_of
from pageai.panel.scribe import answer

#: A run that has more keeps only what waits for somebody and how it ended, and says how much was left out.
MAX_EVENTS, MAX_EVENT_BYTES = 5_000, 4 * 1024 * 1024
_ALWAYS = frozenset({
    "permission.requested", "permission.answered", "question.asked", "question.answered", "changed_files", "end",
    "error", "run.completed", "run.failed", "run.cancelled",
})  # fmt: skip
_ASKING = frozenset({"permission.requested", "question.asked"})
_ANSWERED = frozenset({"permission.answered", "question.answered"})
#: Even those are not without end.
_MAX_EVENTS_EVER = 2 * MAX_EVENTS
_STATUS_OF = {
    EndReason.DONE: RunStatus.COMPLETED,
    EndReason.FAILED: RunStatus.FAILED,
    EndReason.CUT: RunStatus.FAILED,
    EndReason.LOST: RunStatus.FAILED,
    EndReason.CANCELLED: RunStatus.CANCELLED,
    EndReason.SIGNED_OUT: RunStatus.CANCELLED,
}
_MAX_TITLE = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A run as it is asked for. `request_id` is the host's key of one click, "" to have one made. `target` and
    `capability` are the hashes of what the run works on and with."""

    request_id: str = ""
    agent_id: str = "openhub"
    provider: str = "openhub"
    title: str = ""
    target: str = ""
    capability: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    parent: Run | None = None


def receive(*, binding: OpenHubBinding, wanted: Wanted) -> tuple[Run, bool]:
    """Return the run of a request and whether it is new: the same request is the same run, for good."""
    request_id = wanted.request_id or new_id("req")
    known = Run.objects.filter(binding=binding, request_id=request_id).first()
    if known is not None:
        return known, False
    try:
        return _create(binding, wanted, request_id), True
    except IntegrityError:  # asked twice at the same moment
        return Run.objects.get(binding=binding, request_id=request_id), False


def begin(*, binding: OpenHubBinding, wanted: Wanted) -> Run:
    """Start the run of a question that is asked now, and make it that of the binding's turn. One that was received
    before is started; one that ended already is followed by a new one."""
    run, _is_new = receive(binding=binding, wanted=wanted)
    if not run.is_live:
        run, _is_new = receive(binding=binding, wanted=replace(wanted, request_id="", parent=run))
    attend(run=run)
    return run


def attend(*, run: Run) -> None:
    """Say that the binding's turn is read for this run."""
    facts = {"status": RunStatus.RUNNING, "session_id": run.binding.openhub_session_id, "updated_at": timezone.now()}
    _live(run.pk).update(**facts)
    PanelTurn.objects.filter(pk=run.binding_id).update(run=run)
    run.refresh_from_db()


def live_of(*, binding: OpenHubBinding) -> Run | None:
    """Return the newest run of a binding that was begun and did not end."""
    rows = Run.objects.filter(binding=binding, status__in=LIVE).exclude(status=RunStatus.PENDING)
    return rows.select_related("binding").order_by("-created_at", "-id").first()


def newest_of(*, binding: OpenHubBinding) -> Run | None:
    return Run.objects.filter(binding=binding).order_by("-created_at", "-id").first()


def append(*, run_id: str, drafts: Iterable[Draft], provider_run_id: str = "", is_waiting: bool | None = None) -> int:
    """Add events to a live run and return how many were added. What has a key is added once, whoever tells it.

    `is_waiting` says whether the run waits for its person now; `provider_run_id` is noted when none was.
    """
    listed = list(drafts)
    facts: dict[str, Any] = {}
    if is_waiting is not None:
        facts["status"] = RunStatus.INTERRUPTED if is_waiting else RunStatus.RUNNING
    with transaction.atomic():
        if provider_run_id:
            _live(run_id).filter(provider_run_id="").update(provider_run_id=provider_run_id[:128])
        return _add(run_id, listed, facts)


def note_answer(*, binding: OpenHubBinding, kind: str, request_id: str, how: str) -> None:
    """Note in the live run what the person answered to a permission or question request."""
    run = live_of(binding=binding)
    if run is not None:
        append(run_id=run.pk, drafts=[answer(kind, request_id, how, source="mnote")])


def interrupt(*, run_id: str) -> None:
    """Say that nobody hears the agent of a live run at the moment."""
    with transaction.atomic():
        if _live(run_id).exclude(status=RunStatus.INTERRUPTED).update(status=RunStatus.INTERRUPTED):
            said = Draft(kind="session.info.updated", payload={"state": "interrupted"}, source="mnote")
            _add(run_id, [said], {})


def end(*, run_id: str, reason: EndReason, drafts: Iterable[Draft] = (), detail: str = "") -> bool:
    """End a live run with its last events, and say whether it was still live. `detail` is a code or a short sentence
    that names no address."""
    status = _STATUS_OF[reason]
    with transaction.atomic():
        row = Run.objects.select_for_update().filter(pk=run_id, status__in=LIVE).first()
        if row is None:
            return False
        told = list(drafts)
        _add(run_id, [*told, *_left_open(run_id, told, reason)], {})
        row.refresh_from_db(fields=["omitted"])
        payload: dict[str, Any] = {"status": status.value, "reason": reason.value}
        payload |= {"detail": short(detail, 300)} if detail else {}
        payload |= {"omitted": row.omitted} if row.omitted else {}
        last = Draft(kind=f"run.{status.value}", payload=payload, source="mnote", key="run.end")
        _add(run_id, [last], {"status": status, "end_reason": reason, "ended_at": timezone.now()})
    return True


def _left_open(run_id: str, told: Sequence[Draft], reason: EndReason) -> list[Draft]:
    """Say of what still waited for the person that it does so no more: no request outlives its run."""
    rows = RunEvent.objects.filter(run_id=run_id, kind__in=_ASKING | _ANSWERED)
    events = [*rows.values_list("kind", "payload"), *((each.kind, each.payload) for each in told)]
    asked = dict.fromkeys(_request_in(*each) for each in events if each[0] in _ASKING)
    done = {_request_in(*each) for each in events if each[0] in _ANSWERED}
    how = "lost" if reason in {EndReason.LOST, EndReason.CUT} else "ended"
    return [answer(*each, how, source="mnote") for each in asked if each not in done]


def _request_in(kind: str, payload: Mapping[str, Any]) -> tuple[str, str]:
    return kind.partition(".")[0], str(payload.get("requestId", ""))


def title_of(question: str) -> str:
    """Return how a question begins, for lists."""
    return short(" ".join(question.split()), _MAX_TITLE)


def _create(binding: OpenHubBinding, wanted: Wanted, request_id: str) -> Run:
    with transaction.atomic():
        run = Run.objects.create(
            binding=binding,
            request_id=request_id,
            agent_id=wanted.agent_id,
            provider=wanted.provider,
            session_id=binding.openhub_session_id,
            title=title_of(wanted.title),
            target_hash=wanted.target,
            capability_hash=wanted.capability,
            parent_run=wanted.parent,
            resume_request_id=wanted.parent.request_id if wanted.parent else "",
        )
        payload = {"requestId": request_id, "agentId": wanted.agent_id, "title": run.title, **wanted.facts}
        _add(run.pk, [Draft(kind="run.created", payload=payload, source="mnote", key="run.created")], {})
    run.refresh_from_db()
    return run


def _live(run_id: str) -> Any:
    return Run.objects.filter(pk=run_id, status__in=LIVE)


def _add(run_id: str, drafts: Sequence[Draft], facts: Mapping[str, Any]) -> int:
    """Number and write events inside the caller's transaction. Its first UPDATE takes the run's row on any database."""
    now = timezone.now()
    if not drafts and not facts:
        return 0
    if not _live(run_id).update(updated_at=now):
        return 0
    run = Run.objects.get(pk=run_id)
    fresh, omitted = _fitting(run, _unwritten(run_id, drafts))
    rows = [
        RunEvent(
            run_id=run_id, seq=run.last_seq + number, kind=each.kind, source=each.source, payload=payload,
            dedup_key=each.key[:200], created_at=now,
        )
        for number, (each, payload) in enumerate(fresh, start=1)
    ]  # fmt: skip
    RunEvent.objects.bulk_create(rows, batch_size=500)
    size = sum(size_of(row.payload) for row in rows)
    Run.objects.filter(pk=run_id).update(
        last_seq=F("last_seq") + len(rows),
        event_bytes=F("event_bytes") + size,
        omitted=F("omitted") + omitted,
        **facts,
    )
    return len(rows)


def _unwritten(run_id: str, drafts: Sequence[Draft]) -> list[Draft]:
    keys = [each.key[:200] for each in drafts if each.key]
    known: set[str] = set()
    for start in range(0, len(keys), 500):
        rows = RunEvent.objects.filter(run_id=run_id, dedup_key__in=keys[start : start + 500])
        known |= set(rows.values_list("dedup_key", flat=True))
    fresh = []
    for each in drafts:
        key = each.key[:200]
        if not key or key not in known:
            fresh.append(each)
            known.add(key)
    return fresh


def _fitting(run: Run, drafts: Sequence[Draft]) -> tuple[list[tuple[Draft, dict[str, Any]]], int]:
    """Keep what a run has room for, each payload within its bounds; give how many were left out as well. The first
    time something is left out, an event says so."""
    kept: list[tuple[Draft, dict[str, Any]]] = []
    omitted, size, is_marked = 0, run.event_bytes, run.omitted > 0
    for each in drafts:
        payload = bounded(each.payload)
        count = run.last_seq + len(kept)
        has_room = count < MAX_EVENTS and size < MAX_EVENT_BYTES
        if has_room or (each.kind in _ALWAYS and (count < _MAX_EVENTS_EVER or each.key == "run.end")):
            kept.append((each, payload))
            size += size_of(payload)
            continue
        omitted += 1
        if not is_marked:
            is_marked = True
            mark = Draft(kind="session.info.updated", payload={"state": "omitting"}, source="mnote")
            kept.append((mark, dict(mark.payload)))
    return kept, omitted
