"""What else is known of one document: its equals, and the steps of its processing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from knowledge.models import Document, DocumentEvent, IndexStatus
from knowledge.querysets import readable_documents
from mnote.principals import Principal

_EQUALS = 20
_EVENTS = 200
#: Runs that are shown.
_RUNS = 10
_LAST_STAGES = frozenset({"indexing", "failed"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One attempt to read a document: its steps in the order in which they ended."""

    events: Sequence[DocumentEvent]

    @property
    def started_at(self) -> datetime:
        return min(event.started_at for event in self.events)

    @property
    def finished_at(self) -> datetime:
        return max(event.finished_at or event.started_at for event in self.events)

    @property
    def failure_code(self) -> str:
        """Why it failed, "" when it did not."""
        return next((str(event.facts.get("code", "")) for event in self.events if event.stage == "failed"), "")

    @property
    def is_complete(self) -> bool:
        return bool(self.events) and self.events[-1].stage in _LAST_STAGES


def equals_of(principal: Principal, document: Document) -> list[Document]:
    """Return other readable documents of the workspace with the same content, those of the same base first."""
    if not document.source_hash:
        return []
    rows = readable_documents(principal, document.workspace).filter(source_hash=document.source_hash)
    others = rows.exclude(pk=document.pk).exclude(index_status__in=[IndexStatus.DELETED, IndexStatus.SKIPPED])
    found = list(others.select_related("kb", "root").order_by("sort_path", "id")[:_EQUALS])
    return sorted(found, key=lambda row: row.kb_id != document.kb_id)


def runs_of(document: Document) -> list[Run]:
    """Return the last attempts to read a document, newest first. A reading begins one, its end or failure closes it."""
    newest = list(document.events.order_by("-finished_at", "-pk")[:_EVENTS])
    runs: list[list[DocumentEvent]] = []
    for event in reversed(newest):
        is_over = not runs or Run(events=runs[-1]).is_complete
        if is_over or event.stage == "reading":
            runs.append([event])
        else:
            runs[-1].append(event)
    return [Run(events=events) for events in reversed(runs)][:_RUNS]
