"""A run's scribe, as far as its journal was written, and looking at opencode for what the journal lacks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from django.conf import settings

from pageai.models import EndReason, EventKind, Run, RunEvent
from pageai.panel.errors import PanelUnavailable
from pageai.panel.opencode import LAYER, has_just_been_asked
from pageai.panel.scribe import Scribe, Snapshot
from pageai.panel.scrubbing import GONE, Scrub
from pageai.services import opencodes, panel
from pageai.services.gatekeeping import Visit
from pageai.services.opencodes import running

#: Why an opencode of ours does not answer: it ended, and with it all that it worked on.
NOT_RUNNING = "not running"


def scribe_of(visit: Visit, run: Run) -> Scribe:
    """Return the scribe of a run, at the place where its journal is."""
    scrub = scrub_of(visit)
    scribe = Scribe(scrub, session_id=visit.session_id, directory=visit.directory, anchor=run.provider_run_id)
    events = RunEvent.objects.filter(run=run)
    told = events.exclude(dedup_key="").exclude(kind=EventKind.MESSAGE_DELTA).values_list("dedup_key", flat=True)
    scribe.restore(taken=_taken(run), told=list(told))
    return scribe


def fetch(visit: Visit) -> Snapshot:
    """Ask the opencode of a conversation for everything of it. Raises PanelNotConfigured, PanelError."""
    opencode, directory, session_id = running(visit), visit.directory, visit.session_id
    if opencode is None:
        raise PanelUnavailable(layer=LAYER, reason=NOT_RUNNING)
    is_busy = opencode.is_busy(session_id, directory=directory)
    asked = opencode.permission_requests(directory=directory)
    questions = opencode.question_requests(directory=directory)
    requests = tuple(each for each in asked if each.session_id == session_id)
    waiting = tuple(each for each in questions if each.session_id == session_id)
    # The messages last: what was not busy any more before has its end in them.
    try:
        messages = tuple(opencode.messages(session_id, directory=directory))
    except PanelUnavailable:  # opencode answered a moment ago: they are too large
        messages = ()
    is_at_work = is_busy or bool(requests or waiting) or has_just_been_asked(messages)
    return Snapshot(messages=messages, requests=requests, questions=waiting, is_busy=is_at_work)


def reason_of(scribe: Scribe, *, was_cut: bool) -> EndReason:
    """Say why a run ended whose agent works no more; `was_cut` when OpenHub gave no proper end."""
    if scribe.was_aborted:
        return EndReason.CANCELLED
    if was_cut and not scribe.is_finished:
        return EndReason.CUT
    if scribe.error:
        return EndReason.FAILED
    return EndReason.DONE


def scrub_of(visit: Visit) -> Scrub:
    """Return what takes out of texts what must not stand in a journal: folders of this server, where the services are,
    and their secrets."""
    return Scrub(visit.directory, _hidden_words(visit))


def _hidden_words(visit: Visit) -> Mapping[str, str]:
    secrets = {settings.SECRET_KEY, settings.MNOTE_CHAT_MODEL_URL, settings.MNOTE_CHAT_MODEL_KEY}
    if panel.is_configured():
        hub = panel.connection()
        secrets |= {hub.openhub_url, hub.opencode_url, hub.redis_url, hub.jwt_secret, hub.opencode_password}
    if opencodes.is_direct(visit) and (endpoint := opencodes.running_endpoint(visit)) is not None:
        secrets |= {endpoint.url, endpoint.password}
    folders = {str(settings.MNOTE_DATA_DIR): GONE, str(settings.BASE_DIR): GONE, f"{Path.home()}/": "~/"}
    return {**dict.fromkeys(secrets, GONE), **folders}


def _taken(run: Run) -> dict[str, tuple[str, int]]:
    """Return by part of opencode's messages: the message, and how many of its characters the journal has."""
    taken: dict[str, tuple[str, int]] = {}
    for payload in RunEvent.objects.filter(run=run, kind=EventKind.MESSAGE_DELTA).values_list("payload", flat=True):
        part_id, ends = payload.get("partId"), payload.get("offset", 0) + payload.get("length", 0)
        if isinstance(part_id, str) and ends > taken.get(part_id, ("", -1))[1]:
            taken[part_id] = str(payload.get("messageId", "")), ends
    return taken
