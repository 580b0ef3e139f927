"""Which provider serves a knowledge base. The only module that knows the adapters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.conf import settings

from knowledge.providers.base import KnowledgeProvider, ProviderMisconfigured
from knowledge.providers.local.provider import LocalProvider
from knowledge.providers.originals import ReadingOffer
from knowledge.providers.weknora import reader
from knowledge.providers.weknora.config import WeKnoraConfig
from knowledge.providers.weknora.limiter import Limiter
from knowledge.providers.weknora.limiter_file import FileLimiter
from knowledge.providers.weknora.limiter_redis import RedisLimiter
from knowledge.providers.weknora.provider import WeKnoraProvider
from mnote.ids import text_key


def provider_for(kind: str) -> KnowledgeProvider:
    """Return the provider of this kind, one per process. Raises ProviderMisconfigured for an unknown kind."""
    maker = _MAKERS.get(kind)
    if maker is None:
        raise ProviderMisconfigured(f"no provider of kind {kind} is set up")
    return maker()


def connected_provider(kind: str, connection: Mapping[str, Any]) -> KnowledgeProvider:
    """Return the provider of this kind behind a connection, one per process and connection.

    `connection` holds what the kind needs to know: for weknora the fields of `WeKnoraConfig`, at least url, key and
    embedding_model_id. Raises ProviderMisconfigured for an unknown kind and for what cannot be a connection.
    """
    if kind != WeKnoraProvider.kind:
        raise ProviderMisconfigured(f"no provider of kind {kind} takes a connection")
    return _weknora(WeKnoraConfig.of(connection), _limiter_url(), Path(settings.MNOTE_DATA_DIR))


def tenant_key(kind: str, url: str, tenant_id: str) -> str:
    """Return 40 characters that stand for a tenant of a server and give neither away.

    Raises ProviderMisconfigured for an unknown kind and for what cannot be an address.
    """
    if kind != WeKnoraProvider.kind:
        raise ProviderMisconfigured(f"no provider of kind {kind} takes a connection")
    server = WeKnoraConfig.of({"url": url, "key": "none"}).server
    return text_key(f"{kind} {server} {int(tenant_id)}")


def reading_offer(kind: str) -> ReadingOffer | None:
    """Return what providers of a kind read themselves; None where they get our text only."""
    return reader.OFFER if kind == WeKnoraProvider.kind else None


def local_provider() -> LocalProvider:
    """Return the embedded provider, which is also the evidence index of every workspace."""
    return _local(Path(settings.MNOTE_INDEX_DIR))


@lru_cache(maxsize=8)
def _local(index_dir: Path) -> LocalProvider:
    return LocalProvider(index_dir)


@lru_cache(maxsize=64)
def _weknora(config: WeKnoraConfig, redis_url: str, data_dir: Path) -> WeKnoraProvider:
    return WeKnoraProvider(config, _limiter(redis_url, data_dir))


@lru_cache(maxsize=8)
def _limiter(redis_url: str, data_dir: Path) -> Limiter:
    """Workers on several hosts share a Redis anyway; those of one machine share a folder."""
    return RedisLimiter(redis_url) if redis_url else FileLimiter(data_dir / "limits")


def _limiter_url() -> str:
    broker = str(settings.CELERY_BROKER_URL)
    return broker if broker.startswith(("redis://", "rediss://")) else ""


_MAKERS: dict[str, Callable[[], KnowledgeProvider]] = {"local": local_provider}
