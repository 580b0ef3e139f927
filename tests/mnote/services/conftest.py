from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.bell import rung


@pytest.fixture
def quiet_bell() -> Iterator[None]:
    """Begin with nothing rung."""
    for queue in ("interactive", "bulk"):
        rung(queue)
    yield
    for queue in ("interactive", "bulk"):
        rung(queue)
