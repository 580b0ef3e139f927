"""Watch the folders of all sources that are synced on change."""

from __future__ import annotations

import signal
import threading
from typing import Any

from django.core.management.base import BaseCommand

from knowledge.services import watching


class Command(BaseCommand):
    """Watch until told to stop. Losing it loses nothing: every source is looked at periodically as well."""

    help = "Watch the folders of all sources that are synced on change."

    def handle(self, *_args: Any, **_options: Any) -> None:
        stop = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
        watching.watch(stop)
