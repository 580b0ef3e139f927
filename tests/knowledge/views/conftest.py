from __future__ import annotations

import pytest

from tests.knowledge.views.pane import Pane
from tests.people import People


@pytest.fixture
def pane(people: People) -> Pane:
    return Pane(people=people)
