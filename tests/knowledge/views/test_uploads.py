"""Uploading: where one may write, what would become of each file, and the ways in without a script."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import override_settings
from django.urls import reverse
from lxml import html

from mnote.models import Access, Job, Workspace
from mnote.services import grants
from tests.knowledge.vault import Vault


@pytest.fixture
def filled(vault: Vault) -> Vault:
    """A knowledge base in which alice may write everywhere, bob in one folder."""
    vault.write("reports/2024/a.md", "# A\n\nKnown text.\n")
    vault.write("closed/b.md", "# B\n")
    vault.level()
    root = vault.people.root
    grants.set_grant(root=root, holder=vault.people.alice, prefix="", access=Access.WRITE)
    grants.set_grant(root=root, holder=vault.people.bob, prefix="reports/2024", access=Access.WRITE)
    return vault


def address(vault: Vault, name: str = "kb-upload") -> str:
    return reverse(f"knowledge:{name}", args=[vault.kb.pk])


def get(vault: Vault, who: str = "alice", name: str = "kb-upload", **query: Any) -> HttpResponse:
    return vault.people.client(who).get(address(vault, name), query)


def send(vault: Vault, way: str, who: str = "alice", **data: Any) -> HttpResponse:
    return vault.people.client(who).post(f"{address(vault)}?as={way}", data)


def check(vault: Vault, *given: dict[str, Any], who: str = "alice", to: str = "notes:reports/2024") -> Any:
    body = json.dumps({"to": to, "files": list(given)})
    return vault.people.client(who).post(address(vault, "upload-check"), body, content_type="application/json")


def verdicts(response: HttpResponse) -> list[tuple[str, str]]:
    return [(each["verdict"], each["text"]) for each in response.json()["files"]]


def chosen(response: HttpResponse) -> str:
    return html.fromstring(response.text).xpath("//*[@data-chosen-folder]")[0].text_content()


def test_page_names_where_files_go_and_how_large_they_may_be(filled: Vault) -> None:
    page = get(filled)

    assert chosen(page) == "Notes"
    assert "at most 100 MB each" in page.text


def test_destination_is_a_folder_in_which_one_may_write(filled: Vault) -> None:
    assert chosen(get(filled, "bob")) == "Notes / reports/2024"
    assert chosen(get(filled, "alice", to="notes:closed")) == "Notes / closed"
    assert chosen(get(filled, "bob", to="notes:closed")) == "Notes / reports/2024"


def test_tree_shows_only_ways_to_writable_folders(filled: Vault) -> None:
    def names(who: str, path: str) -> list[tuple[str, bool]]:
        tree = html.fromstring(f"<ul>{get(filled, who, 'upload-folders', root='notes', path=path).text}</ul>")
        return [
            (row.text_content().split("Folders")[0].strip(), bool(row.xpath(".//input")))
            for row in tree.xpath("//ul/li[div]")
        ]

    assert names("alice", "") == [("closed", True), ("reports", True)]
    assert names("bob", "") == [("reports", False)]
    assert names("bob", "reports") == [("2024", True)]


@pytest.mark.parametrize(("root", "path"), [("nowhere", ""), ("notes", "../.."), ("notes", "no/such")])
def test_tree_of_an_unknown_folder_is_empty(filled: Vault, root: str, path: str) -> None:
    response = get(filled, "alice", "upload-folders", root=root, path=path)

    assert response.status_code == 200
    assert "<input" not in response.text


def test_curator_without_a_write_grant_is_told_so(vault: Vault) -> None:
    page = get(vault, "bob")

    assert "You may not write into this workspace" in page.text
    assert reverse("knowledge:source-new", args=[vault.kb.pk]) in page.text
    assert "data-upload" not in page.text


@pytest.mark.parametrize(("who", "status"), [("carol", 403), ("mallory", 404)])
def test_uploading_needs_a_curator(filled: Vault, who: str, status: int) -> None:
    assert get(filled, who).status_code == status
    assert check(filled, who=who).status_code == status


def test_check_says_what_would_become_of_each_file(filled: Vault) -> None:
    same = hashlib.sha256(b"# A\n\nKnown text.\n").hexdigest()

    response = check(
        filled,
        {"path": "new.md", "size": 10},
        {"path": "copy.md", "size": 17, "sha256": same},
        {"path": "a.md", "size": 10},
        {"path": "film.mp4", "size": 10},
        {"path": "huge.pdf", "size": 101 * 1024 * 1024},
        {"path": ".hidden.md", "size": 1},
        {"path": "node_modules/x.md", "size": 1},
        {"path": "../up.md", "size": 1},
    )

    assert verdicts(response) == [
        ("new", "new"),
        ("same", "same content as reports/2024/a.md"),
        ("taken", "the name is taken; this one is free"),
        ("unsupported", "files of this type are not read"),
        ("too_large", "larger than 100 MB"),
        ("left_out", "Hidden files are left out."),
        ("left_out", "System files are left out."),
        ("no_name", "its name cannot be used"),
    ]
    assert response.json()["files"][2]["name"] == "a (2).md"


def test_two_files_of_one_name_are_told_apart(filled: Vault) -> None:
    response = check(filled, {"path": "x.md", "size": 1}, {"path": "x.md", "size": 2}, {"path": "sub/x.md", "size": 1})

    assert [each["name"] for each in response.json()["files"]] == ["x.md", "x (2).md", "x.md"]
    assert response.json()["files"][2]["folder"] == "reports/2024/sub"


def test_check_does_not_tell_of_closed_files(filled: Vault) -> None:
    grants.set_grant(root=filled.people.root, holder=filled.people.bob, prefix="closed", access=Access.NONE)
    digest = hashlib.sha256(b"# B\n").hexdigest()

    assert verdicts(check(filled, {"path": "n.md", "size": 4, "sha256": digest}, who="bob")) == [("new", "new")]
    assert verdicts(check(filled, {"path": "n.md", "size": 4, "sha256": digest}))[0][0] == "same"


@pytest.mark.parametrize("to", ["notes:closed", "nowhere:", "", "notes:../.."])
def test_check_of_a_folder_one_may_not_write_into_is_not_found(filled: Vault, to: str) -> None:
    assert check(filled, {"path": "x.md", "size": 1}, who="bob", to=to).status_code == 404


@pytest.mark.parametrize(
    "body", [b"", b"[]", b'{"to": "notes:", "files": 3}', b'{"to": "notes:", "files": [1]}', b"{" * 9]
)
def test_check_of_nonsense_is_refused(filled: Vault, body: bytes) -> None:
    response = filled.people.client("alice").post(
        address(filled, "upload-check"), body, content_type="application/json"
    )

    assert response.status_code in (400, 404)


def test_text_becomes_a_file_and_its_document_opens(filled: Vault) -> None:
    response = send(filled, "text", to="notes:reports/2024", name="Minutes", text="# Minutes\n\nWe met.\n")

    row = filled.row("reports/2024/Minutes.md")
    assert response.headers["Location"] == reverse("knowledge:document", args=[filled.kb.pk, row.pk])
    assert (filled.folder / "reports/2024/Minutes.md").read_text() == "# Minutes\n\nWe met.\n"


def test_taken_name_offers_a_free_one_and_keeps_the_text(filled: Vault) -> None:
    response = send(filled, "text", to="notes:reports/2024", name="a.md", text="kept words")

    assert response.status_code == 422
    assert "“a (2).md” is free." in response.text
    assert "kept words" in response.text
    assert (filled.folder / "reports/2024/a.md").read_text().startswith("# A")


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [("", "x", "Give it a name."), ("x", "  ", "Write something first."), (".secret", "x", "are left out")],
)
def test_text_that_cannot_be_written_is_said(filled: Vault, name: str, text: str, problem: str) -> None:
    response = send(filled, "text", to="notes:", name=name, text=text)

    assert response.status_code == 422
    assert problem in response.text


def test_text_goes_nowhere_one_may_not_write(filled: Vault) -> None:
    send(filled, "text", "bob", to="notes:closed", name="x.md", text="x")

    assert not (filled.folder / "closed/x.md").exists()
    assert (filled.folder / "reports/2024/x.md").exists()


def test_files_come_in_without_a_script(filled: Vault) -> None:
    files = [SimpleUploadedFile("one.md", b"# One\n"), SimpleUploadedFile("a.md", b"# Other\n")]

    response = filled.people.client("alice").post(
        f"{address(filled)}?as=files", {"to": "notes:reports/2024", "files": files}, follow=True
    )

    assert (filled.folder / "reports/2024/one.md").read_bytes() == b"# One\n"
    assert "1 file was added and is read now." in response.text
    assert "a.md: the name is taken; “a (2).md” is free." in response.text


def test_sending_no_file_is_said(filled: Vault) -> None:
    assert "Choose at least one file." in send(filled, "files", to="notes:").text


def test_web_address_is_refused_with_a_sentence_where_policy_forbids_it(filled: Vault) -> None:
    assert "Web addresses are not fetched in this workspace" in get(filled, **{"as": "web"}).text
    response = send(filled, "web", to="notes:", url="https://example.org/a")

    assert response.status_code == 422
    assert not Job.objects.filter(kind="knowledge.import_address").exists()


@override_settings(MNOTE_ALLOW_WEB_IMPORT=True)
def test_web_address_is_fetched_in_the_background(filled: Vault) -> None:
    Workspace.objects.update(allow_web_import=True)

    response = send(filled, "web", "bob", to="notes:reports/2024", url="https://example.org/a", name="page")

    assert response.headers["Location"] == reverse("knowledge:kb-activity", args=[filled.kb.pk])
    job = Job.objects.get(kind="knowledge.import_address")
    assert (job.payload["folder"], job.payload["name"]) == ("reports/2024", "page")


@override_settings(MNOTE_ALLOW_WEB_IMPORT=True)
@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://example.org/a", "nonsense", ""])
def test_web_address_that_must_not_be_fetched_is_said_at_once(filled: Vault, url: str) -> None:
    Workspace.objects.update(allow_web_import=True)

    assert send(filled, "web", to="notes:", url=url).status_code == 422


def test_page_holds_no_path_of_the_server_but_the_public_root(filled: Vault) -> None:
    text = get(filled, "bob").text.replace(filled.people.root.root_uri, "")

    assert str(filled.folder) not in text
