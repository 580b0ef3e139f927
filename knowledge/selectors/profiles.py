"""Provider profiles: which ones a workspace may use, and what the last check of one found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models.functions import Lower
from django.utils.functional import Promise

from knowledge.models import ProviderProfile
from knowledge.profile_words import NOT_CHECKED, UNUSABLE, sentence_of
from knowledge.providers.base import Check, CheckResult
from mnote.models import Workspace

#: Checks of what a server may also do: without it the profile serves as well.
_EXTRAS = frozenset({"vision"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileChoice:
    """A profile that a new knowledge base of a workspace might use. `why_not` says why it cannot be chosen now."""

    profile: ProviderProfile
    why_not: str | Promise = ""

    @property
    def is_usable(self) -> bool:
        return not self.why_not


def checks_of(profile: ProviderProfile) -> Sequence[Check]:
    """Return what the last check found, in its order; nothing for a profile that was not checked."""
    return [
        Check(name=each["name"], result=CheckResult(each["result"]), code=each["code"], facts=each["facts"])
        for each in profile.check_json.get("checks", ())
    ]


def seen_of(profile: ProviderProfile) -> Check:
    """Return what the last look at the server by itself found, as a check."""
    return Check(
        name="connection",
        result=CheckResult.FAILED if profile.seen_code else CheckResult.PASSED,
        code=profile.seen_code,
    )


def why_not(profile: ProviderProfile) -> str | Promise:
    """Say why nothing new may be put on a profile; "" when it may."""
    if profile.archived_at is not None:
        return UNUSABLE["archived"]
    if profile.checked_at is None:
        return NOT_CHECKED
    failed = [each for each in checks_of(profile) if each.result is CheckResult.FAILED and each.name not in _EXTRAS]
    return sentence_of(failed[0]) if failed else ""


def choices_for(workspace: Workspace) -> list[ProfileChoice]:
    """Return the live profiles that are bound to a workspace, by name."""
    rows = ProviderProfile.objects.filter(workspaces=workspace, archived_at=None).order_by(Lower("name"))
    return [ProfileChoice(profile=row, why_not=why_not(row)) for row in rows]


def default_for(workspace: Workspace) -> ProviderProfile | None:
    """Return where new knowledge bases of a workspace are indexed unless somebody says otherwise: its first usable
    profile, else its first, None for the embedded index."""
    choices = sorted(choices_for(workspace), key=lambda each: not each.is_usable)
    return choices[0].profile if choices else None
