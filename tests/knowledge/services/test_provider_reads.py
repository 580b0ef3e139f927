"""Knowledge bases whose files the server reads: originals go up, and every passage found has its place in our file."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from knowledge.citations.locators import MapState
from knowledge.models import ArtifactKind, DerivedArtifact, Document, KnowledgeBase
from knowledge.providers.weknora import passages
from knowledge.services import knowledge_bases, mapping, reconcile, rereading
from knowledge.services.placing import Placers
from knowledge.services.providers import provider_of
from mnote.exceptions import Invalid
from mnote.models import Job
from mnote.recent import Recent
from tests.knowledge.remote import Remote
from tests.stubs.weknora import Fault
from tests.stubs.weknora_replies import Reply
from tests.stubs.weknora_world import READER_DOWN
from tests.weknora_documents import recorded, teach

NOTE = "# Garden\n\nTomatoes need water every morning.\n\n# Shed\n\nThe ladder stands behind the door.\n"
OTHER = "# Garden\n\nCucumbers climb along the fence.\n"


@pytest.fixture
def reading(remote: Remote) -> Remote:
    """A knowledge base that the server reads; it reads the recorded documents as the live one did."""
    KnowledgeBase.objects.filter(pk=remote.vault.kb.pk).update(parsed_by="provider")
    remote.vault.kb.refresh_from_db()
    teach(remote.stub.world)
    return remote


def _put(remote: Remote, name: str) -> None:
    remote.vault.write(name, recorded()[name].body)


def test_original_goes_up_and_its_passages_have_places(reading: Remote) -> None:
    reading.vault.write("garden.md", NOTE)
    _put(reading, "plain.pdf")

    reading.level()

    assert reading.vault.states() == {"garden.md": "indexed", "plain.pdf": "indexed"}
    assert {each.body for each in reading.held} == {NOTE.encode(), recorded()["plain.pdf"].body}
    note = next(each for each in reading.vault.search("ladder") if each.document.name == "garden.md")
    assert note.locator.map_state is MapState.EXACT
    assert "The ladder stands behind the door." in note.quote
    assert note.locator.parts["lineStart"] <= 7 <= note.locator.parts["lineEnd"]
    assert reading.vault.open(note).state == "exact"
    page = reading.vault.search("pressure readings annual shutdown")[0]
    ours = recorded()["plain.pdf"].parsed()
    assert ours is not None
    assert (page.document.name, page.locator.degraded) == ("plain.pdf", False)
    assert page.locator.parts["page"] >= 1
    assert page.quote
    assert page.quote in ours.text


def test_equal_files_of_one_name_are_placed_each_by_its_map(reading: Remote) -> None:
    for folder in ("one", "two"):
        reading.vault.write(f"{folder}/garden.md", NOTE)
    reading.level()
    placers, provider = Placers(), provider_of(reading.kb)

    made = [placers.of(reading.vault.row(f"{folder}/garden.md"), provider) for folder in ("one", "two")]

    assert [each.resource.path for each in made] == ["one/garden.md", "two/garden.md"]
    assert all(each.document_map is not None for each in made)


def test_server_learns_where_an_original_belongs_and_nothing_of_our_text(reading: Remote) -> None:
    _put(reading, "special.docx")

    reading.level()

    (held,) = reading.held
    row = reading.vault.row("special.docx")
    assert held.metadata is not None
    assert (held.name, held.file_type) == ("special.docx", "docx")
    assert (held.metadata["documentId"], held.metadata["path"]) == (row.id, "special.docx")
    assert held.metadata["sourceHash"] == "sha256:" + hashlib.sha256(held.body).hexdigest()
    assert (row.text_hash, row.indexed_hash) == ("", held.metadata["sourceHash"])


@pytest.mark.parametrize(
    ("name", "state", "counts"),
    [
        ("report.docx", "exact", {"exact": 37}),
        ("deck.pptx", "exact", {"exact": 23, "no_text": 1}),
        ("manual.html", "partial", {"exact": 29, "partial": 4}),
    ],
)
def test_row_says_how_exactly_its_passages_are_placed(
    reading: Remote, name: str, state: str, counts: dict[str, int]
) -> None:
    _put(reading, name)

    reading.level()

    locator = reading.vault.row(name).citation_locator_json
    assert (locator["mapState"], locator["mapCounts"]) == (state, counts)


def test_passage_that_is_found_in_part_is_degraded_and_quotes_our_file_only(reading: Remote) -> None:
    """The page hides a block; what it says is shown to nobody."""
    _put(reading, "manual.html")
    reading.level()

    hit = next(each for each in reading.vault.search("invisible div words return x * 1") if "x * 1" in each.quote)

    body = hit.locator.to_json(url="")
    ours = recorded()["manual.html"].parsed()
    assert ours is not None
    assert (body["mapState"], body["locatorDegraded"]) == ("partial", True)
    assert body["sectionPath"] == ["1 the delivery notes & more", "1.3 the audit group"]
    assert "charRange" not in body
    assert "invisible" not in hit.quote
    assert hit.quote in ours.text


def test_scan_that_only_the_server_can_read_opens_without_a_place(reading: Remote) -> None:
    _put(reading, "scanned.pdf")
    digest = hashlib.md5(recorded()["scanned.pdf"].body, usedforsecurity=False).hexdigest()
    words = "The bridge over the canal is closed on Sundays."
    reading.stub.world.recorded[digest] = [(0, 0, len(words), words, "")]

    reading.level()

    (hit,) = reading.vault.search("bridge canal closed")
    assert (hit.locator.map_state, hit.quote) == (MapState.NONE, "")
    assert hit.locator.degraded


def test_scan_without_a_word_is_not_called_indexed(reading: Remote) -> None:
    """The live server stores a picture of the page and calls it completed."""
    _put(reading, "scanned.pdf")

    reading.level()

    row = reading.vault.row("scanned.pdf")
    assert (row.index_status, row.reason_code, row.is_searchable) == ("failed", "no_text", False)
    assert reading.held == []


def test_type_that_the_server_does_not_read_is_refused_with_its_reason(reading: Remote) -> None:
    reading.vault.write("mail.eml", b"From: a@example.org\nSubject: Gate\n\nThe gate stays open.\n")

    reading.level()

    row = reading.vault.row("mail.eml")
    assert (row.index_status, row.reason_code) == ("failed", "provider-type")
    assert reading.uploads() == 0


def test_text_of_another_encoding_goes_as_utf8(reading: Remote) -> None:
    """The server takes every text for UTF-8 and would lose its letters."""
    reading.vault.write("garten.md", "# Gärten\n\nDie Äpfel hängen am Baum hinter dem Schuppen.\n".encode("latin-1"))

    reading.level()

    (held,) = reading.held
    assert "Äpfel" in held.body.decode()
    assert reading.vault.search("Schuppen")[0].locator.map_state is MapState.EXACT


def test_changed_file_is_found_in_its_old_version_until_the_new_one_is(reading: Remote) -> None:
    reading.vault.write("a.md", NOTE)
    reading.level()
    reading.freeze()
    reading.vault.write("a.md", OTHER)
    reading.vault.sync()
    reading.work()
    assert reading.vault.found("tomatoes") == ["a.md"]

    reading.thaw()
    reading.level()

    assert reading.vault.found("tomatoes") == []
    assert reading.vault.search("cucumbers")[0].locator.map_state is MapState.EXACT
    assert [document.body.decode() for document in reading.held] == [OTHER]


def test_reading_again_draws_a_new_map(reading: Remote) -> None:
    """The server cuts differently now: passages of the old map would stand nowhere."""
    reading.vault.write("a.md", NOTE)
    reading.level()
    before = reading.vault.row("a.md").citation_locator_json["documentMap"]
    md5 = reading.held[0].file_hash
    reading.stub.world.recorded[md5] = [(0, 0, 43, NOTE[:43], ""), (1, 43, len(NOTE), NOTE[43:], "")]
    Document.objects.update(index_status="queued", is_to_reparse=True)

    reading.level()

    assert reading.vault.row("a.md").citation_locator_json["documentMap"] != before
    assert {each.locator.map_state for each in reading.vault.search("ladder door")} == {MapState.EXACT}
    assert reading.uploads() == 1


def test_passage_that_was_edited_at_the_server_has_no_place(reading: Remote) -> None:
    reading.vault.write("a.md", NOTE)
    reading.level()
    passage = reading.held[0].passages[0]
    passage.content = passage.content.replace("ladder", "hammer")

    (hit,) = reading.vault.search("hammer door")

    assert (hit.locator.map_state, hit.quote) == (MapState.NONE, "")


def _lose_maps(monkeypatch: pytest.MonkeyPatch) -> None:
    DerivedArtifact.objects.filter(artifact_kind=ArtifactKind.DOCUMENT_MAP).delete()
    monkeypatch.setattr(mapping, "_maps", Recent(32))  # as in a process that has just begun


def test_map_that_is_lost_is_drawn_again(reading: Remote, monkeypatch: pytest.MonkeyPatch) -> None:
    reading.vault.write("a.md", NOTE)
    reading.level()
    _lose_maps(monkeypatch)
    assert {each.locator.map_state for each in reading.vault.search("ladder")} == {MapState.PARTIAL}

    assert reconcile.reconcile(kb=reading.kb, repair=True).unmapped == ("a.md",)
    reading.level()

    assert reading.vault.search("ladder")[0].locator.map_state is MapState.EXACT
    assert reconcile.reconcile(kb=reading.kb, repair=False).is_level
    assert reading.uploads() == 1


def test_hit_without_a_map_has_the_place_where_all_its_words_stand_once(
    reading: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is degraded, as no other passage confirms it, and opens at the words all the same."""
    _put(reading, "deck.pptx")
    reading.level()
    _lose_maps(monkeypatch)

    hit = next(each for each in reading.vault.search("category output north 1.5 south 2.5") if "Q0704" in each.quote)

    body = hit.locator.to_json(url="")
    assert (body["mapState"], body["locatorDegraded"], "charRange" in body) == ("partial", True, False)
    assert body["slides"] == [{"n": 9, "shapes": [], "notes": False}]
    assert hit.quote.endswith("West | 3.5")


def test_hit_without_a_map_whose_words_stand_twice_or_in_part_has_no_place(
    reading: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    once, twice = "The ladder stands behind the door.", "The lantern hangs above the gate."
    reading.vault.write("a.md", f"# A\n\n{twice}\n\n{once}\n\n{twice}\n")
    reading.level()
    md5 = reading.held[0].file_hash
    words = [twice, f"{once} Nobody climbs it."]
    reading.stub.world.recorded[md5] = [(at, 100 * at, 100 * at + len(each), each, "") for at, each in enumerate(words)]
    Document.objects.update(index_status="queued", is_to_reparse=True)
    reading.level()
    _lose_maps(monkeypatch)

    found = reading.vault.search("ladder lantern")

    assert [(each.locator.map_state, each.quote) for each in found] == [(MapState.NONE, "")] * 2


def test_passages_whose_slide_the_server_names_otherwise_open_without_a_place(reading: Remote) -> None:
    """One of the two has read another deck: which one nobody knows."""
    deck = recorded()["deck.pptx"]
    other = [
        (p["index"], p["start"], p["end"], p["content"].replace("Slide number: 9 ", "Slide number: 8 "), "")
        for p in deck.passages
    ]
    reading.stub.world.recorded[hashlib.md5(deck.body, usedforsecurity=False).hexdigest()] = other
    _put(reading, "deck.pptx")

    reading.level()

    row = reading.vault.row("deck.pptx")
    facts = row.citation_locator_json
    assert (facts["mapState"], facts["mapCounts"], facts["mapContradicted"]) == (
        "partial", {"exact": 21, "no_text": 1, "none": 2}, 2,
    )  # fmt: skip
    hits = reading.vault.search("category output north 1.5 south 2.5")
    assert [each.quote for each in hits if each.locator.map_state is MapState.NONE][:1] == [""]
    sentence = "The indexing service names another page or slide than ours for 2 passages"
    page = reading.vault.people.client("alice").get(reverse("knowledge:document", args=[reading.kb.pk, row.pk])).text
    assert sentence in page
    shape = reading.vault.people.client("alice").get(f"/api/knowledge/sources/{row.pk}").json()["places"]
    assert shape["contradicted"] == 2


def test_map_onto_a_text_of_an_older_parser_is_drawn_again(reading: Remote) -> None:
    """Its places would point into another text than the one that is shown."""
    reading.vault.write("a.md", NOTE)
    reading.level()
    row = reading.vault.row("a.md")
    row.citation_locator_json["mapText"] = ["markdown", "of yesterday"]
    row.save()
    assert reconcile.reconcile(kb=reading.kb, repair=False).unmapped == ("a.md",)

    assert rereading.reread_outdated(kb=reading.kb) == 1
    assert reading.vault.found("ladder") == ["a.md"]
    reading.level()

    assert reconcile.reconcile(kb=reading.kb, repair=False).is_level
    assert reading.uploads() == 1


def _count_once_then_fail(remote: Remote) -> None:
    """The server counts the passages of a document once, and gives them to nobody afterwards."""
    seen: list[str] = []

    def weather(_method: str, target: str) -> Fault | None:
        if "/chunks/" not in target:
            return None
        seen.append(target)
        return Fault(reply=Reply(status=503, body=b"")) if len(seen) > 1 else None

    remote.stub.weather = weather


def test_passages_that_cannot_be_read_yet_keep_the_document_waiting(reading: Remote) -> None:
    reading.vault.write("a.md", NOTE)
    _count_once_then_fail(reading)
    reading.vault.sync()
    for _turn in range(4):
        reading.work()
    assert reading.vault.states() == {"a.md": "parsing"}

    reading.stub.weather = None
    reading.level()

    assert reading.vault.states() == {"a.md": "indexed"}
    assert reading.uploads() == 1


def test_passages_that_can_never_be_read_end_the_waiting_with_a_reason(reading: Remote) -> None:
    reading.vault.write("a.md", NOTE)
    _count_once_then_fail(reading)
    reading.vault.sync()
    for _turn in range(4):
        reading.work()
    Document.objects.update(handed_at=timezone.now() - timedelta(hours=1))

    reading.work()

    row = reading.vault.row("a.md")
    assert (row.index_status, row.reason_code) == ("queued", "provider-unavailable")
    assert row.next_try_at


def test_document_of_more_passages_than_are_read_back_is_too_large(
    reading: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passages, "_MOST_PAGES", 2)
    reading.vault.write("a.md", "\n\n".join(f"Paragraph {n} " + "speaks of dahlias. " * 25 for n in range(260)))

    reading.vault.sync()
    for _turn in range(6):
        reading.work()

    row = reading.vault.row("a.md")
    assert (row.index_status, row.reason_code, row.is_searchable) == ("failed", "too_large", False)
    assert len(reading.stub.calls("GET", "/chunks/")) <= 2 * 3


def test_reader_that_is_away_for_a_while_is_waited_for(reading: Remote) -> None:
    reading.stub.world.plans.append(["processing", "flap", "flap", "processing", "completed"])
    _put(reading, "plain.pdf")

    reading.level()

    assert reading.vault.states() == {"plain.pdf": "indexed"}
    assert READER_DOWN.startswith("document read failed:")


@pytest.mark.parametrize("before", ["", "chinese.pdf"], ids=["new", "changed"])
def test_equal_files_wait_for_their_reader_as_one_document(reading: Remote, before: str) -> None:
    """A document that failed for now is no duplicate for the server: sent under another name there would be two."""
    if before:
        reading.vault.write("deep/copy.pdf", recorded()[before].body)
        reading.level()
    reading.stub.world.plans.append(["processing", *["flap"] * 12, "processing", "completed"])
    _put(reading, "plain.pdf")
    reading.vault.sync()
    reading.work()
    assert "failed" in [each.status for each in reading.held]
    assert reading.vault.row("plain.pdf").reason_code == "provider-trying-again"
    reading.vault.write("deep/copy.pdf", recorded()["plain.pdf"].body)

    reading.level()

    assert reading.vault.states() == {"plain.pdf": "indexed", "deep/copy.pdf": "indexed"}
    assert len(reading.held) == 1
    assert {row.provider_knowledge_id for row in Document.objects.all()} == {reading.held[0].id}


def test_another_reader_has_every_file_read_anew(remote: Remote) -> None:
    """Search finds each file all the while: the new reading takes the place of the old one when it is there."""
    teach(remote.stub.world)
    _put(remote, "plain.pdf")
    remote.level()
    assert remote.held[0].file_type == "txt"

    knowledge_bases.update_kb(principal=remote.vault.alice, kb=remote.kb, parsed_by="provider")
    assert Job.objects.filter(kind="knowledge.reread_kb", kb_id=remote.kb.pk).count() == 1
    assert rereading.reread(kb=remote.kb) == 1
    assert remote.vault.row("plain.pdf").reason_code == "reading_changed"
    assert set(remote.vault.found("pressure")) == {"plain.pdf"}
    remote.level()

    assert [each.file_type for each in remote.held] == ["pdf"]
    assert remote.vault.row("plain.pdf").citation_locator_json["mapCounts"] == {"exact": 35}

    knowledge_bases.update_kb(principal=remote.vault.alice, kb=remote.kb, parsed_by="mnote")
    rereading.reread(kb=remote.kb)
    remote.level()

    assert [each.file_type for each in remote.held] == ["txt"]
    assert "documentMap" not in remote.vault.row("plain.pdf").citation_locator_json
    assert remote.vault.search("pressure")[0].locator.map_state is MapState.EXACT


def test_only_a_service_outside_can_read_files(remote: Remote) -> None:
    KnowledgeBase.objects.filter(pk=remote.kb.pk).update(provider="local")

    with pytest.raises(Invalid) as refused:
        knowledge_bases.update_kb(principal=remote.vault.alice, kb=remote.kb, parsed_by="provider")

    assert refused.value.extra["errors"]["parsedBy"][0]["code"] == "provider_cannot_read"


def test_files_are_left_as_they_are(reading: Remote) -> None:
    reading.vault.write("a.md", NOTE)
    _put(reading, "tables.docx")
    before = reading.vault.checksums()

    reading.level()

    assert reading.vault.checksums() == before


def test_degraded_references_open_and_have_surroundings_as_any_other(reading: Remote) -> None:
    """An exact one, one of a page that hides words, and one of a scan that only the server could read."""
    _put(reading, "report.docx")
    _put(reading, "manual.html")
    _put(reading, "scanned.pdf")
    digest = hashlib.md5(recorded()["scanned.pdf"].body, usedforsecurity=False).hexdigest()
    words = "The bridge over the canal is closed on Sundays."
    reading.stub.world.recorded[digest] = [(0, 0, len(words), words, "")]
    reading.level()
    people, client = reading.vault.people, reading.vault.people.client("alice")
    scope = {"workspaceId": people.workspace.id, "rootUri": people.root.root_uri}

    def call(name: str, **body: object) -> dict[str, Any]:
        answer = client.post(f"/api/knowledge-rag/{name}", {**scope, **body}, content_type="application/json")
        assert answer.status_code == 200, answer.content
        found: dict[str, Any] = answer.json()
        return found

    states = set()
    for query in ("annual maintenance", "invisible div words", "bridge canal"):
        for result in call("search", query=query, topK=5)["results"]:
            states.add(result["mapState"])
            opened = call("open-reference", token=result["openReference"])
            call("section-context", reference=result, query=query)
            assert words not in str(opened) + str(result)
        assert call("query", question=query)["schema"] == "mnote.knowledge_rag.query_result.v1"
    assert states == {"exact", "partial", "none"}
    for name in ("report.docx", "manual.html", "scanned.pdf"):
        row = reading.vault.row(name)
        for tab in ("overview", "text", "chunks", "processing"):
            page = client.get(reverse("knowledge:document", args=[reading.kb.pk, row.pk]), {"tab": tab})
            assert page.status_code == 200
            assert words not in page.text
