from __future__ import annotations

from collections.abc import Iterator

import pytest

from knowledge.providers.base import KBRef
from knowledge.providers.weknora.limiter import MemoryLimiter
from tests.conformance.bench import Bench
from tests.knowledge.providers.weknora.desk import Desk
from tests.stubs.weknora import WeKnoraStub, weknora_stub


@pytest.fixture
def stub() -> Iterator[WeKnoraStub]:
    with weknora_stub() as running:
        yield running


@pytest.fixture
def desk(stub: WeKnoraStub) -> Desk:
    return Desk(stub=stub, limiter=MemoryLimiter())


@pytest.fixture
def bench(desk: Desk) -> Bench:
    return Bench(provider=desk.provider())


@pytest.fixture
def kb(bench: Bench) -> KBRef:
    return bench.kb("one")
