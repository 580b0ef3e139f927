"""One question to the chat model, whose answer is read here to its end whether or not a browser is there."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import Any

from django.db import DatabaseError

from mnote.exceptions import AppError
from pageai.models import EndReason, Run
from pageai.panel import chat_model
from pageai.panel.chat_model import LAYER
from pageai.panel.drafts import Draft
from pageai.panel.errors import PanelError, PanelUnavailable
from pageai.panel.frames import FrameReader, FrameTooLarge
from pageai.panel.scrubbing import Scrub
from pageai.panel.upstream import Stream, open_stream
from pageai.services import chats, gatekeeping, journals, runs, turns
from pageai.services.gatekeeping import Visit
from pageai.threads import Beginning, beside, by_itself, in_thread

logger = logging.getLogger(__name__)

_GUARD_SECONDS, _WRITE_SECONDS, _SILENCE_SECONDS = 1.0, 0.5, 120.0


class ChatTurn:
    """One turn. Its claim was made before; from `start` on it runs by itself."""

    def __init__(self, visit: Visit, run: Run, question: str) -> None:
        self._visit = visit
        self._run = run
        self._question = question
        self._begun = Beginning[None]()
        self._reason, self._detail = EndReason.CUT, ""
        self._waiting, self._written = "", 0
        self._kept: list[Draft] = []
        self._scrub: Scrub | None = None

    async def start(self) -> None:
        """Ask, and return when the model begins to answer. Raises AppError, PanelError."""
        by_itself(self._work())
        await self._begun.wait()

    async def _work(self) -> None:
        failure: Exception = PanelUnavailable(layer=LAYER)
        try:
            self._scrub = await in_thread(partial(journals.scrub_of, self._visit))
            call = await in_thread(partial(chats.call_for, self._run, self._question))
            async with open_stream(call, layer=LAYER, silence_seconds=_SILENCE_SECONDS) as stream:
                if stream.status != 200:
                    raise PanelUnavailable(layer=LAYER, reason=f"status {stream.status}")
                self._begun.tell(None)
                async with beside(self._guard(asyncio.current_task())), beside(self._keep()):
                    await self._read(stream)
        except asyncio.CancelledError:
            logger.info("a turn was given up", extra={"run": self._run.pk})
        except (AppError, PanelError, FrameTooLarge) as error:
            if not self._begun.is_told:
                self._reason, self._detail, failure = EndReason.FAILED, getattr(error, "code", "too-large"), error
        finally:
            await in_thread(self._finish)
            self._begun.fail(failure)

    async def _read(self, stream: Stream) -> None:
        reader = FrameReader()
        async for piece in stream.pieces():
            for each in reader.feed(piece):
                self._waiting += chat_model.words_in(each)
                if chat_model.is_end(each):
                    self._reason = EndReason.DONE

    async def _keep(self) -> None:
        """Write what was said, a moment later: words are put together meanwhile. What the database does not take is
        kept for the next time."""
        while True:
            await asyncio.sleep(_WRITE_SECONDS)
            self._kept += self._words()
            if not self._kept:
                continue
            try:
                await in_thread(partial(runs.append, run_id=self._run.pk, drafts=list(self._kept)))
                self._kept.clear()
            except DatabaseError:
                logger.warning("events of a run could not be written yet", extra={"run": self._run.pk})

    async def _guard(self, reading: asyncio.Task[Any] | None) -> None:
        """Look every moment whether the turn may go on: its person may have lost access, or stopped it."""
        while True:
            await asyncio.sleep(_GUARD_SECONDS)
            try:
                is_wanted = await in_thread(self._is_wanted)
            except DatabaseError:
                logger.exception("a running turn could not be looked at")
                continue
            except AppError as error:
                self._reason, self._detail, is_wanted = EndReason.SIGNED_OUT, error.code, False
            if not is_wanted and reading is not None:
                reading.cancel()
                return

    def _is_wanted(self) -> bool:
        is_ours = gatekeeping.goes_on(self._visit)
        return is_ours and Run.objects.filter(pk=self._run.pk, ended_at__isnull=True).exists()

    def _words(self, *, is_all: bool = False) -> list[Draft]:
        """Take what waits, as far as nothing that must not be read could begin at its end; in events of some size."""
        found, rest = list[Draft](), self._waiting
        while self._scrub and (length := len(rest) if is_all else self._scrub.cut(rest)):
            piece = rest[: min(length, _PIECE)]
            size = self._scrub.cut(piece) or len(piece) if len(piece) < length else len(piece)
            found.append(chats.words(self._run, self._scrub.text(rest[:size]), self._written, size))
            self._written, rest = self._written + size, rest[size:]
        self._waiting = rest
        return found

    def _finish(self) -> None:
        try:
            is_failed = self._reason is EndReason.FAILED
            payload = {"message": self._detail} if is_failed else {"aborted": False}
            last = Draft(kind="error" if is_failed else "end", payload=payload, source="chat_only", key="end")
            drafts = [*self._kept, *self._words(is_all=True), last]
            runs.end(run_id=self._run.pk, reason=self._reason, drafts=drafts, detail=self._detail)
        finally:
            turns.end(binding_id=self._visit.binding.pk)


_PIECE = 2_000
