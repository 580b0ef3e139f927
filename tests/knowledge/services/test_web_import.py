from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from knowledge.exceptions import AddressFailed, AddressNotAllowed, AddressUnreachable, NameTaken, WebImportNotAllowed
from knowledge.services import drain, web_import
from knowledge.tasks import import_address
from mnote.exceptions import AppError, Forbidden, NotFound, UnsupportedType
from mnote.models import Access, Job, Membership
from tests.factories.mnote import GrantFactory
from tests.library import Library, make_library
from tests.people import People
from tests.stubs.web import Reply, WebStub, web_stub

HTML = {"Content-Type": "text/html; charset=utf-8"}
PDF = b"%PDF-1.4\n1 0 obj\nendobj"
NAMED = 'attachment; filename="../../x.txt"'
PAGE = """<!doctype html><html><head><title>Anvils &amp; bellows</title></head><body><nav>menu</nav>
<main><h1>Anvils</h1><p>An anvil is made of <b>iron</b>. See <a href="/more">more</a>.</p>
<ul><li>heavy</li><li>loud</li></ul></main><script>alert(1)</script></body></html>"""


@pytest.fixture
def stub() -> Iterator[WebStub]:
    with web_stub() as running:
        yield running


@pytest.fixture
def library(people: People, stub: WebStub, settings: Any) -> Library:
    settings.MNOTE_ALLOW_WEB_IMPORT = True
    settings.MNOTE_WEB_IMPORT_HOSTS = [f"127.0.0.1:{stub.port}"]
    people.workspace.allow_web_import = True
    people.workspace.save()
    GrantFactory(root=people.root, user=people.bob, prefix="clips", access=Access.WRITE)
    return make_library(people, {"clips/old.md": "# Old\n"})


def fetch(library: Library, url: str, **changes: Any) -> Any:
    library.root.refresh_from_db()
    parts = {
        "principal": library.people.principal("bob"),
        "kb": library.kb,
        "root": library.root,
        "folder": "clips",
        "url": url,
        **changes,
    }
    return web_import.import_address(**parts)


def test_import_keeps_a_page_as_markdown_with_its_address(library: Library, stub: WebStub) -> None:
    url = stub.reply("/anvils", Reply(body=PAGE.encode(), headers=HTML))

    done = fetch(library, url)

    text = (library.people.folder / done.path).read_text()
    assert done.path == "clips/Anvils & bellows.md"
    assert text.startswith(f'---\ntitle: "Anvils & bellows"\nsource: "{url}"\nfetched: "')
    assert "# Anvils\n\nAn anvil is made of **iron**." in text
    assert f"[more]({stub.url}/more)" in text
    assert "alert" not in text
    assert "menu" not in text


def test_import_ends_searchable(library: Library, stub: WebStub) -> None:
    fetch(library, stub.reply("/anvils", Reply(body=PAGE.encode(), headers=HTML)))

    drain.drain(kb=library.kb, worker="test")

    document = library.document("clips/Anvils & bellows.md")
    assert (document.is_searchable, document.title) == (True, "Anvils & bellows")


@pytest.mark.parametrize(
    ("path", "reply", "name"),
    [
        ("/a/report.pdf", Reply(body=PDF, headers={"Content-Type": "application/pdf"}), "report.pdf"),
        ("/a/notes", Reply(body=b"# N", headers={"Content-Type": "text/markdown"}), "notes.md"),
        ("/a/plain", Reply(body=b"hi", headers={"Content-Type": "text/plain; charset=utf-8"}), "plain.txt"),
        ("/%E8%AF%AD%E8%A8%80.txt", Reply(body=b"hi", headers={"Content-Type": "text/plain"}), "语言.txt"),
        (
            "/get",
            Reply(body=b"hi", headers={"Content-Type": "text/plain", "Content-Disposition": NAMED}),
            "x.txt",
        ),
    ],
)  # fmt: skip
def test_import_keeps_other_files_as_they_are(
    library: Library, stub: WebStub, path: str, reply: Reply, name: str
) -> None:
    done = fetch(library, stub.reply(path, reply))

    assert done.path == f"clips/{name}"
    assert (library.people.folder / done.path).read_bytes() == reply.body


def test_import_takes_a_free_name_by_itself(library: Library, stub: WebStub) -> None:
    url = stub.reply("/old.md", Reply(body=b"# Other", headers={"Content-Type": "text/markdown"}))

    assert fetch(library, url).path == "clips/old (2).md"


def test_import_refuses_a_chosen_name_that_is_taken(library: Library, stub: WebStub) -> None:
    url = stub.reply("/x", Reply(body=PAGE.encode(), headers=HTML))

    with pytest.raises(NameTaken):
        fetch(library, url, name="old.md")


def test_import_reads_the_charset_that_is_declared(library: Library, stub: WebStub) -> None:
    page = "<html><head><title>合同</title></head><body><p>任何一方可以提前三十日通知解除合同。</p></body></html>"
    url = stub.reply("/gbk", Reply(body=page.encode("gbk"), headers={"Content-Type": "text/html; charset=gbk"}))

    text = (library.people.folder / fetch(library, url).path).read_text()

    assert "任何一方可以提前三十日通知解除合同。" in text


def test_import_escapes_what_would_be_front_matter(library: Library, stub: WebStub) -> None:
    page = '<html><head><title>a: "b"\n---\nevil: true</title></head><body><p>---</p></body></html>'

    text = (
        library.people.folder / fetch(library, stub.reply("/x", Reply(body=page.encode(), headers=HTML))).path
    ).read_text()

    head = text.split("---\n")[1]
    assert [line.partition(":")[0] for line in head.strip().split("\n")] == ["title", "source", "fetched"]
    assert json.loads(head.split("\n")[0].partition(": ")[2])


@pytest.mark.parametrize(
    "location", ["http://169.254.169.254/latest", "http://127.0.0.1:1/", "file:///etc/passwd", "http://[::1]/"]
)
def test_import_is_not_led_inside(library: Library, stub: WebStub, location: str) -> None:
    url = stub.reply("/x", Reply(status=302, headers={"Location": location}))

    with pytest.raises(AddressNotAllowed):
        fetch(library, url)


@pytest.mark.parametrize(
    ("reply", "problem", "retryable"),
    [
        (Reply(status=404), AddressFailed, False),
        (Reply(status=500), AddressFailed, False),
        (Reply(status=503), AddressUnreachable, True),
        (Reply(close=True), AddressUnreachable, True),
        (Reply(body=b"MZ", headers={"Content-Type": "application/x-msdownload"}), UnsupportedType, False),
        (Reply(body=b"", headers={"Content-Type": "video/mp4"}), UnsupportedType, False),
    ],
)
def test_import_says_what_went_wrong(
    library: Library, stub: WebStub, reply: Reply, problem: type[AppError], *, retryable: bool
) -> None:
    with pytest.raises(problem) as caught:
        fetch(library, stub.reply("/x", reply))

    assert caught.value.retryable is retryable
    assert stub.url not in str(caught.value)


def test_import_refuses_a_page_that_is_too_large(library: Library, stub: WebStub, settings: Any) -> None:
    settings.MNOTE_UPLOAD_MAX_MB = 1

    with pytest.raises(AppError) as caught:
        fetch(library, stub.reply("/x", Reply(body=b"x" * 1_200_000, headers=HTML)))

    assert caught.value.status == 413


def test_import_needs_the_workspace_and_the_server_to_allow_it(library: Library, stub: WebStub, settings: Any) -> None:
    url = stub.reply("/x", Reply(body=PAGE.encode(), headers=HTML))
    library.people.workspace.allow_web_import = False
    library.people.workspace.save()
    library.root.refresh_from_db(fields=["workspace"])
    with pytest.raises(WebImportNotAllowed):
        fetch(library, url)

    library.people.workspace.allow_web_import = True
    library.people.workspace.save()
    settings.MNOTE_ALLOW_WEB_IMPORT = False
    library.root.refresh_from_db(fields=["workspace"])
    with pytest.raises(WebImportNotAllowed):
        fetch(library, url)

    assert stub.asked == []


@pytest.mark.parametrize(
    ("person", "folder", "problem"),
    [("carol", "clips", Forbidden), ("bob", "", Forbidden), ("mallory", "clips", NotFound), ("bob", "../x", NotFound)],
)
def test_import_needs_rights_before_anything_is_fetched(
    library: Library, stub: WebStub, person: str, folder: str, problem: type[AppError]
) -> None:
    url = stub.reply("/x", Reply(body=PAGE.encode(), headers=HTML))

    with pytest.raises(problem):
        fetch(library, url, principal=library.people.principal(person), folder=folder)

    assert stub.asked == []


@pytest.mark.parametrize("url", ["ftp://example.com/", "http://u:p@example.com/", "x", "http://example.com:22/"])
def test_request_import_refuses_a_bad_address_at_once(library: Library, url: str) -> None:
    with pytest.raises(AddressNotAllowed):
        web_import.request_import(
            principal=library.people.principal("bob"), kb=library.kb, root=library.root, folder="clips", url=url
        )


def test_import_job_fetches_with_the_rights_of_who_asked(library: Library, stub: WebStub, run_job: Any) -> None:
    url = stub.reply("/anvils", Reply(body=PAGE.encode(), headers=HTML))
    job = web_import.request_import(
        principal=library.people.principal("bob"), kb=library.kb, root=library.root, folder="clips", url=url
    )

    assert run_job(import_address, job)["path"] == "clips/Anvils & bellows.md"

    Membership.objects.filter(user=library.people.bob).delete()
    with pytest.raises(AppError):
        run_job(import_address, job)


@pytest.fixture
def run_job() -> Any:
    """Call a handler with its job, as a worker would."""
    from mnote.jobs import JobContext

    def run(handler: Any, job: Job) -> Any:
        return handler(JobContext(Job.objects.get(pk=job.pk)))

    return run
