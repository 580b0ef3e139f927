"""Forms about how the provider of a knowledge base reads its files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from knowledge.file_words import TYPE_WORDS
from knowledge.profile_words import ENGINE_REASONS
from knowledge.providers.originals import Engine
from knowledge.selectors.reading_offers import Offer, TypeOffer
from knowledge.services.reader_settings import MAX_INSTRUCTIONS, SCANS_ALWAYS, SCANS_AUTO


class _Closable(forms.Select):
    """A choice some of whose options cannot be chosen now."""

    closed: frozenset[str] = frozenset()

    def create_option(self, name: str, value: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        option = super().create_option(name, value, *args, **kwargs)
        if str(value) in self.closed:
            option["attrs"]["disabled"] = True
        return option


class EnginesForm(forms.Form):
    """One field for each type of file: its engine, empty for what the server takes by itself."""

    prefix = "engine"

    def __init__(self, offer: Offer, engines: Mapping[str, str], data: Any = None) -> None:
        super().__init__(data, initial=dict(engines))
        self._offer, self._engines = offer, engines
        for each in offer.types:
            now = engines.get(each.key, "")
            self.fields[each.key] = _choice(each, now) if offer.sees_engines else _entry(each)

    @property
    def lines(self) -> list[tuple[str | Promise, str]]:
        """What reads each type of file now, as words."""
        left = _("%(name)s, recommended and left to the server")
        return [
            (TYPE_WORDS[each.key], self._engines.get(each.key) or left % {"name": each.recommended})
            for each in self._offer.types
        ]

    @property
    def engines(self) -> dict[str, str]:
        return {name: value for name, value in self.cleaned_data.items() if value}


def _choice(offer: TypeOffer, now: str) -> forms.ChoiceField:
    listed = {each.name for each in offer.engines}
    gone = [(now, _("%(name)s – no longer there") % {"name": now})] if now and now not in listed else []
    choices = [("", _("Left to the server")), *((each.name, _engine_words(each)) for each in offer.engines), *gone]
    field = forms.ChoiceField(
        label=_label(offer), choices=choices, required=False, widget=_Closable, help_text=_recommended(offer)
    )
    assert isinstance(field.widget, _Closable)  # noqa: S101 it was made so
    field.widget.closed = frozenset(each.name for each in offer.engines if each.why_not and each.name != now)
    return field


def _entry(offer: TypeOffer) -> forms.CharField:
    attrs = {"placeholder": _("Left to the server"), "autocomplete": "off", "spellcheck": "false"}
    return forms.CharField(
        label=_label(offer), max_length=60, required=False, widget=forms.TextInput(attrs), help_text=_recommended(offer)
    )


def _label(offer: TypeOffer) -> str:
    return f"{TYPE_WORDS[offer.key]} · {' '.join(f'.{end}' for end in offer.ends)}"


def _recommended(offer: TypeOffer) -> str:
    return _("Recommended: %(name)s.") % {"name": offer.recommended}


def _engine_words(engine: Engine) -> str:
    if not engine.why_not:
        return engine.name
    return f"{engine.name} – {ENGINE_REASONS.get(engine.why_not, ENGINE_REASONS['not-working'])}"


class PicturesForm(forms.Form):
    """Whether a model reads pictures, and how."""

    prefix = "pictures"

    enabled = forms.BooleanField(
        label=gettext_lazy("A model reads pictures and scans"),
        required=False,
        help_text=gettext_lazy(
            "What stands in them is found, and what they show. A passage found in a picture opens the picture, or the"
            " page where that is known. Each picture costs two calls of the model."
        ),
    )
    language = forms.ChoiceField(
        label=gettext_lazy("Language of the descriptions"),
        required=False,
        choices=[
            ("", gettext_lazy("That of the document")),
            ("zh", gettext_lazy("Chinese")),
            ("en", gettext_lazy("English")),
            ("ko", gettext_lazy("Korean")),
            ("ru", gettext_lazy("Russian")),
        ],
    )
    instructions = forms.CharField(
        label=gettext_lazy("What to look for"),
        max_length=MAX_INSTRUCTIONS,
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=gettext_lazy("For example: “The numbers on valves are read exactly.”"),
    )
    scanned_pdfs = forms.ChoiceField(
        label=gettext_lazy("PDF files"),
        required=False,
        choices=[
            (SCANS_AUTO, gettext_lazy("Only scanned pages are read as pictures")),
            (SCANS_ALWAYS, gettext_lazy("Every page is read as a picture, whatever text it has")),
        ],
    )

    @classmethod
    def initial_of(cls, stored: Mapping[str, Any]) -> dict[str, Any]:
        return {**stored["images"], "scanned_pdfs": stored["scannedPdfs"]}

    @property
    def reading(self) -> dict[str, Any]:
        """What was chosen, in the public form."""
        given = self.cleaned_data
        images = {"enabled": given["enabled"], "language": given["language"], "instructions": given["instructions"]}
        return {"images": images, "scannedPdfs": given["scanned_pdfs"] or SCANS_AUTO}


#: Names of the public form -> fields of these forms.
FIELDS: Mapping[str, str] = {
    "reading.images.enabled": "enabled",
    "reading.images.language": "language",
    "reading.images.instructions": "instructions",
    "reading.scannedPdfs": "scanned_pdfs",
}


def add_errors(form: forms.Form, errors: Mapping[str, list[dict[str, str]]]) -> None:
    """Put refusals of the settings to the fields they are about."""
    for name, found in errors.items():
        field = FIELDS.get(name, name.removeprefix("reading.engines."))
        form.add_error(field if field in form.fields else None, [each["message"] for each in found])
