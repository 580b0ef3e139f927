"""The documents of one knowledge base: filtered, ordered, a page at a time, as one reader sees them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from django.db.models import Count, Q, QuerySet

from knowledge.models import Document, DocumentTag, IndexStatus, KnowledgeBase
from knowledge.querysets import readable_with
from knowledge.selectors.counts import KBCounts, counts_with
from mnote.ids import text_key
from mnote.models import Access, Root
from mnote.principals import Principal
from mnote.selectors import access
from mnote.selectors.access import AccessMap

PAGE_SIZES = (25, 50, 100, 200)
#: What can be sorted by, and the columns behind it. The path decides between equals, so that paging is stable.
SORTS = {
    "name": ("sort_path",),
    "size": ("size_bytes",),
    "changed": ("mtime_ns",),
    "indexed": ("indexed_at",),
    "chunks": ("chunk_count",),
    "type": ("source_type",),
}
#: The states from the one that needs a person most to the one that needs none.
WORST_FIRST = (
    IndexStatus.FAILED, IndexStatus.PARSING, IndexStatus.QUEUED, IndexStatus.STALE, IndexStatus.DELETED,
    IndexStatus.INDEXED, IndexStatus.SKIPPED,
)  # fmt: skip
_MANY = 10_000
#: How far from its noted place in the list a document is looked for.
_NEARBY = 100
_FACETS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What to list. Empty values do not narrow. `path` is a folder below `root_key`; without other filters only its
    direct children are listed, with them everything below it. `is_browsing` says that a folder is looked into even
    where `path` is "", the root's own; `is_deep` includes its sub-folders. `ids` are document ids."""

    query: str = ""
    statuses: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    source_id: str = ""
    root_key: str = ""
    path: str = ""
    is_browsing: bool = False
    is_deep: bool = False
    changed_after: datetime | None = None
    indexed_after: datetime | None = None
    sort: str = ""
    descending: bool = False
    page: int = 1
    size: int = 50

    @property
    def narrows(self) -> bool:
        """Say whether anything but the folder narrows the list: then it is flat and includes sub-folders."""
        return bool(
            self.query or self.statuses or self.types or self.tags or self.ids or self.source_id
            or self.changed_after or self.indexed_after or self.is_deep
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPage:
    """One page. `total` counts all that match, up to `_MANY` beyond which `is_many` says that there are more."""

    rows: tuple[Document, ...]
    total: int
    is_many: bool
    page: int
    size: int
    counts: KBCounts

    @property
    def first(self) -> int:
        return (self.page - 1) * self.size + 1 if self.rows else 0

    @property
    def last(self) -> int:
        return self.first + len(self.rows) - 1 if self.rows else 0

    @property
    def has_next(self) -> bool:
        return self.is_many or self.last < self.total


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """The documents before and after one in a list; "" at its ends. `position` counts from 1."""

    previous_id: str
    next_id: str
    position: int


class DocumentReader:
    """Reads the documents of one knowledge base for one caller; what may be seen is looked up once."""

    def __init__(self, principal: Principal, kb: KnowledgeBase) -> None:
        self.principal = principal
        self.kb = kb

    @cached_property
    def roots(self) -> list[Root]:
        """The roots of the workspace."""
        return list(Root.objects.filter(workspace=self.kb.workspace_id).order_by("pk"))

    @cached_property
    def maps(self) -> dict[int, AccessMap]:
        """What the caller may do below each of them, by primary key."""
        return access.access_maps(self.principal, self.roots)

    @cached_property
    def counts(self) -> KBCounts:
        return counts_with(self.maps, self.principal, self.kb)

    @property
    def readable(self) -> QuerySet[Document]:
        return readable_with(self.maps, self.principal, self.kb)

    def page(self, filters: Filters) -> DocumentPage:
        """Return one page of a list."""
        matching = self.matching(filters)
        start, stop = (filters.page - 1) * filters.size, filters.page * filters.size
        total, is_many = _total(matching, filters, self.counts)
        return DocumentPage(
            rows=tuple(_ordered(matching, filters, self.counts, start, stop)),
            total=total,
            is_many=is_many,
            page=filters.page,
            size=filters.size,
            counts=self.counts,
        )

    def count(self, filters: Filters) -> int:
        """Count what a list holds, up to `_MANY`, without reading it."""
        return _total(self.matching(filters), filters, self.counts)[0]

    def matching(self, filters: Filters) -> QuerySet[Document]:
        """Select what the filters let through. Removed rows show only when asked for by state."""
        rows = self.readable
        if filters.statuses:
            rows = rows.filter(index_status__in=filters.statuses)
        else:
            rows = rows.exclude(index_status=IndexStatus.DELETED, deleted_at__isnull=False)
        if filters.types:
            rows = rows.filter(source_type__in=filters.types)
        if filters.tags:
            rows = rows.filter(pk__in=DocumentTag.objects.filter(name__in=filters.tags).values("document_id"))
        if filters.source_id:
            rows = rows.filter(source_id=filters.source_id)
        if filters.ids:
            rows = rows.filter(pk__in=filters.ids)
        if filters.indexed_after:
            rows = rows.filter(indexed_at__gte=filters.indexed_after)
        if filters.changed_after:
            rows = rows.filter(mtime_ns__gte=int(filters.changed_after.timestamp() * 1_000_000_000))
        if filters.root_key:
            rows = rows.filter(root_id__in=[root.pk for root in self.roots if root.key == filters.root_key])
        return rows.filter(_in_folder(filters), _named(filters.query))

    def neighbours(self, filters: Filters, *, document_id: str, position: int) -> Neighbours | None:
        """Return what stands before and after a document in a list, given where it stood (from 1) when that was shown.

        None when it is no longer near there: its state has changed, or it left the filter.
        """
        start = max(0, position - 1 - _NEARBY)
        rows = self.matching(filters).only("pk", "index_status", "sort_path")
        ids = [row.pk for row in _ordered(rows, filters, self.counts, start, position + _NEARBY)]
        if document_id not in ids:
            return None
        at = ids.index(document_id)
        return Neighbours(
            previous_id=ids[at - 1] if at else "",
            next_id=ids[at + 1] if at + 1 < len(ids) else "",
            position=start + at + 1,
        )

    def types(self) -> list[tuple[str, int]]:
        """Return the types of file that occur, and how often; the most frequent first."""
        rows = self.readable.exclude(source_type="").exclude(index_status=IndexStatus.DELETED)
        counted = rows.order_by().values_list("source_type").annotate(n=Count("pk")).order_by("-n", "source_type")
        return list(counted[:_FACETS])

    def tags(self) -> list[tuple[str, int]]:
        """Return the tags that occur, and how often, in the order of the alphabet."""
        readable = self.readable.exclude(index_status=IndexStatus.DELETED)
        rows = DocumentTag.objects.filter(document__kb=self.kb, document__in=readable.values("pk"))
        return list(rows.values_list("name").annotate(n=Count("pk")).order_by("name")[:_FACETS])


def page_of(principal: Principal, kb: KnowledgeBase, filters: Filters) -> DocumentPage:
    """Return one page of documents."""
    return DocumentReader(principal, kb).page(filters)


def matching_documents(principal: Principal, kb: KnowledgeBase, filters: Filters) -> QuerySet[Document]:
    """Select what the filters let through, readable rows only. Removed rows show only when asked for by state."""
    return DocumentReader(principal, kb).matching(filters).select_related("root", "source")


def _in_folder(filters: Filters) -> Q:
    if filters.is_browsing and not filters.narrows:
        return Q(parent_key=text_key(filters.path))
    if not filters.path:
        return Q()
    if filters.narrows:
        return AccessMap(rules={filters.path: Access.READ}).filter_q("source_path")
    return Q(parent_key=text_key(filters.path))


def _named(query: str) -> Q:
    query = query.strip()
    if not query:
        return Q()
    if "*" in query or "?" in query:
        return Q(source_path__iregex=rf"(^|/){_regex_of(query)}$")
    return Q(source_path__icontains=query) | Q(title__icontains=query)


def _regex_of(pattern: str) -> str:
    """Return a regular expression that both databases read: Python's own translation is for Python alone."""
    pieces = re.split(r"(\*+|\?)", pattern)
    return "".join(".*" if piece[:1] == "*" else "." if piece == "?" else re.escape(piece) for piece in pieces)


def _total(rows: QuerySet[Document], filters: Filters, counts: KBCounts) -> tuple[int, bool]:
    """Take the total from the kept counters where they know it; else count, but never beyond `_MANY`."""
    only_status = filters.statuses and not (
        filters.query or filters.types or filters.tags or filters.ids or filters.source_id or filters.changed_after
        or filters.indexed_after or filters.path or filters.root_key
    )  # fmt: skip
    if only_status and IndexStatus.DELETED not in filters.statuses:
        return sum(counts.of(status) for status in filters.statuses), False
    found = rows.order_by()[: _MANY + 1].count()
    return min(found, _MANY), found > _MANY


def _ordered(rows: QuerySet[Document], filters: Filters, counts: KBCounts, start: int, stop: int) -> Iterator[Document]:
    if filters.sort in SORTS:
        sign = "-" if filters.descending else ""
        columns = [f"{sign}{column}" for column in SORTS[filters.sort]]
        yield from rows.order_by(*columns, "sort_path", "id")[start:stop]
    elif filters.sort == "status" or (not filters.sort and (counts.active or counts.needs_attention)):
        yield from _by_status(rows, counts, start, stop, reverse=filters.descending)
    else:
        yield from rows.order_by("sort_path", "id")[start:stop]


def _by_status(
    rows: QuerySet[Document], counts: KBCounts, start: int, stop: int, *, reverse: bool
) -> Iterator[Document]:
    """Walk the states in order and each state in path order: every step follows an index, none sorts."""
    for status in reversed(WORST_FIRST) if reverse else WORST_FIRST:
        if stop <= 0:
            return
        if not counts.of(status):
            continue
        part = rows.filter(index_status=status)
        found = list(part.order_by("sort_path", "id")[max(0, start) : stop])
        yield from found
        passed = part.order_by().count() if start > 0 and not found else max(0, start) + len(found)
        start, stop = start - passed, stop - passed
