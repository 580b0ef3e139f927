from __future__ import annotations

import pytest
from django.test import Client

from mnote.models import SignInLink
from mnote.services import profiles, sign_in_attempts, users

PASSWORD = "a fine long password"
FOREIGN = [
    "//evil.example",
    "/\\evil.example",
    "https:evil.example",
    "https://evil.example/",
    "%2f%2fevil.example",
    "javascript:alert(1)",
    "/x\r\nSet-Cookie: a=b",
    "http://testserver@evil.example/",
    "http://testserver/account/",
    "account/",
    "\t//evil.example",
]


@pytest.fixture
def alice(people):
    profiles.set_password(user=people.alice, password=PASSWORD)
    return people.alice


@pytest.fixture
def browser():
    return Client(raise_request_exception=False)


def sign_in(browser, username="alice", password=PASSWORD, **extra):
    return browser.post("/sign-in/", {"username": username, "password": password, **extra})


def is_signed_in(browser):
    return browser.get("/").status_code == 200


def test_sign_in_leads_home(browser, alice):
    response = sign_in(browser)

    assert response.headers["Location"] == "/"
    assert is_signed_in(browser)


def test_sign_in_follows_a_path_of_this_site(browser, alice):
    response = sign_in(browser, next="/account/?tab=1")

    assert response.headers["Location"] == "/account/?tab=1"


@pytest.mark.parametrize("address", FOREIGN)
def test_sign_in_goes_nowhere_else(address, browser, alice):
    response = sign_in(browser, next=address)

    assert response.headers["Location"] == "/"


@pytest.mark.parametrize("address", FOREIGN)
def test_sign_in_page_leads_a_signed_in_person_nowhere_else(address, people):
    response = people.client("alice").get("/sign-in/", {"next": address})

    assert response.headers["Location"] == "/"


@pytest.mark.parametrize(("username", "password"), [("alice", "wrong"), ("nobody", PASSWORD)])
def test_sign_in_does_not_say_what_was_wrong(username, password, browser, alice):
    response = sign_in(browser, username, password)

    assert response.status_code == 422
    assert "Name and password do not match, or the account is closed." in response.text


def test_sign_in_refuses_a_closed_account(browser, alice):
    users.deactivate(alice)

    assert sign_in(browser).status_code == 422


def test_sign_in_waits_after_ten_failures_even_with_the_right_password(browser, alice):
    for _ in range(sign_in_attempts.MAX_FAILURES):
        sign_in(browser, password="wrong")

    response = sign_in(browser)

    assert response.status_code == 429
    assert "Please wait 15 minutes" in response.text
    assert not is_signed_in(browser)


def test_sign_in_says_in_chinese_that_it_waits(browser, alice):
    browser.cookies["mnote_language"] = "zh-hans"
    for _ in range(sign_in_attempts.MAX_FAILURES):
        sign_in(browser, username="ALICE", password="wrong")

    assert "请等待 15 分钟" in sign_in(browser).text


def test_sign_in_counts_each_address_for_itself(browser, alice):
    for _ in range(sign_in_attempts.MAX_FAILURES):
        sign_in(browser, password="wrong")

    elsewhere = Client(REMOTE_ADDR="192.0.2.7")

    assert sign_in(elsewhere).status_code == 302


def test_sign_in_forgets_failures_after_a_success(browser, alice):
    for _ in range(2):
        for _ in range(sign_in_attempts.MAX_FAILURES - 1):
            sign_in(browser, password="wrong")
        assert sign_in(browser).status_code == 302


def test_sign_in_brings_language_and_colours_along(browser, alice):
    profiles.set_language(user=alice, language="zh-hans")
    profiles.set_theme(user=alice, theme="dark")

    sign_in(browser)

    page = browser.get("/").text
    assert '<html lang="zh-hans" data-theme="dark">' in page


def test_sign_out_needs_a_post(people):
    browser = people.client("alice")

    assert browser.get("/sign-out/").status_code == 405
    assert is_signed_in(browser)

    assert browser.post("/sign-out/").headers["Location"] == "/sign-in/"
    assert not is_signed_in(browser)


def test_pages_send_strangers_to_the_sign_in_page_and_back(browser, db):
    assert browser.get("/account/").headers["Location"] == "/sign-in/?next=/account/"


def test_a_part_of_a_page_sends_strangers_away_as_a_whole(browser, db):
    response = browser.get("/account/", headers={"HX-Request": "true"})

    assert response.status_code == 204
    assert response.headers["HX-Redirect"].startswith("/sign-in/")


@pytest.mark.parametrize(
    ("page", "back"),
    [
        (
            "http://testserver/kb/kb_1/?tab=documents&q=a%20b#here",
            "?next=%2Fkb%2Fkb_1%2F%3Ftab%3Ddocuments%26q%3Da%2520b",
        ),
        ("https://testserver/w/ws_1/open/%E6%96%87.md", "?next=%2Fw%2Fws_1%2Fopen%2F%25E6%2596%2587.md"),
        ("https://evil.example/kb/", ""),
        ("http://testserver//evil.example/", ""),
        ("javascript:alert(1)", ""),
        ("", ""),
    ],
)
def test_who_signs_in_again_comes_back_to_the_page_and_not_to_the_part(browser, db, page, back):
    response = browser.get("/account/", headers={"HX-Request": "true", "HX-Current-URL": page})

    assert response.headers["HX-Redirect"] == f"/sign-in/{back}"


def test_link_signs_in_once(browser, people):
    address = f"/sign-in/{users.make_sign_in_link(people.alice)}"

    assert browser.get(address, headers={"Sec-Fetch-Site": "none"}).headers["Location"] == "/"
    assert is_signed_in(browser)

    second = Client()
    assert second.get(address).status_code == 410
    assert not is_signed_in(second)


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Purpose": "prefetch"},
        {"Purpose": "prefetch"},
    ],
)
def test_link_asks_first_when_no_person_opened_it(headers, browser, people):
    address = f"/sign-in/{users.make_sign_in_link(people.alice)}"

    page = browser.get(address, headers=headers)

    assert page.status_code == 200
    assert not is_signed_in(browser)
    assert SignInLink.objects.get().used_at is None

    assert browser.post(address).headers["Location"] == "/"
    assert is_signed_in(browser)


def test_link_is_not_spent_by_a_head_request(browser, people):
    address = f"/sign-in/{users.make_sign_in_link(people.alice)}"

    assert browser.head(address).status_code == 405
    assert SignInLink.objects.get().used_at is None


def test_link_changes_the_session_key_so_that_a_planted_session_is_worthless(browser, people):
    browser.get("/sign-in/")
    planted = browser.session.session_key

    browser.get(f"/sign-in/{users.make_sign_in_link(people.alice)}")

    assert browser.session.session_key != planted
