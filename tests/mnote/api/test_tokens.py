from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from mnote.models import ApiToken
from tests.people import People

BODY = {"name": "laptop", "scopes": ["knowledge:read"], "kbIds": ["kb_1"], "expiresAt": "2100-01-01T00:00:00Z"}


def create(client: Client, body: dict[str, Any]) -> Any:
    return client.post("/api/tokens", body, content_type="application/json")


def test_create_token_answers_with_a_secret_that_works_and_is_shown_once(people: People) -> None:
    client = people.client("alice")

    response = create(client, BODY)

    made = response.json()
    assert response.status_code == 201
    assert response.headers["Cache-Control"] == "no-store"
    assert {name: made[name] for name in BODY} == BODY
    assert Client().get("/api/workspaces", headers={"Authorization": f"Bearer {made['secret']}"}).status_code == 200
    listed = client.get("/api/tokens")
    assert made["secret"] not in listed.text
    (row,) = listed.json()["results"]
    assert row == {name: value for name, value in made.items() if name != "secret"} | {"lastUsedAt": row["lastUsedAt"]}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": 5 * ["x"]}, "name"),
        ({"scopes": []}, "scopes"),
        ({"scopes": ["root"]}, "scopes.0"),
        ({"scopes": ["half \ud800"]}, "scopes.0"),  # repeated in the answer, which could not be sent
        ({"scopes": ["admin:read"]}, "scopes"),
        ({"scopes": "pageai"}, "scopes"),
        ({"kbIds": ["x" * 41]}, "kbIds.0"),
        ({"expiresAt": "2020-01-01T00:00:00Z"}, "expiresAt"),
        ({"expiresAt": "soon"}, "expiresAt"),
    ],
)
def test_create_token_names_the_field_that_is_wrong(people: People, change: dict[str, Any], field: str) -> None:
    response = create(people.client("alice"), BODY | change)

    assert response.status_code == 400
    assert list(response.json()["errors"]) == [field]
    assert not ApiToken.objects.exists()


def test_tokens_are_managed_by_people_and_not_by_tokens(people: People) -> None:
    client = people.token_client("alice")
    token = ApiToken.objects.get()

    answers = [client.get("/api/tokens"), create(client, BODY), client.delete(f"/api/tokens/{token.pk}")]

    assert [each.status_code for each in answers] == [403, 403, 403]
    assert ApiToken.objects.filter(revoked_at__isnull=True).count() == 1


def test_revoke_token_ends_it_at_once(people: People) -> None:
    caller = people.token_client("alice")
    token = ApiToken.objects.get()

    assert people.client("alice").delete(f"/api/tokens/{token.pk}").status_code == 204
    assert caller.get("/api/workspaces").status_code == 401


@pytest.mark.parametrize("name", ["bob", "mallory"])
def test_tokens_of_others_are_not_there(people: People, name: str) -> None:
    people.token("alice")
    token = ApiToken.objects.get()
    client = people.client(name)

    assert client.get("/api/tokens").json()["results"] == []
    assert client.delete(f"/api/tokens/{token.pk}").status_code == 404
    assert client.delete("/api/tokens/99999999999999999999").status_code == 404
    token.refresh_from_db()
    assert token.revoked_at is None
