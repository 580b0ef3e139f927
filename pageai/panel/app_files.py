"""OpenHub's built pages, served below our prefix: what its bundle takes for granted is rewritten to what we tell it.

The bundle knows neither a path prefix nor a host. Each change below must find its place, else nothing is served: an
update of OpenHub that moves one is noticed at once, instead of sending people to the wrong address.
"""

from __future__ import annotations

import mimetypes
import re
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from pathlib import Path

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}
_MAX_BYTES = 32 * 1024 * 1024
#: Set by our script before the bundle runs.
_HOST = "window.__mnotePanel"


class AppMissing(Exception):
    """The pages are not installed, or this file is not one of them."""


class AppUnknown(Exception):
    """The pages are of a version that we cannot fit in. The message names the change that found no place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asset:
    body: bytes
    content_type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """A replacement in the entry bundle, and how often it may be found."""

    name: str
    pattern: re.Pattern[str]
    put: str
    at_least: int = 1
    at_most: int = 1


_CHANGES = (
    _Change(name="API address", pattern=re.compile(r'(?<=[\w$]=)"/api"(?=[,;])'), put=f"{_HOST}.api"),
    _Change(
        name="router prefix",
        pattern=re.compile(r"(?<=\(\{)basename:([\w$]+)(?=,children:[\w$]+,)"),
        put=rf"basename:\1={_HOST}.base",
    ),
    _Change(
        name="sign-in redirect",
        pattern=re.compile(r'window\.location\.href="/login"'),
        put=f"{_HOST}.signedOut()",
        at_least=4,
        at_most=12,
    ),
    _Change(
        name="preloaded chunks",
        pattern=re.compile(r'return"/"\+(?=[\w$]+\})'),
        put=f"return {_HOST}.chunks+",
        at_least=0,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What the page needs to know: its own address, that of the bundle's files, of our script and style sheet, and the
    session it goes on with ("" for a new conversation)."""

    base: str
    assets: str
    script: str
    style: str
    session: str = ""


def index(app_dir: Path, frame: Frame) -> str:
    """Return the page with our script before all others. Raises AppMissing, AppUnknown."""
    text = _read(app_dir, "index.html").decode()
    text, found = re.subn(r'(src|href)="/assets/', rf'\1="{escape(frame.assets)}', text)
    if not found or "</head>" not in text or "<head>" not in text:
        raise AppUnknown("index page")
    ours = (
        f'<head><script src="{escape(frame.script)}" data-base="{escape(frame.base)}" '
        f'data-assets="{escape(frame.assets)}" data-session="{escape(frame.session)}"></script>'
    )
    text = text.replace("<head>", ours, 1)
    return text.replace("</head>", f'<link rel="stylesheet" href="{escape(frame.style)}"></head>', 1)


def asset(app_dir: Path, name: str) -> Asset:
    """Return one file of the bundle. Raises AppMissing, AppUnknown."""
    if not _NAME.fullmatch(name):
        raise AppMissing
    path = app_dir / "assets" / name
    content_type = _TYPES.get(path.suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
    if path.suffix != ".js" or name not in _entries(app_dir):
        return Asset(body=_read(app_dir, f"assets/{name}"), content_type=content_type)
    return Asset(body=_rewritten(path, _changed_at(path)), content_type=content_type)


def check(app_dir: Path) -> None:
    """Find out whether the installed pages can be served. Raises AppMissing, AppUnknown."""
    index(app_dir, Frame(base="/", assets="/assets/", script="/s.js", style="/s.css"))
    entries = _entries(app_dir)
    if not entries:
        raise AppUnknown("index page")
    for name in entries:
        asset(app_dir, name)


def _entries(app_dir: Path) -> frozenset[str]:
    """Return the scripts that the page itself starts; only they hold what has to be changed."""
    found = re.findall(r'<script[^>]+src="/assets/([^"]+)"', _read(app_dir, "index.html").decode())
    return frozenset(found)


@lru_cache(maxsize=4)
def _rewritten(path: Path, changed_at: int) -> bytes:  # noqa: ARG001 a new build is another key
    text = _read(path.parent.parent, f"assets/{path.name}").decode()
    for change in _CHANGES:
        text, found = change.pattern.subn(change.put, text)
        if not change.at_least <= found <= change.at_most:
            raise AppUnknown(f"{change.name}: found {found} times")
    return text.encode()


def _changed_at(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        raise AppMissing from None


def _read(app_dir: Path, name: str) -> bytes:
    path = app_dir / name
    try:
        if path.stat().st_size > _MAX_BYTES or not path.resolve().is_relative_to(app_dir.resolve()):
            raise AppMissing
        return path.read_bytes()
    except OSError:
        raise AppMissing from None
