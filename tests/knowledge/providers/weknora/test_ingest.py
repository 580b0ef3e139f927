from __future__ import annotations

import hashlib
import time
from dataclasses import replace
from typing import Any

import pytest

from knowledge.parsing.source_map import ResourceKind
from knowledge.providers.base import (
    DocumentPhase,
    KBRef,
    ProviderBusy,
    ProviderDeleting,
    ProviderDocumentId,
    ProviderError,
    ProviderProtocolError,
    ProviderUnavailable,
)
from knowledge.providers.weknora.client import NOBODY
from knowledge.providers.weknora.config import Pace
from knowledge.providers.weknora.errors import Clash, NotThere, QuotaUsedUp, TextTooLarge, TypeRefused
from knowledge.providers.weknora.sending import pack, server_name
from tests.conformance.bench import Bench
from tests.knowledge.providers.weknora.desk import NOTE, OTHER, Desk, request
from tests.stubs.weknora import WeKnoraStub
from tests.stubs.weknora_replies import failure, success
from tests.stubs.weknora_work import fail
from tests.stubs.weknora_world import COLLISION, READER_DOWN, RESTARTED, Document

IMAGE_NOTE = "Look: ![plan](https://h/plan.png)\n\nThe plan of the garden.\n"


def test_ingest_sends_prepared_text_and_our_facts_as_strings(desk: Desk, bench: Bench, kb: KBRef) -> None:
    """T18: anything but a string is refused; T25: no image is left to be fetched."""
    wanted = request(kb, IMAGE_NOTE, name="plan.md", path="docs/plan.md")
    outcome = bench.provider.ingest(wanted)

    sent = desk.document(outcome.state.provider_document_id)
    assert sent.body.decode() == IMAGE_NOTE.replace("https:", "")
    assert sent.metadata is not None
    assert sent.metadata["path"] == "docs/plan.md"
    assert sent.metadata["documentId"] == "document-1"
    assert sent.metadata["sourceHash"] == wanted.source_hash
    assert outcome.text_hash == sent.metadata["mnoteTextHash"] == "sha256:" + hashlib.sha256(sent.body).hexdigest()
    assert outcome.text_hash != wanted.source_hash


def test_ingest_sends_neither_tags_nor_settings(bench: Bench, kb: KBRef, stub: WeKnoraStub) -> None:
    """T3: a bad tag leaves a dead row. T68: settings once sent stay. T19: they switch things off."""
    bench.provider.ingest(request(kb))

    (upload,) = stub.calls("POST", "/knowledge/file")
    assert b"tag_ids" not in upload.body
    assert b"process_config" not in upload.body
    assert b"enable_multimodel" not in upload.body


NAMES = {
    "plain": ("notes.md", "notes.md"),
    "upper case ending": ("NOTES.MD", "NOTES.md"),
    "other Markdown ending": ("notes.markdown", "notes.markdown.md"),
    "no ending": ("README", "README.md"),
    "folders": ("../etc/x.md", "_etc_x.md"),
    "script": ("javascript:notes.md", "javascript_notes.md"),
    "handler": ("onload=x.md", "onload_x.md"),
    "tag": ("<script>.md", "_script_.md"),
    "controls": ("a\tb\nc\x00.md", "a_b_c.md"),
    "Chinese": ("备份手册.md", "备份手册.md"),
    "no UTF-8": ("caf\udce9.md", "caf_.md"),
    "nothing left": ("...", "document.md"),
    "header": ('a"; filename="evil.md', "a_; filename__evil.md"),
    "line of a header": ("x\r\nX-Injected: 1.md", "x__X-Injected_ 1.md"),
    "very long": ("长" * 200 + ".md", "长" * 60 + ".md"),
}


@pytest.mark.parametrize(("name", "sent"), NAMES.values(), ids=NAMES)
def test_server_name_is_one_the_server_takes(desk: Desk, bench: Bench, kb: KBRef, name: str, sent: str) -> None:
    """T20, T21, T22, T66: folders, long parts and script-like names are refused or changed by the server."""
    outcome = bench.provider.ingest(request(kb, name=name))

    document = desk.document(outcome.state.provider_document_id)
    assert (document.folder, document.name) == ("", server_name(name, "md"))
    assert document.name == sent


@pytest.mark.parametrize("kind", [kind for kind in ResourceKind if kind is not ResourceKind.MARKDOWN])
def test_pack_sends_everything_but_markdown_as_plain_text(kb: KBRef, kind: ResourceKind) -> None:
    """T7: other endings are refused or rewritten by the server."""
    wanted = request(kb, name="data.csv")
    parcel = pack(replace(wanted, source_map=replace(wanted.source_map, kind=kind)))

    assert parcel.name == "data.csv.txt"


@pytest.mark.parametrize("text", ["", "  \n\n", "---\n", "😀🚀\n", "![](//)\n"], ids=repr)
def test_ingest_of_a_text_without_words_sends_nothing(bench: Bench, kb: KBRef, text: str, stub: WeKnoraStub) -> None:
    outcome = bench.provider.ingest(request(kb, text))

    assert (outcome.state.chunk_count, outcome.state.error_code) == (0, "no_text")
    assert stub.calls("POST", "/knowledge/file") == []


def test_ingest_of_a_text_beyond_our_limit_sends_nothing(desk: Desk, kb: KBRef, stub: WeKnoraStub) -> None:
    """T67: the server would take it, and be busy for very long."""
    with pytest.raises(TextTooLarge) as told:
        desk.provider(max_text_bytes=100).ingest(request(kb, "word " * 50))

    assert told.value.code == "too_large"
    assert stub.calls("POST", "/knowledge/file") == []


def test_ingest_beyond_the_limit_of_the_server_says_so(bench: Bench, kb: KBRef, stub: WeKnoraStub) -> None:
    stub.world.max_upload = 10

    with pytest.raises(TextTooLarge):
        bench.provider.ingest(request(kb))


def test_ingest_without_storage_left_is_temporary(bench: Bench, kb: KBRef, stub: WeKnoraStub) -> None:
    """T7: the quota comes as a plain 500."""
    stub.world.quota = -1

    with pytest.raises(QuotaUsedUp) as told:
        bench.provider.ingest(request(kb))

    assert told.value.retryable
    assert len(stub.calls("POST", "/knowledge/file")) == 1


def test_ingest_of_a_refused_type_is_about_the_file(bench: Bench, kb: KBRef, stub: WeKnoraStub) -> None:
    stub.misbehave(path="/knowledge/file", reply=failure(500, 1007, "unsupported file type"))

    with pytest.raises(TypeRefused) as told:
        bench.provider.ingest(request(kb))

    assert not told.value.retryable


def test_ingest_into_a_deleted_kb_says_so(bench: Bench, kb: KBRef, stub: WeKnoraStub) -> None:
    stub.world.kbs[kb.provider_kb_id].is_deleted = True

    with pytest.raises(NotThere):
        bench.provider.ingest(request(kb))


def test_ingest_returns_while_the_document_is_in_work(bench: Bench, kb: KBRef) -> None:
    outcome = bench.provider.ingest(request(kb))

    assert outcome.state.phase is DocumentPhase.QUEUED
    assert not outcome.state.searchable
    assert outcome.state.chunk_count is None


def test_ingest_of_a_second_document_waits_for_its_turn_on_lite(desk: Desk, bench: Bench, kb: KBRef) -> None:
    """T51: lite loses documents that are processed at the same time, whoever sends them."""
    first = bench.provider.ingest(request(kb, NOTE))

    with pytest.raises(ProviderBusy) as told:
        desk.provider().ingest(request(kb, OTHER))

    assert told.value.retry_after
    bench.settled(kb, first.state.provider_document_id, first.state)
    assert desk.provider().ingest(request(kb, OTHER)).state.phase is DocumentPhase.QUEUED


def test_ingest_takes_as_many_at_once_as_configured_on_standard(desk: Desk, stub: WeKnoraStub) -> None:
    stub.world.edition = "standard"
    provider = desk.provider(documents_at_once=3)
    kb = Bench(provider=provider).kb("one")

    for number in range(3):
        provider.ingest(request(kb, f"Note {number}.\n"))

    with pytest.raises(ProviderBusy):
        provider.ingest(request(kb, "One more.\n"))


def test_ingest_takes_an_unknown_edition_for_lite(desk: Desk, stub: WeKnoraStub) -> None:
    stub.world.edition = "something new"
    provider = desk.provider(documents_at_once=3)
    kb = Bench(provider=provider).kb("one")
    provider.ingest(request(kb, NOTE))

    with pytest.raises(ProviderBusy):
        provider.ingest(request(kb, OTHER))


def test_ingest_of_one_content_by_two_workers_is_one_document(desk: Desk, bench: Bench, kb: KBRef) -> None:
    """T6: no index of the server stands behind its check for duplicates."""
    first = bench.provider.ingest(request(kb, name="a.md"))
    second = desk.provider().ingest(request(kb, name="b.md"))

    assert (first.duplicate, second.duplicate) == (False, True)
    assert first.state.provider_document_id == second.state.provider_document_id
    assert len(desk.documents(kb)) == 1


def test_ingest_while_another_worker_sends_the_same_waits(desk: Desk, bench: Bench, kb: KBRef) -> None:
    parcel = pack(request(kb))
    desk.limiter.take(f"{desk_server(desk)}:{parcel.content_key}", "other", limit=1, seconds=60)

    with pytest.raises(ProviderBusy):
        bench.provider.ingest(request(kb))

    assert desk.documents(kb) == []


def desk_server(desk: Desk) -> str:
    return desk.provider()._connection.config.server


def test_ingest_of_texts_that_differ_in_image_addresses_only_shares_a_document(bench: Bench, kb: KBRef) -> None:
    first = bench.ingest(kb, "Text ![a](https://h/p.png)\n", "a.md")
    second = bench.ingest(kb, "Text ![a](http://h/p.png)\n", "b.md")

    assert second.duplicate
    assert second.state.provider_document_id == first.state.provider_document_id


@pytest.mark.parametrize("lost", [{"lose": True}, {"cut": True}], ids=["no answer", "half an answer"])
def test_ingest_whose_answer_was_lost_finds_its_document(
    desk: Desk, bench: Bench, kb: KBRef, stub: WeKnoraStub, lost: dict[str, Any]
) -> None:
    stub.misbehave(path="/knowledge/file", **lost)

    outcome = bench.provider.ingest(request(kb))

    assert [each.id for each in desk.documents(kb)] == [outcome.state.provider_document_id]


def test_ingest_that_broke_off_in_the_middle_leaves_nothing_and_can_be_repeated(
    desk: Desk, bench: Bench, kb: KBRef, stub: WeKnoraStub
) -> None:
    stub.misbehave(path="/knowledge/file", reset=True)

    with pytest.raises(ProviderUnavailable):
        bench.provider.ingest(request(kb))

    bench.provider.ingest(request(kb, OTHER))
    assert len(desk.documents(kb)) == 1


def _have(desk: Desk, kb: KBRef, status: str, **facts: Any) -> Document:
    """Bring a document of NOTE into a state."""
    bench = Bench(provider=desk.provider())
    document = desk.document(bench.add(kb, NOTE))
    document.status, document.steps = status, facts.pop("steps", [])
    for name, value in facts.items():
        setattr(document, name, value)
    return document


@pytest.mark.parametrize("status", ["pending", "processing", "finalizing", "completed"])
def test_ingest_takes_up_a_document_that_is_there(desk: Desk, bench: Bench, kb: KBRef, status: str) -> None:
    """T5: the answer for a duplicate has a shape of its own."""
    document = _have(desk, kb, status)

    outcome = bench.provider.ingest(request(kb))

    assert outcome.duplicate
    assert outcome.state.provider_document_id == document.id
    assert document.attempt == 1


@pytest.mark.parametrize("text", [COLLISION, RESTARTED])
@pytest.mark.parametrize("knows", [True, False], ids=["known", "forgotten"])
def test_ingest_of_a_failed_document_has_it_processed_again(
    desk: Desk, bench: Bench, kb: KBRef, stub: WeKnoraStub, text: str, knows: bool
) -> None:
    """T57: sent again there would be two, since failed rows are no duplicates. T51: this repairs a collision."""
    document = _have(desk, kb, "completed")
    fail(stub.world, document, text)

    outcome = bench.provider.ingest(request(kb, known=document.id if knows else ""))
    state = bench.settled(kb, outcome.state.provider_document_id, outcome.state)

    assert [each.id for each in desk.documents(kb)] == [document.id]
    assert document.attempt == 2
    assert (state.phase, state.searchable) == (DocumentPhase.DONE, True)


def test_ingest_of_a_document_the_server_still_tries_to_read_leaves_it_alone(
    desk: Desk, bench: Bench, kb: KBRef, stub: WeKnoraStub
) -> None:
    """T43: it is shown as failed between two tries."""
    document = _have(desk, kb, "completed")
    fail(stub.world, document, READER_DOWN)

    outcome = bench.provider.ingest(request(kb, known=document.id))

    assert outcome.state.phase is DocumentPhase.PARSING
    assert document.attempt == 1


@pytest.mark.parametrize("status", ["cancelled", "deleting"])
def test_ingest_clears_away_what_cannot_be_taken_up(desk: Desk, bench: Bench, kb: KBRef, status: str) -> None:
    """T5: dying and cancelled rows count as duplicates. T53: cancelled ones leave passages behind."""
    document = _have(desk, kb, status, is_to_be_deleted=status == "deleting")

    outcome = bench.provider.ingest(request(kb))

    assert not outcome.duplicate
    assert [each.id for each in desk.documents(kb)] == [outcome.state.provider_document_id]
    assert outcome.state.provider_document_id != document.id


def test_ingest_beside_a_deletion_that_never_ends_says_so(desk: Desk, kb: KBRef, stub: WeKnoraStub) -> None:
    """T10: without a model that resolves a deletion hangs for ever."""
    document = _have(desk, kb, "deleting", is_to_be_deleted=True)
    stub.world.kbs[kb.provider_kb_id].body["embedding_model_id"] = "00000000-0000-4000-8000-000000000001"

    with pytest.raises(ProviderDeleting) as told:
        desk.provider(pace=Pace(gone=0.3, known=0.0)).ingest(request(kb))

    assert told.value.retryable
    assert document.id in stub.world.documents


def test_ingest_of_a_document_without_its_passages_has_it_processed_again(
    desk: Desk, bench: Bench, kb: KBRef, stub: WeKnoraStub
) -> None:
    """T52: two overlapping runs leave it completed, enabled and empty."""
    document = _have(desk, kb, "completed", passages=[])

    outcome = bench.ingest(kb, NOTE)

    assert outcome.state.provider_document_id == document.id
    assert outcome.state.searchable
    assert len(stub.calls("POST", "/reparse")) == 1


@pytest.mark.parametrize("status", ["pending", "processing"])
def test_ingest_of_a_document_that_stalled_starts_anew(
    desk: Desk, bench: Bench, kb: KBRef, stub: WeKnoraStub, status: str
) -> None:
    """T2, T3: nobody works on it and nobody ever will."""
    document = _have(desk, kb, status, has_started=False)
    stub.world.pass_time(4_000)

    outcome = bench.provider.ingest(request(kb))

    assert outcome.state.provider_document_id != document.id
    assert len(desk.documents(kb)) == 1


def test_ingest_of_a_content_put_there_by_somebody_else_takes_it_up(desk: Desk, bench: Bench, kb: KBRef) -> None:
    document = _have(desk, kb, "completed", metadata=None)

    assert bench.provider.ingest(request(kb)).state.provider_document_id == document.id


def test_ingest_of_a_content_put_there_with_other_settings_reports_the_clash(
    desk: Desk, bench: Bench, kb: KBRef
) -> None:
    """T68: such settings beat those of the knowledge base at every later run."""
    _have(desk, kb, "completed", metadata={"process_overrides": {"chunking_config": {}}})

    with pytest.raises(Clash) as told:
        bench.provider.ingest(request(kb))

    assert not told.value.retryable


def test_ingest_of_a_new_version_leaves_the_old_one_alone(desk: Desk, bench: Bench, kb: KBRef) -> None:
    old = bench.add(kb, NOTE)

    new = bench.provider.ingest(request(kb, OTHER, known=old)).state.provider_document_id

    assert {each.id for each in desk.documents(kb)} == {old, new}
    assert old in bench.found(kb, "tomatoes")


@pytest.mark.parametrize("known", ["nothing", "00000000-0000-4000-8000-000000000000"])
def test_ingest_with_an_id_that_is_gone_sends_anew(bench: Bench, kb: KBRef, known: str) -> None:
    outcome = bench.provider.ingest(request(kb, known=known))

    assert not outcome.duplicate


def test_ingest_that_failed_gives_its_turn_back(bench: Bench, kb: KBRef, stub: WeKnoraStub) -> None:
    stub.misbehave(path="/knowledge/file", reply=failure(400, 1010, "文件名包含非法字符"))

    with pytest.raises(ProviderError):
        bench.provider.ingest(request(kb))

    assert bench.provider.ingest(request(kb, OTHER)).state.phase is DocumentPhase.QUEUED


def test_ingest_whose_worker_died_blocks_nobody_for_ever(desk: Desk, bench: Bench, kb: KBRef) -> None:
    dying = desk.provider(pace=Pace(flight=0.2, known=0.0))
    dying.ingest(request(kb, NOTE))
    with pytest.raises(ProviderBusy):
        bench.provider.ingest(request(kb, OTHER))

    time.sleep(0.3)  # the lease of the dead worker runs out

    assert bench.provider.ingest(request(kb, OTHER)).state.provider_document_id != ProviderDocumentId("")


def test_ingest_that_the_server_stored_otherwise_says_so(bench: Bench, kb: KBRef, stub: WeKnoraStub) -> None:
    """T66: what gets lost on the way is lost without a word; the hash in the answer tells."""
    stored = {"id": NOBODY, "knowledge_base_id": kb.provider_kb_id, "parse_status": "pending", "file_hash": "0" * 32}
    stub.misbehave(method="POST", path="/knowledge/file", reply=success(stored))

    with pytest.raises(ProviderProtocolError):
        bench.provider.ingest(request(kb))
