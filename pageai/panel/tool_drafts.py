"""What a run's journal says of a tool call: which tool, on what, how it ended.

Never the text of a page: what is written into files or read from them is left out, and of other output no more than its
beginning is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from pageai.panel.citations import Citation, citations_of, is_ours
from pageai.panel.drafts import Draft, short
from pageai.panel.opencode import Change, changes_of, counts

_ENDED = frozenset({"completed", "error"})
#: Arguments that say what a call is about; all others may hold document text.
_ABOUT = ("filePath", "path", "pattern", "include", "query", "command", "description", "url", "name", "subagent_type")
#: Tools whose output is what stands in files.
_READING = frozenset({"read", "write", "edit", "multiedit", "patch", "apply_patch", "grep", "glob", "list", "skill"})
_PLACE = ("kind", "resourcePath", "resourceKind", "heading", "lineStart", "lineEnd", "pageStart", "pageEnd", "slide",
          "sheet", "range", "blockId", "locatorState", "locatorDegraded")  # fmt: skip
_MAX_ARGUMENT, _MAX_OUTPUT, _MAX_READ = 300, 500, 1_000_000
_MAX_EVIDENCE, _MAX_FILES = 20, 50


def drafts_of(part: Mapping[str, Any], directory: str) -> Iterator[Draft]:
    """Yield the events that a tool part stands for now. They may be told again and again: their keys are the same."""
    call_id, tool = short(part.get("callID"), 120), short(part.get("tool"), 120)
    state = part.get("state")
    if not isinstance(state, dict) or not call_id or state.get("status") not in {"running", *_ENDED}:
        return
    given = state.get("input")
    about = _about(given if isinstance(given, dict) else {})
    known = {"toolCallId": call_id, "tool": tool}
    yield Draft(kind="tool.started", payload={**known, "input": about}, source="tool", key=f"tool.started:{call_id}")
    if state["status"] in _ENDED:
        ended = {**known, **_end(tool, call_id, state)}
        yield Draft(kind="tool.completed", payload=ended, source="tool", key=f"tool.completed:{call_id}")
        if files := _files(changes_of(part), directory):
            payload = {"toolCallId": call_id, "files": files}
            yield Draft(kind="changed_files", payload=payload, key=f"changed_files:{call_id}")


def _about(given: Mapping[str, Any]) -> dict[str, str]:
    return {name: short(given[name], _MAX_ARGUMENT) for name in _ABOUT if isinstance(given.get(name), str)}


def _end(tool: str, call_id: str, state: Mapping[str, Any]) -> dict[str, Any]:
    is_failed = state["status"] == "error"
    told = state.get("error") if is_failed else state.get("output")
    output = told if isinstance(told, str) else ""
    evidence = [] if is_failed or not is_ours(tool) else _evidence(output, call_id)
    found: dict[str, Any] = {
        "state": state["status"],
        "outputBytes": len(output.encode("utf-8", "surrogatepass")),
        "evidenceIds": [each["evidenceId"] for each in evidence if each["evidenceId"]],
    }
    if milliseconds := _milliseconds(state.get("time")):
        found["milliseconds"] = milliseconds
    if evidence:
        found["evidence"] = evidence
    if is_failed or not (is_ours(tool) or tool in _READING):
        found["output"] = output[:_MAX_OUTPUT]
        found["outputCut"] = len(output) > _MAX_OUTPUT
    return found


def _evidence(output: str, call_id: str) -> list[dict[str, Any]]:
    if len(output) > _MAX_READ:
        return []
    return [_proof(each, call_id) for each in islice(citations_of(output), _MAX_EVIDENCE)]


def _proof(found: Citation, call_id: str) -> dict[str, Any]:
    place = {name: found.locator[name] for name in _PLACE if isinstance(found.locator.get(name), str | int | bool)}
    return {
        "evidenceId": found.evidence_id,
        "sourceTitle": short(found.title, 200),
        "sourcePath": short(found.path, 500),
        "label": short(found.label, 200),
        "locator": {name: short(value, 200) if isinstance(value, str) else value for name, value in place.items()},
        "toolCallId": call_id,
    }


def _files(changes: list[Change], directory: str) -> list[dict[str, Any]]:
    folder = f"{directory.rstrip('/')}/"
    inside = [each for each in changes if each.path.startswith(folder)]
    return [{"path": short(each.path.removeprefix(folder), 1000), **counts(each.diff)} for each in inside[:_MAX_FILES]]


def _milliseconds(told: Any) -> int:
    begins, ends = (told.get("start"), told.get("end")) if isinstance(told, dict) else (None, None)
    is_known = isinstance(begins, int | float) and isinstance(ends, int | float)
    return max(0, int(ends - begins)) if is_known else 0  # type: ignore[operator]
