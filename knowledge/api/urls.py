"""The addresses of the knowledge API, below `/api/`."""

from django.urls import path

from knowledge.api.views import evidence, knowledge_rag, schemas

app_name = "knowledge-api"
urlpatterns = [
    path("knowledge-rag/search", knowledge_rag.SearchView.as_view(), name="rag-search"),
    path("knowledge-rag/query", knowledge_rag.QueryView.as_view(), name="rag-query"),
    path("knowledge-rag/section-context", knowledge_rag.SectionContextView.as_view(), name="rag-section-context"),
    path("knowledge-rag/open-reference", knowledge_rag.OpenReferenceView.as_view(), name="rag-open-reference"),
    path("evidence/search", evidence.EvidenceSearchView.as_view(), name="evidence-search"),
    path("evidence/read", evidence.EvidenceReadView.as_view(), name="evidence-read"),
    path("evidence/open", evidence.EvidenceOpenView.as_view(), name="evidence-open"),
    path("search/documents", evidence.DocumentSearchView.as_view(), name="search-documents"),
    path("schemas/<slug:name>.json", schemas.schema, name="schema"),
]
