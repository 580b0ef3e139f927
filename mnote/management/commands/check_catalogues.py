"""Fail when a text has no translation: `manage.py check_catalogues`."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from mnote.catalogues import project
from mnote.catalogues.files import problems


class Command(BaseCommand):
    """Compare the catalogues with the texts in code and templates."""

    help = "Fail on texts that are missing, empty or fuzzy in a catalogue, or have other placeholders."
    requires_system_checks: list[str] = []

    def handle(self, *_: Any, **__: Any) -> None:
        messages = project.messages()
        found = [each for path in project.catalogue_paths() for each in problems(path, messages)]
        for each in found:
            self.stderr.write(each)
        if found:
            raise CommandError(f"{len(found)} texts need work; make_catalogues adds the missing ones")
        self.stdout.write(f"{len(messages)} texts, all translated")
