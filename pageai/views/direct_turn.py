"""One question asked of opencode itself, read here to its end whether or not a browser is there.

What opencode tells is kept in the journal of the run, and pages read it there. When this process ends, or opencode
cannot be heard for long, the run is settled later (`pageai.services.settling`).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from functools import partial

from django.db import DatabaseError

from mnote.exceptions import AppError
from pageai.models import EndReason, Run
from pageai.panel.errors import PanelError, PanelUnavailable
from pageai.panel.opencode import LAYER
from pageai.services import changes, direct, gatekeeping, journals, settling, turns
from pageai.services.gatekeeping import Visit
from pageai.services.settling import Outcome
from pageai.threads import Beginning, beside, by_itself, in_thread
from pageai.views.recording import Recorder
from pageai.views.tapping import Tap

logger = logging.getLogger(__name__)

_LOOK_SECONDS, _GUARD_SECONDS, _LISTEN_SECONDS = 0.3, 2.0, 3.0
#: So long opencode may not be heard before somebody else has to look after the run.
_DEAF_SECONDS = 30.0


class DirectTurn:
    """One turn. Its claim was made before; from `start` on it runs by itself."""

    def __init__(self, visit: Visit, run: Run, question: str) -> None:
        self._visit = visit
        self._run = run
        self._question = question
        self._asked = Beginning[None]()
        self._reason: EndReason | None = None
        self._detail = ""
        self._is_ours = True

    async def start(self) -> None:
        """Ask, and return when opencode has the question. Raises AppError, PanelError."""
        by_itself(self._work())
        await self._asked.wait()

    async def _work(self) -> None:
        recorder: Recorder | None = None
        failure: Exception = PanelUnavailable(layer=LAYER)
        try:
            scribe = await in_thread(partial(journals.scribe_of, self._visit, self._run))
            recorder = Recorder(self._visit, self._run, scribe)
            await self._read(recorder, Tap(self._visit, recorder))
        except (AppError, PanelError) as error:
            self._reason, self._detail, failure = EndReason.FAILED, error.code, error
        finally:
            if recorder is not None:
                await recorder.flush()
            await in_thread(partial(self._finish, recorder))
            self._asked.fail(failure)

    async def _read(self, recorder: Recorder, tap: Tap) -> None:
        async with beside(tap.run()), beside(recorder.run()):
            # What the agent does first may come at once: somebody has to listen by then.
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(tap.is_listening.wait(), _LISTEN_SECONDS)
            await in_thread(partial(direct.send, self._visit, self._question))
            self._asked.tell(None)
            await self._until_over(recorder, tap)

    async def _until_over(self, recorder: Recorder, tap: Tap) -> None:
        """Wait until the agent works no more, its person may no longer work there, or nobody can be heard."""
        guarded = heard = time.monotonic()
        while not (tap.is_gone.is_set() or await self._is_over(recorder)):
            await asyncio.sleep(_LOOK_SECONDS)
            now = time.monotonic()
            heard = heard if tap.is_cut_off else now
            if now - heard > _DEAF_SECONDS:
                return
            if now - guarded >= _GUARD_SECONDS:
                guarded = now
                if not await self._may_go_on():
                    return

    async def _is_over(self, recorder: Recorder) -> bool:
        """An agent that says that it is idle may only rest between two steps: look whether it does."""
        scribe = recorder.scribe
        if not scribe.is_idle and not scribe.error:
            return False
        if scribe.error or scribe.was_aborted:
            return True
        try:
            return not (await recorder.catch_up()).is_busy
        except PanelError:
            return False

    async def _may_go_on(self) -> bool:
        try:
            self._is_ours = await in_thread(partial(gatekeeping.goes_on, self._visit))
        except DatabaseError:
            logger.exception("a running turn could not be looked at")
        except AppError as error:
            self._reason, self._detail = EndReason.SIGNED_OUT, error.code
            await in_thread(self._stop)
            return False
        return self._is_ours

    def _stop(self) -> None:
        try:
            direct.abort(self._visit)
        except (AppError, PanelError) as error:
            logger.warning("an agent could not be stopped", extra={"code": error.code})

    def _finish(self, recorder: Recorder | None) -> None:
        """Put journal and references in order; only then may the next question come."""
        try:
            if recorder is None:
                settling.fail(self._visit, code=self._detail or "internal")
            elif self._is_ours:
                self._conclude(recorder)
                changes.note_turn(self._visit, run_id=self._run.pk)
        except (AppError, PanelError) as error:
            logger.warning("changes of a turn were not noted", extra={"code": error.code})
        finally:
            turns.end(binding_id=self._visit.binding.pk)

    def _conclude(self, recorder: Recorder) -> None:
        scribe = recorder.scribe
        is_proper = scribe.is_idle or bool(scribe.error) or scribe.was_aborted
        outcome = Outcome(is_proper=is_proper, source=LAYER, reason=self._reason, detail=self._detail)
        settling.conclude(self._visit, self._run, scribe, outcome)
