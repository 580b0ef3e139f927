"""The form of a source's rules."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from knowledge.forms import SyncForm
from knowledge.models import Source
from knowledge.services import sources
from mnote.exceptions import Invalid

_RULES = (
    "include", "exclude", "recursive", "max_file_mb", "sync_mode", "interval_minutes", "disappearance", "grace_hours",
    "safety_stop_percent",
)  # fmt: skip


class SourceForm(SyncForm):
    """Which files of a folder belong, when they are looked at, and what happens when they disappear."""

    field_order = ("include", "exclude", "recursive", "max_file_mb", "when")
    also_present = None  # type: ignore[assignment]  # Django's way to drop an inherited field

    include = forms.CharField(
        label=_("Only these files"),
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false", "placeholder": "*.pdf"}),
        help_text=_("One pattern a line, such as *.pdf or reports/**. Empty: every type that can be read."),
    )
    exclude = forms.CharField(
        label=_("Without these"),
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false", "placeholder": "drafts/"}),
        help_text=_("Hidden files, keys, .git, node_modules and temporary files are left out in any case."),
    )
    recursive = forms.BooleanField(label=_("With sub-folders"), required=False)
    max_file_mb = forms.IntegerField(label=_("Largest file in MB"), min_value=1, max_value=10_000)

    def __init__(self, rules: dict[str, Any], *args: Any, is_folder: bool = True, **kwargs: Any) -> None:
        values = rules_of(Source()) | rules
        kwargs["initial"] = _initial(values)
        super().__init__(*args, **kwargs)
        _offer_interval(self.fields["when"], values)
        if not is_folder:
            for name in ("include", "exclude", "recursive"):
                del self.fields[name]

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        try:
            sources.check_patterns({name: _lines(self.cleaned_data.get(name, "")) for name in ("include", "exclude")})
        except Invalid as error:
            for name, found in error.extra["errors"].items():
                self.add_error(name, [each["message"] for each in found])
        return cleaned

    @property
    def rules(self) -> dict[str, Any]:
        """The rules chosen, as sources keep them."""
        data = self.cleaned_data
        own: dict[str, Any] = {"max_file_mb": data["max_file_mb"]}
        if "include" in self.fields:
            own |= {
                "include": _lines(data["include"]),
                "exclude": _lines(data["exclude"]),
                "recursive": data["recursive"],
            }
        return super().rules | own


def rules_of(source: Source) -> dict[str, Any]:
    """Return what a source has, as rules; a new one has the defaults."""
    return {name: getattr(source, name) for name in _RULES}


def _initial(rules: dict[str, Any]) -> dict[str, Any]:
    return SyncForm.initial_of(rules) | {
        "include": "\n".join(rules["include"]),
        "exclude": "\n".join(rules["exclude"]),
        "recursive": rules["recursive"],
        "max_file_mb": rules["max_file_mb"],
    }


def _offer_interval(field: forms.Field, rules: dict[str, Any]) -> None:
    """Offer an interval that was set elsewhere and is none of the usual ones."""
    wanted = str(rules["interval_minutes"])
    choices = list(field.choices)  # type: ignore[attr-defined]
    if rules["sync_mode"] == "interval" and wanted not in dict(choices):
        words = ngettext("Every %(count)d minute", "Every %(count)d minutes", int(wanted)) % {"count": int(wanted)}
        field.choices = [(wanted, words), *choices]  # type: ignore[attr-defined]


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]
