"""The state of a document list as its address holds it: filters, order, folder, page. Defaults are left out."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict
from django.urls import reverse
from django.utils import timezone

from knowledge.file_words import TYPE_WORDS
from knowledge.models import IndexStatus, KnowledgeBase
from knowledge.selectors.document_lists import PAGE_SIZES, SORTS, Filters
from knowledge.selectors.kb_folders import Place
from knowledge.views.choosing import number_of

SIZE = 50
#: Spans that can be asked for, in days; 1 is today.
DAYS = (1, 7, 30)
#: Documents that an address can name one by one.
_MAX_IDS = 100
_MAX_WORDS = 200


class ListState:
    """What a list of one knowledge base shows. `params` are its address' parts, in a fixed order."""

    def __init__(self, kb: KnowledgeBase, query: QueryDict, places: list[Place]) -> None:
        self._kb = kb
        self.places = places
        self.params = _clean(query)
        self.place = self._place()
        self.filters = self._filters()

    @property
    def page(self) -> int:
        return self.filters.page

    @property
    def is_browsing(self) -> bool:
        """Whether one folder is looked into, and not everything below it."""
        return self.filters.is_browsing and not self.filters.narrows

    @property
    def is_at_top(self) -> bool:
        """Whether the beginnings of several roots are what there is to choose from."""
        return self.place is None

    @property
    def folder(self) -> str:
        """The folder looked at, below the root of `place`."""
        return self.params.get("path") or (self.place.path if self.place else "")

    def url(self, **changes: Any) -> str:
        """The address of this list with some parts changed; it starts at the first page unless that is one of them."""
        return address(reverse("knowledge:kb-detail", args=[self._kb.pk]), self.query(**changes))

    def query(self, **changes: Any) -> str:
        """The same as a query string."""
        return urlencode(self.parts(**changes), doseq=True)

    def parts(self, **changes: Any) -> dict[str, Any]:
        known = {name: value for name, value in self.params.items() if name != "page"}
        merged = known | {name: value for name, value in changes.items() if value is not None}
        return {name: merged[name] for name in _ORDER if merged.get(name)}

    def fields(self) -> list[tuple[str, str]]:
        """The same as names and values of a form's fields."""
        return [
            (name, each)
            for name, value in self.parts().items()
            for each in (value if isinstance(value, list) else [value])
        ]

    def folder_url(self, place: Place, path: str) -> str:
        """The address of a folder, without filters."""
        root = place.root.key if len(self.places) > 1 else ""
        kept = {name: self.params[name] for name in ("sort", "dir", "size") if self.params.get(name)}
        parts = {"root": root, "path": path if path != place.path else "", **kept}
        query = urlencode({name: value for name, value in parts.items() if value})
        return address(reverse("knowledge:kb-detail", args=[self._kb.pk]), query)

    def _place(self) -> Place | None:
        named = self.params.get("root")
        if named:
            return next((place for place in self.places if place.root.key == named), None)
        return self.places[0] if len(self.places) == 1 else None

    def _filters(self) -> Filters:
        params = self.params
        filters = Filters(
            query=params.get("q", ""),
            statuses=tuple(params.get("status", "").split(",")) if params.get("status") else (),
            types=tuple(params.get("type", "").split(",")) if params.get("type") else (),
            tags=tuple(params.get("tag", ())),
            ids=tuple(params.get("doc", ())),
            source_id=params.get("source", ""),
            changed_after=_days_ago(params.get("changed")),
            indexed_after=_days_ago(params.get("indexed")),
            is_deep=params.get("deep") == "1",
            sort=params.get("sort", ""),
            descending=params.get("dir") == "desc",
            page=int(params.get("page", 1)),
            size=int(params.get("size", SIZE)),
        )
        if not filters.narrows:
            return replace(filters, is_browsing=True, root_key=self._root_key, path=self.folder)
        if params.get("path") or params.get("root"):
            return replace(filters, root_key=self._root_key, path=self.folder)
        return filters

    @property
    def _root_key(self) -> str:
        """The root to narrow to; none where there is only one, so that the database has less to think about."""
        return self.place.root.key if self.place and len(self.places) > 1 else ""


def address(path: str, query: str) -> str:
    return f"{path}?{query}" if query else path


_ORDER = (
    "root", "path", "deep", "q", "status", "type", "tag", "source", "changed", "indexed", "doc", "sort", "dir", "size",
    "page",
)  # fmt: skip


def _clean(query: QueryDict) -> dict[str, Any]:
    """Take over what can be used; anything else is as if it were not there. `toggle` changes one state filter."""
    found: dict[str, Any] = {
        "root": _text(query, "root"),
        "path": _text(query, "path", limit=16384).strip("/"),
        "deep": "1" if query.get("deep") == "1" else "",
        "q": _text(query, "q", limit=_MAX_WORDS).strip(),
        "status": ",".join(_statuses(query)),
        "type": ",".join(_several(query, "type", set(TYPE_WORDS))),
        "tag": _texts(query, "tag"),
        "source": _text(query, "source"),
        "changed": _day(query, "changed"),
        "indexed": _day(query, "indexed"),
        "doc": _texts(query, "doc")[:_MAX_IDS],
        "sort": query.get("sort", "") if query.get("sort") in {*SORTS, "status"} else "",
        "dir": "desc" if query.get("dir") == "desc" else "",
        "size": str(size) if (size := number_of(query, "size")) in PAGE_SIZES and size != SIZE else "",
        "page": str(page) if (page := number_of(query, "page") or 1) > 1 else "",
    }
    return {name: value for name, value in found.items() if value}


def _statuses(query: QueryDict) -> list[str]:
    known = _several(query, "status", set(IndexStatus.values))
    toggled = query.get("toggle", "")
    if toggled in known:
        return [status for status in known if status != toggled]
    return [*known, toggled] if toggled in IndexStatus.values else known


def _several(query: QueryDict, name: str, allowed: set[str]) -> list[str]:
    """Values that may be repeated or joined by commas."""
    given = [part for value in query.getlist(name) for part in value.split(",")]
    return [value for value in dict.fromkeys(given) if value in allowed]


def _text(query: QueryDict, name: str, *, limit: int = 100) -> str:
    value = query.get(name, "")[:limit]
    return "" if "\0" in value else value


def _texts(query: QueryDict, name: str) -> list[str]:
    return [value[:100] for value in dict.fromkeys(query.getlist(name)) if value and "\0" not in value]


def _day(query: QueryDict, name: str) -> str:
    return str(days) if (days := number_of(query, name)) in DAYS else ""


def _days_ago(days: str | None) -> datetime | None:
    if not days:
        return None
    now = timezone.localtime()
    if days == "1":
        return now.replace(hour=0, minute=0, second=0, microsecond=0)
    return now - timedelta(days=int(days))
