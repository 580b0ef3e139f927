"""Pages of a knowledge base whose index is at a server: from our own rows, whatever the server does."""

from __future__ import annotations

import pytest
from django.urls import reverse
from django.utils import timezone

from knowledge.models import KnowledgeBase, ProviderOutage
from knowledge.services import drain
from tests.knowledge.outside import level, move_to, profile_of
from tests.knowledge.vault import Vault
from tests.stubs.weknora import WeKnoraStub
from tests.stubs.weknora_replies import Reply
from tests.weknora_documents import recorded, teach

DOWN = Reply(status=503, body=b"{}")


@pytest.fixture
def outside(vault: Vault, stub: WeKnoraStub) -> Vault:
    move_to(vault, profile_of(stub))
    vault.write("public/garden.md", "# Garden\n\nTomatoes want sun and a lot of water in July.\n")
    level(vault.kb)
    return vault


def pages(vault: Vault) -> list[str]:
    row = vault.row("public/garden.md")
    document = reverse("knowledge:document", args=[vault.kb.pk, row.pk])
    of_kb = ("kb-detail", "kb-tree", "kb-live", "kb-about", "kb-sources", "kb-runs", "kb-activity", "kb-search")
    return [
        "/",
        *(reverse(f"knowledge:{name}", args=[vault.kb.pk]) for name in of_kb),
        *(reverse(f"knowledge:{name}") for name in ("kb-list", "search", "files", "activity")),
        *(f"{document}?tab={tab}" for tab in ("overview", "preview", "text")),
        reverse("knowledge:open", args=[vault.people.workspace.pk, "public/garden.md"]),
    ]


def test_no_page_but_a_search_asks_the_server(outside: Vault, stub: WeKnoraStub) -> None:
    client = outside.people.client("alice")
    before = len(stub.asked)

    answers = {page: client.get(page, follow=True).status_code for page in pages(outside)}

    assert set(answers.values()) == {200}
    assert len(stub.asked) == before


def test_page_says_which_service_is_down_since_when_and_what_still_works(outside: Vault, stub: WeKnoraStub) -> None:
    client = outside.people.client("alice")
    stub.misbehave(path="hybrid-search", times=99, reply=DOWN)
    said = client.get(reverse("knowledge:kb-search", args=[outside.kb.pk]), {"q": "tomatoes"}).text

    page = client.get(reverse("knowledge:kb-detail", args=[outside.kb.pk])).text

    assert "The indexing service does not answer" in said
    assert "(since " in said
    assert "Nothing was found" not in said
    assert "“Library server” does not work since" in page
    assert "Documents open as before" in page
    assert stub.url not in page + said


def test_strip_goes_with_the_next_answer(outside: Vault, stub: WeKnoraStub) -> None:
    stub.misbehave(path="hybrid-search", times=3, reply=DOWN)
    client, address = outside.people.client("alice"), reverse("knowledge:kb-search", args=[outside.kb.pk])
    client.get(address, {"q": "tomatoes"})
    assert ProviderOutage.objects.exists()

    assert "July" in client.get(address, {"q": "tomatoes"}).text
    assert "does not work since" not in client.get(reverse("knowledge:kb-detail", args=[outside.kb.pk])).text


def test_passages_tab_shows_the_files_words_and_says_when_it_cannot(outside: Vault, stub: WeKnoraStub) -> None:
    client = outside.people.client("alice")
    row = outside.row("public/garden.md")
    for document in stub.world.documents.values():
        for passage in document.passages:
            passage.content = passage.content.replace("sun", "shade")
    address = reverse("knowledge:document", args=[outside.kb.pk, row.pk])

    foreign = client.get(address, {"tab": "chunks"}).text
    stub.misbehave(path="/chunks/", times=99, reply=DOWN)
    silent = client.get(address, {"tab": "chunks"}).text

    assert "shade" not in foreign
    assert "place not exact" in foreign
    assert "The indexing service does not answer" in silent


def test_api_names_what_could_not_be_searched(outside: Vault, stub: WeKnoraStub) -> None:
    stub.misbehave(path="hybrid-search", times=99, reply=DOWN)
    body = {"workspaceId": outside.people.workspace.pk, "query": "tomatoes"}

    answer = outside.people.client("alice").post("/api/knowledge-rag/search", body, content_type="application/json")

    assert answer.status_code == 503
    assert answer.json()["code"] == "provider-unavailable"
    assert answer.json()["since"] == ProviderOutage.objects.get().since.isoformat()


def test_drawer_and_api_say_how_exactly_passages_are_placed(vault: Vault, stub: WeKnoraStub) -> None:
    teach(stub.world)
    move_to(vault, profile_of(stub))
    KnowledgeBase.objects.update(parsed_by="provider")
    vault.write("manual.html", recorded()["manual.html"].body)
    vault.write("report.docx", recorded()["report.docx"].body)
    level(vault.kb)
    client = vault.people.client("alice")

    row = vault.row("manual.html")
    drawer = client.get(reverse("knowledge:document", args=[vault.kb.pk, row.pk])).text
    exact = client.get(reverse("knowledge:document", args=[vault.kb.pk, vault.row("report.docx").pk])).text
    shape = client.get(f"/api/knowledge/sources/{row.pk}").json()["places"]

    assert "Some passages open without an exact place." in drawer
    assert "29 of 33 exact" in drawer
    assert "Every passage opens at its exact place." in exact
    assert shape == {
        "mapState": "partial",
        "sentence": "Some passages open without an exact place.",
        "counts": {"exact": 29, "partial": 4},
        "contradicted": 0,
    }


def test_page_says_while_it_lasts_that_the_services_reader_fails(vault: Vault, stub: WeKnoraStub) -> None:
    teach(stub.world)
    move_to(vault, profile_of(stub))
    KnowledgeBase.objects.update(parsed_by="provider")
    stub.world.plans.append(["processing", *["flap"] * 99])
    vault.write("report.docx", recorded()["report.docx"].body)
    vault.sync()
    for _turn in range(9):
        drain.drain(kb=vault.kb, worker="test", patience=0.2)
        vault.kb.documents.update(next_try_at=timezone.now())

    page = vault.people.client("alice").get(reverse("knowledge:kb-detail", args=[vault.kb.pk])).text

    assert "read again by the indexing service" in page
    assert "The reader of the indexing service fails; the service tries it again for some minutes." in page


def test_nothing_is_said_of_places_where_we_read_the_files(outside: Vault) -> None:
    row = outside.row("public/garden.md")
    client = outside.people.client("alice")

    assert client.get(f"/api/knowledge/sources/{row.pk}").json()["places"] is None
    assert "exact place" not in client.get(reverse("knowledge:document", args=[outside.kb.pk, row.pk])).text
