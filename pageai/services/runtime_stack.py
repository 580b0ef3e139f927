"""The layer of `check_stack` for the opencode that MNote starts itself."""

from __future__ import annotations

from mnote.stack import LayerReport, layer
from pageai.services import runtimes


@layer("agent_host")
def agent_host() -> LayerReport:
    """Look whether programs can be started; where none are to be, there is nothing to be broken."""
    if not runtimes.is_managed():
        return LayerReport(name="agent_host", is_ok=True)
    found = runtimes.standing()
    return LayerReport(
        name="agent_host", is_ok=not found.trouble, sentence=found.trouble or found.note, version=found.version
    )
