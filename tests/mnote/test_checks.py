from __future__ import annotations

import os
import secrets
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.checks import CheckMessage
from django.utils import timezone
from pytest_django import Settings

from mnote import checks
from mnote.models import WorkerBeat
from mnote.selectors import health

_ROOT = Path(__file__).resolve().parent.parent.parent


def ids(messages: list[CheckMessage]) -> list[str]:
    assert all(message.hint for message in messages), "each message must show a way out"
    return [str(message.id) for message in messages]


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:8000", []),
        ("http://localhost:8000", []),
        ("http://[::1]:8000", []),
        ("https://notes.example.org", []),
        ("https://example.org/mnote", []),
        ("http://notes.example.org", ["mnote.W004"]),
        ("ftp://notes.example.org", ["mnote.E003"]),
        ("notes.example.org", ["mnote.E003"]),
        ("https://", ["mnote.E003"]),
        ("https://alice:secret@example.org", ["mnote.E003"]),
        ("https://example.org/?a=1", ["mnote.E003"]),
        ("", ["mnote.E003"]),
    ],
)
def test_public_url_is_checked(settings: Settings, url: str, expected: list[str]) -> None:
    settings.MNOTE_PUBLIC_URL = url

    assert ids(checks.public_url()) == expected


@pytest.mark.parametrize(("key", "expected"), [("x" * 32, []), ("x" * 31, ["mnote.E005"])])
def test_secret_key_is_checked(settings: Settings, key: str, expected: list[str]) -> None:
    settings.SECRET_KEY = key

    assert ids(checks.secret_key()) == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [("redis://localhost:6379/0", []), ("folder://localhost/", []), ("amqp://localhost", ["mnote.E006"])],
)
def test_broker_is_checked(settings: Settings, url: str, expected: list[str]) -> None:
    settings.CELERY_BROKER_URL = url

    assert ids(checks.broker()) == expected


def test_a_data_folder_to_be_made_is_fine(settings: Settings, tmp_path: Path) -> None:
    settings.MNOTE_DATA_DIR = tmp_path / "not" / "yet" / "made"

    assert ids(checks.data_folder()) == []


def test_a_data_folder_below_a_file_is_an_error(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    settings.MNOTE_DATA_DIR = tmp_path / "file" / "data"

    assert ids(checks.data_folder()) == ["mnote.E001"]


@pytest.mark.parametrize(
    ("compiled", "expected"), [("newer", []), ("older", ["mnote.W008"]), ("missing", ["mnote.W008"])]
)
def test_catalogues_are_checked(settings: Settings, tmp_path: Path, compiled: str, expected: list[str]) -> None:
    folder = tmp_path / "zh_Hans" / "LC_MESSAGES"
    folder.mkdir(parents=True)
    source, target = folder / "django.po", folder / "django.mo"
    source.touch()
    os.utime(source, (1000, 1000))
    if compiled != "missing":
        target.touch()
        os.utime(target, (2000, 2000) if compiled == "newer" else (500, 500))
    settings.LOCALE_PATHS = [tmp_path]

    assert ids(checks.catalogues()) == expected


def seen(seconds_ago: float) -> None:
    WorkerBeat.objects.create(worker="host:1", seen_at=timezone.now() - timedelta(seconds=seconds_ago))


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("prepare", "expected"),
    [
        (lambda: None, ["mnote.W010"]),
        (lambda: seen(health.SILENT_SECONDS + 1), ["mnote.W010"]),
        (lambda: seen(1), []),
    ],
    ids=["never", "silent", "alive"],
)
def test_workers_are_checked_with_the_database(prepare: Callable[[], Any], expected: list[str]) -> None:
    prepare()

    assert ids(checks.workers(databases=["default"])) == expected
    assert checks.workers(databases=None) == []


def manage(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MNOTE_", "DJANGO_"))}
    command = [sys.executable, "-W", "ignore", "manage.py", *arguments]
    return subprocess.run(command, cwd=_ROOT, env=kept | environment, capture_output=True, text=True, check=False)


def test_the_production_profile_passes_the_deployment_checks(tmp_path: Path) -> None:
    done = manage(
        "check",
        "--deploy",
        "--fail-level",
        "WARNING",
        MNOTE_PROFILE="production",
        MNOTE_PUBLIC_URL="https://notes.example.org",
        MNOTE_SECRET_KEY=secrets.token_urlsafe(50),
        MNOTE_DATA_DIR=str(tmp_path / "data"),
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_the_embedded_profile_passes_the_checks_without_any_setting(tmp_path: Path) -> None:
    done = manage("check", "--deploy", "--fail-level", "WARNING", MNOTE_DATA_DIR=str(tmp_path / "data"))

    assert (done.returncode, done.stderr) == (0, "")


def test_an_address_that_others_reach_without_encryption_is_warned_of(tmp_path: Path) -> None:
    address = "http://notes.example.org"
    done = manage("check", "--deploy", MNOTE_PUBLIC_URL=address, MNOTE_DATA_DIR=str(tmp_path / "data"))

    assert "security.W012" in done.stderr


def test_the_production_profile_needs_a_secret_key(tmp_path: Path) -> None:
    done = manage("check", MNOTE_PROFILE="production", MNOTE_DATA_DIR=str(tmp_path / "data"))

    assert done.returncode != 0
    assert "MNOTE_SECRET_KEY" in done.stderr


def test_a_secret_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    absent = str(tmp_path / "absent")
    done = manage("check", MNOTE_PROFILE="production", MNOTE_SECRET_KEY_FILE=absent, MNOTE_DATA_DIR=str(tmp_path))

    assert done.returncode != 0
    assert "MNOTE_SECRET_KEY_FILE" in done.stderr
