"""Asking the providers of a search, each about its own knowledge bases, at once and within one span of time.

A provider that is down or slow costs the others neither their answer nor more than that span.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache, partial

from knowledge.models import KnowledgeBase, ProviderKind
from knowledge.providers.base import (
    KnowledgeProvider,
    ProviderBusy,
    ProviderError,
    ProviderTimeout,
    SearchHit,
    SearchOutcome,
    SearchRequest,
)
from knowledge.services import provider_outages
from knowledge.services.ingest import kb_ref
from knowledge.services.providers import Link, grouped
from mnote.http import refuse_inside_transaction

_RRF_K = 60
#: A provider keeps the time it was given by itself; this is for one that does not.
_GRACE_SECONDS = 2.0
_THREADS = 32
#: So long the requests may take to be on their way.
_SENDING_SECONDS = 0.002


@dataclass(frozen=True, slots=True, kw_only=True)
class Silent:
    """Knowledge bases that could not be searched: who serves them, why not, and since when as far as that is known."""

    link: Link
    code: str
    kbs: tuple[KnowledgeBase, ...]
    since: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A hit and who gave it. `score` orders the hits of one search, whoever gave them."""

    hit: SearchHit
    part: Part


@dataclass(slots=True, kw_only=True)
class Part:
    """What one provider is asked, and how it went: what it answered last, and why it answers no more."""

    link: Link
    kbs: tuple[KnowledgeBase, ...]
    provider: KnowledgeProvider | None = None
    outcome: SearchOutcome | None = None
    error: ProviderError | None = None

    @property
    def rank(self) -> tuple[bool, str]:
        """The order in which parts come where nothing else tells, always the same."""
        return not self.is_embedded, self.link.key

    @property
    def is_embedded(self) -> bool:
        return self.link.kind == ProviderKind.LOCAL

    def connect(self) -> None:
        if self.error is not None:
            return
        try:
            self.provider = self.link.provider()
        except ProviderError as error:
            provider_outages.note_failure(self.link, error)
            self.error = error

    def take(self, answer: Callable[[], SearchOutcome], *, was_out: bool) -> None:
        """Take the answer, or why there is none. `was_out` says whether an outage of the provider is written down."""
        try:
            self.outcome = answer()
        except ProviderError as error:
            provider_outages.note_failure(self.link, error)
            self.error = error
            return
        if was_out:
            provider_outages.note_answer(self.link)


@dataclass(slots=True)
class Asking:
    """The providers of one search. `ends` is in monotonic seconds."""

    parts: Sequence[Part]
    ends: float
    _failed: dict[str, ProviderError]
    _is_first: bool = field(default=True, init=False)
    _here: list[tuple[Part, Callable[[], SearchOutcome]]] = field(default_factory=list, init=False)
    _away: list[tuple[Part, Future[SearchOutcome]]] = field(default_factory=list, init=False)

    @classmethod
    def of(cls, kbs: Sequence[KnowledgeBase], *, seconds: float, failed: dict[str, ProviderError]) -> Asking:
        """Connect to the providers of some knowledge bases, but to none of `failed` (by the key of its link)."""
        parts = [Part(link=link, kbs=tuple(group), error=failed.get(link.key)) for link, group in grouped(kbs).items()]
        for part in parts:
            part.connect()
        return cls(sorted(parts, key=lambda part: part.rank), time.monotonic() + seconds, failed)

    @classmethod
    def again(cls, parts: Sequence[Part], *, seconds: float, failed: dict[str, ProviderError]) -> Asking:
        """Ask providers that are connected."""
        return cls(parts, time.monotonic() + seconds, failed)

    @property
    def answering(self) -> list[Part]:
        return [part for part in self.parts if part.error is None]

    @property
    def has_more(self) -> bool:
        """Whether somebody would give more hits if asked for more, and there is time to."""
        return time.monotonic() < self.ends and any(part.outcome and part.outcome.more for part in self.parts)

    @property
    def outcomes(self) -> list[SearchOutcome]:
        return [part.outcome for part in self.parts if part.outcome is not None]

    @property
    def silent(self) -> list[Silent]:
        found = [
            Silent(link=part.link, code=part.error.code, kbs=part.kbs, since=part.error.since)
            for part in self.parts
            if part.error is not None
        ]
        return [*found, *(each for part in self.parts for each in _silent_in(part))]

    @property
    def failure(self) -> ProviderError | None:
        """Why nobody answered; None when somebody did, or nobody was there to ask."""
        return None if self.outcomes else next((part.error for part in self.parts if part.error), None)

    def start(self, request: SearchRequest) -> None:
        """Begin to ask everybody who may have something to add; `finish` has to follow. What is done in between costs
        no time as long as the others think. Raises RuntimeError while a database transaction is open."""
        asked = [part for part in self.answering if self._is_first or (part.outcome and part.outcome.more)]
        self._is_first = False
        request = replace(request, seconds=max(0.1, self.ends - time.monotonic()))
        self._here = [(part, partial(_call, part, request)) for part in asked if part.is_embedded]
        outside = [part for part in asked if not part.is_embedded]
        if outside:
            refuse_inside_transaction()
        self._away = [(part, _pool().submit(copy_context().run, _call, part, request)) for part in outside]
        # What the caller does next would keep the other threads from sending: of several that compute one does at once.
        wait([future for _, future in self._away], timeout=_SENDING_SECONDS)

    def finish(self) -> None:
        """Take all answers: that of the embedded index is made now, the others are waited for."""
        out = provider_outages.open_keys() if self._away else frozenset()
        for part, call in self._here:
            part.take(call, was_out=False)
        wait([future for _, future in self._away], timeout=max(0.0, self.ends + _GRACE_SECONDS - time.monotonic()))
        for part, future in self._away:
            part.take(partial(_result, future), was_out=part.link.key in out)
        self._failed.update({part.link.key: part.error for part in self.parts if part.error is not None})

    def abandon(self) -> None:
        """Take nothing of what was asked; what nobody has begun to ask is left."""
        for _, future in self._away:
            future.cancel()

    def found(self) -> list[Found]:
        """Return the hits of all, best first: in the order of the only one who gave any, else fused by rank, because
        scores of several mean nothing beside each other."""
        lists = [(part, part.outcome.hits) for part in self.parts if part.outcome and part.outcome.hits]
        if len(lists) == 1:
            [(part, hits)] = lists
            return [Found(hit=hit, part=part) for hit in hits]
        ranked = [
            (rank, place, Found(hit=replace(hit, score=1 / (_RRF_K + rank)), part=part))
            for place, (part, hits) in enumerate(lists)
            for rank, hit in enumerate(hits)
        ]
        return [found for _, _, found in sorted(ranked, key=lambda item: item[:2])]


@lru_cache(maxsize=1)
def _pool() -> ThreadPoolExecutor:
    """Threads that stay keep their connections."""
    return ThreadPoolExecutor(max_workers=_THREADS, thread_name_prefix="search")


def _call(part: Part, request: SearchRequest) -> SearchOutcome:
    assert part.provider is not None  # noqa: S101 only those that are connected are asked
    return part.provider.search(replace(request, kbs=tuple(kb_ref(kb) for kb in part.kbs)))


def _result(future: Future[SearchOutcome]) -> SearchOutcome:
    if future.cancel():
        raise ProviderBusy("too many searches at once")
    try:
        return future.result(timeout=0)
    except TimeoutError:
        raise ProviderTimeout("the provider did not keep the time it was given") from None


def _silent_in(part: Part) -> list[Silent]:
    """Return the knowledge bases that a provider could not search although it answered about others."""
    by_id = {kb.provider_kb_id: kb for kb in part.kbs}
    unanswered = part.outcome.unanswered if part.outcome else ()
    return [Silent(link=part.link, code=code, kbs=(by_id[kb_id],)) for kb_id, code in unanswered if kb_id in by_id]
