"""Taking documents out of a provider's index, and remembering what we want gone until the provider says that it is."""

from __future__ import annotations

import logging
from datetime import datetime

from django.db.models import Q, QuerySet
from django.utils import timezone

from knowledge.models import Document, IndexStatus, KnowledgeBase, ProviderDeletion, ProviderKind
from knowledge.providers.base import KBRef, ProviderDocumentId, ProviderError, ProviderKBId
from knowledge.querysets import standing_for
from knowledge.services import documents, reader_settings
from knowledge.services.providers import provider_of
from knowledge.services.wishes import put_off

log = logging.getLogger(__name__)

#: What the row of a removed document says of its copy at the provider.
BEING_REMOVED, REMOVED = "removing", "removed"
_AT_ONCE = 100
_LONGEST = 900.0


def kb_ref(kb: KnowledgeBase) -> KBRef:
    """Return a knowledge base as providers see it."""
    return KBRef(
        kb_id=kb.id,
        workspace_id=kb.workspace_id,
        provider_kb_id=ProviderKBId(kb.provider_kb_id),
        name=kb.name,
        settings=kb.settings_json,
        reading=reader_settings.reading_of(kb),
    )


def drop_provider_document(*, kb: KnowledgeBase, provider_document_id: str) -> bool:
    """Remove an index entry that no live document of the KB refers to; returns whether it is gone.

    Where the provider does not do it now, the wish is kept and `finish_deletions` asks again: nothing is raised. Asks
    afterwards who refers to it: a document that came to share it meanwhile is put back in line.
    """
    if not provider_document_id or referring(kb, provider_document_id).exists():
        return False
    # The embedded index does it now or not at all: nothing has to be written down first.
    is_local = kb.provider == ProviderKind.LOCAL
    wish = None if is_local else wish_gone(kb=kb, provider_document_id=provider_document_id)
    return _fulfil(kb, provider_document_id, wish)


def wish_gone(*, kb: KnowledgeBase, provider_document_id: str) -> ProviderDeletion:
    """Note that a provider document is to go; `finish_deletions` sees to it."""
    wish, _ = ProviderDeletion.objects.get_or_create(
        kb=kb, provider_knowledge_id=provider_document_id, defaults={"next_try_at": timezone.now()}
    )
    return wish


def finish_deletions(*, kb: KnowledgeBase) -> int:
    """Ask again for deletions that were not confirmed; returns how many are now. Raises nothing a provider does."""
    due = ProviderDeletion.objects.filter(kb=kb, next_try_at__lte=timezone.now()).order_by("next_try_at")
    return sum(_fulfil_again(kb, wish) for wish in due[:_AT_ONCE])


def next_due(kb: KnowledgeBase) -> datetime | None:
    """Return when the first deletion is to be asked for again; None when all are confirmed."""
    wishes = ProviderDeletion.objects.filter(kb=kb).order_by("next_try_at")
    return wishes.values_list("next_try_at", flat=True).first()


def deletions_due() -> Q:
    """Select knowledge bases that have deletions to ask for again."""
    return Q(provider_deletions__next_try_at__lte=timezone.now())


def referring(kb: KnowledgeBase, provider_document_id: str) -> QuerySet[Document]:
    """Select the rows that still need an index entry; a missing file needs it until its grace period is over."""
    held = Document.objects.filter(standing_for([provider_document_id]), kb=kb, deleted_at__isnull=True)
    return held.exclude(index_status=IndexStatus.SKIPPED)


def _fulfil_again(kb: KnowledgeBase, wish: ProviderDeletion) -> bool:
    if referring(kb, wish.provider_knowledge_id).exists():  # it came back to life
        wish.delete()
        return False
    return _fulfil(kb, wish.provider_knowledge_id, wish)


def _fulfil(kb: KnowledgeBase, provider_document_id: str, wish: ProviderDeletion | None) -> bool:
    try:
        provider_of(kb).delete_document(kb_ref(kb), ProviderDocumentId(provider_document_id))
    except ProviderError as error:
        _try_later(kb, wish or wish_gone(kb=kb, provider_document_id=provider_document_id), error)
        return False
    if wish is not None:
        wish.delete()
        _say(kb, provider_document_id, REMOVED)
    documents.requeue(documents=list(referring(kb, provider_document_id)))
    return True


def _try_later(kb: KnowledgeBase, wish: ProviderDeletion, error: ProviderError) -> None:
    log.info("a deletion is not confirmed yet", extra={"code": error.code})
    put_off(wish, error, longest=_LONGEST)
    wish.save(update_fields=["attempts", "reason_code", "next_try_at"])
    _say(kb, wish.provider_knowledge_id, BEING_REMOVED)


def _say(kb: KnowledgeBase, provider_document_id: str, word: str) -> None:
    removed = Document.objects.filter(
        kb=kb, provider_knowledge_id=provider_document_id, index_status=IndexStatus.DELETED, deleted_at__isnull=False
    )
    documents.write_all(removed.exclude(provider_status=word), provider_status=word)
