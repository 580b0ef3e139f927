from __future__ import annotations

import pytest

from tests.knowledge.vault import Vault, make_vault
from tests.people import People


@pytest.fixture
def vault(people: People) -> Vault:
    return make_vault(people)
