"""Rows of the kernel's tables, with as little in them as a test needs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import factory
from django.contrib.auth.models import Group
from factory.django import DjangoModelFactory

from mnote.files.names import path_to_text
from mnote.files.uris import path_to_uri
from mnote.ids import text_key
from mnote.models import Access, AuditEntry, Grant, Job, Membership, Role, Root, User, Workspace


class UserFactory(DjangoModelFactory[User]):
    """A person. The password is `<username>-secret`."""

    class Meta:
        model = User
        skip_postgeneration_save = True

    username = factory.Sequence(lambda number: f"person{number}")
    password = factory.django.Password(factory.LazyAttribute(lambda user: f"{user.username}-secret"))


class GroupFactory(DjangoModelFactory[Group]):
    class Meta:
        model = Group

    name = factory.Sequence(lambda number: f"group{number}")


class WorkspaceFactory(DjangoModelFactory[Workspace]):
    class Meta:
        model = Workspace

    name = factory.Sequence(lambda number: f"Workspace {number}")


class RootFactory(DjangoModelFactory[Root]):
    """A root. Give `folder=tmp_path / "notes"` for one that is really there; without it nothing is on the disk."""

    class Meta:
        model = Root
        exclude = ("folder",)

    folder = factory.Sequence(lambda number: Path(f"/nowhere/root{number}"))
    workspace = factory.SubFactory(WorkspaceFactory)
    key = factory.Sequence(lambda number: f"root{number}")
    name = factory.LazyAttribute(lambda root: root.folder.name)
    path = factory.LazyAttribute(lambda root: "/" + path_to_text(os.fsencode(root.folder)[1:]))
    root_uri = factory.LazyAttribute(lambda root: path_to_uri(os.fsencode(root.folder)))
    uri_key = factory.LazyAttribute(lambda root: text_key(root.root_uri))

    @classmethod
    def _create(cls, model_class: type[Root], *args: Any, **kwargs: Any) -> Root:
        folder = Path("/" + kwargs["path"].removeprefix("/"))
        if folder.is_dir():
            facts = folder.stat()
            kwargs |= {"device": facts.st_dev, "inode": facts.st_ino}
        return super()._create(model_class, *args, **kwargs)


class MembershipFactory(DjangoModelFactory[Membership]):
    class Meta:
        model = Membership

    workspace = factory.SubFactory(WorkspaceFactory)
    role = Role.VIEWER


class GrantFactory(DjangoModelFactory[Grant]):
    class Meta:
        model = Grant

    root = factory.SubFactory(RootFactory)
    prefix = ""
    prefix_key = factory.LazyAttribute(lambda grant: text_key(grant.prefix))
    access = Access.READ


class JobFactory(DjangoModelFactory[Job]):
    class Meta:
        model = Job

    kind = "mnote.test"


class AuditEntryFactory(DjangoModelFactory[AuditEntry]):
    class Meta:
        model = AuditEntry

    action = "test.done"
