"""System checks: a wrong setting becomes a sentence with a way out."""

from __future__ import annotations

import ipaddress
import os
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register  # noqa: A004 Django's name
from django.db import DatabaseError, connections

from mnote.process.mounts import network_file_system
from mnote.selectors import health

_BROKERS = frozenset({"redis", "rediss", "redis+socket", "sentinel", "folder", "memory"})
_SQLITE_AT_LEAST = (3, 35, 0)
_KEY_LENGTH = 32


@register()
def data_folder(**_: Any) -> list[CheckMessage]:
    folder: Path = settings.MNOTE_DATA_DIR
    nearest = next(each for each in (folder, *folder.parents) if each.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        hint = "Give the account that runs MNote this folder, or set MNOTE_DATA_DIR to one that it owns."
        return [Error("The data folder cannot be written.", hint=hint, id="mnote.E001")]
    kind = network_file_system(nearest)
    if kind and _uses_sqlite():
        hint = "Set MNOTE_DATA_DIR to a folder on a local disk, or use PostgreSQL (MNOTE_PROFILE=production)."
        return [
            Error(f"The SQLite database is on a network drive ({kind}), which ruins it.", hint=hint, id="mnote.E002")
        ]
    return []


@register()
def public_url(**_: Any) -> list[CheckMessage]:
    parts = urlsplit(settings.MNOTE_PUBLIC_URL)
    is_plain = not (parts.query or parts.fragment or parts.username or parts.password)
    if parts.scheme not in {"http", "https"} or not parts.hostname or not is_plain:
        hint = "Set MNOTE_PUBLIC_URL to the address people type, such as https://notes.example.org or …/mnote."
        return [Error("MNOTE_PUBLIC_URL is not an address that a browser can use.", hint=hint, id="mnote.E003")]
    if parts.scheme == "http" and not _is_loopback(parts.hostname):
        hint = "Put a proxy with TLS before MNote and set MNOTE_PUBLIC_URL to its https:// address."
        return [Warning("Passwords travel unencrypted to MNOTE_PUBLIC_URL.", hint=hint, id="mnote.W004")]
    return []


@register()
def secret_key(**_: Any) -> list[CheckMessage]:
    if len(settings.SECRET_KEY) >= _KEY_LENGTH:
        return []
    hint = "Give MNOTE_SECRET_KEY (or the file of MNOTE_SECRET_KEY_FILE) 50 random characters."
    return [Error("The secret key is too short: sessions could be forged.", hint=hint, id="mnote.E005")]


@register()
def broker(**_: Any) -> list[CheckMessage]:
    if urlsplit(settings.CELERY_BROKER_URL).scheme in _BROKERS:
        return []
    hint = "Set MNOTE_REDIS_URL to redis://host:6379/0 or rediss://…"
    return [Error("The broker's address is none that MNote can use.", hint=hint, id="mnote.E006")]


@register()
def sqlite_version(**_: Any) -> list[CheckMessage]:
    if not _uses_sqlite() or sqlite3.sqlite_version_info >= _SQLITE_AT_LEAST:
        return []
    hint = "Use a Python whose SQLite is 3.35 or newer, or PostgreSQL (MNOTE_PROFILE=production)."
    return [Error(f"SQLite {sqlite3.sqlite_version} is too old.", hint=hint, id="mnote.E007")]


@register(Tags.translation)
def catalogues(**_: Any) -> list[CheckMessage]:
    stale = [source.parent.parent.name for source in _catalogues() if not _is_compiled(source)]
    if not stale:
        return []
    names = ", ".join(sorted(set(stale)))
    hint = "Run `python manage.py compile_catalogues` as an account that may write the code folder."
    return [Warning(f"These translations are not compiled: {names}.", hint=hint, id="mnote.W008")]


@register(Tags.database)
def workers(databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """Runs with `check --database default`: it has to ask the database."""
    if not databases or not _has_tables():
        return []
    age = health.worker_age()
    if age is not None and age <= health.SILENT_SECONDS:
        return []
    when = "has ever shown up" if age is None else f"has shown a sign of life for {int(age)} s"
    hint = "Start one: `manage.py serve` runs it, or `celery -A mnote worker`. Until then nothing is indexed."
    return [Warning(f"No worker {when}.", hint=hint, id="mnote.W010")]


def _uses_sqlite() -> bool:
    return bool(connections["default"].vendor == "sqlite")


def _has_tables() -> bool:
    try:
        return "mnote_worker_beats" in connections["default"].introspection.table_names()
    except DatabaseError:
        return False


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _catalogues() -> Iterator[Path]:
    for folder in settings.LOCALE_PATHS:
        yield from Path(folder).glob("*/LC_MESSAGES/*.po")


def _is_compiled(source: Path) -> bool:
    compiled = source.with_suffix(".mo")
    return compiled.exists() and compiled.stat().st_mtime >= source.stat().st_mtime
