"""One server as all parts of the adapter see it: its calls, its edition, and the turns that workers take."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from knowledge.providers.base import ProviderBusy
from knowledge.providers.weknora.client import Client
from knowledge.providers.weknora.config import WeKnoraConfig
from knowledge.providers.weknora.limiter import Limiter, held
from knowledge.providers.weknora.rows import DocumentRow
from knowledge.providers.weknora.states import Counter
from knowledge.providers.weknora.transport import Transport


class Connection:
    """Safe to use from several threads."""

    def __init__(self, config: WeKnoraConfig, limiter: Limiter) -> None:
        self.config = config
        self.pace = config.pace
        self._line = Transport(config, limiter)
        self.client = Client(self._line)
        self.counter = Counter(self.client)
        self._limiter = limiter
        self._flights = f"{config.server}:documents"
        self._edition = ("", 0.0)

    @property
    def now(self) -> datetime:
        return self._line.now

    def edition(self) -> str:
        """Return "lite", "standard" or what the server calls itself; asked again now and then."""
        name, until = self._edition
        if time.monotonic() >= until:
            name = str(self.client.capabilities().get("edition") or "unknown")
            self._edition = (name, time.monotonic() + self.pace.known)
        return name

    @contextmanager
    def turn(self, name: str) -> Iterator[None]:
        """Be the only one who works on `name` at this server. Raises ProviderBusy when somebody else does."""
        with held(self._limiter, f"{self.config.server}:{name}", limit=1, seconds=self.pace.turn) as mine:
            if not mine:
                raise ProviderBusy("another worker is at the same document", retry_after=self.pace.again)
            yield

    def enter(self, content_key: str) -> None:
        """Take a place among the documents in work at the server, kept until `settle`. Raises ProviderBusy.

        Edition lite loses documents that are processed at the same time, so there is one place; an edition that is
        not known is taken for lite.
        """
        limit = self.config.documents_at_once if self.edition() == "standard" else 1
        if not self._limiter.take(self._flights, content_key, limit=limit, seconds=self.pace.flight):
            raise ProviderBusy("the server is still at work on other documents", retry_after=self.pace.again)

    def leave(self, content_key: str) -> None:
        self._limiter.give_back(self._flights, content_key)

    def settle(self, rows: list[DocumentRow]) -> None:
        """Keep the places of documents that are still in work, and give back those of the others."""
        holders = self._limiter.holders(self._flights) if rows else frozenset()
        for row in rows:
            if row.content_key not in holders:
                continue
            if row.is_in_work:
                self._limiter.take(self._flights, row.content_key, limit=len(holders), seconds=self.pace.flight)
            else:
                self.leave(row.content_key)
