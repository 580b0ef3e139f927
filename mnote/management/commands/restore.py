"""Put a backup back: `manage.py restore FILE`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from mnote.process import preflight
from mnote.services import backups


class Command(BaseCommand):
    """Bring an empty database up to date and put a backup into it."""

    help = "Bring an empty database up to date and put a backup into it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)

    def handle(self, *_: Any, file: Path, **__: Any) -> None:
        try:
            preflight.make_folders()
            preflight.migrate(self.stdout.write)
            backups.restore(file)
        except (preflight.PreflightFailed, backups.BackupFailed) as error:
            raise CommandError(str(error)) from error
        self.stdout.write("Restored. Indexes and artifacts are built again from your documents when MNote starts.")
