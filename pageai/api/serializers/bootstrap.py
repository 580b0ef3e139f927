"""Bodies of the Page AI API."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers

from knowledge.api.fields import PathText, Text
from knowledge.api.scope import ScopeSerializer
from mnote.api.serializers import CamelSerializer
from pageai.services.bootstrap import MAX_SELECTION


class BootstrapQuerySerializer(ScopeSerializer):
    """The page, by its path or by the host's id of it."""

    page_resource_id = Text(max_length=60_000, required=False)
    page_path = PathText(required=False, allow_blank=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not (attrs.get("page_resource_id") or attrs.get("page_path")):
            raise serializers.ValidationError({"pagePath": [_("This field is required.")]}, code="required")
        return attrs


class BootstrapRequestSerializer(BootstrapQuerySerializer):
    page_title = Text(max_length=500, required=False, allow_blank=True)
    selection = Text(max_length=MAX_SELECTION, required=False, allow_blank=True, trim_whitespace=False)
    agent_id = Text(max_length=60, required=False)


#: The health answer: layers by their keys, which are names and not written in camel case.
HEALTH: dict[str, Any] = {
    "type": "object",
    "description": "By layer: openhub_fastapi, openhub_redis, opencode, weknora, local, session_binding, "
    "mnote_bridge, mcp_facade.",
    "additionalProperties": {
        "type": "object",
        "required": ["configured", "reachable", "ok", "milliseconds", "version", "sentence"],
        "properties": {
            "configured": {"type": "boolean"},
            "reachable": {"type": "boolean"},
            "ok": {"type": "boolean", "description": "Reachable, and nothing about it is wrong."},
            "milliseconds": {"type": "integer"},
            "version": {"type": ["string", "null"]},
            "sentence": {"type": "string"},
        },
    },
}


class BindingSerializer(CamelSerializer):
    binding_id = serializers.CharField()
    status = serializers.CharField()
    is_resumed = serializers.BooleanField()
    openhub_session_id = serializers.CharField(allow_null=True)
    opencode_session_id = serializers.CharField(allow_null=True)
    agent_id = serializers.CharField(allow_null=True)


class BootstrapSerializer(CamelSerializer):
    """Everything that the panel's host needs. The scopes are opaque; `weknoraToolScope` and `context` are objects."""

    schema = serializers.CharField()
    mnote_user_id = serializers.CharField()
    workspace_id = serializers.CharField()
    root_uri = serializers.CharField()
    openhub_user_key = serializers.CharField()
    openhub_workspace_key = serializers.CharField()
    openhub_session_scope = serializers.CharField()
    opencode_session_scope = serializers.CharField()
    runtime_identity = serializers.CharField()
    skill_scope = serializers.CharField()
    tool_permission_scope = serializers.CharField()
    weknora_tool_scope = serializers.DictField()
    panel_url = serializers.CharField(allow_null=True)
    binding = BindingSerializer()
    context = serializers.DictField()  # type: ignore[assignment] # taken out by the metaclass
    health = serializers.DictField()


class OptionSerializer(CamelSerializer):
    value = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]


class FieldSerializer(CamelSerializer):
    """One setting; `key` is its preference key. The value of a secret is never given."""

    key = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]
    kind = serializers.CharField()
    default = serializers.JSONField(allow_null=True)
    value = serializers.JSONField(allow_null=True)
    options = OptionSerializer(many=True)
    options_source = serializers.CharField(allow_null=True)
    auth = serializers.CharField()
    secret = serializers.BooleanField()


class CapabilityStateSerializer(CamelSerializer):
    capability = serializers.CharField()
    state = serializers.CharField()
    reason = serializers.CharField(allow_blank=True)
    sentence = serializers.CharField(allow_blank=True)


class DescriptorToolSerializer(CamelSerializer):
    name = serializers.CharField()
    capability_ids = serializers.ListField(child=serializers.CharField())
    enabled = serializers.BooleanField()


class DescriptorSerializer(CamelSerializer):
    schema = serializers.CharField()
    agent_id = serializers.CharField()
    display_name = serializers.CharField()
    provider = serializers.CharField()
    capabilities = serializers.ListField(child=serializers.CharField())
    disabled_capabilities = serializers.ListField(child=serializers.CharField())
    capability_states = CapabilityStateSerializer(many=True)
    default_context_refs = serializers.ListField(child=serializers.CharField())
    setting_scopes = serializers.ListField(child=serializers.CharField())
    fields = FieldSerializer(many=True)  # type: ignore[assignment] # taken out by the metaclass
    tools = DescriptorToolSerializer(many=True)
    can_write_files = serializers.BooleanField()
    acp_runtime = serializers.CharField(allow_null=True)


class DescriptorsSerializer(CamelSerializer):
    schema = serializers.CharField()
    default_agent = serializers.CharField()
    common_fields = FieldSerializer(many=True)
    agents = DescriptorSerializer(many=True)
