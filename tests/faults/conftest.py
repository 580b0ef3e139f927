from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engines import PostgresServer, RedisServer, postgres_server, redis_server
from tests.faults.worlds import Template, World, embedded_world, production_world

__all__ = ["postgres_server", "redis_server"]


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Template:
    return Template.of_sqlite(tmp_path_factory.mktemp("template"))


@pytest.fixture(scope="session")
def postgres_template(tmp_path_factory: pytest.TempPathFactory, postgres_server: PostgresServer) -> Template:
    return Template.of_postgres(tmp_path_factory.mktemp("template"), postgres_server)


@pytest.fixture
def embedded(tmp_path: Path, sqlite_template: Template) -> Iterator[World]:
    with embedded_world(tmp_path / "data", sqlite_template) as world:
        yield world


@pytest.fixture
def production(
    tmp_path: Path, postgres_template: Template, postgres_server: PostgresServer, redis_server: RedisServer
) -> Iterator[World]:
    with production_world(tmp_path / "data", postgres_template, postgres_server, redis_server) as world:
        yield world


@pytest.fixture(
    params=[
        "embedded",
        pytest.param("production", marks=[pytest.mark.redis, pytest.mark.postgres]),
    ]
)
def world(request: pytest.FixtureRequest) -> World:
    """Both profiles, one after the other."""
    found: World = request.getfixturevalue(request.param)
    return found
