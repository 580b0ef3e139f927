"""The file tree: folders of a root with the lamps of what they hold, only what the person may see."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET

from knowledge.services.folders import Choice, FolderReader, Sort
from knowledge.views.addresses import files_url, pane_url
from knowledge.views.choosing import number_of, principal_of, root_of, workspace_of
from knowledge.views.files_page import FilesPage, Tree, lamps_of
from mnote.exceptions import NotFound
from mnote.files.opening import EntryKind
from mnote.htmx import is_fragment
from mnote.models import Workspace
from mnote.selectors import access
from mnote.services import files
from mnote.services.files import RootUnavailable

_PARTS = {"entries", "rows"}


@login_required
@require_GET
def first_folder(request: HttpRequest) -> HttpResponse:
    """Go to the files of the first workspace that has any; say so when none has."""
    workspaces = list(access.workspaces_for(principal_of(request)))
    roots = access.visible_roots(principal_of(request), workspaces)
    for workspace in workspaces:
        if found := roots.get(workspace.pk):
            return redirect(files_url(found[0]))
    return render(request, "knowledge/files_none.html", {"workspaces": workspaces})


@login_required
@require_GET
def folder(request: HttpRequest, workspace_id: str, path: str = "") -> HttpResponse:
    workspace = workspace_of(request, workspace_id)
    if not request.GET.get("root") and not _has_root(request, workspace):
        return render(request, "knowledge/files_none.html", {"workspace": workspace, "workspaces": [workspace]})
    root = root_of(request, workspace)
    path = path.rstrip("/")
    try:
        page = FilesPage(request, workspace, root, path, _choice(request))
    except RootUnavailable:
        context = {"workspace": workspace, "root": root}
        return render(request, "knowledge/files_unreachable.html", context, status=RootUnavailable.status)
    except NotFound:
        if path and _is_file(request, workspace_id, path):
            return redirect(pane_url(root, path))
        raise
    part = request.GET.get("part") or request.headers.get("HX-Target", "")
    if is_fragment(request) and part in _PARTS:
        return render(request, f"knowledge/files.html#{part}", {"page": page})
    return render(request, "knowledge/files.html", {"page": page, "workspace": workspace})


@login_required
@require_GET
def tree(request: HttpRequest, workspace_id: str) -> HttpResponse:
    """One level of the tree, or all levels down to the path `open`; the lamps alone where they were left out."""
    root = root_of(request, workspace_of(request, workspace_id))
    path, opened = request.GET.get("path", ""), request.GET.get("open", "")
    if "\0" in path:
        raise NotFound  # a lookup of lamps would fail on it
    principal = principal_of(request)
    if kind := request.GET.get("lamps", ""):
        context = {"lamps": lamps_of(principal, root, path, "ft" if kind == "tree" else "fl")}
        return render(request, "knowledge/files_lamps.html", context)
    offset = number_of(request.GET, "offset") or 0
    reader = FolderReader(principal, root)
    level = Tree(root, reader, with_files="files" in request.GET).level(path, opened=opened, offset=offset)
    template = "knowledge/files_tree.html" if "open" in request.GET else "knowledge/_tree_nodes.html"
    return render(request, template, {"level": level})


def _choice(request: HttpRequest) -> Choice:
    query = request.GET
    sort = query.get("sort", "")
    return Choice(
        words=query.get("q", "").strip(),
        sort=Sort(sort) if sort in set(Sort) else Sort.NAME,
        is_descending=query.get("dir") == "desc",
        offset=number_of(query, "offset") or 0,
    )


def _has_root(request: HttpRequest, workspace: Workspace) -> bool:
    return bool(access.visible_roots(principal_of(request), [workspace]).get(workspace.pk))


def _is_file(request: HttpRequest, workspace_id: str, path: str) -> bool:
    root = root_of(request, workspace_of(request, workspace_id))
    try:
        return files.stat(principal=principal_of(request), root=root, path=path).kind is EntryKind.FILE
    except NotFound:
        return False
