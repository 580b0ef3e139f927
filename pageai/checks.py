"""System checks of Page AI."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from pageai.agents import load_file


@register()
def agents_file(**_: Any) -> list[CheckMessage]:
    """A file of agents that cannot be read would take every agent away."""
    path = settings.MNOTE_AGENTS_FILE
    if path is None:
        return []
    try:
        load_file(path)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        hint = "Mend the file that MNOTE_AGENTS_FILE names: a JSON list of descriptors."
        return [Error(f"The file of further agents cannot be used: {error}.", hint=hint, id="pageai.E001")]
    return []
