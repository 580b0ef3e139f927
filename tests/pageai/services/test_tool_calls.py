from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from pageai.models import ToolCall
from pageai.services import tool_calls
from pageai.tasks import prune_tool_calls

pytestmark = pytest.mark.django_db


def calls_of(*ages: int) -> list[ToolCall]:
    """Make one call for each age in days."""
    made = [ToolCall.objects.create(tool="mnote.weknora.search") for _each in ages]
    for call, age in zip(made, ages, strict=True):
        ToolCall.objects.filter(pk=call.pk).update(at=timezone.now() - timedelta(days=age))
    return made


def test_calls_are_removed_after_their_time(settings: Any) -> None:
    settings.MNOTE_TOOL_CALL_DAYS = 30
    _old, young = calls_of(31, 29)

    prune_tool_calls()

    assert list(ToolCall.objects.all()) == [young]


def test_calls_are_kept_for_good_when_asked(settings: Any) -> None:
    settings.MNOTE_TOOL_CALL_DAYS = 0
    calls_of(4000)

    assert tool_calls.prune() == 0
    assert ToolCall.objects.count() == 1


def test_oldest_calls_go_first_a_batch_at_a_time(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.MNOTE_TOOL_CALL_DAYS = 30
    monkeypatch.setattr(tool_calls, "_BATCH", 2)
    _oldest, _older, old = calls_of(50, 40, 35)

    assert [tool_calls.prune(), list(ToolCall.objects.all()), tool_calls.prune()] == [2, [old], 1]
