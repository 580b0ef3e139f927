"""Which passage the embedded provider puts first, and what it leaves out."""

from __future__ import annotations

from pathlib import Path

import pytest

from knowledge.providers.base import (
    IngestRequest,
    KBRef,
    ProviderDocumentId,
    ProviderKBId,
    SearchOutcome,
    SearchRequest,
)
from knowledge.providers.local.provider import LocalProvider
from tests.conformance.maps import markdown_map

#: Pairs of passages that share words, each with questions that only it answers.
PASSAGES = {
    "tea": "Green tea is steeped at eighty degrees for two minutes; hotter water makes it bitter.",
    "coffee": "Coffee is brewed at ninety-four degrees for four minutes; colder water makes it sour.",
    "lease": "A worker that stops sending heartbeats loses its lease, and another worker may claim the job.",
    "retry": "A job that fails is tried again after a growing pause, at most five times.",
    "borrow": "A reference borrows a value without owning it; the borrow checker rejects dangling references.",
    "move": "Assigning a value moves ownership, and the old variable can no longer be used.",
    "config": "Set MNOTE_INDEX_DIR or index_dir in settings.toml to keep the index on another disk.",
    "versions": "Version 2.4.1 needs PostgreSQL 15; version 2.3.9 still runs on PostgreSQL 13.",
    "茶": "绿茶用八十度的水冲泡两分钟，水太热会发苦。",
    "咖啡": "咖啡用九十四度的水萃取四分钟，水温太低会发酸。",
    "备份": "每天凌晨自动备份数据库，备份文件保存三十天。",
    "恢复": "恢复数据之前要先停止写入，然后导入最近的备份文件。",
    "锁": "读写锁允许多个线程同时读取，但写入时必须独占。",
    "线程池": "线程池重复使用已经创建的线程，减少创建和销毁的开销。",
    "繁體": "憲法規定人民有言論、講學、著作及出版之自由。",
    "混合": "用 git rebase 整理提交之前，先确认分支没有推送到 origin。",
}
QUESTIONS = [
    ("how hot should green tea be", "tea"),
    ("coffee temperature degrees", "coffee"),
    ("workers losing leases", "lease"),
    ("failed jobs tried again", "retry"),
    ("dangling reference", "borrow"),
    ("moved values and ownership", "move"),
    ("index_dir", "config"),
    ("mnote index dir setting", "config"),
    ("2.4.1", "versions"),
    ("postgresql 13", "versions"),
    ("绿茶要用多少度的水？", "茶"),
    ("咖啡发酸的原因", "咖啡"),
    ("多久备份一次数据库", "备份"),
    ("怎么恢复数据", "恢复"),
    ("写入时为什么要独占", "锁"),
    ("为什么使用线程池", "线程池"),
    ("线程同时读取", "锁"),
    ("言论自由", "繁體"),
    ("出版自由憲法", "繁體"),
    ("rebase 之前确认什么", "混合"),
    ("ＧＩＴ　ＲＥＢＡＳＥ", "混合"),
]


def kb_named(name: str) -> KBRef:
    return KBRef(kb_id=name, workspace_id="ws", provider_kb_id=ProviderKBId(name), name=name)


@pytest.fixture
def provider(tmp_path: Path) -> LocalProvider:
    return LocalProvider(tmp_path)


def add(
    provider: LocalProvider, text: str, *, kb: str = "kb", name: str = "note.md", title: str | None = None
) -> ProviderDocumentId:
    source_map = markdown_map(text, title=title)
    request = IngestRequest(
        kb=kb_named(kb), document_id="d", display_name=name, source_hash=source_map.source_hash, source_map=source_map
    )
    return provider.ingest(request).state.provider_document_id


def search(
    provider: LocalProvider,
    query: str,
    *,
    kbs: tuple[str, ...] = (),
    ids: tuple[ProviderDocumentId, ...] = (),
    limit: int = 10,
) -> SearchOutcome:
    return provider.search(
        SearchRequest(workspace_id="ws", kbs=tuple(map(kb_named, kbs)), query=query, limit=limit, document_ids=ids)
    )


def texts(outcome: SearchOutcome) -> list[str]:
    return [hit.content for hit in outcome.hits]


@pytest.mark.parametrize(("query", "answer"), QUESTIONS, ids=[query for query, _ in QUESTIONS])
def test_search_answers_with_the_right_passage_first(provider: LocalProvider, query: str, answer: str) -> None:
    for text in PASSAGES.values():
        add(provider, text)

    assert texts(search(provider, query))[0] == PASSAGES[answer]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("适者", "物竞天择，即适者生存"),
        ("止损", "跌破均线要止损"),
        ("gen", "重跑gen后再看"),
        ("后", "重跑gen后再看"),
        ("存", "物竞天择，即适者生存"),
        ("ABC", "ＡＢＣ"),
        ("istanbul", "İstanbul'da"),
        ("İSTANBUL", "istanbul"),
        ("naive resume", "naïve résumé"),
    ],
)
def test_search_finds_short_words_in_any_script(provider: LocalProvider, query: str, text: str) -> None:
    whole = f"😀 前文 {text} after\n"
    add(provider, whole)

    (hit,) = search(provider, query).hits

    assert whole[hit.char_start : hit.char_end] == hit.content
    assert text in hit.content


def test_search_prefers_the_verbatim_phrase(provider: LocalProvider) -> None:
    add(provider, "The store opens the door; the door opens the store.\n")
    phrase = "When rain falls, the door opens by itself and the store stays dry for everyone inside.\n"
    add(provider, phrase)

    assert texts(search(provider, "the door opens by itself"))[0] == phrase.strip()


def test_search_prefers_the_passage_to_a_short_one_in_its_section(provider: LocalProvider) -> None:
    telling = "Volatile makes a write visible to other threads at once, but an increment of it is not atomic."
    add(provider, f"# Volatile\n\nAs follows:\n\n{telling}\n\nSee below.\n")

    assert texts(search(provider, "volatile"))[0] == telling


def test_search_prefers_the_phrase_in_the_text_to_the_phrase_above_it(provider: LocalProvider) -> None:
    telling = "In short, what is ownership: one owner."
    add(provider, f"# What is ownership\n\nOwnership has rules, and each has its reason.\n\n{telling}\n")

    assert texts(search(provider, "What is ownership?"))[0] == telling


def test_search_prefers_text_to_a_bare_heading(provider: LocalProvider) -> None:
    add(provider, "# Pruning roses\n\n# Pruning hedges\n\nPruning roses is work for March, before they wake.\n")

    assert texts(search(provider, "pruning roses"))[0] == "Pruning roses is work for March, before they wake."


def test_search_finds_by_title_and_file_name(provider: LocalProvider) -> None:
    wanted = add(provider, "Nothing telling here.\n", title="Quarterly figures", name="Umsatz-2026.md")
    add(provider, "Nothing telling there.\n")

    for query in ("quarterly figures", "umsatz"):
        assert [hit.provider_document_id for hit in search(provider, query).hits] == [wanted]


def test_search_after_a_rename_finds_by_the_new_name_only(provider: LocalProvider) -> None:
    add(provider, "Nothing telling here.\n", name="offer.md")
    add(provider, "Nothing telling here.\n", name="invoice.md")

    assert texts(search(provider, "invoice")) == ["Nothing telling here."]
    assert texts(search(provider, "offer")) == []


def test_search_says_a_repeated_passage_of_one_document_once(provider: LocalProvider) -> None:
    add(provider, "name | price\n\napple | 1\n\nname | price\n\npear | 2\n")
    add(provider, "name | price\n\nplum | 3\n")

    assert texts(search(provider, "name price")) == ["name | price", "name | price"]


def test_search_of_the_workspace_covers_all_knowledge_bases(provider: LocalProvider) -> None:
    expected = {add(provider, f"Lupins in bed {kb}.\n", kb=kb) for kb in ("a", "b", "c")}

    assert {hit.provider_document_id for hit in search(provider, "lupins").hits} == expected


@pytest.mark.parametrize("count", [1, 4, 5, 11], ids=lambda count: f"{count} of 12")
def test_search_keeps_to_the_knowledge_bases_asked_for(provider: LocalProvider, count: int) -> None:
    names = [f"kb{number}" for number in range(12)]
    by_kb = {name: add(provider, f"Lupins in bed {name}.\n", kb=name) for name in names}
    wanted = tuple(names[:count])

    hits = search(provider, "lupins", kbs=wanted, limit=50).hits

    assert {hit.provider_document_id for hit in hits} == {by_kb[name] for name in wanted}
    assert {hit.provider_kb_id for hit in hits} == set(wanted)


@pytest.mark.parametrize("count", [1, 4, 5, 600], ids=lambda count: f"{count} documents")
def test_search_keeps_to_the_documents_asked_for(provider: LocalProvider, count: int) -> None:
    wanted = add(provider, "Lupins, the first.\n")
    add(provider, "Lupins, the second.\n")
    ids = (wanted, *(ProviderDocumentId(f"unknown-{number}") for number in range(count - 1)))

    assert [hit.provider_document_id for hit in search(provider, "lupins", ids=ids).hits] == [wanted]


def test_search_of_unknown_documents_or_knowledge_bases_finds_nothing(provider: LocalProvider) -> None:
    add(provider, "Lupins.\n")

    assert texts(search(provider, "lupins", ids=(ProviderDocumentId("unknown"),))) == []
    assert texts(search(provider, "lupins", kbs=("unknown",))) == []


def test_search_names_all_knowledge_bases_of_a_shared_content(provider: LocalProvider) -> None:
    for kb in ("a", "b", "c"):
        add(provider, "Lupins.\n", kb=kb)

    (hit,) = search(provider, "lupins", kbs=("b", "c")).hits

    assert hit.provider_kb_id == "b"
    assert hit.metadata["kb_ids"] == ["b", "c"]


def test_search_says_that_a_long_query_was_cut(provider: LocalProvider) -> None:
    add(provider, "Lupins.\n")

    outcome = search(provider, "lupins " * 1_000)

    assert texts(outcome) == ["Lupins."]
    assert outcome.notes == ("query-cut",)


def test_search_of_a_workspace_without_an_index_is_empty(provider: LocalProvider, tmp_path: Path) -> None:
    assert search(provider, "lupins").hits == ()
    assert list(tmp_path.iterdir()) == []
