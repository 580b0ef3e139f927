"""The four people of every access test: alice owns, bob curates, carol views, mallory is a stranger."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from django.test import Client

from mnote.models import Role, Root, TokenScope, User, Workspace
from mnote.principals import Principal
from mnote.services import tokens
from tests.factories.mnote import MembershipFactory, RootFactory, UserFactory, WorkspaceFactory

NAMES = ("alice", "bob", "carol", "mallory")
_ROLES = {"alice": Role.OWNER, "bob": Role.CURATOR, "carol": Role.VIEWER}


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """One workspace with one root (key "notes", on the disk at `folder`) and four people. No grants, no files."""

    alice: User
    bob: User
    carol: User
    mallory: User
    workspace: Workspace
    root: Root
    folder: Path

    def user(self, name: str) -> User:
        return {"alice": self.alice, "bob": self.bob, "carol": self.carol, "mallory": self.mallory}[name]

    def principal(self, name: str) -> Principal:
        """The person as a signed-in session."""
        return Principal(user=self.user(name))

    def client(self, name: str | None) -> Client:
        """A browser signed in as that person; None is nobody."""
        client = Client(raise_request_exception=False)
        if name is not None:
            client.force_login(self.user(name))
        return client

    def token(self, name: str, *scopes: str, kb_ids: Sequence[str] = ()) -> str:
        """The secret of a new token; without `scopes` it has all a person may give."""
        everything = [scope for scope in TokenScope.values if scope != TokenScope.ADMIN_READ]
        _, secret = tokens.create_token(user=self.user(name), name="test", scopes=scopes or everything, kb_ids=kb_ids)
        return secret

    def token_client(self, name: str, *scopes: str, kb_ids: Sequence[str] = ()) -> Client:
        """An API caller with such a token."""
        secret = self.token(name, *scopes, kb_ids=kb_ids)
        return Client(raise_request_exception=False, headers={"Authorization": f"Bearer {secret}"})


def make_people(folder: Path) -> People:
    """Make the four, and the workspace whose root is `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    workspace = WorkspaceFactory(name="Notes")
    root = RootFactory(workspace=workspace, folder=folder, key="notes", name="Notes")
    users = {name: UserFactory(username=name) for name in NAMES}
    for name, role in _ROLES.items():
        MembershipFactory(workspace=workspace, user=users[name], role=role)
    return People(**users, workspace=workspace, root=root, folder=folder)
