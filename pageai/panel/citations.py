"""The citations in what our own tools answered: only those carry addresses, which the server made."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

_OURS = "_mnote_"
_MAX_LABEL = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """One citation. `path` is below the root; `evidence_id` is "" where the tool gives none."""

    path: str
    url: str
    label: str
    title: str = ""
    evidence_id: str = ""
    is_degraded: bool = False
    locator: Mapping[str, Any] = field(default_factory=dict)


def is_ours(tool: str) -> bool:
    """Say whether a tool, by the name that opencode gives it, is one of MNote's."""
    return _OURS in tool


def citations_of(output: str) -> Iterator[Citation]:
    """Yield the citations of a tool's answer, in their order."""
    try:
        waiting = [json.loads(output)]
    except (ValueError, RecursionError):
        return
    while waiting:
        one = waiting.pop(0)
        if isinstance(one, dict) and (found := _citation(one)) is not None:
            yield found
        inner = one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
        waiting += [each for each in inner if isinstance(each, dict | list)]


def _citation(given: Mapping[str, Any]) -> Citation | None:
    url, locator = given.get("citationUrl"), given.get("locator") or given.get("source")
    place = locator if isinstance(locator, dict) else {}
    path = given.get("sourcePath") or place.get("resourcePath")
    if not isinstance(url, str) or not isinstance(path, str) or not path:
        return None
    title = given.get("title")
    evidence_id = given.get("evidenceId")
    return Citation(
        path=path,
        url=url,
        label=str(given.get("citationLabel") or title or path)[:_MAX_LABEL],
        title=str(title or path)[:_MAX_LABEL],
        evidence_id=evidence_id if isinstance(evidence_id, str) else "",
        is_degraded=given.get("locatorDegraded") is True,
        locator=place,
    )
