"""Making what a person needs at OpenHub: a user for each runtime identity, models as the workspace allows, and sessions
that are pinned to the root.

OpenHub keeps a folder for each of its users and commits, renames and writes in it. That folder is never a root: the
session, which the host makes at opencode, works in the root; OpenHub itself does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from mnote.files.prefixes import is_below
from mnote.models import Root, User
from mnote.services import audit, jobs
from pageai.exceptions import ConversationGone, PanelUnsafe, SessionTaken
from pageai.models import OpenHubBinding, PanelIdentity
from pageai.panel.errors import PanelRefused
from pageai.panel.opencode import Opencode, Rule
from pageai.panel.openhub import PUBLIC_PROVIDER, Model, OpenHub
from pageai.panel.tool_rules import rules_for
from pageai.services import bindings, identities, panel
from pageai.services.gatekeeping import Visit
from pageai.services.opencodes import opencode_of

CLOSE_KIND = "pageai.close_identities"
_LOOK_AGAIN = timedelta(hours=1)


def ensure_identity(visit: Visit) -> PanelIdentity:
    """Return the OpenHub user of a visit's runtime identity; make it, or tell it another policy, when needed.

    Raises:
        PanelUnsafe: OpenHub's own folder for it touches a root. PanelError.
    """
    derived = identities.identities_of(
        user=visit.principal.user, root=visit.root, page_resource_id=visit.binding.page_resource_id
    )
    wanted = panel.policy_of(visit.binding.workspace).models
    known = PanelIdentity.objects.filter(pk=derived.runtime_identity).first()
    if known is not None and _still_holds(known, wanted):
        return known
    return _provision(visit, derived.runtime_identity, f"mnote_{derived.skill_scope}", wanted)


def forget_identity(identity: PanelIdentity) -> None:
    """Make the next visit provision it anew: OpenHub no longer knows it."""
    PanelIdentity.objects.filter(pk=identity.pk).update(permitted_json=[])


def ensure_session(visit: Visit) -> str:
    """Return the session of a visit's conversation, made when there is none, with rules as the person's rights are now.

    Raises:
        FolderNotForAgents, ConversationGone, PanelError.
    """
    opencode = opencode_of(visit)
    rules = _rules(visit, opencode)
    if not visit.session_id:
        return _make_session(visit, opencode, rules)
    try:
        opencode.set_rules(visit.session_id, directory=visit.directory, rules=rules)
    except PanelRefused as error:
        if error.status == 404:
            raise ConversationGone from error
        raise
    return visit.session_id


def mcp_server_of(binding: OpenHubBinding) -> str:
    """Name the MCP server of a binding. Sessions of one folder share opencode's list of servers, so that each sees its
    own one only by its name."""
    return f"kb_{binding.pk[-10:]}"


def end_of_account(user: User) -> int:
    """Close the OpenHub users of a person whose account is closed: at once here, soon at OpenHub."""
    rows = PanelIdentity.objects.filter(user=user, closed_at__isnull=True)
    closed = rows.update(closed_at=timezone.now())
    if closed:
        jobs.enqueue(kind=CLOSE_KIND, payload={"userId": user.pk}, dedup_key=str(user.pk))
    return closed


def close_at_openhub(*, user: User) -> int:
    """Close the accounts at OpenHub that are closed here, and say how many. Raises PanelError."""
    openhub, now = OpenHub(panel.connection()), timezone.now()
    rows = list(PanelIdentity.objects.filter(user=user, closed_at__isnull=False))
    for row in rows:
        openhub.close(row.openhub_user_id, now=now)
    return len(rows)


def _still_holds(known: PanelIdentity, wanted: Sequence[Model]) -> bool:
    """Without models in the policy, those that opencode reaches are looked up anew from time to time."""
    if known.closed_at is not None or not known.permitted_json:
        return False
    if wanted:
        return bool(known.permitted_json == _stored(wanted))
    return timezone.now() - known.provisioned_at < _LOOK_AGAIN


def _provision(visit: Visit, runtime_identity: str, username: str, wanted: Sequence[Model]) -> PanelIdentity:
    openhub, now = OpenHub(panel.connection()), timezone.now()
    user = openhub.ensure_user(username, now=now)
    _refuse_a_root(user.workspace_path)
    models = list(wanted) or [each for each in openhub.reachable_models(now=now) if each.provider_id != PUBLIC_PROVIDER]
    openhub.permit(user, models, now=now)
    openhub.reopen(user.id, now=now)
    facts = {
        "user": visit.principal.user,
        "workspace": visit.binding.workspace,
        "root_uri": visit.root.root_uri,
        "openhub_username": username,
        "openhub_user_id": user.id,
        "permitted_json": _stored(models),
        "provisioned_at": now,
        "closed_at": None,
    }
    with transaction.atomic():
        row, is_new = PanelIdentity.objects.update_or_create(runtime_identity=runtime_identity, defaults=facts)
        if is_new:
            audit.record(
                principal=visit.principal,
                action="panel.provision",
                workspace=visit.binding.workspace,
                target=username,
                facts={"models": len(models)},
            )
    return row


def _refuse_a_root(workspace_path: str) -> None:
    """OpenHub may commit and change its own folder; no root may be it, lie in it, or hold it."""
    if not workspace_path.startswith("/"):
        raise PanelUnsafe
    for path in Root.objects.values_list("path", flat=True):
        if is_below(path, workspace_path) or is_below(workspace_path, path):
            raise PanelUnsafe


def _make_session(visit: Visit, opencode: Opencode, rules: Sequence[Rule]) -> str:
    title = visit.binding.page_resource_id.rpartition("~2F")[2].removeprefix("local-md:")
    made = opencode.create_session(directory=visit.directory, title=title[:120], rules=rules)
    try:
        bindings.attach_sessions(binding=visit.binding, openhub_session_id=made, opencode_session_id=made)
    except SessionTaken:  # another tab asked first
        visit.binding.refresh_from_db()
        if not visit.session_id:
            raise
    return visit.session_id


def _rules(visit: Visit, opencode: Opencode) -> tuple[Rule, ...]:
    directory = visit.directory
    return rules_for(
        visit.reach(),
        root=directory,
        worktree=opencode.worktree(directory),
        mcp_server=mcp_server_of(visit.binding),
    )


def _stored(models: Sequence[Model]) -> list[dict[str, object]]:
    return [{"model": each.name, "monthlyLimit": each.monthly_limit} for each in models]
