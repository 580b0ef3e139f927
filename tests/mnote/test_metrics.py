from __future__ import annotations

import pytest
from django.test import Client

from mnote import metrics
from mnote.metrics import Gauge
from mnote.models import JobStatus, User
from mnote.services import worker_beats
from tests.factories.mnote import JobFactory
from tests.people import People


@pytest.fixture
def administrator(people: People) -> User:
    User.objects.filter(pk=people.alice.pk).update(is_staff=True)
    return people.alice


def test_metrics_count_jobs_and_workers(people: People, administrator: User) -> None:
    JobFactory(status=JobStatus.FAILED, queue="bulk")
    JobFactory()
    worker_beats.record(worker="host:1")

    response = people.client("alice").get("/metrics")

    lines = response.text.splitlines()
    assert response.headers["Content-Type"] == "text/plain; version=0.0.4"
    assert "# TYPE mnote_jobs gauge" in lines
    assert 'mnote_jobs{queue="bulk",status="failed"} 1.0' in lines
    assert 'mnote_jobs{queue="interactive",status="queued"} 1.0' in lines
    assert any(line.startswith('mnote_worker_silent_seconds{worker="host:1"} ') for line in lines)


def test_metrics_are_hidden_from_others(people: People, administrator: User) -> None:
    asked = {name: people.client(name).get("/metrics").status_code for name in ("alice", "bob")}

    assert asked == {"alice": 200, "bob": 404}
    assert Client().get("/metrics").status_code == 401


@pytest.mark.parametrize(("scope", "status"), [("admin:read", 200), ("knowledge:read", 404)])
def test_metrics_need_a_token_with_the_scope(people: People, administrator: User, scope: str, status: int) -> None:
    administrator.refresh_from_db()
    client = people.token_client("alice", scope)

    assert client.get("/metrics", headers={"Accept": "text/plain"}).status_code == status


def test_exposition_escapes_labels() -> None:
    former = dict(metrics._gauges)
    metrics._gauges.clear()
    metrics.register(Gauge(name="g", help="A gauge.", read=lambda: [({"a": 'x"\\\n'}, 1.5), ({}, 2)]))
    text = metrics.exposition()
    metrics._gauges.update(former)
    del metrics._gauges["g"]

    assert text == '# HELP g A gauge.\n# TYPE g gauge\ng{a="x\\"\\\\\\n"} 1.5\ng 2\n'
