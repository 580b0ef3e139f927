"""Tags of documents as the provider shows them: told after the upload and after every change, until it takes them."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from knowledge.models import Document, DocumentTag, ProviderTagging
from knowledge.providers import registry
from knowledge.selectors.document_lists import Filters
from knowledge.services import batches, provider_tags, reconcile, removal, tagging
from knowledge.services.batches import Selection
from knowledge.services.providers import provider_of
from mnote.models import Job
from mnote.principals import Principal
from tests.knowledge.remote import Remote
from tests.knowledge.vault import Vault
from tests.stubs.weknora_replies import failure, gate

NOTE, OTHER = "# Garden\n\nTomatoes need water every morning.\n", "# Backup\n\nCopied at two in the morning.\n"


@pytest.fixture
def indexed(remote: Remote) -> Remote:
    remote.vault.write("a.md", NOTE)
    remote.vault.write("b.md", OTHER)
    remote.level()
    return remote


def by(remote: Remote) -> Principal:
    return Principal(user=remote.vault.people.alice)


def tag(remote: Remote, path: str, *tags: str) -> None:
    tagging.set_tags(principal=by(remote), document=remote.vault.row(path), tags=tags)


def there(remote: Remote) -> dict[str, set[str]]:
    """The tags that the server shows, by the first word of a document."""
    world = remote.stub.world
    return {each.body.decode().split()[1]: world.tag_names(each) for each in remote.held}


def test_tags_given_before_the_upload_arrive_after_it(remote: Remote) -> None:
    """T3: one that is sent along and unknown leaves a dead row."""
    remote.vault.write("a.md", NOTE)
    remote.vault.sync()
    tag(remote, "a.md", "plants", "water")

    remote.level()
    remote.work()

    assert there(remote) == {"Garden": {"plants", "water"}}
    assert not ProviderTagging.objects.exists()
    assert all(b"tag_ids" not in each.body for each in remote.stub.calls("POST", "/knowledge/file$"))


def test_change_of_tags_is_told_by_the_next_work(indexed: Remote) -> None:
    tag(indexed, "a.md", "plants", "water")
    assert Job.objects.filter(kind="resource_parse", kb_id=indexed.kb.pk, status="queued").exists()
    indexed.work()
    tag(indexed, "a.md", "plants")
    indexed.work()
    assert there(indexed) == {"Garden": {"plants"}, "Backup": set()}

    tag(indexed, "a.md")
    indexed.work()

    assert there(indexed) == {"Garden": set(), "Backup": set()}
    assert not ProviderTagging.objects.exists()


def test_tags_of_many_documents_are_told_with_one_call(indexed: Remote) -> None:
    selection = Selection(filters=Filters(), is_all=True)
    batches.change_tags(principal=by(indexed), kb=indexed.kb, selection=selection, add=["all", "b"], remove=[])
    batches.change_tags(principal=by(indexed), kb=indexed.kb, selection=selection, add=[], remove=["b"])

    indexed.work()

    assert there(indexed) == {"Garden": {"all"}, "Backup": {"all"}}
    assert len(indexed.stub.calls("PUT", "/knowledge/tags$")) == 1


def test_new_version_carries_the_tags_of_its_document(indexed: Remote) -> None:
    tag(indexed, "a.md", "plants")
    indexed.work()
    indexed.vault.write("a.md", "# Orchard\n\nApples.\n")

    indexed.level()
    indexed.work()

    assert there(indexed) == {"Orchard": {"plants"}, "Backup": set()}


def test_text_that_two_documents_share_carries_the_tags_of_both(remote: Remote) -> None:
    remote.vault.write("a.md", NOTE)
    remote.vault.write("b.md", NOTE)
    remote.level()
    tag(remote, "a.md", "first", "both")
    tag(remote, "b.md", "second", "both")
    remote.work()
    assert there(remote) == {"Garden": {"first", "second", "both"}}

    removal.remove(documents_to_remove=[remote.vault.row("a.md")], code="excluded_by_hand")
    remote.work()

    assert there(remote) == {"Garden": {"second", "both"}}


def test_all_tags_renamed_and_removed_leave_every_document_at_the_server(indexed: Remote) -> None:
    """T39: nothing that is done to tags here may take a document away there."""
    before = {each.id for each in indexed.held}
    for tags in (["one", "two"], ["eins", "zwei"], ["二"], []):
        for path in ("a.md", "b.md"):
            tag(indexed, path, *tags)
        indexed.work()

    assert {each.id for each in indexed.held} == before
    assert indexed.stub.calls("DELETE", "") == []
    assert set(indexed.vault.states().values()) == {"indexed"}
    assert indexed.vault.found("tomatoes") == ["a.md"]
    assert not DocumentTag.objects.exists()


FAULTS: dict[str, dict[str, Any]] = {
    "fails": {"reply": failure(500, 1007, "Internal server error")},
    "lacks the right": {"reply": gate(403, "Forbidden: API key scope does not allow this operation")},
    "refuses": {"reply": failure(400, 1000, "请求参数不合法")},
    "has no tags": {"reply": failure(404, 1003, "Not found")},
    "breaks off": {"reset": True},
    "answers half": {"cut": True},
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_tags_that_are_not_taken_fail_no_document_and_are_told_later(remote: Remote, fault: dict[str, Any]) -> None:
    remote.stub.misbehave(path="/tags", times=10_000, **fault)
    remote.vault.write("a.md", NOTE)
    remote.vault.write("b.md", OTHER)
    remote.vault.sync()
    tag(remote, "a.md", "plants")
    remote.level()
    remote.work()

    assert set(remote.vault.states().values()) == {"indexed"}
    assert (remote.outage, Document.objects.filter(attempts__gt=0).count()) == (None, 0)
    (wish,) = ProviderTagging.objects.all()
    assert wish.attempts > 0
    assert wish.reason_code.startswith("provider-")
    report = reconcile.reconcile(kb=remote.kb, repair=False)
    assert (report.mistagged, report.is_level) == (("a.md",), False)
    assert report.as_json()["mistagged"] == 1

    remote.stub.faults.clear()
    remote.work()
    assert there(remote) == {"Garden": {"plants"}, "Backup": set()}
    assert reconcile.reconcile(kb=remote.kb, repair=False).is_level


def test_tags_that_are_not_taken_are_told_ever_more_seldom(indexed: Remote) -> None:
    indexed.stub.misbehave(path="/tags", times=10_000, reply=failure(500, 1007, "Internal server error"))
    tag(indexed, "a.md", "plants")
    waits = []
    for _turn in range(6):
        indexed.work()
        (wish,) = ProviderTagging.objects.all()
        waits.append((wish.next_try_at - wish.asked_at).total_seconds())

    assert waits == sorted(waits)
    assert waits[-1] > 60
    assert len(indexed.stub.calls("GET", "/tags")) <= 6 * 3


def test_change_that_comes_while_tags_are_told_is_told_as_well(
    indexed: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = provider_of(indexed.kb)
    set_tags = provider.set_tags  # type: ignore[attr-defined]

    def slowly(*given: Any) -> None:
        set_tags(*given)
        monkeypatch.setattr(provider, "set_tags", set_tags)
        tag(indexed, "a.md", "new")

    monkeypatch.setattr(provider, "set_tags", slowly)
    tag(indexed, "a.md", "old")
    indexed.work()
    indexed.work()

    assert there(indexed)["Garden"] == {"new"}
    assert not ProviderTagging.objects.exists()


def test_comparison_finds_and_mends_other_tags_there(indexed: Remote) -> None:
    tag(indexed, "a.md", "plants")
    indexed.work()
    for document in indexed.held:
        document.tags = []

    assert reconcile.reconcile(kb=indexed.kb, repair=True).mistagged == ("a.md",)
    indexed.work()

    assert there(indexed) == {"Garden": {"plants"}, "Backup": set()}
    assert reconcile.reconcile(kb=indexed.kb, repair=True).is_level


def test_tags_that_people_put_on_a_document_there_stay_until_it_is_tagged_here(indexed: Remote) -> None:
    tag(indexed, "a.md", "plants")
    indexed.work()
    for document in indexed.held:
        document.tags = list(indexed.stub.world.tags)

    assert reconcile.reconcile(kb=indexed.kb, repair=True).is_level
    indexed.work()

    assert there(indexed) == {"Garden": {"plants"}, "Backup": {"plants"}}


def test_tags_come_along_when_the_knowledge_base_is_made_anew(indexed: Remote) -> None:
    tag(indexed, "a.md", "plants")
    indexed.work()
    indexed.provider().delete_kb(indexed.ref)
    indexed.vault.write("new.md", "# New\n\nWords.\n")

    indexed.level()
    indexed.work()

    assert there(indexed) == {"Garden": {"plants"}, "Backup": set(), "New": set()}
    assert not ProviderTagging.objects.exists()


def test_embedded_index_is_told_nothing(vault: Vault) -> None:
    vault.write("a.md", NOTE)
    vault.level()
    principal = Principal(user=vault.people.alice)

    with CaptureQueriesContext(connection) as asked:
        tagging.set_tags(principal=principal, document=vault.row("a.md"), tags=["plants"])

    assert not ProviderTagging.objects.exists()
    assert not [each for each in asked.captured_queries if "mnote_provider_taggings" in each["sql"]]


def test_provider_that_takes_no_tags_is_told_none(indexed: Remote, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = type("Plain", (), {"capabilities": provider_of(indexed.kb).capabilities})()
    tag(indexed, "a.md", "plants")
    monkeypatch.setitem(registry._MAKERS, "weknora", lambda: plain)

    assert provider_tags.finish(kb=indexed.kb) == 1
    assert not ProviderTagging.objects.exists()
