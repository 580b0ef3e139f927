"""The embedded profile with the job kinds of the fault tests."""

from mnote.settings.embedded import *  # noqa: F403
from mnote.settings.embedded import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.faults.app"]
