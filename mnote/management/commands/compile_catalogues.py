"""Compile the catalogues beside their sources: `manage.py compile_catalogues`. Starting MNote does the same."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from mnote.catalogues.files import compile_stale


class Command(BaseCommand):
    """Write the .mo files that are missing or older than their .po; for images whose code is read-only later."""

    help = "Compile the catalogues that have changed. Nothing but Python is needed."
    requires_system_checks: list[str] = []

    def handle(self, *_: Any, **__: Any) -> None:
        for path in compile_stale(settings.LOCALE_PATHS):
            self.stdout.write(f"compiled {path.parent.parent.name}")
