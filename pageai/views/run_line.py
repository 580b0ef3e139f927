"""A run as one line: in the strip under a conversation, and in lists."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.urls import reverse
from django.utils.translation import gettext as _

from mnote.models import Root
from mnote.principals import Principal
from pageai import run_words
from pageai.models import EventKind, OpenHubBinding, Run, RunEvent
from pageai.selectors import runs


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A run of a list."""

    run: Run

    @property
    def state(self) -> str:
        """The reason once the run ended, else its status."""
        return self.run.end_reason or self.run.status

    @property
    def lamp(self) -> str:
        return run_words.lamp_of(self.state)

    @property
    def word(self) -> str:
        return run_words.word_of(self.state)

    @property
    def sentence(self) -> str:
        return run_words.sentence_of(self.state)

    @property
    def title(self) -> str:
        return self.run.title or _("A question without words here")

    @property
    def at(self) -> datetime:
        return self.run.ended_at or self.run.created_at

    @property
    def url(self) -> str:
        return reverse("pageai:run", args=[self.run.pk])

    @property
    def events_url(self) -> str:
        return reverse("pageai-api:run-events", args=[self.run.pk])

    @property
    def step(self) -> str:
        """What a live run does now, as far as it told."""
        newest = RunEvent.objects.filter(run=self.run, kind=EventKind.TOOL_STARTED).order_by("-seq").first()
        if not self.run.is_live or newest is None:
            return ""
        about = " ".join(str(each) for each in dict(newest.payload.get("input") or {}).values())
        return f"{run_words.tool_of(str(newest.payload.get('tool', '')))} {about}"[:200].strip()


def newest_of(binding: OpenHubBinding) -> Line | None:
    """Return the newest run of a conversation."""
    run = Run.objects.filter(binding=binding).exclude(status="pending").order_by("-created_at", "-id").first()
    return Line(run=run) if run else None


def recent(principal: Principal, root: Root, resource_id: str, *, limit: int) -> list[Line]:
    """Return the newest runs of a page, of all its conversations."""
    rows = runs.runs_of(principal).filter(
        binding__workspace=root.workspace, binding__root_uri=root.root_uri, binding__page_resource_id=resource_id
    )
    return [Line(run=run) for run in rows[:limit]]
