"""Write what registers the tools with an opencode: `manage.py agent_files --user NAME --workspace ID PATH`."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from mnote.exceptions import AppError
from mnote.selectors import access
from pageai.services import agent_files, bindings, callers, pages


class Command(BaseCommand):
    """The folder it prints is for OPENCODE_CONFIG_DIR. It holds a short-lived token, renewed while a worker runs."""

    help = "Write the opencode configuration, agent and skill for a page of a person, and print the folder."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--user", required=True, help="username of the person")
        parser.add_argument("--workspace", required=True, metavar="ID")
        parser.add_argument("--root", metavar="KEY", help="key or address of the root; the first one by default")
        parser.add_argument("path", help="the page: a file of the root")

    def handle(self, *_: Any, user: str, workspace: str, root: str | None, path: str, **__: Any) -> None:
        try:
            principal = callers.session_of(user)
            place = access.root_of(access.get_workspace(principal, workspace), root)
            page = pages.locate(principal=principal, root=place, path=path)
            binding = bindings.open_binding(principal=principal, page=page, metadata={"agentId": "opencode"}).binding
            self.stdout.write(str(agent_files.write(binding)))
        except AppError as error:
            raise CommandError(str(error.detail)) from error
