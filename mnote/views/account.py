"""A person's own page: name, language, colours, password, API tokens."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from mnote.exceptions import Invalid
from mnote.forms import SCOPE_WORDS, PasswordForm, ProfileForm, TokenForm
from mnote.htmx import is_fragment, render_page, toast, with_events
from mnote.models import ApiToken
from mnote.requests import PersonRequest
from mnote.services import profiles, tokens

_TEMPLATE = "mnote/account.html"


@login_required
@require_GET
def account(request: PersonRequest) -> HttpResponse:
    return _page(request)


@login_required
@require_POST
def change_profile(request: PersonRequest) -> HttpResponse:
    form = ProfileForm(request.POST)
    if not form.is_valid():
        return _page(request, status=422, profile_form=form)
    profiles.set_display_name(user=request.user, display_name=form.cleaned_data["display_name"])
    messages.success(request, _("Your name was changed."))
    return redirect("mnote:account")


@sensitive_post_parameters()
@login_required
@require_POST
def change_password(request: PersonRequest) -> HttpResponse:
    form = PasswordForm(request.user, request.POST)
    if not form.is_valid():
        return _page(request, status=422, password_form=form)
    profiles.set_password(user=request.user, password=form.cleaned_data["password"])
    update_session_auth_hash(request, request.user)
    messages.success(request, _("Your password was changed. Other browsers have to sign in again."))
    return redirect("mnote:account")


@login_required
@require_POST
def create_token(request: PersonRequest) -> HttpResponse:
    """Make a token and show its secret in this one answer."""
    form = TokenForm(request.user, request.POST)
    if not form.is_valid():
        return _page(request, partial="tokens", status=422, token_form=form)
    try:
        token, secret = tokens.create_token(
            user=request.user,
            name=form.cleaned_data["name"],
            scopes=form.cleaned_data["scopes"],
            expires_at=form.expires_at,
        )
    except Invalid as error:
        for name, problems in error.extra["errors"].items():
            form.add_error(name if name in form.fields else None, [each["message"] for each in problems])
        return _page(request, partial="tokens", status=422, token_form=form)
    return _page(request, partial="tokens", new_token=token, secret=secret)


@login_required
@require_http_methods(["GET", "POST"])
def revoke_token(request: PersonRequest, token_id: int) -> HttpResponse:
    token = get_object_or_404(ApiToken, pk=token_id, user=request.user)
    if request.method == "GET":
        return render(request, _confirm_template(request), _question(token))
    tokens.revoke_token(token=token, by=request.principal)
    done = _("The token “%(name)s” was revoked.") % {"name": token.name}
    if is_fragment(request):
        return toast(with_events(_page(request, partial="tokens"), **{"kb:close-modal": {}}), done)
    messages.success(request, done)
    return redirect("mnote:account")


def _confirm_template(request: PersonRequest) -> str:
    return "_components/confirm.html" if is_fragment(request) else "mnote/confirm_page.html"


def _question(token: ApiToken) -> dict[str, Any]:
    return {
        "title": _("Revoke the token “%(name)s”?") % {"name": token.name},
        "text": _("Programs that use it are refused from now on. This cannot be undone."),
        "confirm_label": _("Revoke"),
        "action": reverse("mnote:token-revoke", args=[token.pk]),
        "cancel_url": reverse("mnote:account"),
        "is_destructive": True,
        "hx_target": "#tokens",
        "hx_swap": "outerHTML",
    }


def _page(request: PersonRequest, *, partial: str = "", status: int = 200, **given: Any) -> HttpResponse:
    user = request.user
    context = {
        "profile_form": ProfileForm(initial={"display_name": user.display_name}),
        "password_form": PasswordForm(user),
        "token_form": TokenForm(user),
        "tokens": _tokens_of(request),
        "languages": settings.LANGUAGES,
    }
    return render_page(request, _TEMPLATE, context | given, partial=partial, status=status)


def _tokens_of(request: PersonRequest) -> list[dict[str, Any]]:
    rows = ApiToken.objects.filter(user=request.user, revoked_at__isnull=True).order_by("-created_at")
    return [
        {"token": row, "is_live": tokens.is_live(row), "scopes": [SCOPE_WORDS.get(each, each) for each in row.scopes]}
        for row in rows.select_related("user")
    ]
