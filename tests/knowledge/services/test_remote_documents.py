"""Documents of a knowledge base on a server: taken, asked for, counted, replaced, removed, whatever happens there."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest
from django.utils import timezone

from knowledge.models import Document, KnowledgeBase, ProviderDeletion, ProviderOutage
from knowledge.providers import registry
from knowledge.selectors.document_lists import Filters
from knowledge.services import batches, claims, drain, provider_outages, removal, search
from knowledge.services.batches import Action, Selection
from knowledge.services.outages import Outage
from tests.knowledge.remote import Remote
from tests.stubs.weknora_replies import Reply

NOTE, OTHER = "# Garden\n\nTomatoes need water every morning.\n", "# Backup\n\nCopied at two in the morning.\n"


def _fill(remote: Remote, count: int) -> None:
    for number in range(count):
        remote.vault.write(f"{number:03}.md", f"# Note\n\nLine about the lantern{number:04}x.\n")


def test_documents_are_indexed_once_and_found(remote: Remote) -> None:
    _fill(remote, 12)

    remote.level()

    assert set(remote.vault.states().values()) == {"indexed"}
    assert len(remote.held) == remote.uploads() == 12
    assert remote.vault.found("lantern0007x")[0] == "007.md"
    row = remote.vault.row("007.md")
    assert row.chunk_count > 0
    assert row.text_hash.startswith("sha256:")
    assert row.source_hash == row.indexed_hash != ""


def test_id_is_stored_before_the_end_is_known(remote: Remote) -> None:
    """Whoever goes on after a crash asks for the document and sends nothing."""
    remote.freeze()
    remote.vault.write("a.md", NOTE)
    remote.vault.sync()
    remote.work()
    row = remote.vault.row("a.md")
    assert (row.index_status, row.worker, row.pending_knowledge_id) == ("parsing", "", remote.held[0].id)

    remote.thaw()
    remote.level()

    assert remote.vault.row("a.md").provider_knowledge_id == remote.held[0].id
    assert remote.uploads() == 1


def test_worker_that_dies_after_the_upload_leaves_no_twin(remote: Remote) -> None:
    remote.vault.write("a.md", NOTE)
    remote.vault.sync()
    remote.stub.misbehave(method="POST", path="/knowledge/file$", lose=True)
    claims.claim(kb=remote.kb, worker="dead", limit=5)
    Document.objects.update(lease_expires_at="2020-01-01T00:00:00Z")
    claims.release_lost()

    remote.level()

    assert len(remote.held) == 1
    assert remote.vault.states() == {"a.md": "indexed"}


def test_changed_file_is_found_in_its_old_version_until_the_new_one_is(remote: Remote) -> None:
    remote.vault.write("a.md", NOTE)
    remote.level()
    remote.freeze()
    remote.vault.write("a.md", OTHER)
    remote.vault.sync()
    remote.work()
    assert remote.vault.found("tomatoes") == ["a.md"]
    assert len(remote.held) == 2

    remote.thaw()
    remote.level()

    assert remote.vault.found("tomatoes") == []
    assert remote.vault.found("copied") == ["a.md"]
    assert [document.body.decode() for document in remote.held] == [OTHER]


def test_version_that_is_overtaken_in_the_making_leaves_nothing(remote: Remote) -> None:
    remote.freeze()
    remote.vault.write("a.md", NOTE)
    remote.vault.sync()
    remote.work()
    remote.vault.write("a.md", OTHER)
    remote.thaw()

    remote.level()

    assert [document.body.decode() for document in remote.held] == [OTHER]
    assert remote.vault.states() == {"a.md": "indexed"}


def test_document_that_only_lacks_extras_is_found_already(remote: Remote) -> None:
    remote.stub.world.plans.append(["processing", "finalizing"] + ["finalizing"] * 400)
    remote.vault.write("a.md", NOTE)
    remote.vault.sync()
    for _turn in range(10):  # on a slow machine a turn ends before the document is asked for often enough
        remote.work()

    row = remote.vault.row("a.md")
    assert (row.index_status, row.is_searchable, row.reason_code) == ("parsing", True, "provider-finishing")
    assert remote.vault.found("tomatoes") == ["a.md"]

    remote.held[0].steps = ["completed"]
    remote.level()
    assert remote.vault.states() == {"a.md": "indexed"}


@pytest.mark.parametrize("plan", [["processing", "interrupt"], ["stall"]])
def test_failure_that_can_pass_is_mended_without_a_second_copy(remote: Remote, plan: list[str]) -> None:
    remote.stub.world.plans.append(plan)
    remote.vault.write("a.md", NOTE)
    remote.vault.sync()
    remote.work()
    remote.stub.world.pass_time(70)

    remote.level()

    assert remote.vault.states() == {"a.md": "indexed"}
    assert len(remote.held) == 1


def test_dead_embedding_model_lets_all_wait_and_blames_nobody(remote: Remote) -> None:
    _fill(remote, 3)
    remote.vault.sync()
    remote.work()
    remote.stub.model.behaviour = "500"
    remote.vault.write("new.md", NOTE)
    remote.vault.sync()
    for _turn in range(8):
        remote.work()

    row = remote.vault.row("new.md")
    assert (row.index_status, row.attempts) == ("queued", 0)
    assert remote.outage is not None
    assert remote.outage.code == "provider-embedder"
    since = remote.outage.since
    remote.work()
    assert remote.outage.since == since

    remote.stub.model.behaviour = "ok"
    remote.level()
    assert remote.vault.states()["new.md"] == "indexed"
    assert remote.outage is None
    assert len(remote.held) == 4


def test_text_that_the_embedding_model_refuses_stops_only_its_document(remote: Remote) -> None:
    """T27: a table is one passage, however long, and may be more than the model takes."""
    _fill(remote, 3)
    remote.vault.write("table.md", "| a | b |\n| --- | --- |\n" + "| one | two |\n" * 200)
    remote.stub.world.indigestible = b"| one | two |"
    remote.vault.sync()
    for _turn in range(12):
        remote.work()

    states, row = remote.vault.states(), remote.vault.row("table.md")
    assert [states[f"{number:03}.md"] for number in range(3)] == ["indexed"] * 3
    assert row.reason_code == "provider-embedder-refused"
    assert row.attempts > 0
    assert remote.outage is None
    assert len(remote.held) == 4


def test_key_that_is_not_taken_stops_all_work_at_once(remote: Remote) -> None:
    _fill(remote, 40)
    remote.vault.sync()
    keys, remote.stub.world.keys = remote.stub.world.keys, {}
    remote.work()

    assert remote.outage is not None
    assert remote.outage.code == "provider-auth"
    assert set(remote.vault.states().values()) == {"queued"}
    before = len(remote.stub.asked)
    remote.turn()
    assert len(remote.stub.asked) == before

    remote.stub.world.keys = keys
    remote.level()
    assert set(remote.vault.states().values()) == {"indexed"}
    assert Document.objects.filter(attempts__gt=0).count() == 0


def test_server_that_asks_for_a_pause_gets_it(remote: Remote) -> None:
    remote.vault.write("a.md", NOTE)
    remote.vault.sync()
    busy = Reply(status=429, body=b"{}", headers={"Retry-After": "600"})
    remote.stub.misbehave(path="/knowledge/file$", reply=busy)

    drained = remote.turn()

    assert remote.outage is not None
    assert remote.outage.code == "provider-unavailable"
    assert drained.again_at is not None
    assert (drained.again_at - remote.outage.since).total_seconds() > 500
    assert remote.vault.row("a.md").attempts == 0


def test_upload_that_always_breaks_stops_only_its_document(remote: Remote) -> None:
    remote.vault.write("a.md", NOTE)
    remote.vault.write("b.md", OTHER)
    remote.vault.sync()
    remote.stub.misbehave(path="/knowledge/file$", reply=Reply(status=502, body=b"<html>", content_type="text/html"))

    remote.turn()

    failed = remote.vault.row("a.md").events.get(stage="failed")
    assert failed.facts == {"code": "provider-unavailable"}
    assert remote.outage is None
    assert remote.vault.states()["b.md"] in ("indexed", "parsing")
    remote.level()
    assert set(remote.vault.states().values()) == {"indexed"}


def test_server_that_is_down_lets_all_wait(remote: Remote) -> None:
    _fill(remote, 5)
    remote.vault.sync()
    remote.stub.misbehave(reset=True, times=10_000)
    for _turn in range(3):
        remote.work()
    assert remote.outage is not None
    assert remote.outage.code == "provider-unavailable"
    assert Document.objects.filter(attempts__gt=0).count() == 0

    remote.stub.faults.clear()
    remote.level()
    assert set(remote.vault.states().values()) == {"indexed"}


def test_knowledge_base_that_was_deleted_at_the_server_is_made_anew(remote: Remote) -> None:
    _fill(remote, 4)
    remote.level()
    old_id = remote.kb.provider_kb_id
    remote.provider().delete_kb(remote.ref)
    remote.vault.write("new.md", NOTE)

    remote.level()

    assert remote.kb.provider_kb_id != old_id
    assert set(remote.vault.states().values()) == {"indexed"}
    assert len(remote.held) == 5
    assert remote.vault.found("lantern0002x")[0] == "002.md"


def test_equal_texts_share_one_document_until_the_last_is_removed(remote: Remote) -> None:
    """Two files of one text, though not of the same bytes, are one content for the server."""
    remote.vault.write("a.md", NOTE)
    remote.vault.write("deep/b.md", NOTE)
    remote.vault.write("c.md", b"\xef\xbb\xbf" + NOTE.encode())
    remote.level()
    ids = set(Document.objects.values_list("provider_knowledge_id", flat=True))
    assert ids == {remote.held[0].id}
    assert len(set(Document.objects.values_list("text_hash", flat=True))) == 1
    assert len(set(Document.objects.values_list("source_hash", flat=True))) == 2

    removal.remove(documents_to_remove=[remote.vault.row("a.md")], code="excluded_by_hand")
    assert len(remote.held) == 1
    removal.remove(
        documents_to_remove=[remote.vault.row("deep/b.md"), remote.vault.row("c.md")], code="excluded_by_hand"
    )
    assert remote.held == []


def test_deletion_is_asked_for_until_it_is_confirmed(remote: Remote) -> None:
    remote.vault.write("a.md", NOTE)
    remote.level()
    remote.stub.misbehave(method="DELETE", reset=True, times=3)

    removal.remove(documents_to_remove=[remote.vault.row("a.md")], code="excluded_by_hand")

    assert remote.vault.row("a.md").provider_status == "removing"
    assert ProviderDeletion.objects.get().reason_code == "provider-unavailable"
    remote.work()
    assert remote.held == []
    assert not ProviderDeletion.objects.exists()
    assert remote.vault.row("a.md").provider_status == "removed"


def test_document_whose_deletion_a_restart_cut_off_is_not_shown_and_goes(remote: Remote) -> None:
    """T53: the server brings it back as failed, and finds it."""
    remote.vault.write("a.md", NOTE)
    remote.vault.write("b.md", OTHER)
    remote.level()
    remote.freeze()
    removal.remove(documents_to_remove=[remote.vault.row("a.md")], code="excluded_by_hand")
    remote.stub.restart()
    (cut_off,) = [each for each in remote.held if each.status == "failed"]
    assert cut_off.passages, "the server still finds it"

    result = search.search(
        principal=remote.vault.alice, scope=search.Scope(workspace=remote.vault.people.workspace), query="tomatoes"
    )

    assert "a.md" not in {each.document.source_path for each in result.references}
    assert result.dropped_unmapped > 0
    remote.thaw()
    remote.work()
    assert [each.status for each in remote.held] == ["completed"]
    assert not ProviderDeletion.objects.exists()


def test_text_without_words_is_not_sent(remote: Remote) -> None:
    remote.vault.write("a.md", "--- ...\n")

    remote.level()

    row = remote.vault.row("a.md")
    assert (row.index_status, row.reason_code) == ("failed", "no_text")
    assert remote.uploads() == 0


def test_reindex_processes_the_same_document_again(remote: Remote) -> None:
    remote.vault.write("a.md", NOTE)
    remote.level()
    chosen = Selection(filters=Filters(), is_all=True)

    batches.run(principal=remote.vault.alice, kb=remote.kb, selection=chosen, action=Action.REINDEX)
    remote.level()

    assert len(remote.stub.calls("POST", "/reparse$")) == 1
    assert (len(remote.held), remote.uploads()) == (1, 1)
    assert remote.vault.found("tomatoes") == ["a.md"]


def test_stop_ends_the_work_at_the_server_too(remote: Remote) -> None:
    remote.freeze()
    remote.vault.write("a.md", NOTE)
    remote.vault.sync()
    remote.work()
    chosen = Selection(filters=Filters(), is_all=True)

    batches.run(principal=remote.vault.alice, kb=remote.kb, selection=chosen, action=Action.STOP)
    remote.thaw()
    remote.work()

    row = remote.vault.row("a.md")
    assert (row.index_status, row.reason_code) == ("failed", "stopped")
    assert remote.held == []
    batches.run(principal=remote.vault.alice, kb=remote.kb, selection=chosen, action=Action.RETRY)
    remote.level()
    assert remote.vault.states() == {"a.md": "indexed"}


def test_sync_of_unchanged_documents_asks_the_server_nothing(remote: Remote) -> None:
    _fill(remote, 10)
    remote.level()
    remote.stub.asked.clear()

    remote.vault.sync()
    remote.work()

    assert remote.stub.asked == []


def test_many_documents_are_asked_for_with_one_call(remote: Remote, monkeypatch: pytest.MonkeyPatch) -> None:
    if remote.stub.world.edition == "lite":
        pytest.skip("one document at a time")
    provider = remote.provider(documents_at_once=50)
    _fill(remote, 30)
    remote.vault.sync()
    remote.freeze()
    monkeypatch.setitem(registry._MAKERS, "weknora", lambda: provider)
    remote.work()
    assert Counter(remote.vault.states().values()) == {"parsing": 30}
    remote.stub.asked.clear()
    remote.thaw()

    remote.level()

    assert set(remote.vault.states().values()) == {"indexed"}
    assert remote.status_calls() <= 10  # each is about all of them
    assert remote.uploads() == 0


def test_work_goes_on_when_any_caller_finds_the_server_working(remote: Remote) -> None:
    """A worker found it down; a search, or the regular look, finds it up: nobody waits for the rest of the pause."""
    _fill(remote, 2)
    remote.vault.sync()
    remote.stub.misbehave(reset=True, times=10_000)
    remote.turn()
    ProviderOutage.objects.update(until=timezone.now() + timedelta(minutes=5))
    Document.objects.update(next_try_at=timezone.now() + timedelta(minutes=5))
    assert provider_outages.look_again() == 0
    assert remote.turn().indexed == 0

    remote.stub.faults.clear()
    assert provider_outages.look_again() == 1

    assert remote.turn().more is False
    assert {row.index_status for row in Document.objects.all()} <= {"indexed", "parsing"}
    remote.level()
    assert remote.outage is None


@pytest.mark.parametrize(("pause", "patience", "is_worked"), [(0.2, 60.0, True), (60.0, 0.2, False)])
def test_pause_of_a_provider_is_part_of_a_turn_where_it_is_short(
    remote: Remote, pause: float, patience: float, is_worked: bool
) -> None:
    _fill(remote, 1)
    remote.vault.sync()
    remote.stub.misbehave(reset=True, times=10_000)
    remote.turn()
    remote.stub.faults.clear()
    Document.objects.update(next_try_at=None)
    ProviderOutage.objects.update(until=timezone.now() + timedelta(seconds=pause))

    drain.drain(kb=remote.kb, worker="test", patience=patience)

    assert (remote.uploads() > 0, remote.outage is None) == (is_worked, is_worked)


def test_model_of_one_knowledge_base_that_fails_stops_no_other(remote: Remote) -> None:
    _fill(remote, 1)
    remote.vault.sync()
    remote.stub.model.behaviour = "500"
    for _turn in range(8):
        remote.work()
    assert remote.outage is not None
    assert remote.outage.key == remote.kb.pk
    other = KnowledgeBase.objects.create(
        owner=remote.kb.owner, workspace=remote.kb.workspace, root=remote.kb.root, name="Other",
        provider=remote.kb.provider, profile=remote.kb.profile,
    )  # fmt: skip

    provider_outages.close(kb=remote.kb, outage=Outage("provider-embedder"))

    assert provider_outages.closed_until(remote.kb) is not None
    assert provider_outages.closed_until(other) is None
    provider_outages.close(kb=remote.kb, outage=Outage("provider-auth"))
    assert provider_outages.closed_until(other) is not None
