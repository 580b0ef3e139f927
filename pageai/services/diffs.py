"""What a run changed in files, as text: told by opencode while it runs, never kept here; and how each file is now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mnote.exceptions import AppError
from mnote.selectors import access
from pageai.models import ArtifactIndex, ArtifactKind, Run
from pageai.panel.errors import PanelError
from pageai.panel.opencode import told_changes_of, tool_parts_of, turn_of
from pageai.panel.veil import Veil
from pageai.services import changes
from pageai.services.gatekeeping import Visit
from pageai.services.opencodes import running

_MAX_FILES, _MAX_CHARACTERS = 30, 40_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """A file that a run changed. `diff` is "" when nobody can tell it any more, `is_cut` when it is longer.
    `is_as_left` is None when the file was too large to be known again."""

    path: str
    added: int = 0
    removed: int = 0
    diff: str = ""
    is_cut: bool = False
    is_as_left: bool | None = None


def of_run(visit: Visit, run: Run) -> list[FileChange]:
    """Return the files that a run changed, as far as its person may read them, each once."""
    may_read = access.access_map(visit.principal, visit.root).may_read
    rows = ArtifactIndex.objects.filter(
        binding=run.binding, host_run_id=run.pk, kind=ArtifactKind.CHANGED_FILE
    ).order_by("created_at", "id")
    newest: dict[str, Mapping[str, Any]] = {}
    for facts in rows.values_list("payload_json", flat=True):
        newest[str(facts.get("path", ""))] = facts
    shown = {path: facts for path, facts in newest.items() if path and may_read(path)}
    told = _told(visit, run) if shown else {}
    return [_change(visit, path, facts, told.get(path, "")) for path, facts in list(shown.items())[:_MAX_FILES]]


def _change(visit: Visit, path: str, facts: Mapping[str, Any], diff: str) -> FileChange:
    return FileChange(
        path=path,
        added=facts.get("added", 0),
        removed=facts.get("removed", 0),
        diff=diff[:_MAX_CHARACTERS],
        is_cut=len(diff) > _MAX_CHARACTERS,
        is_as_left=changes.is_as_left(visit, facts),
    )


def _told(visit: Visit, run: Run) -> dict[str, str]:
    """Return the diffs of a run's tool calls by file; nothing when its opencode does not run or has forgotten it."""
    try:
        opencode = running(visit)
        if opencode is None or not run.provider_run_id:
            return {}
        listed = opencode.messages(run.session_id, directory=visit.directory)
    except (AppError, PanelError):
        return {}
    return _by_file(visit, turn_of(listed, run.provider_run_id))


def _by_file(visit: Visit, turn: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    veil, found = Veil(visit.directory), dict[str, str]()
    for message in turn:
        for part in tool_parts_of(message):
            for each in told_changes_of(part):
                path = changes.relative(visit, each.path)
                found[path] = "\n".join(filter(None, (found.get(path, ""), veil.text(each.diff).rstrip("\n"))))
    return found
