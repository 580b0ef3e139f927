"""Stopping a run for its person."""

from __future__ import annotations

from mnote.principals import Principal
from pageai.models import EndReason, Run, RunStatus
from pageai.services import errands, gatekeeping, runs, settling


def cancel(*, principal: Principal, run: Run) -> None:
    """Stop a live run: one that was never asked, or whose model is only listened to, at once; any other by stopping
    its agent, with whose end it ends.

    Raises:
        NotFound, PanelSwitchedOff. PanelError: the agent cannot be told.
    """
    if not run.is_live:
        return
    if run.status == RunStatus.PENDING or run.provider == "chat_only":  # whoever reads that sees that it ended
        runs.end(run_id=run.pk, reason=EndReason.CANCELLED)
        return
    errands.abort(gatekeeping.enter(principal=principal, binding_id=run.binding_id))
    settling.settle(run.pk)  # when nobody reads it
