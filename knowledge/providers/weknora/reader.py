"""The server's own reading of files: its engines, and what it is told of them.

Rules stand with the knowledge base. What concerns pictures goes along with each document, because the server takes no
change of it for a knowledge base that has no model for chats.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from knowledge.providers.originals import Engine, Pictures, Reading, ReadingOffer
from knowledge.providers.weknora.errors import VisionMissing

#: Ends of names that the server reads, by type of file as we know them. Plain text needs no engine.
_TYPES: Mapping[str, tuple[str, ...]] = {
    "pdf": ("pdf",),
    "word": ("docx",),
    "slides": ("pptx",),
    "spreadsheet": ("xlsx", "xls"),
    "web_page": ("html", "htm"),
    "ebook": ("epub",),
    "table": ("csv",),
    "image": ("png", "jpg", "jpeg", "gif"),
}
_BUILTIN, _SIMPLE = "builtin", "simple"
_RECOMMENDED = {key: _SIMPLE if key in ("table", "image") else _BUILTIN for key in _TYPES}
OFFER = ReadingOffer(types=_TYPES, recommended=_RECOMMENDED, pictures=frozenset(_TYPES["image"]))

_RECOGNISING = frozenset({"mineru", "mineru_cloud", "paddleocr_vl", "paddleocr_vl_cloud"})
#: Part of what the server says of an engine that does not work -> our code for it. Its own text may hold addresses.
_REASONS = (("not connected", "reader-missing"), ("not configured", "not-set-up"))
#: What an image model writes in, by our code.
_LANGUAGES = {"zh": "Chinese (Simplified)", "en": "English", "ko": "Korean", "ru": "Russian"}


def engines_of(rows: Iterable[Any]) -> list[Engine]:
    """Return the engines that the server lists, in its order."""
    return [_engine(row) for row in rows if isinstance(row, dict) and row.get("Name")]


def rules_of(reading: Reading) -> list[dict[str, Any]]:
    """Return the rules of a knowledge base; a type without one is read as the server likes."""
    chosen = {key: name for key, name in reading.engines.items() if key in _TYPES and name}
    return [{"file_types": list(_TYPES[key]), "engine": name} for key, name in sorted(chosen.items())]


def are_equal(rules: Iterable[Any], others: Iterable[Any]) -> bool:
    """Say whether two lists of rules have the same files read by the same engines."""
    return _by_type(rules) == _by_type(others)


def process_config(reading: Reading | None, file_type: str, vision_model_id: str) -> dict[str, Any] | None:
    """Return how one original is to be processed, over what its knowledge base says; None where nothing is said.

    Raises VisionMissing for a picture that no model can read.
    """
    if reading is None:
        return None
    pictures = reading.pictures if vision_model_id else None
    if pictures is None:
        if file_type.lower() in OFFER.pictures:
            raise VisionMissing("no model for pictures is configured for this server")
        return {"enable_multimodel": False}
    body: dict[str, Any] = {"enable_multimodel": True, "vlm_config": _vlm_config(pictures, vision_model_id)}
    if file_type.lower() == "pdf" and reading.scans_as_pictures:
        body["parser_engine_overrides"] = {"pdf_force_scanned": "true"}
    return body


def _vlm_config(pictures: Pictures, model: str) -> dict[str, Any]:
    found = {"description_language": _LANGUAGES.get(pictures.language), "custom_instructions": pictures.instructions}
    return {"enabled": True, "model_id": model, **{name: value for name, value in found.items() if value}}


def _engine(row: Mapping[str, Any]) -> Engine:
    name, types = str(row["Name"])[:60], row.get("FileTypes")
    return Engine(
        name=name,
        file_types=tuple(str(each).lower() for each in types) if isinstance(types, list) else (),
        why_not="" if row.get("Available") else _why_not(str(row.get("UnavailableReason") or "")),
        recognises=name in _RECOGNISING,
    )


def _why_not(text: str) -> str:
    return next((code for part, code in _REASONS if part in text.lower()), "not-working")


def _by_type(rules: Iterable[Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for rule in rules:
        if isinstance(rule, dict):
            for each in rule.get("file_types") or ():
                found.setdefault(str(each).lower(), str(rule.get("engine") or ""))
    return {key: name for key, name in found.items() if name}
