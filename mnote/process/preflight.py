"""What must be true before anything starts: folders, settings, an up-to-date database, a clean embedded broker."""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings
from django.core import checks
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from mnote.models import Job, JobStatus
from mnote.services import sweeping

_BACKUPS_KEPT = 5

Say = Callable[[str], None]


class PreflightFailed(Exception):
    """It must not start. The message names each reason and a way out."""


def make_folders() -> None:
    """Create the data folder and what lies in it, for its owner alone. Raises PreflightFailed."""
    wanted = [settings.MNOTE_DATA_DIR, settings.MNOTE_INDEX_DIR, settings.MNOTE_ARTIFACT_DIR, settings.STATIC_ROOT]
    for folder in (*wanted, *broker_folders()):
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise PreflightFailed(f"The folder {folder.name} cannot be made: {error.strerror}") from error


def run_checks(say: Say) -> None:
    """Run the system checks; print warnings, raise PreflightFailed on errors."""
    found = checks.run_checks()
    for message in found:
        if not message.is_serious() and not message.is_silenced():
            say(str(message))
    errors = [str(message) for message in found if message.is_serious() and not message.is_silenced()]
    if errors:
        raise PreflightFailed("\n".join(errors))


def migrate(say: Say) -> int:
    """Bring the database up to date and return how many migrations ran. A SQLite file is copied first."""
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if not plan:
        return 0
    copy = _back_up() if executor.loader.applied_migrations else None
    if copy:
        say(f"Kept a copy of the database as {copy.parent.name}/{copy.name}")
    call_command("migrate", interactive=False, verbosity=0)
    say(f"Brought the database up to date ({len(plan)} steps)")
    return len(plan)


def _back_up() -> Path | None:
    """Copy a SQLite database with its own backup call, which sees one moment of it; keep the last few copies."""
    if connection.vendor != "sqlite":
        return None
    folder: Path = settings.MNOTE_DATA_DIR / "backups"
    folder.mkdir(exist_ok=True, mode=0o700)
    target = folder / f"before-migration-{datetime.now(UTC):%Y%m%dT%H%M%S%f}.sqlite3"
    source = Path(connection.settings_dict["NAME"])
    with sqlite3.connect(source) as database, sqlite3.connect(target) as copy:
        database.backup(copy)
    database.close()
    copy.close()
    for old in sorted(folder.glob("before-migration-*.sqlite3"))[:-_BACKUPS_KEPT]:
        old.unlink()
    return target


def check_address(host: str, port: int) -> None:
    """Refuse an address that somebody listens on. The web server would share it without a word, and every second
    request would be answered by the other program. Raises PreflightFailed."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise PreflightFailed(f"{host}:{port} cannot be used ({error.strerror}). Choose another --port.") from error


def broker_folders() -> list[Path]:
    """The embedded broker's folders; none when the broker is a server."""
    if not settings.CELERY_BROKER_URL.startswith("folder:"):
        return []
    options: dict[str, str] = getattr(settings, "CELERY_BROKER_TRANSPORT_OPTIONS", {})
    return sorted({Path(options[key]) for key in ("data_folder_in", "data_folder_out", "control_folder")})


def wipe_broker() -> None:
    """Throw the embedded broker's messages away: the job rows say what is to be done."""
    folders = broker_folders()
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if folders:
        sweeping.forget_rings()


def free_leases() -> int:
    """Let leases of a former run end now. Only with SQLite: there the run lock proves that no other worker lives."""
    if connection.vendor != "sqlite":
        return 0
    now = timezone.now()
    return Job.objects.filter(status=JobStatus.RUNNING, lease_expires_at__gt=now).update(lease_expires_at=now)


def prepare(*, roles: Iterable[str], say: Say) -> None:
    """Do all of it for a run with these roles, which holds the run lock. Raises PreflightFailed.

    It leaves its database connection open. SQLite folds its log into the database whenever the last connection
    closes; while the supervisor holds one, no request and no job pays for that.
    """
    os.umask(0o077)
    run_checks(say)
    migrate(say)
    if "worker" in roles:
        wipe_broker()
        free_leases()
    connection.ensure_connection()
