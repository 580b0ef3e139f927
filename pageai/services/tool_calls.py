"""The audit of tool calls: one row each, without the words that were asked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone
from django.utils.crypto import salted_hmac

from mnote.middleware import request_id
from pageai.models import ToolCall
from pageai.selectors.agent_settings import agent_of
from pageai.services.callers import Caller

_SALT = "pageai.tool_call.arguments"
_BATCH = 5000


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is kept of one call. `tool` is a known name, never what a caller made up; `outcome` a problem code."""

    tool: str
    arguments: Mapping[str, Any]
    host_run_id: str = ""
    workspace_id: str = ""
    kb_ids: Sequence[str] = ()
    outcome: str = "succeeded"
    result_count: int = 0
    result_bytes: int = 0
    milliseconds: int = 0


def record(*, caller: Caller, facts: Facts) -> ToolCall:
    """Write one row."""
    agent = agent_of(caller.binding)
    return ToolCall.objects.create(
        user=caller.user,
        token_name=caller.principal.token_name,
        binding=caller.binding,
        agent_id=agent.agent_id if agent else "",
        host_run_id=facts.host_run_id,
        tool=facts.tool,
        workspace_id=facts.workspace_id,
        kb_ids=list(facts.kb_ids),
        argument_hash=argument_hash(facts.arguments),
        outcome=facts.outcome,
        result_count=facts.result_count,
        result_bytes=facts.result_bytes,
        milliseconds=facts.milliseconds,
        request_id=request_id.get(),
    )


def prune() -> int:
    """Remove up to one batch of the calls that are older than MNOTE_TOOL_CALL_DAYS, and say how many. 0 days keep
    everything."""
    if not settings.MNOTE_TOOL_CALL_DAYS:
        return 0
    oldest = timezone.now() - timedelta(days=settings.MNOTE_TOOL_CALL_DAYS)
    keys = list(ToolCall.objects.filter(at__lt=oldest).order_by("at").values_list("pk", flat=True)[:_BATCH])
    return ToolCall.objects.filter(pk__in=keys).delete()[0] if keys else 0


def argument_hash(arguments: Mapping[str, Any]) -> str:
    """Return a keyed hash that is equal for equal arguments."""
    canonical = json.dumps(arguments, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return salted_hmac(_SALT, canonical, algorithm="sha256").hexdigest()
