from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from knowledge.providers.base import KBRef, ProviderDocumentId, ProviderError, SearchOutcome, SearchRequest
from knowledge.providers.weknora.errors import EmbedderUnavailable
from knowledge.providers.weknora.search import MAX_DOCUMENTS, MAX_QUERY
from tests.conformance.bench import Bench
from tests.knowledge.providers.weknora.desk import NOTE, OTHER, Desk, recorded_chunks, request
from tests.stubs.weknora import WeKnoraStub
from tests.stubs.weknora_replies import Reply
from tests.stubs.weknora_world import Passage

TABLE = "# Stock\n\n| Plant | Number |\n| --- | --- |\n" + "".join(f"| plant{n} | {n} pieces |\n" for n in range(80))
IMAGES = "Before ![a](https://h/a.png) the roses.\n\n" * 8
IMAGES += "![big](data:image/png;base64,AAAABBBB)\n\nAfter the dahlias.\n"


def ask(bench: Bench, *kbs: KBRef, query: str = "tomatoes", limit: int = 10, **more: Any) -> SearchOutcome:
    return bench.provider.search(SearchRequest(workspace_id="ws", kbs=kbs, query=query, limit=limit, **more))


def sent(stub: WeKnoraStub) -> list[dict[str, Any]]:
    return [json.loads(each.body) for each in stub.calls("POST", "/hybrid-search")]


def test_search_asks_for_passages_alone_and_more_than_it_shows(bench: Bench, kb: KBRef, stub: WeKnoraStub) -> None:
    """T28: neighbours come in any order, beyond what was asked for. T29, T56: the other search hides failures."""
    bench.add(kb, NOTE)
    stub.asked.clear()

    ask(bench, kb, limit=5)

    assert all(each["skip_context_enrichment"] for each in sent(stub))
    assert sent(stub)[0]["match_count"] == 10
    assert sent(stub)[0]["vector_threshold"] > 0
    assert {each.target.rpartition("/")[2] for each in stub.calls("POST", "")} == {"hybrid-search"}


def test_search_cuts_what_would_block_the_server(bench: Bench, kb: KBRef, stub: WeKnoraStub) -> None:
    """T59: keyword search takes time with the square of the query."""
    bench.add(kb, NOTE)
    stub.asked.clear()

    outcome = ask(bench, kb, query="tomatoes " + "word " * 10_000)

    assert max(len(each["query_text"]) for each in sent(stub)) <= MAX_QUERY
    assert outcome.notes == ("query-cut",)
    assert outcome.hits


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("備份 tomatoes", "備份 tomatoes 备份"),
        ("ｐｏｓｔｇｒｅｓｑｌ", "ｐｏｓｔｇｒｅｓｑｌ postgresql"),
        ("tomatoes 备份", "tomatoes 备份"),
        ("備" * 3_000, "備" * MAX_QUERY),
    ],
    ids=["traditional", "full-width", "common", "long"],
)
def test_search_asks_in_the_common_writing_as_well(
    bench: Bench, kb: KBRef, stub: WeKnoraStub, query: str, asked: str
) -> None:
    """The server's words are characters as they are, and any of them may match."""
    bench.add(kb, NOTE)
    stub.asked.clear()

    ask(bench, kb, query=query)

    assert {each["query_text"] for each in sent(stub)} == {asked}


@pytest.mark.parametrize("query", ["???", '"', "-", "😀", "\x00", "  ", "_", "|"])
def test_search_without_words_is_answered_by_us(bench: Bench, kb: KBRef, stub: WeKnoraStub, query: str) -> None:
    """T60: the server fails on it."""
    bench.add(kb, NOTE)
    stub.asked.clear()

    outcome = ask(bench, kb, query=query)

    assert (outcome.hits, outcome.notes) == ((), ("no-words",))
    assert stub.asked == []


def test_search_leaves_out_what_breaks_the_server_within_words(bench: Bench, kb: KBRef, stub: WeKnoraStub) -> None:
    """T60: it fails on a NUL among words, too."""
    document = bench.add(kb, NOTE)
    stub.asked.clear()

    outcome = ask(bench, kb, query="tomatoes\x00water")

    assert {hit.provider_document_id for hit in outcome.hits} == {document}
    assert all("\x00" not in each["query_text"] for each in sent(stub))


def test_search_takes_null_and_an_empty_list_for_nothing(bench: Bench, kb: KBRef, stub: WeKnoraStub) -> None:
    """T28: nothing found is null."""
    for data in (b"null", b"[]"):
        nothing = Reply(status=200, body=b'{"success":true,"data":%s}' % data)
        stub.misbehave(path="/hybrid-search", times=2, reply=nothing)
        assert ask(bench, kb).hits == ()


@pytest.mark.parametrize("data", [b'"x"', b"{}", b"[1]", b'[{"content":"x"}]'])
def test_search_takes_no_nonsense_for_an_answer(bench: Bench, kb: KBRef, stub: WeKnoraStub, data: bytes) -> None:
    stub.misbehave(path="/hybrid-search", reply=Reply(status=200, body=b'{"success":true,"data":%s}' % data))

    with pytest.raises(ProviderError):
        ask(bench, kb)


@pytest.mark.parametrize("body", [b'{"success":false,"data":[]}', b'{"code":5,"msg":"no","data":[]}'])
def test_search_takes_no_failure_for_an_empty_answer(bench: Bench, kb: KBRef, stub: WeKnoraStub, body: bytes) -> None:
    stub.misbehave(path="/hybrid-search", times=9, reply=Reply(status=200, body=body))

    with pytest.raises(ProviderError):
        ask(bench, kb)


def test_search_puts_equal_scores_in_one_order(desk: Desk, stub: WeKnoraStub) -> None:
    """T64: equal scores come in another order each time."""
    stub.world.edition = "standard"
    bench = Bench(provider=desk.provider(documents_at_once=50))
    kb = bench.kb("one")
    for number in range(12):
        text = f"Tomatoes.\n\n{'#' * (number + 1)}\n"
        bench.provider.ingest(request(kb, text, name=f"{number}.md", path=f"{number:02}.md"))
    bench.provider.document_status(kb, [])
    for _ in range(3):
        bench.provider.list_documents(kb)

    orders = {tuple(hit.metadata["metadata"]["path"] for hit in ask(bench, kb, mode="text").hits) for _ in range(8)}

    assert len(orders) == 1
    assert len(next(iter(orders))) == 10
    assert list(next(iter(orders))) == sorted(next(iter(orders)))


def test_search_slices_thousands_of_ids(bench: Bench, kb: KBRef, stub: WeKnoraStub) -> None:
    """T61: too many ids break the database of the server."""
    wanted = bench.add(kb, NOTE)
    bench.add(kb, "Tomatoes again.\n")
    ids = tuple(ProviderDocumentId(f"id-{n}") for n in range(2 * MAX_DOCUMENTS + 5))
    stub.asked.clear()

    outcome = ask(bench, kb, limit=1, document_ids=(*ids, wanted))

    assert {hit.provider_document_id for hit in outcome.hits} == {wanted}
    assert max(len(each["knowledge_ids"]) for each in sent(stub)) <= MAX_DOCUMENTS


def test_search_of_no_document_asks_for_none(bench: Bench, kb: KBRef, stub: WeKnoraStub) -> None:
    """An empty list of ids means all documents to the server."""
    bench.add(kb, NOTE)
    stub.asked.clear()

    assert ask(bench, kb, document_ids=(ProviderDocumentId(""),)).hits == ()
    assert stub.asked == []


def test_search_drops_and_counts_what_is_no_passage(desk: Desk, bench: Bench, kb: KBRef) -> None:
    document = desk.document(bench.add(kb, NOTE))
    facts = {"seq": 9, "document_id": document.id, "start": 0, "end": 0}
    document.passages += [
        Passage(id="summary", index=1, content="# Summary\n\nTomatoes.", type="summary", **facts),
        Passage(id="marks", index=2, content="tomatoes".translate(dict.fromkeys(range(97, 123), "!")), **facts),
    ]

    outcome = ask(Bench(provider=desk.provider(vector_threshold=0.0)), kb)

    assert [hit.chunk_id for hit in outcome.hits] == [document.passages[0].id]
    assert outcome.dropped == 2


def test_search_that_lost_places_to_leftovers_asks_for_more(bench: Bench, kb: KBRef, stub: WeKnoraStub) -> None:
    """T32: vectors of deleted passages take places, so few hits do not mean that there are no more."""
    bench.add(kb, NOTE)
    stub.world.kbs[kb.provider_kb_id].orphans = 20

    assert ask(bench, kb, limit=10).hits


def test_search_finds_cancelled_documents_and_leaves_them_to_the_registry(
    desk: Desk, bench: Bench, kb: KBRef, stub: WeKnoraStub
) -> None:
    """T53: search does not follow the state of a document; the ids say whose passages they are."""
    stub.world.plans.append(["processing"])
    document = bench.provider.ingest(request(kb)).state.provider_document_id
    bench.provider.document_status(kb, [document])
    bench.provider.cancel(kb, document)

    assert [hit.provider_document_id for hit in ask(bench, kb).hits] == [document]


def test_search_keeps_the_settings_of_others_out_of_its_facts(desk: Desk, bench: Bench, kb: KBRef) -> None:
    """T68: the server prints them into the metadata of a hit."""
    document = desk.document(bench.add(kb, NOTE))
    document.metadata = {**(document.metadata or {}), "process_overrides": {"chunk_size": 1}}

    (hit,) = ask(bench, kb).hits

    assert "process_overrides" not in hit.metadata["metadata"]


def test_search_gives_what_the_server_says_of_a_hit_as_facts(bench: Bench, kb: KBRef) -> None:
    bench.ingest(kb, NOTE, "garden.md")

    (hit,) = ask(bench, kb).hits

    assert hit.metadata["displayName"] == "garden.md"
    assert hit.metadata["channel"] == "api"
    assert hit.metadata["matchedText"].startswith("garden.md\n")
    assert hit.match_type == "vector"
    assert (hit.provider_start, hit.provider_end) == (0, len(NOTE))


def test_search_of_several_bases_fuses_ranks_and_not_scores(bench: Bench, kb: KBRef) -> None:
    """T30: one base answers with similarities, another with raw keyword scores of millions."""
    other = bench.kb("other")
    bench.add(kb, NOTE)
    bench.add(other, "Tomatoes, and nothing else.\n")

    outcome = ask(bench, kb, other)

    assert {hit.provider_kb_id for hit in outcome.hits} == {kb.provider_kb_id, other.provider_kb_id}
    assert all(hit.score < 0.02 for hit in outcome.hits)
    assert [hit.score for hit in outcome.hits] == sorted((hit.score for hit in outcome.hits), reverse=True)


def test_search_never_narrows_by_tags(desk: Desk, bench: Bench, kb: KBRef, stub: WeKnoraStub) -> None:
    """T31: with tags of documents the server finds nothing; who looks for tags gives the ids of the documents."""
    document = bench.add(kb, NOTE)
    bench.add(kb, "Tomatoes again.\n")
    stub.asked.clear()

    outcome = ask(bench, kb, document_ids=(document,))

    assert {hit.provider_document_id for hit in outcome.hits} == {document}
    assert not any("tag_ids" in each or "scope_tag_ids" in each for each in sent(stub))


def test_search_asks_each_base_for_itself_alone(bench: Bench, kb: KBRef, stub: WeKnoraStub) -> None:
    """T33: a list of bases in the body reaches beyond what a key may see. T63: unknown ones in it are passed over."""
    other = bench.kb("other")
    stub.asked.clear()

    ask(bench, kb, other)

    assert all("knowledge_base_ids" not in each for each in sent(stub))
    paths = {each.target for each in stub.calls("POST", "/hybrid-search")}
    assert len(paths) == 2


def test_search_of_a_missing_base_says_so_and_finds_the_rest(bench: Bench, kb: KBRef) -> None:
    document = bench.add(kb, NOTE)

    outcome = ask(bench, kb, bench.kb("never made", exists=False))

    assert [hit.provider_document_id for hit in outcome.hits] == [document]
    assert outcome.notes == ("knowledge-base-missing",)


@pytest.mark.parametrize("behaviour", ["500", "429", "401", "down"])
def test_search_with_a_dead_embedder_is_no_empty_answer(
    bench: Bench, kb: KBRef, stub: WeKnoraStub, behaviour: str
) -> None:
    """T56: nothing found must mean that nothing is there."""
    bench.add(kb, NOTE)
    stub.model.behaviour = behaviour
    stub.asked.clear()

    with pytest.raises(EmbedderUnavailable):
        ask(bench, kb)

    assert len(stub.asked) == 1


def test_search_for_words_alone_needs_no_embedder(bench: Bench, kb: KBRef, stub: WeKnoraStub) -> None:
    document = bench.add(kb, NOTE)
    stub.model.behaviour = "down"

    assert [hit.provider_document_id for hit in ask(bench, kb, mode="text").hits] == [document]


def test_search_with_one_base_failing_gives_the_others_and_says_so(
    desk: Desk, bench: Bench, kb: KBRef, stub: WeKnoraStub
) -> None:
    document = bench.add(kb, NOTE)
    dead = stub.world.add_model()
    other = Bench(provider=desk.provider(embedding_model_id=dead.id)).kb("other")
    dead.behaviour = "500"

    outcome = ask(bench, kb, other)

    assert [hit.provider_document_id for hit in outcome.hits] == [document]
    assert outcome.degraded
    assert outcome.unanswered == ((other.provider_kb_id, "provider-embedder"),)


@pytest.mark.parametrize("text", [TABLE, IMAGES], ids=["repeated table heads", "images"])
def test_hits_name_their_place_in_our_text(bench: Bench, kb: KBRef, text: str) -> None:
    """T24, T25: heads are repeated without being counted, and images are prepared."""
    bench.add(kb, text)

    hits = ask(bench, kb, query="plant70 pieces dahlias roses", limit=20).hits

    assert hits
    for hit in hits:
        ours = text[hit.char_start : hit.char_end]
        assert bench.provider.place(text, hit) == _inked(text, hit.char_start, hit.char_end)
        assert ours.split()[-1] == hit.content.split()[-1]
    assert "After the dahlias." in text[hits[0].char_start : hits[0].char_end] or "plant70" in hits[0].content


def _inked(text: str, start: int, end: int) -> tuple[int, int]:
    ink = text[start:end].strip()
    at = text.index(ink, start)
    return at, at + len(ink)


@pytest.mark.parametrize("note", [None, "?", "rubbish"])
def test_hits_of_a_text_whose_preparation_is_unknown_name_no_place_but_prove_it(
    desk: Desk, bench: Bench, kb: KBRef, note: str | None
) -> None:
    document = desk.document(bench.add(kb, IMAGES))
    assert document.metadata is not None
    document.metadata = {name: value for name, value in document.metadata.items() if name != "mnoteShifts"}
    if note is not None:
        document.metadata["mnoteShifts"] = note

    hits = ask(bench, kb, query="dahlias roses").hits

    assert hits
    assert {(hit.char_start, hit.char_end) for hit in hits} == {(-1, -1)}
    assert all(bench.provider.place(IMAGES, hit) for hit in hits)


def test_place_of_another_version_of_the_text_is_none(bench: Bench, kb: KBRef) -> None:
    bench.add(kb, NOTE)

    (hit,) = ask(bench, kb).hits

    assert bench.provider.place(NOTE, hit)
    assert bench.provider.place(NOTE.replace("morning", "evening"), hit) is None
    assert bench.provider.place(OTHER, hit) is None
    assert bench.provider.place("", hit) is None


@pytest.mark.parametrize("record", recorded_chunks(), ids=lambda record: record["name"])
def test_every_passage_of_a_live_server_is_placed_in_our_text(
    bench: Bench, kb: KBRef, stub: WeKnoraStub, record: dict[str, Any]
) -> None:
    """From our text through upload, recorded passages and back: all placed, in the recorded lines."""
    ours = record["input"].removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    cuts = [(c["chunk_index"], c["start_at"], c["end_at"], c["content"], "") for c in record["chunks"]]
    stub.world.recorded = dict.fromkeys([_md5(record["sent"])], cuts)
    document = bench.add(kb, ours, record["name"])

    chunks = bench.provider.chunks(kb, document, offset=0, limit=200).chunks

    assert len(chunks) == len(record["chunks"])
    for chunk, recorded in zip(chunks, record["chunks"], strict=True):
        lines = [ours.count("\n", 0, chunk.char_start) + 1, ours.count("\n", 0, chunk.char_end - 1) + 1]
        assert lines == recorded["lines"]
        place = bench.provider.place(ours, chunk)
        assert place is not None
        assert chunk.char_start <= place[0] < place[1] <= chunk.char_end


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
