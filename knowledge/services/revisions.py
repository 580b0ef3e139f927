"""The counter by which pages see what changed since they last looked."""

from __future__ import annotations

from django.db import transaction
from django.db.models import F

from knowledge.models import RevisionCounter


def take(workspace_id: str, count: int = 1) -> int:
    """Return the first of `count` new revisions. Call it inside the transaction that writes the documents: the
    counter's row stays locked until it commits, so revisions become visible in their order."""
    if not transaction.get_connection().in_atomic_block:
        raise RuntimeError("revisions are taken inside a transaction")
    if not RevisionCounter.objects.filter(workspace_id=workspace_id).update(value=F("value") + count):
        RevisionCounter.objects.get_or_create(workspace_id=workspace_id)
        RevisionCounter.objects.filter(workspace_id=workspace_id).update(value=F("value") + count)
    return RevisionCounter.objects.values_list("value", flat=True).get(workspace_id=workspace_id) - count + 1


def current(workspace_id: str) -> int:
    """Return the last revision handed out, 0 before the first."""
    value = RevisionCounter.objects.filter(workspace_id=workspace_id).values_list("value", flat=True).first()
    return value or 0
