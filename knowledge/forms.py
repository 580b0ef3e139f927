"""The forms of the knowledge pages."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from knowledge.models import Reader
from knowledge.services.knowledge_bases import DESCRIPTION_MAX, NAME_MAX

READERS = [
    (Reader.MNOTE, _("MNote: every passage opens at its exact place")),
    (Reader.PROVIDER, _("The indexing service, with its document reader: places may be less exact")),
]
_NAME = _("At most 50 characters; nobody else in the workspace uses it.")


class DuplicateForm(forms.Form):
    name = forms.CharField(label=_("Name of the copy"), max_length=NAME_MAX, help_text=_NAME)


class RemoveForm(forms.Form):
    """Agreement to a removal; with the name typed where `name` is given."""

    name = forms.CharField(label=_("Type the name to remove it"), required=False)

    def __init__(self, name: str, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._name = name

    def clean_name(self) -> str:
        typed: str = self.cleaned_data["name"]
        if self._name and typed.strip() != self._name:
            raise forms.ValidationError(_("This is not its name."), code="differs")
        return typed


class SettingsForm(forms.Form):
    """What a knowledge base is called, and who uses it."""

    name = forms.CharField(label=_("Name"), max_length=NAME_MAX, help_text=_NAME)
    description = forms.CharField(
        label=_("Description"),
        max_length=DESCRIPTION_MAX,
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=_("Helps people and agents choose this knowledge base. At most 200 characters."),
    )
    default_tool_enabled = forms.BooleanField(
        label=_("Agents may search it"),
        required=False,
        help_text=_("Page AI and other agents search it for people who may read it."),
    )


class BasicsForm(forms.Form):
    """The first step of making one."""

    name = forms.CharField(label=_("Name"), max_length=NAME_MAX, widget=forms.TextInput(attrs={"autofocus": True}))
    description = forms.CharField(
        label=_("Description"),
        max_length=DESCRIPTION_MAX,
        required=False,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=_("Helps people and agents choose this knowledge base. At most 200 characters."),
    )
    workspace = forms.ChoiceField(label=_("Workspace"))
    preset = forms.ChoiceField(
        label=_("What is in it?"),
        widget=forms.RadioSelect,
        choices=[
            ("documents", _("Documents and notes: everything that can be read")),
            ("code", _("Source code and notes: without build output and lock files")),
            ("scans", _("Scans and pictures: read by an indexing service that recognises them")),
        ],
        initial="documents",
    )

    place = forms.ChoiceField(
        label=_("Where it is indexed"),
        widget=forms.RadioSelect,
        help_text=_("The files stay where they are. The place of the index cannot be changed afterwards."),
    )

    parsed_by = forms.ChoiceField(
        label=_("Who reads the files"), widget=forms.RadioSelect, choices=READERS, initial=Reader.MNOTE, required=False
    )

    pictures = forms.BooleanField(
        label=_("A model reads pictures and scans"),
        required=False,
        help_text=_("What stands in them is found, and what they show."),
    )

    def __init__(
        self, workspaces: list[tuple[str, str]], places: list[tuple[str, str]], *args: Any, **kwargs: Any
    ) -> None:
        """`places` are those of the index; without any nothing is asked, nor who reads the files."""
        super().__init__(*args, **kwargs)
        if places:
            self.fields["place"].choices = places  # type: ignore[attr-defined]
        else:
            del self.fields["place"], self.fields["parsed_by"], self.fields["pictures"]
        field = self.fields["workspace"]
        field.choices = workspaces  # type: ignore[attr-defined]
        if len(workspaces) == 1:
            field.widget = forms.HiddenInput()
            field.initial = workspaces[0][0]


class ReadingForm(forms.Form):
    """Who reads the files of a knowledge base on a server."""

    parsed_by = forms.ChoiceField(
        label=_("Who reads the files"),
        widget=forms.RadioSelect,
        choices=READERS,
        help_text=_("After a change every file is read anew. Search finds the old reading of each until then."),
    )


class SyncForm(forms.Form):
    """How sources are followed unless they say otherwise."""

    when = forms.ChoiceField(
        label=_("When to look for changes"),
        choices=[
            ("on_change", _("At once when a file changes, and every 15 minutes")),
            ("15", _("Every 15 minutes")),
            ("60", _("Every hour")),
            ("360", _("Every 6 hours")),
            ("1440", _("Once a day")),
            ("manual", _("Only when somebody asks for it")),
        ],
    )
    disappearance = forms.ChoiceField(
        label=_("When a file disappears"),
        choices=[
            ("remove", _("Remove it from the index after a grace time")),
            ("keep", _("Keep it until somebody decides")),
        ],
    )
    grace_hours = forms.IntegerField(label=_("Grace time in hours"), min_value=0, max_value=24 * 365)
    safety_stop_percent = forms.IntegerField(
        label=_("Safety stop in percent"),
        min_value=1,
        max_value=100,
        help_text=_("A sync that would remove a larger share of the documents removes none and asks."),
    )
    also_present = forms.BooleanField(label=_("Also change the sources there are already"), required=False)

    @classmethod
    def initial_of(cls, rules: dict[str, Any]) -> dict[str, Any]:
        """Turn rules of a source into values of this form."""
        mode = rules.get("sync_mode", "on_change")
        return {
            "when": str(rules.get("interval_minutes", 15)) if mode == "interval" else mode,
            "disappearance": rules.get("disappearance", "remove"),
            "grace_hours": rules.get("grace_hours", 24),
            "safety_stop_percent": rules.get("safety_stop_percent", 30),
        }

    @property
    def rules(self) -> dict[str, Any]:
        """The rules chosen, as sources keep them."""
        data = self.cleaned_data
        is_interval = data["when"].isdigit()
        return {
            "sync_mode": "interval" if is_interval else data["when"],
            "interval_minutes": int(data["when"]) if is_interval else 15,
            "disappearance": data["disappearance"],
            "grace_hours": data["grace_hours"],
            "safety_stop_percent": data["safety_stop_percent"],
        }
