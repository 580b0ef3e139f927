from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pageai.panel.connection import Connection
from tests.stubs.openhub import OpenHubStub, openhub_stub


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[OpenHubStub]:
    with openhub_stub(tmp_path / "openhub") as stub:
        yield stub


@pytest.fixture
def connection(hub: OpenHubStub) -> Connection:
    return connection_to(hub)


def connection_to(hub: OpenHubStub, app_dir: Path | None = None) -> Connection:
    return Connection(
        openhub_url=hub.url,
        opencode_url=hub.opencode_url,
        jwt_secret=hub.jwt_secret,
        redis_url=hub.redis.url,
        opencode_password=hub.opencode.password,
        app_dir=app_dir,
        silence_seconds=5,
    )
