"""The surroundings of a hit, as the search page unfolds them."""

from __future__ import annotations

from collections.abc import Iterable

from django.utils.safestring import SafeString

from knowledge.citations.locators import LocatorState
from knowledge.rendering.matched_words import marked, matches
from knowledge.services.opening import OpenedPlace
from knowledge.services.passages import Passage, Surroundings


class Around:
    """A passage between its neighbours, with the words of the question marked in all of them."""

    def __init__(self, place: OpenedPlace, found: Surroundings, question: str) -> None:
        self._place = place
        self._found = found
        self._question = question

    @property
    def before(self) -> list[SafeString]:
        return self._marked(self._found.before)

    @property
    def after(self) -> list[SafeString]:
        return self._marked(self._found.after)

    @property
    def passage(self) -> SafeString:
        return self._text(self._place.locator.quote)

    @property
    def section(self) -> str:
        return " › ".join(self._place.locator.section_path)

    @property
    def is_changed(self) -> bool:
        """Whether the passage is no longer in the file."""
        return self._place.state is LocatorState.CHANGED

    @property
    def is_moved(self) -> bool:
        return self._place.state is LocatorState.MOVED

    @property
    def is_alone(self) -> bool:
        return not self._found.before and not self._found.after

    def _marked(self, passages: Iterable[Passage]) -> list[SafeString]:
        return [self._text(each.quote) for each in passages]

    def _text(self, text: str) -> SafeString:
        return marked(text, matches(text, self._question))
