from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import pytest

from knowledge.exceptions import ContentMismatch, NameTaken, QuotaExceeded
from knowledge.models import IndexStatus, KnowledgeBase
from knowledge.services import drain, uploads
from mnote.exceptions import AppError, Forbidden, Invalid, NotFound, TooLarge, UnsupportedType
from mnote.models import Access, AuditEntry, Upload
from tests.factories.knowledge import KnowledgeBaseFactory
from tests.factories.mnote import GrantFactory
from tests.library import Library, make_library
from tests.people import People

TEXT = b"# New\n\nA fresh note about anvils.\n"
PDF = b"%PDF-1.4\n1 0 obj\nendobj\n"
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 40
ZIP = b"PK\x03\x04" + b"\0" * 40


@pytest.fixture
def library(people: People) -> Library:
    GrantFactory(root=people.root, user=people.bob, prefix="inbox", access=Access.WRITE)
    library = make_library(people, {"inbox/old.md": "# Old\n"})
    (people.folder / "inbox/.obsidian").mkdir()
    return library


def upload(library: Library, name: str = "new.md", content: bytes = TEXT, **changes: Any) -> uploads.Uploaded:
    parts = {
        "principal": library.people.principal("bob"),
        "kb": library.kb,
        "root": library.root,
        "folder": "inbox",
        "name": name,
        "chunks": [content],
        **changes,
    }
    return uploads.upload_file(**parts)


def in_inbox(library: Library) -> list[str]:
    return sorted(path.name for path in (library.people.folder / "inbox").iterdir())


def test_upload_becomes_a_file_a_row_and_a_search_result(library: Library) -> None:
    done = upload(library)

    assert (library.people.folder / "inbox/new.md").read_bytes() == TEXT
    assert (done.path, done.size, done.sha256) == ("inbox/new.md", len(TEXT), hashlib.sha256(TEXT).hexdigest())
    assert done.attached is not None
    assert done.attached.document.index_status == IndexStatus.QUEUED
    drain.drain(kb=library.kb, worker="test")
    assert library.document("inbox/new.md").is_searchable


def test_upload_writes_one_audit_row(library: Library) -> None:
    upload(library)

    [entry] = AuditEntry.objects.filter(action="file.upload")
    assert (entry.actor, entry.target, entry.outcome) == (library.people.bob, "inbox/new.md", "succeeded")
    assert entry.facts["bytes"] == len(TEXT)


def test_upload_below_a_folder_rule_joins_it(library: Library) -> None:
    done = upload(library)

    assert done.attached is not None
    assert done.attached.source == library.source


def test_upload_outside_of_all_rules_gets_a_rule_of_its_own(library: Library) -> None:
    kb = KnowledgeBaseFactory(owner=library.people.alice, root=library.root)

    done = upload(library, kb=kb)

    assert done.attached is not None
    assert (done.attached.source.path, done.attached.source.is_folder) == ("inbox/new.md", False)


def test_upload_without_a_base_only_writes_the_file(library: Library) -> None:
    done = upload(library, kb=None)

    assert done.attached is None
    assert (library.people.folder / "inbox/new.md").exists()
    assert not library.kb.documents.filter(source_path="inbox/new.md").exists()


def test_upload_never_writes_over_a_file(library: Library) -> None:
    with pytest.raises(NameTaken) as caught:
        upload(library, name="old.md")

    assert caught.value.extra["suggestion"] == "old (2).md"
    assert (library.people.folder / "inbox/old.md").read_text() == "# Old\n"
    assert Upload.objects.count() == 0


def test_upload_says_what_has_the_same_content(library: Library) -> None:
    done = upload(library, content=b"# Old\n")

    assert done.same_as == ("inbox/old.md",)


def test_upload_names_no_twin_that_is_closed(library: Library) -> None:
    library.add({"private/old.md": "# Old\n"})
    GrantFactory(root=library.root, user=library.people.bob, prefix="private", access=Access.NONE)

    assert upload(library, content=b"# Old\n").same_as == ("inbox/old.md",)


@pytest.mark.parametrize(
    ("person", "folder", "problem"),
    [
        ("bob", "", Forbidden),
        ("bob", "elsewhere", Forbidden),
        ("carol", "inbox", Forbidden),
        ("alice", "inbox", Forbidden),
        ("mallory", "inbox", NotFound),
        ("bob", "../inbox", NotFound),
        ("bob", "inbox/../elsewhere", NotFound),
        ("bob", "inbox\0", NotFound),
    ],
)
def test_upload_needs_the_right_to_write(library: Library, person: str, folder: str, problem: type[AppError]) -> None:
    with pytest.raises(problem):
        upload(library, principal=library.people.principal(person), folder=folder)

    assert in_inbox(library) == [".obsidian", "old.md"]


def test_upload_needs_a_curator_of_the_base(library: Library) -> None:
    GrantFactory(root=library.root, user=library.people.carol, prefix="inbox", access=Access.WRITE)

    with pytest.raises(Forbidden):
        upload(library, principal=library.people.principal("carol"))
    assert upload(library, principal=library.people.principal("carol"), kb=None).path == "inbox/new.md"


def test_upload_by_a_token_of_some_bases_needs_one_of_them(library: Library) -> None:
    from mnote.principals import Principal

    principal = Principal(user=library.people.bob, scopes=frozenset({"knowledge:write"}), kb_ids=frozenset({"kb_x"}))

    with pytest.raises(Forbidden):
        upload(library, principal=principal, kb=None)


@pytest.mark.parametrize("name", ["", "   ", ".hidden.md", "~$draft.docx", ".env", "id_rsa", "x.md~", "key.pem"])
def test_upload_refuses_a_name_that_would_never_be_read(library: Library, name: str) -> None:
    with pytest.raises(Invalid) as caught:
        upload(library, name=name)

    assert list(caught.value.extra["errors"]) == ["name"]


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("a/b.md", "a_b.md"),
        ("../up.md", ".._up.md"),
        ("语言.md", "语言.md"),
        ('quo"te.md', 'quo"te.md'),
        ("back\\slash.md", "back\\slash.md"),
        ("語" * 84 + ".md", "語" * 84 + ".md"),
        ("x" * 300 + ".md", "x" * 252 + ".md"),
        ("{{7*7}}.md", "{{7*7}}.md"),
    ],
)
def test_upload_changes_a_name_only_as_needed(library: Library, given: str, written: str) -> None:
    if written.startswith("."):
        with pytest.raises(Invalid):
            upload(library, name=given)
        return
    upload(library, name=given)

    assert written in in_inbox(library)


@pytest.mark.parametrize("folder", [".git", "inbox/.obsidian", "node_modules"])
def test_upload_writes_nothing_into_system_folders(library: Library, folder: str) -> None:
    GrantFactory(root=library.root, user=library.people.alice, prefix="", access=Access.WRITE)
    (library.people.folder / folder).mkdir(parents=True, exist_ok=True)

    with pytest.raises(Invalid):
        upload(library, principal=library.people.principal("alice"), folder=folder)

    assert list((library.people.folder / folder).iterdir()) == []


@pytest.mark.parametrize("name", ["tool.exe", "archive.zip", "noextension"])
def test_upload_refuses_types_that_are_not_read(library: Library, name: str) -> None:
    with pytest.raises(UnsupportedType):
        upload(library, name=name)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.pdf", b"plain text"), ("a.pdf", PNG), ("a.docx", PDF), ("a.xlsx", b"<html>"), ("a.md", PNG), ("a.md", ZIP),
        ("a.md", PDF), ("a.md", b"\x7fELF" + b"\0" * 60), ("a.png", b"not a picture"), ("a.png", PDF),
        ("a.jpg", b"<html><script>alert(1)</script>"), ("a.txt", b"SQLite format 3\0" + b"\0" * 40),
    ],
)  # fmt: skip
def test_upload_refuses_content_that_is_not_what_the_name_says(library: Library, name: str, content: bytes) -> None:
    with pytest.raises(ContentMismatch):
        upload(library, name=name, content=content)

    assert in_inbox(library) == [".obsidian", "old.md"]


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.pdf", PDF), ("a.docx", ZIP), ("a.png", PNG), ("a.png", b"\xff\xd8\xff\xe0" + b"\0" * 40), ("a.md", b""),
     ("a.svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>"), ("a.txt", "中文测试".encode("gbk"))],
)  # fmt: skip
def test_upload_takes_content_that_fits(library: Library, name: str, content: bytes) -> None:
    assert upload(library, name=name, content=content).size == len(content)


def test_upload_checks_content_that_arrives_in_pieces(library: Library) -> None:
    with pytest.raises(ContentMismatch):
        upload(library, name="a.md", chunks=[PNG[:3], PNG[3:5], PNG[5:]])


def test_upload_keeps_every_byte_of_many_pieces(library: Library) -> None:
    pieces = [bytes([65 + number % 26]) * 7001 for number in range(40)]

    upload(library, name="a.txt", chunks=pieces)

    assert (library.people.folder / "inbox/a.txt").read_bytes() == b"".join(pieces)


def test_upload_refuses_more_than_the_limit(library: Library, settings: Any) -> None:
    settings.MNOTE_UPLOAD_MAX_MB = 1

    with pytest.raises(TooLarge) as announced:
        upload(library, expected_bytes=2_000_000)
    with pytest.raises(TooLarge) as arrived:
        upload(library, name="a.txt", chunks=[b"x" * 600_000, b"x" * 600_000])

    assert {announced.value.extra["limit_bytes"], arrived.value.extra["limit_bytes"]} == {1_048_576}
    assert in_inbox(library) == [".obsidian", "old.md"]


def test_upload_refuses_more_than_the_quota(library: Library) -> None:
    library.people.workspace.quota_mb = 1
    library.people.workspace.save()
    upload(library, name="a.txt", chunks=[b"x" * 900_000])

    with pytest.raises(QuotaExceeded):
        upload(library, name="b.txt", chunks=[b"x" * 900_000])
    with pytest.raises(QuotaExceeded):
        upload(library, name="c.txt", chunks=[b"x" * 900_000], expected_bytes=900_000)

    assert in_inbox(library) == [".obsidian", "a.txt", "old.md"]
    assert uploads.used_bytes(library.people.workspace) == 900_000


def test_upload_finds_room_where_files_were_removed(library: Library) -> None:
    library.people.workspace.quota_mb = 1
    library.people.workspace.save()
    upload(library, name="a.txt", chunks=[b"x" * 900_000])
    (library.people.folder / "inbox/a.txt").unlink()

    assert upload(library, name="b.txt", chunks=[b"x" * 900_000]).size == 900_000


def test_upload_leaves_nothing_of_a_body_that_breaks_off(library: Library) -> None:
    def broken() -> Iterator[bytes]:
        yield b"x" * 100_000
        raise ConnectionError("the sender went away")

    with pytest.raises(ConnectionError):
        upload(library, name="a.txt", chunks=broken())

    assert in_inbox(library) == [".obsidian", "old.md"]
    assert Upload.objects.count() == 0
    assert AuditEntry.objects.get(action="file.upload").outcome == "failed"


def test_upload_of_an_excluded_path_brings_it_back(library: Library) -> None:
    from knowledge.services import withdrawing

    withdrawing.withdraw(principal=library.people.principal("bob"), rows=[library.document("inbox/old.md")])
    (library.people.folder / "inbox/old.md").unlink()

    upload(library, name="old.md")

    assert library.document("inbox/old.md").index_status == IndexStatus.QUEUED


def test_write_text_gets_an_extension(library: Library) -> None:
    done = uploads.write_text(
        principal=library.people.principal("bob"),
        kb=library.kb,
        root=library.root,
        folder="inbox",
        name="Minutes of Monday",
        text="会议",
    )

    assert done.path == "inbox/Minutes of Monday.md"
    assert (library.people.folder / done.path).read_text() == "会议"


def test_write_text_into_a_folder_that_is_gone(library: Library) -> None:
    with pytest.raises(AppError) as caught:
        upload(library, folder="inbox/nowhere")

    assert caught.value.status in (404, 410)


def test_upload_into_another_workspace_is_not_found(library: Library) -> None:
    foreign: KnowledgeBase = KnowledgeBaseFactory()

    with pytest.raises(NotFound):
        upload(library, kb=foreign)
