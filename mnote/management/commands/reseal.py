"""Seal every stored secret with the newest secret key: `manage.py reseal`."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from mnote.services.resealing import reseal_all


class Command(BaseCommand):
    """Exit non-zero when a secret cannot be read, naming its row."""

    help = "Seal every stored secret with the newest secret key, so that MNOTE_SECRET_KEY_FALLBACKS can go."

    def handle(self, *_: Any, **__: Any) -> None:
        resealed = reseal_all()
        self.stdout.write(f"{resealed.count} secrets sealed anew.")
        if resealed.unreadable:
            raise CommandError("No known key opens, enter anew: " + ", ".join(resealed.unreadable))
