from __future__ import annotations

import pytest

from tests.pageai import load
from tests.pageai.served import Served

CALLS = 2_000


@pytest.mark.timeout(300)
def test_two_people_at_once_never_get_each_others_answers(running: Served) -> None:
    before = running.world.ask("count_tool_calls")

    done = load.run(running, CALLS)

    assert (done.answers, done.failed, done.foreign) == (CALLS, 0, 0)
    assert running.world.ask("count_tool_calls") - before == CALLS


def test_the_check_would_see_a_foreign_answer() -> None:
    quote = {"result": {"content": [{"text": "The treasure of bob lies under stone 1"}]}}

    assert load._is_foreign(quote, "alice")
    assert not load._is_foreign(quote, "bob")
