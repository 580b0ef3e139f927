"""Backup and restore of what cannot be rebuilt: the database and the secret key, in one archive.

Rows are kept as JSON lines, so a backup of SQLite can be restored into PostgreSQL: that is also the way to move up.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
from contextlib import closing
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import connection, transaction

from mnote.models import User

_KEY, _ROWS = "secret_key", "rows.jsonl"
#: Made by migrations, of one run only, or kept by triggers. Without old jobs every index is checked after a restore.
_LEFT_OUT = [
    "contenttypes", "auth.permission", "sessions", "mnote.workerbeat", "mnote.signinlink", "mnote.job",
    "knowledge.kbcount",
]  # fmt: skip
_MAX_KEY_BYTES = 4096


class BackupFailed(Exception):
    """The archive cannot be written or restored; the message says why."""


def write(target: Path) -> None:
    """Write a backup to `target`, which must not exist yet, while MNote runs. Raises BackupFailed."""
    if target.exists():
        raise BackupFailed("The file exists already; choose another name.")
    with tempfile.TemporaryDirectory(prefix="backup-", dir=settings.MNOTE_DATA_DIR) as scratch:
        rows = Path(scratch) / _ROWS
        if connection.vendor == "sqlite":
            _dump_sqlite(Path(scratch), rows)
        else:
            _dump_server(rows)
        draft = Path(scratch) / "archive"
        with tarfile.open(draft, mode="w:gz") as archive:
            archive.add(rows, _ROWS)
            if _key_file().exists():
                archive.add(_key_file(), _KEY)
        draft.chmod(0o600)
        shutil.move(draft, target)


def restore(source: Path) -> None:
    """Put a backup into an empty, migrated database. Raises BackupFailed; then nothing was changed."""
    if User.objects.exists():
        raise BackupFailed("This database is in use; restore into an empty one.")
    with tempfile.TemporaryDirectory(prefix="restore-", dir=settings.MNOTE_DATA_DIR) as scratch:
        rows = Path(scratch) / _ROWS
        try:
            with tarfile.open(source, mode="r:gz") as archive:
                key = _unpack(archive, rows)
        except (tarfile.TarError, OSError, KeyError) as error:
            raise BackupFailed("This is not a backup of MNote, or it is damaged.") from error
        with transaction.atomic():
            call_command("loaddata", str(rows), verbosity=0)
    if key:
        _write_key(key)


def _dump_server(rows: Path) -> None:
    """Dump PostgreSQL as it is at one moment."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        call_command("dumpdata", *_dump_options(rows))


def _dump_sqlite(scratch: Path, rows: Path) -> None:
    """Dump a copy of SQLite's file, made by its own backup call: reading for minutes would hold up every writer."""
    live = sqlite3.connect(connection.settings_dict["NAME"])
    with closing(live), closing(sqlite3.connect(scratch / "mnote.sqlite3")) as copy:
        live.backup(copy)
    environment = os.environ | {"MNOTE_DATA_DIR": str(scratch), "DJANGO_SETTINGS_MODULE": "mnote.settings.embedded"}
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "dumpdata", *_dump_options(rows)]
    if subprocess.run(command, env=environment, check=False).returncode:
        raise BackupFailed("The database could not be read.")


def _dump_options(rows: Path) -> list[str]:
    exclude = [f"--exclude={label}" for label in _LEFT_OUT]
    return ["--format=jsonl", f"--output={rows}", "--natural-foreign", "--verbosity=0", *exclude]


def _unpack(archive: tarfile.TarFile, rows: Path) -> bytes:
    """Read the two members by name; names inside the archive never become paths. Returns the key, or nothing."""
    member = archive.extractfile(_ROWS)
    if member is None:
        raise KeyError(_ROWS)
    with rows.open("wb") as stream:
        shutil.copyfileobj(member, stream)
    if _KEY not in archive.getnames():
        return b""
    key = archive.extractfile(_KEY)
    return key.read(_MAX_KEY_BYTES) if key else b""


def _write_key(key: bytes) -> None:
    """Put the old key in the place of the one that this start has made: old citations and links stay valid."""
    draft = _key_file().with_name(".secret_key.restored")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(key)
    draft.replace(_key_file())


def _key_file() -> Path:
    return Path(settings.MNOTE_DATA_DIR) / _KEY
