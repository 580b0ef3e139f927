"""Derived artifacts: what parsing made of a file, kept by content and rebuildable at any time (spec 10.2)."""

from __future__ import annotations

import gzip
import hashlib
import os
import threading
import time
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from django.conf import settings
from django.db.models import QuerySet

from knowledge.citations.owners import owner_document_id
from knowledge.mapping.document_map import DocumentMap
from knowledge.models import ArtifactKind, DerivedArtifact
from knowledge.parsing.source_map import SourceMap
from mnote.models import Root
from mnote.recent import Recent
from mnote.statements import select

_UNIQUE = ("workspace", "source_hash", "artifact_kind", "provider", "revision")
_CHANGING = (
    "content_hash", "content_text", "content_blob_path", "mime_type", "size_bytes", "updated_at_ms", "stale"
)  # fmt: skip
_BATCH, _LOOKED_UP = 50, 500
_CACHE_ENTRIES = 256
_CACHE_CHARS = 16_000_000
_SMALL = 4096
_Key = tuple[str, str, str, str]

#: Source maps used lately, bounded by number and by text.
_known: Recent[_Key, SourceMap] = Recent(
    _CACHE_ENTRIES, weigh=lambda source_map: len(source_map.text), most_weight=_CACHE_CHARS
)
#: Public names of source maps by workspace and content. A name stays while the content is kept.
_names: Recent[tuple[str, str], str] = Recent(20_000)


class _Kept(NamedTuple):
    """What reading needs of a row."""

    artifact_id: str
    artifact_kind: str
    source_hash: str
    provider: str
    revision: str
    content_text: str
    content_blob_path: str
    updated_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """What parsing made of the file at `path` of `root`."""

    root: Root
    path: str
    source_map: SourceMap

    @property
    def key(self) -> _Key:
        source_map = self.source_map
        return self.root.workspace_id, source_map.source_hash, source_map.provider, source_map.model_version


def store(*, root: Root, path: str, source_map: SourceMap) -> None:
    """Keep the derived text and the source map of a file. Doing it twice changes nothing."""
    store_all([Derived(root=root, path=path, source_map=source_map)])


def store_all(derived: Iterable[Derived]) -> None:
    """Keep the derived texts and source maps of many files. Raises OSError where a disk takes no more."""
    by_key = {each.key: each for each in derived}
    rows = [row for each in by_key.values() for row in _rows(each)]
    DerivedArtifact.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=_UNIQUE, update_fields=_CHANGING, batch_size=_BATCH
    )
    for key, each in by_key.items():
        _known.put(key, each.source_map)


def load(*, workspace_id: str, source_hash: str, provider: str) -> SourceMap | None:
    """Return the newest source map that parser `provider` made of a content, or None. A damaged or missing blob
    counts as absent."""
    rows = DerivedArtifact.objects.filter(workspace_id=workspace_id, source_hash=source_hash, provider=provider)
    maps = rows.filter(artifact_kind=ArtifactKind.SOURCE_MAP).order_by("-updated_at_ms")
    row = maps.first()
    if row is None:
        return None
    key = (workspace_id, source_hash, row.provider, row.revision)
    if (known := _known.get(key)) is not None:
        return known
    parsed = rows.filter(artifact_kind=ArtifactKind.PARSE_TEXT, revision=row.revision)
    return _assembled(key, row, parsed.first())


def load_all(*, workspace_id: str, wanted: Iterable[tuple[str, str, str]]) -> dict[tuple[str, str, str], SourceMap]:
    """Return the kept source maps by (source hash, provider, revision), without those that are absent or damaged."""
    keys = dict.fromkeys(wanted)
    found = {key: known for key in keys if (known := _known.get((workspace_id, *key))) is not None}
    missing = {source_hash for source_hash, _, _ in keys.keys() - found.keys()}
    if not missing:
        return found
    kinds = (ArtifactKind.PARSE_TEXT, ArtifactKind.SOURCE_MAP)
    rows = _kept(workspace=[workspace_id], source_hash=missing, artifact_kind=kinds)
    _remember_names(workspace_id, rows)
    by_kind = {(row.artifact_kind, row.source_hash, row.provider, row.revision): row for row in rows}
    for key in keys.keys() - found.keys():
        body, text = by_kind.get((ArtifactKind.SOURCE_MAP, *key)), by_kind.get((ArtifactKind.PARSE_TEXT, *key))
        source_map = _assembled((workspace_id, *key), body, text)
        if source_map is not None:
            found[key] = source_map
    return found


def kept_source_maps(*, workspace_id: str, wanted: Iterable[tuple[str, str, str]]) -> set[tuple[str, str, str]]:
    """Return which source maps there are, by (source hash, provider, revision)."""
    keys = set(wanted)
    rows = DerivedArtifact.objects.filter(workspace_id=workspace_id, artifact_kind=ArtifactKind.SOURCE_MAP)
    return keys & _named(rows, {key[0] for key in keys}, "source_hash", "provider", "revision")


def keep_document_map(*, root: Root, path: str, provider: str, revision: str, document_map: DocumentMap) -> None:
    """Keep the document map of a content; `revision` names the texts it was made of."""
    content = document_map.to_bytes()
    row = _artifact(root, path, document_map.source_hash, (provider, revision))
    _fill(row, ArtifactKind.DOCUMENT_MAP, content, "application/json")
    DerivedArtifact.objects.bulk_create([row], update_conflicts=True, unique_fields=_UNIQUE, update_fields=_CHANGING)


def document_maps(wanted: Iterable[tuple[str, str, str]]) -> dict[tuple[str, str, str], DocumentMap]:
    """Return document maps by (workspace id, source hash, revision), without those that are absent or damaged."""
    keys = set(wanted)
    if not keys:
        return {}
    rows = DerivedArtifact.objects.filter(
        artifact_kind=ArtifactKind.DOCUMENT_MAP,
        workspace_id__in={key[0] for key in keys},
        source_hash__in={key[1] for key in keys},
        revision__in={key[2] for key in keys},
    )
    found: dict[tuple[str, str, str], DocumentMap] = {}
    for row in rows:
        with suppress(ValueError, KeyError, TypeError):
            found[row.workspace_id, row.source_hash, row.revision] = DocumentMap.from_bytes(_read(row) or b"")
    return {key: each for key, each in found.items() if key in keys}


def kept_document_maps(wanted: Iterable[tuple[str, str, str]]) -> set[tuple[str, str, str]]:
    """Return which of the document maps there are, by (workspace id, source hash, revision)."""
    keys = set(wanted)
    rows = DerivedArtifact.objects.filter(
        workspace_id__in={key[0] for key in keys}, artifact_kind=ArtifactKind.DOCUMENT_MAP
    )
    return keys & _named(rows, {key[1] for key in keys}, "workspace_id", "source_hash", "revision")


def _named(rows: QuerySet[DerivedArtifact], source_hashes: Iterable[str], *columns: str) -> set[tuple[str, str, str]]:
    """Return three columns of the artifacts of some contents, asked for some at a time."""
    hashes, found = list(source_hashes), set[tuple[str, str, str]]()
    for at in range(0, len(hashes), _LOOKED_UP):
        found |= set(rows.filter(source_hash__in=hashes[at : at + _LOOKED_UP]).values_list(*columns))
    return found


def source_map_reference(*, workspace_id: str, source_hash: str) -> str:
    """Return the opaque public name of a content's source map, "artifact:<id>", or "" when there is none."""
    return source_map_references(workspace_id=workspace_id, source_hashes=[source_hash]).get(source_hash, "")


def source_map_references(*, workspace_id: str, source_hashes: Iterable[str]) -> dict[str, str]:
    """Return the same for many contents; those without one are left out."""
    wanted = set(source_hashes)
    known = {each: name for each in wanted if (name := _names.get((workspace_id, each)))}
    missing = wanted - known.keys()
    if not missing:
        return known
    rows = _kept(workspace=[workspace_id], source_hash=missing, artifact_kind=[ArtifactKind.SOURCE_MAP])
    return known | _remember_names(workspace_id, rows)


def forget(*, workspace_id: str, source_hashes: list[str]) -> int:
    """Remove artifacts of contents that no document holds any more. Blobs shared with other rows stay."""
    rows = DerivedArtifact.objects.filter(workspace_id=workspace_id, source_hash__in=source_hashes)
    blobs = set(rows.exclude(content_blob_path="").values_list("content_blob_path", flat=True))
    count, _ = rows.delete()
    still_used = set(
        DerivedArtifact.objects.filter(content_blob_path__in=blobs).values_list("content_blob_path", flat=True)
    )
    for blob in blobs - still_used:
        (Path(settings.MNOTE_ARTIFACT_DIR) / blob).unlink(missing_ok=True)
    _known.drop_where(lambda key: key[0] == workspace_id and key[1] in source_hashes)
    for source_hash in source_hashes:
        _names.drop((workspace_id, source_hash))
    return count


def _kept(**among: Collection[str]) -> list[_Kept]:
    return [_Kept(*row) for row in select(DerivedArtifact, _Kept._fields, **among)]


def _assembled(
    key: _Key, map_row: DerivedArtifact | _Kept | None, text_row: DerivedArtifact | _Kept | None
) -> SourceMap | None:
    body, text = (_read(row) if row else None for row in (map_row, text_row))
    if body is None or text is None:
        return None
    try:
        source_map = SourceMap.from_bytes(body, text.decode())
    except ValueError:
        return None
    _known.put(key, source_map)
    return source_map


def _rows(derived: Derived) -> list[DerivedArtifact]:
    source_map = derived.source_map
    text, body = source_map.text.encode(), source_map.to_bytes()
    return [
        _row(derived, ArtifactKind.PARSE_TEXT, text, "text/plain; charset=utf-8"),
        _row(derived, ArtifactKind.SOURCE_MAP, body, "application/json"),
    ]


def _row(derived: Derived, kind: ArtifactKind, content: bytes, mime: str) -> DerivedArtifact:
    source_map = derived.source_map
    row = _artifact(derived.root, derived.path, source_map.source_hash, (source_map.provider, source_map.model_version))
    _fill(row, kind, content, mime)
    return row


def _artifact(root: Root, path: str, source_hash: str, made_by: tuple[str, str]) -> DerivedArtifact:
    now = int(time.time() * 1000)
    return DerivedArtifact(
        workspace_id=root.workspace_id,
        root_uri=root.root_uri,
        owner_document_id=owner_document_id(path),
        owner_document_path=path,
        source_root_relative_path=path,
        provider=made_by[0],
        revision=made_by[1],
        source_hash=source_hash,
        created_at_ms=now,
        updated_at_ms=now,
    )


def _fill(row: DerivedArtifact, kind: ArtifactKind, content: bytes, mime: str) -> None:
    digest = hashlib.sha256(content).hexdigest()
    is_small = len(content) <= _SMALL and b"\0" not in content
    row.artifact_kind, row.mime_type, row.size_bytes = kind, mime, len(content)
    row.content_hash = f"sha256:{digest}"
    row.content_text = content.decode() if is_small else ""
    row.content_blob_path = "" if is_small else _write_blob(digest, content)


def _write_blob(digest: str, content: bytes) -> str:
    """Write a content once under its own digest, complete or not at all; return its relative path."""
    name = f"{digest[:2]}/{digest}.gz"
    target = Path(settings.MNOTE_ARTIFACT_DIR) / name
    if target.exists():
        return name
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_suffix(f".{os.getpid()}-{threading.get_ident()}.part")
    draft.write_bytes(gzip.compress(content, compresslevel=3, mtime=0))
    draft.replace(target)
    return name


def _read(row: DerivedArtifact | _Kept) -> bytes | None:
    if not row.content_blob_path:
        return row.content_text.encode()
    try:
        return gzip.decompress((Path(settings.MNOTE_ARTIFACT_DIR) / row.content_blob_path).read_bytes())
    except (OSError, EOFError, gzip.BadGzipFile):
        return None


def _remember_names(workspace_id: str, rows: Iterable[_Kept]) -> dict[str, str]:
    """Return the public names of source maps by content; of several of a content the newest names it."""
    maps = [row for row in rows if row.artifact_kind == ArtifactKind.SOURCE_MAP]
    found = {row.source_hash: f"artifact:{row.artifact_id}" for row in sorted(maps, key=lambda row: row.updated_at_ms)}
    for source_hash, name in found.items():
        _names.put((workspace_id, source_hash), name)
    return found
