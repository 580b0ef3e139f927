"""Reconcile: compare what the registry believes with what the provider holds, report, repair."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from django.utils import timezone

from knowledge.models import Document, IndexStatus, KnowledgeBase, ProviderTagging
from knowledge.providers.base import DocumentPhase, DocumentState
from knowledge.services import documents, dropping, mapping, provider_tags, registry
from knowledge.services.dropping import kb_ref
from knowledge.services.providers import provider_of
from mnote.models import Job

log = logging.getLogger(__name__)

_EVERY = timedelta(days=1)
_AT_ONCE = 20
_AWAY = (DocumentPhase.GONE, DocumentPhase.DELETING)
#: An indexed document must not stand so: somebody else worked on it.
_BROKEN = (DocumentPhase.FAILED, DocumentPhase.CANCELLED)
_OUT = (IndexStatus.DELETED, IndexStatus.SKIPPED)
_ACTIVE = (IndexStatus.QUEUED, IndexStatus.PARSING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Held by the provider and wanted by no row: `ghosts`; of these `twins` hold the text of a document that is wanted
    as well, `returned` had been removed. `foreign`: put there by others, never touched. `lost`: believed indexed, not
    held, or not in order there. `short`: fewer passages held than counted. `unmapped`: read by the provider, and it is
    not known (any more) where its passages stand. `mistagged`: it carries other tags there than its rows here.

    With repair, ghosts are deleted (until the provider confirms it), lost, short and unmapped ones are queued again,
    and the provider is told the tags of the mistagged.
    """

    held: int
    ghosts: tuple[str, ...]
    lost: tuple[str, ...]
    short: tuple[str, ...]
    repaired: bool
    twins: tuple[str, ...] = ()
    returned: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()
    unmapped: tuple[str, ...] = ()
    mistagged: tuple[str, ...] = ()

    @property
    def is_level(self) -> bool:
        return not (self.ghosts or self.lost or self.short or self.foreign or self.unmapped or self.mistagged)

    def as_json(self) -> dict[str, Any]:
        body = asdict(self)
        names = ("ghosts", "twins", "returned", "foreign", "lost", "short", "unmapped", "mistagged")
        return body | {name: len(body[name]) for name in names}


def reconcile(*, kb: KnowledgeBase, repair: bool) -> Report:
    """Compare one knowledge base with its provider. Running it twice changes nothing the second time."""
    # The rows are read after the list: what is handed over in between is missing in the list, not in the rows.
    listed = provider_of(kb).list_documents(kb_ref(kb))
    held = {str(state.provider_document_id): state for state in listed if state.phase not in _AWAY}
    rows = list(kb.documents.exclude(index_status=IndexStatus.SKIPPED))
    found = _Comparison(held, rows)
    found.mistagged = _mistagged(kb, found)
    if repair:
        _repair(kb, found)
    report = found.report(repaired=repair)
    if not report.is_level:
        log.warning("a knowledge base and its provider differ", extra={"kb_id": kb.pk, **report.as_json()})
    return report


def unchecked() -> list[KnowledgeBase]:
    """Return the knowledge bases that were not compared with their provider for a day, a few at a time."""
    checked = Job.objects.filter(kind="workspace_sanity_check", created_at__gte=timezone.now() - _EVERY)
    live = KnowledgeBase.objects.filter(archived_at__isnull=True, paused_at__isnull=True)
    return list(
        live.exclude(id__in=checked.values("kb_id")).select_related("workspace", "profile").order_by("id")[:_AT_ONCE]
    )


class _Comparison:
    """What the provider holds beside what the rows want."""

    def __init__(self, held: Mapping[str, DocumentState], rows: Iterable[Document]) -> None:
        self.held = held
        by_id = {row.id: row for row in rows}
        alive = [row for row in by_id.values() if row.index_status not in _OUT]
        missing = [row for row in by_id.values() if row.missing_since and not row.deleted_at]
        wanted = {each for row in [*alive, *missing] for each in (row.provider_knowledge_id, row.pending_knowledge_id)}
        unwanted = [state for each, state in held.items() if each not in wanted]
        self.foreign = [state.provider_document_id for state in unwanted if state.document_id == ""]
        # A row that is being worked on may own a document whose id it does not know yet: it takes it up itself.
        active = {row.id for row in alive if row.index_status in _ACTIVE}
        ours = [state for state in unwanted if state.document_id != "" and state.document_id not in active]
        self.ghosts = [state.provider_document_id for state in ours]
        self.twins = self._twins(wanted, ours)
        removed = {row.provider_knowledge_id for row in by_id.values() if row.deleted_at}
        self.returned = [each for each in self.ghosts if each in removed]
        indexed = [row for row in alive if row.index_status == IndexStatus.INDEXED]
        self.lost = [row for row in indexed if self._is_lost(row)]
        self.short = [row for row in indexed if row not in self.lost and self._is_short(row)]
        whole = {row.id for row in indexed} - {row.id for row in (*self.lost, *self.short)}
        self.unmapped = mapping.unmapped(row for row in indexed if row.id in whole)
        self.whole = [row for row in indexed if row.id in whole]
        self.mistagged: list[Document] = []
        self._tags: dict[str, set[str]] = defaultdict(set)
        for row in by_id.values():
            if row.deleted_at is None:
                for each in {row.provider_knowledge_id, row.pending_knowledge_id}:
                    self._tags[each].update(str(tag) for tag in row.tags_json)

    def carries_other_tags(self, provider_document_id: str) -> bool:
        tags = self.held[provider_document_id].tags
        return tags is not None and tags != self._tags[provider_document_id]

    def report(self, *, repaired: bool) -> Report:
        return Report(
            held=len(self.held),
            ghosts=tuple(self.ghosts),
            twins=tuple(self.twins),
            returned=tuple(self.returned),
            foreign=tuple(self.foreign),
            lost=tuple(row.source_path for row in self.lost),
            short=tuple(row.source_path for row in self.short),
            unmapped=tuple(row.source_path for row in self.unmapped),
            mistagged=tuple(row.source_path for row in self.mistagged),
            repaired=repaired,
        )

    def _twins(self, wanted: set[str], ours: Iterable[DocumentState]) -> list[str]:
        contents = defaultdict(set)
        for each, state in self.held.items():
            if state.content_key:
                contents[state.content_key].add(each)
        return [state.provider_document_id for state in ours if contents[state.content_key] & wanted]

    def _is_lost(self, row: Document) -> bool:
        state = self.held.get(row.provider_knowledge_id)
        return state is None or state.phase in _BROKEN

    def _is_short(self, row: Document) -> bool:
        state = self.held.get(row.provider_knowledge_id)
        return state is not None and state.chunk_count is not None and state.chunk_count < row.chunk_count


def _mistagged(kb: KnowledgeBase, found: _Comparison) -> list[Document]:
    """Return the rows whose provider documents carry other tags; of those without tags, where it was to be told so."""
    told = set(ProviderTagging.objects.filter(kb=kb).values_list("provider_knowledge_id", flat=True))
    rows = [row for row in found.whole if row.tags_json or row.provider_knowledge_id in told]
    return [row for row in rows if found.carries_other_tags(row.provider_knowledge_id)]


def _repair(kb: KnowledgeBase, found: _Comparison) -> None:
    for ghost in found.ghosts:
        dropping.drop_provider_document(kb=kb, provider_document_id=ghost)
    broken = [*found.lost, *found.short, *found.unmapped]
    if broken:
        documents.requeue(documents=broken)
    is_told = provider_tags.wish_for(kb=kb, document_ids=[row.id for row in found.mistagged])
    if broken or found.ghosts or is_told:
        registry.request_work(kb)
