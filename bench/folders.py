"""Folders and rows to measure on, made on the spot and always the same."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path

from django.utils import timezone

from knowledge import ids
from knowledge.models import Document, IndexStatus, KnowledgeBase
from knowledge.services import knowledge_bases, sources
from knowledge.services.registry import batches, path_fields
from mnote.models import Root, User
from mnote.principals import Principal
from mnote.services import workspaces

_WORDS = (
    "harbour lantern copper winter ledger orchard signal bridge velvet engine granite meadow thread compass candle"
    " river window paper thunder silver market garden"
    " 合同 终止 通知 花园 预算 会议 索引 位置 引用 文件 知识 系统 检索 段落"
).split()


def words(chance: random.Random, count: int) -> str:
    return " ".join(chance.choices(_WORDS, k=count))


def make_notes(folder: Path, count: int, *, paragraphs: int = 3) -> int:
    """Write `count` notes in folders of a hundred; return their bytes."""
    chance = random.Random(count)
    total = 0
    for number in range(count):
        target = folder / "top" / f"{number // 100:03}" / f"note {number:05}.md"
        target.parent.mkdir(parents=True, exist_ok=True)
        body = "\n\n".join(words(chance, 60) for _ in range(paragraphs))
        total += target.write_bytes(f"# Note {number}\n\n{body}\n".encode())
    return total


def make_kb(folder: Path, name: str) -> tuple[Principal, Root, KnowledgeBase]:
    """Return a person, a root on `folder`, and an empty knowledge base with the whole root as its source."""
    owner = User.objects.create_user(username=name)
    workspace = workspaces.create_workspace(name=name, owner=owner)
    root = workspaces.add_root(workspace=workspace, path=bytes(folder), name=name)
    principal = Principal(user=owner)
    kb = knowledge_bases.create_kb(principal=principal, workspace=workspace, root=root, name=name)
    sources.add_sources(principal=principal, kb=kb, root=root, paths=[""])
    return principal, root, kb


def add_rows(kb: KnowledgeBase, root: Root, count: int, *, of: Document) -> None:
    """Add registry rows that look like those of indexed files but have none, numbered after those that are there."""
    source = kb.sources.get()
    first = kb.documents.count()
    now = timezone.now()
    for batch in batches(range(first, first + count)):
        Document.objects.bulk_create(
            Document(
                id=ids.document_id(), kb=kb, workspace=kb.workspace, root=root, source=source, provider=kb.provider,
                provider_kb_id=kb.provider_kb_id, provider_knowledge_id=f"res_none_{number}", title=f"copy {number}",
                index_status=IndexStatus.INDEXED, is_searchable=True, status_since=now, indexed_at=now,
                source_hash=of.source_hash, indexed_hash=of.indexed_hash, size_bytes=number, mtime_ns=number,
                **path_fields(f"copies/{number // 500:04}/copy {number:06}.md"),
            )
            for number in batch
        )  # fmt: skip


def mark_indexed(kb: KnowledgeBase, folder: Path) -> None:
    """Make the rows of a looked-at source as they are after indexing, without indexing."""
    for batch in batches(kb.documents.all()):
        for row in batch:
            digest = hashlib.sha256((folder / row.source_path).read_bytes()).hexdigest()
            row.source_hash = row.indexed_hash = f"sha256:{digest}"
            row.index_status, row.is_searchable = IndexStatus.INDEXED, True
        Document.objects.bulk_update(batch, ["source_hash", "indexed_hash", "index_status", "is_searchable"])
