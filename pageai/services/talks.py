"""A conversation with opencode as its person reads it: told by opencode while that runs, else by the run journal, which
knows of each question only how it began."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from mnote.exceptions import AppError
from pageai.models import EventKind, OpenHubBinding, Run, RunEvent, RunStatus
from pageai.panel.errors import PanelError
from pageai.panel.opencode import info_of, said_in
from pageai.services import chats, journals, runs
from pageai.services.gatekeeping import Visit
from pageai.services.opencodes import running

_MAX_MESSAGES, _MAX_RUNS = 200, 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A question and what was answered, Markdown. `run` is the one that goes on, or that ended; `seq` the number of the
    last event that the answer holds, and `part` the part of the answer it belongs to. `asked_as` is opencode's message
    of the question."""

    question: str
    answer: str = ""
    asked_as: str = ""
    run: Run | None = None
    seq: int = 0
    part: str = ""

    @property
    def is_live(self) -> bool:
        return self.run is not None and self.run.is_live


def exchanges(visit: Visit) -> list[Exchange]:
    """Return a conversation, the oldest first."""
    rows = list(_runs_of(visit.binding)[:_MAX_RUNS])
    try:
        told = _told_by_opencode(visit)
    except (AppError, PanelError):
        told = None
    if told is None:
        return [_of_run(run) for run in reversed(rows)]
    ended = {run.provider_run_id: run for run in rows if run.provider_run_id and not run.is_live}
    known = [replace(each, run=ended.get(each.asked_as)) for each in told]
    return _with_newest(known, rows[0]) if rows else known


def _runs_of(binding: OpenHubBinding) -> Any:
    begun = Run.objects.filter(binding=binding).exclude(status=RunStatus.PENDING)
    return begun.order_by("-created_at", "-id")


def _told_by_opencode(visit: Visit) -> list[Exchange] | None:
    if chats.is_chat(visit.binding):
        return None
    opencode = running(visit) if visit.session_id else None
    if opencode is None:
        return None if visit.session_id else []
    listed = opencode.messages(visit.session_id, directory=visit.directory, limit=_MAX_MESSAGES)
    scrub = journals.scrub_of(visit)
    return [
        replace(each, question=scrub.text(each.question), answer=scrub.text(each.answer)) for each in _paired(listed)
    ]


def _paired(messages: Iterable[Mapping[str, Any]]) -> list[Exchange]:
    found: list[Exchange] = []
    for message in messages:
        info, text = info_of(message), said_in(message).strip()
        if info.get("role") == "user" and text:
            found.append(Exchange(question=text, asked_as=str(info.get("id", ""))))
        elif info.get("role") == "assistant" and text and found:
            found[-1] = replace(found[-1], answer=f"{found[-1].answer}\n\n{text}".strip())
    return found


def _with_newest(told: list[Exchange], newest: Run) -> list[Exchange]:
    """Say of the newest question how its run stands; while that goes on its answer is the journal's, which grows."""
    last = told[-1] if told else Exchange(question="")
    # A run learns a moment late which of opencode's messages its question is.
    is_new = newest.is_live and not newest.provider_run_id and runs.title_of(last.question) == newest.title
    if is_new or (newest.provider_run_id and newest.provider_run_id == last.asked_as):
        asked = replace(_of_run(newest), question=last.question) if newest.is_live else replace(last, run=newest)
        return [*told[:-1], asked]
    is_older = any(newest.provider_run_id == each.asked_as for each in told)
    return told if is_older else [*told, _of_run(newest)]


def _of_run(run: Run) -> Exchange:
    answer, seq, part = "", 0, ""
    for event in RunEvent.objects.filter(run=run, kind=EventKind.MESSAGE_DELTA).order_by("seq"):
        part_id = str(event.payload.get("partId", ""))
        answer += ("\n\n" if answer and part_id != part else "") + str(event.payload.get("text", ""))
        part, seq = part_id, event.seq
    return Exchange(question=chats.question_of(run), answer=answer, run=run, seq=seq, part=part)
