"""Ask every layer whether it works: `manage.py check_stack [--json]`."""

from __future__ import annotations

import json as jsonlib
import sys
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from mnote.stack import look_at_all


class Command(BaseCommand):
    """Print each layer's state; exit non-zero when one is broken, naming it."""

    help = "Ask every layer whether it works; exit non-zero naming the broken one."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true")

    def handle(self, *_: Any, json: bool, **__: Any) -> None:
        reports = look_at_all()
        if json:
            self.stdout.write(jsonlib.dumps([asdict(report) for report in reports], ensure_ascii=False, indent=1))
        else:
            for report in reports:
                state = "ok" if report.is_ok else "BROKEN"
                self.stdout.write(
                    f"{report.name:<12} {state:<7} {report.milliseconds:>5} ms  {report.sentence}".rstrip()
                )
        broken = [report.name for report in reports if not report.is_ok]
        if broken:
            self.stderr.write("Broken: " + ", ".join(broken))
            sys.exit(1)
