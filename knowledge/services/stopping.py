"""Stopping documents by hand, here and at the provider that works on them."""

from __future__ import annotations

from collections.abc import Sequence

from knowledge.models import Document, KnowledgeBase
from knowledge.providers.base import ProviderDocumentId
from knowledge.services import documents, dropping, pending, registry
from knowledge.services.dropping import kb_ref
from knowledge.services.providers import provider_of
from mnote.services import jobs


def stop(*, document: Document) -> bool:
    """Stop waiting or working on a document. What was searchable stays searchable. Returns False when there is
    nothing to stop."""
    stopped = documents.stop(document=document)
    if stopped:
        withdraw(kb=document.kb, stopped=[document])
    return stopped


def withdraw(*, kb: KnowledgeBase, stopped: Sequence[Document]) -> None:
    """See that the provider does not go on with what was stopped: a version in the making is taken out, one that
    search finds is only left as it is."""
    to_cancel = []
    for document in stopped:
        is_shown = (
            bool(document.pending_knowledge_id) and document.pending_knowledge_id == document.provider_knowledge_id
        )
        held = pending.forget(document)
        if held and not dropping.referring(kb, held).exists():
            dropping.wish_gone(kb=kb, provider_document_id=held)
        elif is_shown and not dropping.referring(kb, document.provider_knowledge_id).exclude(pk=document.pk).exists():
            to_cancel.append(document.provider_knowledge_id)
    if to_cancel:
        jobs.enqueue(
            kind="knowledge.cancel_documents",
            payload={"kb_id": kb.id, "provider_document_ids": to_cancel},
            workspace=kb.workspace,
            kb_id=kb.id,
            queue="bulk",
        )
    if dropping.next_due(kb) is not None:
        registry.request_work(kb)


def cancel_at_provider(*, kb: KnowledgeBase, provider_document_ids: Sequence[str]) -> int:
    """Ask the provider to stop working on documents. Raises ProviderError; asking twice does no harm."""
    provider = provider_of(kb)
    if not provider.capabilities.can_cancel:
        return 0
    for each in provider_document_ids:
        provider.cancel(kb_ref(kb), ProviderDocumentId(each))
    return len(provider_document_ids)
