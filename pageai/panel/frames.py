"""The frames of OpenHub's streams: read from bytes as they come, whatever the pieces, and written again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

_MAX_FRAME_BYTES = 16 * 1024 * 1024
#: After one of these OpenHub's page does not send the question again.
_FINAL = frozenset({"session_idle", "message_complete", "error"})


class FrameTooLarge(Exception):
    """No end of a frame within the limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One event. `raw` is what was received, ready to be passed on; `data` is empty when it is no JSON object."""

    raw: bytes
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def type(self) -> str:
        found = self.data.get("type", "")
        return found if isinstance(found, str) else ""

    @property
    def is_final(self) -> bool:
        return self.type in _FINAL

    def text(self, name: str) -> str:
        found = self.data.get(name, "")
        return found if isinstance(found, str) else ""


class FrameReader:
    """Cuts a stream of bytes into frames."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._seen = 0

    def feed(self, piece: bytes) -> Iterator[Frame]:
        """Yield the frames that are complete now. Raises FrameTooLarge."""
        self._rest += piece
        # A blank line may have begun at the very end of what was looked at before.
        while (end := self._rest.find(b"\n\n", max(0, self._seen - 1))) >= 0:
            raw = bytes(self._rest[: end + 2])
            del self._rest[: end + 2]
            self._seen = 0
            yield Frame(raw=raw, data=_data_of(raw))
        self._seen = len(self._rest)
        if self._seen > _MAX_FRAME_BYTES:
            raise FrameTooLarge


def frame(kind: str, **facts: Any) -> Frame:
    """Make a frame of our own, in the form OpenHub writes them."""
    return written({"type": kind, **facts})


def written(data: Mapping[str, Any]) -> Frame:
    """Write the data of a frame anew."""
    return Frame(raw=f"data: {json.dumps(data)}\n\n".encode(), data=data)


def _data_of(raw: bytes) -> Mapping[str, Any]:
    lines = [line[5:].removeprefix(b" ") for line in raw.split(b"\n") if line.startswith(b"data:")]
    try:
        found = json.loads(b"\n".join(lines))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
