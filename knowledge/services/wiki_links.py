"""Which file a wiki link means: the name alone, as people write it, looked for near the note and then anywhere."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from django.db.models import Q

from knowledge.models import Document, IndexStatus
from knowledge.parsing.registry import SUPPORTED, kind_for_name
from knowledge.parsing.source_map import ResourceKind
from mnote.files.errors import InvalidPath
from mnote.files.names import path_to_text
from mnote.files.prefixes import ancestors
from mnote.models import Root
from mnote.principals import Principal
from mnote.selectors.access import access_map
from mnote.services import files

#: Folders beside notes in which editors keep pictures.
_PICTURE_FOLDERS = ("attachments", "assets", "images", "img")
_MAX_NAMES = 200
_MAX_FOUND = 200


def near(*, principal: Principal, root: Root, note: str, names: Collection[str]) -> dict[str, str]:
    """Return, by name as written, the paths of the files that stand near the note: in its folder, in one above it, or
    in a folder for pictures. Names that are not found there are left out."""
    wanted = {name: list(_candidates(name, note)) for name in list(dict.fromkeys(names))[:_MAX_NAMES]}
    paths = {path for candidates in wanted.values() for path in candidates}
    there = files.existing(principal=principal, root=root, paths=paths) if paths else set()
    found = {name: next((path for path in paths if path in there), "") for name, paths in wanted.items()}
    return {name: path for name, path in found.items() if path}


def anywhere(*, principal: Principal, root: Root, note: str, name: str) -> str | None:
    """Return the path that a wiki link means: near the note, else the nearest of that name in the registry.

    Reads every registered path of the root, so it is for one link that was followed, not for all links of a page.
    """
    found = near(principal=principal, root=root, note=note, names=[name])
    if name in found:
        return found[name]
    endings = [ending for ending in _endings(name) if ending]
    matching = Q(pk__in=[])
    for ending in endings:
        matching |= Q(source_path=ending) | Q(source_path__endswith=f"/{ending}")
    rows = Document.objects.filter(matching, access_map(principal, root).filter_q(), root=root)
    rows = rows.exclude(index_status=IndexStatus.DELETED).order_by("sort_path", "pk")
    paths = [path for path in rows.values_list("source_path", flat=True)[:_MAX_FOUND] if _ends(path, endings)]
    there = files.existing(principal=principal, root=root, paths=paths)
    return min((path for path in paths if path in there), key=lambda path: _distance(path, note), default=None)


def _candidates(name: str, note: str) -> Iterator[str]:
    try:
        folders = list(ancestors(note))[1:]
    except InvalidPath:
        folders = [""]
    for ending in _endings(name):
        yield from (f"{folder}/{ending}".removeprefix("/") for folder in folders)
        if kind_for_name(ending) is ResourceKind.IMAGE:
            kept = [f"{folder}/{each}" for folder in folders for each in _PICTURE_FOLDERS]
            yield from (f"{folder}/{ending}".removeprefix("/") for folder in kept)


def _endings(name: str) -> list[str]:
    """Return the relative paths that a name may stand for: with the extension of a note, or as it is."""
    try:
        text = path_to_text(name.strip().strip("/").encode())
    except InvalidPath:
        return []
    extension = text.rpartition(".")[2].lower() if "." in text.rpartition("/")[2] else ""
    return [text, f"{text}.md"] if extension in SUPPORTED else [f"{text}.md", text]


def _ends(path: str, endings: Collection[str]) -> bool:
    """Compare exactly: LIKE ignores case on SQLite."""
    return any(path == ending or path.endswith(f"/{ending}") for ending in endings)


def _distance(path: str, note: str) -> tuple[int, str]:
    """Count the folders between two files."""
    ours, theirs = note.split("/")[:-1], path.split("/")[:-1]
    shared = 0
    for one, other in zip(ours, theirs, strict=False):
        if one != other:
            break
        shared += 1
    return len(ours) + len(theirs) - 2 * shared, path
