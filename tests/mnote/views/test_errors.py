from __future__ import annotations

import pytest
from django.test import Client, RequestFactory

from mnote.views import errors

FRAGMENT = {"HX-Request": "true"}


def test_an_unknown_address_has_a_page(people):
    response = people.client("alice").get("/nothing-here/")

    assert response.status_code == 404
    assert "There is nothing at this address" in response.text
    assert "<html" in response.text


def test_an_unknown_address_has_a_strip_inside_a_page(people):
    response = people.client("alice").get("/nothing-here/", headers=FRAGMENT)

    assert response.status_code == 404
    assert 'data-problem="404"' in response.text
    assert "<html" not in response.text


@pytest.mark.parametrize("header", [{"HX-Boosted": "true"}, {"HX-History-Restore-Request": "true"}])
def test_an_error_is_a_page_where_htmx_wants_a_page(header, people):
    assert "<html" in people.client("alice").get("/nothing-here/", headers=FRAGMENT | header).text


def test_an_error_speaks_the_language_of_the_person(people):
    browser = people.client("alice")
    browser.cookies["mnote_language"] = "zh-hans"

    assert "此地址没有内容" in browser.get("/nothing-here/").text


def test_a_failed_cross_site_check_says_what_to_do(people):
    browser = Client(enforce_csrf_checks=True, raise_request_exception=False)
    browser.force_login(people.alice)

    response = browser.post("/account/name/", {"display_name": "x"})

    assert response.status_code == 403
    assert "Load it anew and repeat what you did." in response.text


def test_a_failed_cross_site_check_is_a_strip_inside_a_page(people):
    browser = Client(enforce_csrf_checks=True, raise_request_exception=False)
    browser.force_login(people.alice)

    response = browser.post("/account/name/", {"display_name": "x"}, headers=FRAGMENT)

    assert response.status_code == 403
    assert 'data-problem="403"' in response.text


def test_a_failure_of_ours_is_shown_without_the_database():
    """No `db` fixture: a query would fail the test. The database may be what broke."""
    request = RequestFactory().get("/")

    response = errors.server_error(request)

    assert response.status_code == 500
    assert "Something went wrong" in response.text


@pytest.mark.parametrize(
    ("view", "status"), [(errors.bad_request, 400), (errors.forbidden, 403), (errors.not_found, 404)]
)
def test_programs_get_problems_as_json(view, status):
    response = view(RequestFactory().get("/api/x"), Exception())

    assert response.status_code == status
    assert response.headers["Content-Type"] == "application/problem+json"
