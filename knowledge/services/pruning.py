"""Prune: registry rows whose file or index entry is gone, found a part of the registry at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from knowledge.models import Document, IndexStatus, KnowledgeBase
from knowledge.providers.base import DocumentPhase, ProviderDocumentId
from knowledge.querysets import readable_documents, visible_kbs
from knowledge.scanner.result import RootState
from knowledge.scanner.safety import StopReason, check_removals
from knowledge.services import documents, registry
from knowledge.services.ingest import kb_ref
from knowledge.services.providers import provider_of
from mnote.exceptions import NotFound
from mnote.files import opening
from mnote.files.errors import FileGone, FilesError, RootGone
from mnote.files.opening import EntryKind
from mnote.models import Role, Root
from mnote.principals import Principal
from mnote.selectors import access
from mnote.services import audit, files

_LIMIT_PERCENT = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """`missing`: rows without a file; `lost`: rows believed indexed that the provider does not hold. `held` says why
    missing rows were left alone. `next_after` is where the next call goes on, "" at the end."""

    checked: int
    missing: tuple[Document, ...]
    lost: tuple[Document, ...]
    held: StopReason | None
    next_after: str


def prune(
    *, principal: Principal, root: Root, kb: KnowledgeBase | None, dry_run: bool, limit: int, after: str = ""
) -> Pruned:
    """Look at up to `limit` live rows in id order and, without `dry_run`, repair: a row without its file leaves search
    and waits for its grace period, a row without its index entry is read again. Needs curator; sees readable rows only.

    Raises RootUnavailable: the folder cannot be reached, so nothing can be said.
    """
    access.require_role(principal, root.workspace, Role.CURATOR)
    rows = _rows(principal, root, kb, after, limit)
    missing = _missing(root, rows)
    held = _stop_reason(root, len(rows), len(missing))
    lost = _lost([row for row in rows if row not in missing])
    if not dry_run:
        _repair([] if held else missing, lost)
        facts = {"checked": len(rows), "missing": len(missing), "lost": len(lost), "held": held.value if held else ""}
        audit.record(principal=principal, action="registry.prune", workspace=root.workspace, facts=facts)
    return Pruned(
        checked=len(rows),
        missing=tuple(missing),
        lost=tuple(lost),
        held=held,
        next_after=rows[-1].id if len(rows) == limit else "",
    )


def _rows(principal: Principal, root: Root, kb: KnowledgeBase | None, after: str, limit: int) -> list[Document]:
    kbs = visible_kbs(principal, root.workspace)
    if kb is not None and not kbs.filter(id=kb.id).exists():
        raise NotFound
    rows = readable_documents(principal, root.workspace).filter(root=root, kb__in=[kb] if kb else kbs)
    live = rows.exclude(index_status__in=[IndexStatus.DELETED, IndexStatus.SKIPPED]).filter(id__gt=after)
    return list(live.select_related("kb__workspace", "kb__profile", "root").order_by("id")[:limit])


def _missing(root: Root, rows: Sequence[Document]) -> list[Document]:
    base = files.path_of_root(root)
    try:
        opening.stat_below(base, "")
    except RootGone:
        raise files.RootUnavailable from None
    return [row for row in rows if not _is_there(base, row.source_path)]


def _is_there(base: bytes, path: str) -> bool:
    """Say whether a file is there, or nothing can be said."""
    try:
        return opening.stat_below(base, path).kind is EntryKind.FILE
    except FileGone:
        return False
    except FilesError:
        return True


def _stop_reason(root: Root, known: int, missing: int) -> StopReason | None:
    """Hold back what looks like a folder that is not there rather than like files that were deleted."""
    facts = opening.stat_below(files.path_of_root(root), "")
    is_other = root.inode is not None and facts.inode != root.inode
    verdict = check_removals(
        known, missing, limit_percent=_LIMIT_PERCENT, root_state=RootState.OK, is_device_changed=is_other
    )
    return verdict.reason


def _lost(rows: Sequence[Document]) -> list[Document]:
    by_kb: defaultdict[KnowledgeBase, list[Document]] = defaultdict(list)
    for row in rows:
        if row.index_status == IndexStatus.INDEXED and row.provider_knowledge_id:
            by_kb[row.kb].append(row)
    lost: list[Document] = []
    for kb, members in by_kb.items():
        ids = [ProviderDocumentId(row.provider_knowledge_id) for row in members]
        states = provider_of(kb).document_status(kb_ref(kb), ids)
        lost += [row for row, state in zip(members, states, strict=True) if state.phase is DocumentPhase.GONE]
    return lost


def _repair(missing: Sequence[Document], lost: Sequence[Document]) -> None:
    for row in missing:
        registry.mark_missing(row)
    documents.requeue(documents=lost)
    for kb in {row.kb for row in lost}:
        registry.request_work(kb)
