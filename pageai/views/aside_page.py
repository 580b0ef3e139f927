"""What the templates of the panel show: its layers, the page it is about, what waits, what was left behind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from knowledge.citations.owners import path_of
from mnote.exceptions import AppError
from mnote.models import Root
from mnote.principals import Principal
from pageai.models import ArtifactIndex, ArtifactKind, OpenHubBinding
from pageai.panel.answers import own_address
from pageai.panel.errors import PanelError
from pageai.services import asks, changes, chats, opencodes, turns
from pageai.services.asks import Waiting
from pageai.services.gatekeeping import Visit
from pageai.views.run_line import Line, newest_of

OPEN_COOKIE = "mnote_page_ai"
_LAYERS: dict[str, str | Promise] = {
    "openhub_fastapi": "OpenHub",
    "openhub_redis": "Redis",
    "opencode": "opencode",
    "weknora": "WeKnora",
    "local": gettext_lazy("Index"),
    "session_binding": gettext_lazy("Conversation"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    """A reference that opens in the document pane."""

    label: str
    url: str
    is_change: bool
    is_degraded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """A layer that does not work, and what still does."""

    layer: str
    sentence: str


def page_path(binding: OpenHubBinding, root: Root) -> str:
    """Return the path of a binding's page below its root."""
    try:
        return path_of(binding.page_resource_id)
    except ValueError:  # an id of a host: the page was found by its path
        return binding.page_absolute_path.removeprefix(f"{root.path.rstrip('/')}/")


def pane_address(root: Root, path: str, **query: Any) -> str:
    """Return the address of a file in the document pane."""
    given = {"root": root.key} | {name: value for name, value in query.items() if value}
    return f"{reverse('knowledge:open', args=[root.workspace_id, path])}?{urlencode(given)}"


def own_page_address(visit: Visit) -> str:
    """Return the address of the panel on a page of its own."""
    path = page_path(visit.binding, visit.root)
    given = {"workspaceId": visit.root.workspace_id, "root": visit.root.key, "path": path}
    return f"{reverse('pageai:own-page')}?{urlencode(given)}"


def troubles_of(health: Mapping[str, Mapping[str, Any]]) -> list[Trouble]:
    """Name the layers of a health answer that do not answer, or may not stay as they are."""
    told = {key: health[key] for key in _LAYERS if key in health}
    broken = [key for key, each in told.items() if each.get("configured") and not each.get("ok")]
    return [Trouble(layer=str(_LAYERS[key]), sentence=told[key].get("sentence", "")) for key in broken]


class Now:
    """How a conversation stands at this moment. What a page was drawn without, because opencode was slow, it fetches
    patiently afterwards."""

    def __init__(self, visit: Visit, *, is_patient: bool = True) -> None:
        self.visit = visit
        self.is_unsure = False
        self._is_patient = is_patient
        self.binding = visit.binding
        self.path = page_path(visit.binding, visit.root)

    @cached_property
    def standing(self) -> turns.Standing:
        return turns.standing(binding_id=self.binding.pk)

    @cached_property
    def waiting(self) -> Waiting:
        try:
            return asks.waiting(self.visit, is_patient=self._is_patient)
        except (PanelError, AppError):
            self.is_unsure = True
            return Waiting()

    @cached_property
    def line(self) -> Line | None:
        """The newest run."""
        return newest_of(self.binding)

    @cached_property
    def may_stop(self) -> bool:
        """Whether the run is to be stopped here: OpenHub's page has a button of its own."""
        is_ours = opencodes.is_direct(self.visit) or chats.is_chat(self.binding)
        return self.line is not None and self.line.run.is_live and is_ours

    @property
    def lamp(self) -> str:
        """The lamp's shape: amber only when somebody is waited for."""
        if self.waiting:
            return "stale"
        return "parsing" if self.standing.is_running else "indexed"

    @property
    def word(self) -> str:
        if self.waiting:
            return _("waits for you")
        return _("working") if self.standing.is_running else _("ready")

    @cached_property
    def _references(self) -> list[ArtifactIndex]:
        return changes.newest(self.visit)

    @cached_property
    def chips(self) -> list[Chip]:
        return [self._chip(row) for row in self._references]

    @property
    def changes_url(self) -> str:
        """The page of the run that changed a file last, to read it line by line; "" when that is not known."""
        rows = (row for row in self._references if row.kind == ArtifactKind.CHANGED_FILE and row.host_run_id)
        newest = next(rows, None)
        return f"{reverse('pageai:run', args=[newest.host_run_id])}?changes=1#changes" if newest else ""

    @property
    def changed(self) -> list[Chip]:
        return [each for each in self.chips if each.is_change]

    @property
    def cited(self) -> list[Chip]:
        return [each for each in self.chips if not each.is_change]

    def _chip(self, row: ArtifactIndex) -> Chip:
        facts = row.payload_json
        if row.kind == ArtifactKind.CITATION:
            return Chip(
                label=str(facts.get("label") or facts["path"]),
                url=own_address(str(facts.get("url", ""))) or pane_address(self.visit.root, facts["path"]),
                is_change=False,
                is_degraded=facts.get("degraded") is True,
            )
        counts = f" +{facts.get('added', 0)} −{facts.get('removed', 0)}"
        url = pane_address(self.visit.root, facts["path"], **changes.place_of(facts))
        return Chip(label=facts["path"] + counts, url=url, is_change=True)


def principal_of(request: HttpRequest) -> Principal:
    """Return who is signed in; only for views that need a login."""
    return cast("Principal", request.principal)  # type: ignore[attr-defined]


def query_of(request: HttpRequest) -> str:
    """Return the part of the address that names the page."""
    return urlencode({name: request.GET.get(name, "") for name in ("workspaceId", "root", "path")})
