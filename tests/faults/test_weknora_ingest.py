"""Documents on their way to a server through everything that can go wrong there and here."""

from __future__ import annotations

import pytest

from tests.faults.weknora_ingest import go, run_in
from tests.faults.worlds import World

pytestmark = [pytest.mark.faults, pytest.mark.timeout(900)]

_DOCUMENTS = 24


@pytest.mark.parametrize("edition", ["lite", "standard"])
def test_each_document_is_there_once_in_the_end(embedded: World, edition: str) -> None:
    with run_in(embedded, documents=_DOCUMENTS, edition=edition, chance=0.08, seed=7) as run:
        outcome = go(run, trouble=30.0, pause=2.0, patience=600.0)

    assert outcome.wrong == []
    assert outcome.faults, "nothing went wrong"
    assert outcome.kills
    assert outcome.restarts
