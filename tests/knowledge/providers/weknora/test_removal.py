from __future__ import annotations

import re

import pytest

from knowledge.providers.base import DocumentPhase, KBRef, ProviderBusy, ProviderDeleting, ProviderDocumentId
from knowledge.providers.weknora.client import NOBODY
from knowledge.providers.weknora.config import Pace
from knowledge.providers.weknora.errors import OutOfScope
from tests.conformance.bench import Bench
from tests.knowledge.providers.weknora.desk import NOTE, OTHER, Desk, request
from tests.stubs.weknora import WeKnoraStub
from tests.stubs.weknora_work import fail
from tests.stubs.weknora_world import READER_DOWN, RESTARTED

HARMLESS = {
    "GET /health",
    "GET /api/v1/system/capabilities",
    "GET /api/v1/system/info",
    "GET /api/v1/system/parser-engines",
    "POST /api/v1/knowledge-bases",
    "GET /api/v1/knowledge-bases/ID",
    "PUT /api/v1/knowledge-bases/ID",
    "DELETE /api/v1/knowledge-bases/ID",
    "GET /api/v1/initialization/config/ID",
    "GET /api/v1/models/ID",
    "POST /api/v1/knowledge-bases/ID/knowledge/file",
    "GET /api/v1/knowledge-bases/ID/knowledge",
    "POST /api/v1/knowledge-bases/ID/hybrid-search",
    "GET /api/v1/knowledge/batch",
    "GET /api/v1/knowledge/ID/spans",
    "POST /api/v1/knowledge/ID/reparse",
    "POST /api/v1/knowledge/ID/cancel-parse",
    "DELETE /api/v1/knowledge/ID",
    "GET /api/v1/knowledge-bases/ID/tags",
    "POST /api/v1/knowledge-bases/ID/tags",
    "PUT /api/v1/knowledge/tags",
    "GET /api/v1/chunks/ID",
    "GET /api/v1/chunks/by-id/ID",
}


def test_delete_is_over_when_the_document_is_gone(desk: Desk, bench: Bench, kb: KBRef, stub: WeKnoraStub) -> None:
    """T8: the server takes a deletion and works on it later; until then the document is found."""
    document = bench.add(kb, NOTE)

    bench.provider.delete_document(kb, document)

    assert stub.world.documents == {}
    assert len(stub.calls("DELETE", "/knowledge/")) == 1


def test_delete_that_takes_longer_says_so_and_goes_on(desk: Desk, bench: Bench, kb: KBRef, stub: WeKnoraStub) -> None:
    document = bench.add(kb, NOTE)
    stub.world.is_frozen = True

    with pytest.raises(ProviderDeleting) as told:
        desk.provider(pace=Pace(gone=0.2)).delete_document(kb, document)

    assert told.value.retryable
    assert told.value.retry_after
    stub.world.is_frozen = False
    bench.provider.delete_document(kb, document)
    assert stub.world.documents == {}


def test_delete_cut_off_by_a_restart_is_asked_for_again(desk: Desk, bench: Bench, kb: KBRef, stub: WeKnoraStub) -> None:
    """T53: the row comes back as failed, and is found by search."""
    document = bench.add(kb, NOTE)
    stub.world.is_frozen = True
    with pytest.raises(ProviderDeleting):
        desk.provider(pace=Pace(gone=0.1)).delete_document(kb, document)
    stub.restart()
    assert stub.world.documents[document].error == RESTARTED
    assert bench.found(kb, "tomatoes") == {document}
    stub.world.is_frozen = False

    bench.provider.delete_document(kb, document)

    assert stub.world.documents == {}


def test_delete_goes_on_when_the_server_is_restarted_meanwhile(bench: Bench, kb: KBRef, stub: WeKnoraStub) -> None:
    """T53: such a server forgets the deletion, and shows the row as failed."""
    document = bench.add(kb, NOTE)
    restarts = iter([True])

    def weather(method: str, target: str) -> None:
        if "/batch" in target and stub.calls("DELETE", "/knowledge/") and next(restarts, False):
            stub.restart()

    stub.weather = weather

    bench.provider.delete_document(kb, document)

    assert stub.world.documents == {}
    assert len(stub.calls("DELETE", "/knowledge/")) == 2


def test_delete_of_a_document_in_work_frees_its_turn(bench: Bench, kb: KBRef, stub: WeKnoraStub) -> None:
    stub.world.plans.append(["processing"])
    document = bench.provider.ingest(request(kb)).state.provider_document_id

    bench.provider.delete_document(kb, document)

    assert bench.provider.ingest(request(kb, OTHER)).state.phase is DocumentPhase.QUEUED


def test_delete_of_what_is_gone_or_elsewhere_asks_for_nothing(bench: Bench, kb: KBRef, stub: WeKnoraStub) -> None:
    """T9: one by one, so that an unknown id spoils no other deletion."""
    elsewhere = bench.add(bench.kb("other"), NOTE)

    for document in ("nothing", "", elsewhere):
        bench.provider.delete_document(kb, ProviderDocumentId(document))

    assert stub.calls("DELETE", "") == []
    assert list(stub.world.documents) == [elsewhere]


def test_delete_with_the_key_of_another_tenant_is_not_over(bench: Bench, kb: KBRef, stub: WeKnoraStub) -> None:
    """Such a key sees no document: what it does not see may be there."""
    document = bench.add(kb, NOTE)
    stub.world.keys[stub.key].tenant = 2

    with pytest.raises(OutOfScope):
        bench.provider.delete_document(kb, document)

    assert list(stub.world.documents) == [document]


def test_delete_in_a_knowledge_base_that_is_gone_is_over(bench: Bench, kb: KBRef) -> None:
    document = bench.add(kb, NOTE)
    bench.provider.delete_kb(kb)

    bench.provider.delete_document(kb, document)


def test_delete_while_another_worker_is_at_the_document_waits(desk: Desk, bench: Bench, kb: KBRef) -> None:
    """T52: what overlaps on one document ruins it."""
    document = bench.add(kb, NOTE)
    config = desk.provider()._connection.config
    name = f"{config.server}:{desk.document(document).kb_id}:{desk.document(document).file_hash}.md"
    desk.limiter.take(name, "other", limit=1, seconds=60)

    for call in (bench.provider.delete_document, bench.provider.reparse):
        with pytest.raises(ProviderBusy):
            call(kb, document)

    assert desk.document(document).attempt == 1


def test_reparse_reads_a_finished_document_again(desk: Desk, bench: Bench, kb: KBRef) -> None:
    """T38: the passages go first and come back with new ids."""
    document = bench.add(kb, NOTE)
    before = [each.id for each in desk.document(document).passages]

    bench.provider.reparse(kb, document)
    hidden = bench.found(kb, "tomatoes")
    (state,) = bench.provider.document_status(kb, [document])
    state = bench.settled(kb, document, state)

    assert hidden == set()
    assert state.phase is DocumentPhase.DONE
    assert [each.id for each in desk.document(document).passages] != before
    assert bench.found(kb, "tomatoes") == {document}


@pytest.mark.parametrize("status", ["pending", "processing", "finalizing"])
def test_reparse_of_a_document_in_work_waits(desk: Desk, bench: Bench, kb: KBRef, status: str) -> None:
    """T52: a second run while the first lasts leaves nothing."""
    document = desk.document(bench.add(kb, NOTE))
    document.status, document.steps = status, []

    with pytest.raises(ProviderBusy):
        bench.provider.reparse(kb, ProviderDocumentId(document.id))

    assert document.attempt == 1


def test_reparse_of_a_document_the_server_still_tries_to_read_waits(
    desk: Desk, bench: Bench, kb: KBRef, stub: WeKnoraStub
) -> None:
    document = bench.add(kb, NOTE)
    fail(stub.world, desk.document(document), READER_DOWN)

    with pytest.raises(ProviderBusy):
        bench.provider.reparse(kb, document)


def test_reparse_takes_a_turn_like_an_upload(bench: Bench, kb: KBRef) -> None:
    """T51: it is processed like one."""
    document = bench.add(kb, NOTE)
    bench.provider.ingest(request(kb, OTHER))

    with pytest.raises(ProviderBusy):
        bench.provider.reparse(kb, document)


def test_reparse_sends_a_body_of_known_length_without_settings(bench: Bench, kb: KBRef, stub: WeKnoraStub) -> None:
    """T38, T68."""
    bench.provider.reparse(kb, bench.add(kb, NOTE))

    (call,) = stub.calls("POST", "/reparse")
    assert (call.body, call.headers["Content-Length"]) == (b"{}", "2")


def test_reparse_of_an_unknown_document_does_nothing(bench: Bench, kb: KBRef, stub: WeKnoraStub) -> None:
    bench.provider.reparse(kb, ProviderDocumentId("nothing"))

    assert stub.calls("POST", "/reparse") == []


def test_cancel_stops_a_document_in_work_once_and_twice(desk: Desk, bench: Bench, kb: KBRef, stub: WeKnoraStub) -> None:
    stub.world.plans.append(["processing"])
    document = bench.provider.ingest(request(kb)).state.provider_document_id

    bench.provider.cancel(kb, document)
    bench.provider.cancel(kb, document)

    assert desk.document(document).status == "cancelled"
    assert len(stub.calls("POST", "/cancel-parse")) == 1
    assert bench.provider.ingest(request(kb, OTHER)).state.phase is DocumentPhase.QUEUED


def test_cancel_of_a_finished_or_unknown_document_does_nothing(bench: Bench, kb: KBRef, stub: WeKnoraStub) -> None:
    bench.provider.cancel(kb, bench.add(kb, NOTE))
    bench.provider.cancel(kb, ProviderDocumentId("nothing"))

    assert stub.calls("POST", "/cancel-parse") == []


def test_cancel_that_did_not_last_is_told_by_the_next_look(bench: Bench, kb: KBRef, stub: WeKnoraStub) -> None:
    """T54: a summary in the making writes `completed` over the cancel."""
    stub.world.plans.append(["processing", "finalizing", "completed"])
    document = bench.provider.ingest(request(kb)).state.provider_document_id
    bench.provider.document_status(kb, [document])
    stub.world.is_frozen = True
    stub.world.documents[document].status = "finalizing"
    bench.provider.cancel(kb, document)
    (before,) = bench.provider.document_status(kb, [document])
    stub.world.is_frozen = False

    (after,) = bench.provider.document_status(kb, [document])

    assert (before.phase, after.phase) == (DocumentPhase.CANCELLED, DocumentPhase.DONE)


def test_calls_that_kill_the_server_are_never_made(bench: Bench, kb: KBRef, stub: WeKnoraStub) -> None:
    """T1, T13, T46: copy, move, pin; info only in a check. T39: tags are replaced and never deleted."""
    document = bench.add(kb, NOTE)
    bench.provider.set_tags(kb, {document: ["a"]})
    bench.provider.set_tags(kb, {document: []})
    bench.found(kb, "tomatoes")
    bench.provider.reparse(kb, document)
    bench.provider.status()
    bench.provider.delete_kb(kb)

    paths = " ".join(each.target for each in stub.asked)
    assert not any(word in paths for word in ("copy", "move", "pin", "force", "clear", "manual", "url", "system/info"))
    assert [each for each in stub.calls("DELETE", "") if "/tags" in each.target] == []


def test_whole_life_of_a_document_takes_a_few_harmless_calls_only(desk: Desk, bench: Bench, stub: WeKnoraStub) -> None:
    """T9, T29, T32, T33, T40, T41, T56: whatever is not on this list has a trap of its own."""
    kb = bench.kb("life")
    bench.provider.check(kb)
    document = bench.add(kb, NOTE)
    bench.found(kb, "tomatoes")
    bench.provider.chunks(kb, document, offset=0, limit=10)
    bench.provider.timeline(kb, document)
    bench.provider.list_documents(kb)
    bench.provider.set_tags(kb, {document: ["a"]})
    bench.provider.cancel(kb, document)
    bench.provider.reparse(kb, document)
    bench.provider.delete_document(kb, document)
    bench.provider.delete_kb(kb)

    calls = {re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "ID", f"{each.method} {each.target.partition('?')[0]}")
             for each in stub.asked}  # fmt: skip
    assert calls - HARMLESS == set()
    changed = [each.target for each in stub.calls("PUT", "/knowledge-bases/")]
    assert all(NOBODY in target for target in changed), "a change of a knowledge base clears its description"
