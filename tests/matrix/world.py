"""One of everything that a route may name, and every kind of caller."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property

from django.test import Client
from django.utils import timezone

from knowledge.models import Document, Exclusion, SyncRun
from knowledge.services import references
from mnote.ids import text_key
from mnote.models import ApiToken, Job, TokenScope
from mnote.services import tokens
from pageai.services import bindings, pages, runs
from pageai.services.runs import Wanted
from tests.factories.knowledge import KnowledgeBaseFactory
from tests.factories.mnote import JobFactory, UserFactory
from tests.library import Library
from tests.matrix.rows import PEOPLE


@dataclass(frozen=True)
class World:
    """The library with a job, a token of bob's, an exclusion and a second knowledge base."""

    library: Library

    @cached_property
    def scope(self) -> dict[str, str]:
        return self.library.scope

    @property
    def workspace_id(self) -> str:
        return self.library.people.workspace.id

    @property
    def kb_id(self) -> str:
        return self.library.kb.id

    @cached_property
    def document(self) -> Document:
        return self.library.document("guide/contracts.md")

    @cached_property
    def run(self) -> SyncRun:
        return SyncRun.objects.filter(kb=self.library.kb).latest("started_at")

    @cached_property
    def job(self) -> Job:
        return JobFactory(workspace=self.library.people.workspace, kb_id=self.kb_id, requested_by=None)

    @cached_property
    def bobs_token(self) -> ApiToken:
        token, _ = tokens.create_token(user=self.library.people.bob, name="bob's", scopes=["knowledge:read"])
        return token

    @cached_property
    def exclusion(self) -> Exclusion:
        path = "excluded.md"
        return Exclusion.objects.create(kb=self.library.kb, root=self.library.root, path=path, path_key=text_key(path))

    @cached_property
    def citation(self) -> str:
        """A signed token of the whole document."""
        from knowledge.citations.locators import MapState, Resource, whole_resource
        from knowledge.parsing.source_map import ResourceKind

        resource = Resource(root_uri=self.library.root.root_uri, path=self.document.source_path)
        locator = whole_resource(
            ResourceKind.MARKDOWN, resource, source_hash=self.document.source_hash, map_state=MapState.NONE
        )
        return references.sign(
            workspace_id=self.workspace_id,
            root_key=self.library.root.key,
            document_id=self.document.id,
            locator=locator,
        )

    @cached_property
    def bobs_binding(self) -> str:
        """The id of the conversation that bob has on a page."""
        bob = self.library.people.principal("bob")
        page = pages.locate(principal=bob, root=self.library.root, path="notes.txt")
        return str(bindings.open_binding(principal=bob, page=page).binding.pk)

    @cached_property
    def bobs_run(self) -> str:
        """The id of a run of bob's agent, in the session `ses_of_bob`."""
        bob = self.library.people.principal("bob")
        page = pages.locate(principal=bob, root=self.library.root, path="guide/contracts.md")
        binding = bindings.open_binding(principal=bob, page=page).binding
        bindings.attach_sessions(binding=binding, openhub_session_id="ses_of_bob")
        return str(runs.receive(binding=binding, wanted=Wanted(request_id="bobs-click"))[0].pk)

    def make(self) -> None:
        """Make everything now, so that no caller makes it."""
        _ = (
            self.bobs_binding,
            self.bobs_run,
            self.job,
            self.bobs_token,
            self.exclusion,
            self.citation,
            self.run,
            self._other_kb_id,
        )

    def client(self, caller: str) -> Client:
        if caller in PEOPLE:
            return self.library.people.client(None if caller == "nobody" else caller)
        return Client(raise_request_exception=False, headers={"Authorization": f"Bearer {self._secret(caller)}"})

    @cached_property
    def _other_kb_id(self) -> str:
        kb = KnowledgeBaseFactory(owner=self.library.people.alice, root=self.library.root, name="Other")
        return str(kb.id)

    def _secret(self, caller: str) -> str:
        bob = self.library.people.bob
        everything = [TokenScope.KNOWLEDGE_READ, TokenScope.KNOWLEDGE_WRITE]
        scopes = {"no scope": [TokenScope.PAGEAI], "read only": [TokenScope.KNOWLEDGE_READ]}.get(caller, everything)
        kb_ids = [self._other_kb_id] if caller == "other base" else []
        user = UserFactory(username="closed") if caller == "closed account" else bob
        token, secret = tokens.create_token(user=user, name=caller, scopes=scopes, kb_ids=kb_ids)
        if caller == "revoked":
            tokens.revoke_token(token=token)
        if caller == "expired":
            ApiToken.objects.filter(pk=token.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
        if caller == "closed account":
            user.is_active = False
            user.save()
        return secret
