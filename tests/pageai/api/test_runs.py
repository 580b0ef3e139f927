from __future__ import annotations

from typing import Any

import pytest

from pageai.models import EndReason, OpenHubBinding, Run
from pageai.panel.drafts import Draft
from pageai.services import bindings, runs
from pageai.services.runs import Wanted
from tests.factories.mnote import GrantFactory
from tests.pageai.panel.visits import bind
from tests.people import People

RUNS = "/api/page-ai/runs"
SHAPE = {
    "schema", "hostRunId", "requestId", "agentId", "provider", "providerRunId", "sessionId", "actorId", "workspaceId",
    "documentId", "status", "endReason", "targetSnapshotHash", "capabilitySnapshotHash", "parentRunId",
    "resumeRequestId", "lastSeq", "createdAt", "updatedAt", "endedAt",
}  # fmt: skip
EVENT_SHAPE = {"schema", "hostRunId", "seq", "kind", "source", "payload", "createdAt"}


@pytest.fixture
def binding(people: People) -> OpenHubBinding:
    made = bind(people)
    return bindings.attach_sessions(binding=made, openhub_session_id="ses_alice")


@pytest.fixture
def run(binding: OpenHubBinding) -> Run:
    made = runs.begin(binding=binding, wanted=Wanted(title="How long?"))
    runs.append(run_id=made.pk, drafts=[Draft(kind="message.delta", payload={"text": f"{n}"}) for n in range(9)])
    return made


def get(people: People, path: str, name: str = "alice", **query: Any) -> Any:
    return people.client(name).get(path, query)


def announce(people: People, name: str = "alice", **more: Any) -> Any:
    body = {"workspaceId": people.workspace.pk, "pagePath": "a.md", "requestId": "click-0001", **more}
    return people.client(name).post(RUNS, body, content_type="application/json")


def test_shapes_are_those_of_the_contract(people: People, run: Run) -> None:
    body = get(people, f"{RUNS}/{run.pk}").json()
    found = get(people, f"{RUNS}/{run.pk}/events").json()

    assert set(body) == SHAPE | {"receipt"}
    assert (body["schema"], body["status"], body["documentId"]) == ("mnote.ai_run.v1", "running", "local-md:a.md")
    assert body["receipt"] == {
        "schema": "mnote.agent_run_receipt.evidence.v1",
        "hostRunId": run.pk,
        "evidence": [],
    }
    assert [set(each) for each in found["events"]] == [EVENT_SHAPE] * 10
    assert {each["schema"] for each in found["events"]} == {"mnote.ai_run_event.v1"}
    assert found["events"][0]["seq"] == "000000000000000001"
    assert found["events"][0]["kind"] == "run.created"


def test_events_come_after_a_number_and_in_pages(people: People, run: Run) -> None:
    seen, after = [], "0"
    while True:
        body = get(people, f"{RUNS}/{run.pk}/events", afterSeq=after, limit=4).json()
        if not body["events"]:
            break
        seen += [each["seq"] for each in body["events"]]
        after = body["lastSeq"]

    assert [int(each) for each in seen] == list(range(1, 11))
    assert (body["lastSeq"], body["isOver"]) == ("000000000000000010", False)


@pytest.mark.parametrize("seq", ["-1", "1.5", "9" * 19, "9" * 400, "abc", "０", "0x10", "null", "\u0000"])
def test_a_number_that_is_none_is_refused(people: People, run: Run, seq: str) -> None:
    answer = get(people, f"{RUNS}/{run.pk}/events", afterSeq=seq)

    assert (answer.status_code, answer.headers["Content-Type"]) == (400, "application/problem+json")
    assert "afterSeq" in answer.json()["errors"]


@pytest.mark.parametrize("limit", ["0", "-5", "501", "x", "9" * 30])
def test_a_limit_that_cannot_be_is_refused(people: People, run: Run, limit: str) -> None:
    assert get(people, f"{RUNS}/{run.pk}/events", limit=limit).status_code == 400


def test_a_number_beyond_the_last_finds_nothing(people: People, run: Run) -> None:
    body = get(people, f"{RUNS}/{run.pk}/events", afterSeq="9" * 18).json()

    assert (body["events"], body["isOver"]) == ([], False)


@pytest.mark.parametrize("wanted", ["run_unknown", "run_%00", "..", "1", "x" * 5_000, "run_'--", "%F0%9F%98%80"])
@pytest.mark.parametrize("rest", ["", "/events"])
def test_an_unknown_run_is_not_found(people: People, run: Run, wanted: str, rest: str) -> None:
    answer = people.client("alice").get(f"{RUNS}/{wanted}{rest}")

    assert answer.status_code == 404


@pytest.mark.parametrize("name", ["bob", "carol", "mallory"])
def test_another_persons_run_is_not_there(people: People, run: Run, name: str) -> None:
    client = people.client(name)
    paths = [f"{RUNS}/{run.pk}", f"{RUNS}/{run.pk}/events", "/api/page-ai/sessions/ses_alice/active-run"]

    assert {client.get(path).status_code for path in paths} == {404}
    assert client.post(f"{RUNS}/{run.pk}/cancel").status_code == 404
    assert client.get(RUNS).json()["results"] == []
    run.refresh_from_db()
    assert run.is_live


def test_a_run_in_a_root_that_is_closed_is_not_there(people: People, binding: OpenHubBinding) -> None:
    mine = bind(people, "bob")
    run = runs.begin(binding=mine, wanted=Wanted())
    assert get(people, f"{RUNS}/{run.pk}", "bob").status_code == 200

    GrantFactory(root=people.root, user=people.bob, access="none")

    assert get(people, f"{RUNS}/{run.pk}", "bob").status_code == 404
    assert get(people, RUNS, "bob").json()["results"] == []


def test_a_closed_account_reads_nothing(people: People, run: Run) -> None:
    client = people.client("alice")
    people.alice.is_active = False
    people.alice.save()

    assert client.get(f"{RUNS}/{run.pk}").status_code == 401


def test_the_list_is_ones_own_and_can_be_narrowed(people: People, run: Run) -> None:
    other = runs.begin(binding=bind(people, path="b.md"), wanted=Wanted())
    runs.begin(binding=bind(people, "bob"), wanted=Wanted())
    runs.end(run_id=other.pk, reason=EndReason.DONE)

    assert [each["hostRunId"] for each in get(people, RUNS).json()["results"]] == [other.pk, run.pk]
    assert [each["hostRunId"] for each in get(people, RUNS, status="running").json()["results"]] == [run.pk]
    assert [each["hostRunId"] for each in get(people, RUNS, documentId="local-md:b.md").json()["results"]] == [other.pk]
    assert get(people, RUNS, bindingId="none").json()["results"] == []
    assert get(people, RUNS, status="odd").status_code == 400


def test_announcing_twice_is_one_run(people: People, binding: OpenHubBinding) -> None:
    first, again, other = announce(people), announce(people), announce(people, requestId="click-0002")

    assert [each.status_code for each in (first, again, other)] == [201, 200, 201]
    assert first.json()["hostRunId"] == again.json()["hostRunId"] != other.json()["hostRunId"]
    assert first.json()["status"] == "pending"
    assert len(first.json()["targetSnapshotHash"]) == len(first.json()["capabilitySnapshotHash"]) == 64


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({"sessionId": "ses_alice"}, 201),
        ({"sessionId": "ses_nobody"}, 404),
        ({"sessionId": "ses_alice", "pagePath": "b.md"}, 409),
        ({"requestId": "short"}, 400),
        ({"requestId": "x" * 65}, 400),
        ({"requestId": "bad id 1"}, 400),
        ({"agentId": "nobody"}, 400),
        ({"pagePath": "missing.md"}, 410),
        ({"pagePath": "../etc/passwd"}, 404),
    ],
)
def test_what_is_announced_is_checked(people: People, binding: OpenHubBinding, more: Any, status: int) -> None:
    (people.folder / "b.md").write_text("# b", encoding="utf-8")

    assert announce(people, **more).status_code == status


def test_a_session_of_somebody_else_cannot_be_announced_for(people: People, binding: OpenHubBinding) -> None:
    assert announce(people, "bob", sessionId="ses_alice").status_code == 404


def test_an_announced_run_is_cancelled_at_once(people: People, binding: OpenHubBinding) -> None:
    run_id = announce(people).json()["hostRunId"]

    answers = [people.client("alice").post(f"{RUNS}/{run_id}/cancel") for _each in range(2)]

    assert [each.status_code for each in answers] == [200, 200]
    assert (answers[1].json()["status"], answers[1].json()["endReason"]) == ("cancelled", "cancelled")


def test_the_active_run_of_a_session(people: People, run: Run) -> None:
    path = "/api/page-ai/sessions/ses_alice/active-run"

    running = get(people, path, workspaceId=people.workspace.pk, documentId="local-md:a.md").json()
    runs.end(run_id=run.pk, reason=EndReason.DONE)
    ended = get(people, path).json()

    assert (running["schema"], running["run"]["hostRunId"]) == ("mnote.ai_active_run.v1", run.pk)
    assert ended == {"schema": "mnote.ai_active_run.v1", "sessionId": "ses_alice", "run": None}
    assert get(people, path, documentId="local-md:b.md").status_code == 404
    assert get(people, path, workspaceId="ws_other").status_code == 404


def test_a_token_needs_the_scope_of_the_panel(people: People, run: Run) -> None:
    path = f"{RUNS}/{run.pk}/events"

    assert people.token_client("alice", "pageai").get(path).status_code == 200
    assert people.token_client("alice", "knowledge:read").get(path).status_code == 403


@pytest.mark.parametrize("last", ["-1", "x", "9" * 19])
def test_a_stream_is_not_resumed_from_what_is_no_number(people: People, run: Run, last: str) -> None:
    headers = {"Accept": "text/event-stream", "Last-Event-ID": last}

    answer = people.client("alice").get(f"{RUNS}/{run.pk}/events", headers=headers)

    assert (answer.status_code, answer.headers["Content-Type"]) == (400, "application/problem+json")


def test_a_stream_that_was_seen_to_its_end_is_not_opened_again(people: People, run: Run) -> None:
    runs.end(run_id=run.pk, reason=EndReason.DONE)
    headers = {"Accept": "text/event-stream", "Last-Event-ID": f"{11:018d}"}

    assert people.client("alice").get(f"{RUNS}/{run.pk}/events", headers=headers).status_code == 204
