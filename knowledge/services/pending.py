"""Versions in the making: documents that a provider took and has not finished, with its id from the first moment on.

A row is with the provider while it has a pending id, is being parsed, and no worker holds it. What search found before
stays until the new version is found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from knowledge.models import Document, DocumentEvent, IndexStatus, KnowledgeBase
from knowledge.providers.base import DocumentPhase, DocumentState
from knowledge.reasons import reason_for
from knowledge.services import documents
from knowledge.services.documents import Indexed

#: Why a document is with the provider: it waits there, it is at work on it, its reader failed and is tried again, or
#: only extras are missing.
WAITING, AT_WORK, TRYING_AGAIN = "provider-waiting", "provider-working", "provider-trying-again"
FINISHING = "provider-finishing"
WITH_PROVIDER = Q(index_status=IndexStatus.PARSING, worker="") & ~Q(pending_knowledge_id="")
#: Whoever asks for rows keeps others from asking for the same for so long.
_ASKING = timedelta(seconds=60)
#: The next look comes after a quarter of the time that has passed, within these bounds.
_QUICKEST, _SLOWEST = 0.05, 30.0
NOTHING_PENDING: dict[str, Any] = {
    "pending_knowledge_id": "", "pending_json": {}, "handed_at": None, "is_to_reparse": False,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Handed:
    """What a provider took: the row's content and what the row becomes when the provider is done."""

    outcome: Indexed
    text_hash: str
    state: DocumentState


def keep(*, worker: str, handed: Handed) -> bool:
    """Store at once that the provider has a document of `worker`; from now on it is asked for, not sent. Returns False
    when the row was taken away meanwhile."""
    document, now = handed.outcome.document, timezone.now()
    is_reparse = handed.state.provider_document_id == document.provider_knowledge_id
    changes: dict[str, Any] = {
        "source_hash": handed.outcome.source_hash,
        "pending_knowledge_id": handed.state.provider_document_id,
        "pending_json": _as_json(handed),
        "handed_at": now,
        "status_since": now,
        "next_try_at": now + timedelta(seconds=_QUICKEST),
        "is_to_reparse": False,
        "worker": "",
        "lease_expires_at": None,
        **_standing(handed.state),
    }
    if is_reparse and not handed.state.searchable:  # its passages are gone until it is done
        changes["is_searchable"] = False
    with transaction.atomic():
        mine = Document.objects.filter(pk=document.pk, **documents.held_by(worker))
        if not documents.write_all(mine, **changes):
            return False
        documents.note_steps([handed.outcome])
    for name, value in changes.items():
        setattr(document, name, value)
    return True


def take_due(kb: KnowledgeBase, *, at_most: int) -> list[Document]:
    """Return documents that the provider is to be asked for now; nobody else gets them for a while."""
    now = timezone.now()
    due = Document.objects.filter(WITH_PROVIDER, kb=kb, next_try_at__lte=now)
    if not due.exists():
        return []
    with transaction.atomic():
        locked = due.select_for_update().order_by("next_try_at")
        ids = list(locked.values_list("pk", flat=True)[:at_most])
        Document.objects.filter(pk__in=ids).update(next_try_at=now + _ASKING)
    rows = Document.objects.filter(pk__in=ids).select_related("root", "kb__workspace")
    return list(rows.order_by("handed_at", "pk"))


def next_due(kb: KnowledgeBase) -> datetime | None:
    """Return when the first document is to be asked for; None when none is with the provider."""
    waiting = Document.objects.filter(WITH_PROVIDER, kb=kb).order_by("next_try_at")
    return waiting.values_list("next_try_at", flat=True).first()


def kbs_due() -> QuerySet[Document, str]:
    """Select the ids of the knowledge bases whose providers are to be asked now."""
    due = Document.objects.filter(WITH_PROVIDER, next_try_at__lte=timezone.now())
    return due.values_list("kb", flat=True).distinct()


def ask_later(document: Document, state: DocumentState) -> None:
    """Note how a document stands and when to ask again. Only what people can see makes a new revision."""
    is_done = state.phase is DocumentPhase.DONE  # and only its passages are not counted yet
    next_try_at = timezone.now() if is_done else next_look(document)
    seen = _standing(state)
    if all(getattr(document, name) == value for name, value in seen.items()):
        _own(document).update(next_try_at=next_try_at)
    else:
        documents.write_all(_own(document), next_try_at=next_try_at, **seen)


def ask_soon(documents_to_ask: Sequence[Document], *, at: datetime) -> None:
    """Put off asking, where asking failed."""
    Document.objects.filter(WITH_PROVIDER, pk__in=[each.pk for each in documents_to_ask]).update(next_try_at=at)


def next_look(document: Document) -> datetime:
    """Quick at first, slower the longer it takes."""
    now = timezone.now()
    age = (now - (document.handed_at or now)).total_seconds()
    return now + timedelta(seconds=min(_SLOWEST, max(_QUICKEST, age / 4)))


def show(document: Document, state: DocumentState) -> str | None:
    """Search finds the new version from now on, though the provider still adds to it. Returns the id of the version
    that it takes the place of; None when the row went on to something else meanwhile."""
    before = document.provider_knowledge_id
    changes = {**_shown(document, state), **_standing(state), "next_try_at": next_look(document)}
    return before if documents.write_all(_own(document), **changes) else None


def finish(document: Document, state: DocumentState) -> str | None:
    """The provider is done and holds the passages: indexed. Returns as `show` does."""
    before, now = document.provider_knowledge_id, timezone.now()
    changes = {
        **_shown(document, state),
        **NOTHING_PENDING,
        **documents.NO_REASON,
        "index_status": IndexStatus.INDEXED,
        "status_since": now,
        "indexed_at": now,
        "provider_status": state.raw_status,
        "attempts": 0,
        "next_try_at": None,
    }
    with transaction.atomic():
        if not documents.write_all(_own(document), **changes):
            return None
        DocumentEvent.objects.create(
            document=document, attempt=document.attempts + 1, stage="indexing", state="done",
            started_at=document.handed_at or now, finished_at=now,
            facts={"chunks": state.chunk_count, "duplicate": bool(document.pending_json.get("duplicate"))},
        )  # fmt: skip
    return before


def forget(document: Document) -> str:
    """Give up a version in the making; returns its id, which may have to be removed at the provider."""
    held = document.pending_knowledge_id
    if held:
        documents.update(document=document, **NOTHING_PENDING)
    return held if held != document.provider_knowledge_id else ""


def _own(document: Document) -> QuerySet[Document]:
    """The row as long as it is about the same version at the provider."""
    return Document.objects.filter(WITH_PROVIDER, pk=document.pk, pending_knowledge_id=document.pending_knowledge_id)


def _standing(state: DocumentState) -> dict[str, Any]:
    code = AT_WORK
    if state.searchable:
        code = FINISHING
    elif state.phase is DocumentPhase.QUEUED:
        code = WAITING
    elif state.error_code:
        code = TRYING_AGAIN
    return {
        "provider_status": state.raw_status,
        "reason_code": code,
        "reason_class": reason_for(code).reason_class,
        "reason_detail": "",
    }


def _shown(document: Document, state: DocumentState) -> dict[str, Any]:
    kept = document.pending_json
    return {
        "provider_knowledge_id": document.pending_knowledge_id,
        "is_searchable": True,
        "chunk_count": state.chunk_count or 0,
        "indexed_hash": kept.get("sourceHash", document.source_hash),
        "text_hash": kept.get("textHash", ""),
        "title": kept.get("title", document.title)[:500],
        "metadata_json": kept.get("metadata", {}),
        "citation_locator_json": kept.get("locator", {}),
    }


def _as_json(handed: Handed) -> dict[str, Any]:
    outcome = handed.outcome
    return {
        "sourceHash": outcome.source_hash,
        "textHash": handed.text_hash,
        "title": outcome.title,
        "metadata": outcome.metadata,
        "locator": outcome.locator,
        "duplicate": any(step.facts.get("duplicate") for step in outcome.steps),
    }
