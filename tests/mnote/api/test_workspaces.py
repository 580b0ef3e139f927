from __future__ import annotations

from mnote.models import Access
from tests.factories.mnote import GrantFactory, MembershipFactory, RootFactory, WorkspaceFactory
from tests.people import People


def test_list_workspaces_gives_role_and_roots_of_the_caller(people: People) -> None:
    response = people.token_client("bob", "knowledge:read").get("/api/workspaces")

    assert response.json() == {
        "results": [
            {
                "workspaceId": people.workspace.pk,
                "name": "Notes",
                "role": "curator",
                "roots": [{"rootUri": people.root.root_uri, "key": "notes", "name": "Notes"}],
            }
        ],
        "nextCursor": None,
    }


def test_list_workspaces_shows_only_roots_with_something_to_see(people: People) -> None:
    closed = RootFactory(workspace=people.workspace)
    GrantFactory(root=closed, user=people.carol, access=Access.NONE)
    GrantFactory(root=closed, user=people.mallory, prefix="a")

    def keys(name: str) -> list[str]:
        (workspace,) = people.client(name).get("/api/workspaces").json()["results"]
        return [root["key"] for root in workspace["roots"]]

    assert keys("carol") == ["notes"]
    assert keys("mallory") == [closed.key]


def test_list_workspaces_is_empty_for_strangers_and_refused_to_nobody(people: People) -> None:
    assert people.client("mallory").get("/api/workspaces").json()["results"] == []
    assert people.client(None).get("/api/workspaces").status_code == 401


def test_list_workspaces_takes_the_same_queries_for_many(people: People, django_assert_max_num_queries) -> None:
    for _ in range(30):
        workspace = WorkspaceFactory()
        RootFactory(workspace=workspace)
        MembershipFactory(workspace=workspace, user=people.carol)
    client = people.client("carol")

    with django_assert_max_num_queries(8):
        assert len(client.get("/api/workspaces").json()["results"]) == 31


def test_list_workspaces_goes_page_by_page_in_name_order(people: People) -> None:
    for name in ["B", "A", "C"]:
        MembershipFactory(workspace=WorkspaceFactory(name=name), user=people.carol)
    client = people.client("carol")

    first = client.get("/api/workspaces?limit=3").json()
    second = client.get(f"/api/workspaces?limit=3&cursor={first['nextCursor']}").json()

    assert [each["name"] for each in first["results"] + second["results"]] == ["A", "B", "C", "Notes"]
    assert second["nextCursor"] is None
