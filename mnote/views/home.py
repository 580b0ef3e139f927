"""The first page: the workspaces a person sees, what is in them, and the next step."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from mnote.requests import PersonRequest
from mnote.selectors import access
from mnote.selectors.home import overview


@login_required
@require_GET
def home(request: PersonRequest) -> HttpResponse:
    workspaces = access.workspaces_for(request.principal)
    return render(request, "mnote/home.html", {"overview": overview(request.principal, workspaces)})


@login_required
@require_GET
def workspace(request: PersonRequest, workspace_id: str) -> HttpResponse:
    found = access.get_workspace(request.principal, workspace_id)
    context = {"workspace": found, "overview": overview(request.principal, [found])}
    return render(request, "mnote/workspace.html", context)
