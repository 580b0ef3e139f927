from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from mnote.models import ApiToken, TokenScope, User
from mnote.services import tokens, users
from tests.people import People

ADDRESS = "/api/workspaces"


def status_with(*, client: Client | None = None, address: str = ADDRESS, **headers: str) -> int:
    return (client or Client()).get(address, headers=headers).status_code


def test_a_token_and_a_session_get_in(people: People) -> None:
    assert status_with(Authorization=f"Bearer {people.token('bob')}") == 200
    assert status_with(Authorization=f"bearer  {people.token('bob')} ") == 200
    assert status_with(client=people.client("bob")) == 200


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Bearer ", "Bearer mnt_nothing", "Bearer a b", "Bearer é", "Basic YWxpY2U6YWxpY2Utc2VjcmV0"],
)
def test_nobody_gets_a_401_that_asks_for_a_token(people: People, header: str) -> None:
    response = Client().get(ADDRESS, headers={"Authorization": header})

    assert response.status_code == 401
    assert response.json()["code"] == "not-authenticated"
    assert response.headers["WWW-Authenticate"] == 'Bearer realm="mnote"'


def test_a_wrong_token_is_refused_even_beside_a_good_session(people: People) -> None:
    assert status_with(client=people.client("alice"), Authorization="Bearer mnt_wrong") == 401


def test_a_token_counts_before_a_session(people: People) -> None:
    response = people.client("alice").get(ADDRESS, headers={"Authorization": f"Bearer {people.token('mallory')}"})

    assert response.json()["results"] == []


@pytest.mark.parametrize(
    "headers",
    [
        {"Remote-User": "alice"},
        {"X-Remote-User": "alice"},
        {"X-Forwarded-User": "alice"},
        {"X-Forwarded-Email": "alice"},
        {"X-Forwarded-For": "127.0.0.1", "X-Real-IP": "127.0.0.1"},
        {"X-Auth-Request-User": "alice"},
        {"Cookie": "mnote_session=alice"},
    ],
)
def test_no_other_header_names_a_person(people: People, headers: dict[str, str]) -> None:
    assert status_with(**headers) == 401
    assert Client().get("/admin/", headers=headers).status_code == 302


def test_remote_user_of_the_server_environment_is_not_read(people: People) -> None:
    assert Client(REMOTE_USER="alice").get(ADDRESS).status_code == 401


def _revoke(people: People) -> None:
    tokens.revoke_token(token=ApiToken.objects.get())


def _close(people: People) -> None:
    users.deactivate(people.bob)


def _suspend_by_hand(people: People) -> None:
    User.objects.filter(pk=people.bob.pk).update(is_active=False)


@pytest.mark.parametrize("end", [_revoke, _close, _suspend_by_hand])
def test_an_ended_token_is_refused_on_the_next_request(people: People, end: Any) -> None:
    client = people.token_client("bob")
    assert client.get(ADDRESS).status_code == 200

    end(people)

    assert client.get(ADDRESS).status_code == 401


@pytest.mark.parametrize("end", [_close, _suspend_by_hand])
def test_a_closed_account_ends_the_session_on_the_next_request(people: People, end: Any) -> None:
    client = people.client("bob")
    assert client.get(ADDRESS).status_code == 200

    end(people)

    assert client.get(ADDRESS).status_code == 401


def put(client: Client, **headers: str) -> int:
    body = {"values": {"a": 1}}
    return client.put("/api/ui/preferences", body, content_type="application/json", headers=headers).status_code


def test_a_session_needs_the_cross_site_token_to_change_something(people: People) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(people.alice)

    assert client.get("/api/ui/preferences").status_code == 200
    assert put(client) == 403
    assert put(client, **{"X-CSRFToken": "x" * 32}) == 403
    client.cookies["mnote_csrf"] = "a" * 32
    assert put(client, **{"X-CSRFToken": "a" * 32}) == 200
    assert put(client, **{"X-CSRFToken": "a" * 32, "Origin": "https://evil.example"}) == 403


def test_a_token_needs_no_cross_site_token(people: People) -> None:
    client = Client(enforce_csrf_checks=True, headers={"Authorization": f"Bearer {people.token('alice')}"})

    assert put(client) == 200


def test_a_failed_cross_site_check_leaves_no_principal(people: People) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(people.alice)

    put(client)

    assert users.preferences_of(people.alice) == {}


@pytest.mark.parametrize("scope", [scope for scope in TokenScope.values if scope != TokenScope.ADMIN_READ])
def test_has_scope_passes_exactly_the_tokens_that_hold_it(people: People, scope: str) -> None:
    from rest_framework.test import APIRequestFactory
    from rest_framework.views import APIView

    from mnote.api.permissions import HasScope

    def passes(held: str) -> bool:
        request = APIRequestFactory().get("/", HTTP_AUTHORIZATION=f"Bearer {people.token('alice', held)}")
        return HasScope(scope)().has_permission(APIView().initialize_request(request), APIView())

    others = [each for each in TokenScope.values if each not in {scope, TokenScope.ADMIN_READ}]
    assert passes(scope)
    assert not any(passes(each) for each in others)
