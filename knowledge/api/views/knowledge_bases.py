"""Knowledge bases, their progress, tags and syncs."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, Q
from django.urls import reverse
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from knowledge.api.base import WritingView, validated, validated_query
from knowledge.api.lookups import card_of, kb_named
from knowledge.api.scope import place_of
from knowledge.api.serializers.knowledge_bases import (
    KnowledgeBaseChangesSerializer,
    KnowledgeBaseQuerySerializer,
    KnowledgeBaseSerializer,
    NewKnowledgeBaseSerializer,
    ProcessingStatusSerializer,
    ProfileChoiceSerializer,
    SyncOrderSerializer,
    TagSerializer,
    WorkspaceSerializer,
    changes_of,
    outage_facts,
)
from knowledge.api.serializers.reading import reading_of
from knowledge.models import DocumentTag, KnowledgeBase, Reader
from knowledge.querysets import readable_in_kb, visible_kbs
from knowledge.selectors.kb_lists import cards_for
from knowledge.selectors.profiles import choices_for
from knowledge.services import knowledge_bases, sources, versions
from knowledge.services.kb_placing import Indexing
from mnote.api.idempotency import HEADER, Made, idempotent
from mnote.api.pagination import KeysetPagination
from mnote.api.permissions import principal_of
from mnote.models import Job, JobStatus, Role
from mnote.selectors import access, health

IDEMPOTENCY = OpenApiParameter(HEADER, str, OpenApiParameter.HEADER, description="Makes repeating the request safe.")
IF_MATCH = OpenApiParameter("If-Match", str, OpenApiParameter.HEADER, description="The ETag that was seen.")
_ACTIVE = (JobStatus.QUEUED, JobStatus.RUNNING)


class KnowledgeBasesView(WritingView, GenericAPIView[KnowledgeBase]):
    serializer_class = KnowledgeBaseSerializer
    pagination_class = KeysetPagination
    ordering = ("name", "id")

    @extend_schema(
        operation_id="list_kbs",
        parameters=[KnowledgeBaseQuerySerializer],
        responses=KnowledgeBaseSerializer(many=True),
    )
    def get(self, request: Request) -> Response:
        """List the knowledge bases that the caller sees."""
        principal, wanted = principal_of(request), validated_query(request, KnowledgeBaseQuerySerializer)
        rows = visible_kbs(principal).select_related("workspace", "root", "owner", "profile")
        if "workspace_id" in wanted:
            rows = rows.filter(workspace=access.get_workspace(principal, wanted["workspace_id"]))
        if "q" in wanted:
            rows = rows.filter(Q(name__icontains=wanted["q"]) | Q(description__icontains=wanted["q"]))
        page = self.paginate_queryset(rows) or []
        return self.get_paginated_response(KnowledgeBaseSerializer(cards_for(principal, page), many=True).data)

    @extend_schema(
        operation_id="create_kb",
        parameters=[IDEMPOTENCY],
        request=NewKnowledgeBaseSerializer,
        responses={201: KnowledgeBaseSerializer},
    )
    @idempotent
    def post(self, request: Request) -> Response:
        """Create a knowledge base; needs the manager role."""
        principal, data = principal_of(request), validated(request, NewKnowledgeBaseSerializer)
        place = place_of(principal, data)
        kb = knowledge_bases.create_kb(
            principal=principal,
            workspace=place.workspace,
            root=place.root_or_first(),
            name=data["name"],
            description=data.get("description", ""),
            indexing=Indexing(
                provider=data.get("provider", ""),
                profile_id=data.get("profile_id", ""),
                parsed_by=data.get("parsed_by", Reader.MNOTE),
                reading=reading_of(data.get("reading", {})),
            ),
        )
        body = KnowledgeBaseSerializer(card_of(principal, kb)).data
        where = reverse("knowledge-api:kb", args=[kb.id])
        return Made(body, workspace=kb.workspace, status=201, location=where, headers={"ETag": versions.etag_of(kb)})


class KnowledgeBaseView(WritingView):
    @extend_schema(operation_id="get_kb", responses=KnowledgeBaseSerializer)
    def get(self, request: Request, kb_id: str) -> Response:
        """Look at a knowledge base. The ETag stands for its settings."""
        principal = principal_of(request)
        return _kb_response(request, kb_named(principal, kb_id))

    @extend_schema(
        operation_id="update_kb",
        parameters=[IF_MATCH],
        request=KnowledgeBaseChangesSerializer,
        responses=KnowledgeBaseSerializer,
    )
    def patch(self, request: Request, kb_id: str) -> Response:
        """Change settings; needs the manager role, to pause or resume the curator role."""
        principal, data = principal_of(request), validated(request, KnowledgeBaseChangesSerializer)
        kb = kb_named(principal, kb_id)
        changes = changes_of(data)
        if_match = request.headers.get("If-Match")
        if changes or if_match:
            kb = versions.update_kb(principal=principal, kb=kb, if_match=if_match, changes=changes)
        if data.get("reread"):
            knowledge_bases.reread(principal=principal, kb=kb)
        if "is_paused" in data:
            knowledge_bases.set_paused(principal=principal, kb=kb, paused=data["is_paused"])
        return _kb_response(request, kb_named(principal, kb_id))

    @extend_schema(operation_id="delete_kb", responses={204: OpenApiResponse(description="It is gone.")})
    def delete(self, request: Request, kb_id: str) -> Response:
        """Archive a knowledge base and remove its index; local files stay. Needs the manager role."""
        principal = principal_of(request)
        knowledge_bases.archive_kb(principal=principal, kb=kb_named(principal, kb_id))
        return Response(status=204)


class ProviderProfilesView(WritingView):
    @extend_schema(
        operation_id="list_provider_profiles",
        parameters=[WorkspaceSerializer],
        responses=ProfileChoiceSerializer(many=True),
    )
    def get(self, request: Request) -> Response:
        """List where a new knowledge base of the workspace can be indexed, besides here; needs the manager role."""
        principal, wanted = principal_of(request), validated_query(request, WorkspaceSerializer)
        workspace = access.get_workspace(principal, wanted["workspace_id"])
        access.require_role(principal, workspace, Role.MANAGER)
        return Response(ProfileChoiceSerializer(choices_for(workspace), many=True).data)


class ProcessingStatusView(WritingView):
    @extend_schema(operation_id="get_processing_status", responses=ProcessingStatusSerializer)
    def get(self, request: Request, kb_id: str) -> Response:
        """Say how far a knowledge base is."""
        principal = principal_of(request)
        card = card_of(principal, kb_named(principal, kb_id))
        job_ids = list(Job.objects.filter(kb_id=kb_id, status__in=_ACTIVE).order_by("id").values_list("id", flat=True))
        body: dict[str, Any] = {
            "knowledge_base_id": kb_id,
            "counts": card.counts,
            "is_busy": bool(card.counts.active or job_ids),
            "is_paused": card.kb.paused_at is not None,
            "provider_outage": outage_facts(card),
            "synced_at": card.synced_at,
            "job_ids": job_ids,
            "worker_age_seconds": health.worker_age(),
            "is_worker_alive": health.is_worker_alive(),
        }
        return Response(ProcessingStatusSerializer(body).data)


class TagsView(WritingView):
    @extend_schema(operation_id="list_tags", responses=TagSerializer(many=True))
    def get(self, request: Request, kb_id: str) -> Response:
        """List the tags of the sources that the caller may read, and how many sources each has."""
        principal = principal_of(request)
        readable = readable_in_kb(principal, kb_named(principal, kb_id)).filter(deleted_at__isnull=True)
        rows = DocumentTag.objects.filter(document__in=readable).values("name").annotate(count=Count("pk"))
        return Response(TagSerializer(rows.order_by("name")[:1000], many=True).data)


class SyncView(WritingView):
    @extend_schema(
        operation_id="sync_kb",
        request=SyncOrderSerializer,
        responses={202: OpenApiResponse({"type": "object", "properties": {"jobIds": {"type": "array", "items": {}}}})},
    )
    def post(self, request: Request, kb_id: str) -> Response:
        """Look at every source set now; needs the curator role."""
        principal, data = principal_of(request), validated(request, SyncOrderSerializer)
        job_ids = sources.sync_now(principal=principal, kb=kb_named(principal, kb_id), full=data["full"])
        headers = {"Location": job_url(job_ids[0])} if job_ids else {}
        return Response({"jobIds": job_ids}, status=202, headers=headers)


def job_url(job_id: str) -> str:
    """Return the address of a job."""
    return reverse("api:job", args=[job_id])


def _kb_response(request: Request, kb: KnowledgeBase) -> Response:
    body = KnowledgeBaseSerializer(card_of(principal_of(request), kb)).data
    return Response(body, headers={"ETag": versions.etag_of(kb)})
