"""The workspaces a caller can see."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from mnote.api.pagination import KeysetPagination
from mnote.api.permissions import IsPerson, principal_of
from mnote.api.serializers import CamelSerializer
from mnote.models import Role, Workspace
from mnote.selectors import access


class RootSerializer(CamelSerializer):
    root_uri = serializers.CharField()
    key = serializers.CharField()
    name = serializers.CharField()


class WorkspaceSerializer(CamelSerializer):
    """`role` is the caller's own; `roots` are those in which the caller sees anything."""

    workspace_id = serializers.CharField()
    name = serializers.CharField()
    role = serializers.ChoiceField(Role.choices)
    roots = RootSerializer(many=True)


class WorkspacesView(GenericAPIView[Workspace]):
    permission_classes = [IsPerson]
    serializer_class = WorkspaceSerializer
    pagination_class = KeysetPagination
    ordering = ("name", "id")

    @extend_schema(operation_id="list_workspaces", responses=WorkspaceSerializer(many=True))
    def get(self, request: Request) -> Response:
        """List the workspaces that the caller sees, with their roots."""
        principal = principal_of(request)
        page: list[Workspace] = self.paginate_queryset(access.workspaces_for(principal)) or []
        roles, roots = access.roles_in(principal, page), access.visible_roots(principal, page)
        rows = [
            {"workspace_id": each.pk, "name": each.name, "role": roles[each.pk], "roots": roots.get(each.pk, [])}
            for each in page
            if each.pk in roles
        ]
        return self.get_paginated_response(WorkspaceSerializer(rows, many=True).data)
