"""What administrators do to knowledge bases from outside: they need not be members, and see no content of a file.

The admin asks for its own permissions before it calls any of this.
"""

from __future__ import annotations

from django.utils.translation import gettext as _

from knowledge.exceptions import public_error
from knowledge.models import Document, Exclusion, IndexStatus, KnowledgeBase, Source
from knowledge.providers.base import ProviderError
from knowledge.services import documents, knowledge_bases, reconcile, registry, sources, stopping
from knowledge.services.reconcile import Report
from mnote.exceptions import Conflict
from mnote.models import Job
from mnote.principals import Principal
from mnote.services import audit, jobs

_OUT = (IndexStatus.DELETED, IndexStatus.SKIPPED)
_ACTIVE = (IndexStatus.QUEUED, IndexStatus.PARSING)


def sync_kb(*, kb: KnowledgeBase, by: Principal) -> list[str]:
    """Look at every live source. Raises Conflict when there is nothing to look at."""
    _check_live(kb)
    if kb.paused_at is not None:
        raise Conflict(_("It is paused."))
    job_ids = sources.sync_all(kb=kb, by=by)
    if not job_ids:
        raise Conflict(_("It has no source to look at."))
    return job_ids


def sync_source(*, source: Source, by: Principal) -> str:
    """Look at one source. Raises Conflict for one that is frozen or paused."""
    _check_live(source.kb)
    if source.frozen_at is not None or source.kb.paused_at is not None:
        raise Conflict(_("It is frozen or paused."))
    return sources.request_sync(source=source, trigger="manual", requested_by=by)


def report(*, kb: KnowledgeBase) -> Report:
    """Compare the list of documents with the index and change nothing. Raises Conflict, ProviderFailed."""
    _check_live(kb)
    try:
        return reconcile.reconcile(kb=kb, repair=False)
    except ProviderError as error:
        raise public_error(error) from None


def repair(*, kb: KnowledgeBase, by: Principal) -> Job:
    """Compare in the background, and mend what differs."""
    _check_live(kb)
    audit.record(principal=by, action="kb.repair", workspace=kb.workspace, kb_id=kb.id, target=kb.name)
    return jobs.enqueue(
        kind="workspace_sanity_check",
        payload={"kb_id": kb.id},
        dedup_key=kb.id,
        workspace=kb.workspace,
        kb_id=kb.id,
        requested_by=by.user,
    )


def archive(*, kb: KnowledgeBase, by: Principal) -> None:
    """Take a knowledge base away; files stay. Raises Conflict when it is gone already."""
    _check_live(kb)
    knowledge_bases.take_away(kb=kb, by=by)


def reindex(*, document: Document, by: Principal) -> None:
    """Read a document again; it stays searchable until then. Raises Conflict for one that is out or being worked on."""
    _requeue(document, by, "source.reindex", is_fitting=document.index_status not in (*_OUT, *_ACTIVE), reparse=True)


def retry(*, document: Document, by: Principal) -> None:
    """Try a failed document again. Raises Conflict for one that has not failed."""
    _requeue(document, by, "source.retry", is_fitting=document.index_status == IndexStatus.FAILED)


def stop(*, document: Document, by: Principal) -> None:
    """Stop waiting for or working on a document. Raises Conflict when nothing is to stop."""
    if not stopping.stop(document=document):
        raise Conflict(_("It neither waits nor is it being read."))
    _note(document, by, "source.stop")


def exclude(*, document: Document, by: Principal) -> None:
    """Take a document out and keep it out; its file stays. Raises Conflict for one that is out already."""
    _check_live(document.kb)
    if document.index_status == IndexStatus.DELETED:
        raise Conflict(_("It is out already."))
    sources.leave_out(kb=document.kb, targets=[document], by=by)


def lift_exclusion(*, exclusion: Exclusion, by: Principal) -> None:
    """Let a path come back with the next look."""
    sources.lift_exclusion(kb=exclusion.kb, root=exclusion.root, path=exclusion.path, by=by)


def _requeue(document: Document, by: Principal, action: str, *, is_fitting: bool, reparse: bool = False) -> None:
    _check_live(document.kb)
    if not is_fitting or not documents.requeue(documents=[document], reparse=reparse):
        raise Conflict(_("Its present state does not allow this."))
    _note(document, by, action)
    registry.request_work(document.kb)


def _note(document: Document, by: Principal, action: str) -> None:
    audit.record(
        principal=by, action=action, workspace=document.kb.workspace, kb_id=document.kb_id,
        target=document.source_path,
    )  # fmt: skip


def _check_live(kb: KnowledgeBase) -> None:
    if kb.archived_at is not None:
        raise Conflict(_("The knowledge base is archived."))
