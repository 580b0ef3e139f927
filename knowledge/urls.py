"""Addresses of the knowledge pages."""

from django.urls import path, register_converter

from knowledge.views import files, raw, reading, search
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
    path("kb/search", search.search, name="search"),
    path("kb/around", search.around, name="search-around"),
    path("kb/<str:kb_id>/search/", search.kb_search, name="kb-search"),
]
