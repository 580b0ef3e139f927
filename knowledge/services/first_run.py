"""What a first run sets up: an owner, a workspace on the folder, a knowledge base over it. Safe to do again."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _

from knowledge.models import IndexStatus, KnowledgeBase, Source
from knowledge.services import knowledge_bases, registry, sources
from knowledge.services.kb_placing import Indexing
from mnote.exceptions import AppError
from mnote.files.names import name_to_text
from mnote.files.uris import path_to_uri
from mnote.models import Access, Root, User
from mnote.principals import Principal
from mnote.services import grants, workspaces

OWNER_NAME = "owner"


class FolderUnusable(Exception):
    """The folder cannot be attached; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """What there is now, and a line for each thing that was done or found done."""

    owner: User
    kb: KnowledgeBase
    notes: tuple[str, ...]


def prepare(*, folder: bytes, provider: str = "") -> Ready:
    """Set up what is missing for `folder` (absolute bytes). Raises FolderUnusable."""
    notes: list[str] = []
    owner = _owner(notes)
    root = _root(owner, folder, notes)
    kb = _kb(owner, root, provider, notes)
    return Ready(owner=owner, kb=kb, notes=tuple(notes))


def _owner(notes: list[str]) -> User:
    owner = User.objects.filter(is_superuser=True, is_active=True).order_by("pk").first()
    if owner is not None:
        return owner
    owner = User.objects.create_superuser(username=OWNER_NAME)
    owner.set_unusable_password()
    owner.save(update_fields=["password"])
    notes.append(_("Made the owner account “%(name)s”.") % {"name": owner.username})
    return owner


def _root(owner: User, folder: bytes, notes: list[str]) -> Root:
    name = name_to_text(folder.rstrip(b"/").rpartition(b"/")[2]) or "/"
    known = Root.objects.filter(root_uri=path_to_uri(folder), workspace__archived_at__isnull=True)
    root = known.select_related("workspace").first()
    if root is not None:
        notes.append(_("The workspace “%(name)s” is there already.") % {"name": root.workspace.name})
        return root
    try:
        workspace = workspaces.create_workspace(name=name, owner=owner)
        root = workspaces.add_root(workspace=workspace, path=folder, name=name)
    except AppError as error:
        raise FolderUnusable(str(error.detail)) from error
    grants.set_grant(root=root, holder=owner, prefix="", access=Access.WRITE)
    notes.append(_("Attached the folder as workspace “%(name)s”.") % {"name": workspace.name})
    return root


def _kb(owner: User, root: Root, provider: str, notes: list[str]) -> KnowledgeBase:
    principal = Principal(user=owner)
    kb = KnowledgeBase.objects.filter(root=root, archived_at__isnull=True).order_by("created_at").first()
    if kb is None:
        name = root.name[: knowledge_bases.NAME_MAX]
        kb = knowledge_bases.create_kb(
            principal=principal, workspace=root.workspace, root=root, name=name, indexing=Indexing(provider=provider)
        )
        sources.add_sources(principal=principal, kb=kb, root=root, paths=[""])
        notes.append(_("Made the knowledge base “%(name)s” over the whole folder.") % {"name": kb.name})
        return kb
    indexed = kb.documents.filter(index_status=IndexStatus.INDEXED).count()
    facts = {"name": kb.name, "count": indexed}
    notes.append(_("The knowledge base “%(name)s” is there already, with %(count)d documents indexed.") % facts)
    notes.append(_("Only what changed since is read again."))
    for source in Source.objects.filter(kb=kb, frozen_at__isnull=True).select_related("kb__workspace"):
        sources.request_sync(source=source, trigger="start")
    registry.request_work(kb)
    return kb
