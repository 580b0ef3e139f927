"""What the templates of a conversation with opencode show."""

from __future__ import annotations

from functools import cached_property

from django.utils.safestring import SafeString, mark_safe

from mnote.ids import new_id
from pageai.models import EventKind, RunEvent
from pageai.panel.answers import as_html
from pageai.services import chats, talks
from pageai.services.gatekeeping import Visit
from pageai.services.talks import Exchange
from pageai.views.run_line import Line


class Talk:
    """A conversation, the oldest question first."""

    def __init__(self, visit: Visit) -> None:
        self.binding = visit.binding
        self.is_chat = chats.is_chat(visit.binding)
        self.shown = [Shown(each) for each in talks.exchanges(visit)]
        newest = self.shown[-1].exchange.run if self.shown else None
        self.run_id = newest.pk if newest else ""
        self.is_live = newest is not None and newest.is_live
        #: The key of the next question: sent twice it is asked once.
        self.request_id = new_id("req")


class Shown:
    """One question and its answer."""

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange

    @property
    def html(self) -> SafeString:
        return mark_safe(as_html(self.exchange.answer))  # noqa: S308 made safe there

    @cached_property
    def ended(self) -> str:
        """Why there is no whole answer, "" for one that there is."""
        run = self.exchange.run
        if run is None or run.is_live or run.end_reason == "done":
            return ""
        told = RunEvent.objects.filter(run=run, kind=EventKind.ERROR).order_by("-seq").first()
        return f"{Line(run=run).sentence} {told.payload.get('message', '') if told else ''}".strip()
