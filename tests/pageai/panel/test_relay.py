from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from pageai.panel import relay as relays
from pageai.panel.errors import PanelUnavailable
from pageai.panel.frames import Frame
from pageai.panel.relay import Relay
from tests.stubs.openhub_turns import sse

_CUT = "The answer broke off."


class Source:
    """OpenHub's side: what a test puts in comes out as bytes."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[bytes | Exception | None] = asyncio.Queue()

    def say(self, kind: str, **facts: object) -> None:
        self._queue.put_nowait(sse({"type": kind} | facts))

    def stop(self, error: Exception | None = None) -> None:
        self._queue.put_nowait(error)

    async def pieces(self) -> AsyncIterator[bytes]:
        while (piece := await self._queue.get()) is not None:
            if isinstance(piece, Exception):
                raise piece
            yield piece


async def seen(relay: Relay, *, up_to: int = 100) -> list[str]:
    """Read as a browser does, and leave after some frames."""
    kinds: list[str] = []
    view = relay.view(every_seconds=5)
    async for each in view:
        if each is not None:
            kinds.append(each.text("content") or each.type)
        if len(kinds) == up_to:
            break
    await view.aclose()  # type: ignore[attr-defined]
    return kinds


def make() -> tuple[Relay, Source]:
    return Relay(cut_text=_CUT), Source()


def test_relay_shows_a_turn_to_its_end() -> None:
    async def scene() -> list[str]:
        relay, source = make()
        for kind in ("session", "step-start", "session_idle"):
            source.say(kind)
        source.stop()
        await relay.run(source.pieces())
        return await seen(relay)

    assert asyncio.run(scene()) == ["session", "step-start", "session_idle"]


def test_relay_reads_on_while_nobody_looks_and_goes_on_where_it_stopped() -> None:
    async def scene() -> tuple[list[str], list[str]]:
        relay, source = make()
        running = asyncio.create_task(relay.run(source.pieces()))
        for content in ("one", "two"):
            source.say("text", content=content)
        first = await seen(relay, up_to=2)
        for content in ("three", "four"):
            source.say("text", content=content)
        source.say("session_idle")
        source.stop()
        await running
        return first, await seen(relay)

    first, second = asyncio.run(scene())
    assert (first, second) == (["one", "two"], ["three", "four", "session_idle"])


def test_relay_ends_the_first_viewer_when_a_second_comes() -> None:
    async def scene() -> tuple[list[str], list[str]]:
        relay, source = make()
        running = asyncio.create_task(relay.run(source.pieces()))
        source.say("text", content="one")
        first = asyncio.create_task(seen(relay))
        await asyncio.sleep(0)
        while relay._kept:
            await asyncio.sleep(0)
        second = asyncio.create_task(seen(relay))
        ended = await first
        source.say("text", content="two")
        source.say("session_idle")
        source.stop()
        await running
        return ended, await second

    assert asyncio.run(scene()) == (["one"], ["two", "session_idle"])


@pytest.mark.parametrize("error", [None, PanelUnavailable(layer="openhub_fastapi")])
def test_relay_says_that_a_stream_was_cut_so_that_the_question_is_not_sent_again(error: Exception | None) -> None:
    async def scene() -> list[Frame]:
        relay, source = make()
        source.say("text", content="half")
        source.stop(error)
        await relay.run(source.pieces())
        return [each async for each in relay.view(every_seconds=5) if each]

    last = asyncio.run(scene())[-1]
    assert (last.type, last.text("error"), last.data["done"]) == ("error", _CUT, True)


def test_relay_adds_nothing_to_a_proper_end() -> None:
    async def scene() -> list[str]:
        relay, source = make()
        source.say("message_complete")
        source.stop()
        await relay.run(source.pieces())
        return await seen(relay)

    assert asyncio.run(scene()) == ["message_complete"]


def test_relay_shows_that_it_lives_while_nothing_comes() -> None:
    async def scene() -> Frame | None:
        relay, source = make()
        running = asyncio.create_task(relay.run(source.pieces()))
        async for each in relay.view(every_seconds=0.01):
            source.stop()
            await running
            return each
        raise AssertionError("the view ended")

    assert asyncio.run(scene()) is None


def test_relay_keeps_no_more_than_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relays, "_MAX_KEPT_BYTES", 1000)

    async def scene() -> tuple[int, list[str]]:
        relay, source = make()
        for number in range(100):
            source.say("text", content=f"{number:03}" + "x" * 40)
        source.say("session_idle")
        source.stop()
        await relay.run(source.pieces())
        return relay._kept_bytes, await seen(relay)

    size, kinds = asyncio.run(scene())
    assert size <= 1000
    assert (kinds[-1], kinds[-2][:3]) == ("session_idle", "099")


def test_relay_ended_from_outside_tells_why() -> None:
    async def scene() -> list[str]:
        relay, source = make()
        running = asyncio.create_task(relay.run(source.pieces()))
        await asyncio.sleep(0)
        relay.end("You are signed out.")
        running.cancel()
        return [each.text("error") async for each in relay.view(every_seconds=5) if each]

    assert asyncio.run(scene()) == ["You are signed out."]


def test_nothing_follows_the_end_that_a_turn_was_given() -> None:
    async def scene() -> list[str]:
        relay, source = make()
        source.say("session")
        reading = asyncio.create_task(relay.run(source.pieces()))
        await asyncio.sleep(0.05)
        relay.end("You are signed out.")
        source.say("error", error="aborted", done=True)
        source.stop()
        await reading
        return await seen(relay)

    assert asyncio.run(scene()) == ["session", "error"]
