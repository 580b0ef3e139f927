"""The words of the activity pages: kinds of jobs, how they stand, why they failed, and what was changed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from django.db.models import TextChoices
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from knowledge.models import Disappearance, SyncMode
from knowledge.reasons import REASONS
from mnote.audit_words import sentence
from mnote.exceptions import AppError
from mnote.models import Access, AuditEntry, Job, Role
from mnote.services.jobs import JobState, public_state
from mnote.templatetags.mnote_ui import number

Words = str | Promise

KIND_WORDS: dict[str, Words] = {
    "kb": gettext_lazy("Knowledge bases"),
    "source": gettext_lazy("Sources and documents"),
    "file": gettext_lazy("Uploads"),
    "sync": gettext_lazy("Syncs"),
    "job": gettext_lazy("Jobs"),
    "rights": gettext_lazy("Members and rights"),
}

_JOBS: dict[str, Words] = {
    "knowledge.sync_source": gettext_lazy("Look at a folder"),
    "resource_parse": gettext_lazy("Read and index files"),
    "knowledge.remove_documents": gettext_lazy("Take documents out of the index"),
    "knowledge.purge_kb": gettext_lazy("Remove the index of a knowledge base"),
    "knowledge.reread_kb": gettext_lazy("Read every file of a knowledge base anew"),
    "knowledge.reread_outdated": gettext_lazy("Read files anew that are read in a better way now"),
    "knowledge.batch": gettext_lazy("Work through chosen documents"),
    "workspace_sanity_check": gettext_lazy("Compare the index with the list of documents"),
    "knowledge.import_address": gettext_lazy("Fetch a web address"),
    "knowledge.housekeeping": gettext_lazy("Tidy up"),
    "knowledge.ask_providers": gettext_lazy("Ask whether services answer again"),
    "knowledge.look_at_profiles": gettext_lazy("Look whether services answer"),
    "local_ocr": gettext_lazy("Read text from pictures"),
    "evidence_index_refresh": gettext_lazy("Renew the index"),
    "understanding_graph_build": gettext_lazy("Build the graph"),
    "understanding_graph_review": gettext_lazy("Review the graph"),
    "understanding_mindmap_projection_refresh": gettext_lazy("Renew mind maps"),
    "legacy_derived_data_cleanup": gettext_lazy("Clean up old derived data"),
}
_STATES: dict[JobState, Words] = {
    JobState.QUEUED: pgettext_lazy("state of a job", "waits"),
    JobState.RUNNING: pgettext_lazy("state of a job", "runs"),
    JobState.RETRYING: pgettext_lazy("state of a job", "tries again"),
    JobState.FAILED: pgettext_lazy("state of a job", "failed"),
    JobState.DONE: pgettext_lazy("state of a job", "done"),
    JobState.STALE: pgettext_lazy("state of a job", "done, for an older version"),
}
_LAMPS = {
    JobState.QUEUED: "queued",
    JobState.RUNNING: "parsing",
    JobState.RETRYING: "queued",
    JobState.FAILED: "failed",
    JobState.DONE: "indexed",
    JobState.STALE: "stale",
}
_ERRORS: dict[str, Words] = {
    "cancelled": gettext_lazy("Cancelled by hand."),
    "database-unavailable": gettext_lazy("The database did not answer."),
    "deadline": gettext_lazy("It took too long."),
    "superseded": gettext_lazy("A newer request took its place."),
    "unknown-kind": gettext_lazy("No part of this installation does such work."),
}
_FACTS: dict[str, Words] = {
    "count": gettext_lazy("documents"),
    "bytes": gettext_lazy("bytes"),
    "code": gettext_lazy("reason"),
    "name": gettext_lazy("name"),
    "description": gettext_lazy("description"),
    "default_tool_enabled": gettext_lazy("agents may search it"),
    "settings_json": gettext_lazy("settings"),
    "reading_json": gettext_lazy("how the provider reads its files"),
    "parsed_by": gettext_lazy("who reads its files"),
    "recursive": gettext_lazy("sub-folders"),
    "include": gettext_lazy("only"),
    "exclude": gettext_lazy("without"),
    "max_file_mb": gettext_lazy("largest file in MB"),
    "sync_mode": gettext_lazy("when it is looked at"),
    "interval_minutes": gettext_lazy("every so many minutes"),
    "disappearance": gettext_lazy("when a file disappears"),
    "grace_hours": gettext_lazy("grace time in hours"),
    "safety_stop_percent": gettext_lazy("safety stop in percent"),
    "added": gettext_lazy("added"),
    "removed": gettext_lazy("removed"),
    "checked": gettext_lazy("checked"),
    "missing": gettext_lazy("missing"),
    "lost": gettext_lazy("lost"),
    "kind": gettext_lazy("kind"),
    "access": gettext_lazy("right"),
    "role": gettext_lazy("role"),
    "holder": gettext_lazy("for"),
    "user": gettext_lazy("person"),
    "group": gettext_lazy("group"),
}
#: Facts whose values are choices with words of their own.
_CHOICES: dict[str, type[TextChoices]] = {
    "access": Access,
    "role": Role,
    "sync_mode": SyncMode,
    "disappearance": Disappearance,
}
#: Facts that say nothing to people.
_UNSHOWN = frozenset({"sha256", "root", "held"})
_MAX_FACT = 200


def job_words(kind: str) -> Words:
    return _JOBS.get(kind, kind)


def state_of(job: Job) -> tuple[str, Words]:
    """The lamp's shape and word of a job."""
    if job.cancel_requested_at and not job.finished_at:
        return "parsing", _("stops")
    if job.error_code == "cancelled":
        return "skipped", _("cancelled")
    state = public_state(job)
    return _LAMPS[state], _STATES[state]


def error_words(code: str) -> Words:
    """Why a job failed, from the tables that word reasons and errors everywhere else."""
    if code in _ERRORS:
        return _ERRORS[code]
    if code in REASONS:
        return REASONS[code].sentence
    return _titles().get(code, code)


def progress_words(job: Job) -> str:
    """How far a running job says it is: numbers only, as they name no file."""
    parts = [f"{_FACTS.get(name, name)} {number(value)}" for name, value in job.progress.items() if _is_count(value)]
    return " · ".join(str(part) for part in parts)


def entry_words(entry: AuditEntry) -> str:
    who = entry.actor.shown_name if entry.actor else ""
    what = entry.target or (_("the whole folder") if entry.action.startswith("grant.") else "")
    return sentence(entry.action, who=who, what=what)


def details(entry: AuditEntry) -> list[tuple[Words, str]]:
    """What exactly was done: changed settings as before → after, else the facts that were noted."""
    before, after = entry.facts.get("before"), entry.facts.get("after")
    if isinstance(before, dict) and isinstance(after, dict):
        changes = _changes(before, after)
        return [(_FACTS.get(name, name), f"{_fact(name, old)} → {_fact(name, new)}") for name, old, new in changes]
    facts = {name: value for name, value in entry.facts.items() if name not in _UNSHOWN}
    shown = [(_FACTS.get(name, name), _fact(name, value)) for name, value in facts.items()]
    return [(label, value) for label, value in shown if value]


def _changes(before: dict[str, Any], after: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    for name, new in after.items():
        old = before.get(name)
        if isinstance(old, dict) and isinstance(new, dict):
            yield from _changes(old, new)
        elif old != new:
            yield name, old, new


def _fact(name: str, value: Any) -> str:
    if name == "code" and isinstance(value, str):
        return str(error_words(value))
    if name in _CHOICES and value in _CHOICES[name].values:
        return str(_CHOICES[name](value).label)
    return _shown(value)


def _shown(value: Any) -> str:
    match value:
        case bool():
            return _("yes") if value else _("no")
        case int():
            return number(value)
        case list():
            return _shortened(", ".join(map(str, value)))
        case None | "":
            return "–"
        case dict():
            return ""
    return _shortened(str(value))


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_FACT else text[: _MAX_FACT - 1] + "…"


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


@cache
def _titles() -> dict[str, Words]:
    """Code -> title of every error there is."""
    found: dict[str, Words] = {}
    waiting: list[type[AppError]] = [AppError]
    while waiting:
        kind = waiting.pop()
        found.setdefault(kind.code, kind.title)
        waiting += kind.__subclasses__()
    return found
