"""What the frame's script does, tried on the style page."""

from __future__ import annotations

import re

import pytest
from django.contrib.sessions.models import Session
from playwright.sync_api import expect

from tests.browser.conftest import focused
from tests.browser.looks import Look
from tests.factories.mnote import JobFactory

PAGE = "/_styleguide/"
POLLER = """path => {
    document.querySelector("#main").insertAdjacentHTML("afterbegin",
        `<div id="poller" data-poll hx-get="${path}" hx-trigger="kb:poke from:body" hx-swap="none"></div>`);
    htmx.process(document.querySelector("#poller"));
}"""
POKE = "() => document.body.dispatchEvent(new CustomEvent('kb:poke'))"


@pytest.fixture
def page(visit, administrator):
    return visit(PAGE, as_user=administrator)


def opened(page, name, dialog):
    page.get_by_role("link", name=name, exact=True).click()
    expect(page.locator(dialog)).to_be_visible()


def test_a_dialog_takes_the_focus_and_gives_it_back(page, accessible):
    opened(page, "Dialog g d", "#modal")

    assert focused(page) == "Cancel"
    accessible(page)

    page.keyboard.press("Escape")
    expect(page.locator("#modal")).not_to_be_visible()
    assert focused(page).startswith("Dialog")


def test_a_dialog_closes_by_its_own_button(page):
    opened(page, "Dialog g d", "#modal")

    page.get_by_role("link", name="Cancel").click()

    expect(page.locator("#modal")).not_to_be_visible()
    assert page.url.endswith(PAGE)


def test_a_dialog_asks_before_it_loses_what_was_typed(page):
    opened(page, "Form", "#modal")
    page.locator("#modal input[name=display_name]").fill("Alice in the office")
    asked = []
    page.once("dialog", lambda dialog: (asked.append(dialog.message), dialog.dismiss()))

    page.get_by_role("button", name="Cancel").click()

    assert asked == ["Close and lose what you typed?"]
    expect(page.locator("#modal")).to_be_visible()

    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#modal")).not_to_be_visible()


def test_a_dialog_nobody_typed_in_closes_without_a_question(page):
    opened(page, "Form", "#modal")

    page.keyboard.press("Escape")

    expect(page.locator("#modal")).not_to_be_visible()


def test_the_drawer_leaves_the_page_usable_on_a_wide_screen(page, accessible):
    opened(page, "Drawer", "#drawer")

    assert page.evaluate("document.querySelector('#drawer').matches(':modal')") is False
    assert focused(page) == "annex-b-drawings.pdf"
    accessible(page)

    page.keyboard.press("Escape")
    expect(page.locator("#drawer")).not_to_be_visible()
    assert focused(page) == "Drawer"


def test_the_drawer_holds_the_focus_on_a_phone(visit, administrator, accessible, snap):
    page = visit(PAGE, as_user=administrator, look=Look(device="phone"))

    opened(page, "Drawer", "#drawer")

    assert page.evaluate("document.querySelector('#drawer').matches(':modal')") is True
    snap(page, "drawer-phone")
    accessible(page)


def test_a_message_appears_in_a_live_region(page):
    page.get_by_role("link", name="Message", exact=True).click()

    expect(page.locator("#toasts[role=status]")).to_contain_text("The knowledge base was saved.")


def test_a_problem_goes_to_the_corner_and_replaces_nothing(page, complaints):
    page.get_by_role("link", name="Problem", exact=True).click()

    expect(page.locator("#toasts")).to_contain_text("Somebody else changed this meanwhile.")
    expect(page.locator("#floating")).to_contain_text("Drawer")
    complaints.clear()  # the browser writes every 409 into its console


def test_keys_click_what_carries_them(page):
    page.keyboard.press("g")
    page.keyboard.press("d")

    expect(page.locator("#modal")).to_be_visible()


def test_keys_are_letters_where_somebody_types(page):
    page.keyboard.press("/")
    page.keyboard.type("good/d")

    expect(page.get_by_role("searchbox", name="Filter")).to_have_value("good/d")
    expect(page.locator("#modal")).not_to_be_visible()


def test_keys_of_an_input_method_are_left_alone(page):
    page.evaluate(
        "['g', 'd'].forEach(key => document.body.dispatchEvent("
        "new KeyboardEvent('keydown', {key, isComposing: true, bubbles: true})))"
    )

    expect(page.locator("#modal")).not_to_be_visible()


def test_keys_move_through_a_list(page):
    for key in ("j", "j", "j", "k"):
        page.keyboard.press(key)

    assert page.evaluate("document.activeElement.closest('tr').rowIndex") == 2


def test_shift_takes_the_range_between_two_clicks(page):
    page.get_by_label("Select file 2").check()
    page.get_by_label("Select file 5").click(modifiers=["Shift"])

    expect(page.locator("[data-select-count]")).to_have_text("4 selected")
    expect(page.locator("tr[aria-selected=true]")).to_have_count(4)


def test_selecting_all_and_none_shows_and_hides_the_bar(page):
    bar = page.locator("[data-select-bar]")
    expect(bar).to_be_hidden()

    page.get_by_label("Select all").check()
    expect(bar).to_contain_text("7 selected")

    page.get_by_label("Select all").uncheck()
    expect(bar).to_be_hidden()


def test_copying_says_so(page):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])

    page.get_by_role("button", name="Copy").click()

    expect(page.locator("#toasts")).to_contain_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == "reports/2024/framework-agreement.md:41–44"


def test_colours_change_at_once_and_stay(page):
    with page.expect_response("**/theme/"):
        page.get_by_role("button", name="Dark colours").click()

    assert page.evaluate("getComputedStyle(document.body).colorScheme") == "dark"
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_a_form_works_after_somebody_signed_in_anew_in_another_tab(visit, people):
    page = visit("/account/", as_user=people.alice)
    other = page.context.new_page()
    other.goto("/account/")
    other.get_by_role("button", name="Sign out").click()
    other.get_by_label("Sign-in name").fill("alice")
    other.get_by_label("Password").fill("alice-secret")
    other.get_by_role("button", name="Sign in").click()
    expect(other.get_by_role("heading", name="Home")).to_be_visible()

    page.get_by_label("What is it for?").fill("laptop")
    page.get_by_label("Use Page AI").check()
    page.get_by_role("button", name="Make the token").click()

    expect(page.locator("#new-secret")).to_contain_text("mnt_")


def test_polling_stops_with_a_notice_when_the_session_ends(visit, people):
    page = visit("/account/", as_user=people.alice)
    page.get_by_label("Shown name").fill("half a na")
    page.evaluate(POLLER, "/account/")
    Session.objects.all().delete()

    page.evaluate(POKE)

    strip = page.locator("#connection-strip")
    expect(strip).to_contain_text("You are signed out.")
    expect(strip.get_by_role("link", name="Sign in again")).to_have_attribute("href", "/sign-in/?next=%2Faccount%2F")
    expect(page.get_by_label("Shown name")).to_have_value("half a na")


def test_polling_says_as_of_when_the_page_is_while_the_server_is_away(page, complaints):
    page.evaluate(POLLER, "/_styleguide/?part=toast")
    page.route("**/*part=toast", lambda route: route.abort())

    page.evaluate(POKE)

    expect(page.locator("#connection-strip")).to_contain_text(
        re.compile(r"The server does not answer\. What you see is as of \d\d:\d\d")
    )
    page.unroute("**/*part=toast")
    complaints.clear()  # the browser writes every failed request into its console


def test_polling_rests_while_the_tab_is_hidden(page):
    page.evaluate(POLLER, "/_styleguide/?part=toast")
    page.evaluate("Object.defineProperty(document, 'hidden', {value: true, configurable: true})")
    page.evaluate(POKE)
    page.evaluate("Object.defineProperty(document, 'hidden', {value: false, configurable: true})")
    expect(page.locator("#toasts [data-toast]")).to_have_count(0)

    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")

    expect(page.locator("#toasts [data-toast]")).to_have_count(1)


def test_the_stream_pokes_when_something_changed(visit, people):
    page = visit("/", as_user=people.alice)
    address = f"/api/jobs/events?workspaceId={people.workspace.pk}"
    page.evaluate(
        """address => {
            document.body.addEventListener("kb:poke", () => { document.title = "poked"; });
            document.querySelector("#main").dataset.events = address;
        }""",
        address,
    )
    with page.expect_response(lambda response: response.url.endswith(address)):
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    page.evaluate("document.title = 'quiet'")

    JobFactory(workspace=people.workspace)

    expect(page).to_have_title("poked")


def test_the_stream_rests_while_the_tab_is_hidden(visit, people):
    page = visit("/", as_user=people.alice)
    asked = []
    page.on("request", lambda request: asked.append(request.url) if "events" in request.url else None)
    page.evaluate("document.querySelector('#main').dataset.events = '/api/jobs/events?workspaceId=x'")
    page.evaluate("Object.defineProperty(document, 'hidden', {value: true, configurable: true})")

    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")

    assert asked == []


def ask_and_leave(page, attributes, **answer):
    """Let an element ask, and take it off the page before its answer is there: the server's, or the one given."""
    page.evaluate(
        """attributes => {
            const asker = `<div id="asker" hx-trigger="ask" hx-swap="none" ${attributes}></div>`;
            document.querySelector("#main").insertAdjacentHTML("afterbegin", asker);
            htmx.process(document.querySelector("#asker"));
        }""",
        attributes,
    )

    def answer_late(route):
        page.evaluate("document.querySelector('#asker').remove()")
        route.fulfill(**answer) if answer else route.fallback()

    page.route("**/_styleguide/?part=*", answer_late)
    with page.expect_response("**/_styleguide/?part=*"):
        page.evaluate("htmx.trigger('#asker', 'ask')")


def test_an_answer_to_what_left_the_page_updates_nothing(page, complaints):
    answer = '<h1 id="copying" hx-swap-oob="true">Of the page before</h1>'

    ask_and_leave(page, 'hx-get="?part=late"', body=answer, content_type="text/html")

    expect(page.locator("#copying")).to_contain_text("Copying, folding, keys")
    assert complaints == []


def test_a_message_to_what_left_the_page_is_shown(page):
    ask_and_leave(page, 'hx-get="?part=toast"')

    expect(page.locator("#toasts [data-toast]")).to_have_count(1)


def test_a_problem_of_what_left_the_page_is_shown(page, complaints):
    ask_and_leave(page, 'hx-get="?part=problem"')

    expect(page.locator("#toasts [data-problem]")).to_have_count(1)
    complaints.clear()  # the browser writes every refused request into its console


def test_nobody_is_told_what_a_poll_that_left_the_page_was_answered(page, complaints):
    ask_and_leave(page, 'data-poll hx-get="?part=problem"')

    expect(page.locator("#toasts [data-problem]")).to_have_count(0)
    complaints.clear()
