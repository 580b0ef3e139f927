"""What the page of OpenHub sends, read strictly: known fields of the right form, everything else left out."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_AGENT = re.compile(r"[A-Za-z0-9_-]{1,50}")
_BASE64 = re.compile(r"[A-Za-z0-9+/=_-]*")
_IMAGE_NAME = re.compile(r"[^/\\\x00-\x1f\ud800-\udfff]{1,200}")
_UNWRITABLE = re.compile("[\0\ud800-\udfff]")
_MAX_QUESTION = 200_000
_MAX_IMAGES = 5
_MAX_IMAGE = 7 * 1024 * 1024
_MAX_ANSWERS, _MAX_ANSWER = 20, 4000


class BadBody(Exception):
    """A body that cannot be used. The message names the field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptBody:
    """A question. `model` is "provider/model", "" when none was chosen."""

    question: str
    conversation_id: str = ""
    agent: str = "build"
    model: str = ""
    images: tuple[dict[str, str], ...] = ()


def read_object(raw: bytes) -> Mapping[str, Any]:
    """Return a JSON object; no body is an empty one. Raises BadBody."""
    try:
        found = json.loads(raw or b"{}")
    except (ValueError, RecursionError):
        raise BadBody("body") from None
    if not isinstance(found, dict):
        raise BadBody("body")
    return found


def prompt_of(given: Mapping[str, Any]) -> PromptBody:
    """Read a question. Raises BadBody."""
    question = _text(given, "question", limit=_MAX_QUESTION)
    agent = _text(given, "agent", limit=50) or "build"
    if not question.strip():
        raise BadBody("question")
    if not _AGENT.fullmatch(agent):
        raise BadBody("agent")
    return PromptBody(
        question=question,
        conversation_id=_text(given, "conversation_id", limit=128),
        agent=agent,
        model=_model(given.get("model")),
        images=_images(given.get("images")),
    )


def conversation_of(given: Mapping[str, Any], name: str = "conversation_id") -> str:
    """Read which conversation is meant. Raises BadBody."""
    return _text(given, name, limit=128)


def answers_of(given: Mapping[str, Any]) -> list[list[str]]:
    """Read the answers to the questions of the agent, each a list of choices. Raises BadBody."""
    listed = given.get("answers")
    if not isinstance(listed, list) or not 0 < len(listed) <= _MAX_ANSWERS:
        raise BadBody("answers")
    return [_choices(each) for each in listed]


def _choices(given: Any) -> list[str]:
    listed = given if isinstance(given, list) else [given]
    if len(listed) > _MAX_ANSWERS or not all(_is_text(each, _MAX_ANSWER) for each in listed):
        raise BadBody("answers")
    return list(listed)


def _text(given: Mapping[str, Any], name: str, *, limit: int) -> str:
    found = given.get(name)
    if found is None:
        return ""
    if not _is_text(found, limit):
        raise BadBody(name)
    return str(found)


def _is_text(given: Any, limit: int) -> bool:
    """Say whether it is a text that databases and other programs can take: JSON may hold half of a letter."""
    return isinstance(given, str) and len(given) <= limit and _UNWRITABLE.search(given) is None


def _model(given: Any) -> str:
    if not given:
        return ""
    if not isinstance(given, dict):
        raise BadBody("model")
    provider, model = given.get("providerID"), given.get("modelID")
    if not isinstance(provider, str) or not isinstance(model, str):
        raise BadBody("model")
    return f"{provider}/{model}" if provider and model else ""


def _images(given: Any) -> tuple[dict[str, str], ...]:
    if not given:
        return ()
    if not isinstance(given, list) or len(given) > _MAX_IMAGES:
        raise BadBody("images")
    return tuple(_image(each) for each in given)


def _image(given: Any) -> dict[str, str]:
    if not isinstance(given, dict):
        raise BadBody("images")
    data, name = given.get("base64"), given.get("filename")
    if not isinstance(data, str) or len(data) > _MAX_IMAGE or not _BASE64.fullmatch(data):
        raise BadBody("images")
    if not isinstance(name, str) or not _IMAGE_NAME.fullmatch(name):
        raise BadBody("images")
    return {"base64": data, "filename": name}
