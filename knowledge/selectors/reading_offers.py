"""What a provider can read itself, as its profile was last found: engines by type of file, and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from knowledge.models import ProviderProfile
from knowledge.profile_words import sentence_of
from knowledge.providers.base import Check, CheckResult
from knowledge.providers.originals import Engine
from knowledge.providers.registry import reading_offer
from knowledge.selectors.profiles import checks_of

_NO_MODEL = _("The provider profile names no model for pictures. An administrator can enter one.")


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeOffer:
    """One type of file: ends of names, the engine that is the right one as a rule, and those that can read it."""

    key: str
    ends: tuple[str, ...]
    recommended: str
    engines: tuple[Engine, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """`sees_engines`: the key may see which engines there are. `no_pictures` says why pictures cannot be read, "" where
    they can, `pictures_by` what the model is called. `reads_scans`: something there reads what stands in a scan.
    """

    types: tuple[TypeOffer, ...] = ()
    sees_engines: bool = False
    no_pictures: str | Promise = _NO_MODEL
    pictures_by: str = ""
    reads_scans: bool = False

    def of(self, key: str) -> TypeOffer | None:
        return next((each for each in self.types if each.key == key), None)


NOTHING = Offer()


def offer_of(profile: ProviderProfile | None) -> Offer:
    """Return what the server behind a profile reads itself."""
    kind = reading_offer(profile.kind) if profile else None
    if profile is None or kind is None:
        return NOTHING
    checks = {each.name: each for each in checks_of(profile)}
    engines = _engines(checks.get("parser-engines"))
    no_pictures = _no_pictures(profile, checks.get("vision"))
    return Offer(
        types=tuple(
            TypeOffer(key=key, ends=ends, recommended=kind.recommended[key], engines=_fitting(engines or (), ends))
            for key, ends in kind.types.items()
        ),
        sees_engines=engines is not None,
        no_pictures=no_pictures,
        pictures_by=_model_name(profile, checks.get("vision")),
        reads_scans=not no_pictures or any(each.recognises and not each.why_not for each in engines or ()),
    )


def _engines(check: Check | None) -> list[Engine] | None:
    """Return None where nobody could see them."""
    if check is None or check.result is not CheckResult.PASSED or "all" not in check.facts:
        return None
    return [
        Engine(
            name=each["name"],
            file_types=tuple(each["file_types"]),
            why_not=each["why_not"],
            recognises=each["recognises"],
        )
        for each in check.facts["all"]
    ]


def _fitting(engines: Sequence[Engine], ends: tuple[str, ...]) -> tuple[Engine, ...]:
    return tuple(each for each in engines if set(ends) & set(each.file_types))


def _model_name(profile: ProviderProfile, check: Check | None) -> str:
    return str((check.facts.get("model") if check else "") or profile.vision_model_id)


def _no_pictures(profile: ProviderProfile, check: Check | None) -> str | Promise:
    if not profile.vision_model_id:
        return _NO_MODEL
    return sentence_of(check) if check is not None and check.result is CheckResult.FAILED else ""
