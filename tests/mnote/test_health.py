from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from mnote.models import Job, WorkerBeat
from mnote.selectors import health
from mnote.services import worker_beats
from mnote.tasks import beat_worker


def seen(worker: str, seconds_ago: float) -> datetime:
    at = timezone.now() - timedelta(seconds=seconds_ago)
    WorkerBeat.objects.create(worker=worker, seen_at=at)
    return at


@pytest.mark.django_db
def test_healthz_asks_no_database(client: Client, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    with django_assert_num_queries(0):
        response = client.get("/healthz")

    assert (response.status_code, response.content) == (200, b"ok\n")


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
@pytest.mark.django_db
def test_health_pages_are_never_cached(client: Client, path: str) -> None:
    assert "no-store" in client.get(path).headers["Cache-Control"]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_healthz_answers_on_loopback_whatever_the_public_address(client: Client, host: str) -> None:
    assert client.get("/healthz", headers={"Host": host}).status_code == 200


@pytest.mark.django_db
def test_readyz_is_ready_when_every_layer_is(client: Client) -> None:
    seen("host:1", 5)

    response = client.get("/readyz")

    assert (response.status_code, response.json()["status"]) == (200, "ready")
    assert response.json()["layers"] == dict.fromkeys(["database", "migrations", "broker", "worker"], "ok")


@pytest.mark.django_db
def test_readyz_names_a_silent_worker(client: Client) -> None:
    seen("host:1", health.SILENT_SECONDS + 1)

    response = client.get("/readyz")

    assert (response.status_code, response.json()["failing"]) == (503, ["worker"])


@pytest.mark.django_db
def test_readyz_names_missing_migrations(client: Client) -> None:
    seen("host:1", 5)
    MigrationRecorder.Migration.objects.filter(app="sessions").delete()

    response = client.get("/readyz")

    assert (response.status_code, response.json()["failing"]) == (503, ["migrations"])


@pytest.mark.django_db
def test_worker_age_is_that_of_the_youngest_beat() -> None:
    assert health.worker_age() is None
    seen("host:1", 500)
    seen("host:2", 20)
    seen(health.SCHEDULE, 1)

    assert health.worker_age() == pytest.approx(20, abs=5)


@pytest.mark.django_db
def test_stopped_since_is_the_last_beat_of_silent_workers() -> None:
    at = seen("host:1", 120)

    assert health.stopped_since() == at


@pytest.mark.django_db
def test_stopped_since_is_none_while_a_worker_lives() -> None:
    seen("host:1", 120)
    seen("host:2", 10)

    assert health.stopped_since() is None


@pytest.mark.django_db
@pytest.mark.parametrize(("waits_seconds", "is_stopped"), [(120, True), (10, False)])
def test_stopped_since_without_any_worker_is_when_work_began_to_wait(*, waits_seconds: int, is_stopped: bool) -> None:
    job = Job.objects.create(kind="test.kind", run_at=timezone.now() - timedelta(seconds=waits_seconds))

    assert health.stopped_since() == (job.run_at if is_stopped else None)


@pytest.mark.django_db
def test_record_renews_one_row_and_forgets_old_ones() -> None:
    seen("old:1", 90_000)
    worker_beats.record(worker="host:1")
    worker_beats.record(worker="host:1")

    assert list(WorkerBeat.objects.values_list("worker", flat=True)) == ["host:1"]


@pytest.mark.django_db
def test_the_clock_is_no_worker() -> None:
    beat_worker()

    assert health.last_schedule() is not None
    assert health.worker_age() is None
