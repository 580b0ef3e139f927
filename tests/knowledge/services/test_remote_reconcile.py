"""What the registry believes beside what a server holds: told apart, reported, repaired, and nothing of others lost."""

from __future__ import annotations

import copy
import uuid

import pytest

from knowledge.models import ProviderDeletion
from knowledge.services import reconcile, removal
from tests.knowledge.remote import Remote
from tests.stubs.weknora_world import Document as StubDocument

NOTE, OTHER = "# Garden\n\nTomatoes need water every morning.\n", "# Backup\n\nCopied at two in the morning.\n"


@pytest.fixture
def level(remote: Remote) -> Remote:
    remote.vault.write("a.md", NOTE)
    remote.vault.write("b.md", OTHER)
    remote.level()
    return remote


def _copy(remote: Remote, document: StubDocument, **changes: object) -> str:
    twin = copy.deepcopy(document)
    twin.id = str(uuid.uuid4())
    for name, value in changes.items():
        setattr(twin, name, value)
    remote.stub.world.documents[twin.id] = twin
    return twin.id


def _of(remote: Remote, path: str) -> StubDocument:
    return remote.stub.world.documents[remote.vault.row(path).provider_knowledge_id]


def test_nothing_is_found_where_all_is_level(level: Remote) -> None:
    assert reconcile.reconcile(kb=level.kb, repair=True).is_level


def test_twin_is_removed(level: Remote) -> None:
    twin = _copy(level, _of(level, "a.md"))

    report = reconcile.reconcile(kb=level.kb, repair=True)

    assert (report.ghosts, report.twins) == ((twin,), (twin,))
    assert level.bodies() == {NOTE: 1, OTHER: 1}
    assert reconcile.reconcile(kb=level.kb, repair=True).is_level


def test_deletion_that_came_back_is_asked_for_again(level: Remote) -> None:
    document = copy.deepcopy(_of(level, "a.md"))
    removal.remove(documents_to_remove=[level.vault.row("a.md")], code="excluded_by_hand")
    level.stub.world.documents[document.id] = document

    report = reconcile.reconcile(kb=level.kb, repair=True)

    assert report.returned == (document.id,)
    assert level.bodies() == {OTHER: 1}


def test_document_of_others_is_reported_and_stays(level: Remote) -> None:
    foreign = _copy(level, _of(level, "a.md"), body=b"# Not ours\n", metadata={"path": "x.md"})

    report = reconcile.reconcile(kb=level.kb, repair=True)

    assert (report.foreign, report.ghosts) == ((foreign,), ())
    assert foreign in level.stub.world.documents


@pytest.mark.parametrize("status", ["gone", "failed", "cancelled"])
def test_document_that_is_lost_is_handed_over_again(level: Remote, status: str) -> None:
    document = _of(level, "a.md")
    if status == "gone":
        del level.stub.world.documents[document.id]
    else:
        document.status, document.passages = status, []

    report = reconcile.reconcile(kb=level.kb, repair=True)
    level.level()

    assert report.lost == ("a.md",)
    assert level.bodies() == {NOTE: 1, OTHER: 1}
    assert level.vault.found("tomatoes")[0] == "a.md"
    assert set(level.vault.states().values()) == {"indexed"}


def test_report_alone_changes_nothing(level: Remote) -> None:
    _copy(level, _of(level, "a.md"))

    reconcile.reconcile(kb=level.kb, repair=False)

    assert level.bodies() == {NOTE: 2, OTHER: 1}
    assert not ProviderDeletion.objects.exists()


def test_upload_that_is_on_its_way_is_no_ghost(level: Remote) -> None:
    """Between the upload and the moment when its id is stored, the row is being worked on."""
    row = level.vault.row("a.md")
    own = {"mnoteRecipe": "1", "documentId": row.id}
    upload = _copy(level, _of(level, "a.md"), body=b"# The new version\n", metadata=own)
    level.kb.documents.filter(pk=row.pk).update(index_status="parsing", worker="somebody")

    report = reconcile.reconcile(kb=level.kb, repair=True)

    assert report.ghosts == ()
    assert upload in level.stub.world.documents
