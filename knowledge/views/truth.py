"""The strip above an opened file: what is true of the place, in one plain sentence."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from knowledge.citations.locators import LocatorState, MapState
from knowledge.models import IndexStatus
from knowledge.services.reading import Reading

Words = str | Promise


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """`state` is exact, moved, changed, degraded, unverified or unknown; `lamp` gives its shape and colour."""

    state: str
    lamp: IndexStatus
    title: Words
    sentence: Words

    @property
    def is_warning(self) -> bool:
        return self.state in {"changed", "degraded", "unknown"}


_EXACT = Truth(
    state="exact",
    lamp=IndexStatus.INDEXED,
    title=_("Exact place"),
    sentence=_("The cited words stand here, and the file has not changed since."),
)
_EDITED = Truth(
    state="moved",
    lamp=IndexStatus.STALE,
    title=pgettext_lazy("state of a cited place", "Moved"),
    sentence=_("The file was edited since; the cited words were found again here."),
)
_RENAMED = Truth(
    state="moved",
    lamp=IndexStatus.STALE,
    title=pgettext_lazy("state of a cited place", "Moved"),
    sentence=_("The file has another name or folder now; the cited words stand here."),
)
_CHANGED = Truth(
    state="changed",
    lamp=IndexStatus.FAILED,
    title=pgettext_lazy("state of a cited place", "Changed"),
    sentence=_("The cited words are no longer in this file; it opens where their section begins."),
)
_CHANGED_WHOLE = Truth(
    state="changed",
    lamp=IndexStatus.FAILED,
    title=pgettext_lazy("state of a cited place", "Changed"),
    sentence=_("The file has changed since it was cited, and the cited words are no longer in it."),
)
_DEGRADED = Truth(
    state="degraded",
    lamp=IndexStatus.STALE,
    title=_("Place not exact"),
    sentence=_("The citation leads to this file, but where in it is not known."),
)
_DEGRADED_CHANGED = Truth(
    state="degraded",
    lamp=IndexStatus.STALE,
    title=_("Place not exact"),
    sentence=_("The citation leads to this file, but where in it is not known; the file has changed since."),
)
_DEGRADED_RENAMED = Truth(
    state="degraded",
    lamp=IndexStatus.STALE,
    title=_("Place not exact"),
    sentence=_("The citation leads to this file, which has another name or folder now; where in it is not known."),
)
_NO_TEXT = Truth(
    state="degraded",
    lamp=IndexStatus.STALE,
    title=_("Place not exact"),
    sentence=_("This file gives no text now, so the cited words cannot be compared with it."),
)
_UNVERIFIED = Truth(
    state="unverified",
    lamp=IndexStatus.QUEUED,
    title=_("Not compared"),
    sentence=_("This address names a place, but no words to compare it with."),
)
_AS_NAMED = Truth(
    state="exact",
    lamp=IndexStatus.INDEXED,
    title=pgettext_lazy("state of a file", "Unchanged"),
    sentence=_("The file is as it was when this place was named."),
)
_CHANGED_SINCE = Truth(
    state="changed",
    lamp=IndexStatus.FAILED,
    title=pgettext_lazy("state of a cited place", "Changed"),
    sentence=_("The file has changed since this place was named, so it opens without it."),
)
_UNKNOWN = Truth(
    state="unknown",
    lamp=IndexStatus.STALE,
    title=_("Citation not readable"),
    sentence=_("The citation in this address cannot be read, so the file opens without it."),
)


def truth_of(reading: Reading) -> Truth | None:
    """Return what the strip says; None for a file that was simply opened."""
    if reading.is_unknown:
        return _UNKNOWN
    if not reading.is_cited:
        return _of_an_address(reading)
    place = reading.place
    if not reading.is_quoted:
        return _without_place(reading)
    if place.locator.map_state is MapState.NO_TEXT:
        return _NO_TEXT
    if place.state is LocatorState.CHANGED:
        return _CHANGED if reading.request.marks else _CHANGED_WHOLE
    if reading.is_renamed:
        return _RENAMED
    return _EXACT if place.state is LocatorState.EXACT else _EDITED


def _of_an_address(reading: Reading) -> Truth | None:
    if reading.is_as_named is False:
        return _CHANGED_SINCE
    if not (reading.request.marks or reading.request.box):
        return None
    return _AS_NAMED if reading.is_as_named else _UNVERIFIED


def _without_place(reading: Reading) -> Truth:
    if reading.place.state is LocatorState.CHANGED:
        return _DEGRADED_CHANGED
    return _DEGRADED_RENAMED if reading.is_renamed else _DEGRADED
