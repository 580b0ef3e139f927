from __future__ import annotations

import os
from pathlib import Path

import pytest

from mnote.exceptions import AppError, Gone, NotFound
from mnote.files.opening import EntryKind
from mnote.models import Access
from mnote.services import files
from mnote.services.files import FileUnreadable, RootUnavailable
from tests.factories.mnote import GrantFactory, RootFactory
from tests.people import People


@pytest.fixture
def tree(people: People) -> Path:
    """Some files, and links and names that have led others out of their folder."""
    folder = people.folder
    for name in ["a.md", "team/plan.md", "team/secret/pay.md", "team_x/other.md"]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"text of {name}")
    outside = folder.parent / "outside"
    outside.mkdir()
    (outside / "key").write_text("outside")
    (folder / "link_out").symlink_to(outside)
    (folder / "team/link_in").symlink_to(folder / "team/secret")
    (folder / "file_link").symlink_to(folder / "a.md")
    Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9.md")).write_text("bytes")
    return folder


def read(people: People, name: str, path: str) -> str:
    with files.open_file(principal=people.principal(name), root=people.root, path=path) as opened:
        return opened.read(max_bytes=1_000).decode()


@pytest.mark.parametrize("path", ["a.md", "team/secret/pay.md", "caf\\xe9.md"])
def test_open_file_reads_what_a_member_may_read(people: People, tree: Path, path: str) -> None:
    assert read(people, "carol", path) == ("bytes" if "caf" in path else f"text of {path}")


@pytest.mark.parametrize(
    "path",
    [
        "a.md", "missing.md", "link_out/key", "../outside/key", "/etc/passwd", "team/../a.md", "a.md\0", "team/",
        "caf\udce9.md", "\\x41", "", ".", "team",
    ],
)  # fmt: skip
def test_open_file_tells_a_stranger_nothing(people: People, tree: Path, path: str) -> None:
    with pytest.raises(NotFound) as error:
        read(people, "mallory", path)

    assert str(people.folder) not in str(error.value)


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("missing.md", Gone),
        ("a.md/below", Gone),
        ("link_out/key", Gone),
        ("team/link_in/pay.md", Gone),
        ("file_link", NotFound),
        ("team", NotFound),
        ("../outside/key", NotFound),
        ("/etc/passwd", NotFound),
        ("team/../a.md", NotFound),
        ("a.md\0", NotFound),
        ("team//plan.md", NotFound),
        ("caf\udce9.md", NotFound),
        ("\\x61.md", NotFound),
        ("", NotFound),
    ],
)
def test_open_file_never_leaves_the_root_for_an_owner(
    people: People, tree: Path, path: str, error: type[AppError]
) -> None:
    with pytest.raises(error) as raised:
        read(people, "alice", path)

    assert str(people.folder) not in str(raised.value)


@pytest.mark.parametrize("kind", ["pipe", "socket folder"])
def test_open_file_does_not_hang_on_what_is_no_file(people: People, kind: str) -> None:
    os.mkfifo(people.folder / kind)

    with pytest.raises(NotFound):
        read(people, "alice", kind)


def test_open_file_follows_the_deepest_grant(people: People, tree: Path) -> None:
    GrantFactory(root=people.root, user=people.carol, prefix="team/secret", access=Access.NONE)
    GrantFactory(root=people.root, user=people.mallory, prefix="team", access=Access.READ)

    assert read(people, "carol", "team/plan.md")
    assert read(people, "mallory", "team/secret/pay.md")
    for name, path in [("carol", "team/secret/pay.md"), ("mallory", "team_x/other.md"), ("mallory", "a.md")]:
        with pytest.raises(NotFound):
            read(people, name, path)


def test_open_file_says_when_the_root_is_not_there(people: People) -> None:
    gone = RootFactory(workspace=people.workspace)

    with pytest.raises(RootUnavailable) as error:
        files.open_file(principal=people.principal("alice"), root=gone, path="a.md")

    assert error.value.retryable
    assert "nowhere" not in str(error.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_open_file_says_when_the_system_refuses(people: People, tree: Path) -> None:
    (tree / "a.md").chmod(0)

    with pytest.raises(FileUnreadable):
        read(people, "alice", "a.md")


def test_open_for_indexing_needs_no_person(people: People, tree: Path) -> None:
    with files.open_for_indexing(root=people.root, path="team/plan.md") as opened:
        assert opened.read(max_bytes=100) == b"text of team/plan.md"


def names_in(people: People, name: str, path: str) -> list[str]:
    return [entry.name for entry in files.list_folder(principal=people.principal(name), root=people.root, path=path)]


def test_list_folder_shows_a_member_everything_and_follows_no_link(people: People, tree: Path) -> None:
    entries = files.list_folder(principal=people.principal("carol"), root=people.root, path="")

    assert [entry.name for entry in entries] == ["a.md", "caf\\xe9.md", "file_link", "link_out", "team", "team_x"]
    assert {entry.kind for entry in entries if entry.name.endswith(("link", "out"))} == {EntryKind.LINK}
    with pytest.raises(NotFound):
        names_in(people, "carol", "a.md")


def test_list_folder_shows_only_the_way_to_what_is_granted(people: People, tree: Path) -> None:
    GrantFactory(root=people.root, user=people.mallory, prefix="team/secret", access=Access.READ)

    assert names_in(people, "mallory", "") == ["team"]
    assert names_in(people, "mallory", "team") == ["secret"]
    assert names_in(people, "mallory", "team/secret") == ["pay.md"]
    with pytest.raises(NotFound):
        names_in(people, "mallory", "team_x")


def test_list_folder_leaves_out_what_is_taken_away(people: People, tree: Path) -> None:
    GrantFactory(root=people.root, user=people.carol, prefix="team/secret", access=Access.NONE)
    GrantFactory(root=people.root, user=people.carol, prefix="a.md", access=Access.NONE)

    assert names_in(people, "carol", "team") == ["link_in", "plan.md"]
    assert "a.md" not in names_in(people, "carol", "")


def test_stat_tells_of_a_way_but_not_of_a_hidden_file(people: People, tree: Path) -> None:
    GrantFactory(root=people.root, user=people.mallory, prefix="team/secret", access=Access.READ)
    GrantFactory(root=people.root, user=people.mallory, prefix="a.md/below", access=Access.READ)
    principal = people.principal("mallory")

    assert files.stat(principal=principal, root=people.root, path="team").kind is EntryKind.FOLDER
    assert files.stat(principal=principal, root=people.root, path="team/secret/pay.md").size == 26
    for path in ["team/plan.md", "a.md", "team_x"]:
        with pytest.raises(NotFound):
            files.stat(principal=principal, root=people.root, path=path)
