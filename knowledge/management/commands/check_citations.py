"""Prove on a folder that citations open where they say."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser

from knowledge.models import Reader
from knowledge.services import fidelity, fidelity_edits, fidelity_setup
from knowledge.services.fidelity import Tally
from knowledge.services.first_run import Ready
from mnote.principals import Principal

_COLUMNS = ("sampled", "exact", "moved", "changed", "gone", "degraded", "wrong", "missed", "narrowed")
_INSIDE = "MNOTE_CHECK_CITATIONS"
_WANTED = 0.995
_CONNECTION = {
    "url": "MNOTE_TEST_WEKNORA_URL",
    "key": "MNOTE_TEST_WEKNORA_KEY",
    "model": "MNOTE_TEST_WEKNORA_MODEL",
}


class Command(BaseCommand):
    """Index a folder in a scratch place, sample sentences, search and open them, and compare with the file itself."""

    help = "Sample sentences of a folder, search them, and check that each citation opens the place that holds it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder")
        parser.add_argument(
            "--provider", default="local", choices=["local", "weknora"],
            help=f"weknora: at a server, which {', '.join(_CONNECTION.values())} name",
        )  # fmt: skip
        parser.add_argument(
            "--reader", default=Reader.MNOTE, choices=Reader.values,
            help="provider: the server reads the files itself, by its document reader",
        )  # fmt: skip
        parser.add_argument("--edits", action="store_true", help="again after changes made to a copy")
        parser.add_argument("--limit", type=int, default=1000, help="how many sentences")
        parser.add_argument("--json", action="store_true")

    def handle(self, *_: Any, folder: str, provider: str, reader: str, **options: Any) -> None:
        place = Path(folder).resolve()
        if not place.is_dir():
            raise CommandError("This is not a folder.")
        connection = _connection() if provider != "local" else None
        if provider != "local" and connection is None:
            raise CommandError(f"Set {', '.join(_CONNECTION.values())} to check at a server.")
        if provider == "local" and reader == Reader.PROVIDER:
            raise CommandError("Only a server reads files itself: --provider weknora.")
        if os.environ.get(_INSIDE):
            try:
                sys.exit(self._inside(place, _ready(place, connection, reader), options))
            except fidelity_setup.Stuck as error:
                raise CommandError(f"Some documents never became ready: {error}") from error
        with tempfile.TemporaryDirectory(prefix="mnote-check-") as scratch:
            sys.exit(_again(Path(scratch), place, copy=options["edits"]))

    def _inside(self, folder: Path, ready: Ready, options: Mapping[str, Any]) -> int:
        """Run in a process of our own, whose data folder is a scratch folder. Raises Stuck."""
        principal = Principal(user=ready.owner)
        fidelity_setup.level(ready.kb)
        samples = fidelity.take_samples(ready.kb, limit=options["limit"])
        said = (lambda _line: None) if options["json"] else self.stderr.write
        tallies = {"asIs": fidelity.check(principal=principal, kb=ready.kb, samples=samples, say=said)}
        if options["edits"]:
            expected = fidelity_edits.edit(os.fsencode(folder), samples)
            fidelity_setup.level(ready.kb)
            tallies["afterEdits"] = fidelity.check_after(principal=principal, samples=samples, expected=expected)
        self._print(tallies, as_json=options["json"])
        return 0 if all(_is_good(tally) for tally in tallies.values()) else 1

    def _print(self, tallies: dict[str, Tally], *, as_json: bool) -> None:
        if as_json:
            body = {
                name: {column: tally.counts[column] for column in _COLUMNS} | {"faults": tally.faults}
                for name, tally in tallies.items()
            }
            self.stdout.write(json.dumps(body, ensure_ascii=False, indent=1))
            return
        for name, tally in tallies.items():
            self.stdout.write(f"{name}: " + " ".join(f"{column}={tally.counts[column]}" for column in _COLUMNS))
            self.stdout.write(f"{name}: {tally.right:.2%} told right")
            for fault in tally.faults[:20]:
                self.stdout.write(f"  {fault['outcome']} {fault['path']}: {fault['sentence']!r} {fault['why']}")


def _ready(folder: Path, connection: Mapping[str, str] | None, reader: str) -> Ready:
    call_command("migrate", verbosity=0)
    return fidelity_setup.prepare(folder=os.fsencode(folder), connection=connection, reader=reader)


def _again(scratch: Path, folder: Path, *, copy: bool) -> int:
    """Start this command anew with a data folder that goes away afterwards, on a copy of the folder if it is edited."""
    target = scratch / "folder"
    if copy:
        shutil.copytree(folder, target, symlinks=True)
        subprocess.run(["chmod", "-R", "u+w", str(target)], check=True)
    arguments = [str(target) if copy and argument == _given(folder) else argument for argument in sys.argv[1:]]
    environment = os.environ | {
        _INSIDE: "1",
        "MNOTE_DATA_DIR": str(scratch / "data"),
        "DJANGO_SETTINGS_MODULE": "mnote.settings.embedded",
    }
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), *arguments]
    return subprocess.run(command, env=environment, check=False).returncode


def _given(folder: Path) -> str:
    """Return the argument by which the folder was named on the command line."""
    return next(argument for argument in sys.argv[2:] if Path(argument).resolve() == folder)


def _connection() -> dict[str, str] | None:
    """Return where the server is, None where that is not said."""
    found = {name: os.environ.get(variable, "") for name, variable in _CONNECTION.items()}
    return found if all(found.values()) else None


def _is_good(tally: Tally) -> bool:
    return tally.counts["wrong"] == 0 and tally.right >= _WANTED
