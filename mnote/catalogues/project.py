"""Where this project's texts and catalogues are."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from django.utils.translation import to_locale

from mnote.catalogues.extraction import Message, messages_in

_CODE = ("mnote", "knowledge", "pageai")
_TEMPLATES = ("templates",)


def messages() -> list[Message]:
    """Every text of the project marked for translation."""
    return messages_in(settings.BASE_DIR, _CODE, _TEMPLATES)


def catalogue_paths() -> list[Path]:
    """The catalogue of every language but the source language."""
    languages = [code for code, _name in settings.LANGUAGES if code != settings.LANGUAGE_CODE]
    return [Path(settings.LOCALE_PATHS[0]) / to_locale(code) / "LC_MESSAGES" / "django.po" for code in languages]
