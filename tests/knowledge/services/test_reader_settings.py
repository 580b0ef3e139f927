"""How a server is told to read the files of a knowledge base: its engines, pictures and scans."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.urls import reverse
from lxml import html

from knowledge.citations.locators import MapState
from knowledge.models import Document, KnowledgeBase, ProviderProfile
from knowledge.profile_words import sentence_of
from knowledge.services import drain, knowledge_bases, profile_checks, reader_settings, rereading, sync
from mnote.exceptions import Invalid
from mnote.models import Job
from mnote.principals import Principal
from tests.knowledge import outside
from tests.knowledge.vault import Vault
from tests.stubs.weknora import WeKnoraStub, weknora_stub
from tests.stubs.weknora_world import Document as StubDocument
from tests.weknora_documents import recorded, teach

WIDE = {"manage_models", "manage_vector_stores"}
PICTURE = b"\x89PNG\r\n\x1a\n a picture of a valve"
WORDS, SHOWN = "VALVE 17 CLOSED", "A red valve beside a brick wall."


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote:
    """A vault whose files the server reads, over a profile."""

    vault: Vault
    stub: WeKnoraStub

    @property
    def kb(self) -> KnowledgeBase:
        return KnowledgeBase.objects.select_related("workspace", "owner", "profile").get(pk=self.vault.kb.pk)

    @property
    def profile(self) -> ProviderProfile:
        return ProviderProfile.objects.get()

    @property
    def held(self) -> list[StubDocument]:
        documents = self.stub.world.documents_of(self.kb.provider_kb_id)
        return [each for each in documents if not each.is_to_be_deleted]

    def level(self) -> None:
        outside.level(self.kb)

    def uploads(self) -> int:
        return len(self.stub.calls("POST", r"/knowledge/file$"))


@pytest.fixture
def reading(vault: Vault) -> Iterator[Remote]:
    """A knowledge base that the server reads, over a profile that was checked."""
    with weknora_stub("standard") as stub:
        outside.move_to(vault, outside.profile_of(stub))
        KnowledgeBase.objects.filter(pk=vault.kb.pk).update(parsed_by="provider")
        vault.kb.refresh_from_db()
        teach(stub.world)
        yield Remote(vault=vault, stub=stub)


@pytest.fixture
def seeing(reading: Remote) -> Remote:
    """The same with a model for pictures, switched on."""
    give_sight(reading)
    change(reading, images={"enabled": True})
    reading.stub.world.pictures[md5(PICTURE)] = {1: (WORDS, SHOWN)}
    return reading


def give_sight(remote: Remote) -> ProviderProfile:
    model = remote.stub.world.add_model(name="stub-vision", kind="VLLM")
    profile = remote.profile
    profile.vision_model_id = model.id
    profile.save()
    return profile


def change(remote: Remote, **wanted: Any) -> KnowledgeBase:
    principal = Principal(user=remote.kb.owner)
    return knowledge_bases.update_kb(principal=principal, kb=remote.kb, reading_json=wanted)


def md5(body: bytes) -> str:
    return hashlib.md5(body, usedforsecurity=False).hexdigest()


def rules(remote: Remote) -> list[dict[str, Any]]:
    body = remote.stub.world.kbs[remote.kb.provider_kb_id].body
    return body["chunking_config"].get("parser_engine_rules") or []


def look(remote: Remote) -> None:
    """Let an administrator's check see what the server has, with a key that may."""
    remote.stub.world.keys[remote.stub.key].rights |= WIDE
    profile_checks.check_profile(by=Principal(user=remote.kb.owner), profile=remote.profile)


def test_rules_reach_the_server_and_nothing_else_of_the_knowledge_base_changes(reading: Remote) -> None:
    """T11: what does not go along with a change is emptied there."""
    reading.vault.write("a.md", "# One\n\nWords of one.\n")
    reading.level()
    there = reading.stub.world.kbs[reading.kb.provider_kb_id].body
    there["description"], before = "kept", dict(there["chunking_config"])
    there["image_processing_config"] = {"model_id": "pictures"}

    change(reading, engines={"pdf": "mineru", "slides": "markitdown"})
    reading.vault.write("b.md", "# Two\n\nWords of two.\n")
    reading.level()

    assert rules(reading) == [
        {"file_types": ["pdf"], "engine": "mineru"},
        {"file_types": ["pptx"], "engine": "markitdown"},
    ]
    assert there["chunking_config"] == {**before, "parser_engine_rules": rules(reading)}
    assert there["description"] == "kept"
    assert there["image_processing_config"] == {"model_id": "pictures"}


def test_rules_stand_with_a_new_knowledge_base_and_are_written_once(reading: Remote) -> None:
    change(reading, engines={"pdf": "mineru"})
    reading.vault.write("a.md", "# One\n\nWords of one.\n")

    reading.level()

    assert rules(reading) == [{"file_types": ["pdf"], "engine": "mineru"}]
    assert not reading.stub.calls("PUT", reading.kb.provider_kb_id)


def test_type_that_is_left_to_the_server_again_has_no_rule(reading: Remote) -> None:
    change(reading, engines={"pdf": "mineru"})
    reading.vault.write("a.md", "# One\n\nWords of one.\n")
    reading.level()

    change(reading, engines={"pdf": ""})
    reading.vault.write("b.md", "# Two\n\nWords of two.\n")
    reading.level()

    assert rules(reading) == []
    assert reading.kb.reading_json["engines"] == {}


def test_only_engines_that_work_for_a_type_can_be_chosen_where_they_are_seen(reading: Remote) -> None:
    look(reading)

    with pytest.raises(Invalid) as told:
        change(reading, engines={"pdf": "mineru", "table": "builtin", "mail": "simple", "word": "markitdown"})

    codes = {name: found[0]["code"] for name, found in told.value.extra["errors"].items()}
    assert codes == {
        "reading.engines.pdf": "unavailable",
        "reading.engines.table": "invalid_choice",
        "reading.engines.mail": "invalid_type",
    }


def test_engine_that_went_away_may_stay_chosen(reading: Remote) -> None:
    reading.stub.world.engines["mineru"] = ""
    look(reading)
    change(reading, engines={"pdf": "mineru"})
    del reading.stub.world.engines["mineru"]
    look(reading)

    change(reading, engines={"pdf": "mineru", "word": "builtin"})

    assert reading.kb.reading_json["engines"] == {"pdf": "mineru", "word": "builtin"}


def test_name_that_is_none_is_refused_where_engines_are_not_seen(reading: Remote) -> None:
    with pytest.raises(Invalid):
        change(reading, engines={"pdf": "no such; name"})


def test_knowledge_base_here_has_no_reading(reading: Remote) -> None:
    KnowledgeBase.objects.update(provider="local", profile=None, parsed_by="mnote")

    with pytest.raises(Invalid) as told:
        change(reading, engines={"pdf": "mineru"})

    assert told.value.extra["errors"]["reading"][0]["code"] == "provider_cannot_read"


def _otherwise(remote: Remote) -> set[str]:
    return {row.source_path for row in rereading.read_otherwise(remote.kb)}


def _reread(remote: Remote) -> int:
    count = knowledge_bases.reread(principal=Principal(user=remote.kb.owner), kb=remote.kb)
    for job in Job.objects.filter(kind="knowledge.reread_kb", status="queued"):
        rereading.reread(kb=remote.kb, only=job.payload["only"])
    return count


def test_files_read_with_other_settings_are_known_and_read_again_when_asked_for(reading: Remote) -> None:
    reading.vault.write("plain.pdf", recorded()["plain.pdf"].body)
    reading.vault.write("report.docx", recorded()["report.docx"].body)
    reading.level()
    assert _otherwise(reading) == set()

    change(reading, engines={"pdf": "mineru"})
    assert _otherwise(reading) == {"plain.pdf"}
    assert _reread(reading) == 1
    reading.level()

    assert _otherwise(reading) == set()
    again = reading.stub.calls("POST", "/reparse$")
    assert [each.target.split("/")[-2] for each in again] == [reading.vault.row("plain.pdf").provider_knowledge_id]
    assert reading.vault.states() == {"plain.pdf": "indexed", "report.docx": "indexed"}
    change(reading, engines={})
    assert _otherwise(reading) == {"plain.pdf"}


def test_pictures_need_a_model(reading: Remote) -> None:
    with pytest.raises(Invalid) as told:
        change(reading, images={"enabled": True})

    assert told.value.extra["errors"]["reading.images.enabled"][0]["code"] == "no_model"
    assert reader_settings.stored(reading.kb)["images"]["enabled"] is False


@pytest.mark.parametrize(
    ("kind", "result", "part"),
    [("VLLM", "passed", "stub-vision"), ("Embedding", "failed", "it is none for pictures")],
)
def test_check_says_whether_the_server_knows_the_model_with_the_narrowest_key(
    reading: Remote, kind: str, result: str, part: str
) -> None:
    profile = give_sight(reading)
    reading.stub.world.models[profile.vision_model_id].kind = kind

    checks = profile_checks.check_profile(by=Principal(user=reading.kb.owner), profile=profile)

    found = next(each for each in checks if each.name == "vision")
    assert found.result.value == result
    assert part in sentence_of(found)
    if result == "failed":
        with pytest.raises(Invalid):
            change(reading, images={"enabled": True})


def test_picture_goes_up_and_what_stands_in_it_is_found(seeing: Remote) -> None:
    seeing.vault.write("site/valve.png", PICTURE)

    seeing.level()

    assert seeing.vault.states() == {"site/valve.png": "indexed"}
    (held,) = seeing.held
    assert held.body == PICTURE
    assert held.overrides["vlm_config"]["model_id"] == seeing.profile.vision_model_id
    (hit,) = seeing.vault.search("valve closed")[:1]
    body = hit.locator.to_json(url="")
    assert (hit.document.source_path, hit.quote) == ("site/valve.png", "")
    assert (body["kind"], body["page"], body["mapState"], body["locatorDegraded"]) == ("image-region", 1, "page", True)
    assert "bbox" not in body
    assert seeing.vault.open(hit).state == "exact"


def test_description_is_found_in_its_language(seeing: Remote) -> None:
    change(seeing, images={"language": "zh", "instructions": "Read the numbers."})
    seeing.vault.write("valve.png", PICTURE)

    seeing.level()

    (held,) = seeing.held
    config = held.overrides["vlm_config"]
    assert (config["description_language"], config["custom_instructions"]) == (
        "Chinese (Simplified)",
        "Read the numbers.",
    )
    assert seeing.vault.found("brick wall") == ["valve.png"]


def test_pictures_are_left_out_until_they_are_read_and_again_afterwards(seeing: Remote) -> None:
    change(seeing, images={"enabled": False})
    seeing.vault.write("valve.png", PICTURE)
    seeing.level()
    assert seeing.vault.row("valve.png").reason_code == "unsupported_type"
    assert seeing.uploads() == 0

    change(seeing, images={"enabled": True})
    assert Job.objects.filter(kind="knowledge.sync_source", status="queued").exists()
    seeing.level()
    assert set(seeing.vault.found("valve closed")) == {"valve.png"}

    change(seeing, images={"enabled": False})
    seeing.level()
    assert seeing.vault.found("valve closed") == []
    assert seeing.held == []


def test_page_of_a_scan_is_known_from_the_name_of_its_picture(seeing: Remote) -> None:
    scan = recorded()["scanned.pdf"].body
    seeing.stub.world.pictures[md5(scan)] = {1: ("The bridge over the canal is closed on Sundays.", "")}
    links = "![scanned_page_1.jpg](resource://aaaaaaaaaaaaaaaaaaaaaa)"
    seeing.stub.world.recorded[md5(scan)] = [(0, 0, len(links), links, "")]
    seeing.vault.write("scanned.pdf", scan)

    seeing.level()

    (hit,) = seeing.vault.search("bridge canal")
    body = hit.locator.to_json(url="")
    assert (body["kind"], body["page"], body["mapState"]) == ("pdf-region", 1, "page")
    assert (hit.quote, "bbox" in body) == ("", False)


@pytest.mark.parametrize("seen", [True, False])
def test_files_of_one_content_are_read_as_one(seeing: Remote, seen: bool) -> None:
    seeing.stub.world.pictures[md5(PICTURE)] = {1: (WORDS, SHOWN) if seen else ("", "")}
    for name in ("a.png", "b.png", "c.png"):
        seeing.vault.write(name, PICTURE)
    seeing.level()
    seeing.vault.write("later.png", PICTURE)

    seeing.level()

    assert {row.index_status for row in seeing.kb.documents.all()} == {"indexed" if seen else "failed"}
    assert _otherwise(seeing) == set()
    change(seeing, images={"language": "zh"})
    assert _otherwise(seeing) == {"a.png", "b.png", "c.png", "later.png"}


def test_scan_without_text_is_offered_again_when_pictures_are_read(reading: Remote) -> None:
    scan = recorded()["scanned.pdf"].body
    links = "![scanned_page_1.jpg](resource://aaaaaaaaaaaaaaaaaaaaaa)"
    reading.stub.world.recorded[md5(scan)] = [(0, 0, len(links), links, "")]
    reading.vault.write("scanned.pdf", scan)
    reading.level()
    assert reading.vault.row("scanned.pdf").reason_code == "no_text"

    give_sight(reading)
    reading.stub.world.pictures[md5(scan)] = {1: ("The bridge is closed.", "")}
    change(reading, images={"enabled": True})
    assert _reread(reading) == 1
    reading.level()

    assert reading.vault.found("bridge closed") == ["scanned.pdf"]


def test_every_page_is_read_as_a_picture_where_that_is_wanted(seeing: Remote) -> None:
    change(seeing, scannedPdfs="always")
    seeing.vault.write("plain.pdf", recorded()["plain.pdf"].body)
    seeing.vault.write("report.docx", recorded()["report.docx"].body)

    seeing.level()

    told = {each.name: each.overrides.get("parser_engine_overrides") for each in seeing.held}
    assert told == {"plain.pdf": {"pdf_force_scanned": "true"}, "report.docx": None}


def test_picture_without_a_model_says_what_is_missing(seeing: Remote) -> None:
    ProviderProfile.objects.update(vision_model_id="")
    seeing.vault.write("valve.png", PICTURE)

    seeing.level()

    row = seeing.vault.row("valve.png")
    assert (row.index_status, row.reason_code) == ("failed", "provider-vision-missing")


def test_text_of_ours_is_placed_as_before_beside_pictures(seeing: Remote) -> None:
    seeing.vault.write("plain.pdf", recorded()["plain.pdf"].body)
    seeing.level()

    hit = seeing.vault.search("pressure readings annual shutdown")[0]

    assert (hit.document.name, hit.locator.map_state) == ("plain.pdf", MapState.EXACT)


def test_drawer_shows_the_passages_of_a_picture_without_the_servers_words(seeing: Remote) -> None:
    seeing.vault.write("valve.png", PICTURE)
    seeing.level()
    row = Document.objects.get()
    client = seeing.vault.people.client("alice")
    address = reverse("knowledge:document", args=[row.kb_id, row.pk])

    pages = [client.get(address, {"tab": tab}) for tab in ("overview", "preview", "chunks")]

    assert {page.status_code for page in pages} == {200}
    assert "Its passages open the whole picture." in pages[0].text
    assert WORDS not in "".join(page.text for page in pages)


def test_model_that_fails_is_no_picture_without_words(seeing: Remote) -> None:
    """The server calls the document done; the picture is read again until the model works."""
    model = seeing.stub.world.models[seeing.profile.vision_model_id]
    model.behaviour = "500"
    seeing.vault.write("valve.png", PICTURE)
    for source in seeing.kb.sources.select_related("kb__workspace", "root"):
        sync.sync_source(source=source, order=sync.Order())
    for _ in range(3):
        drain.drain(kb=seeing.kb, worker="test")
        Document.objects.update(next_try_at=None)
    row = seeing.vault.row("valve.png")
    assert (row.index_status, row.reason_code) == ("queued", "provider-vision")

    model.behaviour = "ok"
    seeing.level()

    assert set(seeing.vault.found("valve closed")) == {"valve.png"}
    assert (seeing.uploads(), len(seeing.held)) == (1, 1)


def test_picture_in_which_nothing_stands_ends_with_its_reason(seeing: Remote) -> None:
    seeing.vault.write("sky.png", b"\x89PNG of nothing")

    seeing.level()

    assert seeing.vault.row("sky.png").reason_code == "no_text"


def test_search_page_shows_the_picture_in_place_of_words(seeing: Remote) -> None:
    seeing.vault.write("site/valve.png", PICTURE)
    seeing.level()
    client = seeing.vault.people.client("alice")

    page = client.get(reverse("knowledge:kb-search", args=[seeing.kb.pk]), {"q": "valve closed"})

    (picture,) = {each.get("src") for each in html.fromstring(page.text).xpath("//article//a[@class='picture']/img")}
    assert b"".join(client.get(picture).streaming_content) == PICTURE  # type: ignore[attr-defined]
    assert WORDS not in page.text
