"""The measurements. Each compares us with what the same machine does on the same data without us, in one run."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db.models import Max, Min, Sum
from django.test import Client

from bench import outside, processes, proxy, raw
from bench.folders import add_rows, make_kb, make_notes, mark_indexed, words
from bench.measure import Measure, p50, p95, timed, times
from knowledge.models import DocumentEvent, IndexStatus, KnowledgeBase
from knowledge.providers.base import SearchRequest
from knowledge.providers.registry import local_provider
from knowledge.selectors.document_lists import Filters, page_of
from knowledge.services import drain, registry, search, sync
from knowledge.services.ingest import kb_ref
from mnote.models import Job
from mnote.principals import Principal

SAMPLE = Path(__file__).resolve().parent.parent / "packaging" / "sample"
_ROUNDS = 3
_WORKER_SECONDS = 300.0


def run(name: str, scratch: Path, folder: Path | None) -> list[Measure]:
    """Run one suite in a workspace of its own."""
    call_command("migrate", verbosity=0)
    Path(settings.STATIC_ROOT).mkdir(parents=True, exist_ok=True)
    suites: dict[str, Callable[[Path, Path | None], list[Measure]]] = {
        "scan": _scan,
        "index": _index,
        "save": _save,
        "search": _search,
        "pages": _pages,
        "proxy": lambda place, _folder: proxy.measure(place),
        "outside": lambda place, _folder: outside.measure(place),
    }
    place = scratch / name
    place.mkdir()
    return suites[name](place, folder)


def _scan(place: Path, _folder: Path | None) -> list[Measure]:
    """10,000 files: the first look, an unchanged one, and one after the top folder was renamed."""
    size = make_notes(place, 10_000)
    limit = raw.hash_seconds(place)
    kbs = [make_kb(place, f"scan {number}")[2] for number in range(_ROUNDS)]
    first = p50([timed(lambda kb=kb: _look(kb)) for kb in kbs])
    kb = kbs[0]
    mark_indexed(kb, place)
    _look(kb)
    unchanged = p50([timed(lambda: _look(kb)) for _ in range(_ROUNDS)])
    renamed = p50([_look_renamed(kb, place, number) for number in range(_ROUNDS)])
    assert kb.documents.filter(index_status=IndexStatus.INDEXED).count() == 10_000
    label, note = f"10,000 files, {size / 1e6:.0f} MB", "limit: sha256 of all files"
    return [
        Measure(name=f"scan {name}", size=label, ours=ours, limit=limit, unit="s", note=note)
        for name, ours in (("first", first), ("unchanged", unchanged), ("after rename", renamed))
    ]


def _look_renamed(kb: KnowledgeBase, place: Path, number: int) -> float:
    [before] = place.iterdir()
    before.rename(place / f"renamed {number}")
    return timed(lambda: _look(kb))


def _index(place: Path, folder: Path | None) -> list[Measure]:
    """Real documents, and small notes, from waiting to searchable by a real worker; medians of rounds, each in a
    workspace that holds nothing yet."""
    copy, notes = place / "documents", place / "notes"
    shutil.copytree(folder or SAMPLE, copy)
    make_notes(notes, 1_000)
    with processes.worker():
        _work(make_kb(notes, "warm up")[2], "warm up")
        real = [_work(kb := make_kb(copy, f"index {n}")[2], "documents") for n in range(_ROUNDS)]
        small = [_work(make_kb(notes, f"notes {n}")[2], "notes") for n in range(_ROUNDS)]
    blocks = kb.documents.aggregate(total=Sum("chunk_count"))["total"]
    files = kb.documents.filter(index_status=IndexStatus.INDEXED)
    megabytes = files.aggregate(total=Sum("size_bytes"))["total"] / 1e6
    label = f"{files.count():,} files, {megabytes:.1f} MB, {blocks:,} blocks"
    return [
        Measure(
            name="index blocks", size=label, ours=blocks / p50(real), limit=raw.insert_rate(place, kb),
            unit="blocks/s", note="limit: inserting the same text into a plain FTS5 table",
        ),
        Measure(
            name="index bytes", size=label, ours=megabytes / p50(real), limit=megabytes / raw.hash_seconds(copy),
            unit="MB/s", note="limit: sha256 of the same bytes",
        ),
        Measure(
            name="index notes", size="1,000 small files", ours=1_000 / p50(small),
            limit=1_000 / raw.hash_seconds(notes), unit="files/s", note="limit: sha256 of the same files",
        ),
    ]  # fmt: skip


def _work(kb: KnowledgeBase, what: str) -> float:
    """Let the worker index a knowledge base; return the seconds from the first file opened to the last recorded."""
    Job.objects.filter(kb_id=kb.id).delete()
    _look(kb)
    registry.request_work(kb)
    waiting = kb.documents.filter(index_status__in=[IndexStatus.QUEUED, IndexStatus.PARSING])
    processes.wait_until(lambda: not waiting.exists(), what, _WORKER_SECONDS)
    began = DocumentEvent.objects.filter(document__kb=kb).aggregate(first=Min("started_at"))["first"]
    ended = kb.documents.aggregate(last=Max("indexed_at"))["last"]
    return float((ended - began).total_seconds())


def _save(place: Path, _folder: Path | None) -> list[Measure]:
    """From a file saved to its text found, with the whole server running."""
    make_notes(place, 100)
    _, _, kb = make_kb(place, "save")
    with processes.server():
        waiting = kb.documents.filter(index_status=IndexStatus.INDEXED)
        processes.wait_until(lambda: waiting.count() == 100, "the first look", _WORKER_SECONDS)
        time.sleep(2)  # the watcher takes up the folder
        took = times(lambda number: _save_one(kb, place, number), 12, warm_up=2)
    limit, label = settings.MNOTE_SETTLE_SECONDS * 1000, "1 file of 100"
    note = "limit: the time for which a saved file must rest before it is read"
    return [
        Measure(name="save p50", size=label, ours=p50(took), limit=limit, unit="ms", note=note),
        Measure(name="save p95", size=label, ours=p95(took), limit=limit, unit="ms", note=note),
    ]


def _save_one(kb: KnowledgeBase, place: Path, number: int) -> None:
    word = f"beacon{time.time_ns()}"
    (place / "top" / "000" / f"saved {number}.md").write_text(f"# Saved\n\nThe {word} is lit.\n")
    request = SearchRequest(workspace_id=kb.workspace_id, kbs=(kb_ref(kb),), query=word, limit=1)
    processes.wait_until(lambda: local_provider().search(request).hits, "a saved file", 60, pause=0.01)


def _search(place: Path, _folder: Path | None) -> list[Measure]:
    """Search at 50,000 blocks: the whole way to references, beside the raw query on the same index."""
    make_notes(place, 2_500, paragraphs=20)
    principal, _, kb = make_kb(place, "search")
    _look(kb)
    _drain(kb)
    blocks = kb.documents.aggregate(total=Sum("chunk_count"))["total"]
    chance = random.Random(7)
    queries = [words(chance, 3) for _ in range(100)]
    ours = times(lambda n: _find(principal, kb, queries[n]), len(queries))
    bare = raw.query_times(kb, queries)
    label, note = f"{blocks:,} blocks", "limit: the same words as a bare FTS5 query on the same index"
    return [
        Measure(name="search p50", size=label, ours=p50(ours), limit=p50(bare), unit="ms", note=note),
        Measure(name="search p95", size=label, ours=p95(ours), limit=p95(bare), unit="ms", note=note),
    ]


def _pages(place: Path, _folder: Path | None) -> list[Measure]:
    """List page and canonical search at 1,000 and at 100,000 documents, in turns: the second must cost what the first
    does."""
    make_notes(place, 20)
    few, many = (_Place(place, f"pages {total}", total) for total in (1_000, 100_000))
    note = "limit: the same at 1,000 documents"
    return [
        Measure(name=name, size="100,000 documents", ours=ours, limit=limit, unit="ms", note=note)
        for name in _Place.ACTS
        for ours, limit in [_in_turns(many, few, name)]
    ]


class _Place:
    """A knowledge base with so many rows, and what is done to it."""

    ACTS = ("list rows", "list page", "canonical search")

    def __init__(self, folder: Path, name: str, total: int) -> None:
        self.principal, root, self.kb = make_kb(folder, name)
        _look(self.kb)
        _drain(self.kb)
        one = self.kb.documents.first()
        assert one is not None
        add_rows(self.kb, root, total - self.kb.documents.count(), of=one)
        self.client = Client(raise_request_exception=True, SERVER_NAME="127.0.0.1")
        self.client.force_login(self.principal.user)

    def act(self, name: str) -> None:
        if name == "list rows":
            page_of(self.principal, self.kb, Filters())
        elif name == "list page":
            _list_page(self.client, self.kb)
        else:
            _post_search(self.client, self.kb)


def _in_turns(one: _Place, other: _Place, name: str) -> tuple[float, float]:
    """Return the medians of an act at both places, done in turns, so that what else the machine does meets both."""
    taken = [(times(lambda _: one.act(name), 1), times(lambda _: other.act(name), 1)) for _ in range(20)]
    return p50([first for [first], _ in taken]), p50([second for _, [second] in taken])


def _look(kb: KnowledgeBase) -> None:
    source = kb.sources.select_related("kb__workspace", "root").get()
    sync.sync_source(source=source, order=sync.Order())


def _drain(kb: KnowledgeBase) -> None:
    while drain.drain(kb=kb, worker="bench").more:
        pass


def _find(principal: Principal, kb: KnowledgeBase, text: str) -> None:
    search.search(principal=principal, scope=search.Scope(workspace=kb.workspace), query=text, top_k=10)


def _list_page(client: Client, kb: KnowledgeBase) -> None:
    answer = client.get(f"/kb/{kb.id}/")
    assert answer.status_code == 200, answer.content


def _post_search(client: Client, kb: KnowledgeBase) -> None:
    body = {"workspaceId": kb.workspace_id, "rootUri": kb.root.root_uri, "query": "harbour 合同", "topK": 10}
    answer = client.post("/api/knowledge-rag/search", body, content_type="application/json")
    assert answer.status_code == 200, answer.content
