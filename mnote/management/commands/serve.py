"""Run MNote on one machine: `manage.py serve`."""

from __future__ import annotations

import os
import sys
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from mnote.process import lock, preflight, programs
from mnote.process.supervisor import Child, supervise

_MARGIN_SECONDS = 2


class Command(BaseCommand):
    """Check, migrate, then run the web server and the worker until one ends or Ctrl-C is pressed."""

    help = "Check, migrate, then run the web server and the worker until one ends or Ctrl-C is pressed."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)
        only = parser.add_mutually_exclusive_group()
        only.add_argument("--web-only", action="store_const", dest="roles", const=("web",))
        only.add_argument("--worker-only", action="store_const", dest="roles", const=("worker",))

    def handle(self, *_: Any, host: str, port: int, roles: tuple[str, ...] | None, **__: Any) -> None:
        chosen = roles or ("web", "worker")
        try:
            preflight.make_folders()
            held = lock.take(settings.MNOTE_DATA_DIR, chosen)
            if "web" in chosen:
                preflight.check_address(host, port)
            preflight.prepare(roles=chosen, say=self._say)
        except (lock.AlreadyRunning, preflight.PreflightFailed) as error:
            raise CommandError(str(error)) from error
        if "web" in chosen:
            address = os.environ.setdefault("MNOTE_PUBLIC_URL", f"http://{host}:{port}")
            self._say(f"MNote is at {address} (listening on {host}:{port}). Ctrl-C stops it.")
        limit = settings.MNOTE_STOP_SECONDS + _MARGIN_SECONDS
        children = _children(chosen, host, port)
        sys.exit(supervise(children, say=self._say, stop_seconds=limit, keep_open=held.descriptors))

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


def _children(roles: tuple[str, ...], host: str, port: int) -> list[Child]:
    web = [programs.web(host=host, port=port)] if "web" in roles else []
    if web and settings.MNOTE_OPENCODE_PROGRAM:
        web.append(programs.agent_host())
    return web + ([programs.worker(), programs.watcher()] if "worker" in roles else [])
