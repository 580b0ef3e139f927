from __future__ import annotations

import json
import logging
import sys
from typing import Any

import pytest

from mnote.logs import JSONFormatter, log_facts, redact
from mnote.middleware import request_id


def formatted(message: str, *arguments: object, error: BaseException | None = None, **extra: object) -> dict[str, Any]:
    information = (type(error), error, error.__traceback__) if error else None
    record = logging.LogRecord("mnote.test", logging.WARNING, "x.py", 1, message, arguments, information)
    vars(record).update(extra)
    line = JSONFormatter().format(record)
    assert "\n" not in line
    found: dict[str, Any] = json.loads(line)
    return found


def test_a_line_holds_what_was_said_and_the_extras() -> None:
    line = formatted("took %s jobs", 3, seconds=1.5, body={"never": "logged"})

    assert line.pop("time").endswith("+00:00")
    assert line == {"level": "warning", "logger": "mnote.test", "message": "took 3 jobs", "seconds": 1.5}


def test_a_line_names_its_request_and_job() -> None:
    token = request_id.set("req_1")
    with log_facts(job_id="job_1"), log_facts(job_kind="test.kind"):
        line = formatted("hello")
    request_id.reset(token)

    assert (line["request_id"], line["job_id"], line["job_kind"]) == ("req_1", "job_1", "test.kind")
    assert "job_id" not in formatted("after")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "[Errno 2] No such file or directory: '/home/alice/my notes/a.md'",
            "[Errno 2] No such file or directory: '…'",
        ),
        ('cannot open "/srv/notes/b.pdf"', 'cannot open "…"'),
        ("cannot open /srv/notes/b.pdf, giving up", "cannot open …, giving up"),
        ("see https://example.org/docs/page", "see https://example.org/docs/page"),
        ("redis://:hunter2@cache:6379/0 refused", "redis://…@cache:6379/0 refused"),
        ("Authorization: Bearer abc.def", "Authorization: …"),
        ("token mnt_abcDEF123 is unknown", "token … is unknown"),
        ("ratio 3/4 and a/b", "ratio 3/4 and a/b"),
        ("GET /healthz", "GET /healthz"),
    ],
)
def test_redact_takes_out_paths_and_secrets(text: str, expected: str) -> None:
    assert redact(text) == expected


def test_a_traceback_keeps_its_places_but_no_full_path() -> None:
    try:
        open("/nowhere/at/all.md", encoding="utf-8")  # noqa: PTH123, SIM115
    except OSError as error:
        line = formatted("failed", error=error)

    assert 'File "…/tests/mnote/test_logs.py", line' in line["traceback"]
    assert "/nowhere" not in line["traceback"]
    assert sys.prefix not in line["traceback"]
