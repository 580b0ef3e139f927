from __future__ import annotations

from pathlib import Path

import pytest

from tests.pageai import load
from tests.pageai.served import Seed, serve

#: Enough for every kind of call by every caller at once; `python -m tests.pageai.load` makes ten thousand.
CALLS = 300


@pytest.mark.timeout(300)
def test_two_people_at_once_never_get_each_others_answers(seed: Seed, tmp_path: Path) -> None:
    with serve(seed, tmp_path / "data", workers=2) as served:
        done = load.run(served, CALLS)
        rows = served.world.ask("count_tool_calls")

    assert (done.answers, done.failed, done.foreign) == (CALLS, 0, 0)
    assert rows == CALLS


def test_the_check_would_see_a_foreign_answer() -> None:
    quote = {"result": {"content": [{"text": "The treasure of bob lies under stone 1"}]}}

    assert load._is_foreign(quote, "alice")
    assert not load._is_foreign(quote, "bob")
