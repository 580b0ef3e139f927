"""Server paths of a folder, taken out of what a browser gets: files are named below the root, as everywhere in MNote.

The agent works with absolute paths, so they stand in tool calls, in their output and in what the model says. Words come
in pieces that may cut a path anywhere; what could be the beginning of one is held back until more has come.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Protocol

from pageai.panel.frames import Frame, frame, written

_HERE = "."
_WORDS = frozenset({"text", "reasoning"})


class Cleaner(Protocol):
    """What takes something out of texts and values."""

    def text(self, text: str) -> str: ...

    def value(self, value: Any) -> Any: ...

    def parted(self, text: str) -> tuple[str, str]:
        """Return what of a text may be shown now, cleaned, and the end of it that has to wait for more."""


class Veil:
    """Takes one folder out of texts, values and streams."""

    def __init__(self, directory: str) -> None:
        self._folder = directory.rstrip("/")
        self._inside = f"{self._folder}/"
        self._itself = re.compile(re.escape(self._folder) + r"(?![\w.-])")

    def text(self, text: str) -> str:
        if self._folder not in text:
            return text
        return self._itself.sub(_HERE, self.inside_gone(text))

    def inside_gone(self, text: str) -> str:
        """Leave the folder out where a file in it is named."""
        return text.replace(self._inside, "")

    def value(self, value: Any) -> Any:
        """Return a JSON value with every text in it, keys too, freed of the folder."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(each) for each in value]
        if isinstance(value, dict):
            return {self.value(name): self.value(each) for name, each in value.items()}
        return value

    def stream(self) -> StreamVeil:
        return StreamVeil(self)

    def parted(self, text: str) -> tuple[str, str]:
        """Return what may be shown now, and the end that may go on as the folder."""
        # First what is whole: the slash at its end would else pass for the beginning of the next.
        inside = self.inside_gone(text)
        cut = self.cut(inside)
        return self.text(inside[:cut]), inside[cut:]

    def cut(self, text: str) -> int:
        """Return where the end of a text begins that may go on as the folder; its length when none may."""
        for start in range(max(0, len(text) - len(self._inside) + 1), len(text)):
            if self._inside.startswith(text[start:]):
                return start
        return len(text)


class StreamVeil:
    """The same for the frames of one stream, in their order."""

    def __init__(self, veil: Cleaner) -> None:
        self._veil = veil
        self._kind = ""
        self._held = ""

    def pass_on(self, given: Frame) -> Iterator[Frame]:
        """Yield what may be shown now."""
        if given.type in _WORDS and isinstance(given.data.get("content"), str):
            if given.type != self._kind:
                yield from self.rest()
            yield from self._words(given)
            return
        yield from self.rest()
        yield self._whole(given)

    def rest(self) -> Iterator[Frame]:
        """Yield what was held back, when nothing more can follow it."""
        held, self._held = self._held, ""
        if held:
            yield frame(self._kind, content=self._veil.text(held), done=False)

    def _words(self, given: Frame) -> Iterator[Frame]:
        self._kind = given.type
        shown, self._held = self._veil.parted(self._held + given.text("content"))
        if shown == given.text("content"):
            yield given
        elif shown:
            yield frame(given.type, content=shown, done=False)

    def _whole(self, given: Frame) -> Frame:
        freed = self._veil.value(dict(given.data))
        return given if freed == given.data else written(freed)
