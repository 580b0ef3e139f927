"""A vault whose knowledge base lies on a WeKnora server, as stub."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from django.utils import timezone

from knowledge.models import Document, KnowledgeBase, ProviderDeletion, ProviderOutage, ProviderTagging
from knowledge.providers.base import KBRef
from knowledge.providers.weknora.config import Pace, WeKnoraConfig
from knowledge.providers.weknora.limiter import Limiter, MemoryLimiter
from knowledge.providers.weknora.provider import WeKnoraProvider
from knowledge.selectors.provider_outages import outage_of
from knowledge.services import drain, dropping
from tests.knowledge.vault import Vault
from tests.stubs.weknora import WeKnoraStub
from tests.stubs.weknora_world import Document as StubDocument

#: What is believed of the server, and how long a deletion is waited for.
PACE = Pace(gone=2.0, known=0.0, again=0.05, stall=60.0, queue=60.0, flight=5.0)


@dataclass(slots=True, kw_only=True)
class Remote:
    """`vault` over `stub`; work is done by `work`, as one worker does it."""

    vault: Vault
    stub: WeKnoraStub
    limiter: Limiter = field(default_factory=MemoryLimiter)

    def provider(self, **changes: Any) -> WeKnoraProvider:
        facts = {"url": self.stub.url, "key": self.stub.key, "embedding_model_id": self.stub.model.id, "pace": PACE}
        return WeKnoraProvider(WeKnoraConfig(**{**facts, **changes}), self.limiter)

    @property
    def kb(self) -> KnowledgeBase:
        return KnowledgeBase.objects.select_related("workspace").get(pk=self.vault.kb.pk)

    @property
    def outage(self) -> ProviderOutage | None:
        return outage_of(self.kb)

    @property
    def ref(self) -> KBRef:
        return dropping.kb_ref(self.kb)

    @property
    def held(self) -> list[StubDocument]:
        """What the server holds for the knowledge base."""
        return self.stub.world.documents_of(self.kb.provider_kb_id)

    def bodies(self) -> Counter[str]:
        return Counter(document.body.decode() for document in self.held)

    def work(self, worker: str = "test") -> None:
        """One turn of a worker; what has to wait is due at once."""
        now = timezone.now()
        Document.objects.filter(next_try_at__gt=now).update(next_try_at=now)
        ProviderDeletion.objects.update(next_try_at=now)
        ProviderTagging.objects.update(next_try_at=now)
        ProviderOutage.objects.update(until=None)
        self.turn(worker)

    def turn(self, worker: str = "test") -> drain.Drained:
        """One turn of a worker that waits for little: a server that is to be left alone ends the turn."""
        return drain.drain(kb=self.kb, worker=worker, patience=0.5)

    def level(self, turns: int = 30) -> None:
        """Look at the folder and work until nothing changes any more by itself."""
        self.vault.sync()
        for _turn in range(turns):
            self.work()
            waits = Document.objects.filter(kb=self.kb, index_status__in=["queued", "parsing"])
            if not waits.exists() and not ProviderDeletion.objects.exists():
                return
        raise AssertionError(f"still waiting: {list(waits.values_list('source_path', 'reason_code'))}")

    def freeze(self) -> None:
        """The server takes documents and does not get on with them."""
        self.stub.world.is_frozen = True

    def thaw(self) -> None:
        self.stub.world.is_frozen = False

    def uploads(self) -> int:
        return len(self.stub.calls("POST", r"/knowledge/file$"))

    def status_calls(self) -> int:
        return len(self.stub.calls("GET", r"/knowledge/batch"))
