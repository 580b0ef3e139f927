"""Who may see and do what: roles in workspaces, and access below a root. Nothing here is kept between requests.

A membership, one's own or a group's, gives read on every root of its workspace; only a grant gives write. Grants narrow
or widen by path prefix. A grant without a membership makes a viewer who sees what the grant covers. Being an
administrator gives no file access.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

from django.contrib.auth.models import Group
from django.db.models import Exists, F, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Left
from django.db.models.lookups import In

from mnote.exceptions import Forbidden, NotFound
from mnote.files.errors import InvalidPath
from mnote.files.prefixes import ancestors, components
from mnote.files.uris import path_to_uri, uri_to_path
from mnote.ids import text_key
from mnote.models import ROLE_ORDER, Access, Grant, Membership, Role, Root, User, Workspace
from mnote.principals import Principal

_EVERYTHING, _NOTHING = Q(), Q(pk__in=[])


@dataclass(frozen=True, kw_only=True)
class AccessMap:
    """What one principal may do below one root. Paths are root-relative text, `""` is the root itself.

    `rules` holds the access of each prefix that has a grant, `default` that of everything else.
    """

    default: Access = Access.NONE
    rules: Mapping[str, Access] = field(default_factory=dict)

    def access_of(self, path: str) -> Access:
        """Give the access of the most specific prefix that covers `path`. What is no path gets none."""
        try:
            return next((self.rules[prefix] for prefix in ancestors(path) if prefix in self.rules), self.default)
        except InvalidPath:
            return Access.NONE

    def may_read(self, path: str) -> bool:
        return self.access_of(path) != Access.NONE

    def may_write(self, path: str) -> bool:
        return self.access_of(path) == Access.WRITE

    def may_enter(self, path: str) -> bool:
        """Say whether a folder is readable, or leads to something readable below it."""
        return self.may_read(path) or path.removeprefix("/").removesuffix("/") in self._ways

    @property
    def sees_anything(self) -> bool:
        return self.may_enter("")

    @property
    def opens_anything(self) -> bool:
        """Say whether its workspace is seen because of it: by a membership, or by a grant that opens something."""
        return self.default != Access.NONE or any(access != Access.NONE for access in self.rules.values())

    @property
    def reads_everything(self) -> bool:
        """Say whether no path at all is closed."""
        return self.default != Access.NONE and Access.NONE not in self.rules.values()

    def filter_q(self, field: str = "source_path") -> Q:
        """Give the condition that keeps the rows whose `field` is a readable path. The field must not be null.

        Compares whole components exactly: LIKE ignores case on SQLite and knows no components.
        """
        return self._readable_q(field, "", is_readable=self.may_read(""))

    @cached_property
    def _ways(self) -> frozenset[str]:
        """Every folder on the way to a prefix that may be read."""
        readable = (prefix for prefix, access in self.rules.items() if access != Access.NONE)
        return frozenset(folder for prefix in readable for folder in ancestors(prefix))

    @cached_property
    def _turns(self) -> Mapping[str, list[str]]:
        """Prefixes that change what may be read, each under the nearest such prefix above it."""
        turns = {
            prefix for prefix in self.rules if prefix and self.may_read(prefix) != self.may_read(_folder_of(prefix))
        }
        below: defaultdict[str, list[str]] = defaultdict(list)
        for prefix in sorted(turns):
            below[next((folder for folder in _folders_above(prefix) if folder in turns), "")].append(prefix)
        return below

    def _readable_q(self, field: str, prefix: str, *, is_readable: bool) -> Q:
        """Readable paths below `prefix`, when `prefix` itself is readable or not."""
        inner = self._turns.get(prefix, [])
        plain = [each for each in inner if each not in self._turns]
        deep = [each for each in inner if each in self._turns]
        if not is_readable:
            parts = [self._readable_q(field, each, is_readable=True) for each in deep]
            return _any_of([*([_covered(field, plain)] if plain else []), *parts])
        whole = _covered(field, [prefix]) if prefix else _EVERYTHING
        if plain:
            whole &= ~_covered(field, plain)
        for each in deep:
            whole &= ~_covered(field, [each]) | self._readable_q(field, each, is_readable=False)
        return whole


def covered_by(prefix: str, field: str = "source_path") -> Q:
    """Give the condition that keeps the rows whose `field` is the path `prefix` or lies below it; what cannot be a path
    covers nothing. `""` is the root and covers everything."""
    try:
        return AccessMap(rules={"/".join(components(prefix)): Access.READ}).filter_q(field)
    except InvalidPath:
        return _NOTHING


def workspaces_for(principal: Principal) -> QuerySet[Workspace]:
    """Select the workspaces the principal can see, in name order."""
    member = Membership.objects.filter(_held_by(principal), workspace=OuterRef("pk"))
    granted = _effective_grants(principal).filter(root__workspace=OuterRef("pk"))
    visible = Exists(member) | Exists(granted)
    return Workspace.objects.filter(visible, archived_at__isnull=True).order_by("name", "pk")


def is_visible(principal: Principal, workspace: Workspace) -> bool:
    """Say whether the principal can see a workspace: one query for a member."""
    if _live_memberships(principal).filter(workspace=workspace.pk).exists():
        return True
    return _effective_grants(principal).filter(root__workspace=workspace.pk).exists()


def get_workspace(principal: Principal, workspace_id: str) -> Workspace:
    """Fetch a visible workspace.

    Raises:
        NotFound: absent, archived, or not visible.
    """
    workspace = workspaces_for(principal).filter(pk=workspace_id).first() if "\0" not in workspace_id else None
    if workspace is None:
        raise NotFound
    return workspace


def role_in(principal: Principal, workspace: Workspace) -> Role | None:
    """Give the strongest role held, own or by group; viewer for a grant alone; None where nothing is visible."""
    return roles_in(principal, [workspace]).get(workspace.pk)


def roles_in(principal: Principal, workspaces: Iterable[Workspace]) -> dict[str, Role]:
    """Give the same for many workspaces, by id, in two queries; those that are not visible are left out."""
    ids = [workspace.pk for workspace in workspaces]
    granted = _effective_grants(principal).filter(root__workspace__in=ids).values_list("root__workspace_id", flat=True)
    roles = dict.fromkeys(granted, Role.VIEWER)
    held = _live_memberships(principal).filter(workspace__in=ids).values_list("workspace_id", "role")
    for workspace_id, role in held:
        roles[workspace_id] = max(roles.get(workspace_id, Role.VIEWER), Role(role), key=ROLE_ORDER.index)
    return roles


def require_role(principal: Principal, workspace: Workspace, role: Role) -> None:
    """Pass when the principal holds `role` or a stronger one.

    Raises:
        NotFound: the workspace is not visible.
        Forbidden: it is, but the role is weaker.
    """
    held = role_in(principal, workspace)
    if held is None:
        raise NotFound
    if ROLE_ORDER.index(held) < ROLE_ORDER.index(role):
        raise Forbidden


def root_of(workspace: Workspace, root_uri_or_key: str | None) -> Root:
    """Find a root by its URI or its key; None is the first root.

    Raises:
        NotFound: the workspace has no such root.
    """
    roots = Root.objects.filter(workspace=workspace).order_by("pk")
    if root_uri_or_key is not None:
        roots = roots.filter(_root_named(root_uri_or_key))
    root = roots.select_related("workspace").first()
    if root is None:
        raise NotFound
    return root


def access_map(principal: Principal, root: Root) -> AccessMap:
    """Read what the principal may do below one root: two queries."""
    is_member = _live_memberships(principal).filter(workspace_id=root.workspace_id).exists()
    grants = _live_grants(principal).filter(root=root).values_list("prefix", "access")
    return _map_of(is_member=is_member, grants=((prefix, Access(access)) for prefix, access in grants))


def access_maps(principal: Principal, roots: Iterable[Root]) -> dict[int, AccessMap]:
    """Read the same for many roots, by the root's primary key: two queries, however many roots."""
    listed = list(roots)
    workspaces = {root.workspace_id for root in listed}
    members = set(_live_memberships(principal).filter(workspace__in=workspaces).values_list("workspace_id", flat=True))
    grants: defaultdict[int, list[tuple[str, Access]]] = defaultdict(list)
    found = _live_grants(principal).filter(root__in=listed).values_list("root_id", "prefix", "access")
    for root_id, prefix, access in found:
        grants[root_id].append((prefix, Access(access)))
    return {root.pk: _map_of(is_member=root.workspace_id in members, grants=grants[root.pk]) for root in listed}


def visible_roots(principal: Principal, workspaces: Iterable[Workspace]) -> dict[str, list[Root]]:
    """Give, by workspace id, the roots in which the principal sees anything: three queries, however many workspaces."""
    roots = list(Root.objects.filter(workspace__in=[workspace.pk for workspace in workspaces]).order_by("pk"))
    maps = access_maps(principal, roots)
    visible: defaultdict[str, list[Root]] = defaultdict(list)
    for root in roots:
        if maps[root.pk].sees_anything:
            visible[root.workspace_id].append(root)
    return dict(visible)


def _map_of(*, is_member: bool, grants: Iterable[tuple[str, Access]]) -> AccessMap:
    rules: dict[str, Access] = {}
    for prefix, access in grants:
        rules[prefix] = _combined(rules.get(prefix, access), access)
    return AccessMap(default=Access.READ if is_member else Access.NONE, rules=rules)


def _combined(one: Access, other: Access) -> Access:
    """Of two grants on one prefix, none wins; else the stronger."""
    if Access.NONE in {one, other}:
        return Access.NONE
    return Access.WRITE if Access.WRITE in {one, other} else Access.READ


def _held_by(principal: Principal) -> Q:
    """Rows held by the person or a group of theirs. Reads the account anew: it may be closed while a stream runs."""
    person = User.objects.filter(pk=principal.user.pk, is_active=True)
    return Q(user__in=person) | Q(group__in=Group.objects.filter(user__in=person))


def _is_live(workspace: str) -> Q:
    return Q(**{f"{workspace}__archived_at__isnull": True})


def _live_memberships(principal: Principal) -> QuerySet[Membership]:
    return Membership.objects.filter(_held_by(principal), _is_live("workspace"))


def _live_grants(principal: Principal) -> QuerySet[Grant]:
    return Grant.objects.filter(_held_by(principal), _is_live("root__workspace"))


def _effective_grants(principal: Principal) -> QuerySet[Grant]:
    """Grants that open something: not those taken back by a `none` on the same prefix."""
    closed = Grant.objects.filter(
        _held_by(principal), root=OuterRef("root"), prefix_key=OuterRef("prefix_key"), access=Access.NONE
    )
    return _live_grants(principal).exclude(access=Access.NONE).filter(~Exists(closed))


def _root_named(root_uri_or_key: str) -> Q:
    if "://" not in root_uri_or_key:
        return Q(key=root_uri_or_key) if "\0" not in root_uri_or_key else _NOTHING
    try:
        return Q(uri_key=text_key(path_to_uri(uri_to_path(root_uri_or_key))))
    except InvalidPath:
        return _NOTHING


def _folders_above(prefix: str) -> Iterator[str]:
    folders = ancestors(prefix)
    next(folders)
    return folders


def _folder_of(prefix: str) -> str:
    return next(_folders_above(prefix))


def _any_of(conditions: list[Q]) -> Q:
    found = _NOTHING
    for condition in conditions:
        found = condition if found is _NOTHING else found | condition
    return found


def _covered(field: str, prefixes: list[str]) -> Q:
    """Rows at or below one of the prefixes. One comparison per length, so that many grants stay a flat condition."""
    by_length: defaultdict[int, list[str]] = defaultdict(list)
    for prefix in prefixes:
        by_length[len(prefix) + 1].append(f"{prefix}/")
    heads = [In(Left(F(field), length), [Value(text) for text in texts]) for length, texts in by_length.items()]
    return _any_of([Q(**{f"{field}__in": prefixes}), *(Q(cast("Q", head)) for head in heads)])
