from __future__ import annotations

import os
from functools import partial
from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from mnote.admin.base import (
    ModelForm,
    ReadOnlyAdmin,
    RowsAdmin,
    TabularInline,
    act_on_each,
    attempt,
    principal_of,
    sentence_of,
)
from mnote.admin.holders import GrantForm, MemberForm, MembershipForm
from mnote.exceptions import AppError
from mnote.models import Grant, Membership, Root, User, Workspace
from mnote.services import grants, workspaces


class WorkspaceForm(ModelForm):
    """`owner` is asked for once, when the workspace is made."""

    owner = forms.ModelChoiceField(User.objects.filter(is_active=True), label=_("Owner"))

    class Meta:
        model = Workspace
        fields = ("name", "allow_web_import", "quota_mb")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.instance._state.adding:  # noqa: SLF001 Django's public API
            del self.fields["owner"]


class RootForm(ModelForm):
    """A folder of the server. Which folder it is never changes afterwards: everything below it hangs on that."""

    class Meta:
        model = Root
        fields = ("path", "name")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["path"].widget = forms.TextInput(attrs={"size": 60})
        self.fields["path"].help_text = _("Absolute path of a folder on the server.")
        if self.instance.pk:
            self.fields["path"].disabled = True
        else:
            self.fields["name"].required = False

    def clean_path(self) -> str:
        path: str = self.cleaned_data["path"]
        if self.instance.pk:
            return path
        try:
            workspaces.check_folder(os.fsencode(path), Root.objects.filter(workspace=self.instance.workspace_id))
        except AppError as error:
            raise ValidationError(sentence_of(error)) from error
        return path


class RootInline(TabularInline):
    model = Root
    form = RootForm
    extra = 0
    readonly_fields = ("key", "created_at")


class MembershipInline(TabularInline):
    model = Membership
    form = MemberForm
    extra = 0
    autocomplete_fields = ("user", "group")


@admin.register(Workspace)
class WorkspaceAdmin(RowsAdmin):
    """Workspaces are archived, not deleted."""

    form = WorkspaceForm
    list_display = ("name", "id", "root_count", "member_count", "allow_web_import", "created_at", "archived_at")
    list_filter = (("archived_at", admin.EmptyFieldListFilter), "allow_web_import")
    search_fields = ("name", "=id", "roots__name", "roots__path")
    date_hierarchy = "created_at"
    ordering = ("name", "id")
    readonly_fields = ("id", "created_at", "updated_at", "archived_at")
    inlines = (RootInline, MembershipInline)
    actions = ("archive", "restore")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Workspace]:
        counts = {"roots_found": Count("roots", distinct=True), "members": Count("memberships", distinct=True)}
        found: QuerySet[Workspace] = super().get_queryset(request)
        return found.annotate(**counts)

    def get_fields(self, request: HttpRequest, obj: Workspace | None = None) -> tuple[str, ...]:  # noqa: ARG002
        editable = ("name", "allow_web_import", "quota_mb")
        return (*editable, *self.readonly_fields) if obj else ("owner", *editable)

    def get_inlines(self, request: HttpRequest, obj: Workspace | None) -> Any:  # noqa: ARG002
        return self.inlines if obj else ()

    def has_delete_permission(self, request: HttpRequest, obj: Workspace | None = None) -> bool:  # noqa: ARG002
        return False

    @admin.display(description=_("Folders"), ordering="roots_found")
    def root_count(self, workspace: Workspace) -> int:
        return workspace.roots_found  # type: ignore[attr-defined, no-any-return]

    @admin.display(description=_("Members"), ordering="members")
    def member_count(self, workspace: Workspace) -> int:
        return workspace.members  # type: ignore[attr-defined, no-any-return]

    def save_model(self, request: HttpRequest, obj: Workspace, form: Any, change: bool) -> None:  # noqa: FBT001
        given, by = form.cleaned_data, principal_of(request)
        if not change:
            made = workspaces.create_workspace(name=given["name"], owner=given["owner"], by=by)
            obj.pk, obj._state.adding = made.pk, False  # noqa: SLF001 the admin goes on with its own object
        limits = {name: given[name] for name in ("name", "allow_web_import", "quota_mb")}
        workspaces.update_workspace(workspace=obj, **limits, by=by)

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:  # noqa: ARG002, FBT001
        """Hand each changed row of the inlines to its service; what was refused is said and the rest done."""
        formset.save(commit=False)
        by = principal_of(request)
        for row in formset.deleted_objects:
            attempt(self, request, partial(_remove, row, by=by))
        changed = [each for each in formset.forms if each.has_changed() and each not in formset.deleted_forms]
        for each in changed:
            attempt(self, request, partial(_save, each, workspace=form.instance, by=by))

    @admin.action(description=_("Archive the selected workspaces: hide them from everybody"), permissions=["change"])
    def archive(self, request: HttpRequest, queryset: QuerySet[Workspace]) -> None:
        by = principal_of(request)
        act_on_each(self, request, queryset, lambda one: workspaces.archive_workspace(workspace=one, by=by))

    @admin.action(description=_("Show the selected workspaces again"), permissions=["change"])
    def restore(self, request: HttpRequest, queryset: QuerySet[Workspace]) -> None:
        by = principal_of(request)
        act_on_each(self, request, queryset, lambda one: workspaces.restore_workspace(workspace=one, by=by))


def _save(form: Any, *, workspace: Workspace, by: Any) -> None:
    given = form.cleaned_data
    if isinstance(form, MembershipForm):
        workspaces.add_member(workspace=workspace, holder=form.holder, role=given["role"], by=by)
    elif form.instance.pk:
        workspaces.rename_root(root=form.instance, name=given["name"], by=by)
    else:
        workspaces.add_root(workspace=workspace, path=os.fsencode(given["path"]), name=given["name"], by=by)


def _remove(row: Root | Membership, *, by: Any) -> None:
    if isinstance(row, Root):
        workspaces.remove_root(root=row, by=by)
    else:
        workspaces.remove_member(membership=row, by=by)


@admin.register(Root)
class RootAdmin(ReadOnlyAdmin):
    """Folders; they are added and renamed on the page of their workspace."""

    list_display = ("name", "key", "workspace", "path", "created_at")
    list_select_related = ("workspace",)
    search_fields = ("name", "key", "path", "workspace__name")
    date_hierarchy = "created_at"


@admin.register(Membership)
class MembershipAdmin(RowsAdmin):
    form = MembershipForm
    list_display = ("workspace", "user", "group", "role", "created_at")
    list_filter = ("role",)
    list_select_related = ("workspace", "user", "group")
    search_fields = ("workspace__name", "=workspace__id", "user__username", "group__name")
    date_hierarchy = "created_at"
    autocomplete_fields = ("workspace", "user", "group")

    def save_model(self, request: HttpRequest, obj: Membership, form: Any, change: bool) -> None:  # noqa: ARG002, FBT001
        member = {"workspace": form.cleaned_data["workspace"], "holder": form.holder, "role": form.cleaned_data["role"]}
        saved: list[Membership] = []
        if attempt(self, request, lambda: saved.append(workspaces.add_member(**member, by=principal_of(request)))):
            obj.pk = saved[0].pk

    def delete_model(self, request: HttpRequest, obj: Membership) -> None:
        attempt(self, request, lambda: workspaces.remove_member(membership=obj, by=principal_of(request)))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Membership]) -> None:
        for each in queryset:
            self.delete_model(request, each)


@admin.register(Grant)
class GrantAdmin(RowsAdmin):
    form = GrantForm
    list_display = ("root", "prefix", "user", "group", "access", "created_at")
    list_filter = ("access",)
    list_select_related = ("root", "user", "group")
    search_fields = ("prefix", "root__name", "root__workspace__name", "user__username", "group__name")
    date_hierarchy = "created_at"
    autocomplete_fields = ("root", "user", "group")

    def save_model(self, request: HttpRequest, obj: Grant, form: Any, change: bool) -> None:  # noqa: ARG002, FBT001
        given = form.cleaned_data
        grant = grants.set_grant(
            root=given["root"],
            holder=form.holder,
            prefix=given["prefix"],
            access=given["access"],
            by=principal_of(request),
        )
        obj.pk = grant.pk

    def delete_model(self, request: HttpRequest, obj: Grant) -> None:
        grants.remove_grant(grant=obj, by=principal_of(request))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Grant]) -> None:
        for each in queryset:
            self.delete_model(request, each)
