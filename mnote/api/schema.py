"""The published OpenAPI document: who may call, and what an error looks like, for every operation."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema

from mnote.api.serializers import ProblemSerializer
from mnote.problems import MEDIA_TYPE


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "mnote.api.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:  # noqa: ARG002
        return {"type": "http", "scheme": "bearer", "description": str(_("An API token: mnt_…"))}


class CookieScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "mnote.api.authentication.CookieAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:  # noqa: ARG002
        return {"type": "apiKey", "in": "cookie", "name": "mnote_session"}


class ProblemSchema(AutoSchema):
    """Adds the problem document as the answer to whatever goes wrong."""

    def get_operation(self, *args: Any, **kwargs: Any) -> Any:
        operation = super().get_operation(*args, **kwargs)
        if operation is not None:
            problem = self.resolve_serializer(ProblemSerializer(), "response")
            content = {MEDIA_TYPE: {"schema": problem.ref}}
            operation["responses"].setdefault("default", {"description": str(_("A problem")), "content": content})
        return operation
