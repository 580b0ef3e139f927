"""Derived artifacts: what parsing made of a file, kept by content and rebuildable at any time (spec 10.2)."""

from __future__ import annotations

import gzip
import hashlib
import os
import threading
import time
from collections import OrderedDict
from pathlib import Path

from django.conf import settings

from knowledge.citations.owners import owner_document_id
from knowledge.models import ArtifactKind, DerivedArtifact
from knowledge.parsing.source_map import SourceMap
from mnote.models import Root

_CACHE_ENTRIES = 64
_CACHE_CHARS = 16_000_000
_SMALL = 4096
_Key = tuple[str, str, str, str]

_cache: OrderedDict[_Key, SourceMap] = OrderedDict()
_cache_lock = threading.Lock()


def store(*, root: Root, path: str, source_map: SourceMap) -> None:
    """Keep the derived text and the source map of a file. Doing it twice changes nothing."""
    text = source_map.text.encode()
    _keep(root, path, source_map, ArtifactKind.PARSE_TEXT, text, "text/plain; charset=utf-8")
    _keep(root, path, source_map, ArtifactKind.SOURCE_MAP, source_map.to_bytes(), "application/json")
    key = (root.workspace_id, source_map.source_hash, source_map.provider, source_map.model_version)
    _remember(key, source_map)


def load(*, workspace_id: str, source_hash: str, provider: str) -> SourceMap | None:
    """Return the newest source map that parser `provider` made of a content, or None. A damaged or missing blob
    counts as absent."""
    rows = DerivedArtifact.objects.filter(workspace_id=workspace_id, source_hash=source_hash, provider=provider)
    maps = rows.filter(artifact_kind=ArtifactKind.SOURCE_MAP).order_by("-updated_at_ms")
    row = maps.first()
    if row is None:
        return None
    key = (workspace_id, source_hash, row.provider, row.revision)
    if (known := _recall(key)) is not None:
        return known
    parsed = rows.filter(artifact_kind=ArtifactKind.PARSE_TEXT, revision=row.revision)
    text_row = parsed.first()
    body, text = _read(row), _read(text_row) if text_row else None
    if body is None or text is None:
        return None
    source_map = SourceMap.from_bytes(body, text.decode())
    _remember(key, source_map)
    return source_map


def source_map_reference(*, workspace_id: str, source_hash: str) -> str:
    """Return the opaque public name of a content's source map, "artifact:<id>", or "" when there is none."""
    row = (
        DerivedArtifact.objects.filter(
            workspace_id=workspace_id, source_hash=source_hash, artifact_kind=ArtifactKind.SOURCE_MAP
        )
        .order_by("-updated_at_ms")
        .values_list("artifact_id", flat=True)
        .first()
    )
    return f"artifact:{row}" if row else ""


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
    with _cache_lock:
        for key in [key for key in _cache if key[0] == workspace_id and key[1] in source_hashes]:
            del _cache[key]
    return count


def _keep(root: Root, path: str, source_map: SourceMap, kind: ArtifactKind, content: bytes, mime: str) -> None:
    digest = hashlib.sha256(content).hexdigest()
    is_small = len(content) <= _SMALL and b"\0" not in content
    now = int(time.time() * 1000)
    facts = {
        "content_hash": f"sha256:{digest}",
        "content_text": content.decode() if is_small else "",
        "content_blob_path": "" if is_small else _write_blob(digest, content),
        "mime_type": mime,
        "size_bytes": len(content),
        "updated_at_ms": now,
        "stale": False,
    }
    place = {
        "root_uri": root.root_uri,
        "owner_document_id": owner_document_id(path),
        "owner_document_path": path,
        "source_root_relative_path": path,
        "created_at_ms": now,
    }
    DerivedArtifact.objects.update_or_create(
        workspace_id=root.workspace_id,
        source_hash=source_map.source_hash,
        artifact_kind=kind,
        provider=source_map.provider,
        revision=source_map.model_version,
        defaults=facts,
        create_defaults=facts | place,
    )


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


def _read(row: DerivedArtifact) -> bytes | None:
    if not row.content_blob_path:
        return row.content_text.encode()
    try:
        return gzip.decompress((Path(settings.MNOTE_ARTIFACT_DIR) / row.content_blob_path).read_bytes())
    except (OSError, EOFError, gzip.BadGzipFile):
        return None


def _recall(key: _Key) -> SourceMap | None:
    with _cache_lock:
        if key in _cache:
            _cache.move_to_end(key)
        return _cache.get(key)


def _remember(key: _Key, source_map: SourceMap) -> None:
    """Keep recently used maps in memory, bounded by number and by text."""
    with _cache_lock:
        _cache[key] = source_map
        _cache.move_to_end(key)
        while len(_cache) > 1 and (
            len(_cache) > _CACHE_ENTRIES or sum(len(kept.text) for kept in _cache.values()) > _CACHE_CHARS
        ):
            _cache.popitem(last=False)
