"""Asking the server behind a profile whether it can serve us, and keeping the answer: all of it when a person wants to
know, whether it answers and takes the key by itself now and then."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.db.models import Q, QuerySet
from django.utils import timezone

from knowledge import ids
from knowledge.models import ProviderProfile
from knowledge.profile_words import UNUSABLE
from knowledge.providers.base import (
    Check,
    CheckResult,
    KBRef,
    KnowledgeProvider,
    ProviderError,
    ProviderKBId,
    ProviderMisconfigured,
)
from knowledge.providers.originals import Pictures, Reading
from knowledge.selectors.profiles import checks_of
from knowledge.services import provider_outages
from knowledge.services.providers import Link, ProfileUnusable
from mnote.principals import Principal
from mnote.services import audit

#: What a check makes at the server and removes again is named `mnote-check-trial` there.
_TRIAL_WORKSPACE, _TRIAL_PURPOSE = "check", "trial"
#: Checks of a knowledge base: a trial takes their place.
_OF_A_BASE = ("knowledge-base", "kb-model", "search", "kb-vision")
#: A server is asked by itself so often, whatever it answered.
_EVERY = timedelta(minutes=10)


def check_profile(*, by: Principal, profile: ProviderProfile) -> Sequence[Check]:
    """Ask everything, keep the answers with their time, and return them. Never raises ProviderError.

    A knowledge base is made for it and removed again: only that shows whether the embedding model answers. What was
    found is not kept when the profile was changed meanwhile.
    """
    checks = _ask(profile)
    facts = {
        "check_json": {"checks": [_json(each) for each in checks]},
        "checked_at": timezone.now(),
        "edition": _edition(checks),
    }
    if ProviderProfile.objects.filter(pk=profile.pk, updated_at=profile.updated_at).update(**facts):
        for name, value in facts.items():
            setattr(profile, name, value)
    failed = [each.name for each in checks if each.result is CheckResult.FAILED]
    outcome = "failed" if failed else "succeeded"
    audit.record(principal=by, action="profile.check", target=profile.name, outcome=outcome, facts={"failed": failed})
    return checks_of(profile)


def unseen() -> QuerySet[ProviderProfile]:
    """Select the profiles whose servers are to be asked again."""
    is_due = Q(seen_at__isnull=True) | Q(seen_at__lte=timezone.now() - _EVERY)
    return ProviderProfile.objects.filter(is_due, archived_at=None)


def look(beat: Callable[[], None]) -> int:
    """Ask each server that is due whether it answers and takes the key, once, and keep that with its time; knowledge
    bases of one that does not say so. Returns how many do not. Never raises ProviderError."""
    failing = 0
    for profile in unseen().order_by("seen_at"):
        beat()
        code = _seen(profile)
        facts = {"seen_at": timezone.now(), "seen_code": code}
        is_same = ProviderProfile.objects.filter(pk=profile.pk, updated_at=profile.updated_at).update(**facts)
        if code and is_same and profile.knowledge_bases.filter(archived_at=None).exists():
            provider_outages.note(Link(profile.kind, profile), ProviderMisconfigured.code if code in UNUSABLE else code)
        failing += bool(code)
    return failing


def _seen(profile: ProviderProfile) -> str:
    """Return what is wrong with a server, "" for nothing."""
    try:
        status = Link(profile.kind, profile).provider().status()
    except ProfileUnusable as error:
        return error.cause
    except ProviderError as error:
        return error.code
    return "" if status.reachable else str(status.facts.get("code") or ProviderError.code)


def _ask(profile: ProviderProfile) -> list[Check]:
    try:
        provider = Link(profile.kind, profile).provider()
    except ProfileUnusable as error:
        return [Check(name="connection", result=CheckResult.FAILED, code=error.cause)]
    except ProviderError as error:
        return [Check(name="connection", result=CheckResult.FAILED, code=error.code)]
    found = [each for each in provider.check() if each.name not in _OF_A_BASE]
    names = ["embedding", "vision"] if profile.vision_model_id else ["embedding"]
    if any(each.result is CheckResult.FAILED for each in found):
        return [*found, *(Check(name=name, result=CheckResult.SKIPPED) for name in names)]
    tried = _trial(provider, reads_pictures=bool(profile.vision_model_id))
    return [*found, *(tried.get(name, Check(name=name, result=CheckResult.SKIPPED)) for name in names)]


def _trial(provider: KnowledgeProvider, *, reads_pictures: bool) -> dict[str, Check]:
    """Make a knowledge base with the profile's models and look whether they are there, and the embedding model answers.
    Returns the checks by name."""
    kb = KBRef(
        kb_id="",
        workspace_id=_TRIAL_WORKSPACE,
        provider_kb_id=ProviderKBId(ids.provider_kb_id()),
        name="",
        settings={"purpose": _TRIAL_PURPOSE},
        reading=Reading(pictures=Pictures()) if reads_pictures else None,
    )
    try:
        provider.ensure_kb(kb)
        found = {each.name: each for each in provider.check(kb)}
        embedding = Check(name="embedding", result=CheckResult.PASSED, facts=_model_facts(found))
        vision = {"vision": replace(found["kb-vision"], name="vision")} if "kb-vision" in found else {}
        return {"embedding": embedding, **vision}
    except ProviderError as error:
        return {"embedding": Check(name="embedding", result=CheckResult.FAILED, code=error.code)}
    finally:
        with suppress(ProviderError):
            provider.delete_kb(kb)


def _model_facts(checks: Mapping[str, Check]) -> dict[str, Any]:
    return dict(checks["kb-model"].facts) if "kb-model" in checks else {}


def _edition(checks: Iterable[Check]) -> str:
    return next((str(each.facts.get("edition", ""))[:20] for each in checks if each.name == "key"), "")


def _json(check: Check) -> dict[str, Any]:
    return {"name": check.name, "result": check.result.value, "code": check.code, "facts": check.facts}
