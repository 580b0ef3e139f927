from __future__ import annotations

import threading
from typing import Any
from urllib.parse import urlencode

import pytest
import requests

from knowledge.models import Document
from mnote.models import Access, Job
from tests.factories.mnote import GrantFactory
from tests.knowledge.api.conftest import send
from tests.library import Library

TEXT = b"# New\n\nFresh.\n"


@pytest.fixture
def inbox(library: Library) -> Library:
    GrantFactory(root=library.root, user=library.people.bob, prefix="guide", access=Access.WRITE)
    return library


def sources_url(library: Library, **query: str) -> str:
    return f"/api/knowledge/knowledge-bases/{library.kb.id}/sources?{urlencode(query)}"


def upload(library: Library, person: str = "bob", content: bytes = TEXT, **query: str) -> Any:
    wanted = {"folder": "guide", "name": "new.md", **query}
    url = sources_url(library, **wanted)
    return library.people.client(person).post(url, content, content_type="application/octet-stream")


def test_upload_answers_with_row_and_job(inbox: Library) -> None:
    answer = upload(inbox)

    body = answer.json()
    assert (answer.status_code, body["sourcePath"]) == (202, "guide/new.md")
    assert (inbox.people.folder / "guide/new.md").read_bytes() == TEXT
    assert Document.objects.get(id=body["sourceId"]).index_status == "queued"
    assert Job.objects.get(id=answer.headers["Location"].rpartition("/")[2]).kb_id == inbox.kb.id


def test_upload_offers_a_free_name(inbox: Library) -> None:
    answer = upload(inbox, name="zh.md")

    body = answer.json()
    assert (answer.status_code, body["code"], body["suggestion"]) == (409, "name-taken", "zh (2).md")


def test_upload_says_what_has_the_same_content(inbox: Library) -> None:
    content = (inbox.people.folder / "notes.txt").read_bytes()

    assert upload(inbox, content=content, name="copy.txt").json()["sameAs"] == ["notes.txt"]


@pytest.mark.parametrize(
    ("query", "content", "status", "code"),
    [
        ({"name": "a.pdf"}, b"text", 415, "content-mismatch"),
        ({"name": "a.exe"}, b"text", 415, "unsupported-type"),
        ({"name": ""}, b"text", 400, "invalid"),
        ({"folder": "private"}, b"text", 403, "forbidden"),
        ({"folder": "guide/nowhere"}, b"text", 410, "gone"),
        ({"rootUri": "file:///nowhere"}, b"text", 404, "root_not_found"),
    ],
)
def test_upload_says_what_is_wrong(
    inbox: Library, query: dict[str, str], content: bytes, status: int, code: str
) -> None:
    answer = upload(inbox, content=content, **query)

    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_upload_states_its_limit_in_bytes(inbox: Library, settings: Any) -> None:
    settings.MNOTE_UPLOAD_MAX_MB = 1

    answer = upload(inbox, content=b"x" * 1_100_000, name="big.txt")

    assert (answer.status_code, answer.json()["limitBytes"]) == (413, 1_048_576)


@pytest.mark.parametrize(("person", "status"), [("carol", 403), ("mallory", 404), ("alice", 403)])
def test_upload_needs_a_curator_with_a_write_grant(inbox: Library, person: str, status: int) -> None:
    assert upload(inbox, person).status_code == status


def test_upload_by_token_needs_the_scope(inbox: Library) -> None:
    url = sources_url(inbox, folder="guide", name="new.md")
    kind = "application/octet-stream"

    reading = inbox.people.token_client("bob", "knowledge:read").post(url, TEXT, content_type=kind)
    writing = inbox.people.token_client("bob", "knowledge:write", "knowledge:read").post(url, TEXT, content_type=kind)

    assert (reading.status_code, writing.status_code) == (403, 202)


@pytest.mark.parametrize("kind", ["multipart/form-data; boundary=x", "application/x-www-form-urlencoded"])
def test_upload_takes_no_forms(inbox: Library, kind: str) -> None:
    url = sources_url(inbox, folder="guide", name="new.md")

    answer = inbox.people.client("bob").generic("POST", url, b"--x--", content_type=kind)

    assert answer.status_code == 415


def test_upload_with_one_key_is_made_once(inbox: Library) -> None:
    client, url = inbox.people.client("bob"), sources_url(inbox, folder="guide", name="new.md")
    call = {"data": TEXT, "content_type": "application/octet-stream", "headers": {"Idempotency-Key": "k1"}}

    first, second = client.post(url, **call), client.post(url, **call)

    assert (second.status_code, second.json()) == (202, first.json())


@pytest.mark.parametrize(
    "body",
    [
        {"path": "notes.txt"},
        {"resourceId": "local-md:notes.txt"},
        {"text": "# T\n", "name": "T.md", "folder": "guide"},
    ],
)
def test_link_takes_one_file_in(inbox: Library, body: dict[str, str]) -> None:
    answer = send(inbox.people.client("bob"), "POST", sources_url(inbox), body)

    assert answer.status_code == 202
    assert answer.json()["sourceId"].startswith("src_")


@pytest.mark.parametrize(
    "body", [{}, {"path": "a", "text": "b"}, {"text": "b"}, {"path": ""}, {"path": 1}, {"folder": "guide"}]
)
def test_link_refuses_what_names_not_one_file(inbox: Library, body: dict[str, object]) -> None:
    assert send(inbox.people.client("bob"), "POST", sources_url(inbox), body).status_code == 400


def test_link_of_a_closed_file_is_not_found(inbox: Library) -> None:
    GrantFactory(root=inbox.root, user=inbox.people.bob, prefix="private", access=Access.NONE)

    answer = send(inbox.people.client("bob"), "POST", sources_url(inbox), {"path": "private/salary.md"})

    assert answer.status_code == 404


def test_file_is_written_outside_of_bases(inbox: Library) -> None:
    query = urlencode({**inbox.scope, "folder": "guide", "name": "plain.md"})

    answer = inbox.people.client("bob").post(
        f"/api/knowledge/files?{query}", TEXT, content_type="application/octet-stream"
    )

    assert (answer.status_code, answer.json()["sizeBytes"]) == (201, len(TEXT))
    assert (inbox.people.folder / "guide/plain.md").exists()


@pytest.mark.django_db(transaction=True)
def test_upload_streams_from_the_socket(inbox: Library, live_server: Any) -> None:
    """A large body goes through a real server in small blocks, and arrives whole."""
    token, block, count = inbox.people.token("bob"), b"0123456789abcdef" * 4096, 64
    seen = threading.Event()

    def body() -> Any:
        for number in range(count):
            seen.set() if number else None
            yield block

    answer = requests.post(
        live_server.url + sources_url(inbox, folder="guide", name="large.txt"),
        data=_Sized(body(), len(block) * count),
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/octet-stream"},
        timeout=20,
    )

    assert answer.status_code == 202, answer.text
    assert (inbox.people.folder / "guide/large.txt").read_bytes() == block * count


class _Sized:
    """An iterator of known length, as requests wants it for a Content-Length."""

    def __init__(self, blocks: Any, size: int) -> None:
        self._blocks, self._size = blocks, size

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Any:
        return self._blocks
