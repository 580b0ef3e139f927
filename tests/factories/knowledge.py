"""Rows of the knowledge tables. Paths of one test lie in one workspace and root unless it says otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import factory
from django.utils import timezone
from factory.django import DjangoModelFactory

from knowledge.models import Document, IndexStatus, KnowledgeBase, ProviderKind, ProviderProfile, Source
from mnote.ids import text_key
from mnote.models import Workspace
from mnote.sealing import seal
from tests.factories.mnote import RootFactory, UserFactory


class KnowledgeBaseFactory(DjangoModelFactory[KnowledgeBase]):
    """A knowledge base on a root of its own; `KnowledgeBaseFactory(root=root)` puts it in that root's workspace."""

    class Meta:
        model = KnowledgeBase

    owner = factory.SubFactory(UserFactory)
    root = factory.SubFactory(RootFactory)
    workspace = factory.SelfAttribute("root.workspace")
    name = factory.Sequence(lambda number: f"Knowledge base {number}")
    provider = ProviderKind.LOCAL


class SourceFactory(DjangoModelFactory[Source]):
    """A folder rule; `path=""` is the whole root."""

    class Meta:
        model = Source

    kb = factory.SubFactory(KnowledgeBaseFactory)
    root = factory.SelfAttribute("kb.root")
    path = ""
    path_key = factory.LazyAttribute(lambda source: text_key(source.path))


class DocumentFactory(DjangoModelFactory[Document]):
    """An indexed document; `DocumentFactory(kb=kb, source_path="a/b.md")`."""

    class Meta:
        model = Document

    kb = factory.SubFactory(KnowledgeBaseFactory)
    workspace = factory.SelfAttribute("kb.workspace")
    root = factory.SelfAttribute("kb.root")
    source_path = factory.Sequence(lambda number: f"note{number}.md")
    path_key = factory.LazyAttribute(lambda document: text_key(document.source_path))
    parent_key = factory.LazyAttribute(lambda document: text_key(document.source_path.rpartition("/")[0]))
    sort_path = factory.LazyAttribute(lambda document: document.source_path[:200])
    title = factory.LazyAttribute(lambda document: document.source_path.rpartition("/")[2])
    provider = factory.SelfAttribute("kb.provider")
    provider_kb_id = factory.SelfAttribute("kb.provider_kb_id")
    index_status = IndexStatus.INDEXED
    is_searchable = True
    status_since = factory.LazyFunction(timezone.now)


class ProviderProfileFactory(DjangoModelFactory[ProviderProfile]):
    """A connection that was checked and found good; `key` is sealed. `ProviderProfileFactory(stub=stub)` reaches a
    WeKnora stub."""

    class Meta:
        model = ProviderProfile
        exclude = ("stub", "key")
        skip_postgeneration_save = True

    stub = None
    key = factory.LazyAttribute(lambda given: given.stub.key if given.stub else "sk-never-shown")
    name = factory.Sequence(lambda number: f"Library {number}")
    base_url = factory.LazyAttribute(lambda given: given.stub.url if given.stub else "https://index.invalid")
    tenant_id = "1"
    tenant_key = factory.LazyAttribute(lambda given: text_key(f"{given.base_url} {given.tenant_id}"))
    isolation_domain = "here"
    sealed_key = factory.LazyAttribute(lambda given: seal(given.key))
    embedding_model_id = factory.LazyAttribute(lambda given: given.stub.model.id if given.stub else "model-1")
    checked_at = factory.LazyFunction(timezone.now)

    @factory.post_generation
    def workspaces(self, create: bool, given: Sequence[Workspace] | None, **_: Any) -> None:
        if create and given:
            self.workspaces.set(given)  # type: ignore[attr-defined]
