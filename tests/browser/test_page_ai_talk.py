"""Page AI without OpenHub: a conversation with opencode itself, beside the document, in Chromium."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from mnote.models import Access
from tests.browser.conftest import tab_to
from tests.browser.looks import LOOKS, Look
from tests.factories.mnote import GrantFactory
from tests.library import Library, make_library
from tests.pageai.panel.settings import connect
from tests.pageai.views.conftest import wait_until
from tests.people import People, make_people
from tests.stubs.openhub import OpenHubStub, openhub_stub

_NOTE = "# Framework agreement\n\n## Term\n\nEither party may terminate with three months notice.\n"
_COLOURS = [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cool"}]
_QUESTION = {"questions": [{"question": "Which colour?", "header": "Colour", "options": _COLOURS}]}

Opened = Callable[..., Page]


@pytest.fixture
def people(transactional_db: None, tmp_path: Path) -> People:
    return make_people(tmp_path / "notes")


@pytest.fixture
def library(people: People) -> Library:
    return make_library(people, {"contracts/agreement.md": _NOTE})


@pytest.fixture
def hub(tmp_path: Path, settings: Any) -> Iterator[OpenHubStub]:
    """An opencode; of the OpenHub around it nobody is told."""
    with openhub_stub(tmp_path / "openhub") as stub:
        connect(settings, stub)
        settings.MNOTE_OPENHUB_URL = ""
        yield stub


@pytest.fixture
def opened(visit: Any, library: Library, hub: OpenHubStub) -> Opened:
    """Open the document as alice, each time in a browser of its own, with the panel beside it."""

    def open_document(look: Look | None = None) -> Page:
        people = library.people
        page = visit("/account/", as_user=people.alice, look=look)
        page.context.add_cookies([{"name": "mnote_page_ai", "value": "open", "url": page.evaluate("origin + '/'")}])
        page.goto(f"/w/{people.workspace.pk}/open/contracts/agreement.md")
        if look and look.device == "phone":
            page.locator(".ai-link").click()
        return page

    return open_document


def ask(page: Page, question: str) -> None:
    page.locator("#page-ai-say textarea").fill(question)
    page.locator("#page-ai-say button").click()


def answers(page: Page) -> Any:
    return page.locator("#page-ai-talk .reply")


def go_on(hub: OpenHubStub) -> None:
    wait_until(lambda: hub.world.turns)
    next(iter(hub.world.turns.values())).go_on.set()


def test_a_conversation_from_question_to_changed_file(opened: Opened, hub: OpenHubStub, library: Library) -> None:
    GrantFactory(root=library.root, user=library.people.alice, access=Access.WRITE)
    page = opened()
    target = library.people.folder / "summary.md"

    page.locator("#page-ai-say textarea").fill("How long is the notice period?")
    page.keyboard.press("Enter")
    expect(answers(page)).to_have_text("Echo: How long is the notice period?")
    expect(page.locator("#page-ai-say textarea")).to_have_value("")

    ask(page, f"CALL write {json.dumps({'filePath': str(target), 'content': 'Three months.'})}")
    expect(page.locator(".ask")).to_contain_text("The assistant wants to change summary.md")
    page.get_by_role("button", name="Allow once").click()
    expect(page.locator(".ask")).to_have_count(0)
    chip = page.locator(".ai-chips .chip")
    expect(chip).to_contain_text("summary.md +1")
    chip.click()
    expect(page.locator("main[data-reading]")).to_have_attribute("data-reading", "summary.md")

    ask(page, f"CALL question {json.dumps(_QUESTION)}")
    page.get_by_label("Blue").check()
    page.get_by_role("button", name="Answer", exact=True).click()
    expect(answers(page).last).to_contain_text('answered your questions: "Blue"')
    assert str(library.people.folder) not in page.content()


def test_an_answer_grows_and_goes_on_after_a_reload_and_elsewhere(opened: Opened, hub: OpenHubStub) -> None:
    page, other = opened(), opened()
    hub.world.pause_seconds = 0.05
    ask(page, "SAYFIRST CALL question " + json.dumps(_QUESTION))
    expect(page.locator(".reply.live")).to_have_text("Let me use a tool.")

    expect(other.locator(".reply.live")).to_have_text("Let me use a tool.")
    page.reload()
    expect(page.locator(".reply.live")).to_have_text("Let me use a tool.")
    page.get_by_label("Red").check()
    page.get_by_role("button", name="Answer", exact=True).click()

    for each in (page, other):
        expect(each.locator(".reply.live")).to_have_count(0)
        expect(answers(each)).to_contain_text("Let me use a tool.")
        expect(answers(each)).to_contain_text('answered your questions: "Red"')
        expect(each.locator("#page-ai-talk .me")).to_have_count(1)


def test_what_changed_is_read_line_by_line(
    opened: Opened, hub: OpenHubStub, library: Library, snap: Any, accessible: Any
) -> None:
    GrantFactory(root=library.root, user=library.people.alice, access=Access.WRITE)
    page = opened()
    edit = {
        "filePath": str(library.people.folder / "contracts" / "agreement.md"),
        "oldString": "three",
        "newString": "six",
    }
    ask(page, f"CALL edit {json.dumps(edit)}")
    page.get_by_role("button", name="Allow once").click()
    page.locator(".ai-chips .chip").click()
    expect(page.locator("#main #cited")).to_contain_text("six months")

    page.get_by_role("link", name="What changed in files").click()

    expect(page.locator(".ai-diff")).to_contain_text("+Either party may terminate with six months notice.")
    snap(page, "run-changes")
    accessible(page)
    page.locator("#changes > summary").click()
    expect(page.locator(".ai-diff")).to_be_hidden()


def test_a_run_is_stopped(opened: Opened, hub: OpenHubStub) -> None:
    page = opened()
    ask(page, "HANG")

    page.get_by_role("button", name="Stop").click()

    expect(answers(page)).to_contain_text("It was stopped.")
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    ask(page, "hello")
    expect(answers(page).last).to_have_text("Echo: hello")


def test_a_question_that_is_refused_stays_in_its_field(opened: Opened, hub: OpenHubStub) -> None:
    page = opened()
    hub.opencode.is_down = True

    ask(page, "Is anybody there?")

    expect(page.locator("#toasts")).to_contain_text("opencode does not answer")
    expect(page.locator("#page-ai-say textarea")).to_have_value("Is anybody there?")
    expect(page.locator("#page-ai-say button")).to_be_enabled()


def test_a_new_conversation_is_empty(opened: Opened, hub: OpenHubStub) -> None:
    page = opened()
    ask(page, "old")
    expect(answers(page)).to_have_text("Echo: old")

    page.get_by_role("button", name="New conversation").click()

    expect(answers(page)).to_have_count(0)
    ask(page, "new")
    expect(answers(page)).to_have_text("Echo: new")


def test_news_of_the_conversation_before_come_late(opened: Opened, hub: OpenHubStub, complaints: list[str]) -> None:
    page = opened()
    ask(page, "old")
    expect(answers(page)).to_have_text("Echo: old")
    held: list[Route] = []
    page.route("**/now", lambda route: held.append(route), times=1)  # noqa: PLW0108 -- a method cannot be a handler
    page.evaluate("document.body.dispatchEvent(new CustomEvent('page-ai:changed'))")
    wait_until(lambda: held or page.wait_for_timeout(20))

    page.get_by_role("button", name="New conversation").click()
    expect(answers(page)).to_have_count(0)
    with page.expect_response(held[0].request.url):
        held[0].continue_()

    expect(page.locator("#page-ai-now")).to_have_attribute("data-running", "false")
    assert complaints == []


def test_it_is_worked_by_keyboard(opened: Opened, hub: OpenHubStub) -> None:
    page = opened()
    expect(page.locator("#page-ai-say")).to_be_visible()

    page.locator("#page-ai h2").focus()
    tab_to(page, "Ask about this page")
    page.keyboard.type("one")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("two")
    page.keyboard.press("Enter")

    expect(page.locator("#page-ai-talk .me")).to_have_text("one\ntwo")
    expect(answers(page)).to_contain_text("Echo: one")


@pytest.mark.parametrize("look", LOOKS, ids=str)
def test_it_looks_right(
    opened: Opened, hub: OpenHubStub, library: Library, snap: Any, accessible: Any, look: Look
) -> None:
    GrantFactory(root=library.root, user=library.people.alice, access=Access.WRITE)
    page = opened(look)
    expect(page.locator("#page-ai-say")).to_be_visible()
    snap(page, f"talk-empty-{look}")
    accessible(page)
    ask(page, "**How long** is the notice period?\n\n- in months\n- in writing, says [the law](https://example.org/)")
    expect(answers(page)).to_contain_text("Echo")
    ask(page, f"CALL write {json.dumps({'filePath': str(library.people.folder / 'summary.md'), 'content': 'x'})}")
    expect(page.locator(".ask")).to_be_visible()

    snap(page, f"talk-{look}")
    accessible(page)
