"""Where a new knowledge base is indexed: here, or over one of the profiles that its workspace may use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _

from knowledge.models import ProviderKind, ProviderProfile, Reader
from knowledge.selectors.profiles import ProfileChoice, choices_for
from mnote.exceptions import Invalid
from mnote.models import Workspace

_ALIASES = {"local_fallback": ProviderKind.LOCAL.value}


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexing:
    """Where a knowledge base is to be indexed, for good, and who reads its files: `reading` is how the provider does,
    as `reader_settings.checked` takes it. What is empty is left to the workspace."""

    provider: str = ""
    profile_id: str = ""
    parsed_by: str = Reader.MNOTE
    reading: Mapping[str, Any] = field(default_factory=dict)


ANYWHERE = Indexing()


def profile_for(workspace: Workspace, *, provider: str = "", profile_id: str = "") -> ProviderProfile | None:
    """Return the profile of a new knowledge base, None for the embedded index.

    What is empty is left to the workspace: its first usable profile, or the embedded index where no profile is bound to
    it. A profile that is bound and broken is never silently replaced, because the place is for good. Raises Invalid.
    """
    provider = _ALIASES.get(provider, provider)
    if provider == ProviderKind.LOCAL and not profile_id:
        return None
    field = "profileId" if profile_id else "provider"
    choices = choices_for(workspace)
    fitting = [each for each in choices if _fits(each, provider, profile_id)]
    if not fitting:
        if not provider and not profile_id:
            return None
        raise _invalid(field, _refusal(provider, profile_id), "invalid_choice")
    return _usable(fitting, field)


def _fits(choice: ProfileChoice, provider: str, profile_id: str) -> bool:
    return provider in ("", choice.profile.kind) and profile_id in ("", choice.profile.pk)


def _usable(fitting: Sequence[ProfileChoice], field: str) -> ProviderProfile:
    usable = next((each for each in fitting if each.is_usable), None)
    if usable is None:
        facts = {"name": fitting[0].profile.name, "reason": fitting[0].why_not}
        raise _invalid(field, _("“%(name)s” cannot be used now: %(reason)s") % facts, "unusable")
    return usable.profile


def _refusal(provider: str, profile_id: str) -> str:
    if profile_id:
        return _("The workspace has no such provider profile.")
    if provider in ProviderKind.values:
        return _("The workspace has no profile of such a provider.")
    return _("There is no such provider.")


def _invalid(field: str, message: str, code: str) -> Invalid:
    return Invalid(errors={field: [{"message": message, "code": code}]})
