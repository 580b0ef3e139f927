"""Who reads the files of a knowledge base in the making, and how: what is asked, preset and proposed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.http import QueryDict

from knowledge.models import Reader
from knowledge.parsing.file_types import is_read
from knowledge.reader_forms import EnginesForm, add_errors
from knowledge.selectors.profiles import ProfileChoice
from knowledge.selectors.reading_offers import Offer, offer_of
from knowledge.services.forecasts import Forecast
from knowledge.views.index_places import IndexPlaces

#: The kind of content for which a service that recognises scans is the right reader.
SCANS = "scans"
_ON = frozenset({"on", "true", "True"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """That `choice` reads the files: so many of them are pictures and scans."""

    choice: ProfileChoice
    count: int
    total: int


class MakingReading:
    """`given` is what the form holds, None before it was sent."""

    def __init__(self, places: IndexPlaces, given: QueryDict | None) -> None:
        self._places = places
        self._given: Mapping[str, Any] = given if given is not None else {}

    @cached_property
    def offer(self) -> Offer:
        """What the chosen place reads itself."""
        found = self._places.choice(self._given.get("place", ""))
        return offer_of(found.profile if found else None)

    @property
    def is_there(self) -> bool:
        return self._given.get("parsed_by") == Reader.PROVIDER and bool(self.offer.types)

    @property
    def takes_pictures(self) -> bool:
        return self.is_there and self._given.get("pictures") in _ON and not self.offer.no_pictures

    @cached_property
    def readers_of_scans(self) -> list[ProfileChoice]:
        return [each for each in self._places.usable if offer_of(each.profile).reads_scans]

    @cached_property
    def picture_ends(self) -> frozenset[str]:
        """Ends of names of pictures that some service which can be chosen reads."""
        offers = [offer_of(each.profile) for each in self.readers_of_scans]
        return frozenset(
            end for offer in offers if not offer.no_pictures and (kind := offer.of("image")) for end in kind.ends
        )

    def takes(self, name: str) -> bool:
        """Say whether files of this base name are read."""
        return is_read(name, self.picture_ends if self.takes_pictures else ())

    @cached_property
    def engines_form(self) -> EnginesForm:
        data = self._given if any(str(name).startswith("engine-") for name in self._given) else None
        return EnginesForm(self.offer, {}, data)

    def is_valid(self) -> bool:
        return not self.is_there or not self.engines_form.is_bound or self.engines_form.is_valid()

    def settings(self) -> dict[str, Any]:
        """Return how the service is to read, as `reader_settings.checked` takes it; nothing where we read."""
        if not self.is_there:
            return {}
        engines = self.engines_form.engines if self.engines_form.is_bound and self.is_valid() else {}
        return {"engines": engines, "images": {"enabled": self._given.get("pictures") in _ON}}

    def refuse(self, errors: Mapping[str, Any]) -> None:
        """Put refusals of engines to their fields."""
        if self.engines_form.is_bound and self.engines_form.is_valid():
            add_errors(self.engines_form, {name: errors[name] for name in errors if name.startswith("reading.engines")})

    def proposal(self, found: Forecast) -> Proposal | None:
        """Propose a service for mostly scans and pictures that nobody is to recognise yet."""
        is_done = self.is_there and (self.takes_pictures or self.offer.reads_scans)
        total = found.count + found.pictures
        if is_done or not self.readers_of_scans or not total or 2 * found.recognisable < total:
            return None
        return Proposal(choice=self.readers_of_scans[0], count=found.recognisable, total=total)

    def proposed(self) -> dict[str, str]:
        """Return what the form holds once a service is to recognise scans; nothing where none can."""
        if not self.readers_of_scans:
            return {}
        profile = self.readers_of_scans[0].profile
        offer = offer_of(profile)
        wanted = {"place": profile.pk, "parsed_by": Reader.PROVIDER.value}
        if not offer.no_pictures:
            return {**wanted, "pictures": "on"}
        of_pdf = offer.of("pdf")
        engines = [each for each in of_pdf.engines if each.recognises and not each.why_not] if of_pdf else []
        return {**wanted, **({"engine-pdf": engines[0].name} if engines else {})}
