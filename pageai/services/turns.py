"""One question at a time: who reads the stream of a conversation's running turn, and what of it pages have seen."""

from __future__ import annotations

import hashlib
import os
import socket
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import IntegrityError
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from pageai.exceptions import TurnRunning
from pageai.models import OpenHubBinding, PanelTurn

#: A turn that its reader did not renew for this long has none any more.
STALE = timedelta(seconds=30)
_MAX_SELECTION = 2000
#: This process, as the owner of the turns it reads.
OWNER = f"{socket.gethostname()[:40]}:{os.getpid()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How a conversation stands, for a page: whether its turn runs, and how often something to show changed."""

    is_running: bool = False
    revision: int = 0


def begin(*, binding: OpenHubBinding, question: str) -> None:
    """Claim the conversation for one turn.

    Raises:
        TurnRunning: another one runs. `extra["same"]` says whether it answers the same question.
    """
    now = timezone.now()
    facts = {"owner": OWNER, "question_hash": _hash(question), "started_at": now, "beat_at": now, "ended_at": None}
    facts["run"] = None
    rows = PanelTurn.objects.filter(pk=binding.pk)
    if rows.filter(_is_free(now)).update(**facts, revision=F("revision") + 1):
        return
    try:
        PanelTurn.objects.create(binding=binding, **facts, revision=1)
    except IntegrityError:
        running = rows.get()
        raise TurnRunning(same=running.question_hash == _hash(question)) from None


def renew(*, binding_id: str) -> bool:
    """Say that the stream is still read here. False when the turn is no longer this process's."""
    return _own(binding_id).update(beat_at=timezone.now()) == 1


def end(*, binding_id: str) -> None:
    """Give the conversation free for the next question."""
    _own(binding_id).update(ended_at=timezone.now(), revision=F("revision") + 1)


def touch(*, binding_id: str) -> None:
    """Let open pages look again: something they show has changed."""
    PanelTurn.objects.filter(pk=binding_id).update(revision=F("revision") + 1)


def standing(*, binding_id: str) -> Standing:
    """Read how a conversation stands."""
    row = PanelTurn.objects.filter(pk=binding_id).first()
    if row is None:
        return Standing()
    is_free = PanelTurn.objects.filter(pk=binding_id).filter(_is_free(timezone.now())).exists()
    return Standing(is_running=not is_free, revision=row.revision)


def select(*, binding: OpenHubBinding, text: str) -> None:
    """Keep what the person selected on the page, for the next question; at most 2,000 characters."""
    PanelTurn.objects.update_or_create(binding=binding, defaults={"selection": text[:_MAX_SELECTION]})


def selection(*, binding: OpenHubBinding) -> str:
    return PanelTurn.objects.filter(pk=binding.pk).values_list("selection", flat=True).first() or ""


def told(*, binding: OpenHubBinding) -> str:
    """Return the mark of the context that the session was told last, "" for none."""
    return PanelTurn.objects.filter(pk=binding.pk).values_list("told_hash", flat=True).first() or ""


def note_told(*, binding: OpenHubBinding, mark: str) -> None:
    PanelTurn.objects.filter(pk=binding.pk).update(told_hash=mark)


def _own(binding_id: str) -> QuerySet[PanelTurn]:
    return PanelTurn.objects.filter(pk=binding_id, owner=OWNER, ended_at__isnull=True)


def _is_free(now: datetime) -> Q:
    return Q(ended_at__isnull=False) | Q(beat_at__isnull=True) | Q(beat_at__lt=now - STALE)


def _hash(question: str) -> str:
    return hashlib.sha256(question.encode("utf-8", "surrogatepass")).hexdigest()
