"""Two programs must never share an address by accident."""

from __future__ import annotations

import socket

import pytest

from mnote.process.preflight import PreflightFailed, check_address


def test_free_address_passes() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]

    check_address("127.0.0.1", port)


@pytest.mark.parametrize("shared", [False, True])
def test_address_somebody_listens_on_is_refused(shared: bool) -> None:
    with socket.socket() as other:
        if shared:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        other.bind(("127.0.0.1", 0))
        other.listen()

        with pytest.raises(PreflightFailed, match="Choose another"):
            check_address("127.0.0.1", other.getsockname()[1])
