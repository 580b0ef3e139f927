"""What the documents tab of a knowledge base shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from knowledge.file_words import TYPE_WORDS, type_word
from knowledge.models import Document, Source
from knowledge.selectors.document_lists import DocumentPage
from knowledge.selectors.kb_folders import Folder, Place, places_of, sub_folders
from knowledge.views.document_words import StateView, state_of
from knowledge.views.files_page import LampView
from knowledge.views.kb_frame import KBFrame
from knowledge.views.lamp_words import counts_words
from knowledge.views.list_state import ListState, address
from mnote.ids import text_key
from mnote.templatetags.mnote_ui import lamp_word

_COLUMNS: tuple[tuple[str, Promise, str], ...] = (
    ("status", pgettext_lazy("column", "Status"), ""),
    ("name", pgettext_lazy("column", "Name"), ""),
    ("type", pgettext_lazy("column", "Type"), "wide-3"),
    ("size", pgettext_lazy("column", "Size"), "r"),
    ("changed", gettext_lazy("File changed"), "wide-1"),
    ("indexed", pgettext_lazy("column", "Indexed"), "wide-2"),
    ("chunks", pgettext_lazy("column", "Chunks"), "r wide-3"),
)
#: Columns whose first order is from the top down.
_TOP_DOWN = frozenset({"size", "changed", "indexed", "chunks"})
_DAY_WORDS = {
    "1": (gettext_lazy("changed today"), gettext_lazy("indexed today")),
    "7": (gettext_lazy("changed in the last 7 days"), gettext_lazy("indexed in the last 7 days")),
    "30": (gettext_lazy("changed in the last 30 days"), gettext_lazy("indexed in the last 30 days")),
}
_TAGS_SHOWN = 2
#: With more documents than this the folders are counted after the page is there.
_MANY = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One document of the list. `url` opens it and knows where in the list it stood; `menu_url` brings its actions."""

    document: Document
    state: StateView
    name: str
    url: str
    menu_url: str
    folder: str
    changed_at: datetime | None
    type: str | Promise

    @property
    def tags(self) -> list[str]:
        return list(self.document.tags_json[:_TAGS_SHOWN])

    @property
    def more_tags(self) -> int:
        return max(0, len(self.document.tags_json) - _TAGS_SHOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderRow:
    """A folder with documents, in the list or in the tree. `lamp` is None in the tree, which shows numbers only."""

    name: str
    url: str
    key: str
    total: int
    indexed: int = 0
    lamp: LampView | None = None
    words: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A folder of the tree. `level_url` brings its children; `children` are there at once on the way to the folder
    that is looked at."""

    row: FolderRow
    level_url: str
    is_current: bool
    children: Sequence[Node] = ()

    @property
    def is_open(self) -> bool:
        return bool(self.children)


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A heading by which the list can be sorted; `direction` is ascending, descending or ""."""

    key: str
    word: str | Promise
    css: str
    url: str
    direction: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    """An active filter; its address is the list without it."""

    word: str | Promise
    url: str


class DocumentsPage:
    """The list of one knowledge base, as its address asks for. Everything is worked out when it is asked for."""

    def __init__(self, request: HttpRequest, frame: KBFrame) -> None:
        self._request = request
        self.frame = frame
        self.kb = frame.kb
        self._levels: dict[tuple[int, str], list[Folder]] = {}
        self.reader = frame.reader
        self.state = ListState(frame.kb, request.GET, places_of(frame.reader))
        frame.state = self.state
        frame.entry_count = lambda: self.entry_count

    @cached_property
    def page(self) -> DocumentPage:
        return self.reader.page(self.state.filters)

    @cached_property
    def entry_count(self) -> int:
        """How many entries the list has: when that changes, what is shown of it is out of date."""
        if self.state.is_browsing and self.state.is_at_top:
            return len(self.state.places)
        documents = self.reader.count(self.state.filters)
        return documents + (len(self.folders) if self.state.is_browsing and not self.is_many else 0)

    @cached_property
    def rows(self) -> list[Row]:
        if self.state.is_browsing and self.state.is_at_top:
            return []
        return self.rows_of(self.page.rows, first=self.page.first)

    def rows_of(self, documents: Iterable[Document], *, first: int) -> list[Row]:
        return [self._row(document, position) for position, document in enumerate(documents, start=first or 1)]

    def changed_rows(self, ids: Sequence[str], since: int) -> list[Row]:
        """The rows among `ids` that changed after revision `since`."""
        changed = self.reader.readable.filter(pk__in=ids, rev__gt=since)
        return self.rows_of(changed, first=1)

    @cached_property
    def folders(self) -> list[FolderRow]:
        """Sub-folders of the folder looked at; they stand before its files, on the first page only."""
        if not self.state.is_browsing or self.state.page > 1:
            return []
        place = self.state.place
        if place is None:
            return [self._root_row(each) for each in self.state.places]
        return [self._folder_row(place, each) for each in self._level(place, self.state.folder)]

    @cached_property
    def tree(self) -> list[Node]:
        """The beginnings of the tree, opened down to the folder looked at."""
        return [self._root_node(place) for place in self.state.places]

    @property
    def is_tree_bare(self) -> bool:
        """Whether the tree shows no folder below its beginnings yet."""
        return not any(node.children for node in self.tree)

    def level(self, root_key: str, path: str) -> list[Node]:
        """The children of one folder of the tree."""
        place = next((each for each in self.state.places if each.root.key == root_key), None)
        return self._nodes(place, path) if place else []

    @property
    def columns(self) -> list[Column]:
        return [self._column(key, word, css) for key, word, css in _COLUMNS]

    @cached_property
    def chips(self) -> list[Chip]:
        params, state = self.state.params, self.state
        found = [Chip(word=f"“{params['q']}”", url=state.url(q=""))] if params.get("q") else []
        found += self._status_chips()
        found += self._several_chips("type", lambda key: TYPE_WORDS[key])
        tags = params.get("tag", [])
        found += [Chip(word=f"#{tag}", url=state.url(tag=[each for each in tags if each != tag])) for tag in tags]
        if params.get("source"):
            found.append(Chip(word=self._source_word(params["source"]), url=state.url(source="")))
        for name, place in (("changed", 0), ("indexed", 1)):
            if params.get(name):
                found.append(Chip(word=_DAY_WORDS[params[name]][place], url=state.url(**{name: ""})))
        if params.get("doc"):
            found.append(Chip(word=_("chosen documents"), url=state.url(doc=[])))
        return found

    @property
    def clear_url(self) -> str:
        place = self.state.place
        if place is not None and self.state.params.get("path"):
            return self.state.folder_url(place, self.state.folder)
        return self.state.url(q="", status="", type="", tag=[], source="", changed="", indexed="", doc=[])

    @property
    def filters_url(self) -> str:
        return address(reverse("knowledge:kb-filters", args=[self.kb.pk]), self.state.query())

    @property
    def deep_url(self) -> str:
        """Switches between one folder and everything below it; "" where that makes no difference."""
        if self.state.filters.is_deep:
            return self.state.url(deep="")
        return self.state.url(deep="1") if self.folders else ""

    @property
    def crumbs(self) -> list[FolderRow]:
        """The way from the beginning of the tree to the folder looked at."""
        place = self.state.place
        if place is None or self.state.folder == place.path:
            return []
        inner = self.state.folder[len(place.path) + 1 if place.path else 0 :].split("/")
        paths = ["/".join([*([place.path] if place.path else []), *inner[: at + 1]]) for at in range(len(inner))]
        top = FolderRow(name=place.name, url=self.state.folder_url(place, place.path), key="", total=0)
        below = [
            FolderRow(name=name, url=self.state.folder_url(place, path), key="", total=0)
            for name, path in zip(inner, paths, strict=True)
        ]
        return [top, *below]

    @property
    def is_many(self) -> bool:
        """Whether there are too many documents to count folders while the page waits."""
        return self.frame.head.counts.total > _MANY

    @property
    def address(self) -> str:
        return self.state.url(page=self.state.params.get("page"))

    @property
    def more_url(self) -> str:
        return self.state.url(page=str(self.page.page + 1)) if self.page.has_next else ""

    @property
    def earlier_url(self) -> str:
        page = self.page.page
        return self.state.url(page=str(page - 1) if page > 2 else "") if page > 1 else ""

    @property
    def is_empty_kb(self) -> bool:
        return not self.frame.member_count and not self.state.filters.narrows

    @property
    def has_sources(self) -> bool:
        return self.kb.sources.exists()

    # --- Parts.

    def _row(self, document: Document, position: int) -> Row:
        folder, _slash, name = document.source_path.rpartition("/")
        mtime = document.mtime_ns
        own = f"{self.frame.url}docs/{document.pk}/"
        return Row(
            document=document,
            state=state_of(document, self._now),
            name=name,
            url=f"{own}?{self._row_query}n={position}",
            menu_url=f"{own}menu",
            folder=folder if not self.state.is_browsing else "",
            changed_at=datetime.fromtimestamp(mtime / 1e9, tz=UTC) if mtime else None,
            type=type_word(name),
        )

    @cached_property
    def _row_query(self) -> str:
        query = self.state.query()
        return f"{query}&" if query else ""

    @cached_property
    def _now(self) -> datetime:
        return timezone.now()

    def _level(self, place: Place, path: str) -> list[Folder]:
        known = (place.root.pk, path)
        if known not in self._levels:
            self._levels[known] = sub_folders(self.reader, place.root, path)
        return self._levels[known]

    def _root_row(self, place: Place) -> FolderRow:
        return FolderRow(
            name=place.name, url=self.state.folder_url(place, place.path), key=_key(place, place.path), total=0
        )

    def _folder_row(self, place: Place, folder: Folder) -> FolderRow:
        key = _key(place, folder.path)
        words = counts_words(folder.lamp)
        return FolderRow(
            name=folder.name,
            url=self.state.folder_url(place, folder.path),
            key=key,
            total=folder.total,
            indexed=folder.indexed,
            lamp=LampView(id=f"f-{key}-lamp", status=folder.lamp.status, title=words),
            words=words,
        )

    def _root_node(self, place: Place) -> Node:
        total = self.frame.head.counts.total if len(self.state.places) == 1 else 0
        is_here = self.state.place == place
        row = FolderRow(
            name=place.name, url=self.state.folder_url(place, place.path), key=_key(place, place.path), total=total
        )
        is_shown = is_here or len(self.state.places) == 1
        return Node(
            row=row,
            level_url=self._level_url(place, place.path),
            is_current=is_here and self.state.folder == place.path,
            children=self._nodes(place, place.path) if is_shown and not self.is_many else (),
        )

    def _nodes(self, place: Place, path: str) -> list[Node]:
        here = self.state.folder if self.state.place == place else ""
        nodes = []
        for folder in self._level(place, path):
            is_open = here == folder.path or here.startswith(f"{folder.path}/")
            nodes.append(
                Node(
                    row=FolderRow(
                        name=folder.name,
                        url=self.state.folder_url(place, folder.path),
                        key=_key(place, folder.path),
                        total=folder.total,
                    ),
                    level_url=self._level_url(place, folder.path),
                    is_current=here == folder.path,
                    children=self._nodes(place, folder.path) if is_open else (),
                )
            )
        return nodes

    def _level_url(self, place: Place, path: str) -> str:
        parts = {name: self.state.params[name] for name in ("sort", "dir", "size") if self.state.params.get(name)}
        query = urlencode({"at": place.root.key, "below": path, **parts})
        return address(reverse("knowledge:kb-tree", args=[self.kb.pk]), query)

    @property
    def _sort(self) -> str:
        """The order in use: the one asked for, else the worst first while anything is wrong or going on."""
        counts = self.page.counts
        return self.state.filters.sort or ("status" if counts.active or counts.needs_attention else "name")

    def _column(self, key: str, word: Promise, css: str) -> Column:
        filters = self.state.filters
        is_current = self._sort == key
        direction = ("descending" if filters.descending else "ascending") if is_current else ""
        wants_down = not filters.descending if is_current else key in _TOP_DOWN
        url = self.state.url(sort=key, dir="desc" if wants_down else "")
        return Column(key=key, word=word, css=css, url=url, direction=direction)

    def _status_chips(self) -> list[Chip]:
        on = self.state.filters.statuses
        return [
            Chip(word=lamp_word(status), url=self.state.url(status=",".join(each for each in on if each != status)))
            for status in on
        ]

    def _several_chips(self, name: str, word: Any) -> list[Chip]:
        on = [each for each in self.state.params.get(name, "").split(",") if each]
        return [
            Chip(word=word(key), url=self.state.url(**{name: ",".join(each for each in on if each != key)}))
            for key in on
        ]

    def _source_word(self, source_id: str) -> str:
        source = Source.objects.filter(kb=self.kb, pk=source_id).select_related("root").first()
        if source is None or not self.reader.maps[source.root_id].may_enter(source.path):
            return _("one source")
        return source.path or source.root.name


def _key(place: Place, path: str) -> str:
    return text_key(f"{place.root.pk}/{path}")[:16]
