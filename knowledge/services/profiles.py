"""Provider profiles: made, changed, checked, archived. Only administrators come here; who calls asks for that right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from knowledge.exceptions import NameTaken
from knowledge.models import KnowledgeBase, ProviderProfile
from knowledge.providers.base import ProviderMisconfigured
from knowledge.providers.registry import tenant_key
from knowledge.services import provider_outages
from mnote.exceptions import Conflict, Invalid
from mnote.models import Workspace
from mnote.principals import Principal
from mnote.sealing import seal
from mnote.services import audit

#: A change of one of these makes it another connection: what was found out about the old one says nothing any more.
_CONNECTION = ("base_url", "tenant_id", "key_name", "embedding_model_id", "vision_model_id")
#: How a server begins what it keeps of a key, and shows together with the key itself.
_SEALED_THERE = "enc:"
_PLAIN = ("name", *_CONNECTION, "isolation_domain")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileWish:
    """What an administrator wants of a profile. Empty `base_url` and `key` keep what is stored; `key_name` names a key
    of the environment, which goes before a stored one."""

    name: str
    tenant_id: str
    isolation_domain: str
    embedding_model_id: str
    vision_model_id: str = ""
    workspaces: Sequence[Workspace] = ()
    base_url: str = field(default="", repr=False)
    key: str = field(default="", repr=False)
    key_name: str = ""


def check_wish(*, profile: ProviderProfile, wish: ProfileWish) -> None:
    """Raise Invalid for what cannot be saved; `profile` is the stored one or a new one."""
    url = wish.base_url or profile.base_url
    _check_key(profile, wish)
    if profile.tenant_id not in ("", wish.tenant_id) and _live_kbs(profile).exists():
        raise _invalid("tenant_id", _("Knowledge bases are indexed in this tenant. Make another profile for another."))
    _check_name(profile, wish.name)
    _check_domain(profile, wish, _tenant_key(profile.kind, url, wish.tenant_id))
    _check_workspaces(profile, wish.workspaces)


@transaction.atomic
def save_profile(*, by: Principal, profile: ProviderProfile | None, wish: ProfileWish) -> ProviderProfile:
    """Make or change a profile; work that waits for its server is tried at once. Raises Invalid; then nothing is
    changed."""
    # One at a time, so that no two changes together break what each of them keeps.
    list(ProviderProfile.objects.select_for_update().order_by("pk"))
    row = profile or ProviderProfile()
    is_new = profile is None
    check_wish(profile=row, wish=wish)
    changed = _apply(row, wish)
    row.save()
    row.workspaces.set(wish.workspaces)
    provider_outages.ask_again(_live_kbs(row))
    facts = {"changed": changed, "workspaces": sorted(each.pk for each in wish.workspaces)}
    audit.record(principal=by, action="profile.create" if is_new else "profile.update", target=row.name, facts=facts)
    return row


def archive_profile(*, by: Principal, profile: ProviderProfile) -> None:
    """Ask nothing over a profile any more: what is indexed there waits. Raises Conflict when it is archived already."""
    if profile.archived_at is not None:
        raise Conflict(_("It is archived already."))
    profile.archived_at = timezone.now()
    profile.save(update_fields=["archived_at", "updated_at"])
    audit.record(principal=by, action="profile.archive", target=profile.name)


def restore_profile(*, by: Principal, profile: ProviderProfile) -> None:
    """Let an archived profile be used again, once it is checked. Raises Conflict, Invalid."""
    if profile.archived_at is None:
        raise Conflict(_("It is not archived."))
    stored = {name: getattr(profile, name) for name in _PLAIN}
    wish = ProfileWish(workspaces=list(profile.workspaces.all()), **stored)
    with transaction.atomic():
        check_wish(profile=profile, wish=wish)
        profile.archived_at, profile.checked_at, profile.check_json = None, None, {}
        profile.save(update_fields=["archived_at", "checked_at", "check_json", "updated_at"])
        provider_outages.ask_again(_live_kbs(profile))
        audit.record(principal=by, action="profile.restore", target=profile.name)


def _apply(row: ProviderProfile, wish: ProfileWish) -> list[str]:
    """Write the wish into the row, and return the names of what changed."""
    wanted: dict[str, Any] = {name: getattr(wish, name) for name in _PLAIN}
    wanted["base_url"] = (wish.base_url or row.base_url).strip()
    changed = [name for name, value in wanted.items() if getattr(row, name) != value]
    for name in changed:
        setattr(row, name, wanted[name])
    if wish.key_name:
        row.sealed_key = ""
    elif wish.key:
        row.sealed_key = seal(wish.key.strip())
        changed.append("key")
    row.tenant_key = _tenant_key(row.kind, row.base_url, row.tenant_id)
    if {*_CONNECTION, "key"} & {*changed}:
        row.checked_at, row.check_json, row.edition = None, {}, ""
        row.seen_at, row.seen_code = None, ""
    return changed


def _check_key(profile: ProviderProfile, wish: ProfileWish) -> None:
    if wish.key and wish.key_name:
        raise _invalid("key", _("Give a key, or the name of one in the environment, not both."))
    if wish.key_name and wish.key_name not in settings.MNOTE_PROVIDER_KEYS:
        raise _invalid("key_name", _("The environment holds no key of this name: set MNOTE_PROVIDER_KEY_NAME."))
    if wish.key.strip().startswith(_SEALED_THERE):
        raise _invalid("key", _("This is the key as the server stores it. Enter the token that it showed beside it."))
    if not (wish.key or wish.key_name or profile.sealed_key):
        raise _invalid("key", _("This field is required."))


def _check_name(profile: ProviderProfile, name: str) -> None:
    others = ProviderProfile.objects.filter(archived_at=None, name__iexact=name).exclude(pk=profile.pk)
    if others.exists():
        raise NameTaken(errors={"name": [{"message": _("Another profile has this name."), "code": "unique"}]})


def _check_domain(profile: ProviderProfile, wish: ProfileWish, tenant: str) -> None:
    """A provider keeps tenants apart and nothing smaller: who shares one must be allowed to see each other's."""
    others = ProviderProfile.objects.filter(archived_at=None).exclude(pk=profile.pk)
    others = others.exclude(isolation_domain=wish.isolation_domain)
    if others.filter(tenant_key=tenant).exists():
        raise _invalid("isolation_domain", _("Another isolation domain uses this tenant. Give each one its own."))
    shared = others.filter(workspaces__in=list(wish.workspaces)).values_list("workspaces__name", flat=True).first()
    if shared is not None:
        text = _("The workspace “%(name)s” has a profile of another isolation domain.") % {"name": shared}
        raise _invalid("workspaces", text)


def _check_workspaces(profile: ProviderProfile, workspaces: Sequence[Workspace]) -> None:
    left = _live_kbs(profile).exclude(workspace__in=list(workspaces)).select_related("workspace").first()
    if left is not None:
        text = _("Knowledge bases of “%(name)s” are indexed over it.") % {"name": left.workspace.name}
        raise _invalid("workspaces", text)


def _live_kbs(profile: ProviderProfile) -> Any:
    return KnowledgeBase.objects.filter(profile_id=profile.pk, archived_at=None).select_related("workspace")


def _tenant_key(kind: str, url: str, tenant_id: str) -> str:
    try:
        return tenant_key(kind, url, tenant_id)
    except ProviderMisconfigured:
        raise _invalid("base_url", _("Enter an address that begins with http:// or https://.")) from None


def _invalid(name: str, message: str) -> Invalid:
    return Invalid(errors={name: [{"message": message, "code": "invalid"}]})
