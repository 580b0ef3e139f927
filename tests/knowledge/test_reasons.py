"""Every code that a provider can give a document has a sentence and a next step."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

import pytest
from django.utils import translation

from knowledge import providers
from knowledge.providers.base import ProviderError
from knowledge.providers.weknora import failures, timeline
from knowledge.reasons import REASONS
from knowledge.services import following, ingest, pending

_OTHERS = {"stalled", "passages-missing", "no_text", "index_moved", following._LOST, following._CANCELLED}


def _kinds(kind: type[ProviderError]) -> Iterator[type[ProviderError]]:
    yield kind
    for each in kind.__subclasses__():
        yield from _kinds(each)


def codes() -> list[str]:
    for module in pkgutil.walk_packages(providers.__path__, f"{providers.__name__}."):
        importlib.import_module(module.name)
    raised = {kind.code for kind in _kinds(ProviderError) if kind.__module__.startswith("knowledge.")}
    said = {failure.code for _text, failure in failures._TEXTS} | {failures._UNKNOWN.code}
    waiting = {pending.WAITING, pending.AT_WORK, pending.TRYING_AGAIN, pending.FINISHING}
    return sorted(raised | said | set(timeline._CODES.values()) | set(ingest._MOST) | waiting | _OTHERS)


@pytest.mark.parametrize("code", codes())
@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_code_has_a_sentence_and_a_next_step(code: str, language: str) -> None:
    with translation.override(language):
        reason = REASONS[code]
        assert str(reason.sentence).endswith((".", "。"))
        assert str(reason.next_step).endswith((".", "。"))


@pytest.mark.parametrize("code", codes())
def test_chinese_is_chinese(code: str) -> None:
    with translation.override("en"):
        english = str(REASONS[code].sentence)
    with translation.override("zh-hans"):
        assert str(REASONS[code].sentence) != english
