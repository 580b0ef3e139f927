"""Taking one named file into a knowledge base at once, without a look at the whole folder."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import IntegrityError, transaction

from knowledge.models import Document, Exclusion, IndexStatus, KnowledgeBase, Source
from knowledge.scanner.fingerprint import Fingerprint
from knowledge.scanner.result import FoundFile
from knowledge.services import documents, registry, sources
from mnote.exceptions import Unprocessable
from mnote.files.opening import FileFacts
from mnote.ids import text_key
from mnote.models import Job, Role, Root
from mnote.principals import Principal
from mnote.selectors import access
from mnote.services import files


class NotTaken(Unprocessable):
    """The knowledge base does not take this path; `reason` is the code of why."""

    code = "not-taken"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attached:
    """A file that now has a registry row: the source it belongs to, the row, and the job that will read it."""

    source: Source
    document: Document
    job: Job


def attach_file(*, principal: Principal, kb: KnowledgeBase, root: Root, path: str, resource_id: str = "") -> Attached:
    """Give a file a registry row in `kb` and ask for it to be read; needs curator and read on the path. An exclusion
    of the path is lifted. Doing it twice changes nothing.

    Raises NotFound, Gone and the like for a path that cannot be used, NotTaken when no source can hold it.
    """
    access.require_role(principal, kb.workspace, Role.CURATOR)
    facts = files.stat(principal=principal, root=root, path=path)
    Exclusion.objects.filter(kb=kb, root=root, path_key=text_key(path)).delete()
    try:
        source = _registered(principal, kb, root, path, facts)
    except IntegrityError:
        # A sync that runs now saw the file as well.
        source = _registered(principal, kb, root, path, facts)
    document = Document.objects.get(kb=kb, root=root, path_key=text_key(path))
    if resource_id and document.resource_id != resource_id:
        documents.update(document=document, resource_id=resource_id[:400])
    if document.index_status in (IndexStatus.FAILED, IndexStatus.STALE):
        documents.requeue(documents=[document])
    return Attached(source=source, document=document, job=registry.request_work(kb))


def _registered(principal: Principal, kb: KnowledgeBase, root: Root, path: str, facts: FileFacts) -> Source:
    """Find or make the source and the row in one transaction: no worker can come in between."""
    with transaction.atomic():
        source = sources.covering(kb, root, path) or _own_source(kb, root, path) or _new(principal, kb, root, path)
        registry.add_files(source, [FoundFile(path=path, fingerprint=_fingerprint(facts))])
    return source


def _own_source(kb: KnowledgeBase, root: Root, path: str) -> Source | None:
    return kb.sources.filter(root=root, path_key=text_key(path), is_folder=False, frozen_at__isnull=True).first()


def _new(principal: Principal, kb: KnowledgeBase, root: Root, path: str) -> Source:
    added = sources.add_sources(principal=principal, kb=kb, root=root, paths=[path])
    if not added.sources:
        raise NotTaken(reason=added.refused[0][1])
    return added.sources[0]


def _fingerprint(facts: FileFacts) -> Fingerprint:
    return Fingerprint(
        size=facts.size, mtime_ns=facts.mtime_ns, inode=facts.inode, dev=facts.device, ctime_ns=facts.ctime_ns
    )
