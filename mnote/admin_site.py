"""The admin: the same login as everywhere, our name on it."""

from __future__ import annotations

from typing import Any

from django.contrib.admin.apps import AdminConfig
from django.contrib.admin.sites import AdminSite
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext_lazy as _


class MNoteAdminSite(AdminSite):
    site_header = _("MNote administration")
    site_title = _("MNote administration")
    index_title = _("What this installation holds")

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:  # noqa: ARG002
        """Send people to the one sign-in page there is; for those who are signed in and no administrators there is
        nothing here."""
        from django.contrib.auth.views import redirect_to_login  # noqa: PLC0415 needs the models, which load later

        wanted = request.GET.get(REDIRECT_FIELD_NAME, "")
        if self.has_permission(request):
            return redirect("admin:index")
        if request.user.is_authenticated:
            raise Http404
        return redirect_to_login(wanted or reverse("admin:index"))


class MNoteAdminConfig(AdminConfig):
    default_site = "mnote.admin_site.MNoteAdminSite"
