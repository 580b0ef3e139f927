"""The opencode of each person and root, as those who need it see it: asked for, waited for, ended.

Nothing is started here: a row says what is wanted, and the agent host (`manage.py agent_host`) does it. The host and
those who ask share a machine, since opencode listens on loopback alone.
"""

from __future__ import annotations

import fcntl
import os
import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from mnote import connections
from mnote.ids import text_key
from mnote.models import User
from mnote.sealing import Unsealable, unseal
from pageai.exceptions import AgentNotStarted
from pageai.models import OpencodeRuntime, RuntimeState
from pageai.panel.connection import Endpoint
from pageai.runtime.program import can_fence, find_program
from pageai.services import identities
from pageai.services.gatekeeping import Visit

#: The role whose lock the agent host holds while it runs.
ROLE = "agents"
_LOOK_SECONDS, _NOTE_EVERY = 0.2, timedelta(seconds=15)
_LIVE = (RuntimeState.WANTED, RuntimeState.STARTING, RuntimeState.READY)
_GIVEN_UP = frozenset({"program_missing", "config_unreadable", "too_many"})

#: Why there is none, for people. Codes that are no failure have a sentence as well: they are shown in the admin.
SENTENCES: dict[str, str | Promise] = {
    "host_missing": _("The process that starts the assistant is not running. Start it: manage.py serve."),
    "program_missing": _("The program opencode is not where the settings say."),
    "config_unreadable": _("The file with the assistant's models cannot be read."),
    "folder_missing": _("The folder cannot be opened on this machine."),
    "not_ready": _("The assistant's program did not get ready in time. It is tried again in a moment."),
    "wrong_folder": _("The assistant's program would work in another folder, so it was stopped."),
    "unguarded": _("The assistant's program runs without its guard, so it was stopped."),
    "foreign_configuration": _("The assistant's program read a configuration that is not ours, so it was stopped."),
    "crashed": _("The assistant's program ended by itself. What it waited for was not done; ask again."),
    "silent": _("The assistant's program no longer answered and was stopped. What it waited for was not done."),
    "too_many": _("As many assistants as this machine carries are at work. Try again in a few minutes."),
    "idle": _("It was not used for a while."),
    "signed_out": _("Its person signed out."),
    "account_closed": _("Its person's account was closed."),
    "access_changed": _("What its person may do here has changed."),
    "server_stopped": _("The server was stopped."),
    "stopped_by_admin": _("An administrator stopped it."),
}


def is_managed() -> bool:
    """Say whether MNote starts opencode itself."""
    return bool(settings.MNOTE_OPENCODE_PROGRAM)


def endpoint(visit: Visit) -> Endpoint:
    """Return where the opencode of a visit's runtime identity listens; have it started when it does not run.

    Raises:
        AgentNotStarted: it cannot be started, or not in time; `extra["reason"]` says why. FolderNotForAgents.
    """
    row = _wanted(visit)
    ends_at = time.monotonic() + settings.MNOTE_OPENCODE_START_SECONDS
    while True:
        _refuse(row)  # a host that was killed left rows that say ready
        if row.state == RuntimeState.READY:
            return _endpoint_of(row)
        if time.monotonic() > ends_at:
            raise _not_started(row.reason or "not_ready")
        connections.let_go()
        time.sleep(_LOOK_SECONDS)
        # One that was just ending may be started anew now.
        row = OpencodeRuntime.objects.exclude(state=RuntimeState.ENDED).filter(pk=row.pk).first() or _wanted(visit)


def live_endpoint(visit: Visit) -> Endpoint | None:
    """Return where it listens if it runs; nothing is started."""
    row = OpencodeRuntime.objects.filter(pk=_identity_of(visit), state=RuntimeState.READY).first()
    return _endpoint_of(row) if row else None


def end_of_account(user: User) -> int:
    """Have those of a person end whose account is closed, and say how many."""
    return _end(OpencodeRuntime.objects.filter(user=user), "account_closed")


def end_of_visit(user: User) -> int:
    """Have those of a person end who signs out, and say how many."""
    return _end(OpencodeRuntime.objects.filter(user=user), "signed_out")


def stop(rows: QuerySet[OpencodeRuntime]) -> int:
    """Have some end, for an administrator."""
    return _end(rows, "stopped_by_admin")


def is_host_running() -> bool:
    """Say whether an agent host holds the lock of this data folder."""
    path = Path(settings.MNOTE_DATA_DIR) / f"{ROLE}.lock"
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How it is with the programs that MNote starts. `note` is nothing broken, but to be known."""

    trouble: str = ""
    note: str = ""
    version: str = ""


def standing(user: User | None = None) -> Standing:
    """Say whether programs can be started here, for a person as their newest one stands."""
    if not is_host_running():
        return Standing(trouble=str(SENTENCES["host_missing"]))
    if not find_program(settings.MNOTE_OPENCODE_PROGRAM):
        return Standing(trouble=str(SENTENCES["program_missing"]))
    rows = OpencodeRuntime.objects.filter(user=user) if user else OpencodeRuntime.objects.all()
    newest = rows.order_by("-used_at").first()
    if newest is not None and newest.state == RuntimeState.FAILED:
        return Standing(trouble=str(SENTENCES.get(newest.reason, "")), version=newest.version)
    notes = [] if newest and newest.state == RuntimeState.READY else [_("Started when it is first asked.")]
    if not (settings.MNOTE_OPENCODE_FENCE and can_fence()):
        notes.append(_("The system has no working bubblewrap, so it is kept in its folder by its guard alone."))
    return Standing(note=" ".join(map(str, notes)), version=newest.version if newest else "")


def _wanted(visit: Visit) -> OpencodeRuntime:
    """Say that it is needed now. A row is touched rarely: looking at a page must not cost a write each time."""
    now, identity = timezone.now(), _identity_of(visit)
    facts = {
        "user": visit.principal.user,
        "workspace": visit.binding.workspace,
        "root_uri": visit.root.root_uri,
        "folder_key": text_key(identity),
        "since": now,
        "used_at": now,
    }
    row, is_new = OpencodeRuntime.objects.get_or_create(pk=identity, defaults=facts)
    if is_new or (row.state in _LIVE and now - row.used_at < _NOTE_EVERY):
        return row
    rows = OpencodeRuntime.objects.filter(pk=identity)
    rows.filter(state__in=_LIVE).update(used_at=now)
    over = rows.filter(state__in=(RuntimeState.ENDED, RuntimeState.FAILED))
    over.update(state=RuntimeState.WANTED, reason="", since=now, used_at=now)
    return rows.get()


def _refuse(row: OpencodeRuntime) -> None:
    if not is_host_running():
        raise _not_started("host_missing")
    if row.state == RuntimeState.FAILED:
        raise _not_started(row.reason)
    if row.state == RuntimeState.WANTED and row.reason in _GIVEN_UP:
        raise _not_started(row.reason)


def _not_started(reason: str) -> AgentNotStarted:
    return AgentNotStarted(SENTENCES.get(reason, ""), reason=reason, layer="opencode", retry_after=5)


def _endpoint_of(row: OpencodeRuntime) -> Endpoint:
    try:
        return Endpoint(url=f"http://127.0.0.1:{row.port}", password=unseal(row.sealed_password))
    except Unsealable:
        raise _not_started("crashed") from None


def _identity_of(visit: Visit) -> str:
    user, root = visit.principal.user, visit.root
    derived = identities.identities_of(user=user, root=root, page_resource_id=visit.binding.page_resource_id)
    return derived.runtime_identity


def _end(rows: QuerySet[OpencodeRuntime], reason: str) -> int:
    return rows.filter(state__in=_LIVE).update(state=RuntimeState.ENDING, reason=reason, since=timezone.now())
