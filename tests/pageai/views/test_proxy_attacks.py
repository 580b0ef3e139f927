"""Requests made to get past the proxy, and answers made to get past it the other way. Each ends in a clear refusal: no
byte of anybody else, nothing asked of OpenHub that the list does not allow, no conversation left unusable."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests

from pageai.models import Run
from pageai.views import proxy
from tests.pageai.views.conftest import SECRET, Panel, frames_of, said
from tests.pageai.views.test_proxy import raw
from tests.stubs.openhub import OpenHubStub
from tests.stubs.openhub_http import json_reply

pytestmark = pytest.mark.timeout(300)


_OVERRIDES = ("X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override")


def send_raw(panel: Panel, head: str, body: bytes = b"") -> bytes:
    """Send bytes as they are, with alice's cookies, and read until the server closes or falls silent."""
    at = urlsplit(panel.site)
    cookies = "; ".join(f"{each.name}={each.value}" for each in panel.session.cookies)
    own = f"Host: {at.netloc}\r\nCookie: {cookies}\r\nX-CSRFToken: {'c' * 32}\r\n"
    received = b""
    with socket.create_connection((str(at.hostname), int(at.port or 0)), timeout=3) as wire:
        wire.sendall((head.replace("{own}", own)).encode("latin-1") + body)
        while True:
            try:
                piece = wire.recv(65_536)
            except (TimeoutError, ConnectionResetError):
                return received
            if not piece:
                return received
            received += piece


def test_upstream_hears_only_what_the_host_says(two: tuple[Panel, Panel], hub: OpenHubStub) -> None:
    alice, _bob = two
    forged = {
        "Authorization": "Bearer forged",
        "X-Forwarded-For": "127.0.0.1",
        "X-Forwarded-User": "bob",
        "X-Remote-User": "bob",
        "Remote-User": "bob",
        "Forwarded": "for=127.0.0.1",
        "X-Original-URL": "/api/admin/users",
        "X-Rewrite-URL": "/api/admin/users",
        "X-Internal-Secret": "x",
        "X-HTTP-Method-Override": "DELETE",
        "Origin": alice.site,
        "Range": "bytes=0-1",
        "If-None-Match": "*",
        "Accept-Encoding": "gzip, br",
        "Content-Language": "de",
    }
    alice.session.headers.update(forged)

    for path in ("auth/me", "models", "sessions", f"sessions/{alice.session_id}/messages", "skills", "memory"):
        assert alice.call("GET", path).status_code == 200
    alice.frames("hello")

    named = {name for each in hub.asked for name in each.headers}
    assert not named & {name.lower() for name in set(forged) - {"Authorization", "Accept-Encoding"}}
    assert not named & {"cookie", "x-csrftoken", "referer"}
    assert "Bearer forged" not in {each.headers.get("authorization") for each in hub.asked}


def test_no_header_makes_another_method(two: tuple[Panel, Panel], hub: OpenHubStub) -> None:
    alice, _bob = two
    path = f"sessions/{alice.session_id}/messages/last-turn"

    answers = [
        *(alice.call("POST", path, headers={header: "DELETE"}) for header in _OVERRIDES),
        *(alice.call("GET", path, headers={header: "DELETE"}) for header in _OVERRIDES),
        alice.call("POST", path, params={"_method": "DELETE"}, data={"_method": "DELETE"}),
    ]

    assert {each.status_code for each in answers} == {404}
    assert not hub.reached


def test_methods_that_the_list_does_not_name_reach_nothing(two: tuple[Panel, Panel], hub: OpenHubStub) -> None:
    alice, _bob = two
    paths = ("sessions", "skills/demo", f"sessions/{alice.session_id}/messages", "query/stream")
    for method in ("HEAD", "OPTIONS", "PATCH", "TRACE", "PROPFIND"):
        for path in paths:
            url = f"{urlsplit(alice.base).path}/api/{path}"
            answer = send_raw(alice, f"{method} {url} HTTP/1.1\r\n{{own}}Connection: close\r\n\r\n")
            assert answer.split(b" ")[1] in {b"400", b"403", b"404", b"405", b"501"}, answer[:200]

    assert not hub.reached


def test_a_preflight_of_another_origin_gets_no_leave(two: tuple[Panel, Panel], hub: OpenHubStub) -> None:
    alice, _bob = two
    asking = {
        "Origin": "https://evil.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type, x-csrftoken",
        "Access-Control-Request-Private-Network": "true",
    }
    hub.answer_with("/api/memory", json_reply({"facts": ""}, headers={"Access-Control-Allow-Origin": "*"}))

    answers = [
        alice.call("OPTIONS", "query/stream", headers=asking),
        alice.call("GET", "memory", headers={"Origin": "https://evil.example"}),
    ]

    assert answers[0].status_code == 404
    assert not [name for each in answers for name in each.headers if name.lower().startswith("access-control-")]
    assert answers[1].headers["Cross-Origin-Resource-Policy"] == "same-origin"


def test_a_socket_is_not_opened(two: tuple[Panel, Panel], hub: OpenHubStub) -> None:
    alice, _bob = two
    url = f"{urlsplit(alice.base).path}/api/query/stream"
    upgrade = (
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )

    answer = send_raw(alice, f"GET {url} HTTP/1.1\r\n{{own}}{upgrade}")

    assert answer.split(b" ")[1] == b"404"
    assert not hub.reached


_PATHS = [
    "sessions/%252e%252e/admin/users",
    "sessions/{own}%252Fmessages",
    "sessions/{own}/..%2f..%2fadmin/users",
    "sessions/{own}/..%5c..%5cadmin/users",
    "sessions/{own}\\messages",
    "sessions/{own}/%2e%2e/%2e%2e/admin/users",
    "sessions/%c0%ae%c0%ae/admin/users",
    "sessions/{own}%ff/messages",
    "sessions/{own}%00.json/messages",
    "sessions/{own}%20/messages",
    "sessions/{own}%09/messages",
    "sessions/{own}%E2%80%8B/messages",
    "sessions/ｓｅｓ_{own}/messages",
    "sessions/{foreign}/messages%3f{own}",
    "sessions/{own}/messages/../../{foreign}/messages",
    "sessions/{own}%2f..%2f{foreign}/messages",
    "sessions/{own},{foreign}/messages",
    "images/0x1",
    "images/1/../2",
    "images/%31%2e",
    "skills/..%2f..%2fadmin",
    "skills/.hidden",
    "internal/memory/save?directory=/",
    "http://127.0.0.1/api/sessions",
    "//evil.example/api/sessions",
    "@evil.example/sessions",
]


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
def test_hostile_paths_of_every_method_reach_nothing(two: tuple[Panel, Panel], hub: OpenHubStub, method: str) -> None:
    alice, bob = two
    answers = {}
    for path in _PATHS:
        prepared = alice.session.prepare_request(requests.Request(method, alice.base, json={}))
        prepared.url = f"{alice.base}/api/{path.format(own=alice.session_id, foreign=bob.session_id)}"
        answers[path] = alice.session.send(prepared, timeout=20, allow_redirects=False)

    assert {path: each.status_code for path, each in answers.items() if each.status_code not in {400, 404}} == {}
    assert not [path for path, each in answers.items() if SECRET in each.text]
    assert not hub.reached


def test_an_encoded_slash_means_what_the_plain_one_means(two: tuple[Panel, Panel], hub: OpenHubStub) -> None:
    """The address is decoded once, judged decoded, and made anew: no other reading of it ever leaves."""
    alice, bob = two

    own = raw(alice, f"{alice.base}/api/sessions%2F{alice.session_id}%2Fmessages")
    foreign = raw(alice, f"{alice.base}/api/sessions%2F{bob.session_id}%2Fmessages")

    assert (own.status_code, foreign.status_code) == (200, 404)
    assert {each.target for each in hub.asked if "messages" in each.path} == {
        f"/api/sessions/{alice.session_id}/messages"
    }


@pytest.mark.parametrize("order", ["own first", "foreign first"])
def test_of_a_key_given_twice_the_one_that_counts_is_the_one_that_was_checked(
    two: tuple[Panel, Panel], hub: OpenHubStub, order: str
) -> None:
    alice, bob = two
    ids = [alice.session_id, bob.session_id]
    ids = ids if order == "own first" else ids[::-1]
    twice = ", ".join(f'"conversation_id": "{each}"' for each in ids)
    body = f'{{"question": "hello", {twice}}}'.encode()

    asked = alice.call("POST", "query/stream", data=body, headers={"Content-Type": "application/json"})
    joined = alice.call("GET", "query/stream/reconnect", params=[("session_id", each) for each in ids])
    stopped = alice.call("POST", "query/abort", data=body, headers={"Content-Type": "application/json"})

    expected = 404 if order == "own first" else 200
    assert (asked.status_code, joined.status_code, stopped.status_code) == (expected,) * 3
    sent = [each for each in hub.asked if each.path.startswith("/api/query")]
    assert not [each for each in sent if bob.session_id.encode() in each.body + each.target.encode()]
    assert SECRET not in asked.text + joined.text


_GIVEN = [
    ["{foreign}"],
    {"id": "{foreign}"},
    {"$ne": ""},
    True,
    0,
    "{own}\u0000{foreign}",
    "{own} {foreign}",
    "{foreign}?x={own}",
    "ses_" + "a" * 10_000,
]


def test_an_id_of_another_form_names_nothing(two: tuple[Panel, Panel], hub: OpenHubStub) -> None:
    alice, bob = two
    text = json.dumps(_GIVEN).replace("{own}", alice.session_id).replace("{foreign}", bob.session_id)

    for wanted in json.loads(text):
        answers = [
            alice.ask("hello", conversation_id=wanted),
            alice.call("POST", "query/abort", json={"conversation_id": wanted}),
            alice.call("POST", "session/archive", json={"session_id": wanted}),
        ]
        assert {each.status_code for each in answers} <= {400, 404}, wanted

    assert not hub.reached
    assert hub.world.sessions[bob.session_id]["status"] == 0


def test_ids_deeper_in_a_body_are_left_out(two: tuple[Panel, Panel], hub: OpenHubStub) -> None:
    alice, bob = two
    nested = {
        "session_id": bob.session_id,
        "context": {"conversation_id": bob.session_id, "directory": "/etc"},
        "agent": "plan",
        "__proto__": {"conversation_id": bob.session_id},
    }

    frames = alice.frames("hello", **nested)

    (asked,) = [each for each in hub.asked if each.path == "/api/query/stream"]
    assert set(asked.json()) == {"question", "conversation_id", "agent", "model"}
    assert asked.json()["conversation_id"] == alice.session_id
    assert said(frames) == "Echo: hello"


def test_a_body_is_json_whatever_it_calls_itself(two: tuple[Panel, Panel], hub: OpenHubStub) -> None:
    alice, _bob = two
    body = json.dumps({"question": "hello", "conversation_id": "ses_none"}).encode()
    forms = ("application/x-www-form-urlencoded", "multipart/form-data; boundary=x")

    kinds_ = ("text/plain", "application/json; charset=utf-16", "application/xml", "", *forms)
    answers = [alice.call("POST", "query/stream", data=body, headers={"Content-Type": kind}) for kind in kinds_]
    # Read as JSON it names a conversation that is not there.
    assert {each.status_code for each in answers} <= {400, 404}
    assert [each.status_code for each in answers[:3]] == [404] * 3

    # A page elsewhere can send these without asking; the token it cannot have.
    del alice.session.headers["X-CSRFToken"]
    forged = [alice.call("POST", "query/stream", data=body, headers={"Content-Type": kind}) for kind in kinds_]
    assert {each.status_code for each in forged} == {403}
    assert not hub.reached


def test_a_body_in_chunks_is_read_like_any_other(two: tuple[Panel, Panel], hub: OpenHubStub) -> None:
    alice, _bob = two

    def pieces() -> Iterator[bytes]:
        yield b'{"question": '
        yield b'"hello"}'

    answer = alice.call("POST", "query/stream", data=pieces(), stream=True)

    assert said(list(frames_of(answer))) == "Echo: hello"


@pytest.mark.parametrize("is_chunked", [True, False])
def test_a_body_that_is_too_large_is_refused(
    two: tuple[Panel, Panel], hub: OpenHubStub, monkeypatch: pytest.MonkeyPatch, is_chunked: bool
) -> None:
    monkeypatch.setattr(proxy, "_MAX_BODY_BYTES", 1_000)
    alice, _bob = two
    body = json.dumps({"question": "x" * 2_000}).encode()

    answer = alice.call("POST", "query/stream", data=iter([body]) if is_chunked else body)

    assert (answer.status_code, answer.json()["code"]) == (413, "too-large")
    assert not hub.reached


def test_two_lengths_are_one_request_of_nobodys(two: tuple[Panel, Panel], hub: OpenHubStub) -> None:
    """What a confused server would take for a second request, of whoever comes next, is none here."""
    alice, bob = two
    url = urlsplit(alice.base).path
    smuggled = f"GET {url}/api/sessions/{bob.session_id}/messages HTTP/1.1\r\nHost: x\r\nX-Ignore: "
    head = f"POST {url}/api/query/abort HTTP/1.1\r\n{{own}}Content-Type: application/json\r\n"
    forms = [
        (f"{head}Content-Length: {5 + len(smuggled)}\r\nTransfer-Encoding: chunked\r\n\r\n", f"0\r\n\r\n{smuggled}"),
        (f"{head}Content-Length: 2\r\nContent-Length: {2 + len(smuggled)}\r\n\r\n", "{}" + smuggled),
        (f"{head}Transfer-Encoding: xchunked\r\nContent-Length: 2\r\n\r\n", "{}" + smuggled),
        (f"{head}Transfer-Encoding : chunked\r\nContent-Length: 2\r\n\r\n", "{}" + smuggled),
    ]

    answers = [send_raw(alice, head, body.encode()) for head, body in forms]

    assert not [each for each in answers if SECRET.encode() in each]
    assert not [each for each in hub.asked if bob.session_id in each.target]


def test_nothing_that_is_answered_may_be_kept(two: tuple[Panel, Panel], hub: OpenHubStub, panels: Any) -> None:
    alice, bob = two
    answers = [
        alice.call("GET", "sessions"),
        alice.call("GET", "images/7"),
        alice.call("GET", f"sessions/{bob.session_id}/messages"),
        alice.call("GET", "admin/users"),
        alice.call("POST", "query/stream", data=b"{"),
        alice.ask("hello"),
        alice.reconnect(),
        alice.session.get(f"{alice.base}/", timeout=20),
        panels(None, binding=alice.binding).call("GET", "sessions"),
    ]

    assert [
        each.headers.get("Cache-Control", "")
        for each in answers
        if "no-store" not in each.headers.get("Cache-Control", "")
    ] == []
    for each in answers:
        each.close()


def test_text_that_cannot_be_written_is_refused_and_blocks_nothing(two: tuple[Panel, Panel], hub: OpenHubStub) -> None:
    alice, _bob = two
    runs = Run.objects.count()
    bodies = [
        {"question": "half a \ud83d letter"},
        {"question": "hello", "agent": "\ud800"},
        {"question": "hello", "images": [{"base64": "aGk=", "filename": "\udfff.png"}]},
        {"question": "hello", "conversation_id": "\ud800"},
        {"question": "hello", "model": {"providerID": "\ud800", "modelID": "x"}},
    ]

    answers = [alice.call("POST", "query/stream", data=json.dumps(each).encode()) for each in bodies]

    assert [each.status_code for each in answers] == [400, 400, 400, 400, 403]
    assert not hub.reached
    assert Run.objects.count() == runs
    assert said(alice.frames("hello")) == "Echo: hello"


def test_answers_that_cannot_be_written_leave_the_question_waiting(panels: Any, hub: OpenHubStub) -> None:
    panel = panels()
    question = {"question": "Which?", "header": "H", "options": [{"label": "Red", "description": "r"}]}
    with panel.ask(f"CALL question {json.dumps({'questions': [question]})}") as answer:
        frames = frames_of(answer)
        asked = next(each for each in frames if each["type"] == "question.asked")
        path = f"question/{asked['id']}/reply"
        bad = [
            panel.call("POST", path, data=json.dumps({"answers": given}).encode()).status_code
            for given in ([["\ud800"]], [[["x"]]], [{"a": "b"}], "x", [], [["x" * 5_000]])
        ]
        good = panel.call("POST", path, json={"answers": [["Red"]]})
        rest = list(frames)

    assert bad == [400] * 6
    assert good.json()["success"] is True
    assert "Red" in said(rest)
