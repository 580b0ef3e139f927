"""What a connection to a WeKnora server needs to know."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any
from urllib.parse import urlsplit

from knowledge.providers.base import ProviderMisconfigured

_API = "/api/v1"
#: What this adapter was written and tested against, and how versions begin that answer alike.
TESTED, ALIKE = "0.7.2", "0.7."


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Seconds. Tests run faster; nothing else changes them.

    `gone`: wait for a deletion. `steady`: a failure that stands this long is final. `retries`: as long as the server
    itself goes on trying to read. `stall`, `queue`: in work, or waiting for it, without any sign of life.
    `flight`: a place in the queue without being polled. `turn`: what a worker that died was at stays its own so long.
    `known`: what is believed of a server before asking again.
    """

    gone: float = 10.0
    steady: float = 90.0
    retries: float = 720.0
    stall: float = 600.0
    queue: float = 3600.0
    give_up: float = 8100.0
    flight: float = 120.0
    turn: float = 30.0
    known: float = 300.0
    again: float = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WeKnoraConfig:
    """One server, one tenant, one key. The key appears in no repr.

    `documents_at_once` holds for edition standard; lite always gets one. `vector_threshold` keeps passages out that
    have nothing in common with a query; the server's own default for chats. `max_original_bytes` is the server's own
    limit as it comes.
    """

    url: str
    key: str = field(repr=False)
    embedding_model_id: str = ""
    vision_model_id: str = ""
    summary_model_id: str = ""
    tenant_id: str = ""
    language: str = "en"
    verify: bool | str = True
    documents_at_once: int = 4
    calls_at_once: int = 8
    max_text_bytes: int = 8 * 1024 * 1024
    max_original_bytes: int = 50 * 1024 * 1024
    vector_threshold: float = 0.15
    chunk_size: int = 512
    chunk_overlap: int = 80
    pace: Pace = Pace()

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> WeKnoraConfig:
        """Read a connection as it is stored; unknown entries are ignored. Raises ProviderMisconfigured."""
        known = {each.name for each in fields(cls)}
        config = cls(**{"url": "", "key": ""} | {name: value for name, value in values.items() if name in known})
        if urlsplit(config.base_url).scheme not in ("http", "https") or not urlsplit(config.base_url).hostname:
            raise ProviderMisconfigured("the address of the server is missing or is no http address")
        if not config.key:
            raise ProviderMisconfigured("the API key is missing")
        return config

    @property
    def base_url(self) -> str:
        """The root of the server: the address with or without the path of its API means the same."""
        return self.url.strip().rstrip("/").removesuffix(_API)

    @property
    def server(self) -> str:
        """A name for this server that gives nothing away, for what all workers share."""
        return hashlib.sha256(self.base_url.encode()).hexdigest()[:16]
