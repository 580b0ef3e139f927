"""May the removals of a change set be carried out, or does a person have to say yes first?

A share that is offline looks like an empty folder, and a deleted index takes hours to build again.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from knowledge.scanner.changes import PreviousScan
from knowledge.scanner.result import RootState, ScanResult, UnreadCause

# A few removals are everyday work, however small the source.
EVERYDAY_COUNT = 5


class StopReason(StrEnum):
    """Why nothing is removed. The value is public: pages and the API translate it."""

    ROOT_GONE = "root_gone"
    ROOT_EMPTY = "root_empty"
    SCAN_PARTIAL = "scan_partial"
    DEVICE_CHANGED = "device_changed"
    OVER_LIMIT = "over_limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class SafetyVerdict:
    """`reason` is `None` where the removals are safe. Additions, changes and moves are safe in any case."""

    reason: StopReason | None
    total_known: int
    removed: int

    @property
    def stop(self) -> bool:
        """Say whether the removals wait for a person."""
        return self.reason is not None


def check_removals(
    total_known: int,
    removed: int,
    *,
    limit_percent: int,
    root_state: RootState,
    is_device_changed: bool = False,
) -> SafetyVerdict:
    """Judge `removed` of `total_known` files. Up to `EVERYDAY_COUNT` removals never pass the limit.

    A root that is gone stops even with nothing to remove, so that its state is shown.
    """
    reason = _reason(total_known, removed, limit_percent, root_state, is_device_changed=is_device_changed)
    return SafetyVerdict(reason=reason, total_known=total_known, removed=removed)


def trusted_state(scan: ScanResult) -> RootState:
    """Give the root state to judge by: folders closed to us stay closed, and must not stop all other removals.

    What lies below them is held by `diff` all the same.
    """
    is_only_denied = all(error.cause is UnreadCause.DENIED and error.path != scan.path for error in scan.errors)
    return RootState.OK if scan.root_state is RootState.PARTIAL and is_only_denied else scan.root_state


def is_device_changed(previous: PreviousScan | None, scan: ScanResult) -> bool:
    """Say whether the root now lies on another device than at the last scan."""
    return previous is not None and scan.root is not None and previous.root.device != scan.root.device


def _reason(
    total_known: int, removed: int, limit_percent: int, root_state: RootState, *, is_device_changed: bool
) -> StopReason | None:
    if root_state is RootState.GONE:
        return StopReason.ROOT_GONE
    if not removed:
        return None
    if root_state is RootState.EMPTY:
        return StopReason.ROOT_EMPTY
    if root_state is RootState.PARTIAL:
        return StopReason.SCAN_PARTIAL
    if is_device_changed:
        return StopReason.DEVICE_CHANGED
    is_over = removed > EVERYDAY_COUNT and removed * 100 > limit_percent * total_known
    return StopReason.OVER_LIMIT if is_over else None
