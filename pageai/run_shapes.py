"""The public JSON of runs and their events (spec 8.4). Frozen: what was sent once is sent byte for byte again."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pageai.models import Run, RunEvent

RUN_SCHEMA, EVENT_SCHEMA = "mnote.ai_run.v1", "mnote.ai_run_event.v1"
EVENTS_SCHEMA, ACTIVE_SCHEMA = "mnote.ai_run_events.v1", "mnote.ai_active_run.v1"
RECEIPT_SCHEMA = "mnote.agent_run_receipt.evidence.v1"


def seq_text(seq: int) -> str:
    """Return a number of the sequence as text that sorts: 18 digits."""
    return f"{seq:018d}"


def run_json(run: Run) -> dict[str, Any]:
    """Return a run."""
    binding = run.binding
    return {
        "schema": RUN_SCHEMA,
        "hostRunId": run.pk,
        "requestId": run.request_id,
        "agentId": run.agent_id,
        "provider": run.provider,
        "providerRunId": run.provider_run_id or None,
        "sessionId": run.session_id or None,
        "actorId": str(binding.user_id),
        "workspaceId": binding.workspace_id,
        "documentId": binding.page_resource_id,
        "status": run.status,
        "endReason": run.end_reason or None,
        "targetSnapshotHash": run.target_hash or None,
        "capabilitySnapshotHash": run.capability_hash or None,
        "parentRunId": run.parent_run_id,
        "resumeRequestId": run.resume_request_id or None,
        "lastSeq": seq_text(run.last_seq),
        "createdAt": _moment(run.created_at),
        "updatedAt": _moment(run.updated_at),
        "endedAt": _moment(run.ended_at) if run.ended_at else None,
    }


def receipt_json(run: Run, evidence: list[dict[str, object]]) -> dict[str, Any]:
    """Return what a run's statements rest on."""
    return {"schema": RECEIPT_SCHEMA, "hostRunId": run.pk, "evidence": evidence}


def event_json(event: RunEvent) -> dict[str, Any]:
    """Return one event."""
    return {
        "schema": EVENT_SCHEMA,
        "hostRunId": event.run_id,
        "seq": seq_text(event.seq),
        "kind": str(event.kind),
        "source": str(event.source),
        "payload": event.payload,
        "createdAt": _moment(event.created_at),
    }


def event_frame(event: RunEvent) -> str:
    """Return one event as a server-sent event whose id is its number."""
    # Sorted: PostgreSQL gives the members of a payload in another order than they were written.
    text = json.dumps(event_json(event), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return f"id: {seq_text(event.seq)}\ndata: {text}\n\n"


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
