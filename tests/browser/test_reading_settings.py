"""How a provider reads files, on the settings of a knowledge base and while one is made: looks and keyboard."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from knowledge.models import KnowledgeBase, ProviderProfile
from tests.browser.conftest import tab_to
from tests.browser.looks import LOOKS
from tests.factories.knowledge import DocumentFactory, KnowledgeBaseFactory, ProviderProfileFactory

ENGINES = [
    {"name": "builtin", "file_types": ["pdf", "docx"], "why_not": "", "recognises": False},
    {"name": "mineru", "file_types": ["pdf"], "why_not": "not-set-up", "recognises": True},
    {"name": "markitdown", "file_types": ["pdf", "docx"], "why_not": "", "recognises": False},
]
CHECKS = [
    {"name": "parser-engines", "result": "passed", "code": "", "facts": {"engines": ["builtin"], "all": ENGINES}},
    {"name": "vision", "result": "passed", "code": "", "facts": {"model": "sees-well"}},
]


@pytest.fixture
def library(transactional_db, people) -> ProviderProfile:
    """A service that reads files itself, with a model for pictures; nothing asks it here."""
    return ProviderProfileFactory(
        name="Library", workspaces=[people.workspace], vision_model_id="m2", check_json={"checks": CHECKS}
    )


@pytest.fixture
def kb(library, people) -> KnowledgeBase:
    """Read by the service; one document was read with other settings."""
    kb = KnowledgeBaseFactory(
        root=people.root, owner=people.alice, provider="weknora", profile=library, parsed_by="provider",
        reading_json={"engines": {"pdf": "markitdown"}},
    )  # fmt: skip
    DocumentFactory(kb=kb, source_path="a.pdf", source_type="pdf", citation_locator_json={"documentMap": "x"})
    return kb


@pytest.mark.parametrize("look", LOOKS, ids=str)
def test_sections_are_accessible_in_every_look(look, visit, snap, accessible, kb, people):
    page = visit(f"/kb/{kb.pk}/settings", as_user=people.alice, look=look)
    page.locator("#set-engines").scroll_into_view_if_needed()
    page.locator("details:has([name=engine-pdf]) > summary").click()

    snap(page, f"kb-settings-reading-{look}")
    accessible(page)
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")


def test_engine_is_chosen_by_keyboard_and_closed_ones_are_not(visit, kb, people):
    page: Page = visit(f"/kb/{kb.pk}/settings", as_user=people.alice)
    expect(page.get_by_text("1 file was read with other settings")).to_be_visible()
    tab_to(page, "Change the engines")
    page.keyboard.press("Enter")
    choice = page.get_by_label("PDF · .pdf")
    expect(choice.locator("option[value=mineru]")).to_be_disabled()
    tab_to(page, "PDF · .pdf")
    page.keyboard.type("builtin")
    tab_to(page, "Save the engines")
    page.keyboard.press("Enter")

    expect(page.get_by_text("The settings were saved. They hold for files that are read from now on.")).to_be_visible()
    expect(page.locator("section:has(#set-engines) dl")).to_contain_text("builtin")
    kb.refresh_from_db()
    assert kb.reading_json["engines"] == {"pdf": "builtin"}


def test_switch_without_a_model_says_so_where_it_is(visit, accessible, kb, people, complaints):
    ProviderProfile.objects.update(vision_model_id="")
    page: Page = visit(f"/kb/{kb.pk}/settings", as_user=people.alice)
    page.get_by_label("A model reads pictures and scans").check()
    page.locator("form:has([name=pictures-enabled])").get_by_role("button", name="Save").click()

    expect(page.locator("#id_pictures-enabled_error")).to_contain_text("names no model for pictures")
    accessible(page)
    complaints[:] = [each for each in complaints if "422" not in each]  # the browser notes every refusal


def test_service_is_proposed_for_scans_and_its_settings_come_with_the_choice(visit, accessible, library, people):
    for name in ("one.png", "two.png"):
        (people.folder / "scans").mkdir(exist_ok=True)
        (people.folder / "scans" / name).write_bytes(b"\x89PNG of a page")
    page: Page = visit("/kb/new", as_user=people.alice)
    page.get_by_label("Name", exact=True).fill("Scans")
    page.get_by_role("button", name="Choose files").click()
    page.get_by_role("checkbox", name="scans").click()
    expect(page.get_by_role("checkbox", name="scans")).to_have_attribute("aria-checked", "true")
    page.get_by_role("button", name="Review").click()
    page.locator("input[name=place][value=local]").check()
    expect(page.locator("input[name=place][value=local][checked]")).to_have_count(1)  # as the server has it

    page.get_by_role("button", name="Let “Library” read the files").click()

    expect(page.get_by_label("A model reads pictures and scans")).to_be_checked()
    expect(page.get_by_text("Parsing engines")).to_be_visible()
    accessible(page)
    page.locator("input[name=parsed_by][value=mnote]").check()
    expect(page.get_by_label("A model reads pictures and scans")).to_have_count(0)
    expect(page.get_by_role("button", name="Let “Library” read the files")).to_be_visible()
