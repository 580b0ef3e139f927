"""Making a knowledge base together with what is in it, in one go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from knowledge.models import IndexStatus, KnowledgeBase, Reader
from knowledge.services import knowledge_bases, registry, sources
from knowledge.services.forecasts import Choice
from knowledge.services.kb_placing import Indexing
from mnote.models import Role, Root, Workspace
from mnote.principals import Principal
from mnote.selectors import access
from mnote.services import audit, jobs

#: Kind of content -> rules its sources begin with.
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "documents": {"max_file_mb": 50},
    "code": {
        "max_file_mb": 5,
        "exclude": ["build/", "dist/", "target/", "vendor/", "*.min.js", "*.min.css", "*.map", "*.lock",
                    "package-lock.json"],
    },
    "scans": {"max_file_mb": 50},
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """The new knowledge base, and picked paths that could not be attached, each with a reason code."""

    kb: KnowledgeBase
    refused: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What somebody wants. `preset` is one of PRESETS; `is_paused` makes it without reading anything yet.
    `provider`, `profile_id`, `parsed_by` and `reading` are as in `kb_placing.Indexing`."""

    name: str
    description: str
    preset: str
    choices: Sequence[Choice]
    is_paused: bool = False
    provider: str = ""
    profile_id: str = ""
    parsed_by: str = Reader.MNOTE
    reading: Mapping[str, Any] = field(default_factory=dict)


@transaction.atomic
def make_kb(*, principal: Principal, workspace: Workspace, root: Root, wish: Wish) -> Made:
    """Make a knowledge base in `root` and attach what was picked; needs manager.

    Raises Invalid, NameTaken, Forbidden; then nothing is made.
    """
    kb = knowledge_bases.create_kb(
        principal=principal,
        workspace=workspace,
        root=root,
        name=wish.name,
        description=wish.description,
        indexing=Indexing(
            provider=wish.provider, profile_id=wish.profile_id, parsed_by=wish.parsed_by, reading=wish.reading
        ),
    )
    if wish.is_paused:
        knowledge_bases.set_paused(principal=principal, kb=kb, paused=True)
    refused: list[tuple[str, str]] = []
    # The inner ones first: a path inside a folder that is attached already would be refused.
    for choice in sorted(wish.choices, key=lambda each: -each.path.count("/")):
        rules = rules_for(wish.preset, choice)
        added = sources.add_sources(principal=principal, kb=kb, root=choice.root, paths=[choice.path], rules=rules)
        refused.extend(added.refused)
    return Made(kb=kb, refused=tuple(refused))


def rules_for(preset: str, choice: Choice) -> dict[str, Any]:
    """Return the rules of a source for something picked: those of the kind of content, without what is left out."""
    rules = dict(PRESETS[preset])
    return rules | {"exclude": [*rules.get("exclude", ()), *choice.exclude]}


def resume(*, principal: Principal, kb: KnowledgeBase) -> None:
    """Let a paused knowledge base go on, with a look at every source: much may have changed. Needs curator."""
    knowledge_bases.set_paused(principal=principal, kb=kb, paused=False)
    sources.sync_now(principal=principal, kb=kb)


@transaction.atomic
def clear(*, principal: Principal, kb: KnowledgeBase) -> int:
    """Take every document out of the index and pause, so that nothing comes back by itself; needs manager. Sources,
    settings and files stay. Returns how many documents leave."""
    access.require_role(principal, kb.workspace, Role.MANAGER)
    knowledge_bases.set_paused(principal=principal, kb=kb, paused=True)
    held = kb.documents.exclude(index_status__in=[IndexStatus.DELETED, IndexStatus.SKIPPED])
    ids = list(held.values_list("id", flat=True))
    for batch in registry.batches(ids):
        jobs.enqueue(
            kind="knowledge.remove_documents",
            payload={"document_ids": batch, "code": "index_cleared"},
            workspace=kb.workspace,
            kb_id=kb.id,
            requested_by=principal.user,
        )
    audit.record(
        principal=principal, action="kb.clear", workspace=kb.workspace, kb_id=kb.id, target=kb.name,
        facts={"count": len(ids)},
    )  # fmt: skip
    return len(ids)
