from __future__ import annotations

from typing import Any

import pytest

from tests.people import People

ADDRESS = "/api/ui/preferences"


def put(people: People, name: str, body: Any) -> Any:
    return people.client(name).put(ADDRESS, body, content_type="application/json")


def test_preferences_are_set_key_by_key_and_are_each_persons_own(people: People) -> None:
    put(people, "alice", {"values": {"kb.list.view": "rows", "my.page-1.view_2": {"id": 1}}})
    response = put(people, "alice", {"values": {"kb.list.view": None, "a": [True]}})

    expected = {"values": {"a": [True], "my.page-1.view_2": {"id": 1}}}
    assert response.json() == people.client("alice").get(ADDRESS).json() == expected
    assert people.client("bob").get(ADDRESS).json() == {"values": {}}
    assert people.client(None).get(ADDRESS).status_code == 401


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "values"),
        ({"values": 1}, "values"),
        ({"values": {"No Key": 1}}, "values.No Key"),
        ({"values": {"chat_Only__": "x" * 9_000}}, "values.chat_Only__"),
        ({"values": {"a": "\0"}}, "values.a"),
    ],
)
def test_preferences_name_what_cannot_be_kept(people: People, body: Any, field: str) -> None:
    response = put(people, "alice", body)

    assert response.status_code == 400
    assert list(response.json()["errors"]) == [field]
