"""Which provider serves a knowledge base. The only module that knows the adapters."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from django.conf import settings

from knowledge.providers.base import KnowledgeProvider, ProviderMisconfigured
from knowledge.providers.local.provider import LocalProvider


def provider_for(kind: str) -> KnowledgeProvider:
    """Return the provider of this kind, one per process. Raises ProviderMisconfigured for an unknown kind."""
    maker = _MAKERS.get(kind)
    if maker is None:
        raise ProviderMisconfigured(f"no provider of kind {kind} is set up")
    return maker()


def local_provider() -> LocalProvider:
    """Return the embedded provider, which is also the evidence index of every workspace."""
    return _local(Path(settings.MNOTE_INDEX_DIR))


@lru_cache(maxsize=8)
def _local(index_dir: Path) -> LocalProvider:
    return LocalProvider(index_dir)


_MAKERS: dict[str, Callable[[], KnowledgeProvider]] = {"local": local_provider}
