"""Jobs over the API: list, look, cancel, try again."""

from __future__ import annotations

import re
from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from mnote.api.pagination import KeysetPagination
from mnote.api.permissions import HasScope
from mnote.api.serializers import CamelSerializer
from mnote.models import Job, Role, TokenScope
from mnote.names import camel_case
from mnote.principals import Principal
from mnote.selectors import access
from mnote.selectors import jobs as job_rows
from mnote.services import audit, jobs
from mnote.services.jobs import JobState

_READ, _WRITE = HasScope(TokenScope.KNOWLEDGE_READ), HasScope(TokenScope.KNOWLEDGE_WRITE)

#: Words of results and progress that name no file: the rest may, and not every reader of the job may see every file.
_CODES = frozenset({"stage", "outcome", "reason", "code", "runId", "failedStage", "rebuildReason"})
_RUNTIME = frozenset({"provider", "combo", "modelRoute", "purpose", "retryCount"})
_CODE = re.compile(r"[A-Za-z0-9_.:-]{1,80}")


class JobErrorSerializer(CamelSerializer):
    code = serializers.CharField()
    detail = serializers.CharField(required=False, help_text="Only for the person who asked, and administrators.")


class JobSerializer(CamelSerializer):
    id = serializers.CharField()
    kind = serializers.CharField()
    state = serializers.SerializerMethodField()
    workspace_id = serializers.CharField(allow_null=True)
    knowledge_base_id = serializers.CharField(source="kb_id")
    attempt = serializers.IntegerField()
    max_attempts = serializers.IntegerField()
    is_cancelling = serializers.SerializerMethodField()
    progress = serializers.SerializerMethodField()
    result = serializers.SerializerMethodField()
    error = serializers.SerializerMethodField()
    requested_by = serializers.SerializerMethodField()
    run_at = serializers.DateTimeField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)

    @extend_schema_field(serializers.ChoiceField(choices=[state.value for state in JobState]))
    def get_state(self, job: Job) -> str:
        return jobs.public_state(job).value

    def get_is_cancelling(self, job: Job) -> bool:
        return job.cancel_requested_at is not None and job.finished_at is None

    def get_progress(self, job: Job) -> dict[str, Any]:
        return public_facts(job.progress)

    def get_result(self, job: Job) -> dict[str, Any]:
        return public_facts(job.result)

    @extend_schema_field(JobErrorSerializer(allow_null=True))
    def get_error(self, job: Job) -> dict[str, str] | None:
        if not job.error_code:
            return None
        principal: Principal = self.context["request"].principal
        may_read = principal.is_administrator or job.requested_by_id == principal.user.pk
        detail = {"detail": job.error_detail} if may_read and job.error_detail else {}
        return {"code": job.error_code, **detail}

    def get_requested_by(self, job: Job) -> str | None:
        return job.requested_by.shown_name if job.requested_by else None


def public_facts(facts: dict[str, Any]) -> dict[str, Any]:
    """Keep of a progress or result what every reader of the job may see: numbers, ids of artifacts, known codes."""
    named = {camel_case(name): value for name, value in facts.items()}
    return {name: _public_value(name, value) for name, value in named.items() if _is_public(name, value)}


def _is_public(name: str, value: Any) -> bool:
    if name == "artifactIds":
        return isinstance(value, list)
    if name == "runtime":
        return isinstance(value, dict)
    return isinstance(value, int | float) or (name in _CODES and _is_code(value))


def _public_value(name: str, value: Any) -> Any:
    if name == "artifactIds":
        return [each for each in value if _is_code(each)]
    if name == "runtime":
        return {key: each for key, each in value.items() if key in _RUNTIME and isinstance(each, str | int | None)}
    return value


def _is_code(value: Any) -> bool:
    return isinstance(value, str) and _CODE.fullmatch(value) is not None


class JobFilterSerializer(CamelSerializer):
    """The list's query."""

    workspace_id = serializers.CharField(required=False)
    knowledge_base_id = serializers.CharField(required=False, source="kb_id")
    kind = serializers.CharField(required=False)
    state = serializers.ChoiceField(choices=[state.value for state in JobState], required=False)


class JobListView(ListAPIView[Job]):
    """Jobs of every workspace the caller sees, newest first."""

    permission_classes = [_READ]
    serializer_class = JobSerializer
    pagination_class = KeysetPagination
    ordering = ("-created_at", "-id")

    @extend_schema(operation_id="list_jobs", parameters=[JobFilterSerializer])
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return super().get(request, *args, **kwargs)

    def get_queryset(self) -> QuerySet[Job]:
        wanted = JobFilterSerializer(data=self.request.query_params.dict())
        wanted.is_valid(raise_exception=True)
        return _narrowed(self.request.principal, wanted.validated_data)  # type: ignore[attr-defined]


def _narrowed(principal: Principal, wanted: dict[str, str]) -> QuerySet[Job]:
    rows = job_rows.visible_jobs(principal)
    if "workspace_id" in wanted:
        rows = rows.filter(workspace=access.get_workspace(principal, wanted["workspace_id"]))
    if "kb_id" in wanted:
        rows = rows.filter(kb_id=wanted["kb_id"])
    if "kind" in wanted:
        rows = rows.filter(kind=wanted["kind"])
    return rows.filter(job_rows.in_state(wanted["state"])) if "state" in wanted else rows


class JobView(APIView):
    """One job."""

    permission_classes = [_READ]

    @extend_schema(operation_id="get_job", responses=JobSerializer)
    def get(self, request: Request, job_id: str) -> Response:
        return _answer(request, job_rows.get_job(request.principal, job_id))  # type: ignore[attr-defined]


class CancelJobView(APIView):
    """Cancel a waiting job, or ask a running one to stop. A job that has ended stays as it is."""

    permission_classes = [_WRITE]

    @extend_schema(operation_id="cancel_job", request=None, responses=JobSerializer)
    def post(self, request: Request, job_id: str) -> Response:
        job = _job_to_change(request.principal, job_id)  # type: ignore[attr-defined]
        job = jobs.cancel(job=job)
        _record(request, "job.cancel", job)
        return _answer(request, job)


class RetryJobView(APIView):
    """Run a failed or cancelled job again, or a waiting one now. Answers with the job that will run."""

    permission_classes = [_WRITE]

    @extend_schema(operation_id="retry_job", request=None, responses=JobSerializer)
    def post(self, request: Request, job_id: str) -> Response:
        job = jobs.retry(job=_job_to_change(request.principal, job_id))  # type: ignore[attr-defined]
        _record(request, "job.retry", job)
        return _answer(request, job)


def _job_to_change(principal: Principal, job_id: str) -> Job:
    """Fetch a job that the caller may act on: a curator of its workspace, or without one whoever sees it."""
    job = job_rows.get_job(principal, job_id)
    if job.workspace is not None:
        access.require_role(principal, job.workspace, Role.CURATOR)
    return job


def _record(request: Request, action: str, job: Job) -> None:
    facts = {"kind": job.kind}
    principal: Principal = request.principal  # type: ignore[attr-defined]
    audit.record(
        principal=principal, action=action, workspace=job.workspace, kb_id=job.kb_id, target=job.pk, facts=facts
    )


def _answer(request: Request, job: Job) -> Response:
    return Response(JobSerializer(job, context={"request": request}).data)
