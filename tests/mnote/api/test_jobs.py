from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from mnote.models import AuditEntry, Job, JobStatus, Role, User
from tests.factories.mnote import JobFactory, MembershipFactory, WorkspaceFactory
from tests.people import People


def make(people: People, **values: Any) -> Job:
    return JobFactory(**{"workspace": people.workspace, "requested_by": people.bob, **values})


def listed(client: Client, query: str = "") -> list[str]:
    response = client.get(f"/api/jobs{query}")
    assert response.status_code == 200, response.text
    return [row["id"] for row in response.json()["results"]]


@pytest.mark.parametrize(("name", "sees"), [("alice", True), ("bob", True), ("carol", True), ("mallory", False)])
def test_jobs_are_seen_by_members_of_their_workspace(people: People, *, name: str, sees: bool) -> None:
    job = make(people)
    client = people.client(name)

    assert listed(client) == ([job.pk] if sees else [])
    assert client.get(f"/api/jobs/{job.pk}").status_code == (200 if sees else 404)


def test_jobs_need_a_caller(people: People, client: Client) -> None:
    job = make(people)

    assert client.get("/api/jobs").status_code == 401
    assert client.get(f"/api/jobs/{job.pk}").status_code == 401
    assert client.post(f"/api/jobs/{job.pk}/cancel").status_code == 401


def test_a_job_of_no_workspace_is_its_owners_and_the_administrators(people: People) -> None:
    job = make(people, workspace=None)
    User.objects.filter(pk=people.mallory.pk).update(is_staff=True)

    found = {name: listed(people.client(name)) for name in ("alice", "bob", "mallory")}

    assert found == {"alice": [], "bob": [job.pk], "mallory": [job.pk]}


def test_a_token_sees_the_jobs_of_its_knowledge_bases(people: People) -> None:
    mine, _other = make(people, kb_id="kb_1"), make(people, kb_id="kb_2")

    assert listed(people.token_client("alice", "knowledge:read", kb_ids=["kb_1"])) == [mine.pk]


@pytest.mark.parametrize(
    ("scopes", "method", "path", "status"),
    [
        (["mcp"], "get", "", 403),
        (["knowledge:read"], "get", "", 200),
        (["knowledge:read"], "post", "/cancel", 403),
        (["knowledge:read", "knowledge:write"], "post", "/cancel", 200),
    ],
)
def test_a_token_needs_the_scope(people: People, scopes: list[str], method: str, path: str, status: int) -> None:
    job = make(people)
    client = people.token_client("alice", *scopes)

    assert getattr(client, method)(f"/api/jobs/{job.pk}{path}").status_code == status


def test_the_list_is_narrowed_by_its_query(people: People) -> None:
    other = WorkspaceFactory()
    MembershipFactory(workspace=other, user=people.alice, role=Role.OWNER)
    job = make(people, kb_id="kb_1", kind="a")
    make(people, kb_id="kb_1", kind="b")
    make(people, kb_id="kb_2", kind="a")
    make(people, kb_id="kb_1", kind="a", workspace=other)

    query = f"?workspaceId={people.workspace.pk}&knowledgeBaseId=kb_1&kind=a"

    assert listed(people.client("alice"), query) == [job.pk]


def test_a_workspace_that_is_not_visible_is_not_found(people: People) -> None:
    other = WorkspaceFactory()

    assert people.client("alice").get(f"/api/jobs?workspaceId={other.pk}").status_code == 404


_ROWS = {
    "queued": {"status": JobStatus.QUEUED},
    "retrying": {"status": JobStatus.QUEUED, "attempt": 1},
    "running": {"status": JobStatus.RUNNING, "attempt": 1},
    "failed": {"status": JobStatus.CANCELLED},
    "done": {"status": JobStatus.SUCCEEDED, "result": {"stale": False}},
    "stale": {"status": JobStatus.SUCCEEDED, "result": {"stale": True}},
}


@pytest.mark.parametrize("state", _ROWS)
def test_the_state_filter_agrees_with_the_state_shown(people: People, state: str) -> None:
    rows = {name: make(people, **values) for name, values in _ROWS.items()}

    response = people.client("alice").get(f"/api/jobs?state={state}")

    assert [(row["id"], row["state"]) for row in response.json()["results"]] == [(rows[state].pk, state)]


def test_an_unknown_state_is_invalid(people: People) -> None:
    assert people.client("alice").get("/api/jobs?state=strange").status_code == 400


def test_a_job_shows_numbers_and_codes_but_no_names_of_files(people: People) -> None:
    job = make(
        people,
        status=JobStatus.SUCCEEDED,
        progress={"done": 3, "current_path": "secret.md", "stage": "parse"},
        result={
            "artifact_ids": ["art_1"],
            "node_count": 5,
            "rebuild_reason": "schema-changed",
            "failed_stage": "not a code: secret.md",
            "name": "secret.md",
            "runtime": {"provider": "local", "retryCount": 1, "url": "http://inside"},
        },
    )

    shown = people.client("carol").get(f"/api/jobs/{job.pk}").json()

    assert shown["progress"] == {"done": 3, "stage": "parse"}
    assert shown["result"] == {
        "artifactIds": ["art_1"],
        "nodeCount": 5,
        "rebuildReason": "schema-changed",
        "runtime": {"provider": "local", "retryCount": 1},
    }


@pytest.mark.parametrize(("name", "sees_detail"), [("bob", True), ("alice", False), ("carol", False)])
def test_the_detail_of_an_error_is_for_who_asked(people: People, *, name: str, sees_detail: bool) -> None:
    job = make(people, status=JobStatus.FAILED, error_code="not-found", error_detail="No such file: secret.md")

    error = people.client(name).get(f"/api/jobs/{job.pk}").json()["error"]

    assert error == {"code": "not-found", **({"detail": "No such file: secret.md"} if sees_detail else {})}


@pytest.mark.parametrize(("name", "status"), [("alice", 200), ("bob", 200), ("carol", 403), ("mallory", 404)])
def test_curators_cancel_and_try_again(people: People, name: str, status: int) -> None:
    job = make(people)
    client = people.client(name)

    assert client.post(f"/api/jobs/{job.pk}/cancel").status_code == status
    assert client.post(f"/api/jobs/{job.pk}/retry").status_code == status


def test_cancel_answers_with_the_job_and_is_noted(people: People) -> None:
    job = make(people)

    shown = people.client("bob").post(f"/api/jobs/{job.pk}/cancel").json()

    assert (shown["state"], shown["error"]["code"]) == ("failed", "cancelled")
    entry = AuditEntry.objects.get(action="job.cancel")
    assert (entry.actor, entry.target, entry.workspace) == (people.bob, job.pk, people.workspace)


def test_retry_of_a_running_job_is_a_conflict(people: People) -> None:
    job = make(people, status=JobStatus.RUNNING, attempt=1)

    assert people.client("bob").post(f"/api/jobs/{job.pk}/retry").status_code == 409


def test_the_list_asks_as_many_queries_for_many_jobs_as_for_few(people: People, django_assert_num_queries: Any) -> None:
    client = people.client("alice")
    make(people)
    listed(client)
    with django_assert_num_queries(3):
        assert len(listed(client)) == 1
    for _ in range(20):
        make(people)
    with django_assert_num_queries(3):
        assert len(listed(client)) == 21
