"""Documents that a provider takes now and finishes later: they wait without blame, and end by what it says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from knowledge.models import Document, KnowledgeBase, ProviderOutage
from knowledge.providers import registry
from knowledge.providers.base import DocumentPhase, DocumentState, IngestOutcome, IngestRequest, ProviderBusy
from knowledge.providers.local.provider import LocalProvider
from knowledge.services import drain, ingest
from tests.knowledge.vault import Vault


class Slow:
    """An index behind a server that answers each `ingest` with what is next in `answers` and each `document_status`
    with what is next in `states`, and in the end is done."""

    kind = "weknora"
    capabilities = replace(LocalProvider.capabilities, needs_polling=True)

    def __init__(self, folder: Path, answers: list[dict[str, Any] | Exception]) -> None:
        self._index, self.answers = LocalProvider(folder), answers
        self.states: list[dict[str, Any] | Exception] = []
        self.given = 0

    def ingest(self, request: IngestRequest) -> IngestOutcome:
        self.given += 1
        outcome = self._index.ingest(request)
        return replace(outcome, state=self._next(outcome.state, self.answers))

    def document_status(self, *arguments: Any) -> list[DocumentState]:
        return [self._next(state, self.states) for state in self._index.document_status(*arguments)]

    def _next(self, state: DocumentState, answers: list[dict[str, Any] | Exception]) -> DocumentState:
        answer = answers.pop(0) if answers else {}
        if isinstance(answer, Exception):
            raise answer
        return replace(state, **answer)

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


_AT_WORK: dict[str, Any] = {"phase": DocumentPhase.PARSING, "chunk_count": None, "searchable": False}


@pytest.mark.parametrize("answer", [_AT_WORK, {"chunk_count": None}])
def test_unfinished_document_is_asked_for_and_not_sent_again(vault: Vault, slow: Slow, answer: dict[str, Any]) -> None:
    slow.answers = [answer]

    assert drain.drain(kb=vault.kb, worker="test").indexed == 1

    row = vault.row("a.md")
    assert (row.index_status, row.reason_code, row.pending_knowledge_id) == ("indexed", "", "")
    assert slow.given == 1


def test_document_that_the_provider_works_on_says_so_and_since_when(vault: Vault, slow: Slow) -> None:
    slow.answers, slow.states = [_AT_WORK], [_AT_WORK] * 1000
    vault.write("b.md", "another text")
    Document.objects.update(next_try_at=None)

    drained = drain.drain(kb=vault.kb, worker="test", patience=0.5)

    row = vault.row("a.md")
    assert (row.index_status, row.reason_code, row.attempts) == ("parsing", "provider-working", 0)
    assert row.pending_knowledge_id
    assert row.handed_at == row.status_since
    assert drained.again_at == row.next_try_at


def test_busy_provider_uses_up_no_attempt(vault: Vault, slow: Slow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "_ROOM_SECONDS", 0.0)
    slow.answers = [ProviderBusy("others go first", retry_after=2.0)]

    drained = drain.drain(kb=vault.kb, worker="test")

    row = vault.row("a.md")
    assert (row.index_status, row.reason_code, row.attempts) == ("queued", "provider-busy", 0)
    assert drained.again_at == row.next_try_at
    assert not ProviderOutage.objects.exists()
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
