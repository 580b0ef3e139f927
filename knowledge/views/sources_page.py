"""What the sources tab shows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from django.urls import reverse
from django.utils.functional import Promise

from knowledge.models import Exclusion
from knowledge.selectors.source_lists import SourceState, SourceView, exclusions_of, sources_of
from knowledge.views import source_words
from knowledge.views.kb_frame import KBFrame
from knowledge.views.list_state import address
from knowledge.views.run_page import RunRow

_EXCLUSIONS = 200
_ASKS = frozenset({SourceState.STOPPED, SourceState.UNREACHABLE, SourceState.HELD})


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRow:
    """One source with its rules in words and its last look."""

    view: SourceView
    last: RunRow | None
    name: str
    failed_url: str
    documents_url: str
    runs_url: str

    @property
    def pk(self) -> str:
        return self.view.source.pk

    @property
    def lamp(self) -> str:
        return source_words.state_words(self.view.state)[0]

    @property
    def state(self) -> str | Promise:
        return source_words.state_words(self.view.state)[1]

    @property
    def what(self) -> str:
        return source_words.what_words(self.view.source)

    @property
    def rules(self) -> str:
        source = self.view.source
        return " ".join([source_words.gone_words(source), source_words.stop_words(source)])

    @property
    def when(self) -> str:
        return source_words.when_words(self.view.source)

    @property
    def is_frozen(self) -> bool:
        return self.view.source.frozen_at is not None

    @property
    def is_paused(self) -> bool:
        return self.view.state is SourceState.PAUSED

    @property
    def asks(self) -> bool:
        """Whether the last look has something to say that a person should read."""
        return self.view.state in _ASKS


class SourcesPage:
    """The sources of one knowledge base, and what was taken out of it by hand."""

    def __init__(self, frame: KBFrame) -> None:
        self._frame = frame

    @cached_property
    def rows(self) -> list[SourceRow]:
        views = sources_of(self._frame.principal, self._frame.kb)
        has_several = len({view.source.root_id for view in views}) > 1
        return [self._row(view, with_root=has_several) for view in views]

    @cached_property
    def exclusions(self) -> list[Exclusion]:
        return exclusions_of(self._frame.principal, self._frame.kb)

    @property
    def shown_exclusions(self) -> list[Exclusion]:
        return self.exclusions[:_EXCLUSIONS]

    @property
    def more_exclusions(self) -> int:
        return max(0, len(self.exclusions) - _EXCLUSIONS)

    def _row(self, view: SourceView, *, with_root: bool) -> SourceRow:
        source, kb = view.source, self._frame.kb
        name = source.path or source.root.name
        return SourceRow(
            view=view,
            last=RunRow(kb, view.last) if view.last else None,
            name=f"{source.root.name} / {source.path}" if with_root and source.path else name,
            failed_url=address(self._frame.url, f"source={source.pk}&status=failed"),
            documents_url=address(self._frame.url, f"source={source.pk}"),
            runs_url=address(reverse("knowledge:kb-runs", args=[kb.pk]), f"source={source.pk}"),
        )
