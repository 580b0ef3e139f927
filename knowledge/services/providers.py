"""Which provider serves a knowledge base, and over which connection. The only way from our rows to the seam."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.conf import settings
from django.db.models import QuerySet

from knowledge.models import KnowledgeBase, ProviderKind, ProviderProfile
from knowledge.profile_words import UNUSABLE
from knowledge.providers.base import KnowledgeProvider, ProviderError, ProviderMisconfigured, ProviderStatus
from knowledge.providers.registry import connected_provider, provider_for
from mnote.sealing import Unsealable, unseal


class ProfileUnusable(ProviderMisconfigured):
    """Something about a profile keeps it from being used at all; `cause` is one of UNUSABLE."""

    def __init__(self, cause: str) -> None:
        super().__init__(str(UNUSABLE[cause]))
        self.cause = cause


@dataclass(frozen=True, slots=True)
class Link:
    """How knowledge bases reach their provider: a kind, and a profile unless the provider is in this installation.

    Knowledge bases with equal links are asked together.
    """

    kind: str
    profile: ProviderProfile | None = None

    @property
    def key(self) -> str:
        """Stands for the link in public answers."""
        return self.profile.pk if self.profile else self.kind

    @property
    def name(self) -> str:
        """What people call it."""
        return self.profile.name if self.profile else self.kind

    def provider(self) -> KnowledgeProvider:
        """Return the provider. Raises ProviderMisconfigured where there is none, or none that may be used."""
        if self.profile is None:
            return provider_for(self.kind)
        if self.profile.archived_at is not None:
            raise ProfileUnusable("archived")
        return connected_provider(self.kind, connection_of(self.profile))

    def status(self) -> ProviderStatus:
        """Say whether the provider answers. Never raises ProviderError."""
        try:
            return self.provider().status()
        except ProviderError as error:
            return ProviderStatus(reachable=False, sentence=str(error), facts={"code": error.code})


def link_of(kb: KnowledgeBase) -> Link:
    """Return the link of a knowledge base; load `profile` with it where many are looked at."""
    return Link(kb.provider, kb.profile if kb.profile_id else None)


def provider_of(kb: KnowledgeBase) -> KnowledgeProvider:
    """Return the provider that serves a knowledge base. Raises ProviderMisconfigured."""
    return link_of(kb).provider()


def grouped(kbs: Iterable[KnowledgeBase]) -> dict[Link, list[KnowledgeBase]]:
    """Return the knowledge bases by their link, in the order in which they came."""
    groups: dict[Link, list[KnowledgeBase]] = {}
    for kb in kbs:
        groups.setdefault(link_of(kb), []).append(kb)
    return groups


def links_of(kbs: QuerySet[KnowledgeBase]) -> list[Link]:
    """Return the links in use by any of many knowledge bases, the embedded index first, then by name."""
    used = kbs.order_by().values_list("provider", "profile").distinct()
    profiles = ProviderProfile.objects.in_bulk([profile for kind, profile in used if profile])
    links = [Link(kind, profiles[profile] if profile else None) for kind, profile in used]
    return sorted(links, key=lambda link: (link.kind != ProviderKind.LOCAL, link.name.casefold(), link.key))


def connection_of(profile: ProviderProfile) -> Mapping[str, str]:
    """Return what the adapter needs to know. Raises ProviderMisconfigured for a key that is missing or unreadable."""
    return {
        "url": profile.base_url,
        "key": key_of(profile),
        "tenant_id": profile.tenant_id,
        "embedding_model_id": profile.embedding_model_id,
        "vision_model_id": profile.vision_model_id,
    }


def key_of(profile: ProviderProfile) -> str:
    """Return the key of a profile, for its adapter and nobody else. Raises ProviderMisconfigured."""
    if profile.key_name:
        key = str(settings.MNOTE_PROVIDER_KEYS.get(profile.key_name, ""))
        if not key:
            raise ProfileUnusable("key-not-in-environment")
        return key
    if not profile.sealed_key:
        raise ProfileUnusable("key-missing")
    try:
        return unseal(profile.sealed_key)
    except Unsealable:
        raise ProfileUnusable("key-unreadable") from None
