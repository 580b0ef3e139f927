#!/usr/bin/env python3
"""Django's command line for MNote. MNOTE_PROFILE chooses the settings: embedded (default) or production."""

import os
import sys


def main() -> None:
    profile = os.environ.get("MNOTE_PROFILE", "embedded")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", f"mnote.settings.{profile}")
    from django.core.management import execute_from_command_line  # noqa: PLC0415 the settings have to be named first

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
