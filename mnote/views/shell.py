"""What every page's frame needs. Nothing is read from the database before a template asks for it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from mnote.htmx import is_fragment
from mnote.models import Workspace
from mnote.principals import Principal
from mnote.selectors import access, health

THEME_COOKIE = "mnote_theme"
THEMES = ("light", "dark")

#: Page, icon, word, and the beginnings of the names of all pages that belong there; the first that fits counts.
#: A page that no app serves has no entry.
_PLACES: list[tuple[str, str, Promise, tuple[str, ...]]] = [
    ("mnote:home", "home", gettext_lazy("Home"), ("mnote:home",)),
    ("knowledge:files", "folder", gettext_lazy("Files"), ("knowledge:files", "knowledge:open", "knowledge:wiki")),
    ("knowledge:search", "search", gettext_lazy("Search"), ("knowledge:search",)),
    ("knowledge:activity", "pulse", gettext_lazy("Activity"), ("knowledge:activity",)),
    ("knowledge:kb-list", "book", gettext_lazy("Knowledge bases"), ("knowledge:",)),
]
#: The order in which they are shown.
_ORDER = ("mnote:home", "knowledge:files", "knowledge:kb-list", "knowledge:search", "knowledge:activity")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One entry of the rail."""

    url: str
    icon: str
    word: str | Promise
    is_current: bool


class Shell:
    """The frame of one request's page."""

    def __init__(self, request: HttpRequest) -> None:
        self._request = request

    @property
    def theme(self) -> str:
        """`light`, `dark`, or "" for what the system says."""
        theme = self._request.COOKIES.get(THEME_COOKIE, "")
        return theme if theme in THEMES else ""

    @property
    def csrf_cookie(self) -> str:
        return settings.CSRF_COOKIE_NAME

    @cached_property
    def places(self) -> list[Place]:
        """The entries of the rail, the one the page belongs to marked."""
        if self._principal is None:
            return []
        match = self._request.resolver_match
        page = match.view_name if match else ""
        current = next((name for name, _icon, _word, own in _PLACES if page.startswith(own)), "")
        return [
            Place(url=url, icon=icon, word=word, is_current=name == current)
            for name, icon, word, _own in sorted(_PLACES, key=lambda place: _ORDER.index(place[0]))
            if (url := _url_of(name))
        ]

    @cached_property
    def workspaces(self) -> list[Workspace]:
        return list(access.workspaces_for(self._principal)) if self._principal else []

    @cached_property
    def stopped_since(self) -> datetime | None:
        """Since when no worker shows a sign of life; None while one does, and for people who are not signed in."""
        return health.stopped_since() if self._principal else None

    @property
    def error_frame(self) -> str:
        """What an error is shown in: the whole page, or a strip when htmx asked for a part."""
        return "mnote/error_part.html" if is_fragment(self._request) else "mnote/error_page.html"

    @property
    def words(self) -> dict[str, str]:
        """The sentences that scripts show."""
        return {
            "offline": _("The server does not answer. What you see is as of %(time)s; trying again."),
            "signedOut": _("You are signed out. Sign in again to go on; what you typed stays here."),
            "failed": _("Something went wrong on the server. Nothing was changed; try again in a moment."),
            "noAnswer": _("The server could not be reached. Try again in a moment."),
            "copied": _("Copied"),
            "notCopied": _("Could not be copied. Select the text and copy it by hand."),
            "dirty": _("Close and lose what you typed?"),
            "selected": _("%(count)s selected"),
        }

    @cached_property
    def _principal(self) -> Principal | None:
        return getattr(self._request, "principal", None)


def shell(request: HttpRequest) -> dict[str, Any]:
    """Template context of the frame."""
    return {"shell": Shell(request)}


def _url_of(name: str) -> str:
    try:
        return reverse(name)
    except NoReverseMatch:
        return ""
