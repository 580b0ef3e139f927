"""Bindings: which conversation of the panel belongs to which page of which person (spec 8.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from mnote.models import User
from mnote.principals import Principal
from mnote.services import audit
from pageai.exceptions import SessionTaken
from pageai.models import BindingStatus, BindingToken, OpenHubBinding
from pageai.services import identities
from pageai.services.pages import Page

_ATTEMPTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The binding that a page shows now. `is_resumed` says that it was there before."""

    binding: OpenHubBinding
    is_resumed: bool


def open_binding(*, principal: Principal, page: Page, metadata: dict[str, Any] | None = None) -> Opened:
    """Resume the active binding of a page, on any browser, or make one.

    A person works in one root at a time: bindings that were active in others become stale. Coming back opens a new
    conversation; the old one stays and can be taken up by `reopen`. `metadata` is for a binding that is made.
    """
    for attempt in range(_ATTEMPTS):
        try:
            return _resume_or_make(principal.user, page, metadata or {})
        except IntegrityError:  # another browser made it at the same moment
            if attempt == _ATTEMPTS - 1:
                raise
    raise AssertionError("the loop returns or raises")


def start_anew(*, principal: Principal, page: Page, metadata: dict[str, Any] | None = None) -> OpenHubBinding:
    """Begin a new conversation on a page; the active one, if any, is archived."""
    with transaction.atomic():
        for old in _of_page(principal.user, page).filter(status=BindingStatus.ACTIVE):
            archive(binding=old, by=principal)
        return open_binding(principal=principal, page=page, metadata=metadata).binding


@transaction.atomic
def reopen(*, binding: OpenHubBinding, by: Principal) -> OpenHubBinding:
    """Take up an old conversation of a page again; the one that was active there is archived."""
    rows = OpenHubBinding.objects.filter(scope_key=binding.scope_key)
    for other in rows.filter(status=BindingStatus.ACTIVE).exclude(pk=binding.pk):
        archive(binding=other, by=by)
    _leave_other_roots(binding.user, binding.workspace_id, binding.root_uri)
    rows.filter(pk=binding.pk).update(status=BindingStatus.ACTIVE, archived_at=None, updated_at=timezone.now())
    audit.record(principal=by, action="binding.reopen", workspace=binding.workspace, target=binding.pk)
    binding.refresh_from_db()
    return binding


@transaction.atomic
def archive(*, binding: OpenHubBinding, by: Principal | None = None) -> None:
    """Put a binding away and end its tokens. Archiving twice changes nothing."""
    now = timezone.now()
    rows = OpenHubBinding.objects.filter(pk=binding.pk).exclude(status=BindingStatus.ARCHIVED)
    if rows.update(status=BindingStatus.ARCHIVED, archived_at=now, updated_at=now):
        BindingToken.objects.filter(binding=binding, revoked_at__isnull=True).update(revoked_at=now)
        audit.record(principal=by, action="binding.archive", workspace=binding.workspace, target=binding.pk)
    binding.refresh_from_db()


def mark_stale(*, binding: OpenHubBinding) -> None:
    """Say that its person works elsewhere now. Only an active binding becomes stale."""
    rows = OpenHubBinding.objects.filter(pk=binding.pk, status=BindingStatus.ACTIVE)
    rows.update(status=BindingStatus.STALE, updated_at=timezone.now())
    binding.refresh_from_db()


def attach_sessions(
    *, binding: OpenHubBinding, openhub_session_id: str, opencode_session_id: str | None = None
) -> OpenHubBinding:
    """Note the sessions that the panel opened for a binding.

    Raises:
        SessionTaken: a session is another binding's, or the binding has another one already.
    """
    if binding.openhub_session_id not in ("", openhub_session_id):
        raise SessionTaken
    binding.openhub_session_id = openhub_session_id
    binding.opencode_session_id = opencode_session_id or binding.opencode_session_id
    try:
        with transaction.atomic():
            binding.save(update_fields=["openhub_session_id", "opencode_session_id", "updated_at"])
    except IntegrityError as error:
        raise SessionTaken from error
    return binding


def set_agent(*, binding: OpenHubBinding, agent_id: str) -> None:
    """Say which agent a conversation is with that has not begun."""
    binding.metadata_json = binding.metadata_json | {"agentId": agent_id}
    rows = OpenHubBinding.objects.filter(pk=binding.pk, openhub_session_id="")
    rows.update(metadata_json=binding.metadata_json, updated_at=timezone.now())


@transaction.atomic
def _resume_or_make(user: User, page: Page, metadata: dict[str, Any]) -> Opened:
    _leave_other_roots(user, page.root.workspace_id, page.root.root_uri)
    known = _of_page(user, page).filter(status=BindingStatus.ACTIVE).select_related("workspace", "user").first()
    if known is not None:
        OpenHubBinding.objects.filter(pk=known.pk).update(updated_at=timezone.now())
        return Opened(binding=known, is_resumed=True)
    derived = identities.identities_of(user=user, root=page.root, page_resource_id=page.resource_id)
    made = OpenHubBinding.objects.create(
        user=user,
        workspace=page.root.workspace,
        root_uri=page.root.root_uri,
        page_resource_id=page.resource_id,
        page_absolute_path=page.absolute_path,
        scope_key=derived.openhub_session_scope,
        openhub_user_key=derived.openhub_user_key,
        metadata_json=metadata,
    )
    return Opened(binding=made, is_resumed=False)


def _of_page(user: User, page: Page) -> Any:
    derived = identities.identities_of(user=user, root=page.root, page_resource_id=page.resource_id)
    return OpenHubBinding.objects.filter(scope_key=derived.openhub_session_scope)


def _leave_other_roots(user: User, workspace_id: str, root_uri: str) -> None:
    elsewhere = OpenHubBinding.objects.filter(user=user, status=BindingStatus.ACTIVE).exclude(
        workspace_id=workspace_id, root_uri=root_uri
    )
    elsewhere.update(status=BindingStatus.STALE, updated_at=timezone.now())
