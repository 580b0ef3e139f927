"""What the list of knowledge bases shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from knowledge.models import IndexStatus
from knowledge.selectors.kb_heads import UNREACHABLE
from knowledge.selectors.kb_lists import SORTS, TABS, KBCard, KBList, list_kbs
from knowledge.views.choosing import principal_of
from knowledge.views.kb_frame import held_back_sentence
from knowledge.views.list_state import address
from mnote.ids import text_key
from mnote.models import ROLE_ORDER, Role
from mnote.selectors import access
from mnote.services import users
from mnote.templatetags.mnote_ui import number, page_url

TAB_WORDS: dict[str, Promise] = {
    "all": gettext_lazy("All"),
    "mine": gettext_lazy("Mine"),
    "pinned": gettext_lazy("Pinned"),
    "attention": gettext_lazy("Needs attention"),
}
SORT_WORDS: dict[str, Promise] = {
    "used": gettext_lazy("Recently used"),
    "name": gettext_lazy("Name"),
    "synced": gettext_lazy("Last sync"),
    "size": gettext_lazy("Number of documents"),
    "created": gettext_lazy("Newest"),
}
VIEWS = ("cards", "rows")
#: What a person chose last, kept on the server; a default takes no row.
SORT_KEY, VIEW_KEY = "kb.list.sort", "kb.list.view"
_PATHS_SHOWN = 12
_SECONDS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """The line of a card that says whether one can rely on it. `kind` is working, waiting, trouble, good or empty."""

    kind: str
    sentence: str = ""


class Card:
    """One knowledge base in the list, ready to be shown."""

    def __init__(self, card: KBCard, *, workspace_name: str = "") -> None:
        self.card = card
        self.kb = card.kb
        self.workspace_name = workspace_name

    @property
    def url(self) -> str:
        return reverse("knowledge:kb-detail", args=[self.kb.pk])

    @property
    def is_pinned(self) -> bool:
        return self.card.pinned_at is not None

    @property
    def can_curate(self) -> bool:
        return self._has(Role.CURATOR)

    @property
    def can_manage(self) -> bool:
        return self._has(Role.MANAGER)

    @property
    def health(self) -> Health:
        counts, card = self.card.counts, self.card
        if card.is_busy and counts.total:
            if counts.searchable or counts.of(IndexStatus.PARSING) or card.activity.is_reading:
                return Health(kind="working", sentence=self.searchable_words)
            return Health(kind="waiting", sentence=self._waiting_words)
        if counts.needs_attention:
            return Health(kind="trouble")
        if counts.active:
            return Health(kind="waiting", sentence="")
        if counts.total:
            return Health(kind="good")
        if card.activity.is_syncing:
            return Health(kind="empty", sentence=_("Looking at the folders"))
        return Health(kind="empty", sentence=_("No files yet"))

    @property
    def searchable_words(self) -> str:
        counts = self.card.counts
        facts = {"done": number(counts.searchable), "total": number(counts.total)}
        return _("%(done)s of %(total)s searchable") % facts

    @property
    def stop_sentence(self) -> str:
        """What a sync did not do for safety's sake; "" when none was held back."""
        run = self.card.stopped_run
        if run is None:
            return ""
        if run.reason_code in UNREACHABLE:
            return _("A folder cannot be reached. Nothing was removed.")
        return held_back_sentence(run, name=self.kb.root.name, total=self.card.counts.total)

    @property
    def review_url(self) -> str:
        run = self.card.stopped_run
        if run is None or run.reason_code in UNREACHABLE:
            return ""
        return page_url("knowledge:run", self.kb.pk, run.pk)

    @property
    def sources_words(self) -> str:
        """What it is made of: "2 folders · 14 files"."""
        folders = self.card.folder_count
        files = len(self.card.sources) - folders
        parts = [ngettext("%(count)d folder", "%(count)d folders", folders) % {"count": folders}] if folders else []
        if files:
            parts.append(ngettext("%(count)d file", "%(count)d files", files) % {"count": files})
        return " · ".join(parts) or _("nothing added")

    @property
    def source_paths(self) -> str:
        paths = [path or self.kb.root.name for path in self.card.sources]
        more = ["…"] if len(paths) > _PATHS_SHOWN else []
        return "\n".join([*paths[:_PATHS_SHOWN], *more])

    @property
    def is_paused(self) -> bool:
        return self.kb.paused_at is not None

    @property
    def is_read_only(self) -> bool:
        return not self.can_curate

    def status_url(self, status: str) -> str:
        return address(self.url, urlencode({"status": status}))

    @property
    def failed_url(self) -> str:
        return self.status_url("failed")

    @property
    def stale_url(self) -> str:
        return self.status_url("stale")

    @property
    def _waiting_words(self) -> str:
        return _("Waiting for a free reader") if not self.card.activity.is_syncing else _("Looking at the folders")

    def _has(self, role: Role) -> bool:
        held = self.card.role
        return held is not None and ROLE_ORDER.index(held) >= ROLE_ORDER.index(role)


@dataclass(frozen=True, slots=True, kw_only=True)
class TabView:
    key: str
    word: str | Promise
    count: int
    url: str
    is_current: bool


class KBListPage:
    """The knowledge bases a person sees, in the order and form the person last chose."""

    def __init__(self, request: HttpRequest) -> None:
        self._request = request
        self.principal = principal_of(request)
        query = request.GET
        kept = users.preferences_of(self.principal.user) if not {"sort", "view"} <= query.keys() else {}
        self.query = query.get("q", "").strip()[:200]
        self.tab = query.get("tab", "") if query.get("tab") in TABS else "all"
        self.sort = _one_of(SORTS, query.get("sort"), kept.get(SORT_KEY))
        self.view = _one_of(VIEWS, query.get("view"), kept.get(VIEW_KEY))

    @cached_property
    def found(self) -> KBList:
        return list_kbs(self.principal, query=self.query, tab=self.tab, sort=self.sort)

    @cached_property
    def cards(self) -> list[Card]:
        cards = self.found.cards
        names = {card.kb.workspace_id: card.kb.workspace.name for card in cards}
        return [Card(card, workspace_name=card.kb.workspace.name if len(names) > 1 else "") for card in cards]

    @property
    def groups(self) -> list[tuple[str, Sequence[Card]]]:
        """The pinned ones under a heading of their own, where there are both."""
        pinned = [card for card in self.cards if card.is_pinned]
        others = [card for card in self.cards if not card.is_pinned]
        if not pinned or not others or self.tab == "pinned":
            return [("", self.cards)]
        return [(_("Pinned"), pinned), (_("All the others"), others)]

    @property
    def tabs(self) -> list[TabView]:
        counts = self.found.tab_counts
        return [
            TabView(key=key, word=TAB_WORDS[key], count=counts[key], url=self.url(tab=key), is_current=key == self.tab)
            for key in TABS
        ]

    @property
    def sorts(self) -> list[tuple[str, Promise, str]]:
        return [(key, SORT_WORDS[key], self.url(sort=key)) for key in SORTS]

    @property
    def sort_word(self) -> Promise:
        return SORT_WORDS[self.sort]

    @property
    def other_view_url(self) -> str:
        return self.url(view="rows" if self.view == "cards" else "cards")

    def url(self, **changes: str) -> str:
        """The address of this list with some parts changed. Sort and view are named only when they are changed: what
        a person chose is kept."""
        known = {"q": self.query, "tab": self.tab if self.tab != "all" else ""}
        merged = known | {name: value if (name, value) != ("tab", "all") else "" for name, value in changes.items()}
        return address(
            reverse("knowledge:kb-list"), urlencode({name: value for name, value in merged.items() if value})
        )

    # --- What may be done, and what there is to say where nothing is shown.

    @cached_property
    def has_any(self) -> bool:
        """Whether the person sees any knowledge base, whatever is searched for."""
        return bool(self.found.tab_counts["all"]) or (bool(self.query) and bool(list_kbs(self.principal).cards))

    @cached_property
    def can_create(self) -> bool:
        """Whether there is a workspace with a folder in which the person may make one."""
        return any(self._manages.values())

    @cached_property
    def has_root(self) -> bool:
        return bool(self._manages)

    @cached_property
    def _manages(self) -> dict[str, bool]:
        """Workspaces in which the person sees a folder, and whether the person manages them."""
        workspaces = list(access.workspaces_for(self.principal))
        roots = access.visible_roots(self.principal, workspaces)
        roles = access.roles_in(self.principal, workspaces)
        strong = {Role.MANAGER, Role.OWNER}
        return {workspace.pk: roles.get(workspace.pk) in strong for workspace in workspaces if roots.get(workspace.pk)}

    # --- The poller.

    @property
    def busy(self) -> list[Card]:
        return [card for card in self.cards if card.card.is_busy]

    @property
    def interval(self) -> int:
        """Seconds until the next look; 0 when nothing goes on."""
        return _SECONDS if self.busy else 0

    @cached_property
    def fingerprint(self) -> str:
        """Changes whenever a health line does."""
        parts: list[Any] = [
            (card.kb.pk, dict(card.card.counts.by_status), card.card.counts.searchable, card.card.is_busy,
             card.card.activity.is_syncing, card.is_paused, card.card.synced_at, bool(card.card.stopped_run))
            for card in self.cards
        ]  # fmt: skip
        return text_key(repr(parts))[:12]

    @property
    def live_url(self) -> str:
        kept = {"q": self.query, "tab": self.tab, "sort": self.sort, "view": self.view, "print": self.fingerprint}
        return address(
            reverse("knowledge:kb-list-live"), urlencode({name: value for name, value in kept.items() if value})
        )


def _one_of(allowed: Sequence[str], *given: Any) -> str:
    return next((value for value in given if value in allowed), allowed[0])
