"""What parsing made of a source. Each needs read on the file, as everything about a source does."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from knowledge import evidence_shapes
from knowledge.api.base import KnowledgeView
from knowledge.api.lookups import source_named
from knowledge.api.published import list_of, published
from knowledge.exceptions import EvidenceNotFound
from knowledge.models import DerivedArtifact, Document
from knowledge.parsing.source_map import SourceMap
from knowledge.providers.local.rows import resource_id_of
from knowledge.providers.registry import local_provider
from knowledge.services import owners, parsing
from mnote.api.permissions import principal_of


class SourceMapView(KnowledgeView):
    @extend_schema(operation_id="get_source_map", responses=published("source-map"))
    def get(self, request: Request, source_id: str) -> Response:
        """Return the text of a source as indexed, with the way back to the original."""
        principal = principal_of(request)
        document = source_named(principal, source_id)
        pages = owners.owners_of(principal=principal, root=document.root, paths=[document.source_path])
        owner = pages.get(document.source_path, (document.source_path,))[0]
        body = evidence_shapes.source_map_json(_source_map(document), path=document.source_path, owner=owner)
        return Response(body)


class ArtifactsView(KnowledgeView):
    @extend_schema(operation_id="list_source_artifacts", responses=list_of("artifact"))
    def get(self, request: Request, source_id: str) -> Response:
        """List what was made of a source; the content stays on the server."""
        document = source_named(principal_of(request), source_id)
        rows = DerivedArtifact.objects.filter(workspace_id=document.workspace_id, source_hash=document.indexed_hash)
        return Response([evidence_shapes.artifact_json(row, path=document.source_path) for row in rows.order_by("pk")])


class LinksView(KnowledgeView):
    @extend_schema(operation_id="list_source_links", responses=list_of("edge"))
    def get(self, request: Request, source_id: str) -> Response:
        """List the links that stand in a source, each with the passage that holds it."""
        document = source_named(principal_of(request), source_id)
        found = local_provider().edges(document.workspace_id, [resource_id_of(_source_map(document))])
        return Response([evidence_shapes.edge_json(each) for each in found])


def _source_map(document: Document) -> SourceMap:
    """Return the source map of what is indexed. Raises EvidenceNotFound when there is none."""
    known = parsing.known(workspace_id=document.workspace_id, source_hash=document.indexed_hash, name=document.name)
    if known is None:
        raise EvidenceNotFound
    return known
