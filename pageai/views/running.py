"""The turns whose streams this process reads. A turn is read to its end whether or not a browser is there.

Four things run for each: the reader of OpenHub's stream; a tap on opencode's events, which tells pages that somebody
is asked for something; a recorder, which keeps the journal of the run; and a guard, which says that the turn is still
read here and ends it when its person may no longer work there, or when nobody works on it any more.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.db import DatabaseError

from mnote.exceptions import AppError
from pageai.models import EndReason, Run
from pageai.panel import headers
from pageai.panel.connection import Connection
from pageai.panel.errors import PanelError, PanelUnavailable
from pageai.panel.frames import Frame
from pageai.panel.relay import Relay
from pageai.panel.upstream import Call, Stream, open_stream
from pageai.services import changes, errands, gatekeeping, journals, settling, turns
from pageai.services.gatekeeping import Visit
from pageai.services.settling import Outcome
from pageai.threads import Beginning, beside, by_itself, in_thread
from pageai.views.recording import Recorder
from pageai.views.tapping import Tap

logger = logging.getLogger(__name__)

_GUARD_SECONDS, _LISTEN_SECONDS, _KEEP_SECONDS = 2.0, 3.0, 30.0
#: So long OpenHub may take to end a turn on which opencode works no more.
_GONE_SECONDS = 8.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """Sentences that the turn may have to say, in the language of the person who asked."""

    cut: str
    ended: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """How OpenHub answered: its status, and for a refusal what it said."""

    status: int
    said: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_stream(self) -> bool:
        return self.status == 200 and not self.said


class Turn:
    """One turn that is read here, for its run."""

    def __init__(self, visit: Visit, run: Run, connection: Connection, texts: Texts) -> None:
        self.visit = visit
        self.run = run
        self._connection = connection
        self._texts = texts
        self._recorder: Recorder | None = None
        self.relay = Relay(cut_text=texts.cut, hear=self._hear)
        self._head = Beginning[Head]()
        self._is_finished = asyncio.Event()
        self._reason: EndReason | None = None
        self._detail = ""
        self._is_ours = True

    @property
    def is_finished(self) -> bool:
        return self._is_finished.is_set()

    async def finished(self) -> None:
        """Wait until a turn that is over has been put in order, too, and the next question may come."""
        await self._is_finished.wait()

    async def start(self, call: Call) -> Head:
        """Ask OpenHub, and give how it answered; from then on the turn runs by itself. Raises PanelError."""
        by_itself(self._run(call))
        _turns[self.visit.binding.pk] = self
        return await self._head.wait()

    async def _run(self, call: Call) -> None:
        try:
            self._recorder = await self._make_recorder()
            tap = Tap(self.visit, self._recorder, silence_seconds=self._connection.silence_seconds)
            reading = asyncio.current_task()
            async with beside(tap.run()), beside(self._guard(reading, tap)), beside(self._recorder.run()):
                await self._ask(call, tap)
        except PanelError as error:
            self._reason, self._detail = EndReason.FAILED, error.code
            self._head.fail(error)
        finally:
            self._head.fail(PanelUnavailable(layer="openhub_fastapi"))
            self.relay.end()
            if self._recorder is not None:
                await self._recorder.flush()
            await in_thread(self._finish)
            self._is_finished.set()
            # A browser that is loading again comes a moment later for what nobody has seen yet.
            keep = _KEEP_SECONDS if self.relay.has_unseen else 0
            asyncio.get_running_loop().call_later(keep, self._forget)

    def _forget(self) -> None:
        if _turns.get(self.visit.binding.pk) is self:
            del _turns[self.visit.binding.pk]

    async def _make_recorder(self) -> Recorder:
        scribe = await in_thread(partial(journals.scribe_of, self.visit, self.run))
        return Recorder(self.visit, self.run, scribe)

    def _hear(self, frame: Frame) -> None:
        if self._recorder is not None:
            self._recorder.hear_frame(frame)

    async def _ask(self, call: Call, tap: Tap) -> None:
        # What the agent wants first may come with its first step: somebody has to listen by then.
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(tap.is_listening.wait(), _LISTEN_SECONDS)
        silence = self._connection.silence_seconds
        async with open_stream(call, layer="openhub_fastapi", silence_seconds=silence) as stream:
            head = await _head_of(stream)
            if not head.is_stream:
                self._reason, self._detail = EndReason.FAILED, f"openhub-{head.status}"
            self._head.tell(head)
            if head.is_stream:
                with contextlib.suppress(asyncio.CancelledError):
                    await self.relay.run(stream.pieces())

    async def _guard(self, reading: asyncio.Task[Any] | None, tap: Tap) -> None:
        """Look every moment whether the turn may go on, and whether there is still anybody who could end it."""
        without_agent = 0.0
        while True:
            await asyncio.sleep(_GUARD_SECONDS)
            text = await self._refusal()
            is_idle = self._recorder is not None and self._recorder.scribe.is_idle
            without_agent = without_agent + _GUARD_SECONDS if tap.is_gone.is_set() or is_idle else 0.0
            if text is None and without_agent > _GONE_SECONDS:
                text = self._texts.cut
            if text is not None:
                self.relay.end(text)  # first: OpenHub tells of the stop in words of its own
                if self._reason is EndReason.SIGNED_OUT:
                    await in_thread(self._stop)
                if reading is not None:
                    reading.cancel()
                return

    async def _refusal(self) -> str | None:
        """Return what to tell the viewer when the turn may not go on here."""
        try:
            self._is_ours = await in_thread(partial(gatekeeping.goes_on, self.visit))
        except DatabaseError:
            logger.exception("a running turn could not be looked at")
        except AppError as error:
            self._reason, self._detail = EndReason.SIGNED_OUT, error.code
            return self._texts.ended
        return None if self._is_ours else self._texts.ended

    def _stop(self) -> None:
        """The agent must not go on for somebody who may not: stop it, whatever may have ended meanwhile."""
        try:
            errands.abort(self.visit)
        except (AppError, PanelError) as error:
            logger.warning("a turn could not be stopped: %s", error.code)

    def _finish(self) -> None:
        """Put journal and references in order; only then may the next question come."""
        try:
            if self._recorder is not None and self._is_ours:
                outcome = Outcome(is_proper=self.relay.is_proper, reason=self._reason, detail=self._detail)
                settling.conclude(self.visit, self.run, self._recorder.scribe, outcome)
            changes.note_turn(self.visit, run_id=self.run.pk)
        except (AppError, PanelError) as error:
            logger.warning("changes of a turn were not noted: %s", error.code)
        finally:
            turns.end(binding_id=self.visit.binding.pk)


_turns: dict[str, Turn] = {}


def turn_of(binding_id: str) -> Turn | None:
    """Return the turn of a binding that is read in this process, or that ended with something nobody has seen."""
    found = _turns.get(binding_id)
    return None if found is None or (found.is_finished and not found.relay.has_unseen) else found


async def _head_of(stream: Stream) -> Head:
    if stream.status == 200 and headers.is_stream(stream.headers):
        return Head(status=200)
    said = await stream.error()
    return Head(status=stream.status, said=said or {"detail": ""})
