"""Whether a program that has just started is what it should be, by what it says itself and by the sign of its guard."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

from pageai.panel.connection import Endpoint
from pageai.panel.errors import PanelError
from pageai.panel.opencode import Opencode
from pageai.runtime.program import Launch
from pageai.services.agent_files import AGENT
from pageai.services.runtime_files import GUARD

_SIGN_SECONDS, _LOOK_SECONDS = 10.0, 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`reason` says what is wrong, "" when nothing is."""

    reason: str = ""
    version: str = ""


def look(launch: Launch, endpoint: Endpoint) -> Verdict:
    """Ask a program for its folder and its configuration, and look whether the guard stands before its tools."""
    opencode = Opencode(endpoint)
    try:
        version = opencode.version()
        if os.path.realpath(opencode.folder(launch.root)) != os.path.realpath(launch.root):
            return Verdict(reason="wrong_folder")
        if not _is_ours(opencode, launch):
            return Verdict(reason="foreign_configuration")
    except PanelError:
        return Verdict(reason="not_ready")
    return Verdict(version=version) if _has_sign(launch) else Verdict(reason="unguarded")


def _is_ours(opencode: Opencode, launch: Launch) -> bool:
    """A folder may bring a configuration with plugins, servers and agents: nothing of that may be there."""
    found = opencode.configuration(launch.root)
    plugins = [str(each).rpartition("/")[2] for each in found.get("plugin") or ()]
    agents = found.get("agent") or {}
    return plugins == [GUARD.name] and not found.get("mcp") and set(agents) == {AGENT}


def _has_sign(launch: Launch) -> bool:
    ends_at = time.monotonic() + _SIGN_SECONDS
    while time.monotonic() < ends_at:
        if launch.sign.is_file() and launch.sign.read_text("utf-8") == os.path.realpath(launch.root):
            return True
        time.sleep(_LOOK_SECONDS)
    return False
