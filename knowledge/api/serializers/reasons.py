"""Reasons over the API, in the caller's language."""

from __future__ import annotations

from rest_framework import serializers

from knowledge.reasons import reason_for
from mnote.api.serializers import CamelSerializer


class ReasonSerializer(CamelSerializer):
    """Why something is as it is, and what to do. `detail` is for administrators."""

    code = serializers.CharField()
    reason_class = serializers.CharField()
    sentence = serializers.CharField()
    next_step = serializers.CharField()
    detail = serializers.CharField(required=False)


def reason_json(code: str, *, detail: str = "") -> dict[str, str]:
    """Return a reason as ReasonSerializer describes it."""
    reason = reason_for(code)
    body = {
        "code": code,
        "reasonClass": str(reason.reason_class),
        "sentence": str(reason.sentence),
        "nextStep": str(reason.next_step),
    }
    return body | {"detail": detail} if detail else body
