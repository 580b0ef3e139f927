"""Asking a server everything that must hold for it to serve us. Nothing is changed there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from knowledge.providers.base import (
    Check,
    CheckResult,
    KBRef,
    ProviderError,
    ProviderMisconfigured,
    ProviderRejected,
    ProviderRightsMissing,
)
from knowledge.providers.weknora.client import NOBODY, Query
from knowledge.providers.weknora.config import ALIKE, TESTED
from knowledge.providers.weknora.connection import Connection
from knowledge.providers.weknora.errors import KeyLimited, ModelMissing, NotThere, VisionMissing
from knowledge.providers.weknora.kbs import PROBE
from knowledge.providers.weknora.reader import engines_of

Facts = dict[str, Any]


def check(connection: Connection, kb: KBRef | None) -> tuple[Check, ...]:
    """Return all checks in the order in which they build on one another. Never raises ProviderError."""
    return _Checks(connection).run(kb)


class _Checks:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._client = connection.client
        self._done: list[Check] = []

    def run(self, kb: KBRef | None) -> tuple[Check, ...]:
        client = self._client
        is_up = self._try("reachable", self._health)
        is_known = self._try("key", self._edition, when=is_up)
        can_read = self._right("right-read", lambda: client.kb(NOBODY), when=is_known)
        self._right("right-write", lambda: client.upload_nothing(NOBODY), when=is_known)
        self._right("right-manage", lambda: client.rename_kb(NOBODY, "x"), when=is_known)
        self._seen("version", self._version, when=is_known)
        self._seen("parser-engines", self._engines, when=is_known)
        self._seen("model", self._model, when=is_known and bool(self._connection.config.embedding_model_id))
        is_there = self._try("knowledge-base", lambda: self._kb(kb), when=can_read and kb is not None)
        has_model = self._try("kb-model", lambda: self._kb_model(kb), when=is_there)
        self._try("search", lambda: self._search(kb), when=has_model)
        if kb is not None and kb.reading is not None and kb.reading.pictures is not None:
            self._try("kb-vision", lambda: self._kb_vision(kb), when=is_there)
        return tuple(self._done)

    def _try(self, name: str, ask: Callable[[], Facts], *, when: bool = True) -> bool:
        if not when:
            return self._note(name, CheckResult.SKIPPED)
        try:
            return self._note(name, CheckResult.PASSED, facts=ask())
        except ProviderError as error:
            return self._note(name, CheckResult.FAILED, code=error.code)

    def _right(self, name: str, ask: Callable[[], object], *, when: bool) -> bool:
        """Ask for something that is not there: a key with the right hears that, one without hears of the right."""
        if not when:
            return self._note(name, CheckResult.SKIPPED)
        try:
            ask()
        except NotThere:
            return self._note(name, CheckResult.PASSED)
        except KeyLimited as error:
            return self._note(name, CheckResult.FAILED, code=error.code)
        except ProviderRejected:
            return self._note(name, CheckResult.PASSED)
        except ProviderError as error:
            return self._note(name, CheckResult.FAILED, code=error.code)
        return self._note(name, CheckResult.PASSED)

    def _seen(self, name: str, ask: Callable[[], Facts], *, when: bool) -> bool:
        """A narrow key may not see everything, and need not."""
        if not when:
            return self._note(name, CheckResult.SKIPPED)
        try:
            return self._note(name, CheckResult.PASSED, facts=ask())
        except ProviderRightsMissing:
            return self._note(name, CheckResult.UNKNOWN, code="not-visible")
        except NotThere:
            return self._note(name, CheckResult.FAILED, code=ModelMissing.code)
        except ProviderError as error:
            return self._note(name, CheckResult.FAILED, code=error.code)

    def _note(self, name: str, result: CheckResult, *, code: str = "", facts: Facts | None = None) -> bool:
        self._done.append(Check(name=name, result=result, code=code, facts=facts or {}))
        return result is CheckResult.PASSED

    def _health(self) -> Facts:
        self._client.health()
        return {}

    def _edition(self) -> Facts:
        return {"edition": str(self._client.capabilities().get("edition") or "unknown")}

    def _version(self) -> Facts:
        info = self._client.system_info()
        known = {"version": info.get("version"), "startedAt": info.get("started_at")}
        facts = {name: value for name, value in known.items() if value and value != "unknown"}
        if "version" not in facts:
            return facts
        return facts | {"tested": TESTED, "isTested": str(facts["version"]).startswith(ALIKE)}

    def _engines(self) -> Facts:
        found = engines_of(self._client.parser_engines()["data"])
        return {"engines": [each.name for each in found if not each.why_not], "all": [asdict(each) for each in found]}

    def _model(self) -> Facts:
        model = self._client.model(self._connection.config.embedding_model_id)
        if model.get("type") != "Embedding" or model.get("status") != "active":
            raise ModelMissing("the configured model is no active embedding model")
        return {"model": str(model.get("name") or "")}

    def _kb(self, kb: KBRef | None) -> Facts:
        row = self._client.kb(kb.provider_kb_id if kb else NOBODY)
        if row.cuts_twice:
            raise ProviderMisconfigured("the knowledge base cuts passages twice")
        return {"name": row.name}

    def _kb_model(self, kb: KBRef | None) -> Facts:
        embedding = self._client.kb_config(kb.provider_kb_id if kb else NOBODY).get("embedding")
        if not isinstance(embedding, dict):
            raise ModelMissing("the embedding model of the knowledge base does not exist")
        return {"model": str(embedding.get("modelName") or ""), "dimension": embedding.get("dimension")}

    def _kb_vision(self, kb: KBRef) -> Facts:
        """What the server shows of a model that it knows, of the right kind, whatever else the key may see."""
        pictures = self._client.kb_config(kb.provider_kb_id).get("multimodal")
        model = pictures.get("vlm") if isinstance(pictures, dict) else None
        if not isinstance(model, dict) or model.get("modelId") != self._connection.config.vision_model_id:
            raise VisionMissing("the model for pictures does not exist")
        return {"model": str(model.get("modelName") or "")}

    def _search(self, kb: KBRef | None) -> Facts:
        self._client.search(kb.provider_kb_id if kb else NOBODY, Query(text=PROBE, count=1))
        return {}
