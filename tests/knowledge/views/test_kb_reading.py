"""Sections of the settings about how the server reads files, and the same over the API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.http import HttpResponse
from django.urls import reverse
from lxml import html

from knowledge.models import KnowledgeBase, ProviderProfile
from knowledge.services import profile_checks
from mnote.models import AuditEntry, Job
from tests.knowledge.outside import level, move_to, profile_of
from tests.knowledge.vault import Vault
from tests.stubs.weknora import WeKnoraStub, weknora_stub
from tests.weknora_documents import recorded, teach

WIDE = {"manage_models", "manage_vector_stores"}


@pytest.fixture
def stub() -> Iterator[WeKnoraStub]:
    with weknora_stub("standard") as stub:
        teach(stub.world)
        yield stub


@pytest.fixture
def reading(vault: Vault, stub: WeKnoraStub) -> Vault:
    """Read by the server; its engines are not seen, and no model for pictures is entered."""
    profile = profile_of(stub)
    profile.workspaces.set([vault.people.workspace])
    move_to(vault, profile)
    KnowledgeBase.objects.update(parsed_by="provider")
    vault.kb.refresh_from_db()
    return vault


def check(vault: Vault, stub: WeKnoraStub, *, is_wide: bool = True, kind: str = "VLLM") -> None:
    """Enter a model for pictures and check the profile."""
    stub.world.keys[stub.key].rights |= WIDE if is_wide else set()
    model = stub.world.add_model(name="stub-vision", kind=kind)
    ProviderProfile.objects.update(vision_model_id=model.id)
    profile_checks.check_profile(by=vault.alice, profile=ProviderProfile.objects.get())


def post(vault: Vault, section: str, who: str = "alice", **data: Any) -> HttpResponse:
    return vault.people.client(who).post(address(vault), {"section": section, **data})


def address(vault: Vault) -> str:
    return reverse("knowledge:kb-settings", args=[vault.kb.pk])


def shown(vault: Vault) -> str:
    return vault.people.client("alice").get(address(vault)).text


def patch(vault: Vault, body: dict[str, Any], who: str = "alice") -> HttpResponse:
    address = f"/api/knowledge/knowledge-bases/{vault.kb.pk}"
    return vault.people.client(who).patch(address, body, content_type="application/json")


def settings(vault: Vault) -> dict[str, Any]:
    return KnowledgeBase.objects.get(pk=vault.kb.pk).reading_json


def test_sections_are_shown_only_where_the_server_reads(reading: Vault) -> None:
    assert "Parsing engines" in shown(reading)

    KnowledgeBase.objects.update(parsed_by="mnote")
    assert "Parsing engines" not in shown(reading)
    assert "Reading files" in shown(reading)

    KnowledgeBase.objects.update(provider="local", profile=None)
    page = shown(reading)
    assert "Reading files" not in page
    assert post(reading, "engines", **{"engine-pdf": "mineru"}).status_code == 422
    assert settings(reading) == {}


def test_engines_that_cannot_be_chosen_are_listed_closed_with_a_reason(reading: Vault, stub: WeKnoraStub) -> None:
    check(reading, stub)

    page = html.fromstring(shown(reading))

    options = page.xpath("//select[@name='engine-pdf']/option")
    assert [(each.get("value"), each.get("disabled") is not None) for each in options] == [
        ("", False), ("builtin", False), ("mineru", True), ("mineru_cloud", True), ("paddleocr_vl", True),
        ("markitdown", False),
    ]  # fmt: skip
    assert options[2].text == "mineru – not set up at the server"
    assert "Recommended: builtin." in page.text_content()
    assert not page.xpath("//select[@name='engine-table']/option[@value='builtin']")


def test_key_that_sees_no_engines_is_told_so_and_takes_names(reading: Vault) -> None:
    page = html.fromstring(shown(reading))

    assert "is not visible with its key" in page.text_content()
    assert page.xpath("//input[@name='engine-pdf'][@type='text']")
    assert post(reading, "engines", **{"engine-pdf": "mineru", "engine-word": ""}).status_code == 302
    assert settings(reading)["engines"] == {"pdf": "mineru"}


def test_refused_engine_says_so_at_its_field_and_nothing_is_saved(reading: Vault, stub: WeKnoraStub) -> None:
    check(reading, stub)

    answer = post(reading, "engines", **{"engine-pdf": "mineru", "engine-word": "builtin"})

    errors = html.fromstring(answer.text).get_element_by_id("id_engine-pdf_error")
    assert answer.status_code == 422
    assert errors.text_content().strip() == "This engine does not work at the server now."
    assert settings(reading) == {}


def test_pictures_without_a_model_are_refused_at_the_switch(reading: Vault) -> None:
    answer = post(reading, "pictures", **{"pictures-enabled": "on"})

    errors = html.fromstring(answer.text).get_element_by_id("id_pictures-enabled_error")
    assert answer.status_code == 422
    assert "names no model for pictures" in errors.text_content()
    assert settings(reading) == {}


def test_pictures_are_saved_with_language_and_instructions(reading: Vault, stub: WeKnoraStub) -> None:
    check(reading, stub, is_wide=False)
    assert "Read by the model “stub-vision”" in shown(reading)

    data = {"enabled": "on", "language": "zh", "instructions": "Numbers.", "scanned_pdfs": "always"}
    answer = post(reading, "pictures", **{f"pictures-{name}": value for name, value in data.items()})

    assert answer.status_code == 302
    assert settings(reading)["images"] == {"enabled": True, "language": "zh", "instructions": "Numbers."}
    assert settings(reading)["scannedPdfs"] == "always"
    entry = AuditEntry.objects.get(action="kb.update")
    assert entry.facts["after"]["reading_json"]["images"]["enabled"] is True


def test_files_read_with_other_settings_are_counted_and_read_again_on_one_click(reading: Vault) -> None:
    reading.write("plain.pdf", recorded()["plain.pdf"].body)
    level(reading.kb)
    assert "other settings" not in shown(reading)

    post(reading, "engines", **{"engine-pdf": "mineru"})
    assert "Read 1 file again" in shown(reading)
    answer = reading.people.client("alice").post(address(reading), {"section": "reread"}, follow=True)

    assert "1 file is read again." in answer.text
    assert Job.objects.get(kind="knowledge.reread_kb").payload == {"kb_id": reading.kb.pk, "only": "otherwise"}


@pytest.mark.parametrize("who", ["bob", "carol", "mallory"])
def test_only_managers_change_it(reading: Vault, who: str) -> None:
    assert post(reading, "engines", who, **{"engine-pdf": "mineru"}).status_code in (403, 404)
    assert patch(reading, {"reading": {"engines": {"pdf": "mineru"}}}, who).status_code in (403, 404)
    assert settings(reading) == {}


def test_api_shows_and_changes_the_same(reading: Vault, stub: WeKnoraStub) -> None:
    check(reading, stub)
    reading.write("plain.pdf", recorded()["plain.pdf"].body)
    level(reading.kb)

    answer = patch(
        reading, {"reading": {"engines": {"pdf": "markitdown"}, "images": {"enabled": True}}, "reread": True}
    )

    assert answer.status_code == 200
    assert answer.json()["reading"] == {
        "engines": {"pdf": "markitdown"},
        "images": {"enabled": True, "language": "", "instructions": ""},
        "scannedPdfs": "auto",
    }
    assert Job.objects.filter(kind="knowledge.reread_kb").count() == 1
    kept = patch(reading, {"reading": {"images": {"language": "en"}}}).json()["reading"]
    assert (kept["engines"], kept["images"]["enabled"], kept["images"]["language"]) == (
        {"pdf": "markitdown"},
        True,
        "en",
    )


def test_api_names_the_field_that_is_wrong(reading: Vault, stub: WeKnoraStub) -> None:
    check(reading, stub)

    answer = patch(reading, {"reading": {"engines": {"pdf": "mineru", "mail": "x"}}})

    assert answer.status_code in (400, 422)
    assert {name: found[0]["code"] for name, found in answer.json()["errors"].items()} == {
        "reading.engines.pdf": "unavailable",
        "reading.engines.mail": "invalid_type",
    }
    shape = patch(reading, {"reading": {"scannedPdfs": "sometimes"}})
    assert shape.status_code in (400, 422)


def test_api_says_what_a_server_reads(reading: Vault, stub: WeKnoraStub) -> None:
    check(reading, stub)
    client = reading.people.client("alice")

    (choice,) = client.get("/api/knowledge/provider-profiles", {"workspaceId": reading.people.workspace.pk}).json()

    pdf = next(each for each in choice["reading"]["types"] if each["type"] == "pdf")
    assert (choice["reading"]["seesEngines"], choice["reading"]["noImages"]) == (True, "")
    assert (pdf["recommended"], pdf["fileTypes"]) == ("builtin", ["pdf"])
    assert {each["name"]: each["whyNot"] for each in pdf["engines"]}["mineru"] == "not-set-up"
    assert stub.url not in str(choice)
