"""A real server is asked for the same promises where one is named; where none is, that is said."""

from __future__ import annotations

import pytest

from tests.conformance.openhubs import HUBS, LINES
from tests.conformance.openhubs import LIVE as OPENHUB_LIVE
from tests.conformance.providers import LIVE, PROVIDERS, weknora_live

pytestmark = pytest.mark.conformance


def test_live_server_is_asked() -> None:
    if weknora_live not in PROVIDERS:
        pytest.skip(f"no live server was asked: set {', '.join(LIVE)}")

    assert PROVIDERS[-1] is weknora_live


@pytest.mark.parametrize("line", LINES)
def test_live_openhub_is_asked(line: str) -> None:
    if line not in HUBS:
        pytest.skip(f"no live OpenHub was asked: set {', '.join(LINES[line] + name for name in OPENHUB_LIVE)}")

    assert next(iter(HUBS)) == "stub"
