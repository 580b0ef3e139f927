"""Keeping the journal of a run that is read in this process: what is heard is written in batches, beside the loop.

Only the loop's thread touches the scribe while the run is read. What cannot be written now is kept, within bounds, and
written with the next batch.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from functools import partial

from django.db import DatabaseError

from pageai.models import Run
from pageai.panel.drafts import Draft
from pageai.panel.frames import Frame
from pageai.panel.scribe import Scribe, Snapshot
from pageai.services import journals, runs
from pageai.services.gatekeeping import Visit
from pageai.threads import in_thread

logger = logging.getLogger(__name__)

_FLUSH_SECONDS = 0.5
_MAX_KEPT = 5_000


class Recorder:
    """The journal of one run. `run()` writes until it is cancelled; `flush()` once more after that."""

    def __init__(self, visit: Visit, run: Run, scribe: Scribe) -> None:
        self.scribe = scribe
        self._visit = visit
        self._run = run
        self._kept: list[Draft] = []
        self._news = asyncio.Event()
        self._was_waiting = False

    def hear_frame(self, frame: Frame) -> None:
        """Take a frame of OpenHub."""
        self._keep(self.scribe.read(frame))

    def hear_event(self, event: Frame) -> None:
        """Take an event of opencode."""
        self._keep(self.scribe.hear(event))

    async def catch_up(self) -> Snapshot:
        """Look what opencode has, after a gap in its events. Raises PanelError."""
        snapshot = await in_thread(partial(journals.fetch, self._visit))
        self._keep(self.scribe.look(snapshot))
        return snapshot

    async def run(self) -> None:
        """Write what is heard, a moment later: words are put together meanwhile."""
        while True:
            await self._news.wait()
            self._news.clear()
            await asyncio.sleep(_FLUSH_SECONDS)
            await self.flush()

    async def flush(self) -> None:
        """Write what waits. What the database does not take is kept for the next time."""
        self._kept += self.scribe.flush()
        drafts, self._kept = self._kept, []
        is_waiting = bool(self.scribe.open_requests)
        changed = is_waiting if is_waiting != self._was_waiting else None
        if not drafts and changed is None:
            return
        write = partial(
            runs.append, run_id=self._run.pk, drafts=drafts, provider_run_id=self.scribe.anchor, is_waiting=changed
        )
        try:
            await in_thread(write)
            self._was_waiting = is_waiting
        except DatabaseError:
            logger.warning("events of a run could not be written yet", extra={"run": self._run.pk})
            self._kept = drafts + self._kept
            self._news.set()

    def _keep(self, drafts: Iterable[Draft]) -> None:
        for each in drafts:
            if len(self._kept) < _MAX_KEPT:
                self._kept.append(each)
            else:
                self.scribe.dropped += 1
        if self._kept or self.scribe.waiting_text:
            self._news.set()
