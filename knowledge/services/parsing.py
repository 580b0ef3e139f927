"""Parsing for the rest of the app: one pool of bounded child processes per worker process."""

from __future__ import annotations

import atexit
from functools import lru_cache

from django.conf import settings

from knowledge.parsing.base import ParseLimits
from knowledge.parsing.page_images import PageImage
from knowledge.parsing.registry import parser_for, type_for_name
from knowledge.parsing.source_map import SourceMap
from knowledge.parsing.worker_pool import ParsePool
from knowledge.services import artifacts

_MEGABYTE = 1024 * 1024


def parse(*, fd: int, name: str) -> SourceMap:
    """Parse an open file in a child process. Raises ParseError."""
    return _pool().parse(fd, name)


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


@lru_cache(maxsize=1)
def _pool() -> ParsePool:
    limits = ParseLimits(max_bytes=settings.MNOTE_MAX_FILE_MB * _MEGABYTE, seconds=float(settings.MNOTE_PARSE_SECONDS))
    pool = ParsePool(size=settings.MNOTE_PARSE_SLOTS, limits=limits)
    atexit.register(pool.close)
    return pool
