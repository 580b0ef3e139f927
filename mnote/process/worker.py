"""What a worker process does beside its jobs: show that it lives, and stop in time when told to."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from functools import partial

from django.conf import settings
from django.db import DatabaseError

from mnote import connections, jobs
from mnote.services import sweeping, worker_beats

logger = logging.getLogger(__name__)

_PULSE_SECONDS = 10.0


def start_pulse() -> None:
    """Write this process's sign of life every 10 s from a thread of its own: a worker busy with long jobs lives too.

    It begins with a sweep, so that what waits since the last run need not wait for the clock.
    """
    threading.Thread(target=_pulse, name="worker-pulse", daemon=True).start()


def _pulse() -> None:
    _try(sweeping.sweep)
    while True:
        _try(partial(worker_beats.record, worker=jobs.worker_name()))
        time.sleep(_PULSE_SECONDS)


def _try(write: Callable[[], object]) -> None:
    try:
        write()
    except DatabaseError as error:
        logger.warning("the worker's beat could not be written", extra={"error": type(error).__name__})
    finally:
        connections.let_go()


def stop_working() -> None:
    """Send running jobs back to the queue at their next beat, and end hard if some handler does not listen."""
    jobs.stop_all()
    threading.Thread(target=_end_hard, name="worker-end", daemon=True).start()


def _end_hard() -> None:
    time.sleep(settings.MNOTE_STOP_SECONDS)
    logger.warning("a job did not stop in time; its lease will run out and another worker takes it")
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(1)
