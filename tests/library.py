"""A knowledge base over real files, indexed by the real services without a worker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from knowledge.models import Document, KnowledgeBase, Source
from knowledge.services import drain, sync
from mnote.models import Root
from tests.factories.knowledge import KnowledgeBaseFactory, SourceFactory
from tests.people import People


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """Four people, and one knowledge base of alice over the whole root."""

    people: People
    kb: KnowledgeBase
    source: Source

    @property
    def root(self) -> Root:
        return self.people.root

    @property
    def scope(self) -> dict[str, str]:
        """The part that every call to the canonical API has."""
        return {"workspaceId": self.people.workspace.id, "rootUri": self.root.root_uri}

    def write(self, files: Mapping[str, str | bytes]) -> None:
        for path, content in files.items():
            target = self.people.folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content.encode() if isinstance(content, str) else content)

    def index(self) -> None:
        """Look at every source and work through all that waits."""
        for source in Source.objects.filter(kb=self.kb).select_related("kb__workspace", "root"):
            sync.sync_source(source=source, order=sync.Order())
        drain.drain(kb=self.kb, worker="test")

    def add(self, files: Mapping[str, str | bytes]) -> None:
        """Write files and index them."""
        self.write(files)
        self.index()

    def document(self, path: str) -> Document:
        return Document.objects.get(kb=self.kb, source_path=path)


def make_library(people: People, files: Mapping[str, str | bytes]) -> Library:
    """Make the knowledge base, with `files` (path to content) in it."""
    kb = KnowledgeBaseFactory(owner=people.alice, root=people.root, name="Handbook")
    library = Library(people=people, kb=kb, source=SourceFactory(kb=kb))
    library.add(files)
    return library
