"""Whole ways through the frame's pages, by mouse, by keyboard, on a phone, without scripts."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import focused, tab_to
from tests.browser.looks import Look


def test_signing_in_and_out_by_keyboard_alone(visit, people):
    page = visit("/account/")
    assert focused(page) == "Sign-in name"

    page.keyboard.type("alice")
    page.keyboard.press("Tab")
    page.keyboard.type("alice-secret")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Your account")).to_be_visible()

    page.keyboard.press("Tab")
    assert focused(page) == "Skip to the content"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert focused(page) == "Shown name"

    page.locator("body").press("Home")
    page.reload()
    tab_to(page, "Sign out")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_a_wrong_password_is_said_and_the_name_stays(visit, people, accessible, complaints):
    page = visit("/sign-in/")
    page.get_by_label("Sign-in name").fill("alice")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()

    expect(page.get_by_role("alert")).to_contain_text("Name and password do not match")
    expect(page.get_by_label("Sign-in name")).to_have_value("alice")
    accessible(page)
    complaints.clear()  # the browser writes every 422 into its console


def test_a_token_is_made_shown_once_and_revoked(visit, people, snap, accessible):
    page = visit("/account/", as_user=people.alice)
    page.get_by_label("What is it for?").fill("laptop")
    page.get_by_label("Search and read knowledge bases").check()
    page.get_by_role("button", name="Make the token").click()
    expect(page.locator("#new-secret")).to_have_text(re.compile(r"mnt_[\w-]{40}"))
    snap(page, "account-new-token")
    accessible(page)

    page.get_by_role("link", name="Revoke laptop").click()
    expect(page.locator("#modal")).to_contain_text("Revoke the token “laptop”?")
    snap(page, "account-revoke")
    page.locator("#modal").get_by_role("button", name="Revoke").click()

    expect(page.locator("#modal")).not_to_be_visible()
    expect(page.locator("#toasts")).to_contain_text("The token “laptop” was revoked.")
    expect(page.locator("#tokens")).not_to_contain_text("laptop")


def test_everything_works_without_scripts(visit, people):
    page = visit("/sign-in/?next=/account/", scripts=False)
    page.get_by_label("Sign-in name").fill("alice")
    page.get_by_label("Password").fill("alice-secret")
    page.get_by_role("button", name="Sign in").click()

    page.get_by_label("What is it for?").fill("laptop")
    page.get_by_label("Use Page AI").check()
    page.get_by_role("button", name="Make the token").click()
    expect(page.locator("#new-secret")).to_contain_text("mnt_")

    page.get_by_role("link", name="Revoke laptop").click()
    page.get_by_role("button", name="Revoke").click()
    expect(page.locator("#toasts")).to_contain_text("The token “laptop” was revoked.")

    page.get_by_role("button", name="Dark", exact=True).click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_the_menu_of_a_phone_holds_what_the_rail_holds(visit, people, snap, accessible):
    page = visit("/", as_user=people.alice, look=Look(device="phone"))
    expect(page.get_by_role("button", name="Sign out")).to_be_hidden()

    page.get_by_role("button", name="Menu").click()

    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    snap(page, "menu-phone")
    accessible(page)
    page.get_by_role("link", name="Notes").first.click()
    expect(page.get_by_role("heading", name="Notes", level=1)).to_be_visible()


def test_the_language_changes_on_the_same_page(visit, people):
    page = visit("/account/", as_user=people.alice)

    page.get_by_role("complementary").get_by_role("button", name="简体中文").click()

    expect(page.get_by_role("heading", name="你的账号")).to_be_visible()
    assert page.url.endswith("/account/")


def test_the_style_page_stays_readable_in_forced_colours(visit, administrator, snap):
    page = visit("/_styleguide/", as_user=administrator)
    page.emulate_media(forced_colors="active")

    snap(page, "styleguide-forced-colours")

    shape = page.locator("#lamps .lamp.failed svg").first
    assert shape.bounding_box()["width"] > 10
