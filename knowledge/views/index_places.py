"""Where a new knowledge base can be indexed, as choices of a form."""

from __future__ import annotations

from functools import cached_property

from django.http import QueryDict
from django.utils.translation import gettext as _

from knowledge.models import ProviderKind, Reader
from knowledge.selectors.profiles import ProfileChoice, choices_for
from knowledge.services.rereading import READS_ITSELF
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
    def usable(self) -> list[ProfileChoice]:
        return [each for each in self._profiles if each.is_usable]

    def choice(self, chosen: str) -> ProfileChoice | None:
        """Return the profile that was chosen, None for the index here."""
        return next((each for each in self._profiles if each.profile.pk == chosen), None)

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

    @property
    def any_reads_itself(self) -> bool:
        """Whether a service that can be chosen may read the files itself."""
        return any(each.is_usable and each.profile.kind in READS_ITSELF for each in self._profiles)

    def reading_refusal(self, chosen: str, parsed_by: str) -> str:
        """Say why the files cannot be read by whom they were to be; "" when they can."""
        if parsed_by != Reader.PROVIDER or self._reads_itself(chosen):
            return ""
        return _("Only an indexing service outside can read files itself.")

    def _reads_itself(self, chosen: str) -> bool:
        return any(each.profile.pk == chosen and each.profile.kind in READS_ITSELF for each in self._profiles)

    def completed(self, given: QueryDict) -> QueryDict:
        """Return what was sent with a place that the workspace has, and with a reader: people may come back for another
        workspace."""
        if not self.choices:
            return given
        data = given.copy()
        if given.get("place") not in dict(self.choices):
            data["place"] = self.choices[0][0]
        if given.get("parsed_by") not in Reader.values:
            data["parsed_by"] = Reader.MNOTE
        return data

    @staticmethod
    def wish(chosen: str) -> dict[str, str]:
        """Return a choice as `kb_setup.Wish` takes it."""
        return {"provider": _HERE} if chosen in ("", _HERE) else {"profile_id": chosen}


def _refusal(choice: ProfileChoice) -> str:
    text = _("“%(name)s” cannot be chosen now: %(reason)s")
    return text % {"name": choice.profile.name, "reason": choice.why_not}
