"""What a turn left behind: the files it changed and the passages it was given, as references that can be opened."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from itertools import islice
from typing import Any

from knowledge.citations.owners import owner_document_id
from mnote.exceptions import AppError
from mnote.files.errors import FilesError, InvalidPath, TooLarge
from mnote.files.prefixes import components
from mnote.selectors import access
from mnote.services import files
from pageai.models import ArtifactIndex, ArtifactKind, ArtifactProvider
from pageai.panel.citations import Citation, citations_of, is_ours
from pageai.panel.opencode import Change, ToolCall, counts, lines_of
from pageai.services import artifacts, turns
from pageai.services.gatekeeping import Visit
from pageai.services.opencodes import opencode_of

_MAX_CITATIONS = 50
_MAX_SHOWN = 30
_MAX_HASHED = 32 * 1024 * 1024
#: So much of a hash tells one version of a file from another.
_HASH_DIGITS = 16
_SHOWN_KINDS = (ArtifactKind.CHANGED_FILE, ArtifactKind.CITATION)


def note_turn(visit: Visit, *, run_id: str = "") -> int:
    """Look through the newest turn of a conversation and say how many references it has. Looking twice adds nothing.
    Raises PanelError."""
    if not visit.session_id:
        return 0
    opencode, directory = opencode_of(visit), visit.directory
    changes, calls = opencode.last_turn(visit.session_id, directory=directory)
    counted = opencode.line_counts(visit.session_id, directory=directory) if changes else {}
    made = sum(_note_change(visit, each, counted, run_id) for each in changes)
    made += sum(_note_citations(visit, each, run_id) for each in calls)
    if made:
        turns.touch(binding_id=visit.binding.pk)
    return made


def note_before(visit: Visit, *, call_id: str, path: str, diff: str) -> None:
    """Note a change that was allowed and is about to be made: how many lines, and what the file was."""
    payload = {"path": path, "hashBefore": _hash_of(visit, path), "lines": lines_of(diff)} | counts(diff)
    _note(visit, "", ArtifactKind.DIFF, ArtifactProvider.OPENCODE, f"{call_id}:{path}"[:200], payload)


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


def is_as_left(visit: Visit, facts: Mapping[str, Any]) -> bool | None:
    """Say whether a changed file is still what the agent left; None when that was not noted, or it is larger."""
    after = facts.get("hashAfter")
    if not isinstance(after, str) or not after:
        return None
    try:
        return _hashed(visit, str(facts.get("path", ""))) == after
    except TooLarge:
        return None
    except (AppError, FilesError):
        return False


def place_of(facts: Mapping[str, Any]) -> dict[str, str]:
    """Return the lines of a change, "3-5", and the beginning of the hash of the file in which they are these lines: in
    a file changed since they may be others. Empty where either was not noted."""
    lines, after = (str(facts.get(name) or "") for name in ("lines", "hashAfter"))
    digits = after.removeprefix("sha256:")[:_HASH_DIGITS]
    return {"lines": lines, "hash": digits} if lines and digits else {}


def relative(visit: Visit, path: str) -> str:
    """Return a path of opencode below the root; "" when it is not below it."""
    inside = path.removeprefix(f"{visit.directory}/")
    try:
        return "/".join(components(inside)) if not inside.startswith("/") else ""
    except InvalidPath:
        return ""


def _note_change(visit: Visit, change: Change, counted: Mapping[str, tuple[int, int]], run_id: str) -> int:
    path = relative(visit, change.path)
    if not path:
        return 0
    provider_id = f"{change.call_id}:{path}"[:200]
    before = ArtifactIndex.objects.filter(binding=visit.binding, kind=ArtifactKind.DIFF, provider_id=provider_id)
    asked = dict(before.values_list("payload_json", flat=True).first() or {})
    payload = {"path": path, "tool": change.tool} | _lines(change, counted.get(path), asked)
    payload |= {"hashBefore": asked.get("hashBefore", ""), "hashAfter": _hash_of(visit, path)}
    payload["lines"] = lines_of(change.diff) or asked.get("lines", "")
    return _note(visit, run_id, ArtifactKind.CHANGED_FILE, ArtifactProvider.OPENCODE, provider_id, payload)


def _lines(change: Change, counted: tuple[int, int] | None, asked: Mapping[str, Any]) -> dict[str, int]:
    """Count lines by what opencode says of the whole turn, else of the call, else by what was asked for before it."""
    if counted is not None:
        return {"added": counted[0], "removed": counted[1]}
    if change.diff:
        return counts(change.diff)
    return {name: asked[name] for name in ("added", "removed") if isinstance(asked.get(name), int)}


def _hash_of(visit: Visit, path: str) -> str:
    """Return the hash of a file as it is now; "" when it is not there, not readable, or large."""
    try:
        return _hashed(visit, path)
    except (AppError, FilesError):
        return ""


def _hashed(visit: Visit, path: str) -> str:
    with files.open_file(principal=visit.principal, root=visit.root, path=path) as opened:
        return f"sha256:{hashlib.sha256(opened.read(max_bytes=_MAX_HASHED)).hexdigest()}"


def _note_citations(visit: Visit, call: ToolCall, run_id: str) -> int:
    """Only results of our own tools carry citations; their addresses were made by the server."""
    if not is_ours(call.tool):
        return 0
    found = islice(citations_of(call.output), _MAX_CITATIONS)
    return sum(
        _note(visit, run_id, ArtifactKind.CITATION, ArtifactProvider.LOCAL, f"{call.call_id}:{number}", _shown(each))
        for number, each in enumerate(found)
    )


def _shown(found: Citation) -> dict[str, Any]:
    return {"path": found.path, "url": found.url, "label": found.label, "degraded": found.is_degraded}


def _note(
    visit: Visit,
    run_id: str,
    kind: ArtifactKind,
    provider: ArtifactProvider,
    provider_id: str,
    payload: dict[str, Any],
) -> int:
    artifacts.record(
        binding=visit.binding,
        kind=kind,
        provider=provider,
        provider_id=provider_id,
        payload=payload,
        opens={"mnoteResourceId": owner_document_id(payload["path"])},
        host_run_id=run_id or None,
    )
    return 1
