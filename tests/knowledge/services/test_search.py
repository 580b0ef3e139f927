"""Search keeps to what the caller may read, and says what it left out."""

from __future__ import annotations

import pytest

from knowledge.models import Document
from knowledge.providers.registry import provider_for
from knowledge.services import search
from knowledge.services.ingest import kb_ref
from mnote.exceptions import Invalid, NotFound
from mnote.models import Access
from mnote.services import grants
from tests.factories.knowledge import KnowledgeBaseFactory
from tests.knowledge.vault import Vault


@pytest.fixture
def filled(vault: Vault) -> Vault:
    vault.write("public/garden.md", "# Garden\n\nTomatoes want sun and a lot of water in July.\n")
    vault.write("private/diary.md", "# Diary\n\nTomatoes were stolen last night, I know by whom.\n")
    vault.write("public/番茄.md", "# 番茄\n\n番茄喜欢阳光，七月要多浇水。\n")
    vault.level()
    return vault


def look(vault: Vault, who: str, text: str, **scope: object) -> search.SearchResult:
    return search.search(
        principal=vault.people.principal(who),
        scope=search.Scope(workspace=vault.people.workspace, **scope),  # type: ignore[arg-type]
        query=text,
    )


def test_search_finds_both_languages_at_their_lines(filled: Vault) -> None:
    [english, *_] = filled.search("water in July")
    [chinese, *_] = filled.search("七月浇水")

    assert english.document.source_path == "public/garden.md"
    assert chinese.document.source_path == "public/番茄.md"
    assert chinese.locator.parts["lineRange"][1] == 3


def test_reader_without_a_grant_sees_neither_hit_nor_trace(filled: Vault) -> None:
    grants.set_grant(root=filled.people.root, holder=filled.people.carol, prefix="private", access=Access.NONE)

    result = look(filled, "carol", "tomatoes")

    assert [each.document.source_path for each in result.references] == ["public/garden.md"]
    assert result.dropped_forbidden == 1
    assert filled.found("stolen last night", who="carol") == []


def test_stranger_sees_no_knowledge_base(filled: Vault) -> None:
    assert look(filled, "mallory", "tomatoes").references == ()
    with pytest.raises(NotFound):
        look(filled, "mallory", "tomatoes", kb_ids=(filled.kb.id,))


def test_unknown_and_foreign_knowledge_bases_look_the_same(filled: Vault) -> None:
    foreign = KnowledgeBaseFactory()
    for kb_id in (foreign.id, "kb_nothing"):
        with pytest.raises(NotFound):
            look(filled, "alice", "tomatoes", kb_ids=(kb_id,))


def test_hit_without_a_registry_row_is_dropped_and_counted(filled: Vault) -> None:
    Document.objects.filter(source_path="private/diary.md").update(provider_knowledge_id="")

    result = look(filled, "alice", "tomatoes")

    assert [each.document.source_path for each in result.references] == ["public/garden.md"]
    assert result.dropped_unmapped == 1


def test_path_filter_keeps_to_whole_components(filled: Vault) -> None:
    filled.write("public_x/trap.md", "Tomatoes in a sibling folder.")
    filled.level()

    result = look(filled, "alice", "tomatoes", paths=("public",))

    assert {each.document.source_path for each in result.references} == {"public/garden.md"}


def test_filters_that_leave_many_hits_out_ask_for_more(vault: Vault) -> None:
    for number in range(40):
        vault.write(f"many/n{number:02}.md", f"Rhubarb and rhubarb again, note {number}.")
    vault.write("one/last.md", "A long text about other things that names rhubarb once at its end: rhubarb.")
    vault.level()
    grants.set_grant(root=vault.people.root, holder=vault.people.carol, prefix="many", access=Access.NONE)

    assert vault.found("rhubarb", who="carol") == ["one/last.md"]


def test_token_limited_to_a_knowledge_base_finds_nothing_elsewhere(filled: Vault) -> None:
    other = KnowledgeBaseFactory(root=filled.people.root)
    principal = filled.people.principal("alice")
    limited = type(principal)(user=principal.user, kb_ids=frozenset({other.id}))

    result = search.search(principal=limited, scope=search.Scope(workspace=filled.people.workspace), query="tomatoes")

    assert result.references == ()


def test_empty_query_names_its_field(filled: Vault) -> None:
    with pytest.raises(Invalid) as caught:
        look(filled, "alice", "  \n")
    assert "query" in caught.value.extra["errors"]


def test_answer_cites_the_sentence_it_says(filled: Vault) -> None:
    result = filled.ask("What do tomatoes want in July?")

    assert "Tomatoes want sun and a lot of water in July." in result.answer.text
    [citation] = [each for each in result.citations if each.document.source_path == "public/garden.md"]
    assert citation.locator.parts["lineRange"] == [3, 3]
    assert filled.open(citation).state.value == "exact"


def test_question_without_an_answer_says_nothing(filled: Vault) -> None:
    assert filled.ask("quantum chromodynamics lattice?").answer.sentences == ()


def test_index_of_a_removed_knowledge_base_is_empty(filled: Vault) -> None:
    provider_for("local").delete_kb(kb_ref(filled.kb))
    assert filled.search("tomatoes") == []
