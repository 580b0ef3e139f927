"""The addresses of the knowledge API, below `/api/`."""

from django.urls import path
from drf_spectacular.views import SpectacularAPIView

from knowledge.api import converters
from knowledge.api.views import (
    derived,
    docs,
    evidence,
    knowledge_bases,
    knowledge_rag,
    open_reference,
    registry,
    schemas,
    source_sets,
    sources,
    sync_runs,
    uploads,
)

app_name = "knowledge-api"
converters.register()

_canonical = [
    path("knowledge-rag/status", registry.StatusView.as_view(), name="rag-status"),
    path("knowledge-rag/ingest", registry.IngestView.as_view(), name="rag-ingest"),
    path("knowledge-rag/search", knowledge_rag.SearchView.as_view(), name="rag-search"),
    path("knowledge-rag/query", knowledge_rag.QueryView.as_view(), name="rag-query"),
    path("knowledge-rag/section-context", knowledge_rag.SectionContextView.as_view(), name="rag-section-context"),
    path("knowledge-rag/open-reference", knowledge_rag.OpenReferenceView.as_view(), name="rag-open-reference"),
    path("knowledge-rag/delete-source", registry.DeleteSourceView.as_view(), name="rag-delete-source"),
    path("knowledge-rag/lamps", registry.LampsView.as_view(), name="rag-lamps"),
    path("knowledge-rag/prune-registry", registry.PruneView.as_view(), name="rag-prune-registry"),
]
_evidence = [
    path("evidence/search", evidence.EvidenceSearchView.as_view(), name="evidence-search"),
    path("evidence/read", evidence.EvidenceReadView.as_view(), name="evidence-read"),
    path("evidence/open", evidence.EvidenceOpenView.as_view(), name="evidence-open"),
    path("search/documents", evidence.DocumentSearchView.as_view(), name="search-documents"),
    path("schemas/<slug:name>.json", schemas.schema, name="schema"),
    path("schema", SpectacularAPIView.as_view(), name="openapi"),
    path("docs/", docs.api_docs, name="docs"),
]
_bases = [
    path("knowledge/knowledge-bases", knowledge_bases.KnowledgeBasesView.as_view(), name="kbs"),
    path("knowledge/knowledge-bases/<public_id:kb_id>", knowledge_bases.KnowledgeBaseView.as_view(), name="kb"),
    path(
        "knowledge/knowledge-bases/<public_id:kb_id>/status",
        knowledge_bases.ProcessingStatusView.as_view(),
        name="kb-status",
    ),
    path("knowledge/knowledge-bases/<public_id:kb_id>/tags", knowledge_bases.TagsView.as_view(), name="kb-tags"),
    path("knowledge/knowledge-bases/<public_id:kb_id>/sync", knowledge_bases.SyncView.as_view(), name="kb-sync"),
    path(
        "knowledge/knowledge-bases/<public_id:kb_id>/source-sets",
        source_sets.SourceSetsView.as_view(),
        name="source-sets",
    ),
    path("knowledge/knowledge-bases/<public_id:kb_id>/sources", sources.SourcesView.as_view(), name="sources"),
    path("knowledge/knowledge-bases/<public_id:kb_id>/sync-runs", sync_runs.SyncRunsView.as_view(), name="sync-runs"),
    path("knowledge/source-sets/<public_id:source_set_id>", source_sets.SourceSetView.as_view(), name="source-set"),
    path("knowledge/provider-profiles", knowledge_bases.ProviderProfilesView.as_view(), name="provider-profiles"),
    path("knowledge/sync-runs/<public_id:run_id>", sync_runs.SyncRunView.as_view(), name="sync-run"),
    path(
        "knowledge/sync-runs/<public_id:run_id>/confirm",
        sync_runs.ConfirmSyncRunView.as_view(),
        name="sync-run-confirm",
    ),
]
_sources = [
    path("knowledge/sources/<public_id:source_id>", sources.SourceView.as_view(), name="source"),
    path("knowledge/sources/<public_id:source_id>/reparse", sources.ReparseView.as_view(), name="source-reparse"),
    path("knowledge/sources/<public_id:source_id>/cancel", sources.CancelView.as_view(), name="source-cancel"),
    path("knowledge/sources/<public_id:source_id>/tags", sources.SourceTagsView.as_view(), name="source-tags"),
    path("knowledge/sources/<public_id:source_id>/timeline", sources.TimelineView.as_view(), name="source-timeline"),
    path("knowledge/sources/<public_id:source_id>/chunks", sources.ChunksView.as_view(), name="source-chunks"),
    path("knowledge/sources/<public_id:source_id>/source-map", derived.SourceMapView.as_view(), name="source-map"),
    path("knowledge/sources/<public_id:source_id>/artifacts", derived.ArtifactsView.as_view(), name="source-artifacts"),
    path("knowledge/sources/<public_id:source_id>/links", derived.LinksView.as_view(), name="source-links"),
    path("knowledge/files", uploads.FilesView.as_view(), name="files"),
    path(
        "knowledge/citations/open-reference",
        open_reference.CitationOpenReferenceView.as_view(),
        name="citation-open-reference",
    ),
]

urlpatterns = [*_canonical, *_evidence, *_bases, *_sources]
