"""A person's settings, by dotted key: `ai.common.defaultAgent`, `kb.list.view`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from mnote.api.permissions import IsPerson, principal_of
from mnote.api.serializers import CamelSerializer
from mnote.services import users


class PreferencesSerializer(CamelSerializer):
    values = serializers.DictField(child=serializers.JSONField(allow_null=True))


class PreferencesView(APIView):
    permission_classes = [IsPerson]

    @extend_schema(operation_id="get_preferences", responses=PreferencesSerializer)
    def get(self, request: Request) -> Response:
        """Return the settings that the person keeps."""
        return _answer(request)

    @extend_schema(operation_id="set_preferences", request=PreferencesSerializer, responses=PreferencesSerializer)
    def put(self, request: Request) -> Response:
        """Set the given keys; null removes one, the others stay."""
        given = PreferencesSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        users.set_preferences(user=principal_of(request).user, values=given.validated_data["values"])
        return _answer(request)


def _answer(request: Request) -> Response:
    return Response({"values": users.preferences_of(principal_of(request).user)})
