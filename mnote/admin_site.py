"""The admin: the same login as everywhere, our name on it."""

from __future__ import annotations

from django.contrib.admin.apps import AdminConfig
from django.contrib.admin.sites import AdminSite
from django.utils.translation import gettext_lazy as _


class MNoteAdminSite(AdminSite):
    site_header = _("MNote administration")
    site_title = _("MNote administration")
    index_title = _("What this installation holds")


class MNoteAdminConfig(AdminConfig):
    default_site = "mnote.admin_site.MNoteAdminSite"
