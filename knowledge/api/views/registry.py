"""The canonical API, the part about the registry (spec 4.3): status, ingest, delete-source, lamps, prune-registry."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from knowledge import registry_shapes
from knowledge.api.base import KnowledgeView, WritingView, validated, validated_query
from knowledge.api.lookups import kb_named
from knowledge.api.published import published
from knowledge.api.scope import Place, place_of
from knowledge.api.serializers.knowledge_bases import KnowledgeBaseSerializer
from knowledge.api.serializers.knowledge_rag import (
    DeleteSourceSerializer,
    IngestSerializer,
    LampsQuerySerializer,
    PruneSerializer,
    StatusQuerySerializer,
)
from knowledge.api.serializers.sources import IntakeSerializer
from knowledge.api.views.knowledge_bases import IDEMPOTENCY, job_url
from knowledge.models import KnowledgeBase
from knowledge.selectors import lamp_trees
from knowledge.services import intake, pruning, status, withdrawing
from knowledge.services.intake import Intake, Wanted
from mnote.api.idempotency import Made, idempotent
from mnote.api.permissions import principal_of
from mnote.exceptions import NotFound
from mnote.models import Role
from mnote.principals import Principal

_RULES = ("recursive", "include", "exclude", "max_file_mb")


class StatusView(KnowledgeView):
    @extend_schema(
        operation_id="knowledge_rag_status", parameters=[StatusQuerySerializer], responses=published("status")
    )
    def get(self, request: Request) -> Response:
        """Say how the knowledge bases of a workspace stand, and whether providers and workers answer."""
        principal, wanted = principal_of(request), validated_query(request, StatusQuerySerializer)
        place = place_of(principal, wanted)
        found = status.status_of(
            principal=principal,
            workspace=place.workspace,
            root=place.root,
            kb_id=wanted.get("knowledge_base_id", ""),
        )
        bases = KnowledgeBaseSerializer(found.cards, many=True).data
        return Response(registry_shapes.status_json(found, bases, is_administrator=principal.is_administrator))


class IngestView(WritingView):
    @extend_schema(
        operation_id="knowledge_rag_ingest",
        parameters=[IDEMPOTENCY],
        request=IngestSerializer,
        responses={202: IntakeSerializer},
    )
    @idempotent
    def post(self, request: Request) -> Response:
        """Take files, folders, a text or a web address into a knowledge base; needs curator. Each item is accepted or
        refused by itself."""
        principal, data = principal_of(request), validated(request, IngestSerializer)
        place = place_of(principal, data)
        root = place.root_or_first()
        kb = intake.kb_for(
            principal=principal,
            workspace=place.workspace,
            root=root,
            kb_id=data.get("knowledge_base_id", ""),
            name=data.get("name", ""),
        )
        done = intake.take_in(principal=principal, kb=kb, root=root, wanted=_wanted(data))
        return _intake_response(done)


class DeleteSourceView(WritingView):
    @extend_schema(
        operation_id="knowledge_rag_delete_source",
        request=DeleteSourceSerializer,
        responses=published("deleted-sources"),
    )
    def post(self, request: Request) -> Response:
        """Take sources out of search and index; local files stay. Needs curator."""
        principal, data = principal_of(request), validated(request, DeleteSourceSerializer)
        place = place_of(principal, data)
        done = withdrawing.withdraw_named(
            principal=principal,
            workspace=place.workspace,
            root=place.root,
            kb=_kb_in(principal, place, data),
            ids=data.get("source_ids", ()),
            paths=data.get("paths", ()),
        )
        return Response(registry_shapes.withdrawn_json(done))


class LampsView(KnowledgeView):
    @extend_schema(
        operation_id="knowledge_rag_lamps",
        parameters=[
            LampsQuerySerializer,
            OpenApiParameter("If-None-Match", str, OpenApiParameter.HEADER, description="The ETag that was seen."),
        ],
        responses={200: published("lamps"), 304: None},
    )
    def get(self, request: Request) -> Response:
        """Return the lamps of files and folders, for a file tree."""
        principal, wanted = principal_of(request), validated_query(request, LampsQuerySerializer)
        root = place_of(principal, wanted).root_or_first()
        prefix, since = wanted["prefix"].strip("/"), wanted.get("since")
        version = lamp_trees.version_of(principal, root, f"{prefix} since {since}")
        etag = f'"{version}"'
        headers = {"ETag": etag, "Cache-Control": "private, no-cache"}
        if etag in _seen(request):
            return Response(status=304, headers=headers)
        found = lamp_trees.tree(principal, root, prefix, since=since)
        return Response(registry_shapes.lamps_json(root, found), headers=headers)


class PruneView(WritingView):
    @extend_schema(
        operation_id="knowledge_rag_prune_registry", request=PruneSerializer, responses=published("pruned-registry")
    )
    def post(self, request: Request) -> Response:
        """Find registry rows whose file or index entry is gone, and repair unless `dryRun`. Needs curator."""
        principal, data = principal_of(request), validated(request, PruneSerializer)
        place = place_of(principal, data)
        done = pruning.prune(
            principal=principal,
            root=place.root_or_first(),
            kb=_kb_in(principal, place, data),
            dry_run=data["dry_run"],
            limit=data["limit"],
            after=data.get("after", ""),
        )
        return Response(registry_shapes.pruned_json(done, dry_run=data["dry_run"]))


def _wanted(data: dict[str, Any]) -> Wanted:
    options = data.get("options", {})
    return Wanted(
        paths=tuple(data.get("paths", ())),
        resource_ids=tuple(data.get("resource_ids", ())),
        url=data.get("url", ""),
        text=data.get("text"),
        folder=options.get("folder", ""),
        file_name=options.get("file_name", ""),
        title=options.get("title", ""),
        rules={name: options[name] for name in _RULES if name in options},
    )


def _intake_response(done: Intake) -> Made:
    job_ids = list(dict.fromkeys(each.job_id for each in done.accepted if each.job_id))
    body = {
        "knowledge_base_id": done.kb.id,
        "job_id": job_ids[0] if job_ids else None,
        "job_ids": job_ids,
        "accepted": done.accepted,
        "refused": done.refused,
    }
    where = job_url(job_ids[0]) if job_ids else ""
    return Made(IntakeSerializer(body).data, workspace=done.kb.workspace, status=202, location=where)


def _kb_in(principal: Principal, place: Place, data: dict[str, Any]) -> KnowledgeBase | None:
    if not data.get("knowledge_base_id"):
        return None
    kb = kb_named(principal, data["knowledge_base_id"], Role.CURATOR)
    if kb.workspace_id != place.workspace.id:
        raise NotFound
    return kb


def _seen(request: Request) -> Iterable[str]:
    return [part.strip().removeprefix("W/") for part in request.headers.get("If-None-Match", "").split(",")]
