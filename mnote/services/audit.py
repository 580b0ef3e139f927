"""The audit trail: who did what, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mnote.middleware import request_id
from mnote.models import AuditEntry, Workspace
from mnote.principals import Principal

_TARGET_LENGTH = 300


def record(
    *,
    principal: Principal | None,
    action: str,
    workspace: Workspace | None = None,
    kb_id: str = "",
    target: str = "",
    outcome: str = "succeeded",
    facts: Mapping[str, Any] | None = None,
) -> AuditEntry:
    """Write one entry. `principal` is None for the system itself; `target` is an id or a path relative to a root.

    `facts` are small plain values: counts, names, codes. Never document text, a secret or an absolute path.
    """
    return AuditEntry.objects.create(
        actor=principal.user if principal else None,
        token_name=principal.token_name if principal else "",
        action=action,
        outcome=outcome,
        workspace=workspace,
        kb_id=kb_id,
        target=_cut(target),
        facts=dict(facts or {}),
        request_id=request_id.get(),
    )


def _cut(text: str) -> str:
    return text if len(text) <= _TARGET_LENGTH else f"{text[: _TARGET_LENGTH - 1]}…"
