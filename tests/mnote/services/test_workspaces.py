from __future__ import annotations

import os
from pathlib import Path

import pytest

from mnote.exceptions import Conflict, Invalid
from mnote.models import AuditEntry, Membership, Role, Workspace
from mnote.selectors import access
from mnote.services import workspaces
from tests.factories.mnote import GroupFactory, MembershipFactory, RootFactory, UserFactory, WorkspaceFactory
from tests.people import People


@pytest.fixture
def workspace(db: None) -> Workspace:
    return WorkspaceFactory()


def folder(tmp_path: Path, name: str) -> bytes:
    path = tmp_path / name
    path.mkdir(parents=True, exist_ok=True)
    return os.fsencode(path)


def test_create_workspace_is_seen_by_its_owner_alone(people: People) -> None:
    made = workspaces.create_workspace(name=" Mine ", owner=people.mallory)

    assert made.name == "Mine"
    assert access.role_in(people.principal("mallory"), made) == Role.OWNER
    assert access.role_in(people.principal("alice"), made) is None


@pytest.mark.parametrize("name", ["", "  ", "x" * 121])
def test_create_workspace_refuses_a_name_that_cannot_be_shown(people: People, name: str) -> None:
    with pytest.raises(Invalid):
        workspaces.create_workspace(name=name, owner=people.alice)


def test_add_root_keeps_the_folder_as_text_and_uri(workspace: Workspace, tmp_path: Path) -> None:
    path = folder(tmp_path, "Café 笔记")

    root = workspaces.add_root(workspace=workspace, path=path)

    assert root.path == str(tmp_path / "Café 笔记")
    assert root.root_uri.endswith("/Caf%C3%A9%20%E7%AC%94%E8%AE%B0")
    assert (root.name, root.key) == ("Café 笔记", "cafe")
    assert access.root_of(workspace, root.root_uri) == root


def test_add_root_takes_names_that_are_not_utf8(workspace: Workspace, tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/caf\xe9"
    Path(os.fsdecode(path)).mkdir()

    root = workspaces.add_root(workspace=workspace, path=path)

    assert root.path.endswith("caf\\xe9")
    assert root.root_uri.endswith("caf%E9")


def test_add_root_gives_each_root_its_own_key(workspace: Workspace, tmp_path: Path) -> None:
    keys = [
        workspaces.add_root(workspace=workspace, path=folder(tmp_path, str(number)), name="笔记").key
        for number in range(3)
    ]

    assert keys == ["root", "root-2", "root-3"]


@pytest.mark.parametrize("path", [b"", b"relative", b"/no/such/folder", b"/", b"/a\0b", b"/etc/hostname"])
def test_add_root_refuses_what_is_no_folder(workspace: Workspace, path: bytes) -> None:
    with pytest.raises(Invalid) as error:
        workspaces.add_root(workspace=workspace, path=path)

    assert list(error.value.extra["errors"]) == ["path"]


@pytest.mark.parametrize(
    ("first", "second"),
    [("data", "data"), ("data", "data/team"), ("data/team", "data"), ("data", "data/a/b/c"), ("data", "link/team")],
)
def test_add_root_refuses_overlap_in_one_workspace(
    workspace: Workspace, tmp_path: Path, first: str, second: str
) -> None:
    folder(tmp_path, "data/team")
    (tmp_path / "link").symlink_to(tmp_path / "data")
    workspaces.add_root(workspace=workspace, path=folder(tmp_path, first))

    with pytest.raises(Conflict):
        workspaces.add_root(workspace=workspace, path=folder(tmp_path, second))


@pytest.mark.parametrize("second", ["", "inner"])
def test_add_root_knows_a_folder_that_has_two_paths(workspace: Workspace, tmp_path: Path, second: str) -> None:
    """A bind mount, or another spelling on a disk that ignores case: another path, the same device and inode."""
    folder(tmp_path, "data/inner")
    facts = (tmp_path / "data").stat()
    other = RootFactory(workspace=workspace)
    type(other).objects.filter(pk=other.pk).update(device=facts.st_dev, inode=facts.st_ino)

    with pytest.raises(Conflict):
        workspaces.add_root(workspace=workspace, path=folder(tmp_path, f"data/{second}".rstrip("/")))


def test_add_root_allows_neighbours_with_a_common_beginning(workspace: Workspace, tmp_path: Path) -> None:
    workspaces.add_root(workspace=workspace, path=folder(tmp_path, "ws"))

    assert workspaces.add_root(workspace=workspace, path=folder(tmp_path, "ws_x")).key == "ws_x"


def test_add_root_lets_workspaces_share_folders_without_sharing_members(people: People, tmp_path: Path) -> None:
    team = workspaces.create_workspace(name="Team", owner=people.mallory)
    inner = workspaces.add_root(workspace=team, path=folder(tmp_path, "notes/team"))

    assert access.access_map(people.principal("mallory"), inner).may_read("a.md")
    assert not access.access_map(people.principal("mallory"), people.root).may_enter("team")
    assert not access.access_map(people.principal("alice"), inner).sees_anything


def test_add_root_refuses_the_folder_of_the_secret_key(workspace: Workspace, settings, tmp_path: Path) -> None:
    settings.MNOTE_DATA_DIR = tmp_path / "home" / "data"

    for name in ["home", "home/data", "home/data/indexes"]:
        with pytest.raises(Conflict):
            workspaces.add_root(workspace=workspace, path=folder(tmp_path, name))


def test_add_member_changes_the_role_of_one_who_is_there(people: People) -> None:
    workspaces.add_member(workspace=people.workspace, holder=people.carol, role=Role.MANAGER)
    group = GroupFactory()
    group.user_set.add(people.mallory)
    workspaces.add_member(workspace=people.workspace, holder=group, role=Role.CURATOR)

    assert access.role_in(people.principal("carol"), people.workspace) == Role.MANAGER
    assert access.role_in(people.principal("mallory"), people.workspace) == Role.CURATOR
    assert AuditEntry.objects.filter(action="workspace.set_member", workspace=people.workspace).count() == 2


def test_the_last_owner_stays(people: People) -> None:
    own = Membership.objects.get(user=people.alice)

    with pytest.raises(Conflict):
        workspaces.remove_member(membership=own)
    with pytest.raises(Conflict):
        workspaces.add_member(workspace=people.workspace, holder=people.alice, role=Role.VIEWER)
    assert access.role_in(people.principal("alice"), people.workspace) == Role.OWNER


def test_remove_member_ends_what_the_membership_gave(people: People) -> None:
    workspaces.remove_member(membership=Membership.objects.get(user=people.bob))

    assert access.role_in(people.principal("bob"), people.workspace) is None


def test_archive_workspace_hides_and_restore_shows_it_again(people: People) -> None:
    principal = people.principal("alice")

    workspaces.archive_workspace(workspace=people.workspace)
    assert not access.workspaces_for(principal).exists()

    workspaces.restore_workspace(workspace=people.workspace)
    assert access.workspaces_for(principal).exists()


def test_workspaces_for_lists_own_and_group_ones_by_name(people: People) -> None:
    group = GroupFactory()
    group.user_set.add(people.carol)
    MembershipFactory(workspace=WorkspaceFactory(name="A"), group=group)
    MembershipFactory(workspace=WorkspaceFactory(name="Z"), user=UserFactory())

    assert [one.name for one in access.workspaces_for(people.principal("carol"))] == ["A", "Notes"]
