"""The document pane: any file of a root, opened at the cited place, with the truth about it."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from knowledge.exceptions import LocatorStale
from knowledge.services import reading, wiki_links
from knowledge.views.addresses import files_url, pane_url
from knowledge.views.choosing import place_query, pointer_of, principal_of, root_of, workspace_of
from knowledge.views.reading_page import ReadingPage, crumbs_of
from mnote.exceptions import AppError, Gone, NotFound
from mnote.files.opening import EntryKind
from mnote.htmx import is_fragment
from mnote.models import Root
from mnote.services import files


@login_required
@require_GET
def open_file(request: HttpRequest, workspace_id: str, path: str) -> HttpResponse:
    workspace = workspace_of(request, workspace_id)
    root = root_of(request, workspace)
    pointer = pointer_of(request.GET)
    try:
        opened = reading.read(principal=principal_of(request), root=root, path=path, pointer=pointer)
    except LocatorStale:
        return _gone(request, root, path)
    except NotFound:
        if (address := _elsewhere(request, root, path)) and not pointer.cite:
            return redirect(address)
        raise
    if opened.place.path != path:
        return redirect(pane_url(root, opened.place.path, **place_query(request.GET)))
    page = ReadingPage(request, root, opened)
    part = request.GET.get("part", "")
    if is_fragment(request) and part in {"before", "after"}:
        return render(request, "knowledge/reading.html#window", {"page": page, "part": part})
    return render(request, "knowledge/reading.html", {"page": page, "workspace": workspace})


@login_required
@require_GET
def follow_wiki(request: HttpRequest, workspace_id: str) -> HttpResponse:
    """Go where a wiki link leads. The name may be anywhere below the root, so it is looked for only now."""
    root = root_of(request, workspace_of(request, workspace_id))
    name, note = request.GET.get("name", ""), request.GET.get("from", "")
    found = wiki_links.anywhere(principal=principal_of(request), root=root, note=note, name=name)
    if found is None:
        raise NotFound(_("No file of this name was found below this folder."))
    return redirect(pane_url(root, found))


def _elsewhere(request: HttpRequest, root: Root, path: str) -> str:
    """Return a better address for a path that is no file: a folder's page, or the note that a link names without its
    extension or as the web page made of it."""
    principal = principal_of(request)
    try:
        if files.stat(principal=principal, root=root, path=path).kind is EntryKind.FOLDER:
            return files_url(root, path)
    except AppError:
        pass
    stem, _dot, extension = path.rpartition(".")
    guesses = [f"{path}.md", f"{stem}.md" if extension in {"html", "htm"} and stem else f"{path}.markdown"]
    there = files.existing(principal=principal, root=root, paths=guesses)
    return next((pane_url(root, guess) for guess in guesses if guess in there), "")


def _gone(request: HttpRequest, root: Root, path: str) -> HttpResponse:
    context = {"workspace": root.workspace, "path": path, "crumbs": crumbs_of(root, path), "files_url": files_url(root)}
    return render(request, "knowledge/reading_gone.html", context, status=Gone.status)
