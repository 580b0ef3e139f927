"""Where a new knowledge base can be indexed, as choices of a form."""

from __future__ import annotations

from functools import cached_property

from django.http import QueryDict
from django.utils.translation import gettext as _

from knowledge.models import ProviderKind
from knowledge.selectors.profiles import ProfileChoice, choices_for
from mnote.models import Workspace

_HERE = ProviderKind.LOCAL.value


class IndexPlaces:
    """Those of one workspace: here, and its usable profiles. Without a profile there is nothing to choose."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    @cached_property
    def _profiles(self) -> list[ProfileChoice]:
        return choices_for(self._workspace)

    @property
    def choices(self) -> list[tuple[str, str]]:
        usable = [(each.profile.pk, each.profile.name) for each in self._profiles if each.is_usable]
        return [*usable, (_HERE, _("In this installation"))] if self._profiles else []

    @property
    def closed(self) -> list[str]:
        """Which places cannot be chosen, and why."""
        return [_refusal(each) for each in self._profiles if not each.is_usable]

    def refusal(self, chosen: str) -> str:
        """Say why a place that was offered cannot be had any more; "" when it can."""
        return next((_refusal(each) for each in self._profiles if each.profile.pk == chosen and not each.is_usable), "")

    def completed(self, given: QueryDict) -> QueryDict:
        """Return what was sent with a place that the workspace has: people may come back for another workspace."""
        if not self.choices or given.get("place") in dict(self.choices):
            return given
        data = given.copy()
        data["place"] = self.choices[0][0]
        return data

    @staticmethod
    def wish(chosen: str) -> dict[str, str]:
        """Return a choice as `kb_setup.Wish` takes it."""
        return {"provider": _HERE} if chosen in ("", _HERE) else {"profile_id": chosen}


def _refusal(choice: ProfileChoice) -> str:
    text = _("“%(name)s” cannot be chosen now: %(reason)s")
    return text % {"name": choice.profile.name, "reason": choice.why_not}
