"""Knowledge bases: made, changed, paused, archived. Local files are never touched by any of it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from knowledge.exceptions import NameTaken
from knowledge.models import KnowledgeBase, Pin, ProviderKind, ProviderProfile
from knowledge.querysets import visible_kbs
from knowledge.services import kb_placing, reader_settings, rereading, sources
from knowledge.services.kb_placing import ANYWHERE, Indexing
from mnote.exceptions import Invalid, NotFound
from mnote.models import Role, Root, Workspace
from mnote.principals import Principal
from mnote.selectors import access
from mnote.services import audit, jobs

NAME_MAX, DESCRIPTION_MAX = 50, 200
_USE = timedelta(minutes=5)


def get_kb(*, principal: Principal, kb_id: str, role: Role = Role.VIEWER) -> KnowledgeBase:
    """Return a visible knowledge base. Raises NotFound, or Forbidden when the caller's role is below `role`."""
    kb = visible_kbs(principal).select_related("workspace", "root", "owner", "profile").filter(id=kb_id).first()
    if kb is None:
        raise NotFound
    access.require_role(principal, kb.workspace, role)
    return kb


def create_kb(
    *,
    principal: Principal,
    workspace: Workspace,
    root: Root,
    name: str,
    description: str = "",
    indexing: Indexing = ANYWHERE,
) -> KnowledgeBase:
    """Create a knowledge base; needs the manager role. Raises Invalid, NameTaken, Forbidden."""
    access.require_role(principal, workspace, Role.MANAGER)
    profile = kb_placing.profile_for(workspace, provider=indexing.provider, profile_id=indexing.profile_id)
    kind = profile.kind if profile else ProviderKind.LOCAL
    rereading.check_reader(kind, indexing.parsed_by)
    kb = KnowledgeBase(
        owner=principal.user,
        workspace=workspace,
        root=root,
        name=_clean_name(name),
        description=description.strip()[:DESCRIPTION_MAX],
        provider=kind,
        profile=profile,
        parsed_by=indexing.parsed_by,
        reading_json=_reading(kind, profile, indexing.reading, {}) if indexing.reading else {},
    )
    _save(kb)
    facts = {"profile": profile.name} if profile else {}
    audit.record(principal=principal, action="kb.create", workspace=workspace, kb_id=kb.id, target=kb.name, facts=facts)
    return kb


def update_kb(*, principal: Principal, kb: KnowledgeBase, **changes: Any) -> KnowledgeBase:
    """Change name, description, default_tool_enabled, settings_json, parsed_by or reading_json (as
    `reader_settings.checked` takes it); needs the manager role. Another reader has every file read anew, another way of
    reading only what comes from now on: see `rereading.request`."""
    access.require_role(principal, kb.workspace, Role.MANAGER)
    rereading.check_reader(kb.provider, changes.get("parsed_by", kb.parsed_by))
    if "reading_json" in changes:
        changes |= {"reading_json": _reading(kb.provider, kb.profile, changes["reading_json"], kb.reading_json)}
    before = {name: getattr(kb, name) for name in changes}
    pictures = reader_settings.pictures_of(kb)
    for name, value in changes.items():
        setattr(kb, name, _clean_name(value) if name == "name" else value)
    with transaction.atomic():
        _save(kb)
        if changes.get("parsed_by", kb.parsed_by) != before.get("parsed_by", kb.parsed_by):
            rereading.request(kb=kb, principal=principal)
        if reader_settings.pictures_of(kb) != pictures:
            sources.sync_now(principal=principal, kb=kb)
    audit.record(
        principal=principal,
        action="kb.update",
        workspace=kb.workspace,
        kb_id=kb.id,
        target=kb.name,
        facts={"before": before, "after": changes},
    )
    return kb


@transaction.atomic
def reread(*, principal: Principal, kb: KnowledgeBase) -> int:
    """Have the provider read those files again that it read with other settings; needs the manager role. Search does
    not find them until that is done. Returns how many there are."""
    access.require_role(principal, kb.workspace, Role.MANAGER)
    count = rereading.read_otherwise(kb).count()
    if count:
        rereading.request(kb=kb, principal=principal, only=rereading.OTHERWISE)
        audit.record(
            principal=principal, action="kb.reread", workspace=kb.workspace, kb_id=kb.id, target=kb.name,
            facts={"count": count},
        )  # fmt: skip
    return count


def set_paused(*, principal: Principal, kb: KnowledgeBase, paused: bool) -> None:
    """Pause or resume syncs and indexing; needs curator."""
    access.require_role(principal, kb.workspace, Role.CURATOR)
    kb.paused_at = timezone.now() if paused else None
    kb.save(update_fields=["paused_at", "updated_at"])
    action = "kb.pause" if paused else "kb.resume"
    audit.record(principal=principal, action=action, workspace=kb.workspace, kb_id=kb.id, target=kb.name)


def archive_kb(*, principal: Principal, kb: KnowledgeBase) -> None:
    """Take a knowledge base away at once; its index is removed in the background. Files stay as they are."""
    access.require_role(principal, kb.workspace, Role.MANAGER)
    take_away(kb=kb, by=principal)


def take_away(*, kb: KnowledgeBase, by: Principal) -> None:
    """Do what `archive_kb` does, for a caller that has asked for rights itself. Doing it twice changes nothing."""
    with transaction.atomic():
        now = timezone.now()
        if not KnowledgeBase.objects.filter(pk=kb.pk, archived_at=None).update(archived_at=now, updated_at=now):
            return
        kb.archived_at = now
        audit.record(principal=by, action="kb.archive", workspace=kb.workspace, kb_id=kb.id, target=kb.name)
        jobs.enqueue(
            kind="knowledge.purge_kb",
            payload={"kb_id": kb.id},
            dedup_key=kb.id,
            workspace=kb.workspace,
            kb_id=kb.id,
            requested_by=by.user,
        )


def duplicate_kb(*, principal: Principal, kb: KnowledgeBase, name: str) -> KnowledgeBase:
    """Create a knowledge base with the same settings in the same place, and no content."""
    copy = create_kb(
        principal=principal,
        workspace=kb.workspace,
        root=kb.root,
        name=name,
        description=kb.description,
        indexing=Indexing(
            provider=kb.provider, profile_id=kb.profile_id or "", parsed_by=kb.parsed_by, reading=kb.reading_json
        ),
    )
    return update_kb(principal=principal, kb=copy, settings_json=kb.settings_json)


def set_pinned(*, principal: Principal, kb: KnowledgeBase, pinned: bool) -> None:
    """Pin or unpin for this person only."""
    when = timezone.now() if pinned else None
    Pin.objects.update_or_create(user=principal.user, kb=kb, defaults={"pinned_at": when})


def note_use(*, principal: Principal, kb: KnowledgeBase) -> None:
    """Remember when this person last used it, to a few minutes, for the order of lists."""
    now = timezone.now()
    if Pin.objects.filter(user=principal.user, kb=kb, used_at__gt=now - _USE).exists():
        return
    Pin.objects.update_or_create(user=principal.user, kb=kb, defaults={"used_at": now})


def _reading(
    kind: str, profile: ProviderProfile | None, wanted: Mapping[str, Any], before: Mapping[str, Any]
) -> dict[str, Any]:
    return reader_settings.checked(kind=kind, profile=profile, wanted=wanted, before=before)


def _clean_name(name: str) -> str:
    name = " ".join(name.split())
    if not name:
        raise Invalid(errors={"name": [{"message": _("Please give it a name."), "code": "blank"}]})
    if len(name) > NAME_MAX:
        message = _("At most %(limit)d characters.") % {"limit": NAME_MAX}
        raise Invalid(errors={"name": [{"message": message, "code": "max_length"}]})
    return name


def _save(kb: KnowledgeBase) -> None:
    try:
        with transaction.atomic():
            kb.save()
    except IntegrityError:
        message = _("Another knowledge base of this workspace has this name.")
        raise NameTaken(message, errors={"name": [{"message": message, "code": "unique"}]}) from None
