"""From a folder to a running MNote with one command."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from knowledge.services import first_run
from mnote.process import lock, preflight, programs
from mnote.process.supervisor import Child, supervise
from mnote.services import users

_OWN = "mnote"
#: Ends of lines that tell a person nothing: what the worker says when it is told to stop.
_NOISE = ("Warm shutdown (MainProcess)", "[worker] ")


class Command(BaseCommand):
    """Attach a folder, index it, answer a question, and keep serving until Ctrl-C."""

    help = "Attach a folder, index it, answer a question, and keep serving until Ctrl-C."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder")
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--ask", default="")
        parser.add_argument("--once", action="store_true")

    def handle(self, *_: Any, folder: str, host: str, port: int, ask: str, once: bool, **__: Any) -> None:
        try:
            preflight.make_folders()
            held = lock.take(settings.MNOTE_DATA_DIR, ("web", "worker"))
            if not once:
                preflight.check_address(host, port)
            preflight.prepare(roles=("web", "worker"), say=self._say)
            ready = first_run.prepare(folder=os.fsencode(Path(folder).resolve()))
        except (lock.AlreadyRunning, preflight.PreflightFailed, first_run.FolderUnusable) as error:
            raise CommandError(str(error)) from error
        for line in ready.notes:
            self._say(line)
        os.environ.setdefault("MNOTE_LOG_LEVEL", "WARNING")
        children = [] if once else [programs.web(host=host, port=port), programs.watcher()]
        children += [programs.worker(), self._guide(ready, ask, once=once)]
        limit = settings.MNOTE_STOP_SECONDS + 2
        sys.exit(supervise(children, say=self._say, stop_seconds=limit, keep_open=held.descriptors))

    def _guide(self, ready: first_run.Ready, ask: str, *, once: bool) -> Child:
        """The process that follows the indexing, asks, and prints; with --once it ends the run."""
        command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "follow", ready.kb.id, "--ask", ask]
        if not once:
            secret = users.make_sign_in_link(ready.owner)
            command += ["--address", f"{settings.MNOTE_PUBLIC_URL}/sign-in/{secret}"]
        return Child(name=_OWN, command=tuple(command), ends_run=True)

    def _say(self, line: str) -> None:
        text = line.removeprefix(f"[{_OWN}] ")
        if not text.endswith(_NOISE):
            self.stdout.write(text)
            self.stdout.flush()
