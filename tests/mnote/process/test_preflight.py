from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from mnote.models import Job, JobStatus
from mnote.process import preflight
from tests.factories.mnote import JobFactory


@pytest.fixture
def folders(settings: Settings, tmp_path: Path) -> Path:
    settings.MNOTE_DATA_DIR = tmp_path / "data"
    settings.MNOTE_INDEX_DIR, settings.MNOTE_ARTIFACT_DIR = tmp_path / "data/indexes", tmp_path / "data/artifacts"
    settings.STATIC_ROOT = tmp_path / "data/static"
    queue, control = str(tmp_path / "data/broker/queue"), str(tmp_path / "data/broker/control")
    settings.CELERY_BROKER_URL = "folder://localhost/"
    settings.CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": queue,
        "data_folder_out": queue,
        "control_folder": control,
    }
    return tmp_path / "data"


def test_make_folders_is_for_the_owner_alone(folders: Path) -> None:
    preflight.make_folders()
    preflight.make_folders()

    assert {path.relative_to(folders).as_posix() for path in folders.rglob("*")} == {
        "artifacts",
        "broker",
        "broker/control",
        "broker/queue",
        "indexes",
        "static",
    }
    assert (folders / "broker" / "queue").stat().st_mode & 0o077 == 0
    assert (folders / "indexes").stat().st_mode & 0o077 == 0


def test_make_folders_says_which_one_cannot_be_made(folders: Path) -> None:
    folders.mkdir()
    (folders / "indexes").touch()

    with pytest.raises(preflight.PreflightFailed, match="indexes"):
        preflight.make_folders()


def test_there_is_no_folder_for_a_broker_that_is_a_server(settings: Settings) -> None:
    settings.CELERY_BROKER_URL = "redis://localhost:6379/0"

    assert preflight.broker_folders() == []


@pytest.mark.django_db
def test_wiping_the_broker_forgets_what_was_rung(folders: Path) -> None:
    preflight.make_folders()
    (folders / "broker" / "queue" / "1.interactive.msg").touch()
    job = JobFactory()

    preflight.wipe_broker()

    job.refresh_from_db()
    assert list((folders / "broker" / "queue").iterdir()) == []
    assert job.updated_at < job.run_at


@pytest.mark.django_db
def test_leases_of_a_former_run_end_at_once_on_sqlite_only() -> None:
    later = timezone.now() + timedelta(minutes=10)
    JobFactory(status=JobStatus.RUNNING, lease_expires_at=later)

    freed = preflight.free_leases()

    is_sqlite = connection.vendor == "sqlite"
    assert freed == int(is_sqlite)
    assert (Job.objects.get().lease_expires_at < later) is is_sqlite
