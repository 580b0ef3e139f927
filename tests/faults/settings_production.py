"""The production profile with the job kinds of the fault tests."""

from mnote.settings.production import *  # noqa: F403
from mnote.settings.production import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.faults.app"]
