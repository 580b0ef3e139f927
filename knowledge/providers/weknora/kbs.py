"""Knowledge bases at the server: made under an id of ours, checked before the first upload, removed."""

from __future__ import annotations

import re
import threading
import time
from typing import Any

from knowledge.providers.base import (
    KBRef,
    ProviderError,
    ProviderKBUnusable,
    ProviderMisconfigured,
    ProviderUnavailable,
)
from knowledge.providers.originals import Reading
from knowledge.providers.weknora.client import Query
from knowledge.providers.weknora.connection import Connection
from knowledge.providers.weknora.errors import ModelMissing, NotThere, Taken
from knowledge.providers.weknora.reader import are_equal, rules_of
from knowledge.providers.weknora.rows import KBRow

#: Any word will do to see whether the embedding model answers.
PROBE = "mnote"
_SLUG = re.compile(r"[^a-z0-9]+")


class KnowledgeBases:
    """Remembers for a while which ones are known to be in order."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._client = connection.client
        self._lock = threading.Lock()
        self._checked: dict[str, tuple[Reading | None, float]] = {}

    def ensure(self, kb: KBRef) -> None:
        """Make the KB exist, see that it can take documents, and have them read as is wanted. Raises
        ProviderKBUnusable for a burned id."""
        if self._is_checked(kb):
            return
        row = self._find_or_create(kb)
        if row.cuts_twice:
            raise ProviderMisconfigured("the knowledge base cuts passages twice, which spoils their places")
        self._have_read(kb, row)
        check_model(self._connection, kb.provider_kb_id)
        with self._lock:
            self._checked[kb.provider_kb_id] = kb.reading, time.monotonic() + self._connection.pace.known

    def forget(self, kb_id: str) -> None:
        """Look again before the next upload."""
        with self._lock:
            self._checked.pop(kb_id, None)

    def check_sight(self, kb: KBRef) -> None:
        """Raise OutOfScope for a KB of another tenant than the key's: its documents cannot be seen, so none is gone."""
        self._find(kb.provider_kb_id)

    def delete(self, kb: KBRef) -> None:
        self.forget(kb.provider_kb_id)
        try:
            self._client.delete_kb(kb.provider_kb_id)
        except NotThere:
            return

    def _is_checked(self, kb: KBRef) -> bool:
        with self._lock:
            reading, until = self._checked.get(kb.provider_kb_id, (None, 0.0))
        return until > time.monotonic() and reading == kb.reading

    def _have_read(self, kb: KBRef, row: KBRow) -> None:
        """Rules of a KB that gets our text concern nobody."""
        if kb.reading is None:
            return
        wanted = rules_of(kb.reading)
        if not are_equal(row.chunking.get("parser_engine_rules") or (), wanted):
            self._client.change_rules(row, wanted)

    def _find_or_create(self, kb: KBRef) -> KBRow:
        found = self._find(kb.provider_kb_id)
        if found is not None:
            return found
        try:
            return self._client.create_kb(new_kb(self._connection, kb))
        except (Taken, ProviderUnavailable) as error:
            return self._after_failed_create(kb, error)

    def _after_failed_create(self, kb: KBRef, error: ProviderError) -> KBRow:
        """Another worker was faster, the answer was lost, or the id was used up by a KB that is deleted."""
        found = self._find(kb.provider_kb_id)
        if found is not None:
            return found
        if isinstance(error, Taken):
            raise ProviderKBUnusable("the id of a deleted knowledge base cannot be used again") from error
        raise error

    def _find(self, kb_id: str) -> KBRow | None:
        """An id that another tenant holds is ours under another key: a new one would move documents into a tenant whose
        people may not see them. It raises OutOfScope."""
        try:
            return self._client.kb(kb_id)
        except NotThere:
            return None


def kb_name(kb: KBRef) -> str:
    """Return the name at the server, by which a person finds it there; it need not be unique."""
    purpose = _SLUG.sub("-", str(kb.settings.get("purpose", "")).lower()).strip("-")
    return f"mnote-{kb.workspace_id}-{purpose or 'default'}"


def new_kb(connection: Connection, kb: KBRef) -> dict[str, Any]:
    """Return what a KB of ours is made of. Passages are cut once; a model writes summaries only when configured."""
    config = connection.config
    model = str(kb.settings.get("embedding_model_id") or config.embedding_model_id)
    if not model:
        raise ModelMissing("no embedding model is configured for this server")
    rules = rules_of(kb.reading) if kb.reading else []
    return {
        "id": kb.provider_kb_id,
        "name": kb_name(kb),
        "description": "",
        "type": "document",
        "embedding_model_id": model,
        "summary_model_id": config.summary_model_id,
        "chunking_config": {
            "chunk_size": config.chunk_size,
            "chunk_overlap": config.chunk_overlap,
            "separators": ["\n\n", "\n", ". ", "。"],
            "strategy": "auto",
            "enable_parent_child": False,
            **({"parser_engine_rules": rules} if rules else {}),
        },
        **_for_pictures(kb, config.vision_model_id),
        "indexing_strategy": {
            "vector_enabled": True,
            "keyword_enabled": True,
            "wiki_enabled": False,
            "graph_enabled": False,
        },
    }


def _for_pictures(kb: KBRef, model: str) -> dict[str, Any]:
    if kb.reading is None or kb.reading.pictures is None or not model:
        return {}
    return {"vlm_config": {"enabled": True, "model_id": model}}


def check_model(connection: Connection, kb_id: str) -> None:
    """Raise unless the embedding model of a KB is known to the server and answers.

    Without one the server takes documents and never finishes them.
    """
    if not connection.client.kb_config(kb_id).get("embedding"):
        raise ModelMissing("the embedding model of the knowledge base does not exist at the server")
    connection.client.search(kb_id, Query(text=PROBE, count=1))
