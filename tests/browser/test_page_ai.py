"""The AI panel in Chromium, with OpenHub's own habits behind it: an empty chat, a second try, its own sign-in."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import FrameLocator, Page, expect

from mnote.models import Access
from mnote.services import users
from pageai.models import OpenHubBinding
from tests.browser.looks import LOOKS, Look
from tests.factories.mnote import GrantFactory
from tests.library import Library, make_library
from tests.pageai.panel.settings import connect
from tests.pageai.views.conftest import wait_until
from tests.people import People, make_people
from tests.stubs.openhub import OpenHubStub, openhub_stub
from tests.stubs.openhub_app import write_app

_NOTE = "# Framework agreement\n\n## Term\n\nEither party may terminate with three months notice.\n"


@pytest.fixture
def people(transactional_db: None, tmp_path: Path) -> People:
    return make_people(tmp_path / "notes")


@pytest.fixture
def library(people: People) -> Library:
    return make_library(people, {"contracts/agreement.md": _NOTE, "协议 & 补充.md": "# 协议\n\n通知期为三个月。\n"})


@pytest.fixture
def hub(tmp_path: Path, settings: Any) -> Iterator[OpenHubStub]:
    with openhub_stub(tmp_path / "openhub") as stub:
        connect(settings, stub, write_app(tmp_path / "app"))
        yield stub


Opened = Callable[..., Page]


@pytest.fixture
def opened(visit: Any, library: Library, complaints: list[str]) -> Iterator[Opened]:
    """Open a document as alice, with the panel open beside it."""

    def open_document(path: str = "contracts/agreement.md", *, look: Look | None = None, person: str = "alice") -> Page:
        people = library.people
        page = visit("/account/", as_user=people.user(person), look=look)
        page.context.add_cookies([{"name": "mnote_page_ai", "value": "open", "url": page.evaluate("origin + '/'")}])
        page.goto(f"/w/{people.workspace.pk}/open/{path}")
        return page

    yield open_document
    # OpenHub asks for its notifications, which are not there.
    complaints[:] = [each for each in complaints if "notifications" not in each]


def chat(page: Page) -> FrameLocator:
    frame = page.frame_locator("[data-page-ai-frame]")
    expect(frame.locator("#root[data-ready]")).to_be_attached()
    return frame


def ask(page: Page, question: str) -> FrameLocator:
    frame = chat(page)
    frame.locator("textarea").fill(question)
    frame.get_by_role("button", name="发送").click()
    return frame


def lamp(page: Page) -> Any:
    return page.locator("#page-ai-lamp")


def draw_anew(page: Page) -> None:
    """Let the strip be fetched and drawn again, as any news of the conversation does."""
    page.locator("#page-ai-now").evaluate("strip => { strip.dataset.old = ''; }")
    page.evaluate("htmx.trigger(document.body, 'page-ai:changed')")
    expect(page.locator("#page-ai-now[data-old]")).to_have_count(0)


def allow_refusals(page: Page, complaints: list[str]) -> None:
    """Take out that the panel was refused or found nothing, and close the page so that it asks no more."""
    page.close()
    complaints[:] = [each for each in complaints if not re.search(r"\b(401|404)\b.*/page-?ai/", each)]


def test_panel_opens_on_demand_and_is_remembered(
    visit: Any, library: Library, hub: OpenHubStub, complaints: list[str]
) -> None:
    page = visit(f"/w/{library.people.workspace.pk}/open/contracts/agreement.md", as_user=library.people.alice)
    assert not OpenHubBinding.objects.exists()

    page.get_by_role("button", name="Page AI").click()
    chat(page)
    page.reload()

    expect(page.locator("#page-ai")).to_be_visible()
    page.get_by_role("button", name="Close the panel").click()
    page.reload()
    expect(page.locator("#page-ai")).to_be_hidden()
    complaints[:] = [each for each in complaints if "notifications" not in each]


def test_question_is_answered_beside_the_document(opened: Opened, hub: OpenHubStub) -> None:
    page = opened()

    frame = ask(page, "How long is the notice period?")

    expect(frame.locator(".message-item-assistant")).to_have_text("Echo: How long is the notice period?")
    expect(page.locator("main h1").first).to_be_attached()


def test_conversation_goes_on_after_a_reload(opened: Opened, hub: OpenHubStub) -> None:
    page = opened()
    expect(ask(page, "first").locator(".message-item-assistant")).to_have_text("Echo: first")

    page.reload()

    expect(chat(page).locator(".message-item-assistant")).to_have_text("Echo: first")
    expect(ask(page, "second").locator(".message-item-assistant").last).to_have_text("Echo: second")
    assert len(hub.world.sessions) == 1


def test_another_page_has_another_conversation(opened: Opened, hub: OpenHubStub) -> None:
    expect(ask(opened(), "about the first").locator(".message-item-assistant")).to_be_visible()

    page = opened("协议 & 补充.md")

    expect(chat(page).locator(".message-item-user")).to_have_count(0)
    expect(page.locator(".ai-context")).to_contain_text("协议 & 补充.md")


def test_entries_of_what_mnote_replaces_are_not_shown(opened: Opened, hub: OpenHubStub) -> None:
    frame = chat(opened())

    for title in ("文件管理", "任务管理", "知识库", "时光机", "智能体", "协作任务", "退出"):
        expect(frame.locator(f'button[title="{title}"]')).to_be_hidden()
    for title in ("历史记录", "技能管理", "记忆"):
        expect(frame.locator(f'button[title="{title}"]')).to_be_visible()


def test_browser_holds_no_token_and_no_cookie_of_openhub(opened: Opened, hub: OpenHubStub) -> None:
    page = opened()
    expect(ask(page, "hello").locator(".message-item-assistant")).to_have_text("Echo: hello")

    stored = page.evaluate("JSON.stringify({...localStorage}) + document.cookie + document.documentElement.outerHTML")

    secrets = [hub.jwt_secret, hub.redis.url, hub.opencode.password, hub.url, hub.opencode_url]
    assert not [secret for secret in secrets if secret in stored]
    kept = json.loads(page.evaluate("JSON.stringify({...localStorage})"))
    assert set(kept) <= {"auth_token", "mnote.page_ai_active_run_snapshot.v1"}
    assert kept["auth_token"] == "host-managed"


def test_change_is_asked_for_shown_allowed_and_opened(opened: Opened, hub: OpenHubStub, library: Library) -> None:
    GrantFactory(root=library.root, user=library.people.alice, access=Access.WRITE)
    page = opened()
    target = library.people.folder / "board 摘要.md"

    ask(page, f"CALL write {json.dumps({'filePath': str(target), 'content': 'Three months.'}, ensure_ascii=False)}")

    expect(page.locator(".ask")).to_contain_text("The assistant wants to change board 摘要.md")
    expect(lamp(page)).to_contain_text("waits for you")
    page.get_by_text("Show change").click()
    expect(page.locator(".ai-diff")).to_contain_text("+Three months.")
    page.get_by_role("button", name="Allow once").click()
    expect(page.locator(".ask")).to_have_count(0)
    chip = page.locator(".ai-chips .chip")
    expect(chip).to_contain_text("board 摘要.md +1")
    chip.click()
    expect(page.locator("main[data-reading]")).to_have_attribute("data-reading", "board 摘要.md")
    expect(page.locator("main")).to_contain_text("Three months.")
    expect(page.locator("[data-page-ai-frame]")).to_be_visible()
    assert str(library.people.folder) not in page.content()


def test_change_that_is_declined_is_not_made(opened: Opened, hub: OpenHubStub, library: Library) -> None:
    GrantFactory(root=library.root, user=library.people.alice, access=Access.WRITE)
    page = opened()
    target = library.people.folder / "new.md"

    ask(page, f"CALL write {json.dumps({'filePath': str(target), 'content': 'x'})}")
    page.get_by_role("button", name="Decline").click()

    expect(page.locator(".ask")).to_have_count(0)
    expect(lamp(page)).to_contain_text("ready")
    assert not target.exists()


def test_question_of_the_agent_is_answered_in_the_strip(opened: Opened, hub: OpenHubStub) -> None:
    page = opened()
    options = [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cool"}]
    question = {"question": "Which colour?", "header": "Colour", "options": options}

    frame = ask(page, f"CALL question {json.dumps({'questions': [question]})}")
    page.get_by_label("Blue").check()
    page.get_by_role("button", name="Answer", exact=True).click()

    expect(frame.locator(".message-item-assistant")).to_contain_text('User has answered your questions: "Blue"')
    expect(page.locator(".ask")).to_have_count(0)


def test_choice_stays_when_the_strip_is_drawn_anew(opened: Opened, hub: OpenHubStub) -> None:
    page = opened()
    options = [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cool"}]
    question = {"question": "Which colour?", "header": "Colour", "options": options}
    frame = ask(page, f"CALL question {json.dumps({'questions': [question]})}")
    page.get_by_label("Blue").check()
    page.get_by_label("In your own words").fill("rather dark")

    draw_anew(page)

    expect(page.get_by_label("Blue")).to_be_checked()
    expect(page.get_by_label("In your own words")).to_be_focused()
    expect(page.get_by_label("In your own words")).to_have_value("rather dark")
    page.get_by_role("button", name="Answer", exact=True).click()
    expect(frame.locator(".message-item-assistant")).to_contain_text(
        'User has answered your questions: "Blue, rather dark"'
    )
    expect(page.locator(".ask")).to_have_count(0)


def test_selection_goes_along_and_can_be_left_out(opened: Opened, hub: OpenHubStub) -> None:
    page = opened()
    chat(page)

    page.locator("article p").first.select_text()
    expect(page.locator("[data-page-ai-quote]")).to_contain_text("Either party may terminate")
    expect(ask(page, "What is this?").locator(".message-item-assistant")).to_be_visible()

    (session,) = hub.opencode.sessions.values()
    assert "Either party may terminate" in hub.opencode.said_to(session)[-1]
    page.get_by_role("button", name="Leave the selection out").click()
    expect(page.locator("[data-page-ai-selection]")).to_be_hidden()


def test_question_whose_stream_is_cut_is_not_sent_again(opened: Opened, hub: OpenHubStub) -> None:
    page = opened()

    frame = ask(page, "DIE")

    expect(frame.locator(".error")).to_contain_text("The answer broke off")
    page.wait_for_timeout(400)
    assert len([each for each in hub.asked if each.path == "/api/query/stream"]) == 1


def test_turn_is_joined_again_after_a_reload(opened: Opened, hub: OpenHubStub) -> None:
    page = opened()
    ask(page, "WAIT long")
    expect(lamp(page)).to_contain_text("working")

    page.reload()
    frame = chat(page)
    expect(frame.locator(".message-item-user")).to_have_text("WAIT long")
    next(iter(hub.world.turns.values())).go_on.set()

    expect(frame.locator(".message-item-assistant").last).to_have_text("Echo: long")
    expect(lamp(page)).to_contain_text("ready")


def test_new_conversation_puts_the_old_one_away(opened: Opened, hub: OpenHubStub) -> None:
    page = opened()
    expect(ask(page, "old").locator(".message-item-assistant")).to_have_text("Echo: old")

    page.get_by_role("button", name="New conversation").click()

    expect(chat(page).locator(".message-item-user")).to_have_count(0)
    expect(ask(page, "new").locator(".message-item-assistant")).to_have_text("Echo: new")
    assert len(hub.world.sessions) == 2


def test_conversation_of_another_page_says_where_it_belongs(opened: Opened, hub: OpenHubStub) -> None:
    expect(ask(opened(), "about the first").locator(".message-item-assistant")).to_be_visible()
    page = opened("协议 & 补充.md")
    frame = chat(page)

    frame.get_by_role("button", name="历史记录").click()
    frame.get_by_text("about the first").click()

    expect(page.locator("#page-ai-belongs")).to_contain_text("belongs to contracts/agreement.md")
    page.get_by_role("button", name="Go on there").click()
    expect(page.locator("main[data-reading]")).to_have_attribute("data-reading", "contracts/agreement.md")
    expect(chat(page).locator(".message-item-user")).to_have_text("about the first")


def test_messages_of_other_windows_and_unknown_wishes_are_ignored(opened: Opened, hub: OpenHubStub) -> None:
    page = opened()
    chat(page)
    address = page.url

    page.evaluate("window.postMessage({mnote: 'open', url: '/admin/'}, location.origin)")
    inside = next(each for each in page.frames if "/pageai/openhub/" in each.url)
    for message in (
        "{mnote: 'open', url: 'https://evil.example/'}",
        "{mnote: 'open', url: '/admin/'}",
        "{mnote: 'constructor'}",
    ):
        inside.evaluate(f"window.parent.postMessage({message}, location.origin)")
    page.wait_for_timeout(200)

    assert page.url == address


def test_frame_may_ask_nothing_but_its_part_of_the_proxy(
    opened: Opened, hub: OpenHubStub, complaints: list[str]
) -> None:
    page = opened()
    chat(page)
    inside = next(each for each in page.frames if "/pageai/openhub/" in each.url)

    outcome = inside.evaluate("fetch('/api/me/').then(() => 'answered', () => 'refused')")

    assert outcome == "refused"
    complaints[:] = [each for each in complaints if "Content Security Policy" not in each and "/api/me" not in each]


def test_closing_the_account_ends_the_conversation(
    opened: Opened, hub: OpenHubStub, library: Library, complaints: list[str]
) -> None:
    page = opened(person="bob")
    frame = ask(page, "HANG")
    wait_until(lambda: hub.world.turns)

    users.deactivate(library.people.bob)

    expect(frame.locator(".error")).to_be_visible()
    wait_until(lambda: not hub.world.turns)
    expect(page.get_by_role("link", name="Sign in")).to_be_visible()
    allow_refusals(page, complaints)


def test_question_after_the_account_was_closed_leads_to_the_sign_in(
    opened: Opened, hub: OpenHubStub, library: Library, complaints: list[str]
) -> None:
    page = opened(person="bob")
    chat(page)

    users.deactivate(library.people.bob)
    ask(page, "Is anybody there?")

    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert not hub.world.turns
    allow_refusals(page, complaints)


def test_panel_without_openhub_says_so_and_offers_search(opened: Opened) -> None:
    page = opened()

    expect(page.locator("#page-ai")).to_contain_text("The AI panel is not set up here")
    expect(page.get_by_role("link", name="Search with citations")).to_be_visible()
    expect(page.locator("[data-page-ai-frame]")).to_have_count(0)


def test_panel_names_the_layer_that_is_down(opened: Opened, hub: OpenHubStub, complaints: list[str]) -> None:
    hub.redis.is_down = True

    page = opened()

    expect(page.locator("#page-ai")).to_contain_text("OpenHub's Redis does not answer")
    expect(page.get_by_role("link", name="Search instead")).to_be_visible()
    expect(lamp(page)).to_contain_text("not reachable")
    hub.redis.is_down = False
    complaints.clear()


def test_panel_has_a_page_of_its_own_on_phones(opened: Opened, hub: OpenHubStub, accessible: Any) -> None:
    page = opened(look=Look(device="phone"))
    expect(page.locator("#page-ai")).to_be_hidden()

    page.get_by_role("link", name="Page AI").click()
    expect(ask(page, "hello").locator(".message-item-assistant")).to_have_text("Echo: hello")

    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("link", name="Back to the document").click()
    expect(page.locator("main[data-reading]")).to_be_visible()


def test_panel_can_be_worked_by_keyboard(opened: Opened, hub: OpenHubStub) -> None:
    page = opened()
    chat(page)

    page.locator("#page-ai h2").focus()
    page.keyboard.press("Tab")
    names = []
    for _each in range(4):
        names.append(page.evaluate("document.activeElement.innerText || document.activeElement.title"))
        page.keyboard.press("Tab")

    assert names[0] == "New conversation"
    assert "Close the panel" in names


def test_agent_is_chosen_in_the_strip(opened: Opened, hub: OpenHubStub, accessible: Any, snap: Any) -> None:
    page = opened()
    chat(page)

    page.locator("#page-ai-settings > summary").click()
    page.locator('select[name="ai.common.defaultAgent"]').select_option("opencode")
    page.get_by_role("checkbox", name="Use knowledge bases").first.uncheck()
    snap(page, "page-ai-settings")
    accessible(page)
    page.get_by_role("button", name="Keep these settings").click()

    expect(page.locator("#page-ai-settings > summary")).to_have_text("Agent opencode · knowledge bases switched off")


@pytest.mark.parametrize("look", LOOKS, ids=str)
def test_panel_looks_right(
    opened: Opened, hub: OpenHubStub, library: Library, snap: Any, accessible: Any, look: Look
) -> None:
    GrantFactory(root=library.root, user=library.people.alice, access=Access.WRITE)
    page = opened(look=look)
    if look.device == "phone":
        page.locator(".ai-link").click()
    target = library.people.folder / "board" / "summary.md"
    target.parent.mkdir()
    frame = ask(page, "How long is the notice period, and does e-mail count?")
    expect(frame.locator(".message-item-assistant")).to_be_visible()

    ask(page, f"CALL write {json.dumps({'filePath': str(target), 'content': 'Three months.'})}")
    expect(page.locator(".ask")).to_be_visible()

    snap(page, f"page-ai-{look}")
    if look.device == "desktop":
        accessible(page)
    page.locator(".ask button[value=allow]").click()
    expect(page.locator(".ai-chips .chip")).to_be_visible()
    snap(page, f"page-ai-changed-{look}")


_KEPT = "localStorage.getItem('mnote.page_ai_active_run_snapshot.v1')"


def run_line(page: Page) -> Any:
    return page.locator("[data-page-ai-run]")


def test_a_run_is_still_shown_after_a_reload_in_its_middle_and_so_is_its_end(opened: Opened, hub: OpenHubStub) -> None:
    page = opened()
    ask(page, "WAIT long")
    expect(run_line(page)).to_have_attribute("data-is-live", "true")
    wait_until(lambda: page.evaluate(_KEPT))

    page.reload()
    expect(run_line(page)).to_contain_text("working")
    chat(page)
    next(iter(hub.world.turns.values())).go_on.set()

    expect(run_line(page)).to_have_attribute("data-is-live", "false")
    expect(run_line(page)).to_contain_text("finished")
    wait_until(lambda: not page.evaluate(_KEPT))


def test_a_run_is_read_on_its_own_page_while_it_goes_on(opened: Opened, hub: OpenHubStub, accessible: Any) -> None:
    page = opened()
    ask(page, "WAIT three months")
    expect(run_line(page)).to_have_attribute("data-is-live", "true")

    page.get_by_role("link", name="Run log").click()
    expect(page.get_by_role("heading", name="WAIT three months")).to_be_visible()
    next(iter(hub.world.turns.values())).go_on.set()

    expect(page.locator("p.said")).to_have_text("Echo: three months")
    expect(page.locator("#run")).to_contain_text("The assistant finished.")
    accessible(page)


def test_without_openhub_runs_can_be_read_and_searched_for(
    opened: Opened, hub: OpenHubStub, settings: Any, accessible: Any
) -> None:
    page = opened()
    expect(ask(page, "How long is it?").locator(".message-item-assistant")).to_have_text("Echo: How long is it?")
    expect(run_line(page)).to_contain_text("finished")
    settings.MNOTE_OPENHUB_URL = ""

    page.reload()
    page.get_by_role("link", name="Search with citations").focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.innerText") == "How long is it?"
    accessible(page)
    page.keyboard.press("Enter")

    expect(page.locator("p.said")).to_have_text("Echo: How long is it?")


@pytest.mark.parametrize("look", LOOKS, ids=str)
def test_journal_looks_right(opened: Opened, hub: OpenHubStub, snap: Any, accessible: Any, look: Look) -> None:
    page = opened(look=look)
    if look.device == "phone":
        page.locator(".ai-link").click()
    ask(page, "SAYFIRST CALL bash " + json.dumps({"command": "ls contracts"}))
    expect(run_line(page)).to_have_attribute("data-is-live", "false")
    snap(page, f"run-line-{look}")

    run_line(page).locator("a").click()

    expect(page.locator("p.said").first).to_be_visible()
    snap(page, f"run-{look}")
    accessible(page)
