"""A folder as the file tree shows it: what the caller may see in it, filtered, sorted, a page at a time, with lamps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from knowledge.selectors.lamps import FileLamp, FolderLamp, LampReader
from mnote.files.opening import Entry, EntryKind
from mnote.models import Root
from mnote.principals import Principal
from mnote.services import files

ROWS = 200
#: Children that one level of the tree shows before it asks.
CHILDREN = 500


class Sort(StrEnum):
    NAME = "name"
    SIZE = "size"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One entry of a folder. `lamp` is that of a file or of a folder; None when no knowledge base holds it."""

    name: str
    path: str
    kind: EntryKind
    size: int
    changed_at: datetime
    lamp: FileLamp | FolderLamp | None = None

    @property
    def is_folder(self) -> bool:
        return self.kind is EntryKind.FOLDER


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What of a folder is wanted. `offset` counts entries after filter and sort."""

    words: str = ""
    sort: Sort = Sort.NAME
    is_descending: bool = False
    offset: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A part of a folder. `matching` of `total` entries pass the filter. `has_lamps` is False where the lamps of its
    folders were not counted, because that takes longer than a page should."""

    path: str
    items: Sequence[Item]
    total: int
    matching: int
    offset: int
    has_lamps: bool = True

    @property
    def end(self) -> int:
        return self.offset + len(self.items)

    @property
    def has_more(self) -> bool:
        return self.end < self.matching


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """Children of one folder in the tree, from `offset` on; `left` more follow."""

    path: str
    items: Sequence[Item]
    offset: int = 0
    left: int = 0
    has_lamps: bool = True

    @property
    def end(self) -> int:
        return self.offset + len(self.items)


_KEYS: Mapping[Sort, Callable[[Entry], Any]] = {
    Sort.NAME: lambda entry: entry.name.casefold(),
    Sort.SIZE: lambda entry: entry.size,
    Sort.CHANGED: lambda entry: entry.mtime_ns,
}


class FolderReader:
    """Reads the folders of one root for one caller. A folder that is needed twice is listed once."""

    def __init__(self, principal: Principal, root: Root) -> None:
        self._principal = principal
        self._root = root
        self._listed: dict[str, list[Entry]] = {}
        self.lamps = LampReader(principal, root)

    def browse(self, path: str, choice: Choice) -> Listing:
        """List a folder, sub-folders first.

        Raises:
            NotFound, Gone, RootUnavailable, FileUnreadable.
        """
        entries = self._entries(path)
        words = choice.words.casefold().split()
        matching = [entry for entry in entries if all(word in entry.name.casefold() for word in words)]
        matching.sort(key=_KEYS[choice.sort], reverse=choice.is_descending)
        matching.sort(key=lambda entry: entry.kind is not EntryKind.FOLDER)
        return Listing(
            path=path,
            items=self._items(path, matching[choice.offset : choice.offset + ROWS]),
            total=len(entries),
            matching=len(matching),
            offset=choice.offset,
            has_lamps=not self.lamps.is_many,
        )

    def level(self, path: str, *, offset: int = 0, with_files: bool = False) -> Level:
        """Return children of a folder for the tree: its folders, and its files when asked for.

        Raises:
            NotFound, Gone, RootUnavailable, FileUnreadable.
        """
        kinds = {EntryKind.FOLDER, EntryKind.FILE} if with_files else {EntryKind.FOLDER}
        wanted = [entry for entry in self._entries(path) if entry.kind in kinds]
        wanted.sort(key=lambda entry: (entry.kind is not EntryKind.FOLDER, entry.name.casefold(), entry.name))
        shown = wanted[offset : offset + CHILDREN]
        return Level(
            path=path,
            items=self._items(path, shown),
            offset=offset,
            left=max(0, len(wanted) - offset - len(shown)),
            has_lamps=not self.lamps.is_many,
        )

    def _entries(self, path: str) -> list[Entry]:
        if path not in self._listed:
            self._listed[path] = files.list_folder(principal=self._principal, root=self._root, path=path)
        return self._listed[path]

    def _items(self, path: str, entries: Sequence[Entry]) -> list[Item]:
        folder = f"{path}/" if path else ""
        names = [entry.name for entry in entries if entry.kind is EntryKind.FILE]
        found: dict[str, FileLamp | FolderLamp] = {}
        if names:
            found.update(self.lamps.files(path, names=names))
        if any(entry.kind is EntryKind.FOLDER for entry in entries) and not self.lamps.is_many:
            found.update(self.lamps.folders(path))
        return [
            Item(
                name=entry.name,
                path=folder + entry.name,
                kind=entry.kind,
                size=entry.size,
                changed_at=datetime.fromtimestamp(entry.mtime_ns / 1e9, tz=UTC),
                lamp=found.get(folder + entry.name),
            )
            for entry in entries
        ]
