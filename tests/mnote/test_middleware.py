from __future__ import annotations

from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path

from mnote import urls
from mnote.models import User
from tests.people import People


def who(request: HttpRequest) -> HttpResponse:
    principal = request.principal
    return HttpResponse(f"{principal.user.username} {principal.scopes}" if principal else "nobody")


urlpatterns = [*urls.urlpatterns, path("who", who)]

pytestmark = pytest.mark.urls("tests.mnote.test_middleware")


def test_principal_is_the_signed_in_person_with_every_scope(people: People) -> None:
    assert people.client("carol").get("/who").text == "carol None"


def test_principal_of_a_page_is_never_a_token(people: People) -> None:
    assert people.token_client("carol").get("/who").text == "nobody"


@pytest.mark.parametrize("cookie", [None, "", "x" * 32, "\\0"])
def test_principal_is_nobody_without_a_live_session(db: None, cookie: str | None) -> None:
    client = Client()
    if cookie is not None:
        client.cookies["mnote_session"] = cookie

    assert client.get("/who").text == "nobody"


def test_principal_ends_with_the_account(people: People) -> None:
    client = people.client("carol")
    User.objects.filter(pk=people.carol.pk).update(is_active=False)

    assert client.get("/who").text == "nobody"


def test_principal_costs_no_query_without_a_session(db: None, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        Client().get("/who")


@pytest.mark.parametrize(
    ("given", "kept"),
    [("req_12345678", True), ("short", False), ("x" * 65, False), ("a b c d e f g", False), ("<script>alert()", False)],
)
def test_request_id_of_the_caller_is_kept_when_it_is_harmless(db: None, given: str, *, kept: bool) -> None:
    response = Client().get("/who", headers={"X-Request-ID": given})

    assert (response.headers["X-Request-ID"] == given) == kept
    assert len(response.headers["X-Request-ID"]) > 7
