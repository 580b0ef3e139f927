"""The Celery application. It carries job ids to workers and keeps the clock; what a job is stands in its row."""

from __future__ import annotations

import os
import warnings
from typing import Any

from celery import Celery, signals
from celery.platforms import SecurityWarning  # type: ignore[attr-defined]  # not in the stubs
from kombu.transport import TRANSPORT_ALIASES

os.environ.setdefault("DJANGO_SETTINGS_MODULE", f"mnote.settings.{os.environ.get('MNOTE_PROFILE', 'embedded')}")
TRANSPORT_ALIASES["folder"] = "mnote.process.folder_broker:Transport"

# Ten lines at every start in a container that runs as root; it is about pickled messages, and ours are JSON ids.
warnings.filterwarnings("ignore", category=SecurityWarning)

app = Celery("mnote")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@signals.setup_logging.connect
def _keep_our_logging(**_: Any) -> None:
    """Being connected is enough: Celery then leaves the logging of the settings alone."""


@signals.worker_ready.connect
def _start_pulse(**_: Any) -> None:
    from mnote.process import worker  # noqa: PLC0415 the models are not loaded when this module is imported

    worker.start_pulse()


@signals.worker_shutting_down.connect
def _stop_working(**_: Any) -> None:
    from mnote.process import worker  # noqa: PLC0415

    worker.stop_working()
