"""Addresses of the knowledge pages."""

from django.urls import path, register_converter

from knowledge.views import (
    batches,
    document_drawer,
    documents,
    files,
    kb_create,
    kb_settings,
    knowledge_bases,
    raw,
    reading,
    search,
)
from knowledge.views.addresses import PathConverter

app_name = "knowledge"

register_converter(PathConverter, "below")

urlpatterns = [
    path("files/", files.first_folder, name="files"),
    path("w/<str:workspace_id>/files/", files.folder, name="files"),
    path("w/<str:workspace_id>/files/<below:path>", files.folder, name="files"),
    path("w/<str:workspace_id>/tree/", files.tree, name="tree"),
    path("w/<str:workspace_id>/open/<below:path>", reading.open_file, name="open"),
    path("w/<str:workspace_id>/find/", reading.follow_wiki, name="wiki"),
    path("w/<str:workspace_id>/raw/<below:path>", raw.raw, name="raw"),
    path("w/<str:workspace_id>/page/<below:path>", raw.page_image, name="page-image"),
    path("kb/", knowledge_bases.kb_list, name="kb-list"),
    path("kb/live", knowledge_bases.live, name="kb-list-live"),
    path("kb/new", kb_create.new, name="kb-new"),
    path("kb/new/estimate", kb_create.estimate, name="kb-new-estimate"),
    path("kb/search", search.search, name="search"),
    path("kb/around", search.around, name="search-around"),
    path("kb/<str:kb_id>/", documents.detail, name="kb-detail"),
    path("kb/<str:kb_id>/tree", documents.tree, name="kb-tree"),
    path("kb/<str:kb_id>/live", documents.live, name="kb-live"),
    path("kb/<str:kb_id>/filters", documents.filters, name="kb-filters"),
    path("kb/<str:kb_id>/batch", batches.batch, name="kb-batch"),
    path("kb/<str:kb_id>/about", knowledge_bases.about, name="kb-about"),
    path("kb/<str:kb_id>/switch", knowledge_bases.switch, name="kb-switch"),
    path("kb/<str:kb_id>/sync", knowledge_bases.sync, name="kb-sync"),
    path("kb/<str:kb_id>/pin", knowledge_bases.pin, name="kb-pin"),
    path("kb/<str:kb_id>/pause", knowledge_bases.pause, name="kb-pause"),
    path("kb/<str:kb_id>/clear", knowledge_bases.clear, name="kb-clear"),
    path("kb/<str:kb_id>/remove", knowledge_bases.remove, name="kb-remove"),
    path("kb/<str:kb_id>/duplicate", knowledge_bases.duplicate, name="kb-duplicate"),
    path("kb/<str:kb_id>/settings/", kb_settings.settings, name="kb-settings"),
    path("kb/<str:kb_id>/docs/<str:document_id>/", document_drawer.document, name="document"),
    path("kb/<str:kb_id>/docs/<str:document_id>/menu", document_drawer.menu, name="document-menu"),
    path("kb/<str:kb_id>/search/", search.kb_search, name="kb-search"),
]
