from __future__ import annotations

from typing import Any

import pytest

from knowledge.providers.base import DocumentPhase, KBRef, ProviderDocumentId
from knowledge.providers.weknora.polling import COUNTS_A_CALL
from tests.conformance.bench import Bench
from tests.knowledge.providers.weknora.desk import NOTE, OTHER, Desk, request
from tests.stubs.weknora import WeKnoraStub
from tests.stubs.weknora_work import fail
from tests.stubs.weknora_world import COLLISION, EMBEDDER_TEXTS, READER_DOWN, RESTARTED, Document, Passage


def send(desk: Desk, bench: Bench, kb: KBRef, *plan: str, text: str = NOTE) -> Document:
    """Send a document that then goes the given way."""
    desk.stub.world.plans.append(list(plan))
    return desk.document(bench.provider.ingest(request(kb, text)).state.provider_document_id)


def look(bench: Bench, kb: KBRef, document: Document) -> Any:
    (state,) = bench.provider.document_status(kb, [ProviderDocumentId(document.id)])
    return state


def test_status_follows_a_document_to_its_end(desk: Desk, bench: Bench, kb: KBRef) -> None:
    document = send(desk, bench, kb, "processing", "finalizing", "completed")

    states = [look(bench, kb, document) for _ in range(3)]

    assert [state.phase for state in states] == [DocumentPhase.PARSING, DocumentPhase.PARSING, DocumentPhase.DONE]
    assert [state.searchable for state in states] == [False, True, True]
    assert [state.chunk_count for state in states] == [None, 1, 1]
    assert [state.raw_status for state in states] == ["processing", "finalizing", "completed"]


def test_status_asks_for_many_documents_in_few_calls(bench: Bench, kb: KBRef, stub: WeKnoraStub) -> None:
    """T17, T61: ids are repeated, not listed, and only so many at a time."""
    known = bench.add(kb, NOTE)
    ids = [ProviderDocumentId(f"00000000-0000-4000-8000-{n:012}") for n in range(250)]
    stub.asked.clear()

    states = bench.provider.document_status(kb, [*ids, known])

    assert [state.phase for state in states] == [DocumentPhase.GONE] * 250 + [DocumentPhase.DONE]
    assert len(stub.calls("GET", "/knowledge/batch")) == 3


def test_status_counts_passages_of_a_few_documents_a_call(desk: Desk, stub: WeKnoraStub) -> None:
    """A thousand documents asked for at once must not become a thousand calls."""
    stub.world.edition = "standard"
    bench = Bench(provider=desk.provider(documents_at_once=100))
    kb = bench.kb("one")
    ids = [
        bench.provider.ingest(request(kb, f"Note {number}.\n")).state.provider_document_id
        for number in range(COUNTS_A_CALL + 5)
    ]
    for _ in range(3):
        bench.provider.list_documents(kb)
    states = bench.provider.document_status(kb, ids)
    again = bench.provider.document_status(kb, ids)

    assert sum(state.chunk_count is None for state in states) == 5
    assert all(state.chunk_count == 1 for state in again)


def test_status_is_of_this_knowledge_base_only(bench: Bench, kb: KBRef) -> None:
    document = bench.add(bench.kb("other"), NOTE)

    (state,) = bench.provider.document_status(kb, [document])

    assert state.phase is DocumentPhase.GONE


def test_completed_without_passages_is_a_failure_to_be_repaired(desk: Desk, bench: Bench, kb: KBRef) -> None:
    """T52: completed and enabled say nothing while there are no passages."""
    document = send(desk, bench, kb, "processing", "completed")
    document.is_corrupt = True
    look(bench, kb, document)

    state = look(bench, kb, document)

    assert (state.phase, state.error_code, state.retryable) == (DocumentPhase.FAILED, "passages-missing", True)
    assert not state.searchable


def test_completed_with_image_links_only_has_no_text(desk: Desk, bench: Bench, kb: KBRef) -> None:
    document = desk.document(bench.add(kb, NOTE))
    document.passages = [
        Passage(id="p", seq=1, document_id=document.id, index=0, start=0, end=4, content="![](//)"),
    ]
    other = Bench(provider=desk.provider())

    state = look(other, kb, document)

    assert (state.phase, state.chunk_count, state.error_code) == (DocumentPhase.DONE, 0, "no_text")
    assert not state.searchable


def test_enabled_is_not_the_end_and_completed_is(desk: Desk, bench: Bench, kb: KBRef) -> None:
    """T14: a document is searchable before it is completed."""
    document = send(desk, bench, kb, "processing", "finalizing", "completed")
    look(bench, kb, document)

    state = look(bench, kb, document)

    assert (state.phase, state.searchable) == (DocumentPhase.PARSING, True)


def test_extras_that_hang_do_not_keep_a_document_from_its_end(desk: Desk, bench: Bench, kb: KBRef) -> None:
    """T48: a summary that never comes leaves a document in `finalizing` that can be searched all the time."""
    document = send(desk, bench, kb, "processing", "finalizing")
    look(bench, kb, document)
    look(bench, kb, document)
    desk.stub.world.pass_time(1_000)

    state = look(bench, kb, document)

    assert (state.phase, state.searchable) == (DocumentPhase.DONE, True)


FAILURES = {
    "collision": (COLLISION, "index-collision", True),
    "restart": (RESTARTED, "interrupted", True),
    "housekeeping": ("task stuck in processing > 2h10m0s, recovered by housekeeping", "stalled", True),
    "embedder 500": (EMBEDDER_TEXTS["500"], "provider-embedder", True),
    "embedder 429": (EMBEDDER_TEXTS["429"], "provider-embedder", True),
    "embedder away": (EMBEDDER_TEXTS["down"], "provider-embedder", True),
    "embedder short": (EMBEDDER_TEXTS["short"], "provider-embedder", True),
    "embedder HTML": ("unmarshal response: invalid character '<' looking for value", "provider-embedder", True),
    "no text": ("Failed to parse: blank.pdf", "no_text", False),
    "password": ("Failed to load document (PDFium: Incorrect password error).", "encrypted", False),
    "damaged": ("Failed to load document (PDFium: Data format error).", "corrupt", False),
    "damaged sheet": ("File is not a zip file", "corrupt", False),
    "damaged slides": ("File conversion failed after 1 attempts:\n - PptxConverter threw", "corrupt", False),
    "unknown shape": (
        "File conversion failed after 1 attempts:\n - PptxConverter threw NotImplementedError",
        "provider-read-failed",
        False,
    ),
    "old slides": ("Legacy PowerPoint (.ppt) is not supported", "unsupported_type", False),
    "queue down": ("Failed to enqueue processing task", "provider-server-error", True),
    "something new": ("never seen before", "provider-failed", True),
}


@pytest.mark.parametrize(("text", "code", "retryable"), FAILURES.values(), ids=FAILURES)
def test_failed_is_classed_and_its_text_kept_back(
    desk: Desk, bench: Bench, kb: KBRef, text: str, code: str, retryable: bool
) -> None:
    """T55: the reason is only in a text, which may hold addresses."""
    document = send(desk, bench, kb, "processing")
    fail(desk.stub.world, document, text)

    state = look(bench, kb, document)

    assert (state.phase, state.error_code, state.retryable) == (DocumentPhase.FAILED, code, retryable)
    assert text not in repr(state)


def test_failed_to_read_is_not_the_end_while_the_server_tries_again(desk: Desk, bench: Bench, kb: KBRef) -> None:
    """T43: it flaps between failed and processing for minutes."""
    document = send(desk, bench, kb, "processing", "flap", "flap", "processing", "completed")

    phases = [look(bench, kb, document).phase for _ in range(5)]

    assert phases == [DocumentPhase.PARSING] * 4 + [DocumentPhase.DONE]


def test_failed_to_read_is_the_end_after_twelve_quiet_minutes(desk: Desk, bench: Bench, kb: KBRef) -> None:
    document = send(desk, bench, kb, "processing", "flap")
    look(bench, kb, document)
    look(bench, kb, document)
    desk.stub.world.pass_time(600)
    before = look(bench, kb, document)
    desk.stub.world.pass_time(200)

    after = look(bench, kb, document)

    assert (before.phase, before.error_code) == (DocumentPhase.PARSING, "provider-reader")
    assert (after.phase, after.error_code, after.retryable) == (DocumentPhase.FAILED, "provider-reader", True)


def test_failed_to_read_after_a_fresh_try_is_not_the_end(desk: Desk, bench: Bench, kb: KBRef) -> None:
    document = send(desk, bench, kb, "processing")
    desk.stub.world.pass_time(800)
    fail(desk.stub.world, document, READER_DOWN)

    assert look(bench, kb, document).phase is DocumentPhase.PARSING


@pytest.mark.parametrize("model", ["", "00000000-0000-4000-8000-000000000009"], ids=["none", "unknown"])
def test_silent_stall_is_noticed(desk: Desk, bench: Bench, kb: KBRef, stub: WeKnoraStub, model: str) -> None:
    """T2: without a model the worker gives up without a word, and the document stays in `processing`."""
    stub.world.kbs[kb.provider_kb_id].body["embedding_model_id"] = model
    document = send(desk, bench, kb, "processing", "completed")
    early = look(bench, kb, document)
    stub.world.pass_time(700)

    late = look(bench, kb, document)

    assert early.phase is DocumentPhase.PARSING
    assert (late.phase, late.error_code, late.retryable) == (DocumentPhase.FAILED, "stalled", True)


def test_slow_embedding_is_no_stall_until_nothing_may_take_that_long(
    desk: Desk, bench: Bench, kb: KBRef, stub: WeKnoraStub
) -> None:
    document = send(desk, bench, kb, "processing", "completed")
    stub.model.behaviour = "hang"
    look(bench, kb, document)
    stub.world.pass_time(3_000)
    slow = look(bench, kb, document)
    stub.world.pass_time(6_000)

    over = look(bench, kb, document)

    assert slow.phase is DocumentPhase.PARSING
    assert (over.phase, over.error_code) == (DocumentPhase.FAILED, "stalled")


def test_row_that_nobody_works_on_is_noticed_after_the_queue_had_its_time(
    desk: Desk, bench: Bench, kb: KBRef, stub: WeKnoraStub
) -> None:
    """T3: what a bad tag leaves behind waits for ever."""
    document = send(desk, bench, kb)
    stub.world.pass_time(1_000)
    waiting = look(bench, kb, document)
    stub.world.pass_time(3_000)

    late = look(bench, kb, document)

    assert waiting.phase is DocumentPhase.QUEUED
    assert (late.phase, late.error_code) == (DocumentPhase.FAILED, "stalled")


def test_restart_fails_what_was_in_work_and_reparse_repairs_it(
    desk: Desk, bench: Bench, kb: KBRef, stub: WeKnoraStub
) -> None:
    document = send(desk, bench, kb, "processing", "completed")
    stub.restart()
    lost = look(bench, kb, document)

    outcome = bench.provider.ingest(request(kb, known=document.id))
    state = bench.settled(kb, outcome.state.provider_document_id, outcome.state)

    assert (lost.phase, lost.error_code, lost.retryable) == (DocumentPhase.FAILED, "interrupted", True)
    assert (state.phase, len(desk.documents(kb))) == (DocumentPhase.DONE, 1)


def test_documents_that_collide_are_repaired_one_by_one(desk: Desk, stub: WeKnoraStub) -> None:
    """T51, with workers that know nothing of each other."""
    stub.world.edition = "standard"  # so that both are let in
    bench = Bench(provider=desk.provider())
    kb = bench.kb("one")
    first, second = (bench.provider.ingest(request(kb, text)).state for text in (NOTE, OTHER))
    stub.world.edition = "lite"
    states = bench.provider.document_status(kb, [first.provider_document_id, second.provider_document_id])
    bench.settled(kb, first.provider_document_id, first)

    outcome = bench.provider.ingest(request(kb, OTHER, known=second.provider_document_id))
    state = bench.settled(kb, second.provider_document_id, outcome.state)

    assert {each.error_code for each in states} == {None, "index-collision"}
    assert state.phase is DocumentPhase.DONE
    assert len(desk.documents(kb)) == 2


def test_cancelled_and_deleting_are_what_they_are(desk: Desk, bench: Bench, kb: KBRef) -> None:
    document = desk.document(bench.add(kb, NOTE))
    desk.stub.world.is_frozen = True
    for status, phase in (("cancelled", DocumentPhase.CANCELLED), ("deleting", DocumentPhase.DELETING)):
        document.status = status
        assert look(bench, kb, document).phase is phase


def test_status_of_a_word_never_seen_is_work(desk: Desk, bench: Bench, kb: KBRef) -> None:
    document = desk.document(bench.add(kb, NOTE))
    document.status = "reticulating"

    assert look(bench, kb, document).phase is DocumentPhase.PARSING


def test_list_documents_holds_more_than_a_page_and_what_is_being_deleted(
    desk: Desk, bench: Bench, kb: KBRef, stub: WeKnoraStub
) -> None:
    """T15, T16: dying rows are hidden unless asked for, and equal times come in any order."""
    first = desk.document(bench.add(kb, NOTE))
    stub.world.is_frozen = True
    for number in range(1_200):
        clone = Document(**{name: getattr(first, name) for name in Document.__slots__} | {"id": f"clone-{number:04}"})
        stub.world.documents[clone.id] = clone
    first.status = "deleting"

    states = bench.provider.list_documents(kb)

    assert len(states) == 1_201
    assert {state.provider_document_id for state in states if state.phase is DocumentPhase.DELETING} == {first.id}
    assert all(state.chunk_count is None for state in states)


def test_timeline_tells_real_steps_in_our_words(desk: Desk, bench: Bench, kb: KBRef) -> None:
    document = send(desk, bench, kb, "processing", "completed")
    look(bench, kb, document)
    running = bench.provider.timeline(kb, ProviderDocumentId(document.id))
    desk.stub.world.is_frozen = False
    look(bench, kb, document)

    done = bench.provider.timeline(kb, ProviderDocumentId(document.id))

    assert [stage.name for stage in done] == ["reading", "splitting", "indexing", "images", "finishing"]
    assert [stage.state for stage in done] == ["done", "done", "done", "skipped", "done"]
    assert all(stage.started_at and stage.started_at.tzinfo for stage in done)
    assert running


def test_timeline_of_a_failure_shows_no_step_that_never_ran(desk: Desk, bench: Bench, kb: KBRef) -> None:
    """T44: the server makes up failed steps."""
    document = send(desk, bench, kb, "processing")
    document.has_started = True
    fail(desk.stub.world, document, COLLISION)

    stages = bench.provider.timeline(kb, ProviderDocumentId(document.id))

    assert [(stage.name, stage.state, stage.detail) for stage in stages] == [
        ("reading", "done", ""),
        ("splitting", "failed", "index-collision"),
    ]
    assert COLLISION not in repr(stages)


def test_timeline_of_an_unknown_document_is_empty(bench: Bench, kb: KBRef) -> None:
    assert bench.provider.timeline(kb, ProviderDocumentId("nothing")) == ()


def test_chunks_of_a_long_document_are_read_over_the_pages_of_the_server(bench: Bench, kb: KBRef) -> None:
    """T16: pages of passages are cut at a hundred without a word."""
    text = "\n\n".join(f"Paragraph {n} " + "speaks of dahlias and other flowers. " * 8 for n in range(260)) + "\n"
    document = bench.add(kb, text)

    page = bench.provider.chunks(kb, document, offset=95, limit=110)
    whole = bench.provider.chunks(kb, document, offset=0, limit=1_000)
    beyond = bench.provider.chunks(kb, document, offset=5_000, limit=10)

    assert whole.total == len(whole.chunks) > 205
    assert page.chunks == whole.chunks[95:205]
    assert (page.total, beyond.total, beyond.chunks) == (whole.total, whole.total, ())


def test_document_of_very_many_passages_costs_a_call(desk: Desk, bench: Bench, kb: KBRef, stub: WeKnoraStub) -> None:
    """T67: a text of fifty megabytes becomes a hundred thousand passages, and pages are dearer the later they are."""
    document = desk.document(bench.add(kb, NOTE))
    facts = {"document_id": document.id, "start": 0, "end": 4}
    document.passages = [Passage(id=f"p{n}", seq=n, index=n, content="word", **facts) for n in range(100_000)]
    other = Bench(provider=desk.provider())
    stub.asked.clear()

    state = look(other, kb, document)
    page = other.provider.chunks(kb, ProviderDocumentId(document.id), offset=99_995, limit=10)

    assert (state.phase, state.chunk_count, page.total) == (DocumentPhase.DONE, 100_000, 100_000)
    assert [chunk.index for chunk in page.chunks] == list(range(99_995, 100_000))
    assert len(stub.calls("GET", "/chunks/")) == 2


def test_document_of_very_many_passages_without_a_word_is_looked_through_to_a_bound(
    desk: Desk, bench: Bench, kb: KBRef, stub: WeKnoraStub
) -> None:
    document = desk.document(bench.add(kb, NOTE))
    facts = {"document_id": document.id, "start": 0, "end": 3}
    document.passages = [Passage(id=f"p{n}", seq=n, index=n, content="***", **facts) for n in range(5_000)]
    stub.asked.clear()

    state = look(Bench(provider=desk.provider()), kb, document)

    assert (state.chunk_count, state.error_code) == (0, "no_text")
    assert len(stub.calls("GET", "/chunks/")) <= 10


def test_chunks_keep_the_numbers_of_the_server_gaps_and_all(bench: Bench, kb: KBRef) -> None:
    text = "# A\n\n" + "First words. " * 30 + "\n" * 1_500 + "# B\n\nLast words.\n"

    chunks = bench.provider.chunks(kb, bench.add(kb, text), offset=0, limit=100).chunks

    indexes = [chunk.index for chunk in chunks]
    assert indexes == sorted(indexes)
    assert indexes != list(range(len(indexes)))
    assert all(bench.provider.place(text, chunk) for chunk in chunks)
