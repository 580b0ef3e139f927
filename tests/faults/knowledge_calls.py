"""What the driver does to knowledge bases: make one over a folder, say how far it is, compare it with its index."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from typing import Any

from knowledge.models import Document, KBCount, KnowledgeBase
from knowledge.providers.base import SearchRequest
from knowledge.providers.registry import local_provider
from knowledge.reasons import reason_for
from knowledge.services import knowledge_bases, search, sources, sync
from knowledge.services.ingest import kb_ref
from mnote.models import Job, JobStatus, User
from mnote.principals import Principal
from mnote.services import workspaces

#: So many documents are also looked for on the way that people take.
_SAMPLE = 20


def make_kb(folder: str) -> str:
    """A knowledge base over a folder, with its first look asked for."""
    owner = User.objects.create_user("alice")
    workspace = workspaces.create_workspace(name="Notes", owner=owner)
    root = workspaces.add_root(workspace=workspace, path=os.fsencode(folder), name="Notes")
    principal = Principal(user=owner)
    kb = knowledge_bases.create_kb(principal=principal, workspace=workspace, root=root, name="Notes")
    sources.add_sources(principal=principal, kb=kb, root=root, paths=[""])
    return kb.pk


def look_again(kb_id: str) -> None:
    for source in KnowledgeBase.objects.get(pk=kb_id).sources.select_related("kb__workspace"):
        sources.request_sync(source=source, trigger="manual")


def states(kb_id: str) -> dict[str, int]:
    return dict(Counter(Document.objects.filter(kb_id=kb_id).values_list("index_status", flat=True)))


def reasons(kb_id: str) -> dict[str, str]:
    """Path to the reason code of every row that has one."""
    rows = Document.objects.filter(kb_id=kb_id).exclude(reason_code="")
    return dict(rows.values_list("source_path", "reason_code"))


def explained(kb_id: str) -> dict[str, dict[str, str]]:
    """What a person reads beside every row that has a reason."""
    rows = Document.objects.filter(kb_id=kb_id).exclude(reason_code="")
    return {row.source_path: _explanation(row) for row in rows}


def _explanation(row: Document) -> dict[str, str]:
    reason = reason_for(row.reason_code)
    return {
        "class": row.reason_class,
        "sentence": str(reason.sentence),
        "next_step": str(reason.next_step),
        "since": row.status_since.isoformat(),
    }


def look_now(kb_id: str) -> None:
    """Look at the sources here and now, and read nothing."""
    for source in KnowledgeBase.objects.get(pk=kb_id).sources.select_related("kb__workspace", "root"):
        sync.sync_source(source=source, order=sync.Order())


def hash_of(kb_id: str, path: str) -> list[str]:
    return list(Document.objects.filter(kb_id=kb_id, source_path=path).values_list("indexed_hash", flat=True))


def is_quiet(kb_id: str) -> bool:
    """Nothing waits, nothing is worked on, and no job is left that would."""
    waits = Document.objects.filter(kb_id=kb_id, index_status__in=["queued", "parsing"]).exists()
    kinds = ["resource_parse", "evidence_index_refresh", "knowledge.sync_source"]
    active = Job.objects.filter(kind__in=kinds, status__in=[JobStatus.QUEUED, JobStatus.RUNNING])
    return not waits and not active.exists()


def index_path(kb_id: str) -> str:
    workspace_id = KnowledgeBase.objects.get(pk=kb_id).workspace_id
    return str(local_provider()._store.path(workspace_id))


def differences(kb_id: str, words: dict[str, str]) -> list[str]:
    """Say everything in which registry and index differ; `words` are words that stand in one file only, by path."""
    kb = KnowledgeBase.objects.select_related("workspace").get(pk=kb_id)
    rows = list(Document.objects.filter(kb=kb, index_status="indexed"))
    held = {state.provider_document_id: state.chunk_count for state in local_provider().list_documents(kb_ref(kb))}
    wanted = Counter(row.provider_knowledge_id for row in rows)
    counted = {count.index_status: count.count for count in KBCount.objects.filter(kb=kb).exclude(count=0)}
    found = [f"not held: {row.source_path}" for row in rows if row.provider_knowledge_id not in held]
    found += [f"ghost: {each}" for each in held if each not in wanted]
    found += [f"shared: {each}" for each, times in wanted.items() if times > 1]
    found += [f"counts {row.source_path}" for row in rows if held.get(row.provider_knowledge_id) != row.chunk_count]
    if counted != states(kb_id):
        found.append(f"counters {counted} for {states(kb_id)}")
    by_path = {row.source_path: row for row in rows}
    found += [f"not found: {path}" for path, word in words.items() if not _finds(kb, by_path[path], word)]
    return found + [f"not cited: {path}" for path, word in _sample(words) if _cited(kb, word) != [path]]


def _sample(words: dict[str, str]) -> list[tuple[str, str]]:
    return list(words.items())[:: max(1, len(words) // _SAMPLE)]


def _finds(kb: KnowledgeBase, row: Document, word: str) -> bool:
    request = SearchRequest(workspace_id=kb.workspace_id, kbs=(kb_ref(kb),), query=word, limit=5)
    return {hit.provider_document_id for hit in local_provider().search(request).hits} == {row.provider_knowledge_id}


def _cited(kb: KnowledgeBase, word: str) -> list[str]:
    scope = search.Scope(workspace=kb.workspace)
    found = search.search(principal=Principal(user=kb.owner), scope=scope, query=word)
    return list(dict.fromkeys(reference.document.source_path for reference in found.references))


CALLS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        make_kb,
        look_again,
        look_now,
        states,
        reasons,
        explained,
        hash_of,
        is_quiet,
        index_path,
        differences,
    )
}
