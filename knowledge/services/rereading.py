"""Having every file of a knowledge base read anew, because somebody else is to read them from now on."""

from __future__ import annotations

from collections.abc import Callable

from django.utils.translation import gettext as _

from knowledge.models import Document, IndexStatus, KnowledgeBase, ProviderKind, Reader
from knowledge.services import documents, registry
from mnote.exceptions import Invalid
from mnote.principals import Principal
from mnote.services import jobs

#: Why a document waits: others read it from now on.
READING_CHANGED = "reading_changed"
#: Providers that read files themselves where that is wanted.
READS_ITSELF = frozenset({ProviderKind.WEKNORA.value})
_OUT = (IndexStatus.DELETED, IndexStatus.SKIPPED, IndexStatus.QUEUED)
_BATCH = 500


def check_reader(provider: str, parsed_by: str) -> None:
    """Raise Invalid unless files of a knowledge base of this provider may be read by `parsed_by`."""
    if parsed_by not in Reader.values:
        message, code = _("Choose “mnote” or “provider”."), "invalid_choice"
    elif parsed_by == Reader.PROVIDER and provider not in READS_ITSELF:
        message, code = _("Only an indexing service outside can read files itself."), "provider_cannot_read"
    else:
        return
    raise Invalid(errors={"parsedBy": [{"message": message, "code": code}]})


def request(*, kb: KnowledgeBase, principal: Principal) -> None:
    """Ask for every file to be read anew. Call it within the transaction of the change."""
    jobs.enqueue(
        kind="knowledge.reread_kb",
        payload={"kb_id": kb.id},
        dedup_key=kb.id,
        workspace=kb.workspace,
        kb_id=kb.id,
        requested_by=principal.user,
        queue="bulk",
    )


def reread(*, kb: KnowledgeBase, beat: Callable[..., None] = lambda **_: None) -> int:
    """Put every document in line again; what search finds of it stays until the new reading is done. Twice does no
    harm. Returns how many were put there."""
    count = 0
    rows = Document.objects.filter(kb=kb).exclude(index_status__in=_OUT)
    for batch in registry.batches(rows.iterator(), _BATCH):
        beat()
        count += documents.requeue(documents=batch, reason_code=READING_CHANGED)
    if count:
        registry.request_work(kb)
    return count
