"""Parsing for the rest of the app: one pool of bounded child processes per worker process."""

from __future__ import annotations

import atexit
from collections.abc import Iterable
from functools import lru_cache

from django.conf import settings

from knowledge.parsing.base import ParseError, ParseLimits
from knowledge.parsing.page_images import PageImage
from knowledge.parsing.registry import SUPPORTED, parser_for, type_for_name
from knowledge.parsing.source_map import SourceMap
from knowledge.parsing.worker_pool import ParsePool
from knowledge.services import artifacts

_MEGABYTE = 1024 * 1024


def parse(*, fd: int, name: str) -> SourceMap:
    """Parse an open file in a child process. A child that died is replaced and the file given to the next one: it may
    have been killed for another reason. Raises ParseError.
    """
    pool = _pool()
    try:
        return pool.parse(fd, name)
    except ParseError as error:
        if not error.retryable or pool.is_closed:
            raise
    return pool.parse(fd, name)


def render_page(*, fd: int, page: int, max_width: int) -> PageImage:
    """Draw page `page` (1-based) of an open PDF as PNG, at most `max_width` pixels wide. Raises ParseError."""
    return _pool().render_page(fd, page, max_width_px=max_width)


def page_sizes(*, fd: int) -> list[tuple[float, float]]:
    """Return width and height in points of the pages of an open PDF. Raises ParseError."""
    return _pool().page_sizes(fd)


def known(*, workspace_id: str, source_hash: str, name: str) -> SourceMap | None:
    """Return the kept source map of a content, if today's parser would make the same."""
    found = type_for_name(name)
    if found is None or not found.parser:
        return None
    parser = parser_for(name)
    source_map = artifacts.load(workspace_id=workspace_id, source_hash=source_hash, provider=parser.provider_id)
    return source_map if source_map and source_map.model_version == parser.revision else None


def known_all(*, workspace_id: str, wanted: Iterable[tuple[str, str]]) -> dict[tuple[str, str], SourceMap]:
    """Return the kept source maps of contents, by (source hash, name), where today's parser would make the same."""
    keys = {(source_hash, name): key for source_hash, name in wanted if (key := _key(source_hash, name))}
    kept = artifacts.load_all(workspace_id=workspace_id, wanted=keys.values())
    return {each: kept[key] for each, key in keys.items() if key in kept}


def revision_of(name: str) -> tuple[str, str] | None:
    """Return the parser of today for files of this name, as (provider, revision); None for files that are not read."""
    key = _key("", name)
    return key[1:] if key else None


def current_revisions() -> frozenset[tuple[str, str]]:
    """Return all parsers of today, as (provider, revision)."""
    names = [f"name.{extension}" for extension in SUPPORTED] + ["makefile", "readme"]
    return frozenset(found for name in names if (found := revision_of(name)))


def _key(source_hash: str, name: str) -> tuple[str, str, str] | None:
    found = type_for_name(name)
    if found is None or not found.parser:
        return None
    parser = parser_for(name)
    return source_hash, parser.provider_id, parser.revision


@lru_cache(maxsize=1)
def _pool() -> ParsePool:
    limits = ParseLimits(max_bytes=settings.MNOTE_MAX_FILE_MB * _MEGABYTE, seconds=float(settings.MNOTE_PARSE_SECONDS))
    pool = ParsePool(size=settings.MNOTE_PARSE_SLOTS, limits=limits)
    atexit.register(pool.close)
    return pool
