"""What is said of places: how exactly the passages of a document that its provider read are known to stand."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from knowledge.citations.locators import MapState

#: Of a document as a whole. Documents that we read ourselves are exact and nothing is said.
DOCUMENT_PLACES: Mapping[MapState, Promise] = {
    MapState.EXACT: _("Every passage opens at its exact place."),
    MapState.PARTIAL: _("Some passages open without an exact place."),
    MapState.PAGE: _("Of its passages only the page is known."),
    MapState.AMBIGUOUS: _("Its passages stand in the file several times; they open the file without a place."),
    MapState.NONE: _("The indexing service read something else than we do; passages open the file without a place."),
    MapState.NO_TEXT: _("None of its passages holds a word of the file."),
}
_PICTURES = _("Its passages open the whole picture.")


def places_sentence(state: MapState, source_type: str) -> str | Promise:
    """Say how exactly the passages of a document are known to stand."""
    return _PICTURES if source_type == "image" and state is MapState.PAGE else DOCUMENT_PLACES[state]
