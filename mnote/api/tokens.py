"""A person's own API tokens. Only a signed-in person may manage them: a token must not make a stronger one."""

from __future__ import annotations

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from mnote.api.pagination import KeysetPagination
from mnote.api.permissions import IsSession, principal_of
from mnote.api.serializers import CamelSerializer
from mnote.exceptions import NotFound
from mnote.models import ApiToken, TokenScope
from mnote.services import tokens


class TokenInputSerializer(CamelSerializer):
    name = serializers.CharField(max_length=120)
    scopes = serializers.ListField(child=serializers.ChoiceField(TokenScope.choices), allow_empty=False, max_length=10)
    kb_ids = serializers.ListField(child=serializers.CharField(max_length=40), max_length=100, default=list)
    expires_at = serializers.DateTimeField(allow_null=True, default=None)


class TokenSerializer(CamelSerializer):
    """`prefix` is the beginning of the secret, to recognise it by."""

    token_id = serializers.IntegerField(source="pk")
    name = serializers.CharField()
    prefix = serializers.CharField()
    scopes = serializers.ListField(child=serializers.ChoiceField(TokenScope.choices))
    kb_ids = serializers.ListField(child=serializers.CharField())
    is_live = serializers.SerializerMethodField()
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)
    revoked_at = serializers.DateTimeField(allow_null=True)
    last_used_at = serializers.DateTimeField(allow_null=True)

    def get_is_live(self, token: ApiToken) -> bool:
        return tokens.is_live(token)


class NewTokenSerializer(TokenSerializer):
    """The only answer that holds the secret."""

    secret = serializers.CharField()


class TokensView(GenericAPIView[ApiToken]):
    permission_classes = [IsSession]
    serializer_class = TokenSerializer
    pagination_class = KeysetPagination
    ordering = ("-created_at", "-id")

    @extend_schema(operation_id="list_tokens", responses=TokenSerializer(many=True))
    def get(self, request: Request) -> Response:
        """List the tokens of the person who is signed in; secrets are never shown again."""
        page = self.paginate_queryset(_tokens_of(request))
        return self.get_paginated_response(TokenSerializer(page, many=True).data)

    @extend_schema(operation_id="create_token", request=TokenInputSerializer, responses={201: NewTokenSerializer})
    def post(self, request: Request) -> Response:
        """Make a token; its secret is in this answer and nowhere else."""
        given = TokenInputSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        token, secret = tokens.create_token(user=principal_of(request).user, **given.validated_data)
        body = {**TokenSerializer(token).data, "secret": secret}
        return Response(body, status=201, headers={"Cache-Control": "no-store"})


class TokenView(GenericAPIView[ApiToken]):
    permission_classes = [IsSession]
    serializer_class = TokenSerializer

    @extend_schema(operation_id="revoke_token", responses={204: None})
    def delete(self, request: Request, token_id: int) -> Response:
        """End a token from the next request on."""
        token = _tokens_of(request).filter(pk=token_id).first()
        if token is None:
            raise NotFound
        tokens.revoke_token(token=token, by=principal_of(request))
        return Response(status=204)


def _tokens_of(request: Request) -> QuerySet[ApiToken]:
    return ApiToken.objects.filter(user=principal_of(request).user).select_related("user")
