"""Serve the tools over standard input and output, as one fixed person: `manage.py mcp_stdio --user NAME [--kb ID…]`."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from mnote.exceptions import AppError
from pageai.services import callers


class Command(BaseCommand):
    """One process is one identity: it carries no token, and whoever can start it may read what its person may read."""

    help = "Serve the read-only tools over standard input and output, as one fixed person."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--user", required=True, help="username of the person")
        parser.add_argument("--kb", nargs="+", default=[], metavar="ID", help="only these knowledge bases")

    def handle(self, *_: Any, user: str, kb: list[str], **__: Any) -> None:
        who = partial(callers.of_person, user, kb_ids=kb)
        try:
            who()
        except AppError as error:
            raise CommandError(f"No active person has the name {user}.") from error
        from pageai.mcp import stdio  # noqa: PLC0415 loads the SDK

        asyncio.run(stdio.serve(who))
