"""A chat model behind an OpenAI-compatible address: a list of messages in, words as they come out. It has no tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pageai.panel.frames import Frame
from pageai.panel.upstream import Call

LAYER = "chat_model"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatModel:
    """Where it listens, up to the version ("…/v1"). The key is left out of `repr`."""

    url: str
    name: str
    key: str = field(repr=False, default="")


def call_of(model: ChatModel, messages: Sequence[Mapping[str, str]]) -> Call:
    """Return the request for the next answer, as a stream."""
    headers = {"Accept": "text/event-stream", "Content-Type": "application/json", "Accept-Encoding": "identity"}
    headers |= {"Authorization": f"Bearer {model.key}"} if model.key else {}
    body = {"model": model.name, "messages": list(messages), "stream": True}
    return Call(method="POST", url=f"{model.url}/chat/completions", headers=headers, json=body)


def words_in(frame: Frame) -> str:
    """Return the words of one frame."""
    found = _choice(frame).get("delta")
    text = found.get("content") if isinstance(found, dict) else None
    return text if isinstance(text, str) else ""


def is_end(frame: Frame) -> bool:
    """Say whether the answer ends with this frame."""
    return bool(_choice(frame).get("finish_reason")) or frame.raw.strip() == b"data: [DONE]"


def _choice(frame: Frame) -> Mapping[str, Any]:
    listed = frame.data.get("choices")
    first = listed[0] if isinstance(listed, list) and listed else {}
    return first if isinstance(first, dict) else {}
