"""Listening to what opencode tells of one session, for as long as its turn is read: a silent connection is given up and
opened anew, and after each gap opencode is asked for what was missed."""

from __future__ import annotations

import asyncio
from functools import partial

from mnote.exceptions import AppError
from pageai.panel import headers
from pageai.panel.errors import PanelError, PanelUnavailable
from pageai.panel.frames import Frame, FrameReader, FrameTooLarge
from pageai.panel.opencode import LAYER
from pageai.panel.upstream import events_of, open_stream
from pageai.services import turns
from pageai.services.gatekeeping import Visit
from pageai.services.opencodes import running_endpoint
from pageai.threads import in_thread
from pageai.views.recording import Recorder

#: opencode shows every 10 seconds that it lives.
_SILENCE_SECONDS = 30.0
_PAUSES = (0.2, 0.5, 1.0, 2.0, 5.0)
_TELLING = ("permission.", "question.", "session.error")
#: So many looks in a row have to find that the agent works no more, before OpenHub's silence is believed.
_LOOKS = 3


class Tap:
    """`is_listening` is set once events arrive; `is_gone` once opencode came back without the agent's work."""

    def __init__(self, visit: Visit, recorder: Recorder, *, silence_seconds: float = _SILENCE_SECONDS) -> None:
        self.is_listening = asyncio.Event()
        self.is_gone = asyncio.Event()
        self._visit = visit
        self._silence_seconds = min(silence_seconds, _SILENCE_SECONDS)
        self._recorder = recorder
        self._failures = 0

    @property
    def is_cut_off(self) -> bool:
        """Whether the last try to listen came to nothing."""
        return self._failures > 0

    async def run(self) -> None:
        """Listen until cancelled."""
        is_again = False
        while True:
            try:
                await self._listen(is_again=is_again)
            except (AppError, PanelError, FrameTooLarge):
                self._failures += 1
            self._recorder.scribe.reconnected()
            is_again = is_again or self.is_listening.is_set()
            await asyncio.sleep(_PAUSES[min(self._failures, len(_PAUSES) - 1)])

    async def _listen(self, *, is_again: bool) -> None:
        endpoint = await in_thread(partial(running_endpoint, self._visit))
        if endpoint is None:
            raise PanelUnavailable(layer=LAYER)
        reader, call, silence = FrameReader(), events_of(endpoint, self._visit.directory), self._silence_seconds
        looking: asyncio.Task[None] | None = None
        try:
            async with open_stream(call, layer=LAYER, silence_seconds=silence) as stream:
                if stream.status != 200 or not headers.is_stream(stream.headers):
                    raise PanelUnavailable(layer=LAYER, reason=f"status {stream.status}")  # its body is no event
                async for piece in stream.pieces():
                    self._failures = 0
                    self.is_listening.set()
                    if is_again and looking is None:
                        looking = asyncio.create_task(self._look())
                    for each in reader.feed(piece):
                        await self._hear(each)
        finally:
            if looking is not None:
                looking.cancel()

    async def _hear(self, event: Frame) -> None:
        self._recorder.hear_event(event)
        properties = event.data.get("properties")
        is_ours = isinstance(properties, dict) and properties.get("sessionID") == self._visit.session_id
        if is_ours and event.type.startswith(_TELLING):
            await self._recorder.flush()
            await in_thread(partial(turns.touch, binding_id=self._visit.binding.pk))

    async def _look(self) -> None:
        """Catch up after a gap; and see whether the agent is still there, which may have ended with its opencode."""
        for _each in range(_LOOKS):
            try:
                snapshot = await self._recorder.catch_up()
            except PanelError:
                return
            if snapshot.is_busy:
                return
            await asyncio.sleep(1.0)
        self.is_gone.set()
