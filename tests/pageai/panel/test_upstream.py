from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator

import pytest

from pageai.panel.errors import PanelUnavailable
from pageai.panel.upstream import Call, open_stream
from tests.stubs.openhub import OpenHubStub
from tests.stubs.openhub_http import BrokenOff, Reply


def call(hub: OpenHubStub, path: str = "/api/models") -> Call:
    return Call(method="POST", url=hub.url + path, headers={"Accept": "text/event-stream"}, json={"a": 1})


async def read(asked: Call, *, silence_seconds: float = 5) -> bytes:
    async with open_stream(asked, layer="openhub_fastapi", silence_seconds=silence_seconds) as stream:
        return b"".join([piece async for piece in stream.pieces()])


def streaming(*pieces: bytes, error: Exception | None = None) -> Reply:
    def stream() -> Iterator[bytes]:
        yield from pieces
        if error:
            raise error

    return Reply(content_type="text/event-stream", stream=stream())


def test_stream_gives_the_bytes_as_they_are(hub: OpenHubStub) -> None:
    hub.answer_with("/api/models", streaming(b"data: 1\n\n", b": heartbeat\n\n", "数".encode()))

    assert asyncio.run(read(call(hub))) == b"data: 1\n\n: heartbeat\n\n" + "数".encode()


def test_stream_that_breaks_off_is_unavailable(hub: OpenHubStub) -> None:
    hub.answer_with("/api/models", streaming(b"data: 1\n\n", error=BrokenOff()))

    with pytest.raises(PanelUnavailable):
        asyncio.run(read(call(hub)))


def test_stream_that_falls_silent_is_unavailable(hub: OpenHubStub) -> None:
    def silent() -> Iterator[bytes]:
        yield b"data: 1\n\n"
        blocked.recv(1)

    blocked, other = socket.socketpair()
    hub.answer_with("/api/models", Reply(content_type="text/event-stream", stream=silent()))
    with blocked, other, pytest.raises(PanelUnavailable):
        asyncio.run(read(call(hub), silence_seconds=0.2))


def test_stream_is_asked_for_once_even_when_nobody_answers(hub: OpenHubStub) -> None:
    def broken(_asked: object) -> Reply:
        raise BrokenOff

    hub.answer_with("/api/models", broken)

    with pytest.raises(PanelUnavailable):
        asyncio.run(read(call(hub)))
    assert len(hub.asked) == 1


def test_stream_follows_no_redirect_and_takes_no_cookie(hub: OpenHubStub) -> None:
    headers = {"Location": "/api/health", "Set-Cookie": "a=b"}
    hub.answer_with("/api/models", Reply(status=302, headers=headers))

    async def status() -> int:
        async with open_stream(call(hub), layer="openhub_fastapi", silence_seconds=5) as stream:
            return stream.status

    assert asyncio.run(status()) == 302
    assert len(hub.asked) == 1


def test_stream_error_names_no_address() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        asked = Call(method="GET", url=f"http://127.0.0.1:{port}/api/models", headers={})

        with pytest.raises(PanelUnavailable) as caught:
            asyncio.run(read(asked))

    assert str(port) not in str(caught.value)


@pytest.mark.parametrize(
    ("body", "expected"), [(b'{"detail": "no"}', {"detail": "no"}), (b"<html>", {}), (b"[1]", {}), (b"x" * 70_000, {})]
)
def test_stream_reads_a_refusal_as_far_as_it_is_json(hub: OpenHubStub, body: bytes, expected: dict[str, str]) -> None:
    hub.answer_with("/api/models", Reply(status=403, body=body))

    async def error() -> object:
        async with open_stream(call(hub), layer="openhub_fastapi", silence_seconds=5) as stream:
            return await stream.error()

    assert asyncio.run(error()) == expected
