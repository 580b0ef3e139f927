"""The folders of one knowledge base: real folders, as far as its documents lie in them and the reader may see them."""

from __future__ import annotations

import os
from dataclasses import dataclass

from django.core.cache import cache

from knowledge.models import Document, IndexStatus, Source
from knowledge.selectors.document_lists import DocumentReader
from knowledge.selectors.lamps import FolderLamp, count_folders
from mnote.ids import text_key
from mnote.models import Root

#: Folders of one level that are shown.
LEVEL = 500
_KEPT_SECONDS = 60
_OUTSIDE = frozenset({IndexStatus.DELETED, IndexStatus.SKIPPED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the tree of a knowledge base begins below one root: the deepest folder that holds all its sources."""

    root: Root
    path: str

    @property
    def name(self) -> str:
        return f"{self.root.name} / {self.path}" if self.path else self.root.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """A folder with documents at any depth. `total` counts those that belong, `indexed` those that are level."""

    root: Root
    path: str
    lamp: FolderLamp

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def total(self) -> int:
        return sum(count for status, count in self.lamp.counts.items() if status not in _OUTSIDE)

    @property
    def indexed(self) -> int:
        return self.lamp.counts.get(IndexStatus.INDEXED, 0)


def places_of(reader: DocumentReader) -> list[Place]:
    """Return the beginnings of the tree, one for each root with sources that the reader sees anything of."""
    found: dict[int, list[str]] = {}
    for root_id, path, is_folder in Source.objects.filter(kb=reader.kb).values_list("root_id", "path", "is_folder"):
        found.setdefault(root_id, []).append(path if is_folder else path.rpartition("/")[0])
    found = found or {reader.kb.root_id: [""]}
    places = [Place(root=root, path=_common(found[root.pk])) for root in reader.roots if root.pk in found]
    return [place for place in places if reader.maps[place.root.pk].may_enter(place.path)]


def sub_folders(reader: DocumentReader, root: Root, path: str) -> list[Folder]:
    """Return the folders directly in one that hold documents of the knowledge base, in the order of their names. What
    was counted is kept until a document of the base changes or the reader's rights do."""
    granted = reader.maps[root.pk]
    rev = Document.objects.filter(kb=reader.kb).order_by("-rev").values_list("rev", flat=True).first()
    facts = (reader.kb.pk, rev, granted.default, *sorted(granted.rules.items()), root.pk, path)
    key = f"kb-folders:{text_key(repr(facts))}"
    found: list[FolderLamp] | None = cache.get(key)
    if found is None:
        found = list(count_folders(reader.readable.filter(root=root), path).values())
        cache.set(key, found, _KEPT_SECONDS)
    folders = [
        Folder(root=root, path=lamp.path, lamp=lamp) for lamp in found if set(lamp.counts) - {IndexStatus.DELETED}
    ]
    return sorted(folders, key=lambda folder: (folder.name.casefold(), folder.name))[:LEVEL]


def _common(paths: list[str]) -> str:
    """Return the deepest folder that holds all of these folders. Compares whole names."""
    return os.path.commonpath(paths) if all(paths) else ""
