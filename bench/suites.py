"""The measurements. Each compares us with what the same machine does on the same data without us, in one run."""

from __future__ import annotations

import hashlib
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import apsw
from django.core.management import call_command
from django.test import Client

from bench.folders import add_rows, make_kb, make_notes, mark_indexed, words
from bench.measure import Measure, p50, p95, timed, times
from knowledge.models import IndexStatus, KnowledgeBase
from knowledge.providers.local.store import Store
from knowledge.selectors.document_lists import Filters, page_of
from knowledge.services import drain, search, sync
from mnote.principals import Principal

SAMPLE = Path(__file__).resolve().parent.parent / "packaging" / "sample"


def run(name: str, scratch: Path, folder: Path | None) -> list[Measure]:
    """Run one suite on a fresh database of its own workspace."""
    call_command("migrate", verbosity=0)
    suites: dict[str, Callable[[Path, Path | None], list[Measure]]] = {
        "scan": _scan,
        "index": _index,
        "search": _search,
        "pages": _pages,
    }
    place = scratch / name
    place.mkdir()
    return suites[name](place, folder)


def _scan(place: Path, _folder: Path | None) -> list[Measure]:
    """10,000 files: the first look, an unchanged one, and one after the top folder was renamed."""
    size = make_notes(place, 10_000)
    _, _, kb = make_kb(place, "scan")
    limit = timed(lambda: _hash_all(place))
    label = f"10,000 files, {size / 1e6:.0f} MB"
    first = timed(lambda: _look(kb))
    mark_indexed(kb, place)
    unchanged = timed(lambda: _look(kb))
    (place / "top").rename(place / "renamed")
    renamed = timed(lambda: _look(kb))
    assert kb.documents.filter(index_status=IndexStatus.INDEXED).count() == 10_000
    note = "limit: sha256 of all files"
    return [
        Measure(name="scan first", size=label, ours=first, limit=limit, unit="s", note=note),
        Measure(name="scan unchanged", size=label, ours=unchanged, limit=limit, unit="s", note=note),
        Measure(name="scan after rename", size=label, ours=renamed, limit=limit, unit="s", note=note),
    ]


def _index(place: Path, folder: Path | None) -> list[Measure]:
    """Parse and index a folder of real documents."""
    copy = place / "documents"
    shutil.copytree(folder or SAMPLE, copy)
    _, _, kb = make_kb(copy, "index")
    _look(kb)
    files = [path for path in copy.rglob("*") if path.is_file()]
    megabytes = sum(path.stat().st_size for path in files) / 1e6
    hashing = timed(lambda: _hash_all(copy))
    seconds = timed(lambda: _drain(kb))
    blocks = sum(kb.documents.values_list("chunk_count", flat=True))
    insert = _raw_insert_rate(place, kb)
    label = f"{len(files):,} files, {megabytes:.1f} MB, {blocks:,} blocks"
    return [
        Measure(
            name="index blocks", size=label, ours=blocks / seconds, limit=insert, unit="blocks/s",
            note="limit: inserting the same text into a plain FTS5 table",
        ),
        Measure(
            name="index bytes", size=label, ours=megabytes / seconds, limit=megabytes / hashing, unit="MB/s",
            note="limit: sha256 of the same bytes",
        ),
    ]  # fmt: skip


def _search(place: Path, _folder: Path | None) -> list[Measure]:
    """Search at 50,000 blocks: the whole way to references, beside the raw query on the same index."""
    make_notes(place, 2_500, paragraphs=20)
    principal, _, kb = make_kb(place, "search")
    _look(kb)
    _drain(kb)
    blocks = sum(kb.documents.values_list("chunk_count", flat=True))
    chance = random.Random(7)
    queries = [words(chance, 3) for _ in range(200)]
    ours = times(lambda n: _find(principal, kb, queries[n]), 200)
    raw = _raw_queries(kb, queries)
    label = f"{blocks:,} blocks"
    note = "limit: the same words as a bare FTS5 query on the same index"
    return [
        Measure(name="search p50", size=label, ours=p50(ours), limit=p50(raw), unit="ms", note=note),
        Measure(name="search p95", size=label, ours=p95(ours), limit=p95(raw), unit="ms", note=note),
    ]


def _pages(place: Path, _folder: Path | None) -> list[Measure]:
    """List page and canonical search at 1,000 and at 100,000 documents: the second must cost what the first does."""
    make_notes(place, 20)
    principal, root, kb = make_kb(place, "pages")
    _look(kb)
    _drain(kb)
    client = Client(raise_request_exception=True)
    client.force_login(principal.user)
    one = kb.documents.first()
    results: dict[int, dict[str, float]] = {}
    for total in (1_000, 100_000):
        add_rows(kb, root, total - kb.documents.count(), of=one)
        results[total] = {
            "list rows": p50(times(lambda _: page_of(principal, kb, Filters()), 30)),
            "list page": p50(times(lambda _: client.get(f"/kb/{kb.id}/"), 15)),
            "canonical search": p50(times(lambda _: _post_search(client, kb), 30)),
        }
    note = "limit: the same at 1,000 documents"
    return [
        Measure(name=name, size="100,000 documents", ours=results[100_000][name], limit=value, unit="ms", note=note)
        for name, value in results[1_000].items()
    ]


def _look(kb: KnowledgeBase) -> None:
    source = kb.sources.select_related("kb__workspace", "root").get()
    sync.sync_source(source=source, order=sync.Order())


def _drain(kb: KnowledgeBase) -> None:
    while drain.drain(kb=kb, worker="bench").more:
        pass


def _find(principal: Principal, kb: KnowledgeBase, text: str) -> None:
    search.search(principal=principal, scope=search.Scope(workspace=kb.workspace), query=text, top_k=10)


def _post_search(client: Client, kb: KnowledgeBase) -> None:
    body = {"workspaceId": kb.workspace_id, "rootUri": kb.root.root_uri, "query": "harbour 合同", "topK": 10}
    answer = client.post("/api/knowledge-rag/search", body, content_type="application/json")
    assert answer.status_code == 200, answer.content


def _hash_all(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            hashlib.sha256(path.read_bytes()).hexdigest()


def _texts(kb: KnowledgeBase) -> list[str]:
    from django.conf import settings  # noqa: PLC0415

    with Store(Path(settings.MNOTE_INDEX_DIR)).reading(kb.workspace_id) as connection:
        return [text for (text,) in connection.execute("SELECT text FROM evidence_block")]


def _raw_insert_rate(place: Path, kb: KnowledgeBase) -> float:
    texts = _texts(kb)
    database = apsw.Connection(str(place / "raw.sqlite"))
    database.execute("CREATE VIRTUAL TABLE raw USING fts5(body)")

    def insert() -> None:
        with database:
            database.executemany("INSERT INTO raw(body) VALUES (?)", [(text,) for text in texts])

    return len(texts) / timed(insert)


def _raw_queries(kb: KnowledgeBase, queries: list[str]) -> list[float]:
    from django.conf import settings  # noqa: PLC0415

    from knowledge.providers.local.tokens import query_terms  # noqa: PLC0415

    with Store(Path(settings.MNOTE_INDEX_DIR)).reading(kb.workspace_id) as connection:

        def ask(number: int) -> None:
            match = " OR ".join(f'"{term.text}"' for term in query_terms(queries[number]))
            sql = "SELECT rowid FROM evidence_fts WHERE evidence_fts MATCH ? ORDER BY rank LIMIT 20"
            list(connection.execute(sql, (f"body : ({match})",)))

        return times(ask, len(queries))
