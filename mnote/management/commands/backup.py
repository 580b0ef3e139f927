"""Keep what cannot be rebuilt: `manage.py backup FILE`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from mnote.services import backups


class Command(BaseCommand):
    """Write the database and the secret key into one archive, while MNote runs."""

    help = "Write the database and the secret key into one archive, while MNote runs."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)

    def handle(self, *_: Any, file: Path, **__: Any) -> None:
        try:
            backups.write(file)
        except backups.BackupFailed as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"Wrote {file.name}. It holds the secret key: keep it as you keep a password.")
