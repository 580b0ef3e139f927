"""Workspaces, their roots and their members."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import transaction
from django.db.models import ProtectedError
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext as _

from mnote.exceptions import Conflict, Invalid
from mnote.files.errors import FilesError
from mnote.files.opening import stat_below
from mnote.files.prefixes import is_below
from mnote.files.roots import Root as Folder
from mnote.files.roots import RootIdentity, resolve_root
from mnote.files.uris import path_to_uri
from mnote.ids import text_key
from mnote.models import Membership, Role, Root, User, Workspace
from mnote.principals import Principal
from mnote.services import audit
from mnote.services.files import path_of_root, path_text


@transaction.atomic
def create_workspace(*, name: str, owner: User, by: Principal | None = None) -> Workspace:
    """Make a workspace with one owner and no root yet. Nobody else sees it.

    Raises:
        Invalid: a blank or too long name.
    """
    workspace = Workspace.objects.create(name=_checked_name(name))
    Membership.objects.create(workspace=workspace, user=owner, role=Role.OWNER)
    audit.record(
        principal=by or Principal(user=owner), action="workspace.create", workspace=workspace, target=workspace.pk
    )
    return workspace


@transaction.atomic
def update_workspace(
    *,
    workspace: Workspace,
    name: str,
    allow_web_import: bool,
    quota_mb: int | None,
    by: Principal | None = None,
) -> None:
    """Change a workspace's name and limits; `quota_mb` None is the installation's own.

    Raises:
        Invalid: a blank or too long name.
    """
    workspace.name = _checked_name(name)
    workspace.allow_web_import, workspace.quota_mb = allow_web_import, quota_mb
    workspace.save(update_fields=["name", "allow_web_import", "quota_mb", "updated_at"])
    facts = {"web_import": allow_web_import, "quota_mb": quota_mb}
    audit.record(principal=by, action="workspace.update", workspace=workspace, target=workspace.pk, facts=facts)


@transaction.atomic
def archive_workspace(*, workspace: Workspace, by: Principal | None = None) -> None:
    """Hide a workspace from everybody. Its rows and the local files stay."""
    if Workspace.objects.filter(pk=workspace.pk, archived_at__isnull=True).update(archived_at=timezone.now()):
        audit.record(principal=by, action="workspace.archive", workspace=workspace, target=workspace.pk)


@transaction.atomic
def restore_workspace(*, workspace: Workspace, by: Principal | None = None) -> None:
    """Show an archived workspace again."""
    if Workspace.objects.filter(pk=workspace.pk, archived_at__isnull=False).update(archived_at=None):
        audit.record(principal=by, action="workspace.restore", workspace=workspace, target=workspace.pk)


def add_root(*, workspace: Workspace, path: bytes, name: str = "", by: Principal | None = None) -> Root:
    """Make the local folder `path` (absolute bytes) a root. Links on the way to it are resolved once, here.

    Two workspaces may share a folder: members of one gain nothing in the other.

    Raises:
        Invalid: no absolute path, or no folder that can be read.
        Conflict: the folder is, holds, or lies in another root of this workspace, by path or by identity.
    """
    others = list(Root.objects.filter(workspace=workspace))
    folder = check_folder(path, others)
    text, uri = path_text(folder.path), path_to_uri(folder.path)
    name = _checked_name(name or text.rsplit("/", 1)[-1][:120] or text)
    root = Root(workspace=workspace, name=name, path=text, root_uri=uri, uri_key=text_key(uri))
    root.device, root.inode = folder.identity.device, folder.identity.inode
    with transaction.atomic():
        _lock(workspace)
        # The disk was asked outside the transaction: a slow mount must not hold the write lock.
        if set(Root.objects.filter(workspace=workspace)) != set(others):
            raise Conflict(_("Another root was added at the same time. Please try again."))
        root.key = _free_key(name, {other.key for other in others})
        root.save()
        audit.record(principal=by, action="workspace.add_root", workspace=workspace, target=root.key)
    return root


def check_folder(path: bytes, others: Iterable[Root]) -> Folder:
    """Resolve a folder that may become a root beside the `others` of its workspace.

    Raises:
        Invalid, Conflict: as in `add_root`.
    """
    folder = _checked_folder(path)
    _refuse_data_folder(path_text(folder.path))
    _refuse_overlap(others, folder)
    return folder


@transaction.atomic
def rename_root(*, root: Root, name: str, by: Principal | None = None) -> None:
    """Give a root another shown name; its key and folder stay.

    Raises:
        Invalid: a blank or too long name.
    """
    root.name = _checked_name(name)
    root.save(update_fields=["name"])
    audit.record(principal=by, action="workspace.rename_root", workspace=root.workspace, target=root.key)


@transaction.atomic
def remove_root(*, root: Root, by: Principal | None = None) -> None:
    """Take a root, and the grants on it, out of its workspace. The folder on the disk stays as it is.

    Raises:
        Conflict: a knowledge base uses it.
    """
    workspace, key = root.workspace, root.key
    try:
        Root.objects.filter(pk=root.pk).delete()
    except ProtectedError:
        raise Conflict(_("A knowledge base uses this folder; remove it there first.")) from None
    audit.record(principal=by, action="workspace.remove_root", workspace=workspace, target=key)


@transaction.atomic
def add_member(
    *, workspace: Workspace, holder: User | Group, role: Role = Role.VIEWER, by: Principal | None = None
) -> Membership:
    """Make a person or group a member, or change the role of one.

    Raises:
        Conflict: it would leave the workspace without an owner.
    """
    _lock(workspace)
    held = {"user": holder} if isinstance(holder, User) else {"group": holder}
    membership, _created = Membership.objects.update_or_create(
        workspace=workspace, **held, defaults={"role": Role(role)}
    )
    _keep_an_owner(workspace)
    facts = {"holder": _label(membership), "role": membership.role}
    audit.record(principal=by, action="workspace.set_member", workspace=workspace, facts=facts)
    return membership


@transaction.atomic
def remove_member(*, membership: Membership, by: Principal | None = None) -> None:
    """End a membership; grants stay and go on to count.

    Raises:
        Conflict: it would leave the workspace without an owner.
    """
    _lock(membership.workspace)
    workspace, facts = membership.workspace, {"holder": _label(membership), "role": membership.role}
    if Membership.objects.filter(pk=membership.pk).delete()[0]:
        _keep_an_owner(workspace)
        audit.record(principal=by, action="workspace.remove_member", workspace=workspace, facts=facts)


def _lock(workspace: Workspace) -> None:
    """Let changes of one workspace happen one after the other (SQLite has one writer anyway)."""
    Workspace.objects.select_for_update().get(pk=workspace.pk)


def _keep_an_owner(workspace: Workspace) -> None:
    if not Membership.objects.filter(workspace=workspace, role=Role.OWNER).exists():
        raise Conflict(_("A workspace needs an owner; make somebody else owner first."))


def _label(membership: Membership) -> str:
    return membership.user.username if membership.user else f"group {membership.group}"


def _checked_name(name: str) -> str:
    name = name.strip()
    if not name or len(name) > 120:
        raise Invalid(errors={"name": [{"message": _("Give a name of at most 120 characters."), "code": "invalid"}]})
    return name


def _checked_folder(path: bytes) -> Folder:
    try:
        return resolve_root(path)
    except FilesError:
        message = _("This is not a folder that can be read.")
        raise Invalid(errors={"path": [{"message": message, "code": "invalid"}]}) from None


def _refuse_data_folder(text: str) -> None:
    """The data folder holds the secret key and every index: nobody may read it as a workspace."""
    data = path_text(os.fsencode(settings.MNOTE_DATA_DIR.resolve()))
    if is_below(text, data) or is_below(data, text):
        raise Conflict(_("MNote's own data folder may not lie in a root, nor a root in it."))


def _refuse_overlap(roots: Iterable[Root], folder: Folder) -> None:
    """Refuse a folder that another root covers, or the other way round. A bind mount, or another spelling on a disk
    that ignores case, gives one folder two paths: every folder above is compared by identity too."""
    above, text = _identities_above(folder.path), path_text(folder.path)
    for root in roots:
        by_path = is_below(root.path, text) or is_below(text, root.path)
        if by_path or _identity_of(root) in above or folder.identity in _identities_above(path_of_root(root)):
            raise Conflict(_("This folder is, holds, or lies in another root of the workspace."))


def _identity_of(root: Root) -> RootIdentity | None:
    if root.device is None or root.inode is None:
        return None
    return RootIdentity(device=root.device, inode=root.inode)


def _identities_above(path: bytes) -> set[RootIdentity]:
    """The identities of a folder and of each folder above it that is there."""
    folder, found = Path(os.fsdecode(path)), set()
    for each in [folder, *folder.parents]:
        with suppress(FilesError):
            facts = stat_below(os.fsencode(each), "")
            found.add(RootIdentity(device=facts.device, inode=facts.inode))
    return found


def _free_key(name: str, taken: set[str]) -> str:
    base = slugify(name)[:50] or "root"
    numbered = (f"{base}-{number}" for number in range(2, len(taken) + 3))
    return base if base not in taken else next(key for key in numbered if key not in taken)
