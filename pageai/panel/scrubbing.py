"""What must stand in no journal and no browser: server folders, addresses of services, and keys. Taken out of texts and
values.

Text comes in pieces that may cut such a word anywhere; `cut` says how much of a piece is safe to write yet.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pageai.panel.veil import StreamVeil, Veil

GONE = "…"
_KEYS = re.compile(
    r"(?:mnt_|mnb_)[A-Za-z0-9_-]{6,}"
    r"|eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*"
    r"|(?<=Bearer )[A-Za-z0-9._~+/=-]{8,}"
    r"|(?<=Basic )[A-Za-z0-9+/=]{8,}"
)
_KEY_WORDS = ("mnt_", "mnb_", "eyJ", "Bearer ", "Basic ")
#: A key that a piece of text cuts may be this long.
_LONGEST_KEY = 600
_KEY_BEGINS = re.compile(r"(?:mnt_|mnb_|eyJ|Bearer |Basic )[A-Za-z0-9._~+/=-]*\Z")
_LEAST = 5
_UNWRITABLE = re.compile("[\0\ud800-\udfff]")


class Scrub:
    """Takes a root's folder out of texts, and whatever else is `hidden`: by its text, what stands instead."""

    def __init__(self, directory: str, hidden: Mapping[str, str]) -> None:
        self._veil = Veil(directory)
        self._folder = directory.rstrip("/") or GONE
        self._hidden = {word: instead for word, instead in hidden.items() if len(word) >= _LEAST}
        self._words = (f"{directory.rstrip('/')}/", *self._hidden)

    def text(self, text: str) -> str:
        """Return the text without what is hidden, and without what no database can hold."""
        # What is left of the folder's name is that of another one beside it.
        found = self._veil.text(text).replace(self._folder, GONE)
        for word, instead in self._hidden.items():
            found = found.replace(word, instead)
        return _UNWRITABLE.sub("\ufffd", _KEYS.sub(GONE, found))

    def value(self, value: Any) -> Any:
        """The same for every text in a JSON value, keys too."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list | tuple):
            return [self.value(each) for each in value]
        if isinstance(value, dict):
            return {self.text(str(name)): self.value(each) for name, each in value.items()}
        return value

    def parted(self, text: str) -> tuple[str, str]:
        """Return what of a text may be shown now, cleaned, and the end of it that may go on as something hidden."""
        cut = self.cut(text)
        return self.text(text[:cut]), text[cut:]

    def stream(self) -> StreamVeil:
        return StreamVeil(self)

    def cut(self, text: str) -> int:
        """Return how much of the text cannot be the beginning of something hidden that goes on."""
        begins = [len(text) - length for word in self._words if (length := _overlap(text, word))]
        begins += [
            at for word in _KEY_WORDS if (at := len(text) - _overlap(text, word)) < len(text) and _begins(text, at)
        ]
        if (key := _KEY_BEGINS.search(text, max(0, len(text) - _LONGEST_KEY))) is not None:
            begins.append(key.start())
        end = min(begins, default=len(text))
        # A hidden word is never cut itself: half of it would pass.
        whole = [
            at for word in self._words if (at := text.rfind(word, 0, end + len(word) - 1)) >= 0 and at + len(word) > end
        ]
        return min([end, *whole])


def _begins(text: str, at: int) -> bool:
    """Say whether a word begins at a place."""
    return at == 0 or not text[at - 1].isalnum()


def _overlap(text: str, word: str) -> int:
    """Return how many characters at the end of a text are the beginning of a word."""
    for length in range(min(len(word) - 1, len(text)), 0, -1):
        if text.endswith(word[:length]):
            return length
    return 0
