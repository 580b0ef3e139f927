"""Search over an index at a server that takes 20 ms, beside the server called directly: what we add to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.folders import add_rows, make_kb, make_notes
from bench.latency import search_server
from bench.measure import Measure, p50, timed
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
_QUESTION = "harbour lantern copper"
_DOCUMENTS, _TOP_K, _ROUNDS, _WARM_UP = 100_000, 10, 60, 5
#: So many that each question about others is answered from documents that no question before it was.
_NOTES = (_ROUNDS + _WARM_UP) * _TOP_K + 40


def measure(place: Path) -> list[Measure]:
    """Medians of searches that give ten references, and of the same questions put to the server alone, in turns: the
    same question again, and questions about documents that no search has touched."""
    make_notes(place, _NOTES)
    principal, root, kb = make_kb(place, "outside")
    source = kb.sources.select_related("kb__workspace", "root").get()
    sync.sync_source(source=source, order=sync.Order())
    while drain.drain(kb=kb, worker="bench").more:
        pass
    one = kb.documents.first()
    assert one is not None
    rows = list(kb.documents.filter(chunk_count__gt=0))
    add_rows(kb, root, _DOCUMENTS - len(rows), of=one)
    with search_server([_hit(kb, row, number) for number, row in enumerate(rows)], seconds=LATENCY_SECONDS) as url:
        _move(kb, url)
        fresh = _in_turns(principal, kb, [f"{_QUESTION} {number * _TOP_K}" for number in range(_ROUNDS + _WARM_UP)])
        again = _in_turns(principal, kb, [_QUESTION] * (_ROUNDS + _WARM_UP))
    limit = f"limit: the server alone, {LATENCY_SECONDS * 1000:.0f} ms"
    return [
        Measure(name=name, size=f"{_DOCUMENTS:,} documents", ours=p50(ours), limit=p50(direct), unit="ms", note=note)
        for name, (ours, direct), note in (
            ("outside p50", again, f"{limit}; wanted at most {LIMIT:.2f} of it"),
            ("outside, other documents p50", fresh, limit),
        )
    ]


def _in_turns(principal: Principal, kb: KnowledgeBase, questions: list[str]) -> tuple[list[float], list[float]]:
    scope = search.Scope(workspace=kb.workspace, kb_ids=(kb.pk,))
    provider = provider_of(kb)

    def ask_us(question: str) -> None:
        found = search.search(principal=principal, scope=scope, query=question, top_k=_TOP_K)
        assert len(found.references) == _TOP_K
        assert not any(each.locator.degraded for each in found.references)

    def ask_server(question: str) -> None:
        request = SearchRequest(workspace_id=kb.workspace_id, kbs=(kb_ref(kb),), query=question, limit=2 * _TOP_K)
        assert len(provider.search(request).hits) == 2 * _TOP_K

    taken = [(timed(lambda q=q: ask_us(q)), timed(lambda q=q: ask_server(q))) for q in questions][_WARM_UP:]
    return [ours * 1000 for ours, _ in taken], [direct * 1000 for _, direct in taken]


def _move(kb: KnowledgeBase, url: str) -> None:
    """Let a server serve what was indexed here; the rows keep the ids that the hits name."""
    profile = ProviderProfile.objects.create(
        name="bench", base_url=url, sealed_key=seal("bench"), embedding_model_id="bench",
        isolation_domain="bench", tenant_key="bench",
    )  # fmt: skip
    kb.provider, kb.profile = ProviderKind.WEKNORA, profile
    kb.save(update_fields=["provider", "profile"])
    kb.documents.update(provider=ProviderKind.WEKNORA)


def _hit(kb: KnowledgeBase, row: Document, number: int) -> dict[str, Any]:
    """The last paragraph of a document, as the server would give it."""
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
