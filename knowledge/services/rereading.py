"""Having files of a knowledge base read anew: all, because somebody else is to read them from now on; or those that a
parser of before read, without whose text nobody knows where the passages of a provider outside stand."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cache

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from knowledge.models import Document, IndexStatus, KnowledgeBase, ProviderKind, Reader
from knowledge.services import artifacts, documents, mapping, parsing, reader_settings, registry
from mnote.exceptions import Invalid
from mnote.principals import Principal
from mnote.services import jobs

#: Only those that were read with other settings.
OTHERWISE = "otherwise"
#: Why a document waits: others read it from now on.
READING_CHANGED = "reading_changed"
#: Providers that read files themselves where that is wanted.
READS_ITSELF = frozenset({ProviderKind.WEKNORA.value})
#: Why a document waits: the parser of today reads its type in another way. The embedded index sees to itself.
OLD_READER = "reader_changed"
#: Names, in the facts of a knowledge base, the parsers that read all of it.
_READ_BY = "readBy"
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


def request(*, kb: KnowledgeBase, principal: Principal, only: str = "") -> None:
    """Ask for every file to be read anew, or with `only` OTHERWISE for those that were read with other settings. Call
    it within the transaction of the change."""
    jobs.enqueue(
        kind="knowledge.reread_kb",
        payload={"kb_id": kb.id, "only": only},
        dedup_key=f"{kb.id}{only}",
        workspace=kb.workspace,
        kb_id=kb.id,
        requested_by=principal.user,
        queue="bulk",
    )


def reread(*, kb: KnowledgeBase, only: str = "", beat: Callable[..., None] = lambda **_: None) -> int:
    """Put every document in line again, or those of `read_otherwise`; what search finds of it stays until the new
    reading is done, except where a provider reads the same content again. Twice does no harm. Returns how many were put
    there."""
    count = 0
    is_again = only == OTHERWISE
    rows = read_otherwise(kb) if is_again else Document.objects.filter(kb=kb).exclude(index_status__in=_OUT)
    for batch in registry.batches(rows.iterator(), _BATCH):
        beat()
        count += documents.requeue(documents=batch, reason_code=READING_CHANGED, reparse=is_again)
    if count:
        registry.request_work(kb)
    return count


def read_otherwise(kb: KnowledgeBase) -> QuerySet[Document]:
    """Select the documents that the provider read in another way than it would today."""
    if kb.parsed_by != Reader.PROVIDER:
        return Document.objects.none()
    done = Q(index_status=IndexStatus.INDEXED) | Q(index_status=IndexStatus.FAILED, reason_code="no_text")
    rows = Document.objects.filter(done, kb=kb)
    reading, read_as = reader_settings.reading_of(kb), f"citation_locator_json__{reader_settings.READ_AS}"
    other = Q(pk__in=[])
    for source_type in rows.order_by().values_list("source_type", flat=True).distinct():
        mark = reader_settings.mark_of(reading, source_type)
        # What was told nothing has no mark: for a database neither equal nor unequal.
        is_other = (
            ~Q(**{read_as: mark}) | Q(**{f"{read_as}__isnull": True}) if mark else Q(**{f"{read_as}__isnull": False})
        )
        other |= Q(source_type=source_type) & is_other
    return rows.filter(other)


def read_by_others() -> QuerySet[KnowledgeBase]:
    """Select the knowledge bases at providers outside that were not looked through since our parsers changed."""
    live = KnowledgeBase.objects.filter(archived_at=None, paused_at=None).exclude(provider=ProviderKind.LOCAL)
    fact = f"metadata_json__{_READ_BY}"
    return live.filter(~Q(**{fact: _todays()}) | Q(**{f"{fact}__isnull": True}))


def reread_outdated(*, kb: KnowledgeBase, beat: Callable[..., None] = lambda **_: None) -> int:
    """Put the documents in line again whose text is not kept as today's parser reads it, or whose map points into a
    text of before; what search finds of them stays. Twice does no harm. Returns how many were put there."""
    count = 0
    rows = Document.objects.filter(kb=kb, index_status=IndexStatus.INDEXED)
    for batch in registry.batches(rows.iterator(), _BATCH):
        beat()
        count += documents.requeue(documents=_outdated(kb, batch), reason_code=OLD_READER)
    if count:
        registry.request_work(kb)
    kb.metadata_json = {**kb.metadata_json, _READ_BY: _todays()}
    kb.save(update_fields=["metadata_json"])
    return count


def _outdated(kb: KnowledgeBase, rows: Sequence[Document]) -> list[Document]:
    ours = [row for row in rows if not mapping.is_read_by_provider(row)]
    wanted = {row.pk: (row.indexed_hash, *parser) for row in ours if (parser := parsing.revision_of(row.name))}
    kept = artifacts.kept_source_maps(workspace_id=kb.workspace_id, wanted=wanted.values())
    outdated = [row for row in ours if row.pk in wanted and wanted[row.pk] not in kept]
    return [*outdated, *mapping.unmapped(rows)]


@cache
def _todays() -> str:
    return hashlib.sha256(repr(sorted(parsing.current_revisions())).encode()).hexdigest()[:16]
