from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from knowledge.providers.weknora.limiter import Limiter, MemoryLimiter, held
from knowledge.providers.weknora.limiter_file import FileLimiter
from knowledge.providers.weknora.limiter_redis import RedisLimiter
from tests.engines import RedisServer, free_port, redis_server  # noqa: F401 a fixture

Maker = Callable[[], Limiter]


@pytest.fixture(params=["memory", "file", pytest.param("redis", marks=pytest.mark.redis)])
def maker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Maker]:
    """Give a maker of limiters that share what they hold; in memory it is one and the same."""
    if request.param == "redis":
        server: RedisServer = request.getfixturevalue("redis_server")
        server.connect().flushall()
        yield lambda: RedisLimiter(server.url)
    elif request.param == "file":
        yield lambda: FileLimiter(tmp_path / "limits")
    else:
        one = MemoryLimiter()
        yield lambda: one


def test_take_gives_as_many_places_as_there_are(maker: Maker) -> None:
    taken = [maker().take("x", holder, limit=2, seconds=60) for holder in ("a", "b", "c")]

    assert taken == [True, True, False]
    assert maker().holders("x") == {"a", "b"}


def test_take_again_renews_and_takes_no_second_place(maker: Maker) -> None:
    assert maker().take("x", "a", limit=1, seconds=0.2)
    assert maker().take("x", "a", limit=1, seconds=60)

    time.sleep(0.25)  # the first lease is over, the second holds

    assert not maker().take("x", "b", limit=1, seconds=60)


def test_take_after_a_lease_ran_out(maker: Maker) -> None:
    maker().take("x", "a", limit=1, seconds=0.05)

    time.sleep(0.1)

    assert maker().holders("x") == frozenset()
    assert maker().take("x", "b", limit=1, seconds=60)


def test_give_back_makes_room(maker: Maker) -> None:
    maker().take("x", "a", limit=1, seconds=60)
    maker().give_back("x", "a")
    maker().give_back("x", "nobody")

    assert maker().take("x", "b", limit=1, seconds=60)


def test_names_do_not_mix(maker: Maker) -> None:
    maker().take("x", "a", limit=1, seconds=60)

    assert maker().take("y", "a", limit=1, seconds=60)


def test_rest_is_seen_by_all_and_never_made_shorter(maker: Maker) -> None:
    assert maker().resting("x") == 0

    maker().rest("x", 30)
    maker().rest("x", 1)

    assert 25 < maker().resting("x") <= 30
    assert maker().resting("y") == 0


def test_held_gives_its_place_back(maker: Maker) -> None:
    with held(maker(), "x", limit=1, seconds=60) as first, held(maker(), "x", limit=1, seconds=60) as second:
        assert (first, second) == (True, False)

    assert maker().holders("x") == frozenset()


def test_held_keeps_its_place_for_longer_than_its_lease(maker: Maker) -> None:
    with held(maker(), "x", limit=1, seconds=0.6) as mine:
        assert mine
        ends_at = time.monotonic() + 1.5
        while time.monotonic() < ends_at:
            assert not maker().take("x", "other", limit=1, seconds=60)
            time.sleep(0.02)


def _die_inside(folder: Path) -> None:
    with held(FileLimiter(folder), "x", limit=1, seconds=1.0):
        os._exit(1)


def test_place_of_a_process_that_died_is_free_soon(tmp_path: Path) -> None:
    worker = multiprocessing.get_context("spawn").Process(target=_die_inside, args=(tmp_path,))
    worker.start()
    worker.join(60)

    ends_at = time.monotonic() + 30
    while not FileLimiter(tmp_path).take("x", "other", limit=1, seconds=60):
        assert time.monotonic() < ends_at, "the place of a dead process is held for ever"
        time.sleep(0.05)


def _take_many(folder: Path, name: str, results: multiprocessing.Queue[int]) -> None:
    limiter = FileLimiter(folder)
    results.put(sum(limiter.take("x", f"{name}-{n}", limit=10, seconds=60) for n in range(20)))


def test_file_limiter_counts_over_processes(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    results: multiprocessing.Queue[int] = context.Queue()
    workers = [context.Process(target=_take_many, args=(tmp_path, str(n), results)) for n in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)

    assert sum(results.get(timeout=10) for _ in workers) == 10


def test_file_limiter_starts_anew_from_a_spoilt_file(tmp_path: Path) -> None:
    limiter = FileLimiter(tmp_path)
    limiter.take("x", "a", limit=1, seconds=60)
    for path in tmp_path.iterdir():
        path.write_text("{half", encoding="utf-8")

    assert limiter.take("x", "b", limit=1, seconds=60)


def test_redis_limiter_limits_its_own_process_while_redis_is_away() -> None:
    limiter = RedisLimiter(f"redis://127.0.0.1:{free_port()}/0")

    assert limiter.take("x", "a", limit=1, seconds=60)
    assert not limiter.take("x", "b", limit=1, seconds=60)
    limiter.rest("x", 30)
    assert limiter.resting("x") > 25
    limiter.give_back("x", "a")
    assert limiter.take("x", "b", limit=1, seconds=60)
