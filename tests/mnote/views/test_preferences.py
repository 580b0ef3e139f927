from __future__ import annotations

import pytest
from django.test import Client


def test_language_is_kept_in_the_browser_and_with_the_person(people):
    browser = people.client("alice")

    response = browser.post("/language/", {"language": "zh-hans", "next": "/account/"})

    assert response.headers["Location"] == "/account/"
    assert 'lang="zh-hans"' in browser.get("/account/").text
    people.alice.refresh_from_db()
    assert people.alice.language == "zh-hans"


def test_language_works_before_signing_in(db):
    browser = Client()

    browser.post("/language/", {"language": "zh-hans", "next": "/sign-in/"})

    assert "登录" in browser.get("/sign-in/").text


@pytest.mark.parametrize("language", ["", "xx", "de", "../../etc"])
def test_language_ignores_what_it_does_not_speak(language, people):
    response = people.client("alice").post("/language/", {"language": language})

    assert "mnote_language" not in response.cookies


@pytest.mark.parametrize("path", ["/language/", "/theme/"])
def test_preferences_lead_nowhere_else(path, people):
    response = people.client("alice").post(path, {"language": "en", "theme": "dark", "next": "//evil.example"})

    assert response.headers["Location"] == "/"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_theme_is_in_the_first_byte_of_the_next_page(theme, people):
    browser = people.client("alice")

    browser.post("/theme/", {"theme": theme})

    assert f'data-theme="{theme}"' in browser.get("/").text
    people.alice.refresh_from_db()
    assert people.alice.theme == theme


def test_theme_goes_back_to_the_system(people):
    browser = people.client("alice")
    browser.post("/theme/", {"theme": "dark"})

    browser.post("/theme/", {"theme": ""})

    assert "data-theme=" not in browser.get("/").text.split(">", 2)[1]


def test_theme_ignores_what_is_no_theme(people):
    response = people.client("alice").post("/theme/", {"theme": '"><script>'})

    assert "mnote_theme" not in response.cookies


@pytest.mark.parametrize(
    ("zone", "clock"),
    [("Asia%2FShanghai", "20:00"), ("America/New_York", "07:00"), ("../etc/passwd", "12:00"), ("", "12:00")],
)
def test_times_are_written_in_the_clock_of_the_browser(zone, clock, people, time_machine):
    time_machine.move_to("2026-11-30T12:00:00+00:00", tick=False)
    browser = people.client("alice")
    browser.cookies["mnote_time_zone"] = zone
    browser.post("/account/tokens/", {"name": "x", "scopes": ["mcp"], "lifetime": "30"})

    assert f"30 Dec {clock}" in browser.get("/account/").text
