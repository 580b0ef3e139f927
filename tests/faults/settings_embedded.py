"""The embedded profile with the job kinds of the fault tests."""

import os

from mnote.settings.embedded import *  # noqa: F403
from mnote.settings.embedded import CELERY_BEAT_SCHEDULE, INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.faults.app"]

if "MNOTE_FAULTS_CALL_SECONDS" in os.environ:  # a test of many faults does not wait for the broom either
    for _name, _seconds in {"sweep": 1.0, "schedule": 5.0}.items():
        CELERY_BEAT_SCHEDULE[_name]["schedule"] = _seconds
