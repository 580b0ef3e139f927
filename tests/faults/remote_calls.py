"""What the driver does to a knowledge base on a server: connect it, say how far it is, compare it with the server."""

from __future__ import annotations

import os
import uuid
from collections import Counter
from collections.abc import Callable
from typing import Any

from django.db.models import F
from django.utils import timezone

from knowledge.models import Document, KnowledgeBase, ProviderDeletion, ProviderProfile
from knowledge.selectors.provider_outages import outage_of
from knowledge.services import drain, dropping, following, knowledge_bases, pending, reconcile, sources
from knowledge.services.providers import provider_of
from mnote.models import User
from mnote.principals import Principal
from mnote.sealing import seal
from mnote.services import workspaces
from tests.faults import knowledge_calls


def make_remote_kb(folder: str, url: str, key: str, model_id: str) -> str:
    """A knowledge base over a folder, indexed by the server at `url`, with its first look asked for."""
    owner = User.objects.create_user("alice")
    workspace = workspaces.create_workspace(name="Notes", owner=owner)
    root = workspaces.add_root(workspace=workspace, path=os.fsencode(folder), name="Notes")
    profile = ProviderProfile.objects.create(
        name="Server",
        base_url=url,
        tenant_id="1",
        tenant_key="t",
        isolation_domain="one",
        sealed_key=seal(key),
        embedding_model_id=model_id,
        checked_at=timezone.now(),
    )
    profile.workspaces.add(workspace)
    principal = Principal(user=owner)
    kb = knowledge_bases.create_kb(principal=principal, workspace=workspace, root=root, name="Notes")
    sources.add_sources(principal=principal, kb=kb, root=root, paths=[""])
    return kb.pk


def remote_is_level(kb_id: str) -> bool:
    """Nothing waits, nothing is with the server, and nothing is to be deleted there."""
    rows = Document.objects.filter(kb_id=kb_id)
    waits = rows.filter(index_status__in=["queued", "parsing"]).exists()
    return rows.exists() and not waits and not ProviderDeletion.objects.filter(kb_id=kb_id).exists()


def remote_facts(kb_id: str) -> dict[str, Any]:
    kb = KnowledgeBase.objects.get(pk=kb_id)
    rows = Document.objects.filter(kb=kb)
    return {
        "providerKbId": kb.provider_kb_id,
        "outage": outage.code if (outage := outage_of(kb)) else "",
        "states": dict(Counter(rows.values_list("index_status", flat=True))),
        "reasons": dict(Counter(rows.exclude(reason_code="").values_list("reason_code", flat=True))),
        "ids": list(rows.exclude(provider_knowledge_id="").values_list("provider_knowledge_id", flat=True)),
    }


def remote_report(kb_id: str) -> dict[str, Any]:
    """What reconcile finds, without repair."""
    kb = KnowledgeBase.objects.select_related("workspace", "profile").get(pk=kb_id)
    return reconcile.reconcile(kb=kb, repair=False).as_json()


def drop_remote_kb(kb_id: str) -> None:
    """Somebody deletes the whole knowledge base at the server."""
    kb = KnowledgeBase.objects.select_related("profile").get(pk=kb_id)
    provider_of(kb).delete_kb(dropping.kb_ref(kb))


def believe_indexed(kb_id: str) -> dict[str, Any]:
    """Write into every row that it is indexed, under an id that the server is to be given."""
    kb = KnowledgeBase.objects.select_related("workspace", "profile").get(pk=kb_id)
    provider_of(kb).ensure_kb(dropping.kb_ref(kb))
    rows = list(Document.objects.filter(kb=kb))
    for row in rows:
        row.index_status, row.is_searchable, row.chunk_count = "indexed", True, 1
        row.provider_knowledge_id = str(uuid.uuid4())
        row.source_hash = row.indexed_hash = f"sha256:{row.pk}"
    columns = ["index_status", "is_searchable", "chunk_count", "provider_knowledge_id", "source_hash", "indexed_hash"]
    Document.objects.bulk_update(rows, columns, batch_size=200)
    ids = {row.source_path: row.provider_knowledge_id for row in rows}
    return {"providerKbId": kb.provider_kb_id, "documents": ids}


def believe_active(kb_id: str, count: int) -> None:
    """Let `count` documents be with the server, all to be asked for now."""
    now = timezone.now()
    ids = list(Document.objects.filter(kb_id=kb_id).values_list("pk", flat=True)[:count])
    for start in range(0, count, 500):
        some = Document.objects.filter(pk__in=ids[start : start + 500])
        some.update(
            index_status="parsing", worker="", pending_knowledge_id=F("provider_knowledge_id"), handed_at=now,
            next_try_at=now,
        )  # fmt: skip


def look_and_work(kb_id: str) -> None:
    """Look at the sources, then do what a worker would."""
    knowledge_calls.look_now(kb_id)
    drain.drain(kb=KnowledgeBase.objects.select_related("workspace", "profile").get(pk=kb_id), worker="test")


def follow_once(kb_id: str) -> int:
    """Ask once for every document that the server has."""
    kb = KnowledgeBase.objects.select_related("workspace", "profile").get(pk=kb_id)
    wanted, asked = Document.objects.filter(pending.WITH_PROVIDER, kb=kb).count(), 0
    while asked < wanted:
        asked += following.follow(kb=kb, provider=provider_of(kb)).asked
    return asked


CALLS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        make_remote_kb,
        remote_is_level,
        remote_facts,
        remote_report,
        drop_remote_kb,
        believe_indexed,
        believe_active,
        look_and_work,
        follow_once,
    )
}
