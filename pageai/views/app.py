"""OpenHub's own pages below our prefix: a conversation, the files of the bundle, and what is not there."""

from __future__ import annotations

import logging

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.templatetags.static import static
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from mnote.exceptions import AppError, NotAuthenticated, NotFound
from mnote.principals import Principal
from pageai.panel import app_files
from pageai.panel.app_files import AppMissing, AppUnknown, Frame
from pageai.services import gatekeeping, panel
from pageai.services.gatekeeping import Visit

logger = logging.getLogger(__name__)

_DAY = 86_400


@require_GET
def index(request: HttpRequest, binding_id: str) -> HttpResponse:
    """The page of a conversation, for the frame of the panel."""
    try:
        visit = gatekeeping.enter(principal=_principal(request), binding_id=binding_id)
        return _page(request, visit)
    except AppError as error:
        context = {"sentence": error.detail, "is_signed_out": isinstance(error, NotAuthenticated)}
        return render(request, "pageai/frame_problem.html", context, status=error.status)


@require_GET
def asset(request: HttpRequest, name: str) -> HttpResponse:
    """A file of the bundle. The same for everybody who is signed in."""
    _principal(request)
    app_dir = panel.connection().app_dir
    try:
        if app_dir is None:
            raise AppMissing
        found = app_files.asset(app_dir, name)
    except AppMissing:
        raise NotFound from None
    except AppUnknown as error:
        logger.exception("the installed pages of OpenHub cannot be served")
        raise NotFound from error
    response = HttpResponse(found.body, content_type=found.content_type)
    response.headers["Cache-Control"] = f"private, max-age={_DAY}"
    return response


@require_GET
def elsewhere(request: HttpRequest, binding_id: str, rest: str) -> HttpResponse:
    """What OpenHub has and we replace, or what is not there at all."""
    visit = gatekeeping.enter(principal=_principal(request), binding_id=binding_id)
    place = rest.strip("/").partition("/")[0]
    if place in {"login", "admin"}:
        # Its own sign-in and administration: the conversation is shown again, as its router does for unknown places.
        return redirect("pageai:panel", visit.binding.pk)
    raise NotFound


def _principal(request: HttpRequest) -> Principal:
    principal: Principal | None = request.principal  # type: ignore[attr-defined]
    if principal is None:
        raise NotAuthenticated
    return principal


def _page(request: HttpRequest, visit: Visit) -> HttpResponse:
    app_dir = panel.connection().app_dir
    base = reverse("pageai:panel", args=[visit.binding.pk])
    frame = Frame(
        base=base.rstrip("/"),
        assets=reverse("pageai:panel-asset", args=["x"]).removesuffix("x"),
        session=visit.session_id,
        script=static("js/page_ai_frame.js"),
        style=static("css/page_ai_frame.css"),
    )
    try:
        if app_dir is None:
            raise AppMissing
        page = app_files.index(app_dir, frame)
    except (AppMissing, AppUnknown) as error:
        logger.warning("the pages of OpenHub cannot be shown: %s", error or "not installed")
        context = {"sentence": _("OpenHub's pages are not installed here, or are of an unknown version.")}
        return render(request, "pageai/frame_problem.html", context, status=503)
    response = HttpResponse(page)
    response.headers["Content-Security-Policy"] = _policy(request)
    return response


def _policy(request: HttpRequest) -> str:
    """OpenHub's page may run its bundle and our script, and ask nothing but its own part of the proxy. Its components
    write styles into the page, which nothing else here may."""
    own = request.build_absolute_uri(reverse("pageai:panel-home"))
    ours = request.build_absolute_uri(settings.STATIC_URL)
    return (
        f"default-src 'none'; script-src {own} {ours}; style-src {own} {ours} 'unsafe-inline'; "
        f"img-src {own} data: blob:; font-src {own} data:; connect-src {own}; form-action 'none'; base-uri 'none'; "
        "object-src 'none'; frame-src 'none'; worker-src 'none'; frame-ancestors 'self'"
    )


@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """There is no panel without a page: conversations begin on one."""
    _principal(request)
    return redirect("mnote:home")
