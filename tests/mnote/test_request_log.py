from __future__ import annotations

import logging
from typing import Any

import pytest
from django.test import Client

from tests.people import People


def logged(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    return [vars(record) for record in caplog.records if record.name == "mnote.request_log"]


def test_a_request_is_one_line_without_its_address(people: People, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="mnote.request_log")

    people.client("alice").get("/api/jobs/job_unknown?secret=1")

    [line] = logged(caplog)
    assert (line["method"], line["route"], line["status"]) == ("GET", "/api/jobs/<str:job_id>", 404)
    assert line["user_id"] == people.alice.pk
    assert line["milliseconds"] > 0
    assert "secret" not in str(line)


def test_probes_are_not_logged(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="mnote.request_log")

    client.get("/healthz")

    assert logged(caplog) == []
