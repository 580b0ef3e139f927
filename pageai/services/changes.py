"""What a turn left behind: the files it changed and the passages it was given, as references that can be opened."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from knowledge.citations.owners import owner_document_id
from mnote.exceptions import AppError
from mnote.files.errors import FilesError, InvalidPath
from mnote.files.prefixes import components
from mnote.selectors import access
from mnote.services import files
from pageai.models import ArtifactIndex, ArtifactKind, ArtifactProvider
from pageai.panel.opencode import Change, ToolCall
from pageai.services import artifacts, turns
from pageai.services.gatekeeping import Visit
from pageai.services.opencodes import opencode_of

_MAX_CITATIONS = 50
_MAX_SHOWN = 30
_MAX_HASHED = 32 * 1024 * 1024
_SHOWN_KINDS = (ArtifactKind.CHANGED_FILE, ArtifactKind.CITATION)


def note_turn(visit: Visit) -> int:
    """Look through the newest turn of a conversation and say how many references it has. Looking twice adds nothing.
    Raises PanelError."""
    if not visit.session_id:
        return 0
    opencode, directory = opencode_of(visit), visit.directory
    changes, calls = opencode.last_turn(visit.session_id, directory=directory)
    counted = opencode.line_counts(visit.session_id, directory=directory) if changes else {}
    made = sum(_note_change(visit, each, counted) for each in changes)
    made += sum(_note_citations(visit, each) for each in calls)
    if made:
        turns.touch(binding_id=visit.binding.pk)
    return made


def note_before(visit: Visit, *, call_id: str, path: str, diff: str) -> None:
    """Note a change that was allowed and is about to be made: how many lines, and what the file was."""
    payload = {"path": path, "hashBefore": _hash_of(visit, path)} | _counts(diff)
    _note(visit, ArtifactKind.DIFF, ArtifactProvider.OPENCODE, f"{call_id}:{path}"[:200], payload)


def newest(visit: Visit) -> list[ArtifactIndex]:
    """Return the newest references that the person may still open, the newest first, each place once."""
    found = access.access_map(visit.principal, visit.root)
    rows = ArtifactIndex.objects.filter(binding=visit.binding, kind__in=_SHOWN_KINDS).order_by("-created_at", "-id")
    shown: dict[tuple[str, str], ArtifactIndex] = {}
    for row in rows[: _MAX_SHOWN * 4]:
        path = str(row.payload_json.get("path", ""))
        if path and found.may_read(path):
            shown.setdefault((row.kind, str(row.payload_json.get("url") or path)), row)
    return list(shown.values())[:_MAX_SHOWN]


def relative(visit: Visit, path: str) -> str:
    """Return a path of opencode below the root; "" when it is not below it."""
    inside = path.removeprefix(f"{visit.directory}/")
    try:
        return "/".join(components(inside)) if not inside.startswith("/") else ""
    except InvalidPath:
        return ""


def _note_change(visit: Visit, change: Change, counted: Mapping[str, tuple[int, int]]) -> int:
    path = relative(visit, change.path)
    if not path:
        return 0
    provider_id = f"{change.call_id}:{path}"[:200]
    before = ArtifactIndex.objects.filter(binding=visit.binding, kind=ArtifactKind.DIFF, provider_id=provider_id)
    asked = dict(before.values_list("payload_json", flat=True).first() or {})
    payload = {"path": path, "tool": change.tool} | _lines(change, counted.get(path), asked)
    payload |= {"hashBefore": asked.get("hashBefore", ""), "hashAfter": _hash_of(visit, path)}
    return _note(visit, ArtifactKind.CHANGED_FILE, ArtifactProvider.OPENCODE, provider_id, payload)


def _lines(change: Change, counted: tuple[int, int] | None, asked: Mapping[str, Any]) -> dict[str, int]:
    """Count lines by what opencode says of the whole turn, else of the call, else by what was asked for before it."""
    if counted is not None:
        return {"added": counted[0], "removed": counted[1]}
    if change.diff:
        return _counts(change.diff)
    return {name: asked[name] for name in ("added", "removed") if isinstance(asked.get(name), int)}


def _hash_of(visit: Visit, path: str) -> str:
    """Return the hash of a file as it is now; "" when it is not there, not readable, or large."""
    try:
        with files.open_file(principal=visit.principal, root=visit.root, path=path) as opened:
            return f"sha256:{hashlib.sha256(opened.read(max_bytes=_MAX_HASHED)).hexdigest()}"
    except (AppError, FilesError):
        return ""


def _note_citations(visit: Visit, call: ToolCall) -> int:
    """Only results of our own tools carry citations; their addresses were made by the server."""
    if "_mnote_" not in call.tool:
        return 0
    found = list(_references(call.output))[:_MAX_CITATIONS]
    return sum(
        _note(visit, ArtifactKind.CITATION, ArtifactProvider.LOCAL, f"{call.call_id}:{number}", payload)
        for number, payload in enumerate(found)
    )


def _references(output: str) -> Iterator[dict[str, Any]]:
    try:
        waiting = [json.loads(output)]
    except ValueError:
        return
    while waiting:
        one = waiting.pop(0)
        if isinstance(one, dict) and (payload := _citation(one)) is not None:
            yield payload
        inner = one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
        waiting += [each for each in inner if isinstance(each, dict | list)]


def _citation(given: Mapping[str, Any]) -> dict[str, Any] | None:
    url, path = given.get("citationUrl"), given.get("sourcePath")
    if not isinstance(url, str) or not isinstance(path, str) or not path:
        return None
    label = given.get("citationLabel") or given.get("title") or path
    return {"path": path, "url": url, "label": str(label)[:300], "degraded": given.get("locatorDegraded") is True}


def _note(
    visit: Visit, kind: ArtifactKind, provider: ArtifactProvider, provider_id: str, payload: dict[str, Any]
) -> int:
    opens = {"mnoteResourceId": owner_document_id(payload["path"])}
    artifacts.record(
        binding=visit.binding, kind=kind, provider=provider, provider_id=provider_id, payload=payload, opens=opens
    )
    return 1


def _counts(diff: str) -> dict[str, int]:
    lines = diff.splitlines()
    added = sum(line.startswith("+") and not line.startswith("+++") for line in lines)
    removed = sum(line.startswith("-") and not line.startswith("---") for line in lines)
    return {"added": added, "removed": removed}
