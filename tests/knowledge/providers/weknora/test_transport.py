from __future__ import annotations

import logging
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from knowledge.providers.base import (
    KBRef,
    ProviderError,
    ProviderProtocolError,
    ProviderTimeout,
    ProviderUnavailable,
    SearchRequest,
)
from knowledge.providers.weknora import transport
from knowledge.providers.weknora.config import WeKnoraConfig
from knowledge.providers.weknora.limiter import MemoryLimiter
from knowledge.providers.weknora.transport import Transport
from mnote.http_limits import Timeouts
from tests.conformance.bench import Bench
from tests.engines import free_port
from tests.knowledge.providers.weknora.desk import NOTE, Desk, request
from tests.stubs.weknora import WeKnoraStub
from tests.stubs.weknora_replies import Reply, failure, gate

HTML = Reply(status=502, body=b"<html><h1>Bad Gateway</h1></html>", content_type="text/html")
BUSY = Reply(status=429, body=b"{}", headers={"Retry-After": "30"})


@pytest.fixture
def line(stub: WeKnoraStub) -> Transport:
    return Transport(WeKnoraConfig(url=stub.url, key=stub.key), MemoryLimiter())


def ask(line: Transport) -> object:
    return line.call("GET", "/api/v1/system/capabilities")


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("fault", ["html", "reset", "lost", "breaks off", "fails"])
def test_call_asks_again_when_it_does_no_harm(stub: WeKnoraStub, line: Transport, fault: str, times: int) -> None:
    facts = {
        "html": {"reply": HTML},
        "reset": {"reset": True},
        "lost": {"lose": True},
        "breaks off": {"cut": True, "is_announced": False},
        "fails": {"reply": gate(500, "Internal Server Error")},
    }[fault]
    stub.misbehave(path="capabilities", times=times, **facts)

    assert ask(line)


def test_call_gives_up_after_three_tries(stub: WeKnoraStub, line: Transport) -> None:
    stub.misbehave(reply=HTML, times=99)

    with pytest.raises(ProviderUnavailable):
        ask(line)

    assert len(stub.asked) == 3


REFUSALS = {
    "bad request": failure(400, 1000, "Invalid request parameters"),
    "bad key": gate(401, "Unauthorized: invalid API key"),
    "no right": gate(403, "Forbidden: API key scope does not allow this operation"),
    "elsewhere": failure(403, 1002, "Permission denied to access this knowledge base"),
    "unknown": failure(404, 1003, "Knowledge not found"),
    "conflict": failure(409, 1005, "标签名称已存在"),
    "too large": Reply(status=413, body=b"<html>", content_type="text/html"),
    "type": failure(500, 1007, "unsupported file type"),
    "quota": failure(500, 1007, "Storage quota exceeded"),
    "id taken": failure(500, 1007, "UNIQUE constraint failed: knowledge_bases.id"),
    "query": failure(500, 1007, "FTS5 query failed: unterminated string"),
    "no model": failure(500, 1007, "model not found"),
    "page": Reply(status=200, body=b"<html>Welcome</html>", content_type="text/html"),
    "half a page": Reply(status=200, body=b'{"success":true,"data":[{"id":"'),
}


@pytest.mark.parametrize("reply", REFUSALS.values(), ids=REFUSALS)
def test_call_that_is_refused_is_not_repeated(stub: WeKnoraStub, line: Transport, reply: Reply) -> None:
    stub.misbehave(reply=reply, times=99)

    with pytest.raises(ProviderError):
        ask(line)

    assert len(stub.asked) == 1


def test_call_that_may_do_harm_twice_is_made_once(stub: WeKnoraStub, line: Transport) -> None:
    stub.misbehave(reply=HTML, times=99)

    with pytest.raises(ProviderUnavailable):
        line.call("POST", "/api/v1/knowledge-bases", json={"name": "x"})

    assert len(stub.asked) == 1


def test_call_says_what_an_answer_without_its_second_half_is(stub: WeKnoraStub, line: Transport) -> None:
    stub.misbehave(path="capabilities", cut=True)

    with pytest.raises(ProviderProtocolError):
        ask(line)


def test_call_to_nobody_is_unavailable() -> None:
    line = Transport(WeKnoraConfig(url=f"http://127.0.0.1:{free_port()}", key="x"), MemoryLimiter())

    with pytest.raises(ProviderUnavailable):
        ask(line)


def test_call_that_takes_too_long_is_a_timeout_and_not_repeated(stub: WeKnoraStub, line: Transport) -> None:
    stub.misbehave(wait=True, times=99)

    with pytest.raises(ProviderTimeout):
        line.call("GET", "/api/v1/system/capabilities", timeouts=Timeouts(connect=1, read=0.2, total=0.5))

    assert len(stub.asked) == 1


def test_uploads_have_more_time_than_looks() -> None:
    assert transport.STATUS.read < transport.SEARCH.read < transport.READ.read < transport.UPLOAD.read


def test_server_that_asks_for_a_pause_is_left_alone_by_every_worker(stub: WeKnoraStub) -> None:
    shared = MemoryLimiter()
    one, other = (Transport(WeKnoraConfig(url=stub.url, key=stub.key), shared) for _ in range(2))
    stub.misbehave(reply=BUSY)

    with pytest.raises(ProviderUnavailable) as told:
        ask(one)
    with pytest.raises(ProviderUnavailable) as spared:
        ask(other)

    assert told.value.retry_after == 30
    assert 25 < (spared.value.retry_after or 0) <= 30
    assert len(stub.asked) == 1


def test_pause_without_a_time_is_a_short_one(stub: WeKnoraStub, line: Transport) -> None:
    stub.misbehave(reply=Reply(status=429, body=b"{}"))

    with pytest.raises(ProviderUnavailable) as told:
        ask(line)

    assert told.value.retry_after == 5


def test_pause_of_one_server_is_none_of_another(stub: WeKnoraStub) -> None:
    shared = MemoryLimiter()
    shared.rest(WeKnoraConfig(url="http://elsewhere.invalid", key="x").server, 60)

    assert ask(Transport(WeKnoraConfig(url=stub.url, key=stub.key), shared))


def test_call_goes_by_the_clock_of_the_server(stub: WeKnoraStub, line: Transport) -> None:
    stub.world.pass_time(7200)
    ask(line)

    assert abs((line.now - stub.world.now()).total_seconds()) < 3


def test_calls_at_once_are_limited(stub: WeKnoraStub) -> None:
    line = Transport(WeKnoraConfig(url=stub.url, key=stub.key, calls_at_once=2), MemoryLimiter())
    stub.misbehave(wait=True, times=99)

    with ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(ask, line) for _ in range(4)]
        threading.Event().wait(0.3)
        at_once = len(stub.asked)
        stub.released.set()
        for call in calls:
            call.result()

    assert at_once == 2


def test_call_names_its_language_and_tenant_and_sends_its_key_in_the_one_way_that_works(stub: WeKnoraStub) -> None:
    """T47: without a language texts come in Chinese. A key as bearer does not work."""
    config = WeKnoraConfig(url=stub.url, key=stub.key, tenant_id="1")
    ask(Transport(config, MemoryLimiter()))

    headers = stub.asked[0].headers
    assert (headers["Accept-Language"], headers["X-Tenant-ID"], headers["X-API-Key"]) == ("en", "1", stub.key)
    assert "Authorization" not in headers


def test_address_with_the_path_of_the_api_means_the_same(stub: WeKnoraStub) -> None:
    assert ask(Transport(WeKnoraConfig(url=stub.url + "/api/v1/", key=stub.key), MemoryLimiter()))


def test_key_and_texts_never_reach_logs_errors_or_reprs(
    stub: WeKnoraStub, desk: Desk, bench: Bench, kb: KBRef, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    secret = "Verysecretword"
    provider, said = bench.provider, []
    bench.ingest(kb, f"{NOTE}{secret}\n")
    for fault in ({"reply": HTML}, {"reset": True}, {"cut": True}, {"reply": gate(401, stub.key)}):
        stub.misbehave(times=9, **fault)
        for call in (
            lambda: provider.ingest(request(kb, f"{secret} again")),
            lambda: provider.search(SearchRequest(workspace_id="w", kbs=(kb,), query=secret, limit=3)),
            lambda: provider.delete_kb(kb),
        ):
            try:
                call()
            except ProviderError as error:
                said.append(f"{error!r} {error} {error.__cause__!r} {error.__context__!r}")
        stub.faults.clear()
    said += [repr(desk.provider().status()), repr(provider.check(kb)), repr(WeKnoraConfig(url=stub.url, key=stub.key))]

    everything = caplog.text + "".join(said)
    assert said
    assert stub.key not in everything
    assert secret not in everything
    assert "<html>" not in everything
