"""A stub server and the providers that ask it, as several workers with one limiter would."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from knowledge.providers.base import IngestRequest, KBRef, ProviderDocumentId
from knowledge.providers.weknora.config import Pace, WeKnoraConfig
from knowledge.providers.weknora.limiter import Limiter
from knowledge.providers.weknora.provider import WeKnoraProvider
from tests.conformance.maps import markdown_map
from tests.stubs.weknora import WeKnoraStub
from tests.stubs.weknora_world import Document

DATA = Path(__file__).parents[3] / "data" / "weknora"

NOTE = "# Garden\n\nTomatoes need water every morning.\n"
OTHER = "# Backup\n\nThe database is copied at two in the morning.\n"


@dataclass(slots=True, kw_only=True)
class Desk:
    stub: WeKnoraStub
    limiter: Limiter

    def provider(self, **changes: Any) -> WeKnoraProvider:
        """Return a provider as one more worker would have it; nothing is believed for longer than a moment."""
        facts = {"url": self.stub.url, "key": self.stub.key, "embedding_model_id": self.stub.model.id}
        pace = Pace(gone=2.0, known=0.0, again=0.5)
        return WeKnoraProvider(WeKnoraConfig(**{**facts, "pace": pace, **changes}), self.limiter)

    def document(self, document_id: str) -> Document:
        return self.stub.world.documents[document_id]

    def documents(self, kb: KBRef) -> list[Document]:
        return self.stub.world.documents_of(kb.provider_kb_id)


def request(kb: KBRef, text: str = NOTE, *, name: str = "note.md", known: str = "", **metadata: str) -> IngestRequest:
    source_map = markdown_map(text)
    return IngestRequest(
        kb=kb,
        document_id="document-1",
        display_name=name,
        source_hash=source_map.source_hash,
        source_map=source_map,
        known_id=ProviderDocumentId(known) if known else None,
        metadata=metadata,
    )


def recorded_chunks() -> list[Any]:
    """Texts that were sent to a live server, and how it cut them."""
    paths = sorted((DATA / "chunks").glob("*.json"))
    return [json.loads(path.read_text(encoding="utf-8")) | {"name": path.stem} for path in paths]


def recorded_exchanges() -> list[dict[str, Any]]:
    lines = (DATA / "exchanges.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]
