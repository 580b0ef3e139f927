"""What `check_citations` works on: a knowledge base over a folder, in the embedded index or at a server; brought level
here and now, without a worker."""

from __future__ import annotations

import time
from collections.abc import Mapping

from django.utils import timezone

from knowledge.models import Document, IndexStatus, KnowledgeBase, ProviderKind, ProviderProfile, Reader
from knowledge.services import drain, first_run, sync
from knowledge.services.first_run import Ready
from mnote.sealing import seal

#: Between two looks at what a server works on.
_PAUSE_SECONDS = 0.2
#: A server that finishes nothing for so long is given up. It tries files that its reader cannot read for 12 minutes.
_PATIENCE_SECONDS = 900.0


class Stuck(Exception):
    """Documents that never became ready; the message names a few, and why."""


def prepare(*, folder: bytes, connection: Mapping[str, str] | None = None, reader: str = Reader.MNOTE) -> Ready:
    """Set up a knowledge base over a folder (absolute bytes). `connection` (url, key, model) puts its index there;
    `reader` says who reads the files then.

    Raises FolderUnusable.
    """
    ready = first_run.prepare(folder=folder, provider=ProviderKind.LOCAL)
    if connection is not None:
        ready.kb.provider, ready.kb.profile = ProviderKind.WEKNORA, _profile(connection)
        ready.kb.parsed_by = reader
        ready.kb.save(update_fields=["provider", "profile", "parsed_by"])
    return ready


def level(kb: KnowledgeBase) -> None:
    """Look at every source and work through what that found. Raises Stuck."""
    for source in kb.sources.select_related("kb__workspace", "root"):
        sync.sync_source(source=source, order=sync.Order())
    waiting = Document.objects.filter(kb=kb, index_status__in=[IndexStatus.QUEUED, IndexStatus.PARSING])
    left, since = -1, time.monotonic()
    while (now_left := _drained(kb)) != left or time.monotonic() - since < _PATIENCE_SECONDS:
        if not now_left:
            return
        if now_left != left:
            left, since = now_left, time.monotonic()
        waiting.update(next_try_at=timezone.now())
        time.sleep(_PAUSE_SECONDS)
    some = waiting.values_list("source_path", "reason_code")[:5]
    raise Stuck(", ".join(f"{path} ({code})" for path, code in some))


def _drained(kb: KnowledgeBase) -> int:
    """Work through what can be worked on now; return how many documents still wait."""
    while drain.drain(kb=kb, worker="check").more:
        pass
    return kb.documents.filter(index_status__in=[IndexStatus.QUEUED, IndexStatus.PARSING]).count()


def _profile(connection: Mapping[str, str]) -> ProviderProfile:
    return ProviderProfile.objects.create(
        name="check",
        base_url=connection["url"],
        sealed_key=seal(connection["key"]),
        embedding_model_id=connection["model"],
        isolation_domain="check",
        tenant_key="check",
    )
