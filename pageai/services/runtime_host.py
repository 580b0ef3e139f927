"""The agent host: starts, watches and ends the opencode of each runtime identity as the rows want it.

One process a data folder, `manage.py agent_host`; `serve` starts it. It alone owns the processes: they end with it, and
what a host that was killed left behind is ended by the next one, if it is still that very process.
"""

from __future__ import annotations

import logging
import re
import secrets
import socket
import subprocess
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError
from django.db.models import QuerySet
from django.utils import timezone

from mnote import connections
from mnote.exceptions import AppError
from mnote.principals import Principal
from mnote.sealing import seal
from mnote.selectors import access
from pageai.models import OpencodeRuntime, RuntimeState
from pageai.panel.connection import Endpoint
from pageai.panel.errors import PanelError
from pageai.panel.opencode import Opencode
from pageai.panel.tool_rules import Reach
from pageai.runtime import processes
from pageai.runtime.program import Launch, can_fence, find_program
from pageai.services import runtime_checks, runtime_files
from pageai.services.gatekeeping import directory_of, reach_of
from pageai.services.runtime_checks import Verdict

logger = logging.getLogger(__name__)

_TICK_SECONDS, _LOOK_SECONDS, _ASK_SECONDS = 0.3, 2.0, 10.0
_SILENT_TIMES, _FAILURES, _LONGEST_PAUSE = 3, 4, 30
_WELL_AFTER, _RECENT = timedelta(minutes=1), timedelta(minutes=2)
#: A conversation that waits for its person keeps its program this many times as long.
_BUSY_TIMES = 8
_LISTENS = re.compile(rb"listening on http://127\.0\.0\.1:\d+")


@dataclass(slots=True, kw_only=True)
class Running:
    """A process of this host."""

    popen: subprocess.Popen[bytes]
    launch: Launch
    log: Path
    ready_by: float
    began: str
    check: Future[Verdict] | None = None
    looked: float = 0.0
    asked: float = field(default_factory=time.monotonic)
    silent: int = 0

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(url=f"http://127.0.0.1:{self.launch.port}", password=self.launch.password)


class Host:
    """The programs of this machine. Every method is called by the main thread."""

    def __init__(self) -> None:
        self._running: dict[str, Running] = {}
        self._pool = ThreadPoolExecutor(2, thread_name_prefix="agent-check")

    def run(self, stop: threading.Event) -> None:
        """Work until told to stop; then end everything."""
        end_leftovers()
        try:
            while not stop.wait(_TICK_SECONDS):
                try:
                    self.tick()
                except DatabaseError:
                    logger.exception("the agent host could not read its rows")
                connections.let_go()
        finally:
            self.stop()

    def tick(self) -> None:
        """Bring every program one step nearer to what its row wants."""
        steps = {
            RuntimeState.WANTED: self._when_wanted,
            RuntimeState.STARTING: self._when_starting,
            RuntimeState.READY: self._when_ready,
            RuntimeState.ENDING: self._when_ending,
        }
        rows = list(OpencodeRuntime.objects.filter(state__in=list(steps)).select_related("user", "workspace"))
        for row in rows:
            steps[RuntimeState(row.state)](row)
        for identity in set(self._running) - {row.pk for row in rows}:
            self._end_process(identity)  # its row is gone

    def stop(self) -> None:
        """End every program of this host."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        for identity in list(self._running):
            self._end_process(identity)
        live = (RuntimeState.WANTED, RuntimeState.STARTING, RuntimeState.READY)
        rows = OpencodeRuntime.objects.filter(state__in=live)
        _over(rows, RuntimeState.ENDED, "server_stopped")

    def _when_wanted(self, row: OpencodeRuntime) -> None:
        if row.retry_at is not None and timezone.now() < row.retry_at:
            return
        if len(self._running) >= settings.MNOTE_OPENCODE_MAX:
            if not self._make_room():
                _of(row).filter(state=RuntimeState.WANTED).update(reason="too_many")
            return
        try:
            reach, root = rights_of(row)
        except AppError:
            _over(_of(row), RuntimeState.ENDED, "access_changed")
            return
        if reason := self._start(row, reach, root):
            _over(_of(row), RuntimeState.FAILED, reason)

    def _start(self, row: OpencodeRuntime, reach: Reach, root: str) -> str:
        """Start a program; return why it could not be."""
        program = find_program(settings.MNOTE_OPENCODE_PROGRAM)
        if not program:
            return "program_missing"
        launch = Launch(
            program=program,
            root=root,
            home=runtime_files.home_of(row.folder_key),
            port=_free_port(),
            password=secrets.token_urlsafe(32),
            may_write=reach.covers_the_root and reach.may_write_somewhere,
            is_fenced=settings.MNOTE_OPENCODE_FENCE and can_fence(),
        )
        try:
            runtime_files.write(launch.home, reach)
            launch.sign.unlink(missing_ok=True)
        except (OSError, ValueError):
            return "config_unreadable"
        log = launch.home / "output.log"
        try:
            popen = processes.start(launch, log=log)
        except OSError:
            return "folder_missing"
        began, ready_by = processes.began(popen.pid), time.monotonic() + settings.MNOTE_OPENCODE_START_SECONDS
        self._running[row.pk] = Running(popen=popen, launch=launch, log=log, ready_by=ready_by, began=began)
        _of(row).update(
            state=RuntimeState.STARTING,
            since=timezone.now(),
            starts=row.starts + 1,
            pid=popen.pid,
            pid_began=began,
            port=0,
            sealed_password=seal(launch.password),
            reach_mark=runtime_files.mark_of(reach, root),
            is_fenced=launch.is_fenced,
        )
        return ""

    def _when_starting(self, row: OpencodeRuntime) -> None:
        running = self._running.get(row.pk)
        if running is None or running.popen.poll() is not None or time.monotonic() > running.ready_by:
            self._failed(row, "not_ready")
        elif running.check is None:
            if _LISTENS.search(running.log.read_bytes()):
                running.check = self._pool.submit(runtime_checks.look, running.launch, running.endpoint)
        elif running.check.done():
            verdict = running.check.result()
            if verdict.reason:
                self._failed(row, verdict.reason)
                return
            facts = {"port": running.launch.port, "version": verdict.version[:40], "reason": ""}
            rows = _of(row).filter(state=RuntimeState.STARTING)
            rows.update(state=RuntimeState.READY, since=timezone.now(), **facts)

    def _when_ready(self, row: OpencodeRuntime) -> None:
        running = self._running.get(row.pk)
        if running is None or running.popen.poll() is not None:
            self._failed(row, "crashed")
            return
        if time.monotonic() - running.looked < _LOOK_SECONDS:
            return
        running.looked = time.monotonic()
        if row.failures and timezone.now() - row.since > _WELL_AFTER:
            _of(row).update(failures=0)
        if reason := self._why_end(row, running):
            _of(row).filter(state=RuntimeState.READY).update(state=RuntimeState.ENDING, reason=reason)
        elif self._is_silent(running):
            self._failed(row, "silent")

    def _when_ending(self, row: OpencodeRuntime) -> None:
        self._end_process(row.pk)
        _over(_of(row).filter(state=RuntimeState.ENDING), RuntimeState.ENDED, row.reason)

    def _why_end(self, row: OpencodeRuntime, running: Running) -> str:
        """Say why a program has to end now, "" when it may go on."""
        if not row.user.is_active:
            return "account_closed"
        try:
            reach, root = rights_of(row)
        except AppError:
            return "access_changed"
        if runtime_files.mark_of(reach, root) != row.reach_mark:
            return "access_changed"
        unused, idle = timezone.now() - row.used_at, timedelta(seconds=settings.MNOTE_OPENCODE_IDLE_SECONDS)
        is_idle = unused > idle and (unused > idle * _BUSY_TIMES or not _is_busy(running))
        return "idle" if is_idle else ""

    def _is_silent(self, running: Running) -> bool:
        """The watchdog: a program that does not answer several times in a row is as good as dead."""
        if time.monotonic() - running.asked < _ASK_SECONDS:
            return False
        running.asked = time.monotonic()
        try:
            Opencode(running.endpoint).version()
        except PanelError:
            running.silent += 1
        else:
            running.silent = 0
        return running.silent >= _SILENT_TIMES

    def _failed(self, row: OpencodeRuntime, reason: str) -> None:
        """Start it again after a pause that grows, while somebody uses it; else leave it to whoever asks next."""
        self._end_process(row.pk)
        now, failures = timezone.now(), row.failures + 1
        is_again = failures < _FAILURES and now - row.used_at < _RECENT
        state = RuntimeState.WANTED if is_again else RuntimeState.FAILED
        pause = timedelta(seconds=min(2**failures, _LONGEST_PAUSE))
        logger.warning("an opencode failed", extra={"reason": reason, "failures": failures})
        _over(_of(row), state, reason)
        _of(row).update(failures=failures if is_again else 0, retry_at=now + pause)

    def _make_room(self) -> bool:
        """End the one that was unused longest, if it does nothing."""
        idle = OpencodeRuntime.objects.filter(state=RuntimeState.READY, used_at__lt=timezone.now() - _WELL_AFTER)
        for row in idle.order_by("used_at"):
            running = self._running.get(row.pk)
            if running is not None and not _is_busy(running):
                _of(row).update(state=RuntimeState.ENDING, reason="idle")
                return True
        return False

    def _end_process(self, identity: str) -> None:
        running = self._running.pop(identity, None)
        if running is not None:
            processes.end(running.popen.pid, running.began)
            running.popen.poll()


def end_leftovers() -> int:
    """End what a host that was killed left running, and say how many there were."""
    rows = list(OpencodeRuntime.objects.exclude(pid=0))
    ended = [processes.end(row.pid, row.pid_began) for row in rows]
    live = [RuntimeState.STARTING, RuntimeState.READY, RuntimeState.ENDING]
    for row in rows:
        is_live = row.state in live
        _over(_of(row), RuntimeState.ENDED if is_live else row.state, "server_stopped" if is_live else row.reason)
    return sum(ended)


def rights_of(row: OpencodeRuntime) -> tuple[Reach, str]:
    """Return what the person of a runtime may do in its root now, and the root's folder. Raises AppError."""
    principal = Principal(user=row.user)
    root = access.root_of(access.get_workspace(principal, row.workspace_id), row.root_uri)
    found = access.access_map(principal, root)
    if not found.sees_anything:
        raise AppError
    return reach_of(found), directory_of(root)


def _free_port() -> int:
    """opencode itself would take its usual port while that is free: everybody could guess it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _is_busy(running: Running) -> bool:
    try:
        return Opencode(running.endpoint).is_anything_busy(directory=running.launch.root)
    except PanelError:
        return False


def _of(row: OpencodeRuntime) -> QuerySet[OpencodeRuntime]:
    return OpencodeRuntime.objects.filter(pk=row.pk)


def _over(rows: QuerySet[OpencodeRuntime], state: str, reason: str) -> None:
    facts = {"pid": 0, "pid_began": "", "port": 0, "sealed_password": ""}
    rows.update(state=state, reason=reason, since=timezone.now(), **facts)
