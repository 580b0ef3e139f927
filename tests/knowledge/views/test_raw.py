from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from django.test import AsyncClient

from mnote.models import Access
from tests.factories.mnote import GrantFactory
from tests.knowledge.parsing.builders import make_pdf

ACTIVE = {
    "a.svg": b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
    "a.html": b"<script>alert(1)</script>",
    "a.xhtml": b"<html xmlns='http://www.w3.org/1999/xhtml'><script>alert(1)</script></html>",
    "a.xml": b"<?xml-stylesheet href='x.xsl'?><x/>",
    "a.pdf": b"%PDF-1.7 /JS (app.alert(1))",
    "a.md": b"<script>alert(1)</script>",
    "a.js": b"alert(1)",
}


def _body(response) -> bytes:
    return b"".join(response.streaming_content)


def _open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.parametrize("name", ACTIVE)
def test_raw_never_shows_active_content_in_place(name, pane):
    pane.write(name, ACTIVE[name])

    response = pane.get(pane.url("raw", name))
    assert response.headers["Content-Disposition"].startswith("attachment")
    assert response.headers["Content-Security-Policy"].startswith("sandbox;")
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Content-Type"] not in {"text/html", "application/xhtml+xml", "text/xml", "text/javascript"}
    assert _body(response) == ACTIVE[name]


@pytest.mark.parametrize(
    ("name", "kind"),
    [("p.png", "image/png"), ("p.JPG", "image/jpeg"), ("p.gif", "image/gif"), ("p.webp", "image/webp")],
)
def test_raw_shows_plain_pictures(name, kind, pane):
    pane.write(name, b"<html>")

    response = pane.get(pane.url("raw", name))
    assert (response.headers["Content-Type"], response.headers["Content-Disposition"][:6]) == (kind, "inline")
    assert response.headers["Content-Security-Policy"].startswith("sandbox;")


def test_raw_downloads_a_picture_when_asked(pane):
    pane.write("p.png", b"x")

    assert pane.get(pane.url("raw", "p.png", download=1)).headers["Content-Disposition"].startswith("attachment")


@pytest.mark.parametrize(
    ("name", "disposition"),
    [
        ("语言.pdf".encode(), "attachment; filename*=utf-8''%E8%AF%AD%E8%A8%80.pdf"),
        (b'a"b.pdf', 'attachment; filename="a\\"b.pdf"'),
        (b"caf\xe9.pdf", 'attachment; filename="caf_.pdf"'),
        (b"new\nline.pdf", 'attachment; filename="new_line.pdf"'),
        (b"a\\b.pdf", 'attachment; filename="a_b.pdf"'),
    ],
)
def test_raw_names_the_download_as_the_file(name, disposition, pane):
    with open(os.fsencode(pane.folder) + b"/" + name, "wb") as file:  # noqa: PTH123 a name pathlib cannot hold
        file.write(b"content")
    text = name.replace(b"\\", b"\\\\").decode("utf-8", "backslashreplace")

    response = pane.get(pane.url("raw", text))
    assert (response.status_code, response.headers["Content-Disposition"]) == (200, disposition)
    assert _body(response) == b"content"


@pytest.mark.parametrize(
    ("asked", "status", "body", "content_range"),
    [
        ("bytes=0-3", 206, b"0123", "bytes 0-3/10"),
        ("bytes=4-", 206, b"456789", "bytes 4-9/10"),
        ("bytes=-3", 206, b"789", "bytes 7-9/10"),
        ("bytes=5-99", 206, b"56789", "bytes 5-9/10"),
        ("bytes=0-", 200, b"0123456789", None),
        ("bytes=0-1,3-4", 200, b"0123456789", None),
        ("bytes=9-1", 200, b"0123456789", None),
        ("bytes=-", 200, b"0123456789", None),
        ("lines=1-2", 200, b"0123456789", None),
    ],
)
def test_raw_answers_one_range(asked, status, body, content_range, pane):
    pane.write("a.bin", b"0123456789")

    response = pane.get(pane.url("raw", "a.bin"), Range=asked)
    assert (response.status_code, response.headers.get("Content-Range")) == (status, content_range)
    assert _body(response) == body
    assert response.headers["Content-Length"] == str(len(body))


@pytest.mark.parametrize("asked", ["bytes=10-", "bytes=20-30", "bytes=-0"])
def test_raw_refuses_a_range_outside_the_file(asked, pane):
    pane.write("a.bin", b"0123456789")

    response = pane.get(pane.url("raw", "a.bin"), Range=asked)
    assert (response.status_code, response.headers["Content-Range"]) == (416, "bytes */10")


def test_raw_sends_all_of_a_file_that_changed_since_the_first_part(pane):
    pane.write("a.bin", b"0123456789")
    tag = pane.get(pane.url("raw", "a.bin")).headers["ETag"]
    pane.write("a.bin", b"abcdefghijkl")

    response = pane.get(pane.url("raw", "a.bin"), Range="bytes=0-3", **{"If-Range": tag})
    assert (response.status_code, _body(response)) == (200, b"abcdefghijkl")


def test_raw_is_kept_by_no_cache(pane):
    pane.write("a.bin", b"x")

    assert pane.get(pane.url("raw", "a.bin")).headers["Cache-Control"] == "private, no-store"


def test_raw_closes_the_file(pane):
    pane.write("a.bin", b"x" * 1_000_000)
    before = _open_files()
    for _ in range(20):
        _body(pane.get(pane.url("raw", "a.bin")))

    assert _open_files() <= before


@pytest.mark.parametrize(("who", "status"), [("bob", 200), ("carol", 200), ("mallory", 404), (None, 302)])
@pytest.mark.parametrize("page", ["raw", "page"])
def test_raw_and_page_pictures_are_for_members_only(who, status, page, pane):
    pane.write("a.pdf", make_pdf([["Words."]]))

    assert pane.get(pane.url(page, "a.pdf"), who).status_code == status


@pytest.mark.parametrize("page", ["raw", "page"])
def test_raw_and_page_pictures_follow_the_grants(page, pane):
    pane.write("closed/a.pdf", make_pdf([["Words."]]))
    GrantFactory(root=pane.people.root, user=pane.people.carol, prefix="closed", access=Access.NONE)

    assert pane.get(pane.url(page, "closed/a.pdf"), "carol").status_code == 404


@pytest.mark.parametrize("path", ["../x", "missing", "folder", "link"])
def test_raw_gives_nothing_but_files_of_the_root(path, pane, tmp_path):
    (tmp_path / "x").write_text("secret")
    (pane.folder / "folder").mkdir()
    (pane.folder / "link").symlink_to(tmp_path / "x")

    assert pane.get(pane.url("raw", path)).status_code in {404, 410}


@pytest.mark.django_db(transaction=True)
def test_raw_streams_under_asgi(pane):
    pane.write("a.bin", bytes(range(256)) * 4_000)

    async def fetch() -> tuple[int, bytes]:
        client = AsyncClient()
        await client.aforce_login(pane.people.alice)
        response = await client.get(pane.url("raw", "a.bin"), headers={"Range": "bytes=100-900000"})
        return response.status_code, b"".join([part async for part in response.streaming_content])

    status, body = asyncio.run(fetch())
    assert (status, body) == (206, (bytes(range(256)) * 4_000)[100:900_001])


def test_page_picture_is_sent_once_and_then_confirmed(pane):
    pane.write("a.pdf", make_pdf([["Words."]]))
    first = pane.get(pane.url("page", "a.pdf", page=1, w=900))

    again = pane.get(pane.url("page", "a.pdf", page=1, w=900), **{"If-None-Match": first.headers["ETag"]})
    assert (first.status_code, first.headers["Cache-Control"]) == (200, "private, no-cache")
    assert (again.status_code, again.content) == (304, b"")


def test_page_picture_is_another_after_an_edit(pane):
    pane.write("a.pdf", make_pdf([["Words."]]))
    first = pane.get(pane.url("page", "a.pdf")).headers["ETag"]
    pane.write("a.pdf", make_pdf([["Other words."]]))

    assert pane.get(pane.url("page", "a.pdf")).headers["ETag"] != first


@pytest.mark.parametrize(("wanted", "width"), [("1", 600), ("900", 900), ("1000", 1200), ("99999", 2400), ("x", 1200)])
def test_page_picture_comes_in_few_widths(wanted, width, pane):
    pane.write("a.pdf", make_pdf([["Words."]]))

    assert pane.get(pane.url("page", "a.pdf", w=wanted)).headers["ETag"].endswith(f'-{width}"')


@pytest.mark.parametrize(("name", "content"), [("a.pdf", b"%PDF broken"), ("a.md", b"# no pages")])
def test_page_picture_of_what_has_no_pages_is_refused(name, content, pane):
    pane.write(name, content)

    assert pane.get(pane.url("page", name)).status_code == 422


def test_page_picture_beyond_the_end_is_refused(pane):
    pane.write("a.pdf", make_pdf([["Words."]]))

    assert pane.get(pane.url("page", "a.pdf", page=2)).status_code == 422
