from __future__ import annotations

from typing import Any

import pytest

from pageai.panel import bodies
from pageai.panel.bodies import BadBody, PromptBody


def test_prompt_keeps_known_fields_only() -> None:
    given = {
        "question": "How long?",
        "conversation_id": "ses_1",
        "agent": "plan",
        "model": {"modelID": "fake-1", "providerID": "fake", "variant": "x"},
        "images": [{"base64": "aGk=", "filename": "图.png", "path": "/etc/passwd"}],
        "directory": "/etc",
        "user_id": 1,
    }

    assert bodies.prompt_of(given) == PromptBody(
        question="How long?",
        conversation_id="ses_1",
        agent="plan",
        model="fake/fake-1",
        images=({"base64": "aGk=", "filename": "图.png"},),
    )


@pytest.mark.parametrize("given", [{"question": "a"}, {"question": "a", "model": None, "images": None, "agent": None}])
def test_prompt_needs_a_question_only(given: dict[str, Any]) -> None:
    assert bodies.prompt_of(given) == PromptBody(question="a")


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"question": ""},
        {"question": " \n"},
        {"question": ["a"]},
        {"question": "a\0b"},
        {"question": "half a \ud83d letter"},
        {"question": "a", "agent": "\ud800"},
        {"question": "a", "images": [{"base64": "aGk=", "filename": "\udfff.png"}]},
        {"question": "x" * 200_001},
        {"question": "a", "conversation_id": {"$ne": ""}},
        {"question": "a", "conversation_id": "x" * 129},
        {"question": "a", "agent": "../build"},
        {"question": "a", "model": "fake-1"},
        {"question": "a", "model": {"modelID": 1, "providerID": "fake"}},
        {"question": "a", "images": {"base64": ""}},
        {"question": "a", "images": [{"base64": "aGk=", "filename": "../x.png"}]},
        {"question": "a", "images": [{"base64": "a b", "filename": "x.png"}]},
        {"question": "a", "images": [{"base64": "", "filename": "x.png"}] * 6},
    ],
)
def test_prompt_refuses_other_forms(given: dict[str, Any]) -> None:
    with pytest.raises(BadBody):
        bodies.prompt_of(given)


@pytest.mark.parametrize("raw", [b"[]", b"1", b"{", b"\xff", b"[" * 100_000])
def test_body_that_is_no_object_is_refused(raw: bytes) -> None:
    with pytest.raises(BadBody):
        bodies.read_object(raw)


def test_answers_are_lists_of_choices() -> None:
    assert bodies.answers_of({"answers": [["Blue"], "Red", []]}) == [["Blue"], ["Red"], []]


@pytest.mark.parametrize("answers", [None, [], "Blue", [[1]], [["x" * 4001]], [["a"]] * 21, {"0": "a"}, [["\ud800"]]])
def test_answers_of_other_forms_are_refused(answers: Any) -> None:
    with pytest.raises(BadBody):
        bodies.answers_of({"answers": answers})
