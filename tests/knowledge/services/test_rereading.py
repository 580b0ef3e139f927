"""After our parsers changed, documents at a provider outside are read anew; what is the same is not uploaded."""

from __future__ import annotations

import pytest

from knowledge.models import DerivedArtifact, IndexStatus
from knowledge.services import artifacts, rereading
from knowledge.services.search import Scope, search
from knowledge.tasks import schedule_syncs
from mnote.models import Job
from tests.knowledge.remote import Remote

NOTE, OTHER = "# Garden\n\nTomatoes need water every morning.\n", "a = 1  # the backup runs at two\n"


@pytest.fixture
def old(remote: Remote) -> Remote:
    """Two documents; the note was read by a parser of before."""
    remote.vault.write("a.md", NOTE)
    remote.vault.write("b.py", OTHER)
    remote.level()
    row = remote.vault.row("a.md")
    DerivedArtifact.objects.filter(source_hash=row.indexed_hash).update(revision="before")
    artifacts._known.drop_where(lambda _key: True)
    return remote


def _places(remote: Remote) -> list[bool]:
    scope = Scope(workspace=remote.kb.workspace, kb_ids=(remote.kb.pk,))
    found = search(principal=remote.vault.people.principal("alice"), scope=scope, query="tomatoes water")
    return [each.locator.degraded for each in found.references if each.document.name == "a.md"]


def test_document_of_an_older_parser_has_its_place_again(old: Remote) -> None:
    uploads = len(old.stub.calls("POST", "/knowledge/file"))
    assert _places(old) == [True]

    assert rereading.reread_outdated(kb=old.kb) == 1
    assert old.vault.row("a.md").reason_code == "reader_changed"
    old.level()

    assert _places(old) == [False]
    assert len(old.stub.calls("POST", "/knowledge/file")) == uploads
    assert rereading.reread_outdated(kb=old.kb) == 0


def test_clock_asks_once_for_each_knowledge_base_and_again_when_parsers_change(
    old: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked() -> int:
        schedule_syncs()
        return Job.objects.filter(kind="knowledge.reread_outdated").count()

    assert asked() == 1
    rereading.reread_outdated(kb=old.kb)
    assert list(rereading.read_by_others()) == []

    monkeypatch.setattr(rereading, "_todays", lambda: "others")

    assert [kb.pk for kb in rereading.read_by_others()] == [old.kb.pk]
    assert old.kb.documents.filter(index_status=IndexStatus.QUEUED).count() == 1
