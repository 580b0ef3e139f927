"""What the templates of the file tree show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.http import HttpRequest
from django.utils.functional import Promise

from knowledge.file_words import type_word
from knowledge.models import IndexStatus
from knowledge.reasons import reason_for
from knowledge.selectors.lamps import FolderLamp, folder_lamps
from knowledge.services.folders import ROWS, Choice, FolderReader, Item, Listing, Sort
from knowledge.views.addresses import files_url, pane_url, tree_url
from knowledge.views.choosing import principal_of
from knowledge.views.lamp_words import counts_words, tooltip
from knowledge.views.reading_page import Crumb, crumbs_of
from mnote.files.opening import EntryKind
from mnote.ids import text_key
from mnote.models import Root, Workspace
from mnote.principals import Principal
from mnote.selectors import access


@dataclass(frozen=True, slots=True, kw_only=True)
class LampView:
    """A lamp with its explanation. `id` is where a lamp that comes later is put."""

    id: str
    status: IndexStatus | None = None
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One entry of a folder. `note` says why it cannot be opened."""

    item: Item
    lamp: LampView
    url: str = ""
    type: str | Promise = ""
    note: str | Promise = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeView:
    """One node of the tree; `level` holds its children where they are shown at once."""

    item: Item
    lamp: LampView
    url: str
    level_url: str = ""
    level: LevelView | None = None
    is_current: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelView:
    """Children of one folder in the tree. `lamps_url` brings the lamps that were left out."""

    nodes: Sequence[NodeView]
    left: int = 0
    more_url: str = ""
    folder_url: str = ""
    lamps_url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A heading of the list by which it can be sorted; `direction` is ascending, descending or ""."""

    sort: Sort
    url: str
    direction: str


class Tree:
    """The tree of one root: folders, and files when `with_files`."""

    def __init__(self, root: Root, reader: FolderReader, *, with_files: bool = False) -> None:
        self._root = root
        self._reader = reader
        self._with_files = with_files
        self._kept: dict[str, Any] = {"files": 1} if with_files else {}

    def level(self, path: str, *, opened: str = "", offset: int = 0) -> LevelView:
        """Return the children of `path`, and those of every folder on the way to `opened`."""
        level = self._reader.level(path, offset=offset, with_files=self._with_files)
        return LevelView(
            nodes=[self._node(item, opened) for item in level.items],
            left=level.left,
            more_url=tree_url(self._root, path, offset=level.end, **self._kept) if level.left else "",
            folder_url=files_url(self._root, path),
            lamps_url="" if level.has_lamps else tree_url(self._root, path, lamps="tree"),
        )

    def _node(self, item: Item, opened: str) -> NodeView:
        is_current = item.path == opened
        lamp = lamp_view(item, "ft")
        if not item.is_folder:
            return NodeView(item=item, lamp=lamp, url=pane_url(self._root, item.path), is_current=is_current)
        is_shown = is_current or opened.startswith(f"{item.path}/")
        return NodeView(
            item=item,
            lamp=lamp,
            url=files_url(self._root, item.path),
            level_url=tree_url(self._root, item.path, **self._kept),
            level=self.level(item.path, opened=opened) if is_shown else None,
            is_current=is_current,
        )


def lamp_view(item: Item, kind: str) -> LampView:
    """Return the lamp of an entry; `kind` keeps the ids of tree and list apart."""
    place = f"{kind}-{text_key(item.path)[:16]}"
    if item.lamp is None:
        return LampView(id=place)
    return LampView(id=place, status=item.lamp.status, title=tooltip(item.lamp))


def lamps_of(principal: Principal, root: Root, path: str, kind: str) -> list[LampView]:
    """Return the lamps of the folders in `path`, for a page that did not wait for them."""
    found = folder_lamps(principal, root, path)
    return [
        LampView(id=f"{kind}-{text_key(each.path)[:16]}", status=each.status, title=tooltip(each))
        for each in found.values()
    ]


class FilesPage:
    """One folder. Raises NotFound, Gone, RootUnavailable when it is made."""

    def __init__(self, request: HttpRequest, workspace: Workspace, root: Root, path: str, choice: Choice) -> None:
        self._request = request
        self._principal: Principal = principal_of(request)
        self.workspace = workspace
        self.root = root
        self.path = path
        self.choice = choice
        self._reader = FolderReader(self._principal, root)
        self.listing: Listing = self._reader.browse(path, choice)

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2] or self.root.name

    @property
    def crumbs(self) -> list[Crumb]:
        return crumbs_of(self.root, self.path)

    @cached_property
    def roots(self) -> list[Crumb]:
        """The roots of the workspace; one alone needs no switch."""
        found = access.visible_roots(self._principal, [self.workspace]).get(self.workspace.pk, [])
        return [Crumb(name=root.name, url=files_url(root) if root != self.root else "") for root in found]

    @property
    def rows(self) -> list[Row]:
        return [self._row(item) for item in self.listing.items]

    @property
    def columns(self) -> dict[str, Column]:
        return {sort.value: self._column(sort) for sort in Sort}

    @cached_property
    def tree(self) -> LevelView:
        return Tree(self.root, self._reader).level("", opened=self.path)

    @cached_property
    def folder_lamp(self) -> FolderLamp | None:
        """The lamp of the whole folder; not counted where that takes too long."""
        return self._reader.lamps.folder(self.path) if self.listing.has_lamps else None

    @property
    def folder_words(self) -> str:
        return counts_words(self.folder_lamp) if self.folder_lamp else ""

    @property
    def path_url(self) -> str:
        """The address of the folder without a query, for forms that bring their own."""
        return self.url.partition("?")[0]

    @property
    def url(self) -> str:
        return files_url(self.root, self.path)

    @property
    def more_url(self) -> str:
        return self._with(offset=self.listing.end)

    @property
    def more_count(self) -> int:
        return min(ROWS, self.listing.matching - self.listing.end)

    @property
    def lamps_url(self) -> str:
        return "" if self.listing.has_lamps else tree_url(self.root, self.path, lamps="list")

    def _row(self, item: Item) -> Row:
        lamp = lamp_view(item, "fl")
        if item.is_folder:
            return Row(item=item, lamp=lamp, url=files_url(self.root, item.path))
        if item.kind is EntryKind.FILE:
            return Row(item=item, lamp=lamp, url=pane_url(self.root, item.path), type=type_word(item.name))
        code = "link" if item.kind is EntryKind.LINK else "special"
        return Row(item=item, lamp=lamp, note=reason_for(code).sentence)

    def _column(self, sort: Sort) -> Column:
        is_current = self.choice.sort is sort
        is_ascending = is_current and not self.choice.is_descending
        direction = ("ascending" if is_ascending else "descending") if is_current else ""
        first = sort is not Sort.NAME  # sizes and times are wanted from the top down
        is_descending = is_ascending if is_current else first
        return Column(
            sort=sort, url=self._with(sort=sort, dir="desc" if is_descending else "", offset=""), direction=direction
        )

    def _with(self, **changes: Any) -> str:
        known = {
            "q": self.choice.words,
            "sort": self.choice.sort if self.choice.sort is not Sort.NAME else "",
            "dir": "desc" if self.choice.is_descending else "",
        }
        return files_url(self.root, self.path, **(known | changes))
