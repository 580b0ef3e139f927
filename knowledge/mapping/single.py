"""A passage whose document has no map: it stands where all of its letters stand, if they stand there once.

Nothing cleverer: of passages that are looked for one by one, anchors and gaps put some in a wrong place.
"""

from __future__ import annotations

from knowledge.citations.locators import MapState
from knowledge.mapping.document_map import NOT_MAPPED, Mapped
from knowledge.mapping.skeleton import Skeleton

#: Fewer letters stand somewhere by chance.
_SHORTEST = 12
#: In a longer text a search would wait for its letters.
LONGEST_TEXT = 1_000_000


def find_alone(words: str, ours: Skeleton) -> Mapped:
    """Return where the file's own words in a passage stand. The place is PARTIAL, because no other passage confirms
    it; NOT_MAPPED for words that are not there, not whole, or there several times."""
    letters = Skeleton.of(words).letters
    at = ours.letters.find(letters) if len(letters) >= _SHORTEST else -1
    if at < 0 or ours.letters.find(letters, at + 1) >= 0:
        return NOT_MAPPED
    return Mapped(state=MapState.PARTIAL, spans=(ours.span_of(at, at + len(letters) - 1),))
