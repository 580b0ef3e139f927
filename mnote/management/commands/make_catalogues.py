"""Add texts marked for translation to the catalogues: `manage.py make_catalogues`, then fill in what is empty."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from mnote.catalogues import project
from mnote.catalogues.files import update


class Command(BaseCommand):
    """Bring locale/*/LC_MESSAGES/django.po level with the code. Nothing but Python is needed."""

    help = "Add new texts to the catalogues. Then fill in the empty msgstr lines and run check_catalogues."
    requires_system_checks: list[str] = []

    def handle(self, *_: Any, **__: Any) -> None:
        messages = project.messages()
        for path in project.catalogue_paths():
            waiting = update(path, messages)
            self.stdout.write(f"{path.parent.parent.name}: {len(messages)} texts, {waiting} without translation")
