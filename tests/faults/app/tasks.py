"""Job kinds that leave marks in a file, so that a test sees what was run how often, also by processes that died."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

from django.conf import settings

from knowledge.providers.weknora import transport
from knowledge.providers.weknora.config import Pace, WeKnoraConfig
from knowledge.services import documents
from mnote.http_limits import Timeouts
from mnote.jobs import JobContext, job

if seconds := os.environ.get("MNOTE_FAULTS_CALL_SECONDS"):  # a test does not wait for minutes until a call is given up
    shorter = Timeouts(connect=float(seconds), read=float(seconds), total=2 * float(seconds))
    transport.STATUS = transport.READ = transport.SEARCH = transport.UPLOAD = shorter
    # Nor for the place of a worker that was killed, nor for a failure to stand, nor for the next attempt.
    WeKnoraConfig.__init__.__kwdefaults__["pace"] = Pace(flight=20.0, turn=5.0, steady=8.0)
    documents._QUICK_BACKOFF_SECONDS = (0.2, 0.5, 1.0, 2.0, 4.0)
    documents._BACKOFF_SECONDS = (1.0, 2.0, 4.0, 8.0)

_for_ever = threading.Event()


def _mark(word: str, context: JobContext) -> None:
    path = Path(settings.MNOTE_DATA_DIR) / "marks"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(descriptor, f"{word} {context.job.pk} {context.job.attempt}\n".encode())
    os.close(descriptor)


@job("faults.quick", max_attempts=3)
def quick(context: JobContext) -> dict[str, Any]:
    _mark("start", context)
    _mark("end", context)
    return {}


@job("faults.hang_first", max_attempts=3)
def hang_first(context: JobContext) -> dict[str, Any]:
    """The first attempt works for ever, with beats; the second ends."""
    _mark("start", context)
    while context.job.attempt == 1:
        context.beat(turn=1)
        time.sleep(0.05)
    _mark("end", context)
    return {}


@job("faults.obedient", max_attempts=3)
def obedient(context: JobContext) -> dict[str, Any]:
    """Works until it is told to stop."""
    _mark("start", context)
    while True:
        context.beat()
        time.sleep(0.05)


@job("faults.deaf", max_attempts=3)
def deaf(context: JobContext) -> dict[str, Any]:
    """Never beats and never ends."""
    _mark("start", context)
    _for_ever.wait()
    return {}
