"""Taking documents out of knowledge bases by hand. Files stay; what a folder rule would bring back is excluded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Q

from knowledge.models import Document, IndexStatus, KnowledgeBase
from knowledge.querysets import readable_documents
from knowledge.services import documents, sources
from mnote.models import Role, Root, Workspace
from mnote.principals import Principal
from mnote.selectors import access
from mnote.selectors.access import covered_by
from mnote.services import audit, jobs

_BATCH = 500
_MAX_ROWS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawn:
    """Rows that were taken out, and the items (ids, paths) that named none."""

    removed: tuple[Document, ...]
    unknown: tuple[str, ...]


def withdraw_named(
    *,
    principal: Principal,
    workspace: Workspace,
    root: Root | None,
    kb: KnowledgeBase | None,
    ids: Iterable[str] = (),
    paths: Iterable[str] = (),
) -> Withdrawn:
    """Take out the readable documents of these ids, and those at or below these paths, in `kb` or in every knowledge
    base; needs curator. A path names no document when nothing there is registered. Raises NotFound, Forbidden."""
    access.require_role(principal, workspace, Role.CURATOR)
    rows = readable_documents(principal, workspace).exclude(index_status=IndexStatus.DELETED, deleted_at__isnull=False)
    if root is not None:
        rows = rows.filter(root=root)
    if kb is not None:
        rows = rows.filter(kb=kb)
    found: dict[str, Document] = {}
    unknown = []
    for item, wanted in [*((id_, Q(id=id_)) for id_ in ids), *((path, _at_or_below(path)) for path in paths)]:
        named = list(rows.filter(wanted).select_related("kb__workspace", "root", "source")[:_MAX_ROWS])
        found |= {row.id: row for row in named}
        if not named:
            unknown.append(item)
    withdraw(principal=principal, rows=list(found.values()))
    return Withdrawn(removed=tuple(found.values()), unknown=tuple(unknown))


def withdraw(*, principal: Principal, rows: Sequence[Document]) -> None:
    """Take documents out of search at once and out of the index in the background; needs curator."""
    by_kb: defaultdict[KnowledgeBase, list[Document]] = defaultdict(list)
    for row in rows:
        by_kb[row.kb].append(row)
    for kb, members in by_kb.items():
        own = [row for row in members if row.source is not None and not row.source.is_folder]
        _remove_file_sources(principal, kb, own)
        others = [row for row in members if row not in own]
        if others:
            sources.exclude(principal=principal, kb=kb, targets=others)


def _remove_file_sources(principal: Principal, kb: KnowledgeBase, rows: Sequence[Document]) -> None:
    """A file that was added by itself leaves together with its rule."""
    access.require_role(principal, kb.workspace, Role.CURATOR)
    for start in range(0, len(rows), _BATCH):
        batch = rows[start : start + _BATCH]
        with transaction.atomic():
            for row in batch:
                if row.source is not None:
                    row.source.delete()
            jobs.enqueue(
                kind="knowledge.remove_documents",
                payload={"document_ids": [row.id for row in batch], "code": "source_removed"},
                workspace=kb.workspace,
                kb_id=kb.id,
                requested_by=principal.user,
            )
        for row in batch:
            documents.mark_deleted(document=row, code="source_removed")
            audit.record(
                principal=principal, action="source.remove", workspace=kb.workspace, kb_id=kb.id, target=row.source_path
            )


def _at_or_below(path: str) -> Q:
    path = path.strip("/")
    if not path:
        return Q(pk__in=[])
    return covered_by(path)
