"""How the knowledge bases of a workspace stand: providers, counts, last looks, workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from knowledge.models import KnowledgeBase
from knowledge.providers.base import ProviderError, ProviderStatus
from knowledge.providers.registry import provider_for
from knowledge.querysets import visible_kbs
from knowledge.selectors.kb_lists import KBCard, cards_for
from mnote.exceptions import NotFound
from mnote.models import Root, Workspace
from mnote.principals import Principal
from mnote.selectors import health


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """`providers` holds what each kind that is in use says; `worker_age` is in seconds, None when none ever lived."""

    default_provider: str
    providers: dict[str, ProviderStatus]
    cards: tuple[KBCard, ...]
    worker_age: float | None
    is_worker_alive: bool


def status_of(*, principal: Principal, workspace: Workspace, root: Root | None = None, kb_id: str = "") -> Status:
    """Return the state of the visible knowledge bases, or of one. Raises NotFound."""
    kbs = _kbs(principal, workspace, root, kb_id)
    default = str(workspace.settings_json.get("default_provider", "local"))
    kinds = sorted({kb.provider for kb in kbs} | {default})
    return Status(
        default_provider=default,
        providers={kind: _provider_status(kind) for kind in kinds},
        cards=tuple(cards_for(principal, kbs)),
        worker_age=health.worker_age(),
        is_worker_alive=health.is_worker_alive(),
    )


def _kbs(principal: Principal, workspace: Workspace, root: Root | None, kb_id: str) -> Sequence[KnowledgeBase]:
    rows = visible_kbs(principal, workspace).select_related("workspace", "root", "owner").order_by("name", "id")
    if kb_id:
        found = list(rows.filter(id=kb_id))
        if not found:
            raise NotFound
        return found
    if root is not None:
        rows = rows.filter(root=root)
    return list(rows)


def _provider_status(kind: str) -> ProviderStatus:
    try:
        return provider_for(kind).status()
    except ProviderError as error:
        return ProviderStatus(reachable=False, sentence=str(error), facts={"code": error.code})
