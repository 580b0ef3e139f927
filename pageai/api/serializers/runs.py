"""Bodies of the run journal."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers

from knowledge.api.fields import Text
from mnote.api.serializers import CamelSerializer
from pageai.agents import agent_named
from pageai.api.serializers.bootstrap import BootstrapQuerySerializer
from pageai.models import EndReason, EventKind, EventSource, RunStatus
from pageai.selectors.runs import MAX_EVENTS

_ID = r"^[A-Za-z0-9_.:-]{8,64}$"
_SEQ = r"^[0-9]{1,18}$"


class SeqField(serializers.RegexField):
    """A number of the sequence, as text of up to 18 digits."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(_SEQ, **kwargs)
        self.error_messages["invalid"] = _("Give a whole number of at most 18 digits.")


class RunRequestSerializer(BootstrapQuerySerializer):
    """A run to be. The same `requestId` on the same page is the same run."""

    request_id = serializers.RegexField(_ID)
    session_id = Text(max_length=128, required=False)
    agent_id = Text(max_length=60, required=False)

    def validate_agent_id(self, value: str) -> str:
        if agent_named(value) is None:
            raise serializers.ValidationError(_("There is no agent of this name."), code="unknown")
        return value


class RunListQuerySerializer(CamelSerializer):
    binding_id = Text(max_length=40, required=False)
    workspace_id = Text(max_length=40, required=False)
    document_id = Text(max_length=60_000, required=False)
    session_id = Text(max_length=128, required=False)
    status = serializers.ChoiceField(RunStatus.choices, required=False)


class EventsQuerySerializer(CamelSerializer):
    after_seq = SeqField(required=False)
    limit = serializers.IntegerField(min_value=1, max_value=MAX_EVENTS, required=False)


class ActiveRunQuerySerializer(CamelSerializer):
    workspace_id = Text(max_length=40, required=False)
    document_id = Text(max_length=60_000, required=False)


class RunSerializer(CamelSerializer):
    """One run of an agent. `interrupted`: it waits for its person, or nobody hears its agent at the moment."""

    schema = serializers.CharField()
    host_run_id = serializers.CharField()
    request_id = serializers.CharField()
    agent_id = serializers.CharField()
    provider = serializers.CharField()
    provider_run_id = serializers.CharField(allow_null=True)
    session_id = serializers.CharField(allow_null=True)
    actor_id = serializers.CharField()
    workspace_id = serializers.CharField()
    document_id = serializers.CharField()
    status = serializers.ChoiceField(RunStatus.choices)
    end_reason = serializers.ChoiceField(EndReason.choices, allow_null=True)
    target_snapshot_hash = serializers.CharField(allow_null=True)
    capability_snapshot_hash = serializers.CharField(allow_null=True)
    parent_run_id = serializers.CharField(allow_null=True)
    resume_request_id = serializers.CharField(allow_null=True)
    last_seq = serializers.CharField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)


class EvidenceSerializer(CamelSerializer):
    evidence_id = serializers.CharField(allow_blank=True)
    source_title = serializers.CharField()
    locator = serializers.DictField()
    tool_call_id = serializers.CharField()


class ReceiptSerializer(CamelSerializer):
    schema = serializers.CharField()
    host_run_id = serializers.CharField()
    evidence = EvidenceSerializer(many=True)


class RunDetailSerializer(RunSerializer):
    """A run with what its statements rest on."""

    receipt = ReceiptSerializer()


class RunEventSerializer(CamelSerializer):
    """One thing that happened in a run. A payload that was too large says `cut`: true, and `bytes`."""

    schema = serializers.CharField()
    host_run_id = serializers.CharField()
    seq = serializers.CharField()
    kind = serializers.ChoiceField(EventKind.choices)
    source = serializers.ChoiceField(EventSource.choices)  # type: ignore[assignment] # taken out by the metaclass
    payload = serializers.DictField()
    created_at = serializers.DateTimeField()


class RunEventsSerializer(CamelSerializer):
    """Events in their order. `isOver`: the run ended, and nothing follows."""

    schema = serializers.CharField()
    host_run_id = serializers.CharField()
    status = serializers.ChoiceField(RunStatus.choices)
    events = RunEventSerializer(many=True)
    last_seq = serializers.CharField()
    is_over = serializers.BooleanField()


class ActiveRunSerializer(CamelSerializer):
    schema = serializers.CharField()
    session_id = serializers.CharField()
    run = RunSerializer(allow_null=True)
