"""Frames go on while a look takes its time; what it finds is told at the next frame, or at once where none comes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from pageai.panel.frames import Frame, frame
from pageai.views import looking
from pageai.views.looking import Looking

REFUSAL = frame("error", error="no longer yours", done=True)


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking, "_EVERY_SECONDS", 0.0)


def run(story: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(story(), 30))


def test_frames_do_not_wait_for_a_slow_look() -> None:
    async def story() -> None:
        may_answer = asyncio.Event()

        async def slow() -> Frame | None:
            await may_answer.wait()
            return REFUSAL

        async with Looking(slow) as look:
            for _each in range(5):
                assert await look.refusal(is_idle=False) is None
            may_answer.set()
            while (found := await look.refusal(is_idle=False)) is None:
                await asyncio.sleep(0)
            assert found == REFUSAL

    run(story)


def test_look_is_waited_for_where_nothing_else_comes() -> None:
    async def story() -> None:
        async def slow() -> Frame | None:
            await asyncio.sleep(0.05)
            return REFUSAL

        async with Looking(slow) as look:
            assert await look.refusal(is_idle=True) == REFUSAL

    run(story)


def test_overdue_look_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking, "_OVERDUE_SECONDS", 0.0)

    async def story() -> None:
        async def slow() -> Frame | None:
            await asyncio.sleep(0.05)
            return REFUSAL

        async with Looking(slow) as look:
            assert await look.refusal(is_idle=False) == REFUSAL

    run(story)


def test_each_answer_counts_once_and_the_next_is_asked_anew() -> None:
    async def story() -> None:
        answers = [None, None, REFUSAL]

        async def quick() -> Frame | None:
            return answers.pop(0)

        async with Looking(quick) as look:
            found = [await look.refusal(is_idle=True) for _each in range(3)]

        assert found == [None, None, REFUSAL]

    run(story)
