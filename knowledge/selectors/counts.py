"""Counts of a knowledge base by state, as one reader sees them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.db.models import Count, Sum

from knowledge.models import IndexStatus, KBCount, KnowledgeBase
from knowledge.querysets import readable_documents, readable_with
from mnote.models import Root, Workspace
from mnote.principals import Principal
from mnote.selectors import access
from mnote.selectors.access import AccessMap


@dataclass(frozen=True, slots=True, kw_only=True)
class KBCounts:
    """How many documents are in each state. `searchable` counts what search can find, whatever the state."""

    by_status: Mapping[str, int]
    searchable: int

    def of(self, status: str) -> int:
        return self.by_status.get(status, 0)

    @property
    def total(self) -> int:
        """Files that belong: neither skipped nor removed."""
        return sum(n for status, n in self.by_status.items() if status not in _NOT_MEMBERS)

    @property
    def active(self) -> int:
        return self.of(IndexStatus.QUEUED) + self.of(IndexStatus.PARSING)

    @property
    def needs_attention(self) -> int:
        return self.of(IndexStatus.FAILED) + self.of(IndexStatus.STALE)


_NOT_MEMBERS = frozenset({IndexStatus.SKIPPED, IndexStatus.DELETED})


def counts_for(principal: Principal, kbs: Iterable[KnowledgeBase]) -> dict[str, KBCounts]:
    """Return the counts of each knowledge base by id.

    Where the reader may read whole roots, the kept counters answer, at the same cost for any size; where grants
    narrow that, the rows are counted.
    """
    listed = list(kbs)
    whole: list[KnowledgeBase] = []
    narrowed: list[KnowledgeBase] = []
    reads = _reads_everything(principal, {kb.workspace_id for kb in listed})
    for kb in listed:
        (whole if reads[kb.workspace_id] and not principal.source_ids else narrowed).append(kb)
    return _kept(whole) | _counted(principal, narrowed)


def counts_with(maps: Mapping[int, AccessMap], principal: Principal, kb: KnowledgeBase) -> KBCounts:
    """Return the counts of one knowledge base, given what may be done below each root of its workspace."""
    if all(granted.reads_everything for granted in maps.values()) and not principal.source_ids:
        return _kept([kb])[kb.id]
    rows = readable_with(maps, principal, kb).order_by().values_list("kb_id", "index_status", "is_searchable")
    return _summed([kb], rows.annotate(n=Count("pk")))[kb.id]


def _reads_everything(principal: Principal, workspace_ids: set[str]) -> dict[str, bool]:
    result = dict.fromkeys(workspace_ids, True)
    roots = list(Root.objects.filter(workspace_id__in=workspace_ids))
    maps = access.access_maps(principal, roots)
    for root in roots:
        result[root.workspace_id] = result[root.workspace_id] and maps[root.pk].reads_everything
    return result


def _kept(kbs: list[KnowledgeBase]) -> dict[str, KBCounts]:
    rows = KBCount.objects.filter(kb__in=kbs, count__gt=0).values_list("kb_id", "index_status", "is_searchable")
    return _summed(kbs, rows.annotate(n=Sum("count")))


def _counted(principal: Principal, kbs: list[KnowledgeBase]) -> dict[str, KBCounts]:
    """Count the rows themselves: two queries a workspace and its rights, however many knowledge bases."""
    by_workspace: defaultdict[Workspace, list[KnowledgeBase]] = defaultdict(list)
    for kb in kbs:
        by_workspace[kb.workspace].append(kb)
    result: dict[str, KBCounts] = {}
    for workspace, members in by_workspace.items():
        rows = readable_documents(principal, workspace).filter(kb__in=members).order_by()
        result |= _summed(members, rows.values_list("kb_id", "index_status", "is_searchable").annotate(n=Count("pk")))
    return result


def _summed(kbs: list[KnowledgeBase], rows: Iterable[tuple[str, str, bool, int]]) -> dict[str, KBCounts]:
    by_status: dict[str, Counter[str]] = {kb.id: Counter() for kb in kbs}
    searchable: Counter[str] = Counter()
    for kb_id, status, is_searchable, number in rows:
        by_status[kb_id][status] += number
        searchable[kb_id] += number if is_searchable and status not in _NOT_MEMBERS else 0
    return {kb.id: KBCounts(by_status=dict(by_status[kb.id]), searchable=searchable[kb.id]) for kb in kbs}
