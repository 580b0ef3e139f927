"""Search over an index at a server that takes 20 ms, beside the server called directly: what we add to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.folders import add_rows, make_kb, make_notes
from bench.latency import search_server
from bench.measure import Measure, p50, times
from knowledge.models import Document, KnowledgeBase, ProviderKind, ProviderProfile
from knowledge.providers.base import SearchRequest
from knowledge.providers.weknora.prepare import prepare
from knowledge.services import drain, parsing, search, sync
from knowledge.services.ingest import kb_ref
from knowledge.services.providers import provider_of
from mnote.principals import Principal
from mnote.sealing import seal

LATENCY_SECONDS = 0.02
LIMIT = 1.10
_DOCUMENTS, _NOTES, _HITS, _ROUNDS = 100_000, 40, 40, 60


def measure(place: Path) -> list[Measure]:
    """Median of a search that gives ten references, and of the same question put to the server alone, in turns."""
    make_notes(place, _NOTES)
    principal, root, kb = make_kb(place, "outside")
    source = kb.sources.select_related("kb__workspace", "root").get()
    sync.sync_source(source=source, order=sync.Order())
    while drain.drain(kb=kb, worker="bench").more:
        pass
    one = kb.documents.first()
    assert one is not None
    add_rows(kb, root, _DOCUMENTS - kb.documents.count(), of=one)
    rows = list(kb.documents.filter(chunk_count__gt=0)[:_NOTES])
    with search_server(_hits(kb, rows), seconds=LATENCY_SECONDS) as url:
        _move(kb, url)
        ours, direct = _in_turns(principal, kb)
    note = f"limit: the server alone, {LATENCY_SECONDS * 1000:.0f} ms; wanted at most {LIMIT:.2f} of it"
    return [
        Measure(name="outside p50", size=f"{_DOCUMENTS:,} documents", ours=p50(ours), limit=p50(direct), unit="ms",
                note=note)
    ]  # fmt: skip


def _in_turns(principal: Principal, kb: KnowledgeBase) -> tuple[list[float], list[float]]:
    request = SearchRequest(workspace_id=kb.workspace_id, kbs=(kb_ref(kb),), query="harbour lantern copper", limit=20)
    scope = search.Scope(workspace=kb.workspace, kb_ids=(kb.pk,))

    def ask_us(_: int) -> None:
        found = search.search(principal=principal, scope=scope, query="harbour lantern copper", top_k=10)
        assert len(found.references) == 10
        assert not any(each.locator.degraded for each in found.references)

    def ask_server(_: int) -> None:
        assert len(provider.search(request).hits) == 20

    provider = provider_of(kb)
    taken = [(times(ask_us, 1, warm_up=0), times(ask_server, 1, warm_up=0)) for _ in range(_ROUNDS + 5)][5:]
    return [ours for [ours], _ in taken], [direct for _, [direct] in taken]


def _move(kb: KnowledgeBase, url: str) -> None:
    """Let a server serve what was indexed here; the rows keep the ids that the hits name."""
    profile = ProviderProfile.objects.create(
        name="bench", base_url=url, sealed_key=seal("bench"), embedding_model_id="bench",
        isolation_domain="bench", tenant_key="bench",
    )  # fmt: skip
    kb.provider, kb.profile = ProviderKind.WEKNORA, profile
    kb.save(update_fields=["provider", "profile"])
    kb.documents.update(provider=ProviderKind.WEKNORA)


def _hits(kb: KnowledgeBase, rows: list[Document]) -> list[dict[str, Any]]:
    """The last paragraph of each document, as the server would give it."""
    return [_hit(kb, row, number) for number, row in enumerate(rows[:_HITS])]


def _hit(kb: KnowledgeBase, row: Document, number: int) -> dict[str, Any]:
    source_map = parsing.known(workspace_id=row.workspace_id, source_hash=row.indexed_hash, name=row.name)
    assert source_map is not None
    text = prepare(source_map.text).text
    content = text.rstrip().rpartition("\n\n")[2]
    start = text.rindex(content)
    return {
        "id": f"chunk-{number}",
        "content": content,
        "knowledge_id": row.provider_knowledge_id,
        "knowledge_base_id": kb.provider_kb_id,
        "chunk_index": 3,
        "chunk_type": "text",
        "start_at": start,
        "end_at": start + len(content),
        "score": 1.0 / (60 + number),
        "match_type": 0,
        "metadata": {"path": row.source_path, "mnote_shifts": ""},
        "knowledge_filename": row.name,
        "knowledge_channel": "api",
    }
