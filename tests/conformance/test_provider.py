"""What every knowledge provider promises, asked of each in turn. A new provider joins by a line in `providers.py`."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from knowledge.providers.base import CheckResult, DocumentPhase, KBRef, ProviderDocumentId, SearchHit, SearchRequest
from tests.conformance.bench import Bench
from tests.conformance.maps import markdown_map
from tests.conformance.providers import PROVIDERS, UNDERSTANDS, Maker, understands

pytestmark = pytest.mark.conformance

GARDEN = """# Garden

## Watering

Tomatoes need water every morning, at the roots and never on the leaves.

## Pruning

Cut the side shoots of the tomatoes once a week.
"""

BACKUP = """# 备份手册

## 数据库

每天凌晨两点备份数据库，并把文件复制到另一台机器。

## 恢复

恢复之前先停止服务，再导入最近一次的备份。
"""

MIXED = """# 发布说明

升级 PostgreSQL 之后，请运行 pg_upgrade 并检查 connection_pool 的大小。

ＡＢＣ１２３ 是全角写法。😀 表情符号 🚀 之后的文字也要找得到。
"""

QUERIES = {
    "english": (GARDEN, "water tomatoes"),
    "english inflected": (GARDEN, "tomato leaf watered"),
    "chinese": (BACKUP, "备份数据库"),
    "chinese question": (BACKUP, "怎么恢复最近的备份？"),
    "chinese two characters": (BACKUP, "凌晨"),
    "chinese one character": (BACKUP, "库"),
    "traditional for simplified": (BACKUP, "備份數據庫"),
    "mixed": (MIXED, "PostgreSQL 升级"),
    "identifier": (MIXED, "connection_pool"),
    "part of an identifier": (MIXED, "upgrade"),
    "half-width for full-width": (MIXED, "abc123"),
    "full-width for half-width": (MIXED, "ｐｏｓｔｇｒｅｓｑｌ"),
    "after emoji": (MIXED, "之后的文字"),
}
#: What an index of words alone cannot find. A server leaves it to its model, which may be any.
MEANT = frozenset(
    QUERIES[name][1] for name in ("english inflected", "chinese one character", "half-width for full-width")
)


@pytest.fixture(params=PROVIDERS, ids=lambda maker: maker.__name__)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    maker: Maker = request.param
    with maker(tmp_path) as provider:
        bench = Bench(provider=provider, understands=understands(maker))
        yield bench
        bench.clean_up()


@pytest.fixture
def kb(bench: Bench) -> KBRef:
    return bench.kb("one")


@pytest.fixture
def other_kb(bench: Bench) -> KBRef:
    return bench.kb("other")


def test_status_answers(bench: Bench, kb: KBRef) -> None:
    status = bench.provider.status()

    assert status.reachable
    assert not status.sentence


def test_check_passes_what_it_can_see(bench: Bench, kb: KBRef) -> None:
    checks = bench.provider.check(kb)

    assert checks
    assert [check for check in checks if check.result is CheckResult.FAILED] == []


def test_ensure_kb_twice_keeps_its_documents(bench: Bench, kb: KBRef) -> None:
    document = bench.add(kb, GARDEN)

    bench.provider.ensure_kb(kb)

    assert bench.listed(kb) == [document]


def test_ingest_reports_every_block(bench: Bench, kb: KBRef) -> None:
    outcome = bench.ingest(kb, GARDEN)

    blocks = len(markdown_map(GARDEN).blocks)
    assert outcome.state.phase is DocumentPhase.DONE
    assert outcome.state.searchable
    assert outcome.state.chunk_count in (range(1, blocks + 1) if bench.cuts_itself else [blocks])
    assert not outcome.duplicate


def test_ingest_twice_leaves_one_document(bench: Bench, kb: KBRef) -> None:
    first = bench.ingest(kb, GARDEN)
    second = bench.ingest(kb, GARDEN)

    assert second.duplicate
    assert second.state == first.state
    assert bench.listed(kb) == [first.state.provider_document_id]


def test_ingest_of_the_same_content_under_another_name_is_one_document(bench: Bench, kb: KBRef) -> None:
    first = bench.ingest(kb, GARDEN, "a.md")
    second = bench.ingest(kb, GARDEN, "b.md")

    assert second.duplicate
    assert second.state.provider_document_id == first.state.provider_document_id
    assert bench.listed(kb) == [first.state.provider_document_id]


def test_ingest_of_other_content_is_another_document(bench: Bench, kb: KBRef) -> None:
    assert bench.add(kb, GARDEN) != bench.add(kb, GARDEN + "\nAnd more.\n")


@pytest.mark.parametrize(("text", "query"), QUERIES.values(), ids=QUERIES)
def test_search_finds_the_document(bench: Bench, kb: KBRef, text: str, query: str) -> None:
    ids = {other: bench.add(kb, other) for other in (GARDEN, BACKUP, MIXED)}

    hits = _hits(bench, kb, query)

    found = [hit.provider_document_id for hit in hits]
    assert ids[text] in (found[:1] if bench.understands else found)
    assert {hit.provider_kb_id for hit in hits} == {kb.provider_kb_id}


@pytest.mark.parametrize(("text", "query"), QUERIES.values(), ids=QUERIES)
def test_search_offsets_slice_the_derived_text(bench: Bench, kb: KBRef, text: str, query: str) -> None:
    bench.add(kb, text)

    hits = _hits(bench, kb, query)

    assert hits
    assert [text[hit.char_start : hit.char_end] for hit in hits] == [hit.content for hit in hits]


@pytest.mark.parametrize(("text", "query"), QUERIES.values(), ids=QUERIES)
def test_place_proves_every_hit_in_its_text_only(bench: Bench, kb: KBRef, text: str, query: str) -> None:
    bench.add(kb, text)

    hits = _hits(bench, kb, query)

    assert [_inked(text, bench.provider.place(text, hit)) for hit in hits] == [hit.content.strip() for hit in hits]
    assert {bench.provider.place("Another text. " + text, hit) for hit in hits} == {None}


def _hits(bench: Bench, kb: KBRef, query: str) -> tuple[SearchHit, ...]:
    if query in MEANT and not bench.understands:
        pytest.skip(f"the model of the live server is not said to understand language: set {UNDERSTANDS}")
    return bench.search(kb, query).hits


def _inked(text: str, place: tuple[int, int] | None) -> str:
    return "" if place is None else text[slice(*place)].strip()


def test_search_returns_the_best_first_and_says_when_there_is_more(bench: Bench, kb: KBRef) -> None:
    for number in range(5):
        bench.add(kb, f"Remark {number} about hydrangeas and other shrubs.\n")

    cut, whole = bench.search(kb, "hydrangeas", limit=2), bench.search(kb, "hydrangeas", limit=50)

    assert len(cut.hits) == 2
    assert cut.more
    assert len(whole.hits) == 5
    assert not whole.more
    assert [hit.score for hit in whole.hits] == sorted((hit.score for hit in whole.hits), reverse=True)


def test_search_keeps_to_the_documents_asked_for(bench: Bench, kb: KBRef) -> None:
    bench.add(kb, GARDEN)
    wanted = bench.add(kb, "Tomatoes, again: water them.\n")

    hits = bench.search(kb, "water tomatoes", ids=(wanted,)).hits

    assert {hit.provider_document_id for hit in hits} == {wanted}


def test_search_keeps_to_the_knowledge_base_asked_for(bench: Bench, kb: KBRef, other_kb: KBRef) -> None:
    mine = bench.add(kb, GARDEN)
    bench.add(other_kb, "Tomatoes, again: water them.\n")

    assert bench.found(kb, "tomatoes") == {mine}


def test_search_covers_several_knowledge_bases(bench: Bench, kb: KBRef, other_kb: KBRef) -> None:
    expected = {bench.add(kb, GARDEN), bench.add(other_kb, "Tomatoes, again: water them.\n")}

    outcome = bench.provider.search(
        SearchRequest(workspace_id=kb.workspace_id, kbs=(kb, other_kb), query="tomatoes", limit=10)
    )

    assert {hit.provider_document_id for hit in outcome.hits} == expected


@pytest.mark.parametrize(
    "query", ["", "   ", "?!…，。", "\x00", "😀🚀"], ids=["empty", "blank", "marks", "nul", "emoji"]
)
def test_search_without_words_finds_nothing_and_says_so(bench: Bench, kb: KBRef, query: str) -> None:
    bench.add(kb, MIXED)

    outcome = bench.search(kb, query)

    assert outcome.hits == ()
    assert outcome.notes


@pytest.mark.parametrize(
    "query",
    [
        '"tomatoes" AND',
        "tomatoes*) OR (",
        "NEAR(tomatoes)",
        "head : tomatoes",
        "-tomatoes ^water",
        "to\x00matoes tomatoes",
    ],
)
def test_search_takes_query_syntax_as_words(bench: Bench, kb: KBRef, query: str) -> None:
    document = bench.add(kb, GARDEN)

    assert bench.found(kb, query) == {document}


def test_search_takes_a_very_long_query(bench: Bench, kb: KBRef) -> None:
    document = bench.add(kb, GARDEN)

    assert bench.found(kb, "Tomatoes need water every morning. " + "重复的长句子没有意义。" * 2_000) == {document}


def test_delete_makes_the_document_unfindable(bench: Bench, kb: KBRef) -> None:
    document = bench.add(kb, GARDEN)
    kept = bench.add(kb, BACKUP)

    bench.provider.delete_document(kb, document)

    assert bench.found(kb, "tomatoes water") == set()
    assert bench.listed(kb) == [kept]


def test_delete_of_an_unknown_document_is_success(bench: Bench, kb: KBRef) -> None:
    document = bench.add(kb, GARDEN)

    bench.provider.delete_document(kb, document)
    bench.provider.delete_document(kb, document)

    assert bench.listed(kb) == []


def test_delete_then_ingest_finds_the_document_again(bench: Bench, kb: KBRef) -> None:
    bench.provider.delete_document(kb, bench.add(kb, GARDEN))

    document = bench.add(kb, GARDEN)

    assert bench.found(kb, "tomatoes") == {document}


def test_delete_in_one_knowledge_base_leaves_the_other(bench: Bench, kb: KBRef, other_kb: KBRef) -> None:
    document = bench.add(kb, GARDEN)
    left = bench.add(other_kb, GARDEN)

    bench.provider.delete_document(kb, document)

    assert bench.found(kb, "tomatoes") == set()
    assert bench.found(other_kb, "tomatoes") == {left}


def test_delete_kb_leaves_the_other(bench: Bench, kb: KBRef, other_kb: KBRef) -> None:
    bench.add(kb, GARDEN)
    left = bench.add(other_kb, GARDEN)

    bench.provider.delete_kb(kb)
    bench.provider.delete_kb(kb)

    assert bench.listed(kb) == []
    assert bench.listed(other_kb) == [left]
    assert bench.found(other_kb, "tomatoes") == {left}


def test_document_status_keeps_the_order_asked_for(bench: Bench, kb: KBRef) -> None:
    garden, backup = bench.add(kb, GARDEN), bench.add(kb, BACKUP)
    unknown = ProviderDocumentId("nothing")

    states = bench.provider.document_status(kb, [backup, unknown, garden])

    assert [state.provider_document_id for state in states] == [backup, unknown, garden]
    assert [state.phase for state in states] == [DocumentPhase.DONE, DocumentPhase.GONE, DocumentPhase.DONE]


def test_document_status_is_gone_after_delete(bench: Bench, kb: KBRef) -> None:
    document = bench.add(kb, GARDEN)
    bench.provider.delete_document(kb, document)

    (state,) = bench.provider.document_status(kb, [document])

    assert state.phase is DocumentPhase.GONE
    assert not state.searchable


@pytest.mark.parametrize("text", [GARDEN, BACKUP, MIXED], ids=["english", "chinese", "mixed"])
def test_chunks_pages_cover_the_text_in_order(bench: Bench, kb: KBRef, text: str) -> None:
    document = bench.add(kb, text)

    first = bench.provider.chunks(kb, document, offset=0, limit=2)
    rest = bench.provider.chunks(kb, document, offset=2, limit=100)
    chunks = (*first.chunks, *rest.chunks)

    assert len(first.chunks) == min(2, first.total)
    assert len(chunks) == first.total
    assert [text[chunk.char_start : chunk.char_end] for chunk in chunks] == [chunk.content for chunk in chunks]
    if bench.cuts_itself:
        covered = {at for chunk in chunks for at in range(chunk.char_start, chunk.char_end)}
        assert [chunk.index for chunk in chunks] == sorted({chunk.index for chunk in chunks})
        assert "".join(text[at] for at in range(len(text)) if at not in covered).strip() == ""
    else:
        assert [chunk.index for chunk in chunks] == list(range(first.total))
        assert "".join("".join(chunk.content for chunk in chunks).split()) == "".join(text.split())


def test_chunks_of_an_unknown_document_are_none(bench: Bench, kb: KBRef) -> None:
    page = bench.provider.chunks(kb, ProviderDocumentId("nothing"), offset=0, limit=10)

    assert (page.chunks, page.total) == ((), 0)


def test_chunk_is_found_by_its_id(bench: Bench, kb: KBRef, other_kb: KBRef) -> None:
    document = bench.add(kb, GARDEN)
    bench.add(other_kb, BACKUP)

    for chunk in bench.provider.chunks(kb, document, offset=0, limit=100).chunks:
        assert bench.provider.chunk(kb, chunk.chunk_id) == (document, chunk)
        assert bench.provider.chunk(other_kb, chunk.chunk_id) is None


def test_unknown_chunk_is_none(bench: Bench, kb: KBRef) -> None:
    assert bench.provider.chunk(kb, "00000000-0000-4000-8000-000000000000") is None


def test_chunks_name_their_sections(bench: Bench, kb: KBRef) -> None:
    document = bench.add(kb, GARDEN)

    chunks = bench.provider.chunks(kb, document, offset=0, limit=10).chunks

    assert chunks[-1].section_path == (() if bench.cuts_itself else ("Garden", "Pruning"))


def test_hits_are_chunks_of_their_document(bench: Bench, kb: KBRef) -> None:
    document = bench.add(kb, GARDEN)
    chunks = {chunk.chunk_id: chunk for chunk in bench.provider.chunks(kb, document, offset=0, limit=100).chunks}

    hits = bench.search(kb, "side shoots").hits

    assert [(chunks[hit.chunk_id].index, chunks[hit.chunk_id].content) for hit in hits] == [
        (hit.chunk_index, hit.content) for hit in hits
    ]


def test_ingest_from_eight_threads_stores_each_content_once(bench: Bench, kb: KBRef) -> None:
    texts = [f"# Sheet {number % 10}\n\nNumber {number % 10} speaks of dahlias.\n" for number in range(40)]

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(lambda text: bench.ingest(kb, text), texts))

    assert sum(not outcome.duplicate for outcome in outcomes) == 10
    assert sorted(bench.listed(kb)) == sorted({outcome.state.provider_document_id for outcome in outcomes})
    assert len(bench.found(kb, "dahlias")) == 10


def test_reparse_keeps_the_document(bench: Bench, kb: KBRef) -> None:
    document = bench.add(kb, GARDEN)

    bench.provider.reparse(kb, document)

    assert bench.listed(kb) == [document]


def test_list_documents_holds_what_was_ingested(bench: Bench, kb: KBRef, other_kb: KBRef) -> None:
    expected = {bench.add(kb, GARDEN), bench.add(kb, BACKUP)}
    bench.add(other_kb, MIXED)

    assert set(bench.listed(kb)) == expected


def test_list_documents_of_an_unknown_knowledge_base_is_empty(bench: Bench) -> None:
    assert bench.provider.list_documents(bench.kb("never-made", exists=False)) == []
