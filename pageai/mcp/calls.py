"""One call of a tool: is it served, are the arguments right, do it, fit the answer, write it down (spec 9)."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.utils import translation
from jsonschema import Draft202012Validator
from rest_framework.exceptions import ValidationError

from knowledge.exceptions import public_error
from knowledge.providers.base import ProviderError
from mnote.exceptions import AppError, Invalid
from mnote.problems import problem_of
from pageai import results
from pageai.exceptions import UnknownTool
from pageai.mcp import tools
from pageai.mcp.tools import Call
from pageai.results import Body
from pageai.selectors.agent_settings import tools_for
from pageai.services import tool_calls
from pageai.services.callers import Caller
from pageai.services.tool_calls import Facts
from pageai.tool_catalogue import BY_NAME, Tool

logger = logging.getLogger(__name__)

#: What stands in the audit for a name that no tool ever had.
_MADE_UP = "(unknown)"
_MAX_MESSAGES = 20
_SUCCEEDED = "succeeded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The answer of a call: a body for the model, or `{"error": {code, message, …}}`."""

    body: Body
    code: str = _SUCCEEDED

    @property
    def is_error(self) -> bool:
        return self.code != _SUCCEEDED


def list_tools(caller: Caller) -> tuple[Tool, ...]:
    """Return the tools that this caller may call; a call of any other is a call of an unknown tool."""
    return tools_for(caller.user, caller.binding)


def perform(
    caller: Caller,
    name: str,
    arguments: Mapping[str, Any],
    *,
    host_run_id: str = "",
    may_record: Callable[[], bool] = lambda: True,
) -> Outcome:
    """Call a tool and write one audit row, whatever happens. Never raises for what a tool does.

    `may_record` is asked once, before the row is written: False when somebody else has written it.
    """
    began = time.monotonic()
    with translation.override(caller.user.language or translation.get_language() or settings.LANGUAGE_CODE):
        call, outcome = _outcome(caller, name, arguments)
    if may_record():
        milliseconds = int((time.monotonic() - began) * 1000)
        record(caller, name, arguments, outcome, call=call, host_run_id=host_run_id, milliseconds=milliseconds)
    return outcome


def record(
    caller: Caller,
    name: str,
    arguments: Mapping[str, Any],
    outcome: Outcome,
    *,
    host_run_id: str,
    milliseconds: int,
    call: Call | None = None,
) -> None:
    """Write the audit row of a call; `call` is None when it did not come to one."""
    facts = Facts(
        tool=name if name in BY_NAME else _MADE_UP,
        arguments=arguments,
        host_run_id=host_run_id,
        workspace_id=call.workspace_id if call and call.workspace_id in call.scope.workspace_ids else "",
        kb_ids=call.kb_ids if call else (),
        outcome=outcome.code,
        result_count=0 if outcome.is_error else results.count_of(outcome.body),
        result_bytes=results.size_of(outcome.body),
        milliseconds=milliseconds,
    )
    tool_calls.record(caller=caller, facts=facts)


def refusal(error: Exception) -> Outcome:
    """Return the answer to a call that failed, in the shape of every error of ours."""
    problem = problem_of(public_error(error) if isinstance(error, ProviderError) else error)
    shown: Body = {"code": problem.code, "message": str(problem.detail), **problem.members}
    if problem.errors:
        shown["errors"] = dict(problem.errors)
    if isinstance(error, AppError | ProviderError):
        shown["retryable"] = error.retryable
    return Outcome(body=results.fitted({"error": shown}), code=problem.code)


def _outcome(caller: Caller, name: str, arguments: Mapping[str, Any]) -> tuple[Call | None, Outcome]:
    call: Call | None = None
    try:
        tool = _served(caller, name)
        call = Call(caller=caller, scope=caller.scope(), data=_checked(tool, arguments))
        body = results.fitted(results.told(tools.HANDLERS[tool.name](call)))
    except (AppError, ProviderError, ValidationError) as error:
        return call, refusal(error)
    except Exception as error:  # the edge: whatever it was, the caller gets an answer that tells nothing of it
        logger.exception("tool failed", extra={"tool": name if name in BY_NAME else _MADE_UP})
        return call, refusal(error)
    return call, Outcome(body=body)


def _served(caller: Caller, name: str) -> Tool:
    """Raises UnknownTool, the same for a tool that there is but not for this caller."""
    for tool in list_tools(caller):
        if tool.name == name:
            return tool
    raise UnknownTool


def _checked(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Check the arguments against the published schema, then read them as the HTTP body that they are."""
    found = Draft202012Validator(tool.input_schema).iter_errors(arguments)
    errors: dict[str, list[dict[str, str]]] = {}
    for error, _number in zip(found, range(_MAX_MESSAGES), strict=False):
        errors.setdefault(_place(error.absolute_path), []).append(_message(error))
    if errors:
        raise Invalid(errors=errors)
    reader = tool.arguments(data=dict(arguments))
    reader.is_valid(raise_exception=True)
    return dict(reader.validated_data)


def _place(path: Any) -> str:
    return ".".join(str(part) for part in path) or "nonFieldErrors"


def _message(error: Any) -> dict[str, str]:
    """Say which rule was broken, not with what: values may be as long as a document."""
    rule = error.validator
    wanted = error.validator_value
    text = f"{rule}: {wanted if rule != 'required' else error.message}"
    return {"message": text[:300], "code": str(rule)}
