"""Searching again: what was looked up before is used as long as it is true, and not a moment longer."""

from __future__ import annotations

import pytest
from django.db.models import QuerySet

from knowledge.models import Document, DocumentTag, KnowledgeBase
from knowledge.selectors.named_documents import documents_named
from knowledge.services import documents, knowledge_bases, search, tagging
from mnote.exceptions import NotFound
from mnote.models import Access, Root
from mnote.services import grants
from tests.knowledge.outside import level, move_to, profile_of
from tests.knowledge.vault import Vault
from tests.stubs.weknora import WeKnoraStub

WORDS = "The harbour closes at nine."


@pytest.fixture
def outside(vault: Vault, stub: WeKnoraStub) -> Vault:
    move_to(vault, profile_of(stub))
    vault.write("public/harbour.md", f"# Harbour\n\n{WORDS}\n")
    vault.write("private/port.md", f"# Port\n\n{WORDS} Nobody may know.\n")
    level(vault.kb)
    return vault


def paths(vault: Vault, who: str = "alice", **scope: object) -> list[str]:
    return sorted(each.document.source_path for each in found(vault, who, **scope).references)


def found(vault: Vault, who: str = "alice", **scope: object) -> search.SearchResult:
    return search.search(
        principal=vault.people.principal(who),
        scope=search.Scope(workspace=vault.people.workspace, **scope),  # type: ignore[arg-type]
        query="harbour closes at nine",
    )


def asked(stub: WeKnoraStub) -> int:
    return len(stub.calls("POST", "hybrid-search"))


def test_server_is_asked_once_each_time(outside: Vault, stub: WeKnoraStub) -> None:
    before = asked(stub)
    first = found(outside)
    calls = asked(stub) - before

    again = found(outside)

    assert asked(stub) == before + 2 * calls
    assert [(each.locator, each.token) for each in again.references] == [
        (each.locator, each.token) for each in first.references
    ]


def test_another_connection_is_asked_at_once(outside: Vault, stub: WeKnoraStub, other_stub: WeKnoraStub) -> None:
    assert paths(outside)
    profile = outside.kb.profile
    assert profile is not None
    other = profile_of(other_stub, "Other")
    profile.base_url, profile.sealed_key = other.base_url, other.sealed_key
    profile.save()

    assert paths(outside) == []  # the other server holds none of it
    assert asked(other_stub) > 0


def test_archived_base_answers_no_more(outside: Vault) -> None:
    assert paths(outside, kb_ids=(outside.kb.pk,))
    knowledge_bases.archive_kb(principal=outside.alice, kb=outside.kb)

    assert paths(outside) == []
    with pytest.raises(NotFound):
        paths(outside, kb_ids=(outside.kb.pk,))


def test_renamed_base_is_searched_as_before(outside: Vault, other_stub: WeKnoraStub) -> None:
    assert len(paths(outside)) == 2
    KnowledgeBase.objects.filter(pk=outside.kb.pk).update(name="Renamed")

    assert len(paths(outside)) == 2
    assert len(paths(outside, kb_ids=(outside.kb.pk,))) == 2


def test_lost_right_counts_at_once(outside: Vault) -> None:
    assert "private/port.md" in paths(outside, "carol")
    grants.set_grant(root=outside.people.root, holder=outside.people.carol, prefix="private", access=Access.NONE)

    assert paths(outside, "carol") == ["public/harbour.md"]


def test_changed_file_is_quoted_anew(outside: Vault) -> None:
    assert paths(outside)
    outside.write("public/harbour.md", f"# Harbour\n\nOne more line.\n\n{WORDS}\n")
    level(outside.kb)

    [harbour] = [each for each in found(outside).references if each.document.source_path == "public/harbour.md"]

    assert "One more line." in harbour.quote
    assert outside.open(harbour).state.value == "exact"


def test_moved_file_is_found_at_its_new_path(outside: Vault) -> None:
    assert paths(outside)
    (outside.folder / "public/harbour.md").rename(outside.folder / "public/quay.md")
    level(outside.kb)

    [quay] = [each for each in found(outside).references if each.document.source_path == "public/quay.md"]

    assert quay.locator.resource_path == "public/quay.md"
    assert outside.open(quay).state.value == "exact"


def test_moved_root_is_named_as_it_is(outside: Vault) -> None:
    before = found(outside).references[0].locator.root_uri
    Root.objects.filter(pk=outside.people.root.pk).update(root_uri=f"{before}-moved")

    assert {each.locator.root_uri for each in found(outside).references} == {f"{before}-moved"}


def _all_rows(vault: Vault) -> QuerySet[Document]:
    return Document.objects.filter(kb=vault.kb)


def test_every_change_of_a_row_is_seen(outside: Vault) -> None:
    row = outside.row("public/harbour.md")

    def seen() -> Document:
        [each] = documents_named(kb_ids=[outside.kb.pk], provider_ids=[row.provider_knowledge_id])
        return each

    seen().title = "changed by whoever got it"
    assert seen().title == row.title

    documents.update(document=row, title="Another")
    assert seen().title == "Another"
    documents.write_all(_all_rows(outside), is_searchable=False)
    assert not seen().is_searchable
    assert paths(outside) == []


def test_tags_narrow_what_was_found_before(outside: Vault) -> None:
    assert len(paths(outside)) == 2
    tagging.set_tags(principal=outside.alice, document=outside.row("private/port.md"), tags=["secret"])

    assert DocumentTag.objects.count() == 1
    assert paths(outside, tags=("secret",)) == ["private/port.md"]
    assert len(paths(outside)) == 2


def test_row_without_what_is_rarely_needed_reads_it(outside: Vault) -> None:
    row = outside.row("public/harbour.md")
    for _ in range(2):
        [each] = documents_named(kb_ids=[outside.kb.pk], provider_ids=[row.provider_knowledge_id])
        assert each.size_bytes == row.size_bytes
