from __future__ import annotations

import gzip
import logging
import socket
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from django.db import transaction

from mnote import http
from mnote.http import AnswerTooLarge, TimedOut, Timeouts, TooManyRedirects, Unreachable, build_client
from mnote.outbound import AddressRefused, OutboundPolicy
from tests.stubs.web import Reply, WebStub, web_stub

FAST = Timeouts(connect=1, read=1, total=3)


@pytest.fixture
def stub() -> Iterator[WebStub]:
    with web_stub() as running:
        yield running


def client(stub: WebStub, **changes: object) -> http.Client:
    return build_client(stub.url, **{"role": "index", "timeouts": FAST, **changes})  # type: ignore[arg-type]


def policy(stub: WebStub) -> OutboundPolicy:
    return OutboundPolicy(allowed_hosts=frozenset({f"127.0.0.1:{stub.port}"}))


def fetch(stub: WebStub, url: str, **changes: object) -> http.Fetched:
    parts = {"role": "web page", "timeouts": FAST, "max_bytes": 10_000, "policy": policy(stub), **changes}
    return http.fetch(url, **parts)  # type: ignore[arg-type]


def test_client_sends_json_and_its_own_headers(stub: WebStub) -> None:
    stub.reply("/api/x", Reply(body=b'{"ok": true}'))

    answer = client(stub, headers={"X-API-Key": "secret"}).request("POST", "/api/x", json={"a": 1})

    asked = stub.asked[0]
    assert (answer.status, answer.json()) == (200, {"ok": True})
    assert (asked.method, asked.body, asked.headers["X-API-Key"]) == ("POST", b'{"a": 1}', "secret")
    assert asked.headers["User-Agent"].startswith("mnote/")


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_client_repeats_an_idempotent_call(stub: WebStub, status: int) -> None:
    stub.reply("/x", Reply(status=status, headers={"Retry-After": "0"}), Reply(body=b"done"))

    assert client(stub).request("GET", "/x").body == b"done"
    assert len(stub.asked) == 2


def test_client_repeats_after_a_broken_connection(stub: WebStub) -> None:
    stub.reply("/x", Reply(close=True), Reply(body=b"done"))

    assert client(stub).request("GET", "/x").body == b"done"


def test_client_does_not_repeat_a_post(stub: WebStub) -> None:
    stub.reply("/x", Reply(status=503), Reply(body=b"done"))

    assert client(stub).request("POST", "/x", json={}).status == 503
    assert len(stub.asked) == 1


def test_client_repeats_a_post_that_is_called_idempotent(stub: WebStub) -> None:
    stub.reply("/x", Reply(status=503, headers={"Retry-After": "0"}), Reply(body=b"done"))

    assert client(stub).request("POST", "/x", json={}, is_idempotent=True).is_ok


def test_client_gives_up_after_its_tries(stub: WebStub) -> None:
    stub.reply("/x", Reply(status=503, headers={"Retry-After": "0"}))

    assert client(stub, tries=3).request("GET", "/x").status == 503
    assert len(stub.asked) == 3


IN_AN_HOUR = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)


@pytest.mark.parametrize("retry_after", ["600", IN_AN_HOUR], ids=["seconds", "date"])
def test_client_hands_back_an_answer_that_asks_to_wait_too_long(stub: WebStub, retry_after: str) -> None:
    stub.reply("/x", Reply(status=429, headers={"Retry-After": retry_after}))

    answer = client(stub).request("GET", "/x")

    assert (answer.status, answer.headers["retry-after"], len(stub.asked)) == (429, retry_after, 1)


def test_client_waits_as_told(stub: WebStub) -> None:
    stub.reply("/x", Reply(status=429, headers={"Retry-After": "1"}), Reply(body=b"done"))
    started = time.monotonic()

    client(stub).request("GET", "/x")

    assert time.monotonic() - started >= 1


def test_client_follows_no_redirect(stub: WebStub) -> None:
    stub.reply("/x", Reply(status=302, headers={"Location": "/y"}))

    assert client(stub).request("GET", "/x").status == 302


@pytest.mark.parametrize("is_packed", [False, True], ids=["plain", "gzip bomb"])
def test_client_stops_reading_a_body_that_is_too_large(stub: WebStub, *, is_packed: bool) -> None:
    body = b"x" * 3_000_000
    packed = Reply(body=gzip.compress(body), headers={"Content-Encoding": "gzip"})
    stub.reply("/x", packed if is_packed else Reply(body=body))

    with pytest.raises(AnswerTooLarge):
        client(stub, max_bytes=1_000_000).request("GET", "/x")


def test_client_cuts_off_a_server_that_drips(stub: WebStub) -> None:
    stub.reply("/x", Reply(body=b"x" * 200, drip_seconds=0.05))
    started = time.monotonic()

    with pytest.raises(TimedOut):
        client(stub, timeouts=Timeouts(connect=1, read=1, total=0.5)).request("GET", "/x")

    assert time.monotonic() - started < 2


def test_client_says_when_nobody_answers() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/secret-path"

        with pytest.raises(Unreachable) as caught:
            build_client(url, role="index", timeouts=FAST, tries=1).request("GET", "/x")

    assert "secret-path" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.django_db(transaction=True)
def test_client_refuses_to_call_inside_a_transaction(stub: WebStub) -> None:
    with pytest.raises(RuntimeError), transaction.atomic():
        client(stub).request("GET", "/x")

    assert stub.asked == []


def test_client_logs_neither_address_nor_headers(stub: WebStub, caplog: pytest.LogCaptureFixture) -> None:
    stub.reply("/path-secret", Reply(status=500))
    caplog.set_level(logging.DEBUG, logger="mnote.http")

    client(stub, headers={"X-API-Key": "key-secret"}).request("POST", "/path-secret?q=query-secret", json={"b": "body"})

    said = " ".join(str(record.__dict__) for record in caplog.records)
    assert "index answered 500" in said
    assert not any(word in said for word in ("path-secret", "key-secret", "query-secret", stub.url))


def test_client_keeps_no_cookies(stub: WebStub) -> None:
    stub.reply("/x", Reply(headers={"Set-Cookie": "a=1"}))
    one = client(stub)

    one.request("GET", "/x")
    one.request("GET", "/x")

    assert "Cookie" not in stub.asked[1].headers


def test_fetch_follows_redirects_and_says_where_it_ended(stub: WebStub) -> None:
    stub.reply("/a", Reply(status=302, headers={"Location": "/b"}))
    stub.reply("/b", Reply(body=b"page"))

    fetched = fetch(stub, f"{stub.url}/a")

    assert (fetched.answer.body, fetched.url) == (b"page", f"{stub.url}/b")
    assert stub.asked[0].headers["Host"] == f"127.0.0.1:{stub.port}"


@pytest.mark.parametrize(
    "location",
    [
        "http://169.254.169.254/latest/meta-data",
        "http://127.0.0.2/",
        "http://[::ffff:127.0.0.1]/",
        "http://2130706433/",
        "http://0x7f.0.0.1/",
        "http://localhost/",
        "file:///etc/passwd",
        "gopher://127.0.0.1/",
        "//10.0.0.1/",
        "http://user:pw@127.0.0.1/",
    ],
)
def test_fetch_refuses_a_redirect_inside(stub: WebStub, location: str) -> None:
    stub.reply("/a", Reply(status=302, headers={"Location": location}))

    with pytest.raises(AddressRefused):
        fetch(stub, f"{stub.url}/a")

    assert len(stub.asked) == 1


def test_fetch_connects_to_the_address_it_checked(stub: WebStub) -> None:
    """A name that changes its address between check and use gains nothing: it is looked up once."""
    looked_up: list[str] = []

    def resolver(host: str, port: int) -> list[str]:
        looked_up.append(host)
        return ["127.0.0.1"] if len(looked_up) == 1 else ["169.254.169.254"]

    stub.reply("/a", Reply(body=b"page"))
    trusted = OutboundPolicy(allowed_hosts=frozenset({"wiki.example"}), resolver=resolver)

    fetched = fetch(stub, f"http://wiki.example:{stub.port}/a", policy=trusted)

    assert (fetched.answer.body, looked_up) == (b"page", ["wiki.example"])
    assert stub.asked[0].headers["Host"] == f"wiki.example:{stub.port}"


def test_fetch_checks_a_name_anew_at_every_hop(stub: WebStub) -> None:
    answers = iter([["127.0.0.1"], ["169.254.169.254"]])
    stub.reply("/a", Reply(status=302, headers={"Location": "http://other.example/"}))
    trusted = OutboundPolicy(allowed_hosts=frozenset({"wiki.example"}), resolver=lambda _host, _port: next(answers))

    with pytest.raises(AddressRefused):
        fetch(stub, f"http://wiki.example:{stub.port}/a", policy=trusted)


def test_fetch_ends_a_loop_of_redirects(stub: WebStub) -> None:
    stub.reply("/a", Reply(status=302, headers={"Location": "/a"}))

    with pytest.raises(TooManyRedirects):
        fetch(stub, f"{stub.url}/a", max_redirects=3)

    assert len(stub.asked) == 4
