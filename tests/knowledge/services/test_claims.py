"""Documents belong to one worker at a time, come back when it dies, and are not blamed for what is out of order."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest
from django.utils import timezone

from knowledge.models import Document, IndexStatus
from knowledge.providers.local import store
from knowledge.providers.local.store import Store
from knowledge.services import claims, documents, drain
from tests.knowledge.vault import Vault


@pytest.fixture
def waiting(vault: Vault) -> Vault:
    for number in range(6):
        vault.write(f"n{number}.md", f"note number {number}")
    vault.sync()
    return vault


def test_two_workers_never_get_the_same_document(waiting: Vault) -> None:
    first = claims.claim(kb=waiting.kb, worker="a", limit=4)
    second = claims.claim(kb=waiting.kb, worker="b", limit=4)

    assert [len(first), len(second)] == [4, 2]
    assert not {each.id for each in first} & {each.id for each in second}
    assert claims.claim(kb=waiting.kb, worker="c", limit=4) == []


def test_released_documents_wait_again(waiting: Vault) -> None:
    claimed = claims.claim(kb=waiting.kb, worker="a", limit=6)
    documents.stop(document=claimed[0])

    claims.release(worker="a", claimed=claimed)

    assert sorted(waiting.states().values()) == ["failed", *["queued"] * 5]


def test_successor_at_the_same_place_takes_over_at_once(waiting: Vault) -> None:
    claims.claim(kb=waiting.kb, worker="slot 0#old.1", limit=2)
    claims.claim(kb=waiting.kb, worker="slot 1#other.1", limit=2)

    assert claims.take_over(kb=waiting.kb, worker="slot 0#new.1") == 2

    held = Document.objects.filter(index_status=IndexStatus.PARSING)
    assert set(held.values_list("worker", flat=True)) == {"slot 1#other.1"}
    taken = waiting.row("n0.md")
    assert (taken.index_status, taken.attempts, taken.next_try_at) == (IndexStatus.QUEUED, 1, None)


def test_kept_claim_outlives_its_lease(waiting: Vault) -> None:
    claimed = claims.claim(kb=waiting.kb, worker="a", limit=1)
    Document.objects.filter(id=claimed[0].id).update(lease_expires_at=timezone.now() - timedelta(seconds=1))

    claims.keep(worker="a", claimed=claimed)

    assert claims.release_lost() == 0


def test_document_that_loses_its_worker_each_time_fails_in_the_end(waiting: Vault) -> None:
    for _ in range(documents.MAX_ATTEMPTS):
        Document.objects.filter(kb=waiting.kb).update(next_try_at=None)
        claims.claim(kb=waiting.kb, worker="a", limit=6)
        Document.objects.filter(kb=waiting.kb).update(lease_expires_at=timezone.now() - timedelta(seconds=1))
        assert claims.release_lost() == 6

    row = waiting.row("n0.md")
    assert (row.index_status, row.reason_code, row.reason_class) == ("failed", "worker_lost", "temporary")


def test_worker_that_lost_its_claim_records_nothing(waiting: Vault) -> None:
    [document] = claims.claim(kb=waiting.kb, worker="a", limit=1)
    documents.requeue(documents=[document])
    claims.claim(kb=waiting.kb, worker="b", limit=1)
    outcome = documents.Indexed(
        document=document, source_hash="sha256:0", provider_document_id="res_0", provider_status="", chunk_count=1,
        title="", metadata={}, locator={},
    )  # fmt: skip

    assert documents.finish(worker="a", outcomes=[outcome]) == set()
    assert waiting.row("n0.md").worker == "b"


def test_busy_index_uses_up_no_attempt(waiting: Vault, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_BUSY_MILLISECONDS", 50)
    path = Store(Path(settings.MNOTE_INDEX_DIR)).path(waiting.people.workspace.pk)
    waiting.level()
    waiting.write("late.md", "comes when the index is locked")
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    waiting.sync()

    done = drain.drain(kb=waiting.kb, worker="test")

    row = waiting.row("late.md")
    assert (row.index_status, row.attempts, row.reason_code) == ("queued", 0, "index-busy")
    assert (done.more, done.again_at) == (False, row.next_try_at)
    other.execute("ROLLBACK")
    other.close()
    Document.objects.filter(id=row.id).update(next_try_at=None)
    assert drain.drain(kb=waiting.kb, worker="test").indexed == 1


def test_vanished_folder_uses_up_no_attempt(waiting: Vault) -> None:
    aside = waiting.folder.with_name("aside")
    waiting.folder.rename(aside)

    drain.drain(kb=waiting.kb, worker="test")

    row = waiting.row("n0.md")
    assert (row.index_status, row.attempts, row.reason_code) == ("queued", 0, "root_gone")
    aside.rename(waiting.folder)
    Document.objects.filter(kb=waiting.kb).update(next_try_at=None)
    assert drain.drain(kb=waiting.kb, worker="test").indexed == 6


def test_index_needs_few_queries_for_each_document(vault: Vault, django_assert_max_num_queries: Any) -> None:
    for number in range(64):
        vault.write(f"n{number}.md", f"note number {number}")
    vault.sync()

    with django_assert_max_num_queries(64):
        assert drain.drain(kb=vault.kb, worker="test").indexed == 64
