"""A real folder with a knowledge base over it, brought level by the product's own services."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from knowledge.models import Document, KnowledgeBase, Source, SyncRun
from knowledge.services import drain, knowledge_bases, opening, query, references, search, sources, sync
from knowledge.services.opening import OpenedPlace
from knowledge.services.references import Reference
from mnote.principals import Principal
from tests.people import People


@dataclass(frozen=True, slots=True, kw_only=True)
class Vault:
    """A knowledge base over the whole root of `people`, owned by alice."""

    people: People
    kb: KnowledgeBase
    source: Source

    @property
    def folder(self) -> Path:
        return self.people.folder

    @property
    def alice(self) -> Principal:
        return self.people.principal("alice")

    def write(self, path: str, content: str | bytes) -> Path:
        """Write a file as its owner does."""
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        return target

    def sync(self, *, confirmed: bool = False, full: bool = False) -> SyncRun:
        """Look at the folder, without indexing what waits."""
        self.source.root.refresh_from_db()
        source = Source.objects.select_related("kb__workspace", "root").get(id=self.source.id)
        return sync.sync_source(source=source, order=sync.Order(confirmed=confirmed, full=full))

    def level(self) -> SyncRun:
        """Look at the folder and index all that waits."""
        run = self.sync()
        while drain.drain(kb=self.kb, worker="test").more:
            pass
        return run

    def row(self, path: str) -> Document:
        return Document.objects.get(kb=self.kb, source_path=path)

    def states(self) -> dict[str, str]:
        return dict(Document.objects.filter(kb=self.kb).values_list("source_path", "index_status"))

    def search(self, text: str, who: str = "alice") -> list[Reference]:
        """Search as one of the four people."""
        scope = search.Scope(workspace=self.people.workspace)
        return list(search.search(principal=self.people.principal(who), scope=scope, query=text).references)

    def found(self, text: str, who: str = "alice") -> list[str]:
        """Return the paths found."""
        return [reference.document.source_path for reference in self.search(text, who)]

    def ask(self, question: str, who: str = "alice") -> query.QueryResult:
        scope = search.Scope(workspace=self.people.workspace)
        return query.ask(principal=self.people.principal(who), scope=scope, question=question)

    def open(self, reference: Reference, who: str = "alice") -> OpenedPlace:
        token = references.read_token(reference.token)
        return opening.open_citation(principal=self.people.principal(who), token=token)

    def checksums(self) -> dict[str, tuple[str, int]]:
        """Return the digest and time of every file, to prove that nothing in the folder was touched."""
        return {
            str(path.relative_to(self.folder)): (
                hashlib.sha256(path.read_bytes()).hexdigest(),
                path.stat().st_mtime_ns,
            )
            for path in sorted(self.folder.rglob("*"))
            if path.is_file()
        }


def make_vault(people: People) -> Vault:
    alice = people.principal("alice")
    kb = knowledge_bases.create_kb(principal=alice, workspace=people.workspace, root=people.root, name="Notes")
    added = sources.add_sources(principal=alice, kb=kb, root=people.root, paths=[""])
    return Vault(people=people, kb=kb, source=added.sources[0])
