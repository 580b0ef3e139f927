from __future__ import annotations

from typing import Any

import pytest

from knowledge.citations.locators import LocatorState
from knowledge.exceptions import EvidenceNotFound, IndexBuilding, LocatorInvalid, LocatorStale
from knowledge.models import Document, ProviderKind
from knowledge.providers.registry import local_provider
from knowledge.services import evidence
from knowledge.services.evidence import Scope
from knowledge.services.hints import Hint
from knowledge.services.passages import Window
from mnote.exceptions import Invalid, NotFound
from mnote.models import Access
from tests.factories.knowledge import KnowledgeBaseFactory
from tests.factories.mnote import GrantFactory
from tests.library import Library, make_library
from tests.people import People

FILES = {
    "page.md": "# Page\n\nSee ![plan](img/table.csv) and [[other]].\n",
    "img/table.csv": "part,weight\nanvil,90\n",
    "other.md": "# Other\n\nAnvils ring.\n",
}


@pytest.fixture
def library(people: People) -> Library:
    return make_library(people, FILES)


def search(library: Library, query: str, person: str = "alice", **scope: Any) -> evidence.Found:
    wanted = Scope(workspace=library.people.workspace, root=library.root, **scope)
    return evidence.search(principal=library.people.principal(person), scope=wanted, query=query)


def paths(found: evidence.Found) -> list[str]:
    return [reference.locator.resource_path for reference in found.references]


def test_search_finds_documents_of_any_provider(library: Library) -> None:
    """What another provider holds was parsed by us, so the embedded index finds it by its content."""
    kb = KnowledgeBaseFactory(owner=library.people.alice, root=library.root, provider=ProviderKind.WEKNORA)
    Document.objects.filter(source_path="other.md").update(
        kb=kb, provider=ProviderKind.WEKNORA, provider_knowledge_id="remote-1"
    )

    assert "other.md" in paths(search(library, "anvils ring"))
    assert paths(search(library, "anvils ring", kb_ids=(kb.id,))) == ["other.md"]


def test_search_of_an_unknown_base_is_not_found(library: Library) -> None:
    with pytest.raises(NotFound):
        search(library, "anvils", kb_ids=(library.kb.id, "kb_x"))


def test_search_needs_words(library: Library) -> None:
    with pytest.raises(Invalid):
        search(library, "  ")


def test_search_asks_again_until_enough_is_readable(library: Library) -> None:
    library.add({f"closed/{number}.md": f"# Anvil {number}\n\nanvil anvil anvil\n" for number in range(30)})
    GrantFactory(root=library.root, user=library.people.carol, prefix="closed", access=Access.NONE)

    found = search(library, "anvil", "carol")

    assert set(paths(found)) == {"img/table.csv", "other.md"}


def test_search_without_resources_takes_pages_only(library: Library) -> None:
    assert "img/table.csv" in paths(search(library, "anvil"))
    assert "img/table.csv" not in paths(search(library, "anvil", include_resources=False))


def test_search_says_that_the_index_is_being_built(library: Library) -> None:
    provider = local_provider()
    workspace_id = library.people.workspace.id
    with provider._store.writing(workspace_id) as connection:
        connection.execute("INSERT INTO evidence_meta (key, value) VALUES ('rebuild', 'outdated')")

    found = search(library, "anvil")
    with pytest.raises(IndexBuilding) as caught:
        search(library, "zzz")

    assert found.degraded
    assert caught.value.extra["progress"] == {"done": 3, "total": 3}


def test_owner_of_a_resource_is_the_page_that_shows_it(library: Library) -> None:
    [reference] = search(library, "weight").references

    assert reference.locator.owners == ("page.md",)


def test_owners_are_listed_in_path_order(library: Library) -> None:
    library.add({"a.md": "# A\n\n![t](img/table.csv)\n", "sub/b.md": "# B\n\n[t](../img/table.csv#row=2)\n"})

    assert search(library, "weight").references[0].locator.owners == ("a.md", "page.md", "sub/b.md")


def test_owner_is_not_a_page_with_a_namesake(library: Library) -> None:
    library.add({"sub/b.md": "# B\n\n[t](img/table.csv) [u](table.csv)\n"})

    assert search(library, "weight").references[0].locator.owners == ("page.md",)


def test_owner_by_bare_name_is_a_page_above(library: Library) -> None:
    library.add({"note.md": "# Note\n\n![[table.csv]]\n"})

    assert search(library, "weight").references[0].locator.owners == ("note.md", "page.md")


def read(library: Library, hint: Hint, **window: Any) -> evidence.Reading:
    return evidence.read(
        principal=library.people.principal("alice"),
        workspace=library.people.workspace,
        root_uri=library.root.root_uri,
        hint=hint,
        window=Window(**window),
    )


def test_read_of_the_index_when_the_file_gives_no_text(library: Library) -> None:
    reference = search(library, "anvils ring").references[0]
    (library.people.folder / "other.md").write_bytes(b"\x80\x81\x00\xff" * 50)

    reading = read(library, Hint(chunk_id=reference.hit.chunk_id), before=5)

    assert reading.surroundings.degraded
    assert reading.opened.place.state is LocatorState.CHANGED
    assert reading.opened.place.locator.degraded


def test_read_says_moved_and_changed(library: Library) -> None:
    hint = Hint(path="other.md", quote="Anvils ring.", source_hash=library.document("other.md").source_hash)
    assert read(library, hint).opened.place.state is LocatorState.EXACT

    (library.people.folder / "other.md").write_text("# Other\n\nNew.\n\nAnvils ring.\n")
    moved = read(library, hint).opened.place
    assert (moved.state, moved.locator.line_start) == (LocatorState.MOVED, 5)

    (library.people.folder / "other.md").write_text("# Other\n\nSilence.\n")
    assert read(library, hint).opened.place.state is LocatorState.CHANGED

    (library.people.folder / "other.md").unlink()
    with pytest.raises(LocatorStale):
        read(library, hint)


def test_read_names_the_links_to_a_resource(library: Library) -> None:
    reading = read(library, Hint(path="img/table.csv"))

    assert [passage.locator.resource_path for passage in reading.mentions] == ["page.md"]
    assert "img/table.csv" in reading.mentions[0].quote


def test_read_keeps_within_its_characters(library: Library) -> None:
    library.add({"long.md": "# Long\n\n" + "\n\n".join(f"Paragraph {number} " + "x" * 900 for number in range(20))})

    reading = read(library, Hint(path="long.md", quote="Paragraph 5"), max_chars=3_000)

    around = reading.surroundings
    total = sum(
        len(each.quote) for each in (*around.before, *around.after, *(around.section.blocks if around.section else ()))
    )
    assert total + len(around.excerpt) <= 2 * 3_000
    assert around.section is not None
    assert around.section.is_cut


def test_evidence_without_a_name_is_invalid(library: Library) -> None:
    with pytest.raises(LocatorInvalid):
        read(library, Hint(quote="x"))


def test_evidence_of_another_workspace_is_not_found(library: Library) -> None:
    reference = search(library, "anvils ring").references[0]

    with pytest.raises(EvidenceNotFound):
        evidence.open_evidence(
            principal=library.people.principal("mallory"),
            workspace=None,
            root_uri=None,
            hint=Hint(chunk_id=reference.hit.chunk_id),
        )
