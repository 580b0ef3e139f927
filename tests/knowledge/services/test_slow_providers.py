"""Documents that a provider takes now and finishes later: they wait without blame, and end by what it says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from knowledge.models import Document, KnowledgeBase
from knowledge.providers import registry
from knowledge.providers.base import DocumentPhase, DocumentState, IngestOutcome, IngestRequest, ProviderBusy
from knowledge.providers.local.provider import LocalProvider
from knowledge.services import drain
from tests.knowledge.vault import Vault


class Slow:
    """An index behind a server that answers each `ingest` with what is next in `answers`, and in the end is done."""

    kind = "weknora"
    capabilities = LocalProvider.capabilities

    def __init__(self, folder: Path, answers: list[dict[str, Any] | Exception]) -> None:
        self._index, self.answers = LocalProvider(folder), answers

    def ingest(self, request: IngestRequest) -> IngestOutcome:
        outcome = self._index.ingest(request)
        answer = self.answers.pop(0) if self.answers else {}
        if isinstance(answer, Exception):
            raise answer
        return replace(outcome, state=replace(outcome.state, **answer))

    def document_status(self, *arguments: Any) -> list[DocumentState]:
        return self._index.document_status(*arguments)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._index, name) if name in ("ensure_kb", "delete_document", "status") else None


@pytest.fixture
def slow(vault: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Slow:
    provider = Slow(tmp_path / "server", [])
    monkeypatch.setitem(registry._MAKERS, "weknora", lambda: provider)
    KnowledgeBase.objects.filter(pk=vault.kb.pk).update(provider="weknora")
    vault.kb.refresh_from_db()
    vault.write("a.md", "a text that takes its time")
    vault.sync()
    return provider


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ([{"phase": DocumentPhase.PARSING, "chunk_count": None}], "provider-working"),
        ([{"chunk_count": None}], "provider-working"),
        ([ProviderBusy("others go first", retry_after=2.0)], "provider-busy"),
    ],
)
def test_unfinished_document_waits_and_is_indexed_later(
    vault: Vault, slow: Slow, answers: list[Any], reason: str
) -> None:
    slow.answers = answers

    drained = drain.drain(kb=vault.kb, worker="test")

    row = vault.row("a.md")
    assert (row.index_status, row.reason_code, row.attempts) == ("queued", reason, 0)
    assert drained.again_at == row.next_try_at
    Document.objects.filter(pk=row.pk).update(next_try_at=None)
    assert drain.drain(kb=vault.kb, worker="test").indexed == 1
    assert (vault.row("a.md").index_status, vault.row("a.md").reason_code) == ("indexed", "")


@pytest.mark.parametrize(("retryable", "status"), [(True, "queued"), (False, "failed")])
def test_failed_document_is_tried_again_where_the_provider_says_so(
    vault: Vault, slow: Slow, retryable: bool, status: str
) -> None:
    slow.answers = [{"phase": DocumentPhase.FAILED, "error_code": "provider-rejected", "retryable": retryable}]

    drain.drain(kb=vault.kb, worker="test")

    row = vault.row("a.md")
    assert (row.index_status, row.reason_code, row.attempts) == (status, "provider-rejected", 1)


def test_text_without_words_fails_with_its_reason(vault: Vault, slow: Slow) -> None:
    slow.answers = [{"chunk_count": 0}]

    drain.drain(kb=vault.kb, worker="test")

    assert (vault.row("a.md").index_status, vault.row("a.md").reason_code) == ("failed", "no_text")
