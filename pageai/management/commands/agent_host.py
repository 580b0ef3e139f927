"""Start, watch and end the opencode of each person and root: `manage.py agent_host`."""

from __future__ import annotations

import signal
import threading
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from mnote.process import lock
from pageai.services import runtimes
from pageai.services.runtime_host import Host


class Command(BaseCommand):
    """Work until told to stop. It runs on the machine of the web server, once a data folder; `serve` starts it."""

    help = "Start, watch and end the opencode of each person and root."

    def handle(self, *_args: Any, **_options: Any) -> None:
        if not runtimes.is_managed():
            raise CommandError("MNOTE_OPENCODE_PROGRAM names no program to start.")
        try:
            held = lock.take(settings.MNOTE_DATA_DIR, (runtimes.ROLE,))
        except lock.AlreadyRunning as error:
            raise CommandError(str(error)) from error
        stop = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
        try:
            Host().run(stop)
        finally:
            held.release()
