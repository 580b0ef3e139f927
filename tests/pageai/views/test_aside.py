"""What the strip above a conversation does: choices of the person, passed on to the agent."""

from __future__ import annotations

from typing import Any

import pytest

from tests.pageai.panel.visits import bind
from tests.people import People
from tests.stubs.openhub import OpenHubStub
from tests.stubs.openhub_opencode import Pending

_QUESTION = {"question": "Which colour?", "header": "Colour", "options": [{"label": "Blue", "description": ""}]}


@pytest.fixture
def asked(people: People, hub: OpenHubStub) -> Pending:
    """A question that waits for alice."""
    binding = bind(people)
    session = hub.opencode.create(str(people.folder))
    binding.openhub_session_id = session.id
    binding.save()
    return hub.opencode.ask("question", session, {"questions": [_QUESTION]})


def answer(people: People, asked: Pending, **given: Any) -> int:
    binding = bind(people)
    url = f"/page-ai/{binding.pk}/questions/{asked.facts['id']}"
    return people.client("alice").post(url, {"questions": "1", "decision": "answer", **given}).status_code


def test_choice_is_passed_on(people: People, asked: Pending) -> None:
    assert answer(people, asked, **{"choice-0": "Blue", "own-0": "rather dark"}) == 204
    assert asked.answer == {"answers": [["Blue", "rather dark"]]}


@pytest.mark.parametrize("given", [{}, {"own-0": "  "}, {"own-0": "x" * 4001}])
def test_answer_that_says_nothing_or_too_much_is_refused_and_the_question_waits_on(
    people: People, asked: Pending, given: dict[str, str]
) -> None:
    assert answer(people, asked, **given) == 400
    assert not asked.answered.is_set()
