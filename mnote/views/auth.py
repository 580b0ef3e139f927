"""Signing in and out. The only sign-in there is."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import login, views
from django.contrib.auth.forms import AuthenticationForm
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from mnote import closing
from mnote.exceptions import Gone, RateLimited
from mnote.forms import SignInForm
from mnote.models import User
from mnote.services import sign_in_attempts, users
from mnote.views.addresses import next_path
from mnote.views.preferences import remember_language, remember_theme

_BACKEND = "django.contrib.auth.backends.ModelBackend"


class SignInView(views.LoginView):
    template_name = "mnote/sign_in.html"
    authentication_form = SignInForm
    redirect_authenticated_user = True

    def get_success_url(self) -> str:
        return next_path(self.request, reverse("mnote:home"))

    def get_redirect_url(self, request: HttpRequest | None = None) -> str:
        return next_path(request or self.request, "")

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            sign_in_attempts.check(**self._attempt)
        except RateLimited as error:
            context = self.get_context_data(form=SignInForm(request), problem=error.detail)
            return render(request, self.template_name, context, status=error.status)
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        sign_in_attempts.forget(**self._attempt)
        response = super().form_valid(form)
        user = form.get_user()
        remember_language(response, user.language)
        if user.theme:
            remember_theme(response, user.theme)
        return response

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        sign_in_attempts.note_failure(**self._attempt)
        return render(self.request, self.template_name, self.get_context_data(form=form), status=422)

    @property
    def _attempt(self) -> dict[str, str]:
        return {
            "username": self.request.POST.get("username", "")[:150],
            "address": self.request.META.get("REMOTE_ADDR", ""),
        }


class SignOutView(views.LogoutView):
    """Ends the session. POST only: a link on another site cannot sign anybody out."""

    def get_success_url(self) -> str:
        return reverse("mnote:login")

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if isinstance(request.user, User):
            closing.signed_out(request.user)
        return super().post(request, *args, **kwargs)


@never_cache
@require_http_methods(["GET", "POST"])
def use_link(request: HttpRequest, secret: str) -> HttpResponseBase:
    """Sign in by a one-time link. A link opened by hand works at once; one followed from another site, or looked at
    by a program before a person does, shows a button first, so that it is neither spent nor forced on anybody."""
    if request.method == "GET" and not _is_opened_by_hand(request):
        return render(request, "mnote/sign_in_link.html")
    try:
        user = users.use_sign_in_link(secret)
    except Gone as error:
        return render(request, "mnote/sign_in_link.html", {"problem": error.detail}, status=error.status)
    login(request, user, backend=_BACKEND)
    return redirect("mnote:home")


def _is_opened_by_hand(request: HttpRequest) -> bool:
    """Browsers say where a request comes from; those that say nothing are command lines and old browsers."""
    headers = request.headers
    if headers.get("Sec-Purpose") or headers.get("Purpose") or headers.get("X-Moz"):
        return False
    return headers.get("Sec-Fetch-Site", "none") in {"none", "same-origin"}
