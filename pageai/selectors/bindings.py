"""Finding bindings, as far as they are the caller's own."""

from __future__ import annotations

from django.db.models import QuerySet

from mnote.exceptions import NotFound
from mnote.principals import Principal
from mnote.selectors import access
from pageai.models import OpenHubBinding


def bindings_of(principal: Principal) -> QuerySet[OpenHubBinding]:
    """Select the caller's own bindings in workspaces that are still visible to them, newest first."""
    workspaces = access.workspaces_for(principal)
    rows = OpenHubBinding.objects.filter(user=principal.user, workspace__in=workspaces.order_by())
    return rows.select_related("workspace", "user").order_by("-updated_at", "-id")


def get_binding(principal: Principal, binding_id: str) -> OpenHubBinding:
    """Fetch one of them. Raises NotFound, also for another person's."""
    return _only(bindings_of(principal).filter(pk=binding_id) if "\0" not in binding_id else None)


def binding_of_session(principal: Principal, openhub_session_id: str) -> OpenHubBinding:
    """Fetch the caller's binding of an OpenHub session. Raises NotFound, also for another person's."""
    is_id = bool(openhub_session_id) and "\0" not in openhub_session_id
    return _only(bindings_of(principal).filter(openhub_session_id=openhub_session_id) if is_id else None)


def _only(rows: QuerySet[OpenHubBinding] | None) -> OpenHubBinding:
    found = rows.first() if rows is not None else None
    if found is None:
        raise NotFound
    return found
