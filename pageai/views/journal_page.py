"""What the page of a run shows: the steps that it took, as far as its reader may still see them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from django.utils.translation import gettext as _

from mnote.principals import Principal
from mnote.selectors import access
from pageai import run_words
from pageai.models import ArtifactIndex, ArtifactKind, Run, RunEvent
from pageai.views.aside_page import Chip, page_path, pane_address
from pageai.views.run_line import Line

_MAX_STEPS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing that a run did: said something, used a tool, asked, changed files."""

    kind: str
    text: str = ""
    about: str = ""
    is_failed: bool = False
    chips: Sequence[Chip] = field(default_factory=tuple)


class RunPage:
    """One run for its reader."""

    def __init__(self, principal: Principal, run: Run) -> None:
        self.run = run
        self.line = Line(run=run)
        self.root = access.root_of(run.binding.workspace, run.binding.root_uri)
        self.path = page_path(run.binding, self.root)
        self.back_url = pane_address(self.root, self.path)
        self._may_read = access.access_map(principal, self.root).may_read

    @cached_property
    def _events(self) -> list[RunEvent]:
        return list(RunEvent.objects.filter(run=self.run).order_by("seq")[: _MAX_STEPS + 1])

    @property
    def has_changes(self) -> bool:
        """Whether the run changed files: what in them is asked for only when somebody wants to see it."""
        rows = ArtifactIndex.objects.filter(binding=self.run.binding, host_run_id=self.run.pk)
        return rows.filter(kind=ArtifactKind.CHANGED_FILE).exists()

    @property
    def has_more(self) -> bool:
        return len(self._events) > _MAX_STEPS

    @property
    def is_forgotten(self) -> bool:
        """Whether the events of a run that ended are gone."""
        return not self._events and not self.run.is_live

    @cached_property
    def steps(self) -> list[Step]:
        """The steps, each tool call once with how it ended, words that follow each other as one."""
        found: list[Step] = []
        at: dict[str, int] = {}
        for event in self._events[:_MAX_STEPS]:
            call_id = str(event.payload.get("toolCallId", ""))
            step = self._step(event)
            if event.kind == "message.delta" and found and found[-1].kind == "said":
                found[-1] = replace(found[-1], text=found[-1].text + step.text)
            elif event.kind == "tool.completed" and call_id in at:
                begun = found[at[call_id]]
                found[at[call_id]] = replace(begun, is_failed=step.is_failed, chips=step.chips)
            elif step.text or step.about or step.chips:
                at |= {call_id: len(found)} if event.kind == "tool.started" else {}
                found.append(step)
        return found

    def _step(self, event: RunEvent) -> Step:
        payload = event.payload
        match event.kind:
            case "message.delta":
                return Step(kind="said", text=str(payload.get("text", "")))
            case "tool.started" | "tool.completed":
                about = " ".join(str(each) for each in dict(payload.get("input") or {}).values())
                is_failed = payload.get("state") == "error"
                chips = self._cited(payload.get("evidence") or ())
                text = run_words.tool_of(str(payload.get("tool", "")))
                return Step(kind="tool", text=text, about=about[:300], is_failed=is_failed, chips=chips)
            case "changed_files":
                return Step(kind="changed", text=_("Changed files"), chips=self._changed(payload.get("files") or ()))
            case "plan.updated":
                plan = " · ".join(str(each.get("text", "")) for each in payload.get("items") or ())
                return Step(kind="plan", text=_("Plan"), about=plan)
        return Step(kind="told", text=run_words.told(event.kind, payload), is_failed=event.kind == "error")

    def _cited(self, evidence: Iterable[dict[str, str]]) -> list[Chip]:
        known = {
            str(each.get("sourcePath", "")): str(each.get("label") or each.get("sourceTitle")) for each in evidence
        }
        return [
            Chip(label=label, url=pane_address(self.root, path), is_change=False)
            for path, label in known.items()
            if path and self._may_read(path)
        ]

    def _changed(self, files: Iterable[dict[str, object]]) -> list[Chip]:
        return [
            Chip(
                label=f"{each['path']} +{each.get('added', 0)} −{each.get('removed', 0)}",
                url=pane_address(self.root, str(each["path"])),
                is_change=True,
            )
            for each in files
            if each.get("path") and self._may_read(str(each["path"]))
        ]
