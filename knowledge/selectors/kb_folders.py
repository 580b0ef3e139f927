"""The folders of one knowledge base: real folders, as far as its documents lie in them and the reader may see them."""

from __future__ import annotations

import os
from dataclasses import dataclass

from knowledge.models import IndexStatus, KnowledgeBase, Source
from knowledge.selectors.lamps import FolderLamp, LampReader
from mnote.models import Root
from mnote.principals import Principal
from mnote.selectors import access

#: Folders of one level that are shown.
LEVEL = 500
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


def places_of(principal: Principal, kb: KnowledgeBase) -> list[Place]:
    """Return the beginnings of the tree, one for each root with sources that the reader sees anything of."""
    found: dict[int, list[str]] = {}
    for root_id, path, is_folder in Source.objects.filter(kb=kb).values_list("root_id", "path", "is_folder"):
        found.setdefault(root_id, []).append(path if is_folder else path.rpartition("/")[0])
    roots = list(Root.objects.filter(pk__in=found.keys() or [kb.root_id]).select_related("workspace").order_by("pk"))
    maps = access.access_maps(principal, roots)
    return [
        Place(root=root, path=_common(found.get(root.pk, [""])))
        for root in roots
        if maps[root.pk].may_enter(_common(found.get(root.pk, [""])))
    ]


def sub_folders(principal: Principal, kb: KnowledgeBase, root: Root, path: str) -> list[Folder]:
    """Return the folders directly in one that hold documents of the knowledge base, in the order of their names."""
    found = LampReader(principal, root, kb).folders(path).values()
    folders = [
        Folder(root=root, path=lamp.path, lamp=lamp) for lamp in found if set(lamp.counts) - {IndexStatus.DELETED}
    ]
    return sorted(folders, key=lambda folder: (folder.name.casefold(), folder.name))[:LEVEL]


def _common(paths: list[str]) -> str:
    """Return the deepest folder that holds all of these folders. Compares whole names."""
    return os.path.commonpath(paths) if all(paths) else ""
