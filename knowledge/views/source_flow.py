"""Adding sources to a knowledge base: picking in the tree, rules, and what that would mean."""

from __future__ import annotations

from functools import cached_property

from django.http import HttpRequest

from knowledge.models import KnowledgeBase
from knowledge.services import reader_settings, sources
from knowledge.services.forecasts import Choice, Forecast, forecast
from knowledge.source_forms import SourceForm
from knowledge.views.kb_create import Flow
from knowledge.views.kb_frame import KBFrame
from knowledge.views.picking import Pick
from mnote.exceptions import AppError
from mnote.models import Workspace

_SECONDS = 1.5


class SourceFlow(Flow):
    """The state of the form. What is picked lies in its fields, as it does when a knowledge base is made."""

    def __init__(self, request: HttpRequest, frame: KBFrame) -> None:
        super().__init__(request)
        self.kb: KnowledgeBase = frame.kb
        self.step = "sources"
        if request.method == "GET" and len(self.roots) == 1:
            self.picking.opened.add(Pick(self.roots[0].key, ""))

    @cached_property
    def workspaces(self) -> list[Workspace]:
        return [self.kb.workspace]

    @property
    def workspace(self) -> Workspace:
        return self.kb.workspace

    @cached_property
    def rules_form(self) -> SourceForm:
        return SourceForm(self.kb.settings_json.get("source_rules", {}), self._given)

    @cached_property
    def forecast(self) -> Forecast:
        rules = self.rules_form.rules if self.rules_form.is_valid() else {}
        pictures = reader_settings.pictures_of(self.kb)
        return forecast(
            principal=self.principal, choices=self.choices, rules=rules, seconds=_SECONDS, pictures=pictures,
            takes_pictures=bool(pictures),
        )  # fmt: skip

    def takes(self, name: str) -> bool:
        return reader_settings.taken_by(self.kb)(name)

    @property
    def are_rules_open(self) -> bool:
        """Whether the rules are shown: somebody changed them, or something is wrong with them."""
        return self._given is not None and (self.rules_form.has_changed() or not self.rules_form.is_valid())

    def add(self) -> tuple[int, list[tuple[str, str]]]:
        """Attach what is picked; return how many were, and the others with the codes of why."""
        made, refused = 0, []
        for choice in self.choices:
            try:
                added = self._attach(choice)
            except AppError as error:
                refused.append((choice.path or choice.root.name, error.code))
                continue
            made += len(added.sources)
            refused += added.refused
        return made, refused

    def _attach(self, choice: Choice) -> sources.Added:
        rules = self.rules_form.rules
        return sources.add_sources(
            principal=self.principal,
            kb=self.kb,
            root=choice.root,
            paths=[choice.path],
            rules=rules | {"exclude": [*rules["exclude"], *choice.exclude]},
        )
