import pytest

from knowledge.scanner.changes import PreviousScan
from knowledge.scanner.result import RootState, ScanResult, Unread, UnreadCause
from knowledge.scanner.safety import check_removals, is_device_changed, trusted_state
from mnote.files.roots import RootIdentity


@pytest.mark.parametrize(
    ("known", "removed", "state", "device_changed", "reason"),
    [
        (200, 0, "ok", False, None),
        (200, 200, "gone", False, "root_gone"),
        (200, 0, "gone", False, "root_gone"),
        (200, 200, "empty", False, "root_empty"),
        (1, 1, "empty", False, "root_empty"),
        (0, 0, "empty", False, None),
        (200, 1, "partial", False, "scan_partial"),
        (200, 0, "partial", False, None),
        (200, 1, "ok", True, "device_changed"),
        (200, 0, "ok", True, None),
        (200, 40, "ok", False, None),
        (200, 41, "ok", False, "over_limit"),
        (5, 5, "ok", False, None),
        (6, 6, "ok", False, "over_limit"),
        (200, 200, "ok", False, "over_limit"),
    ],
)
def test_removals_stop_when_the_root_cannot_be_trusted(known, removed, state, device_changed, reason):
    verdict = check_removals(
        known, removed, limit_percent=20, root_state=RootState(state), is_device_changed=device_changed
    )

    assert (verdict.reason, verdict.stop) == (reason, reason is not None)
    assert (verdict.total_known, verdict.removed) == (known, removed)


def scanned(state, *errors, path="", device=1):
    unread = tuple(Unread(path=path, cause=UnreadCause(cause)) for path, cause in errors)
    root = RootIdentity(device=device, inode=2)
    return ScanResult(path=path, root_state=RootState(state), root=root, started_at_ns=1, errors=unread)


@pytest.mark.parametrize(
    ("scan", "state"),
    [
        (scanned("ok"), "ok"),
        (scanned("partial", ("shut", "denied")), "ok"),
        (scanned("partial", ("shut", "denied"), ("bad", "failed")), "partial"),
        (scanned("partial", ("moved", "vanished")), "partial"),
        (scanned("partial", ("", "too_many")), "partial"),
        (scanned("partial", ("", "denied")), "partial"),
        (scanned("partial", ("docs", "denied"), path="docs"), "partial"),
        (scanned("empty"), "empty"),
        (scanned("gone"), "gone"),
    ],
)
def test_closed_folders_alone_do_not_stop_other_removals(scan, state):
    assert trusted_state(scan) == state


def test_device_is_compared_with_the_last_scan():
    previous = PreviousScan(started_at_ns=1, root=RootIdentity(device=1, inode=2))

    assert not is_device_changed(None, scanned("ok"))
    assert not is_device_changed(previous, scanned("ok"))
    assert is_device_changed(previous, scanned("ok", device=3))
