from __future__ import annotations

from django.contrib.auth.models import Group
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from mnote import ids
from mnote.models.users import User


class Role(models.TextChoices):
    """What a member may do. Each role includes the ones before it."""

    VIEWER = "viewer", _("viewer")
    CURATOR = "curator", _("curator")
    MANAGER = "manager", _("manager")
    OWNER = "owner", _("owner")


#: Roles from weak to strong, for comparisons.
ROLE_ORDER = [Role.VIEWER, Role.CURATOR, Role.MANAGER, Role.OWNER]


class Workspace(models.Model):
    """A named set of local-folder roots with its members. The id is public and never changes."""

    id = models.CharField(primary_key=True, max_length=40, default=ids.workspace_id, editable=False)
    name = models.CharField(max_length=120)
    allow_web_import = models.BooleanField(default=False)
    quota_mb = models.PositiveIntegerField(null=True, blank=True)
    settings_json = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    archived_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "mnote_workspaces"

    def __str__(self) -> str:
        return self.name


class Root(models.Model):
    """One local folder of a workspace. `path` is absolute, in the escaped text form of `mnote.files.names`.

    `key` names the root in URLs; `root_uri` (a file:// URI) names it in the API. `device` and `inode` recognise the
    folder again: another folder mounted at the same path is not this root.
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="roots")
    key = models.SlugField(max_length=60)
    name = models.CharField(max_length=120)
    path = models.CharField(max_length=16384)
    root_uri = models.CharField(max_length=16384)
    uri_key = models.CharField(max_length=40, editable=False)
    device = models.BigIntegerField(null=True, blank=True)
    inode = models.BigIntegerField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "mnote_roots"
        constraints = [
            models.UniqueConstraint(fields=["workspace", "key"], name="root_key_once"),
            models.UniqueConstraint(fields=["workspace", "uri_key"], name="root_uri_once"),
        ]

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """A person's or a group's role in a workspace. It gives read on all roots; grants narrow or widen that."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.CASCADE, null=True, blank=True, related_name="memberships")
    group = models.ForeignKey(Group, on_delete=models.CASCADE, null=True, blank=True, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role.choices, default=Role.VIEWER)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "mnote_memberships"
        constraints = [
            models.CheckConstraint(
                condition=Q(user__isnull=False, group__isnull=True) | Q(user__isnull=True, group__isnull=False),
                name="membership_user_or_group",
            ),
            models.UniqueConstraint(fields=["workspace", "user"], name="membership_user_once"),
            models.UniqueConstraint(fields=["workspace", "group"], name="membership_group_once"),
        ]

    def __str__(self) -> str:
        return self.role


class Access(models.TextChoices):
    NONE = "none", _("none")
    READ = "read", _("read")
    WRITE = "write", _("write")


class Grant(models.Model):
    """What a person or group may do below a path of a root. The most specific prefix wins; `none` beats the others
    at equal depth. `prefix` is root-relative text, "" for the whole root; `prefix_key` is `ids.text_key(prefix)`."""

    root = models.ForeignKey(Root, on_delete=models.CASCADE, related_name="grants")
    user = models.ForeignKey(User, on_delete=models.CASCADE, null=True, blank=True, related_name="grants")
    group = models.ForeignKey(Group, on_delete=models.CASCADE, null=True, blank=True, related_name="grants")
    prefix = models.CharField(max_length=16384, blank=True)
    prefix_key = models.CharField(max_length=40, editable=False)
    access = models.CharField(max_length=5, choices=Access.choices)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "mnote_grants"
        constraints = [
            models.CheckConstraint(
                condition=Q(user__isnull=False, group__isnull=True) | Q(user__isnull=True, group__isnull=False),
                name="grant_user_or_group",
            ),
            models.UniqueConstraint(fields=["root", "user", "prefix_key"], name="grant_user_once"),
            models.UniqueConstraint(fields=["root", "group", "prefix_key"], name="grant_group_once"),
        ]

    def __str__(self) -> str:
        return f"{self.access} {self.prefix or '/'}"
