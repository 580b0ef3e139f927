"""What the first page shows of each workspace: its knowledge bases, the last used ones first."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Max

from knowledge.models import IndexStatus, Pin, SyncOutcome, SyncRun
from knowledge.querysets import visible_kbs
from knowledge.selectors.counts import KBCounts, counts_for
from mnote.models import Workspace
from mnote.principals import Principal
from mnote.selectors.home import Collection

#: What asks for a person comes first; how many are fine comes last.
_SHOWN = (IndexStatus.FAILED, IndexStatus.STALE, IndexStatus.PARSING, IndexStatus.QUEUED, IndexStatus.INDEXED)


def knowledge_bases(principal: Principal, workspaces: Sequence[Workspace]) -> dict[str, list[Collection]]:
    """Give the knowledge bases of each workspace by its id; the number of queries does not grow with theirs."""
    kbs = list(visible_kbs(principal).filter(workspace__in=workspaces).select_related("workspace"))
    ids = [kb.id for kb in kbs]
    used = dict(Pin.objects.filter(user=principal.user, kb_id__in=ids).values_list("kb_id", "used_at"))
    done = SyncRun.objects.filter(kb_id__in=ids, outcome=SyncOutcome.SUCCEEDED).values_list("kb_id")
    synced = dict(done.annotate(at=Max("finished_at")))
    counts = counts_for(principal, kbs)
    found: dict[str, list[Collection]] = {}
    for kb in sorted(kbs, key=lambda kb: used.get(kb.id) or kb.created_at, reverse=True):
        one = Collection(id=kb.id, name=kb.name, lamps=_lamps(counts[kb.id]), synced_at=synced.get(kb.id))
        found.setdefault(kb.workspace_id, []).append(one)
    return found


def _lamps(counts: KBCounts) -> dict[str, int]:
    return {str(status): counts.of(status) for status in _SHOWN if counts.of(status)}
