from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.conf import settings
from django.test import AsyncClient

from mnote import revisions
from mnote.api.events import Caller, Watch, _streams, follow
from mnote.models import ApiToken, Job, User
from mnote.revisions import Revision
from mnote.services import jobs
from tests.factories.mnote import WorkspaceFactory
from tests.people import People

in_threads = pytest.mark.django_db(transaction=True)


@pytest.fixture
def documents() -> Any:
    """A stand-in for the counter of documents, which another app registers."""
    numbers: dict[str, int] = {}
    former = dict(revisions._readers)
    revisions.register(revisions.DOCUMENTS, lambda workspace_id, _since: numbers.get(workspace_id, 0))
    yield numbers
    revisions._readers.clear()
    revisions._readers.update(former)


def watch_of(people: People, name: str = "carol") -> Watch:
    client = people.client(name)
    key = client.cookies[settings.SESSION_COOKIE_NAME].value
    return Watch(caller=Caller(session_key=key), workspace_id=people.workspace.pk, root=None)


def frames_after(
    watch: Watch, change: Callable[[], Any], count: int, *, since: int | None = None, heartbeat_seconds: float = 60
) -> list[tuple[str, Any]]:
    """Open a stream, take its first frames, make the change, and take frames until there are `count`."""

    async def take() -> list[tuple[str, Any]]:
        now = await sync_to_async(watch.read)(Revision())
        stream = follow(watch, now, since=since, user_id=1, poll_seconds=0.02, heartbeat_seconds=heartbeat_seconds)
        async with aclosing(stream):
            found = [await _next(stream)]
            await sync_to_async(change)()
            while len(found) < count:
                found.append(await asyncio.wait_for(_next(stream), 10))
        return found

    return async_to_sync(take)()


async def _next(stream: AsyncIterator[str]) -> tuple[str, Any]:
    while True:
        frame = await anext(stream)
        if frame.startswith(":"):
            return "comment", None
        lines = dict(line.split(": ", 1) for line in frame.strip().split("\n"))
        if "event" in lines:
            return lines["event"], json.loads(lines["data"])


@in_threads
def test_a_stream_begins_with_the_revision_to_start_from(people: People, documents: dict[str, int]) -> None:
    documents[people.workspace.pk] = 7

    assert frames_after(watch_of(people), lambda: None, 1) == [("ready", {"revision": 7})]


@in_threads
def test_a_stream_tells_that_documents_changed(people: People, documents: dict[str, int]) -> None:
    def change() -> None:
        documents[people.workspace.pk] = 8

    frames = frames_after(watch_of(people), change, 2)

    assert frames[1] == ("changed", {"revision": 8, "changed": ["documents"]})


@in_threads
def test_a_stream_tells_that_a_job_changed(people: People, documents: dict[str, int]) -> None:
    frames = frames_after(watch_of(people), lambda: jobs.enqueue(kind="test.kind", workspace=people.workspace), 2)

    assert frames[1] == ("changed", {"revision": 0, "changed": ["jobs"]})


@in_threads
def test_a_stream_does_not_tell_of_other_workspaces(people: People, documents: dict[str, int]) -> None:
    other = WorkspaceFactory()

    def change() -> None:
        documents[other.pk] = 5
        Job.objects.create(kind="test.kind", workspace=other)

    frames = frames_after(watch_of(people), change, 2, heartbeat_seconds=0.1)

    assert frames[1] == ("comment", None)


@in_threads
@pytest.mark.parametrize(("since", "changed"), [(3, ["documents", "jobs"]), (7, ["jobs"])])
def test_a_stream_that_comes_back_hears_what_it_missed(
    people: People, documents: dict[str, int], since: int, changed: list[str]
) -> None:
    documents[people.workspace.pk] = 7

    frames = frames_after(watch_of(people), lambda: None, 1, since=since)

    assert frames == [("changed", {"revision": 7, "changed": changed})]


def deactivate(people: People) -> None:
    User.objects.filter(pk=people.carol.pk).update(is_active=False)


def sign_out(people: People) -> None:
    from django.contrib.sessions.models import Session

    Session.objects.all().delete()


def change_password(people: People) -> None:
    people.carol.set_password("another one")
    people.carol.save()


def leave(people: People) -> None:
    people.workspace.memberships.filter(user=people.carol).delete()


@in_threads
@pytest.mark.parametrize(
    ("change", "code"),
    [
        (deactivate, "not-authenticated"),
        (sign_out, "not-authenticated"),
        (change_password, "not-authenticated"),
        (leave, "not-found"),
    ],
)
def test_a_stream_ends_when_the_right_to_look_ends(
    people: People, documents: dict[str, int], change: Callable[[People], None], code: str
) -> None:
    frames = frames_after(watch_of(people), lambda: change(people), 2)

    assert frames[1] == ("end", {"code": code})


@in_threads
def test_a_stream_ends_with_its_token(people: People, documents: dict[str, int]) -> None:
    token = people.token("carol", "knowledge:read")
    watch = Watch(caller=Caller(token=token), workspace_id=people.workspace.pk, root=None)

    frames = frames_after(watch, lambda: ApiToken.objects.all().delete(), 2)

    assert frames[1] == ("end", {"code": "not-authenticated"})


def ask(people: People, name: str | None, query: str, **headers: str) -> Any:
    client = AsyncClient()
    if name:
        client.cookies = people.client(name).cookies
    return async_to_sync(client.get)(f"/api/jobs/events{query}", headers=headers)


@in_threads
def test_the_stream_is_not_stored_nor_buffered(people: People) -> None:
    response = ask(people, "carol", f"?workspaceId={people.workspace.pk}&rootUri={people.root.key}")

    assert (response.status_code, response.headers["Content-Type"]) == (200, "text/event-stream; charset=utf-8")
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["X-Accel-Buffering"] == "no"


@in_threads
@pytest.mark.parametrize(
    ("name", "query", "status"),
    [
        (None, "?workspaceId={ws}", 401),
        ("mallory", "?workspaceId={ws}", 404),
        ("carol", "?workspaceId=ws_unknown", 404),
        ("carol", "?workspaceId={ws}&rootUri=unknown", 404),
        ("carol", "", 400),
        ("carol", "?workspaceId={ws}&since=-1", 400),
        ("carol", "?workspaceId={ws}&since=x", 400),
    ],
)
def test_the_stream_refuses_with_a_problem(people: People, name: str | None, query: str, status: int) -> None:
    response = ask(people, name, query.format(ws=people.workspace.pk))

    assert (response.status_code, response.headers["Content-Type"]) == (status, "application/problem+json")


@in_threads
def test_a_token_without_the_scope_gets_no_stream(people: People) -> None:
    token = people.token("carol", "mcp")

    response = ask(people, None, f"?workspaceId={people.workspace.pk}", Authorization=f"Bearer {token}")

    assert response.status_code == 403


@in_threads
def test_a_person_has_a_bounded_number_of_streams(people: People) -> None:
    with _streams.one_more(people.carol.pk):
        _streams._open[people.carol.pk] += 11
        refused = ask(people, "carol", f"?workspaceId={people.workspace.pk}")
        other = ask(people, "bob", f"?workspaceId={people.workspace.pk}")
        _streams._open[people.carol.pk] -= 11

    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "30")
    assert other.status_code == 200


@in_threads
def test_a_closed_stream_gives_its_place_back(people: People, documents: dict[str, int]) -> None:
    before = _streams._open[1]

    frames_after(watch_of(people), lambda: None, 1)

    assert _streams._open[1] == before
