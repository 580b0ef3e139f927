"""Sync runs of a knowledge base."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from knowledge.api.base import WritingView
from knowledge.api.lookups import kb_named, rights_in, sync_run_named
from knowledge.api.serializers.sync_runs import SyncRunSerializer
from knowledge.api.views.knowledge_bases import job_url
from knowledge.models import KnowledgeBase, SyncRun
from knowledge.services import sync_runs
from mnote.api.pagination import KeysetPagination
from mnote.api.permissions import principal_of
from mnote.models import ROLE_ORDER, Role
from mnote.principals import Principal
from mnote.selectors import access


class SyncRunsView(WritingView, GenericAPIView[SyncRun]):
    serializer_class = SyncRunSerializer
    pagination_class = KeysetPagination
    ordering = ("-started_at", "-id")

    @extend_schema(operation_id="list_sync_runs", responses=SyncRunSerializer(many=True))
    def get(self, request: Request, kb_id: str) -> Response:
        """List the runs of the source sets whose folders the caller may enter, newest first."""
        principal = principal_of(request)
        kb = kb_named(principal, kb_id)
        rights = rights_in(principal, kb)
        visible = [each.pk for each in kb.sources.all() if rights[each.root_id].may_enter(each.path)]
        rows = kb.sync_runs.filter(source__in=visible).select_related("source", "kb")
        page = self.paginate_queryset(rows) or []
        context = {"rights": rights, "may_curate": _may_curate(principal, kb)}
        return self.get_paginated_response(SyncRunSerializer(page, many=True, context=context).data)


class SyncRunView(WritingView):
    @extend_schema(operation_id="get_sync_run", responses=SyncRunSerializer)
    def get(self, request: Request, run_id: str) -> Response:
        """Look at a run."""
        principal = principal_of(request)
        return Response(_shown(principal, sync_run_named(principal, run_id)))


class ConfirmSyncRunView(WritingView):
    @extend_schema(operation_id="confirm_sync_run", request=None, responses={202: SyncRunSerializer})
    def post(self, request: Request, run_id: str) -> Response:
        """Agree to the removals that a run held back; needs curator."""
        principal = principal_of(request)
        run = sync_run_named(principal, run_id)
        job = sync_runs.confirm(principal=principal, run=run)
        return Response(_shown(principal, run), status=202, headers={"Location": job_url(job.id)})


def _shown(principal: Principal, run: SyncRun) -> dict[str, Any]:
    context = {"rights": rights_in(principal, run.kb), "may_curate": _may_curate(principal, run.kb)}
    return dict(SyncRunSerializer(run, context=context).data)


def _may_curate(principal: Principal, kb: KnowledgeBase) -> bool:
    role = access.role_in(principal, kb.workspace)
    return role is not None and ROLE_ORDER.index(role) >= ROLE_ORDER.index(Role.CURATOR)
