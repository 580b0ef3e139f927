"""Language and colours: kept in cookies, so that the first byte of a page is right, and with the person."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import check_for_language
from django.views.decorators.http import require_POST

from mnote.htmx import is_fragment, no_content
from mnote.services import profiles
from mnote.views.addresses import next_path
from mnote.views.shell import THEME_COOKIE, THEMES

_ONE_YEAR = 365 * 24 * 3600


@require_POST
def set_language(request: HttpRequest) -> HttpResponse:
    language = request.POST.get("language", "")
    response = HttpResponseRedirect(next_path(request, reverse("mnote:home")))
    if language not in dict(settings.LANGUAGES) or not check_for_language(language):
        return response
    if request.user.is_authenticated:
        profiles.set_language(user=request.user, language=language)
    remember_language(response, language)
    return response


@require_POST
def set_theme(request: HttpRequest) -> HttpResponse:
    theme = request.POST.get("theme", "")
    response = no_content() if is_fragment(request) else HttpResponseRedirect(next_path(request, reverse("mnote:home")))
    if theme and theme not in THEMES:
        return response
    if request.user.is_authenticated:
        profiles.set_theme(user=request.user, theme=theme)
    remember_theme(response, theme)
    return response


def remember_language(response: HttpResponse, language: str) -> None:
    """Set the cookie; "" leaves the browser's own choice alone."""
    if language in dict(settings.LANGUAGES):
        _set_cookie(response, settings.LANGUAGE_COOKIE_NAME, language)


def remember_theme(response: HttpResponse, theme: str) -> None:
    """Set the cookie; "" removes it: the system decides."""
    if theme in THEMES:
        _set_cookie(response, THEME_COOKIE, theme)
    else:
        response.delete_cookie(THEME_COOKIE, samesite="Lax")


def _set_cookie(response: HttpResponse, name: str, value: str) -> None:
    response.set_cookie(name, value, max_age=_ONE_YEAR, secure=settings.SECURE_COOKIES, httponly=True, samesite="Lax")
