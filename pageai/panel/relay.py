"""The frames of one running turn, on their way from OpenHub to a browser.

OpenHub's turn goes on when a browser leaves, and its stream may have one reader only: two take frames from each other.
So there is one relay for each turn in this process. It reads to the end whether or not anybody looks, keeps what nobody
has seen yet, and shows it to one viewer at a time: a new one, after a reload, goes on where the last one stopped.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable

from pageai.panel.errors import PanelError
from pageai.panel.frames import Frame, FrameReader, FrameTooLarge, frame

_MAX_KEPT_BYTES = 8 * 1024 * 1024


class Relay:
    """`cut_text` is said to the person when the stream breaks off; the page then does not send the question again.
    `hear` is given every frame as it comes."""

    def __init__(self, *, cut_text: str, hear: Callable[[Frame], None] = lambda _frame: None) -> None:
        self._cut_text = cut_text
        self._hear = hear
        self._kept: deque[Frame] = deque()
        self._kept_bytes = 0
        self._viewer = self._looking = 0
        self._news = asyncio.Event()
        self._was_final = False
        self.is_over = self.is_proper = False

    @property
    def has_unseen(self) -> bool:
        """Whether there is something that no viewer was given."""
        return bool(self._kept)

    @property
    def is_watched(self) -> bool:
        return self._looking > 0

    async def run(self, pieces: AsyncIterator[bytes]) -> None:
        """Read the turn to its end. Never raises for what OpenHub does."""
        reader = FrameReader()
        try:
            async for piece in pieces:
                for each in reader.feed(piece):
                    self._take(each)
        except (PanelError, FrameTooLarge):
            self._was_final = self.is_proper = False
        finally:
            self.end()

    def end(self, text: str = "") -> None:
        """End the turn for its viewers: with an error when `text` is given or the last frame was no proper end."""
        if self.is_over:
            return
        if text or not self._was_final:
            self.is_proper = False
            self._keep(frame("error", error=text or self._cut_text, done=True))
        self.is_over = True
        self._news.set()

    async def view(self, *, every_seconds: float) -> AsyncIterator[Frame | None]:
        """Yield what was not shown yet, then what comes; None whenever `every_seconds` passed without a frame. Ends
        with the turn, or when a newer viewer takes over."""
        self._viewer += 1
        mine = self._viewer
        self._news.set()  # wakes the one before, which then sees that it is no longer wanted
        self._looking += 1
        try:
            while mine == self._viewer:
                if self._kept:
                    yield self._give()
                elif self.is_over:
                    return
                elif not await self._wait(every_seconds):
                    yield None
        finally:
            self._looking -= 1

    def _take(self, given: Frame) -> None:
        if self.is_over:
            return
        self._hear(given)
        self._was_final = given.is_final
        self.is_proper = given.is_final and given.type != "error"
        self._keep(given)

    def _keep(self, given: Frame) -> None:
        self._kept.append(given)
        self._kept_bytes += len(given.raw)
        while self._kept_bytes > _MAX_KEPT_BYTES and len(self._kept) > 1:
            self._kept_bytes -= len(self._kept.popleft().raw)  # OpenHub has it stored; the page reads it from there
        self._news.set()

    def _give(self) -> Frame:
        first = self._kept.popleft()
        self._kept_bytes -= len(first.raw)
        return first

    async def _wait(self, seconds: float) -> bool:
        self._news.clear()
        try:
            await asyncio.wait_for(self._news.wait(), seconds)
        except TimeoutError:
            return False
        return True
