"""Searching knowledge bases whose index is at a server: the same truth about places, and one that fails alone."""

from __future__ import annotations

import json

import pytest
from django.utils import timezone

from knowledge.models import Document, KnowledgeBase, ProviderOutage
from knowledge.providers.base import ProviderError, ProviderUnavailable
from knowledge.services import chunks, hints, provider_outages, query, references, search, sources
from knowledge.services.hints import Hint
from mnote.exceptions import NotFound
from mnote.models import Access
from mnote.services import grants
from tests.knowledge.outside import another_kb, level, move_to, profile_of
from tests.knowledge.vault import Vault
from tests.stubs.weknora import WeKnoraStub
from tests.stubs.weknora_replies import Reply

GARDEN = (
    "\ufeff---\r\ntitle: Garden\r\n---\r\n\r\n# Garden 🌱\r\n\r\n"
    "[![plan](https://pictures.example/plan.png)](plan.html)\r\n\r\n"
    "Tomatoes want sun and a lot of water in July.\r\n\r\n"
    "| plant | month |\r\n| --- | --- |\r\n" + "".join(f"| rhubarb {n} | {n} |\r\n" for n in range(80))
)
BACKUP = "# 备份手册\n\n每天凌晨两点备份数据库，并把文件复制到另一台机器。\n"


@pytest.fixture
def outside(vault: Vault, stub: WeKnoraStub) -> Vault:
    move_to(vault, profile_of(stub))
    vault.write("public/garden.md", GARDEN)
    vault.write("private/diary.md", "# Diary\n\nTomatoes were stolen last night, I know by whom.\n")
    vault.write("public/备份.md", BACKUP)
    level(vault.kb)
    return vault


@pytest.fixture
def mixed(vault: Vault, stub: WeKnoraStub, other_stub: WeKnoraStub) -> Vault:
    """Three folders: the first in the embedded index, the others at two servers."""
    vault.source.delete()
    for name in ("here", "one", "two"):
        vault.write(f"{name}/harbour.md", f"# {name}\n\nThe harbour of {name} closes at nine.\n")
    another_kb(vault, profile_of(stub, "Server one"), "One", "one")
    another_kb(vault, profile_of(other_stub, "Server two"), "Two", "two")
    sources.add_sources(principal=vault.alice, kb=vault.kb, root=vault.people.root, paths=["here"])
    level(vault.kb)
    return vault


def look(vault: Vault, text: str, who: str = "alice", **scope: object) -> search.SearchResult:
    return search.search(
        principal=vault.people.principal(who),
        scope=search.Scope(workspace=vault.people.workspace, **scope),  # type: ignore[arg-type]
        query=text,
    )


def lines_of(vault: Vault, path: str, bounds: list[int]) -> str:
    text = (vault.folder / path).read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    return "\n".join(text.split("\n")[bounds[0] - 1 : bounds[1]])


@pytest.mark.parametrize(("text", "path"), [("water in July", "public/garden.md"), ("备份数据库", "public/备份.md")])
def test_hit_is_quoted_from_the_file_and_opens_there(outside: Vault, text: str, path: str) -> None:
    [first, *_] = outside.search(text)

    assert first.document.source_path == path
    assert not first.locator.degraded
    assert first.locator.quote in lines_of(outside, path, first.locator.parts["lineRange"])
    assert outside.open(first).state.value == "exact"


def test_quote_is_never_the_servers_text(outside: Vault) -> None:
    [hit] = [each for each in outside.search("rhubarb 79") if "rhubarb 79" in each.locator.quote]

    assert "plant" in hit.hit.content  # the head of the table, repeated
    assert "plant" not in hit.quote
    assert "https://pictures.example/plan.png" in "".join(each.quote for each in outside.search("plan Garden tomatoes"))


def test_passage_that_does_not_stand_in_the_file_is_dropped_and_counted(outside: Vault, stub: WeKnoraStub) -> None:
    for document in stub.world.documents.values():
        for passage in document.passages:
            passage.content = passage.content.replace("July", "June")

    result = look(outside, "water in June")

    assert [each for each in result.references if "June" in each.quote] == []
    assert result.dropped_unplaced == 1


def test_documents_of_others_at_the_server_are_dropped_and_counted(outside: Vault) -> None:
    Document.objects.filter(source_path="public/garden.md").update(provider_knowledge_id="")

    result = look(outside, "water in July")

    assert "public/garden.md" not in [each.document.source_path for each in result.references]
    assert result.dropped_unmapped > 0


def test_reader_without_a_grant_sees_neither_hit_nor_passage(outside: Vault) -> None:
    grants.set_grant(root=outside.people.root, holder=outside.people.carol, prefix="private", access=Access.NONE)
    [secret] = [each for each in outside.search("stolen last night") if each.document.name == "diary.md"]

    assert look(outside, "stolen last night", "carol").dropped_forbidden >= 1
    assert "private/diary.md" not in outside.found("stolen last night", who="carol")
    with pytest.raises(NotFound):
        open_chunk(outside, "carol", chunk_id=secret.hit.chunk_id)


def test_answer_cites_the_line_of_its_sentence(outside: Vault) -> None:
    result = outside.ask("What do tomatoes want in July?")

    assert "Tomatoes want sun and a lot of water in July." in result.answer.text
    [citation] = [each for each in result.citations if each.document.source_path == "public/garden.md"]
    assert citation.locator.parts["lineRange"] == [9, 9]
    assert outside.open(citation).state.value == "exact"


def open_chunk(vault: Vault, who: str = "alice", **facts: object) -> hints.OpenedReference:
    return hints.open_reference(
        principal=vault.people.principal(who), workspace=vault.people.workspace, root=None, hint=Hint(**facts)  # type: ignore[arg-type]
    )  # fmt: skip


def test_every_way_to_name_a_passage_opens_it(outside: Vault) -> None:
    [first, *_] = outside.search("water in July")
    row, hit = first.document, first.hit

    opened = [
        open_chunk(outside, chunk_id=hit.chunk_id),
        open_chunk(outside, chunk_id=hit.chunk_id, provider_document_id=hit.provider_document_id),
        open_chunk(outside, chunk_id=hit.chunk_id, name="garden.md"),
        open_chunk(outside, document_id=row.id, chunk_index=hit.chunk_index),
        open_chunk(outside, token=first.token),
        open_chunk(outside, path=row.source_path, quote=first.quote),
    ]

    assert {each.place.state.value for each in opened} == {"exact"}
    assert {each.place.locator.parts["lineStart"] for each in opened} == {first.locator.parts["lineStart"]}


def test_unknown_passage_of_a_server_is_not_found(outside: Vault) -> None:
    with pytest.raises(NotFound):
        open_chunk(outside, chunk_id="00000000-0000-4000-8000-000000000000")


def test_passages_have_the_servers_offsets_and_our_lines(outside: Vault) -> None:
    page = chunks.page_of(outside.row("public/garden.md"), offset=0, limit=200)

    assert page.total == len(page.chunks) > 2
    assert all(each.chunk.provider_start >= 0 for each in page.chunks)
    for each in page.chunks:
        assert each.text == each.locator.quote
        assert each.text in lines_of(outside, "public/garden.md", each.locator.parts["lineRange"])


def test_search_over_several_services_has_one_order(mixed: Vault) -> None:
    first, again = (look(mixed, "harbour closes at nine") for _ in range(2))

    assert {each.document.source_path for each in first.references[:3]} == {
        "here/harbour.md", "one/harbour.md", "two/harbour.md",
    }  # fmt: skip
    assert [each.locator for each in first.references] == [each.locator for each in again.references]
    scores = [each.hit.score for each in first.references]
    assert scores == sorted(scores, reverse=True)
    assert first.silent == ()


def test_service_that_is_down_costs_only_its_part(mixed: Vault, stub: WeKnoraStub) -> None:
    stub.misbehave(path="hybrid-search", times=99, reply=Reply(status=503, body=b"{}"))
    started = timezone.now()

    result = look(mixed, "harbour closes at nine")
    later = look(mixed, "harbour closes at nine")

    assert {each.document.source_path for each in result.references} == {"here/harbour.md", "two/harbour.md"}
    [silent] = result.silent
    assert (silent.link.name, [kb.name for kb in silent.kbs]) == ("Server one", ["One"])
    assert silent.since is not None
    assert silent.since >= started
    assert later.silent[0].since == silent.since


def test_service_that_does_not_answer_in_time_costs_only_its_part(
    mixed: Vault, stub: WeKnoraStub, settings: object
) -> None:
    settings.MNOTE_SEARCH_SECONDS = 1  # type: ignore[attr-defined]
    stub.misbehave(path="hybrid-search", times=99, wait=True)

    result = look(mixed, "harbour closes at nine")

    assert {each.document.source_path for each in result.references} == {"here/harbour.md", "two/harbour.md"}
    assert [each.code for each in result.silent] == ["provider-timeout"]


def test_service_that_answers_nonsense_costs_only_its_part(mixed: Vault, stub: WeKnoraStub) -> None:
    stub.misbehave(
        path="hybrid-search", times=99, reply=Reply(status=200, body=b'{"success": true, "data": {"id": 7}}')
    )

    result = look(mixed, "harbour closes at nine")

    assert len(result.references) == 2
    assert [each.code for each in result.silent] == ["provider-protocol"]


def test_outage_ends_with_the_next_answer(mixed: Vault, stub: WeKnoraStub) -> None:
    stub.misbehave(path="hybrid-search", times=3, reply=Reply(status=503, body=b"{}"))
    look(mixed, "harbour closes at nine")
    assert ProviderOutage.objects.count() == 1

    assert look(mixed, "harbour closes at nine").silent == ()
    assert not ProviderOutage.objects.exists()


def test_outage_ends_when_the_service_is_asked_again(outside: Vault, stub: WeKnoraStub) -> None:
    provider_outages.note_failure(provider_outages.links_of(KnowledgeBase.objects.all())[0], ProviderUnavailable("x"))
    stub.misbehave(path="/health", times=1, reply=Reply(status=503, body=b"{}"))

    asked = [provider_outages.look_again() for _ in range(1 + 3)]

    assert asked[-1] == 0
    assert sum(asked) == 1
    assert not ProviderOutage.objects.exists()


def test_search_of_one_service_that_is_down_says_so(outside: Vault, stub: WeKnoraStub) -> None:
    stub.misbehave(path="hybrid-search", times=99, reply=Reply(status=503, body=b"{}"))

    with pytest.raises(ProviderError) as caught:
        look(outside, "tomatoes")

    assert caught.value.since == ProviderOutage.objects.get().since


def test_question_that_no_service_answers_fails(outside: Vault, stub: WeKnoraStub) -> None:
    scope = search.Scope(workspace=outside.people.workspace)
    stub.misbehave(path="hybrid-search", times=99, reply=Reply(status=503, body=b"{}"))

    with pytest.raises(ProviderError):
        query.ask_everywhere(principal=outside.alice, scopes=[scope, scope], question="tomatoes")


def test_token_of_a_citation_holds_nothing_of_the_server(outside: Vault, stub: WeKnoraStub) -> None:
    [first, *_] = outside.search("water in July")

    token = references.read_token(first.token)

    assert first.hit.chunk_id not in json.dumps([str(token), first.token])
    assert str(stub.port) not in str(token)
