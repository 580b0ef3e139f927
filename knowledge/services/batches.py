"""Doing one thing to many documents: read again, stop, retry, tag, take out. What cannot have it done is passed over
and counted, never an error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from knowledge.models import Document, DocumentTag, IndexStatus, KnowledgeBase, ProviderKind
from knowledge.reasons import reason_for
from knowledge.selectors.document_lists import Filters, matching_documents
from knowledge.services import (
    documents,
    provider_outages,
    provider_tags,
    registry,
    revisions,
    stopping,
    withdrawing,
)
from mnote.exceptions import Invalid
from mnote.models import Job, Role
from mnote.principals import Principal
from mnote.selectors import access
from mnote.services import audit, jobs

_BATCH = 500
_EXAMPLES = 100
_MOMENTS = ("changed_after", "indexed_after")
#: A batch of more documents than this is worked through in the background.
MANY = 2000
TAG_MAX, TAGS_MAX = 80, 50


class Action(StrEnum):
    REINDEX = "reindex"
    STOP = "stop"
    RETRY = "retry"
    EXCLUDE = "exclude"
    TAGS = "tags"


_ALIVE = frozenset(IndexStatus) - {IndexStatus.DELETED, IndexStatus.SKIPPED}
_ACTIVE = frozenset({IndexStatus.QUEUED, IndexStatus.PARSING})
#: In which states a document can have it done.
FITTING: Mapping[Action, frozenset[IndexStatus]] = {
    Action.REINDEX: _ALIVE - _ACTIVE,
    Action.STOP: _ACTIVE,
    Action.RETRY: frozenset({IndexStatus.FAILED}),
    Action.EXCLUDE: frozenset(IndexStatus) - {IndexStatus.DELETED},
    Action.TAGS: _ALIVE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which documents are meant: those of `ids`, or all that `filters` lets through except `left_out`. Filters are
    applied again whenever the selection is used: it means what matches then."""

    filters: Filters
    ids: tuple[str, ...] = ()
    is_all: bool = False
    left_out: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return plain values that `from_json` reads, for the payload of a job."""
        filters = asdict(self.filters)
        moments = {name: filters[name] and filters[name].isoformat() for name in _MOMENTS}
        return {**asdict(self), "filters": filters | moments}

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Selection:
        filters: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in given["filters"].items()
        }
        moments = {name: datetime.fromisoformat(filters[name]) if filters[name] else None for name in _MOMENTS}
        return cls(
            filters=Filters(**(filters | moments)),
            ids=tuple(given["ids"]),
            is_all=given["is_all"],
            left_out=tuple(given["left_out"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What a batch would do: how many documents fit, and how many are passed over, by their state."""

    fitting: int
    passed_over: Mapping[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return self.fitting + sum(self.passed_over.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What a batch did: documents it was done to, and ids of some that were passed over, of so many in all."""

    count: int
    passed_over: int = 0
    examples: tuple[str, ...] = ()


def chosen(principal: Principal, kb: KnowledgeBase, selection: Selection) -> QuerySet[Document]:
    """Select the documents that are meant now, readable ones only."""
    if selection.is_all:
        return matching_documents(principal, kb, selection.filters).exclude(pk__in=selection.left_out).order_by()
    return matching_documents(principal, kb, Filters(ids=selection.ids or ("",))).order_by()


def preview(*, principal: Principal, kb: KnowledgeBase, selection: Selection, action: Action) -> Preview:
    """Count what `run` would do; needs curator."""
    access.require_role(principal, kb.workspace, Role.CURATOR)
    states = Counter(chosen(principal, kb, selection).values_list("index_status", flat=True).iterator())
    fitting = sum(count for status, count in states.items() if status in FITTING[action])
    return Preview(fitting=fitting, passed_over={s: n for s, n in states.items() if s not in FITTING[action]})


def run(*, principal: Principal, kb: KnowledgeBase, selection: Selection, action: Action) -> Done:
    """Do it; needs curator. Tags have a function of their own."""
    access.require_role(principal, kb.workspace, Role.CURATOR)
    ids, passed_over = _split(principal, kb, selection, action)
    act = _ACTS[action]
    count = sum(act(principal, kb, batch) for batch in registry.batches(ids, _BATCH))
    if count and action is not Action.EXCLUDE:  # taking out notes every document by itself
        audit.record(
            principal=principal, action=f"source.{action}", workspace=kb.workspace, kb_id=kb.id, target=kb.name,
            facts={"count": count},
        )  # fmt: skip
    if action in (Action.REINDEX, Action.RETRY) and count:
        registry.request_work(kb)
    return Done(count=count, passed_over=len(passed_over), examples=tuple(passed_over[:_EXAMPLES]))


def run_later(*, principal: Principal, kb: KnowledgeBase, selection: Selection, action: Action) -> Job:
    """Do it in the background, to what is meant when its turn comes; needs curator now and then."""
    access.require_role(principal, kb.workspace, Role.CURATOR)
    return jobs.enqueue(
        kind="knowledge.batch",
        payload={"kb_id": kb.id, "action": action.value, "selection": selection.to_json()},
        workspace=kb.workspace,
        kb_id=kb.id,
        requested_by=principal.user,
    )


def tags_in(principal: Principal, kb: KnowledgeBase, selection: Selection) -> dict[str, int]:
    """Return the tags of the documents that are meant, and how many of them have each."""
    wanted = chosen(principal, kb, selection).values("pk")
    return dict(
        Counter(DocumentTag.objects.filter(document__in=wanted).order_by("name").values_list("name", flat=True))
    )


def change_tags(
    *, principal: Principal, kb: KnowledgeBase, selection: Selection, add: Iterable[str], remove: Iterable[str]
) -> Done:
    """Add and remove tags, leaving the others as they are; needs curator. Raises Invalid for a tag that is too long."""
    access.require_role(principal, kb.workspace, Role.CURATOR)
    added, removed = clean_tags(add), clean_tags(remove)
    ids, passed_over = _split(principal, kb, selection, Action.TAGS)
    count = sum(_tag(kb, batch, added, removed) for batch in registry.batches(ids, _BATCH))
    if count:
        audit.record(
            principal=principal, action="source.tags", workspace=kb.workspace, kb_id=kb.id, target=kb.name,
            facts={"count": count, "added": added, "removed": removed},
        )  # fmt: skip
    return Done(count=count, passed_over=len(passed_over), examples=tuple(passed_over[:_EXAMPLES]))


def clean_tags(given: Iterable[str]) -> list[str]:
    """Trim tags and drop blanks and repeats. Raises Invalid."""
    tags = list(dict.fromkeys(tag for tag in (" ".join(each.split()) for each in given) if tag))
    if len(tags) > TAGS_MAX or any(len(tag) > TAG_MAX or "\0" in tag for tag in tags):
        raise Invalid
    return tags


def _split(
    principal: Principal, kb: KnowledgeBase, selection: Selection, action: Action
) -> tuple[list[str], list[str]]:
    """Return the ids that fit, in path order, and those that are passed over."""
    rows = chosen(principal, kb, selection).order_by("sort_path", "id").values_list("pk", "index_status")
    fitting: list[str] = []
    passed_over: list[str] = []
    for pk, status in rows.iterator():
        (fitting if status in FITTING[action] else passed_over).append(pk)
    return fitting, passed_over


def _requeue(_principal: Principal, kb: KnowledgeBase, ids: Sequence[str]) -> int:
    return _write(
        kb, ids, FITTING[Action.REINDEX], index_status=IndexStatus.QUEUED, reason_class="", reason_code="", attempts=0,
        is_to_reparse=kb.provider != ProviderKind.LOCAL,
    )  # fmt: skip


def _retry(_principal: Principal, kb: KnowledgeBase, ids: Sequence[str]) -> int:
    provider_outages.ask_again([kb])
    return _write(
        kb, ids, FITTING[Action.RETRY], index_status=IndexStatus.QUEUED, reason_class="", reason_code="", attempts=0
    )


def _stop(principal: Principal, kb: KnowledgeBase, ids: Sequence[str]) -> int:
    stopped = _write(
        kb, ids, FITTING[Action.STOP], index_status=IndexStatus.FAILED, reason_code="stopped",
        reason_class=reason_for("stopped").reason_class, reason_detail=principal.user.shown_name[:500],
    )  # fmt: skip
    held = Document.objects.filter(pk__in=ids, index_status=IndexStatus.FAILED).exclude(pending_knowledge_id="")
    stopping.withdraw(kb=kb, stopped=list(held))
    return stopped


def _exclude(principal: Principal, _kb: KnowledgeBase, ids: Sequence[str]) -> int:
    rows = list(Document.objects.filter(pk__in=ids).select_related("kb__workspace", "root", "source"))
    withdrawing.withdraw(principal=principal, rows=rows)
    return len(rows)


def _write(kb: KnowledgeBase, ids: Sequence[str], fitting: frozenset[IndexStatus], **changes: Any) -> int:
    """Write the same state into many rows. Taking the revisions first locks out every other writer of documents, so
    what is read after it still stands when it is written."""
    now = timezone.now()
    state = {"reason_detail": "", "status_since": now, "next_try_at": None, "lease_expires_at": None, "worker": "",
             "updated_at": now, **changes}  # fmt: skip
    with transaction.atomic():
        rev = revisions.take(kb.workspace_id, len(ids))
        rows = list(
            Document.objects.filter(pk__in=ids, index_status__in=fitting).only("pk").order_by("sort_path", "id")
        )
        for number, row in enumerate(rows):
            row.rev = rev + number
        Document.objects.bulk_update(rows, ["rev"])
        return Document.objects.filter(pk__in=[row.pk for row in rows]).update(**state)


def _tag(kb: KnowledgeBase, ids: Sequence[str], added: Sequence[str], removed: Sequence[str]) -> int:
    """Change the tags of one batch; return how many documents have other tags now."""
    with transaction.atomic():
        rows = list(Document.objects.filter(pk__in=ids).only("pk", "workspace_id", "tags_json"))
        changed = [(row, _merged(row.tags_json, added, removed)) for row in rows]
        changed = [(row, tags) for row, tags in changed if tags != row.tags_json]
        touched = [row.pk for row, _ in changed]
        DocumentTag.objects.filter(document__in=touched, name__in=removed).delete()
        DocumentTag.objects.bulk_create(
            [DocumentTag(document_id=pk, name=name) for pk in touched for name in added], ignore_conflicts=True
        )
        for row, tags in changed:
            documents.update(document=row, tags_json=tags)
        if provider_tags.wish_for(kb=kb, document_ids=touched):
            registry.request_work(kb)
    return len(changed)


def _merged(present: Sequence[str], added: Sequence[str], removed: Sequence[str]) -> list[str]:
    return [*dict.fromkeys([*(tag for tag in present if tag not in removed), *added])][:TAGS_MAX]


_ACTS: Mapping[Action, Callable[[Principal, KnowledgeBase, Sequence[str]], int]] = {
    Action.REINDEX: _requeue,
    Action.RETRY: _retry,
    Action.STOP: _stop,
    Action.EXCLUDE: _exclude,
}
