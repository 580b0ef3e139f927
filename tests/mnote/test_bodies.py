from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from typing import Any

import pytest

from mnote import bodies
from mnote.bodies import WaitingBodies, limit_of

FILES = "/api/knowledge/files"


def scope(path: str, method: str = "POST", **headers: str) -> dict[str, Any]:
    pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return {"type": "http", "path": path, "method": method, "headers": pairs}


def call(wanted: dict[str, Any], chunks: Iterable[bytes]) -> tuple[int, bytes, bytes | None]:
    """Send a body in chunks; give status and body of the answer, and what the application read of ours (None: it was
    told that the caller had gone, or never asked)."""
    parts, sent, read = list(chunks), [], [None]

    async def receive() -> dict[str, Any]:
        body = parts.pop(0)
        return {"type": "http.request", "body": body, "more_body": bool(parts)}

    async def send(message: Any) -> None:
        sent.append(message)

    async def application(_scope: Any, receiving: Any, sending: Any) -> None:
        whole, more = b"", True
        while more:
            message = await receiving()
            if message["type"] == "http.disconnect":
                return
            whole, more = whole + message["body"], message["more_body"]
        read[0] = whole
        await sending({"type": "http.response.start", "status": 200, "headers": []})
        await sending({"type": "http.response.body", "body": b"done"})

    asyncio.run(bodies.limited(application)(wanted, receive, send))
    return sent[0]["status"], sent[1]["body"], read[0]


def test_body_within_the_limit_arrives_whole() -> None:
    assert call(scope("/api/x"), [b"a", b"b", b""]) == (200, b"done", b"ab")


def test_body_that_announces_too_much_is_not_read(settings: Any) -> None:
    status, body, read = call(scope("/api/x", content_length=str(settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)), [])

    assert (status, json.loads(body)["code"], read) == (413, "too-large", None)


def test_body_that_turns_out_too_large_is_cut_off(settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100

    status, body, read = call(scope("/api/x"), [b"x" * 60, b"x" * 60, b"x" * 60])

    assert (status, json.loads(body)["code"], read) == (413, "too-large", None)


@pytest.mark.parametrize(
    ("wanted", "may_be_large"),
    [
        (scope(FILES, authorization="Bearer mnt_x"), True),
        (scope(FILES, cookie="a=1; mnote_session=x"), True),
        (scope("/prefix/api/knowledge/knowledge-bases/kb_x/sources", authorization="Bearer x"), True),
        (scope(FILES), False),
        (scope(FILES, cookie="other=1"), False),
        (scope(FILES, "GET", authorization="Bearer x"), False),
        (scope("/pageai/openhub/bind_x/api/query/stream", cookie="mnote_session=x"), True),
        (scope("/pageai/openhub/bind_x/api/query/abort", cookie="mnote_session=x"), False),
        (scope("/pageai/openhub/bind_x/api/query/stream"), False),
        (scope("/api/knowledge-rag/search", authorization="Bearer x"), False),
    ],
)
def test_only_files_of_somebody_may_be_large(settings: Any, wanted: dict[str, Any], *, may_be_large: bool) -> None:
    assert (limit_of(wanted) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE) is may_be_large


def test_large_body_waits_in_the_data_folder(settings: Any, tmp_path: Any) -> None:
    settings.MNOTE_DATA_DIR, settings.FILE_UPLOAD_MAX_MEMORY_SIZE = tmp_path, 10

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"x" * 1000, "more_body": False}

    body = asyncio.run(WaitingBodies().read_body(receive))

    with body:
        assert body.read() == b"x" * 1000
        assert (tmp_path / "incoming").is_dir()
    assert list((tmp_path / "incoming").iterdir()) == []
