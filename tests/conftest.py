from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import pytest_django
from django.conf import settings as django_settings
from django.core.cache import cache
from django.db import connection
from django.utils import translation

from tests.people import People, make_people

_END_OTHERS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Remove the data folder that the test settings made; one that was given stays."""
    data = Path(os.environ.get("MNOTE_DATA_DIR", ""))
    is_ours = data.parent == Path(tempfile.gettempdir()) and data.name.startswith("mnote-test-")
    if is_ours and not hasattr(session.config, "workerinput"):
        shutil.rmtree(data, ignore_errors=True)


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: pytest_django.DjangoDbBlocker) -> Iterator[None]:
    """Let go of what threads of the server held: PostgreSQL drops no database that somebody still uses."""
    yield
    if connection.vendor == "postgresql":
        with django_db_blocker.unblock(), connection.cursor() as cursor:
            cursor.execute(_END_OTHERS)


@pytest.fixture(autouse=True, scope="session")
def static_root() -> None:
    """WhiteNoise warns about a folder that is not there; nothing is collected into it here."""
    Path(django_settings.STATIC_ROOT).mkdir(parents=True, exist_ok=True)


@pytest.fixture(autouse=True)
def language() -> Iterator[None]:
    """A page that was asked for in Chinese leaves its language behind in the thread."""
    yield
    translation.deactivate()


@pytest.fixture(autouse=True)
def data_dir(settings: Any) -> Iterator[Path]:
    """Give every test indexes and artifacts of its own, made only when something is written."""
    data = Path(settings.MNOTE_DATA_DIR) / uuid4().hex
    settings.MNOTE_INDEX_DIR = data / "indexes"
    settings.MNOTE_ARTIFACT_DIR = data / "artifacts"
    yield data
    cache.clear()
    shutil.rmtree(data, ignore_errors=True)


@pytest.fixture
def people(db: None, tmp_path: Path) -> People:
    return make_people(tmp_path / "notes")
