"""Lamps of a whole file tree, for a host that draws its own: everything below a folder, or what changed there."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from django.utils.translation import get_language

from knowledge.models import IndexStatus, RevisionCounter
from knowledge.querysets import visible_kbs
from knowledge.selectors.lamps import ORDER, FileLamp, FolderLamp, LampReader, worst
from mnote.ids import text_key
from mnote.models import Root
from mnote.principals import Principal
from mnote.selectors.access import access_map, covered_by

#: Beyond this many documents below a folder only its own children are told.
MAX_FILES = 10_000
_MAX_FOLDERS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class LampTree:
    """Lamps as of `revision`, in path order. `is_partial`: only the children of `prefix` are here, or not all folders
    above what changed."""

    prefix: str
    revision: int
    is_partial: bool
    files: tuple[FileLamp, ...]
    folders: tuple[FolderLamp, ...]


def version_of(principal: Principal, root: Root, what: str) -> str:
    """Return a short text that changes whenever `tree` may answer otherwise for this caller."""
    rights = access_map(principal, root)
    kb_ids = list(visible_kbs(principal, root.workspace).order_by("id").values_list("id", "name"))
    rules = sorted(rights.rules.items())
    return text_key(repr((_revision(root), root.pk, rights.default, rules, kb_ids, get_language(), what)))


def tree(principal: Principal, root: Root, prefix: str = "", *, since: int | None = None) -> LampTree:
    """Return the lamps of everything below `prefix`; with `since` only of files that changed after that revision."""
    revision, reader = _revision(root), LampReader(principal, root)
    if since is not None:
        return _changes(reader, prefix, since, revision)
    if _is_many(reader, prefix):
        files, folders = reader.files(prefix), reader.folders(prefix)
        return _tree(prefix, revision, files.values(), folders.values(), is_partial=True)
    files = reader.below(prefix)
    return _tree(prefix, revision, files.values(), _folders(files.values(), prefix), is_partial=False)


def _changes(reader: LampReader, prefix: str, since: int, revision: int) -> LampTree:
    files = reader.below(prefix, since=since)
    above = sorted({folder for path in files for folder in _folders_of(path, prefix)})
    known = (reader.folder(folder) for folder in above[:_MAX_FOLDERS])
    folders = [lamp for lamp in known if lamp is not None]
    return _tree(prefix, revision, files.values(), folders, is_partial=len(above) > _MAX_FOLDERS)


def _tree(
    prefix: str, revision: int, files: Iterable[FileLamp], folders: Iterable[FolderLamp], *, is_partial: bool
) -> LampTree:
    return LampTree(
        prefix=prefix,
        revision=revision,
        is_partial=is_partial,
        files=tuple(sorted(files, key=lambda lamp: lamp.path)),
        folders=tuple(sorted(folders, key=lambda lamp: lamp.path)),
    )


def _folders(files: Iterable[FileLamp], prefix: str) -> list[FolderLamp]:
    """Sum up files into every folder below the prefix that holds them: one count for each base a file is in."""
    counts: defaultdict[str, Counter[IndexStatus]] = defaultdict(Counter)
    for lamp in files:
        for folder in _folders_of(lamp.path, prefix):
            counts[folder].update(state.status for state in lamp.states)
    return [
        FolderLamp(path=folder, status=worst(found), counts={each: found[each] for each in ORDER if found[each]})
        for folder, found in counts.items()
    ]


def _folders_of(path: str, prefix: str) -> list[str]:
    """Return the folders above a path, from the prefix (left out) down."""
    parts = path.split("/")[:-1]
    start = prefix.count("/") + 2 if prefix else 1
    return ["/".join(parts[:length]) for length in range(start, len(parts) + 1)]


def _is_many(reader: LampReader, prefix: str) -> bool:
    rows = reader.documents.order_by()
    if prefix:
        rows = rows.filter(covered_by(prefix))
    return rows[MAX_FILES : MAX_FILES + 1].exists()


def _revision(root: Root) -> int:
    value = RevisionCounter.objects.filter(workspace_id=root.workspace_id).values_list("value", flat=True).first()
    return value or 0
