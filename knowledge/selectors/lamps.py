"""Lamps of the file tree: the state of each file and folder over all knowledge bases that the caller may see."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import cast

from django.core.cache import cache
from django.db.models import Count, F, Q, QuerySet, Value
from django.db.models.functions import Left, StrIndex, Substr
from django.db.models.lookups import Exact

from knowledge.models import Document, IndexStatus, RevisionCounter
from knowledge.querysets import visible_kbs
from mnote.ids import text_key
from mnote.models import Root
from mnote.principals import Principal
from mnote.selectors.access import access_map

#: From worst to best: what a folder, or a file in several knowledge bases, is shown as.
ORDER = (
    IndexStatus.FAILED,
    IndexStatus.PARSING,
    IndexStatus.QUEUED,
    IndexStatus.STALE,
    IndexStatus.DELETED,
    IndexStatus.INDEXED,
    IndexStatus.SKIPPED,
)
#: A condition with one value for each name of a folder stays below the limits of the databases.
_MAX_NAMES = 500
_KEPT_SECONDS = 60
_MANY = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class KbState:
    """A file as one knowledge base sees it."""

    kb_id: str
    kb_name: str
    document_id: str
    status: IndexStatus
    since: datetime
    reason_code: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLamp:
    """A file that is in at least one knowledge base: its worst state, and all of them. `rev` is its last change."""

    path: str
    status: IndexStatus
    states: tuple[KbState, ...]
    rev: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderLamp:
    """A folder that holds such files, at any depth: its worst state, and how many are in each."""

    path: str
    status: IndexStatus
    counts: Mapping[IndexStatus, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return sum(self.counts.values())


def worst(statuses: Iterable[IndexStatus | str]) -> IndexStatus:
    """Return the state that stands for several. Raises ValueError for none."""
    return min((IndexStatus(each) for each in statuses), key=ORDER.index)


def folder_lamps(principal: Principal, root: Root, prefix: str = "") -> dict[str, FolderLamp]:
    """Return, by path, the lamps of the folders directly in `prefix`."""
    return LampReader(principal, root).folders(prefix)


def file_lamps(principal: Principal, root: Root, prefix: str = "") -> dict[str, FileLamp]:
    """Return, by path, the lamps of the files directly in the folder `prefix`."""
    return LampReader(principal, root).files(prefix)


def lamps_below(principal: Principal, root: Root, prefix: str = "", *, since: int = 0) -> dict[str, FileLamp]:
    """Return, by path, the lamps of all files below `prefix`, or only of those that changed after revision `since`."""
    return LampReader(principal, root).below(prefix, since=since)


def file_lamp(principal: Principal, root: Root, path: str) -> FileLamp | None:
    """Return the lamp of one file, None when it is in no knowledge base."""
    return LampReader(principal, root).file(path)


class LampReader:
    """Reads lamps of one root for one caller; what may be seen is looked up once."""

    def __init__(self, principal: Principal, root: Root) -> None:
        self._root = root
        # The ids are fetched first: as a part of the query they would be looked up again for every document.
        self._kb_ids = tuple(visible_kbs(principal, root.workspace).order_by("pk").values_list("pk", flat=True))
        self._access = access_map(principal, root)

    @property
    def documents(self) -> QuerySet[Document]:
        return Document.objects.filter(self._access.filter_q(), kb__in=self._kb_ids, root=self._root)

    @cached_property
    def is_many(self) -> bool:
        """Whether counting all documents takes so long that a page should not wait for it."""
        return self.documents[_MANY : _MANY + 1].exists()

    def folders(self, prefix: str = "") -> dict[str, FolderLamp]:
        """One query over all documents below `prefix`, kept until a document of the workspace changes or the caller's
        rights do."""
        key = self._cache_key(f"folders/{prefix}")
        known: dict[str, FolderLamp] | None = cache.get(key)
        if known is None:
            known = count_folders(self.documents, prefix)
            cache.set(key, known, _KEPT_SECONDS)
        return known

    def folder(self, path: str) -> FolderLamp | None:
        """The lamp of one folder (`""` is the root), None when nothing in it belongs to a knowledge base."""
        rows = self.documents.filter(_below(path)).values_list("index_status").annotate(count=Count("pk"))
        counts = {IndexStatus(status): count for status, count in rows.order_by("index_status")}
        return _folder_lamp(path, counts) if counts else None

    def files(self, prefix: str = "", *, names: Collection[str] | None = None) -> dict[str, FileLamp]:
        """The lamps of the files directly in `prefix`, or only of those called `names`."""
        rows = self.documents.filter(parent_key=text_key(prefix))
        if names is not None and len(names) <= _MAX_NAMES:
            folder = f"{prefix}/" if prefix else ""
            rows = rows.filter(path_key__in=[text_key(folder + name) for name in names])
        return _by_path(rows)

    def file(self, path: str) -> FileLamp | None:
        return _by_path(self.documents.filter(path_key=text_key(path))).get(path)

    def below(self, prefix: str = "", *, since: int = 0) -> dict[str, FileLamp]:
        return _by_path(self.documents.filter(_below(prefix), rev__gt=since))

    def _cache_key(self, what: str) -> str:
        workspace_id = self._root.workspace_id
        rev = RevisionCounter.objects.filter(workspace_id=workspace_id).values_list("value", flat=True).first()
        rights = [self._access.default, *sorted(self._access.rules.items())]
        return f"lamps:{text_key(repr((self._root.pk, rev, self._kb_ids, rights, what)))}"


def count_folders(documents: QuerySet[Document], prefix: str) -> dict[str, FolderLamp]:
    """Return, by path, the lamps of the folders directly in `prefix`, counted over `documents` of one root."""
    start = len(prefix) + 2 if prefix else 1
    rows = (
        documents.filter(_below(prefix))
        .annotate(_rest=Substr("source_path", start))
        .annotate(_slash=StrIndex("_rest", Value("/")))
        .filter(_slash__gt=0)
        .annotate(_child=Substr("_rest", 1, F("_slash") - 1))
        .values_list("_child", "index_status")
        .annotate(count=Count("pk"))
        .order_by("_child")
    )
    counts: defaultdict[str, dict[IndexStatus, int]] = defaultdict(dict)
    for child, status, count in rows:
        counts[child][IndexStatus(status)] = count
    folder = f"{prefix}/" if prefix else ""
    return {folder + child: _folder_lamp(folder + child, found) for child, found in counts.items()}


def _below(prefix: str) -> Q:
    """Rows below a folder. LIKE would ignore case on SQLite."""
    if not prefix:
        return Q()
    folder = f"{prefix}/"
    return Q(cast("Q", Exact(Left("source_path", len(folder)), Value(folder))))


def _by_path(rows: QuerySet[Document]) -> dict[str, FileLamp]:
    states: defaultdict[str, list[KbState]] = defaultdict(list)
    revisions: defaultdict[str, int] = defaultdict(int)
    columns = ("source_path", "kb_id", "kb__name", "pk", "index_status", "status_since", "reason_code", "rev")
    for path, kb_id, kb_name, pk, status, since, reason_code, rev in rows.order_by("kb__name", "kb_id").values_list(
        *columns
    ):
        states[path].append(
            KbState(
                kb_id=kb_id,
                kb_name=kb_name,
                document_id=pk,
                status=IndexStatus(status),
                since=since,
                reason_code=reason_code,
            )
        )
        revisions[path] = max(revisions[path], rev)
    return {
        path: FileLamp(path=path, status=worst(each.status for each in found), states=tuple(found), rev=revisions[path])
        for path, found in states.items()
    }


def _folder_lamp(path: str, counts: Mapping[IndexStatus, int]) -> FolderLamp:
    ordered = {status: counts[status] for status in ORDER if counts.get(status)}
    return FolderLamp(path=path, status=worst(ordered), counts=ordered)
