from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import requests
from django.utils import timezone

from mnote.models import Access, Grant, Membership, Workspace
from mnote.principals import Principal
from mnote.services import users
from pageai.models import OpenHubBinding, PanelPolicy
from pageai.services import bindings, turns
from tests.factories.mnote import GrantFactory, MembershipFactory, UserFactory
from tests.pageai.panel.test_routes import _ALLOWED
from tests.pageai.panel.visits import bind
from tests.pageai.views.conftest import Panel, frames_of, sign_in, wait_until
from tests.people import People
from tests.stubs.openhub import OPERATIONS, OpenHubStub
from tests.stubs.openhub_http import Reply

_DATA = Path(__file__).parents[2] / "data" / "openhub"


def talked(panels: Any, name: str = "alice", path: str = "a.md") -> Panel:
    """A conversation with one finished turn."""
    panel: Panel = panels(name, path=path)
    panel.frames(f"hello from {name}")
    wait_until(lambda: not turns.standing(binding_id=panel.binding.pk).is_running)
    return panel


def filled(path: str, session_id: str) -> str:
    known = {"session_id": session_id, "question_id": "que_none", "image_id": "1", "skill_name": "demo"}
    return re.sub(r"\{(\w+)\}", lambda found: known.get(found[1], "1"), path)


#: Who may talk here, each at a conversation of their own.
_AT_HOME = ("owner", "reader")
#: Who is nobody to the server, with a cookie or without.
_UNKNOWN = ("nobody", "closed", "signed out")


@pytest.mark.parametrize(
    "kind",
    [*_AT_HOME, *_UNKNOWN, "colleague", "stranger", "administrator", "other workspace", "put out", "shut out"],
)
def test_of_all_operations_of_openhub_only_the_allowed_ones_pass(
    panels: Any, hub: OpenHubStub, people: People, kind: str
) -> None:
    alice = talked(panels)
    caller = as_person(panels, people, alice, kind)
    session_id = caller.session_id
    hub.reached.clear()

    # At "/" is the page of the conversation.
    operations = [each for each in OPERATIONS if each["path"] != "/"]
    answers = {(each["method"], each["path"]): send(caller, each, session_id) for each in operations}

    asked = {tuple(each.split(" ", 1)) for each in hub.reached} - _HOST_ITSELF
    if kind in _AT_HOME:
        passed = {operation for operation, status in answers.items() if status < 400}
        nothing_there = {("POST", "/api/question/{question_id}/reply"), ("GET", "/api/images/{image_id}")}
        assert passed == _ALLOWED - nothing_there
        assert asked <= _ALLOWED
    else:
        # Who is not signed in has no token against forged requests either, which is looked at first.
        has_token = kind in {"closed", "signed out"}
        refusals = {401, 403} if kind in _UNKNOWN else {404}
        assert set(answers.values()) == refusals - ({403} if has_token else set())
        assert not asked


#: What the host asks as administrator when it gives somebody an account.
_HOST_ITSELF = {
    ("GET", "/api/admin/users"),
    ("POST", "/api/admin/users"),
    ("GET", "/api/admin/models"),
    ("PUT", "/api/admin/users/{user_id}"),
    ("PUT", "/api/admin/users/{user_id}/models"),
}


def as_person(panels: Any, people: People, alice: Panel, kind: str) -> Panel:
    """Somebody's browser: at alice's conversation, or at one of their own."""
    if kind == "owner":
        return alice
    if kind in {"reader", "put out", "shut out", "signed out"}:
        return at_own_page(panels, people, kind)
    if kind == "other workspace":
        caller = Panel(site=alice.site, binding=alice.binding)
        sign_in(caller.session, MembershipFactory(user=UserFactory(username="erin")).user)
        return caller
    if kind == "nobody":
        return panels(None, binding=alice.binding)  # type: ignore[no-any-return]
    if kind == "administrator":
        caller = Panel(site=alice.site, binding=alice.binding)
        sign_in(caller.session, UserFactory(username="root", is_staff=True, is_superuser=True))
        return caller
    caller = panels({"colleague": "bob", "stranger": "mallory", "closed": "carol"}[kind], binding=alice.binding)
    if kind == "closed":
        users.deactivate(people.carol)
    return caller  # type: ignore[no-any-return]


def at_own_page(panels: Any, people: People, kind: str) -> Panel:
    """Carol, who may read and no more, at her own conversation; and what can be taken from her afterwards."""
    GrantFactory(root=people.root, user=people.carol, access=Access.READ)
    caller: Panel = talked(panels, "carol")
    if kind == "shut out":
        Grant.objects.filter(user=people.carol).update(access=Access.NONE)
    if kind == "put out":
        Grant.objects.filter(user=people.carol).delete()
        Membership.objects.filter(user=people.carol).delete()
    if kind == "signed out":
        cookie = caller.session.cookies["mnote_session"]
        caller.session.post(f"{caller.site}/sign-out/", timeout=20)
        caller.session.cookies.set("mnote_session", cookie)
    return caller


def send(caller: Panel, operation: dict[str, Any], session_id: str) -> int:
    """Try one operation with ids that exist, and give the status."""
    path = filled(operation["path"], session_id)
    body = {"question": "hello", "conversation_id": session_id, "answers": [["x"]], "session_id": session_id}
    query = {"session_id": session_id, "enabled": "true", "directory": "/"}
    answer = caller.session.request(
        operation["method"], caller.base + path, params=query, json=body, timeout=20, allow_redirects=False
    )
    if path == "/api/session/archive" and answer.ok:
        binding = OpenHubBinding.objects.get(pk=caller.binding.pk)
        bindings.reopen(binding=binding, by=Principal(user=binding.user))
    wait_until(lambda: not turns.standing(binding_id=caller.binding.pk).is_running)
    return answer.status_code


def test_no_operation_of_opencode_is_there(panels: Any) -> None:
    panel = talked(panels)
    operations = [line.split(" ") for line in (_DATA / "opencode-operations.txt").read_text().splitlines()]

    with ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda each: (each, _status(panel, each[0], filled(each[1], panel.session_id))), operations)

    assert [each for each, status in found if status < 400] == [["GET", "/api/health"]]


def _status(panel: Panel, method: str, path: str) -> int:
    answer = panel.session.request(method, panel.base + path, timeout=20, allow_redirects=False, json={})
    return answer.status_code


@pytest.mark.parametrize(
    "path",
    [
        "sessions/{own}/../../admin/users",
        "sessions/%2e%2e/admin/users",
        "sessions/{own}%2F..%2F..%2Fadmin%2Fusers",
        "sessions/{own}%00/messages",
        "sessions/{own}%0d%0aX-Injected:1/messages",
        "sessions/{own}%3fa=b/messages",
        "sessions/{own}%23/messages",
        "sessions/{own};a=b/messages",
        "sessions/{own}//messages",
        "internal/memory/read",
        "admin%2Fusers",
        "../api/admin/users",
        "models/../admin/users",
        "query/stream/",
        "%61dmin/users",
    ],
)
def test_hostile_paths_reach_nothing(panels: Any, hub: OpenHubStub, path: str) -> None:
    panel = talked(panels)
    asked = len(hub.asked)

    answer = raw(panel, f"{panel.base}/api/{path.format(own=panel.session_id)}")

    assert answer.status_code == 404
    assert len(hub.asked) == asked


def raw(panel: Panel, url: str) -> requests.Response:
    """Send an address as it is; the library would tidy it."""
    prepared = panel.session.prepare_request(requests.Request("GET", panel.base))
    prepared.url = url
    return panel.session.send(prepared, timeout=20, allow_redirects=False)


_FOREIGN = [
    ("GET", "sessions/{id}/messages", None, None),
    ("POST", "sessions/{id}/retry", None, None),
    ("DELETE", "sessions/{id}/messages/last-turn", None, None),
    ("GET", "query/stream/reconnect", {"session_id": "{id}"}, None),
    ("POST", "query/stream", None, {"question": "hello", "conversation_id": "{id}"}),
    ("POST", "query/abort", None, {"question": "abort", "conversation_id": "{id}"}),
    ("POST", "session/archive", None, {"session_id": "{id}"}),
]


@pytest.mark.parametrize("which", ["colleague's", "nobody's", "malformed", "object"])
@pytest.mark.parametrize(("method", "path", "query", "body"), _FOREIGN, ids=[each[1] for each in _FOREIGN])
def test_ids_of_others_are_not_there(
    panels: Any, hub: OpenHubStub, which: str, method: str, path: str, query: Any, body: Any
) -> None:
    alice, bob = talked(panels, "alice"), talked(panels, "bob")
    wanted = {"colleague's": bob.session_id, "nobody's": "ses_unknown", "malformed": "../x", "object": "ses_{}"}[which]
    hub.reached.clear()

    def put(given: Any) -> Any:
        return json.loads(json.dumps(given).replace("{id}", wanted)) if given else given

    answer = alice.call(method, path.replace("{id}", wanted), params=put(query), json=put(body))

    assert answer.status_code == 404
    assert not hub.reached
    assert bob.call("GET", f"sessions/{bob.session_id}/messages").json()["data"]


def test_conversation_of_another_page_is_read_but_not_continued_here(panels: Any, hub: OpenHubStub) -> None:
    here, there = talked(panels, path="a.md"), talked(panels, path="b.md")

    read = here.call("GET", f"sessions/{there.session_id}/messages")
    asked = here.ask("hello", conversation_id=there.session_id)

    assert read.status_code == 200
    assert (asked.status_code, asked.json()["code"]) == (409, "session-taken")


def test_list_of_sessions_holds_the_callers_own_of_this_root_only(panels: Any, hub: OpenHubStub) -> None:
    mine, other, _bobs = talked(panels), talked(panels, path="b.md"), talked(panels, "bob")
    user = hub.world.sessions[mine.session_id]["user_id"]
    hub.world.sessions["ses_stray"] = {"user_id": user, "status": 0, "title": "made elsewhere"}

    found = mine.call("GET", "sessions", params={"page": 1, "page_size": 10}).json()

    assert [each["session_id"] for each in found["data"]] == [mine.session_id, other.session_id]
    assert found["pagination"] == {"page": 1, "page_size": 10, "total": 2, "has_more": False}


def test_list_of_sessions_is_cut_into_pages_after_it_was_filtered(panels: Any) -> None:
    pages = [talked(panels, path=f"{number}.md") for number in range(3)]

    found = [pages[0].call("GET", "sessions", params={"page": page, "page_size": 2}).json() for page in (1, 2, 3)]

    assert [len(each["data"]) for each in found] == [2, 1, 0]
    assert [each["pagination"]["has_more"] for each in found] == [True, False, False]


@pytest.mark.parametrize("query", [{"page": "x"}, {"page": "-1"}, {"page_size": "999999999999"}, {"page": "0"}])
def test_list_of_sessions_bears_nonsense_in_the_query(panels: Any, query: dict[str, str]) -> None:
    found = talked(panels).call("GET", "sessions", params=query)

    assert (found.status_code, len(found.json()["data"])) == (200, 1)


def test_archiving_puts_away_here_and_deletes_nothing_there(panels: Any, hub: OpenHubStub) -> None:
    panel = talked(panels)
    session_id = panel.session_id
    hub.reached.clear()

    answer = panel.call("POST", "session/archive", json={"session_id": session_id})

    assert answer.json()["success"] is True
    assert not hub.reached
    assert panel.call("GET", "sessions").json()["data"] == []
    assert hub.world.sessions[session_id]["status"] == 0
    assert panel.ask("hello").json()["code"] == "conversation-put-away"


def test_messages_come_in_the_order_in_which_they_were_said(panels: Any) -> None:
    panel = talked(panels)
    panel.frames("second")

    rows = panel.call("GET", f"sessions/{panel.session_id}/messages").json()["data"]

    assert [each["role"] for each in rows] == ["user", "assistant", "user", "assistant"]


def test_messages_name_files_below_the_root(panels: Any, people: People) -> None:
    GrantFactory(root=people.root, user=people.alice, access=Access.READ)
    panel = talked(panels)
    panel.frames(f"CALL read {json.dumps({'filePath': f'{people.folder}/a.md'})}")

    answer = panel.call("GET", f"sessions/{panel.session_id}/messages")

    assert str(people.folder) not in answer.text
    assert '"filePath": "a.md"' in answer.text


def test_undo_takes_back_the_last_turn(panels: Any, hub: OpenHubStub) -> None:
    panel = talked(panels)

    answer = panel.call("DELETE", f"sessions/{panel.session_id}/messages/last-turn")

    assert answer.json()["deleted_user_content"] == "hello from alice"
    assert panel.call("GET", f"sessions/{panel.session_id}/messages").json()["data"] == []


def test_undo_waits_for_the_end_of_a_turn(panels: Any, hub: OpenHubStub) -> None:
    panel = talked(panels)

    with panel.ask("HANG") as answer:
        next(frames_of(answer))
        refused = panel.call("DELETE", f"sessions/{panel.session_id}/messages/last-turn")
        panel.call("POST", "query/abort", json={"conversation_id": panel.session_id})

    assert refused.json()["code"] == "turn-running"


def test_image_of_another_conversation_is_not_there(panels: Any, hub: OpenHubStub) -> None:
    alice, bob = talked(panels), talked(panels, "bob")
    bob.frames("look", images=[{"base64": "aGk=", "filename": "x.png"}])
    assert hub.world.images

    assert alice.call("GET", "images/1").status_code == 404


def test_image_that_the_conversation_shows_is_given(panels: Any, hub: OpenHubStub) -> None:
    panel = talked(panels)
    panel.frames("look", images=[{"base64": "aGk=", "filename": "x.png"}])
    rows = hub.world.messages(panel.session_id)
    rows[-1]["metadata"] = {"images": [{"id": 1}]}
    hub.answer_with(f"/api/sessions/{panel.session_id}/messages", Reply(body=json.dumps({"data": rows}).encode()))

    assert panel.call("GET", "images/1").json()["data"]["base64"] == "aGk="


def test_question_of_the_agent_is_answered_at_opencode(panels: Any, hub: OpenHubStub) -> None:
    panel = panels()
    options = [{"label": "Red", "description": "r"}, {"label": "Blue", "description": "b"}]
    question = {"question": "Which colour?", "header": "Colour", "options": options}

    with panel.ask(f"CALL question {json.dumps({'questions': [question]})}") as answer:
        frames = frames_of(answer)
        asked = next(each for each in frames if each["type"] == "question.asked")
        replied = panel.call("POST", f"question/{asked['id']}/reply", json={"answers": [["Blue"]]})
        rest = list(frames)

    assert replied.json()["success"] is True
    assert "Blue" in json.dumps(rest)
    assert "POST /api/question/{question_id}/reply" not in hub.reached


def test_question_of_another_persons_agent_is_not_there(panels: Any, hub: OpenHubStub) -> None:
    alice, bob = talked(panels), talked(panels, "bob")
    session = hub.opencode.sessions[bob.session_id]
    pending = hub.opencode.ask("question", session, {"questions": []})

    answer = alice.call("POST", f"question/{pending.facts['id']}/reply", json={"answers": [["x"]]})

    assert answer.status_code == 404
    assert not pending.answered.is_set()


def test_me_names_the_person_and_is_never_an_administrator(panels: Any) -> None:
    assert panels().call("GET", "auth/me").json()["data"] == {"username": "alice", "is_admin": False}


def test_models_are_those_of_the_policy(panels: Any, people: People) -> None:
    PanelPolicy.objects.create(workspace=people.workspace, models_json=[{"model": "fake/fake-2"}])

    found = panels().call("GET", "models").json()["data"]

    assert [each["modelID"] for each in found["models"]] == ["fake-2"]


def test_user_that_openhub_forgot_is_made_anew(panels: Any, hub: OpenHubStub) -> None:
    panel = panels()
    panel.call("GET", "models")
    for number in [key for key, user in hub.world.users.items() if not user.is_admin]:
        hub.world.users[number].models = {}

    found = panel.call("GET", "models").json()["data"]

    assert [each["modelID"] for each in found["models"]] == ["fake-1", "fake-2"]


def test_first_calls_of_the_page_at_once_make_one_user(panels: Any, hub: OpenHubStub) -> None:
    panel = panels()

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda path: panel.call("GET", path), ["auth/me", "sessions", "models", "skills"] * 2))

    assert {each.status_code for each in answers} == {200}
    assert len(hub.world.users) == 2


def test_token_that_no_longer_counts_is_replaced_once(panels: Any, hub: OpenHubStub) -> None:
    panel = panels()
    panel.call("GET", "auth/me")
    refusals = iter([Reply(status=401, body=b'{"detail": "x"}')])

    def first_refused(asked: Any) -> Reply:
        hub.answer_with("/api/models", None)
        return next(refusals)

    hub.answer_with("/api/models", first_refused)

    assert panel.call("GET", "models").status_code == 200


@pytest.mark.parametrize(
    "reply",
    [
        Reply(body=b"<!doctype html><title>opencode</title>", content_type="text/html"),
        Reply(body=b"{", content_type="application/json"),
        Reply(body=b"[1]", content_type="application/json"),
        Reply(status=500, body=b"Internal Server Error", content_type="text/plain"),
        Reply(status=401, body=b'{"detail": "x"}'),
        Reply(body=b'{"success": true, "data": "none"}'),
    ],
    ids=["html", "cut", "list", "broken", "signed out", "no list"],
)
def test_nonsense_of_openhub_is_told_without_its_words(panels: Any, hub: OpenHubStub, reply: Reply) -> None:
    panel = panels()
    hub.answer_with("/api/sessions", reply)

    answer = panel.call("GET", "sessions")

    assert answer.status_code in {502, 503}
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert not {"Set-Cookie", "Location"} & set(answer.headers)


def test_answers_carry_nothing_that_steers_the_browser(panels: Any, hub: OpenHubStub) -> None:
    headers = {
        "Set-Cookie": "mnote_session=x",
        "Location": "//evil",
        "Refresh": "0",
        "Access-Control-Allow-Origin": "*",
    }
    panel = panels()
    hub.answer_with("/api/memory", Reply(body=b'{"facts": ""}', headers=headers))

    answer = panel.call("GET", "memory")

    assert answer.status_code == 200
    assert not set(headers) & set(answer.headers)
    assert answer.headers["Cache-Control"] == "private, no-store"


def test_request_of_another_site_is_refused(panels: Any, hub: OpenHubStub) -> None:
    panel = panels()
    del panel.session.headers["X-CSRFToken"]
    hub.reached.clear()

    answer = panel.call("POST", "query/stream", json={"question": "hello"}, headers={"Origin": "https://evil.example"})

    assert answer.status_code == 403
    assert not hub.reached


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"question": ""}', b'{"question": 7}', b"\xff\xfe"])
def test_question_that_is_none_is_refused(panels: Any, hub: OpenHubStub, body: bytes) -> None:
    answer = panels().call("POST", "query/stream", data=body, headers={"Content-Type": "application/json"})

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")


def test_panel_that_is_switched_off_says_so(panels: Any, hub: OpenHubStub, people: People) -> None:
    panel = panels()
    PanelPolicy.objects.create(workspace=people.workspace, is_enabled=False)

    assert panel.call("GET", "models").json()["code"] == "panel-off"


def test_panel_of_an_archived_workspace_is_not_there(panels: Any, people: People) -> None:
    panel = panels()
    Workspace.objects.filter(pk=people.workspace.pk).update(archived_at=timezone.now())

    assert panel.call("GET", "models").status_code == 404


def test_stale_conversation_is_read_and_takes_no_question(panels: Any, people: People) -> None:
    panel = talked(panels)
    bindings.mark_stale(binding=panel.binding)

    assert panel.call("GET", f"sessions/{panel.session_id}/messages").status_code == 200
    assert panel.ask("hello").json()["code"] == "conversation-put-away"


def test_binding_of_a_page_is_the_same_in_every_browser(panels: Any, people: People) -> None:
    first = talked(panels)

    assert bind(people).pk == first.binding.pk
