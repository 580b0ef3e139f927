"""How the provider of a knowledge base reads its files: what people choose, checked against what the server offers."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any

from django.utils.translation import gettext as _

from knowledge.models import KnowledgeBase, ProviderProfile, Reader
from knowledge.parsing.file_types import is_read
from knowledge.providers.originals import Pictures, Reading
from knowledge.providers.registry import reading_offer
from knowledge.selectors.reading_offers import Offer, TypeOffer, offer_of
from mnote.exceptions import Invalid

#: Names, in a document's locator, how the provider was told to read it; not there where it was told nothing.
READ_AS = "readAs"
SCANS_AUTO, SCANS_ALWAYS = "auto", "always"
#: Languages of descriptions; "" is that of the document.
LANGUAGES = ("", "zh", "en", "ko", "ru")
MAX_INSTRUCTIONS = 4000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,59}")
#: In files of these types there are no pictures for a model.
_WITHOUT_PICTURES = frozenset({"text", "log", "code", "data", "table", "mail"})
DEFAULTS: Mapping[str, Any] = {
    "engines": {},
    "images": {"enabled": False, "language": "", "instructions": ""},
    "scannedPdfs": SCANS_AUTO,
}


def stored(kb: KnowledgeBase) -> dict[str, Any]:
    """Return the settings of a knowledge base in their public form, complete."""
    return _complete(kb.reading_json)


def reading_of(kb: KnowledgeBase) -> Reading | None:
    """Return how its provider is to read its files; None where we do."""
    if kb.parsed_by != Reader.PROVIDER:
        return None
    given = stored(kb)
    images = given["images"]
    pictures = Pictures(language=images["language"], instructions=images["instructions"])
    return Reading(
        engines=given["engines"],
        pictures=pictures if images["enabled"] else None,
        scans_as_pictures=given["scannedPdfs"] == SCANS_ALWAYS,
    )


def taken_by(kb: KnowledgeBase) -> Callable[[str], bool]:
    """Return what says of a base name whether the knowledge base reads such files: those that give us a text, and
    pictures where its provider reads them."""
    pictures = pictures_of(kb)
    return lambda name: is_read(name, pictures)


def pictures_of(kb: KnowledgeBase) -> frozenset[str]:
    """Return the ends of names of pictures that the knowledge base reads; none where nobody reads pictures."""
    reading, offer = reading_of(kb), reading_offer(kb.provider)
    return offer.pictures if reading is not None and reading.pictures is not None and offer is not None else frozenset()


def mark_of(reading: Reading | None, source_type: str) -> str:
    """Return what stands for how files of a type are read; "" where the provider is told nothing."""
    if reading is None:
        return ""
    engine = reading.engines.get(source_type, "")
    pictures = None if source_type in _WITHOUT_PICTURES else reading.pictures
    scans = source_type == "pdf" and reading.scans_as_pictures
    if not (engine or pictures or scans):
        return ""
    words = [engine, *((pictures.language, pictures.instructions) if pictures else ("-",)), str(scans)]
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:16]


def noted(mark: str) -> dict[str, str]:
    """Return what a document's locator says of how it was read."""
    return {READ_AS: mark} if mark else {}


def checked(
    *, kind: str, profile: ProviderProfile | None, wanted: Mapping[str, Any], before: Mapping[str, Any]
) -> dict[str, Any]:
    """Return settings with what is wanted in them; what is absent stays as `before`. Raises Invalid, with the names of
    the public form: "reading.engines.pdf"."""
    if reading_offer(kind) is None:
        message = _("Only an indexing service outside can read files itself.")
        raise Invalid(errors={"reading": [{"message": message, "code": "provider_cannot_read"}]})
    old = _complete(before)
    new = _complete({**old, **wanted, "images": {**old["images"], **wanted.get("images", {})}})
    new["engines"] = {key: name for key, name in new["engines"].items() if name}
    errors = _problems(offer_of(profile), new, old)
    if errors:
        raise Invalid(errors={f"reading.{name}": [problem] for name, problem in errors.items()})
    return new


def _complete(given: Mapping[str, Any]) -> dict[str, Any]:
    images = {**DEFAULTS["images"], **given.get("images", {})}
    return {**DEFAULTS, **given, "engines": dict(given.get("engines", {})), "images": images}


def _problems(offer: Offer, new: Mapping[str, Any], old: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """What was chosen before may stay, whatever the server says today."""
    found = {
        f"engines.{key}": problem
        for key, name in new["engines"].items()
        if name != old["engines"].get(key) and (problem := _engine_problem(offer, offer.of(key), name))
    }
    images = new["images"]
    if images["enabled"] and offer.no_pictures and not old["images"]["enabled"]:
        found["images.enabled"] = {"message": str(offer.no_pictures), "code": "no_model"}
    if images["language"] not in LANGUAGES:
        found["images.language"] = {"message": _("Choose one of the languages."), "code": "invalid_choice"}
    if len(images["instructions"]) > MAX_INSTRUCTIONS:
        limit = _("At most %(limit)d characters.") % {"limit": MAX_INSTRUCTIONS}
        found["images.instructions"] = {"message": limit, "code": "max_length"}
    if new["scannedPdfs"] == SCANS_ALWAYS and not images["enabled"]:
        message = _("Pages are read as pictures only where pictures are read.")
        found["scannedPdfs"] = {"message": message, "code": "needs_images"}
    return found


def _engine_problem(offer: Offer, of_type: TypeOffer | None, name: str) -> dict[str, str] | None:
    if of_type is None:
        return {"message": _("No engine is chosen for files of this type."), "code": "invalid_type"}
    if not _NAME.fullmatch(name):
        return {"message": _("This is no name of an engine."), "code": "invalid"}
    if not offer.sees_engines:
        return None
    engine = next((each for each in of_type.engines if each.name == name), None)
    if engine is None:
        return {"message": _("The server has no such engine for files of this type."), "code": "invalid_choice"}
    if engine.why_not:
        return {"message": _("This engine does not work at the server now."), "code": "unavailable"}
    return None
