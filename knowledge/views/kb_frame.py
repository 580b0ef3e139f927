"""The frame of every tab of one knowledge base: name, strips, counters, progress, tabs, and the poller that keeps them
fresh. A tab's template extends `knowledge/kb_frame.html` and gets `frame` in its context."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy

from knowledge.models import IndexStatus, KnowledgeBase, ProviderOutage, SyncRun
from knowledge.reasons import reason_for
from knowledge.selectors.document_lists import DocumentReader
from knowledge.selectors.kb_heads import KBHead, head_of
from knowledge.services import knowledge_bases
from knowledge.views.choosing import principal_of
from knowledge.views.list_state import ListState, address
from mnote.ids import text_key
from mnote.models import ROLE_ORDER, Role
from mnote.templatetags.mnote_ui import age_words, calendar_words, number

#: The states in the order in which people ask for them.
_COUNTED = (
    IndexStatus.INDEXED, IndexStatus.PARSING, IndexStatus.QUEUED, IndexStatus.FAILED, IndexStatus.STALE,
    IndexStatus.DELETED, IndexStatus.SKIPPED,
)  # fmt: skip
#: Page, word. A tab that no app serves is not shown.
_TABS: tuple[tuple[str, Promise], ...] = (
    ("kb-detail", gettext_lazy("Documents")),
    ("kb-sources", gettext_lazy("Sources")),
    ("kb-runs", gettext_lazy("Sync runs")),
    ("kb-activity", pgettext_lazy("what was done", "Activity")),
)
#: Seconds between two looks, by how long nothing has changed.
_CADENCE = ((120, 2), (600, 5))
_SLOW = 15
_SAID_SECONDS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Counter:
    """How many documents are in one state; pressing it filters by it."""

    status: str
    count: int
    url: str
    is_on: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Tab:
    url: str
    word: str | Promise
    is_current: bool
    count: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """A sentence about the whole knowledge base. `run` is the sync it is about; `is_decision` says that a person has
    to decide about it."""

    kind: str
    sentence: str
    run: SyncRun | None = None
    is_decision: bool = False


class KBFrame:
    """One visible knowledge base. `tab` is the name of the current page, `state` its list where it shows one.

    Raises NotFound, or Forbidden when the person's role is below `role`.
    """

    def __init__(self, request: HttpRequest, kb_id: str, *, tab: str, role: Role = Role.VIEWER) -> None:
        self.request = request
        self.principal = principal_of(request)
        self.kb: KnowledgeBase = knowledge_bases.get_kb(principal=self.principal, kb_id=kb_id, role=role)
        self.reader = DocumentReader(self.principal, self.kb)
        self.tab = tab
        self.state: ListState | None = None
        self.entry_count: Callable[[], int] = lambda: 0

    @cached_property
    def head(self) -> KBHead:
        return head_of(self.reader)

    @cached_property
    def can_curate(self) -> bool:
        return self._has(Role.CURATOR)

    @cached_property
    def can_manage(self) -> bool:
        return self._has(Role.MANAGER)

    @cached_property
    def url(self) -> str:
        return reverse("knowledge:kb-detail", args=[self.kb.pk])

    @property
    def counters(self) -> list[Counter]:
        on = self.state.filters.statuses if self.state else ()
        counts = self.head.counts
        shown = [each for each in _COUNTED if counts.of(each) or each in on or each == IndexStatus.INDEXED]
        return [
            Counter(status=each.value, count=counts.of(each), url=self._status_url(each.value), is_on=each in on)
            for each in shown
        ]

    @property
    def filter_fields(self) -> list[tuple[str, str]]:
        """What a form that changes one filter has to keep, as names and values."""
        return self.state.fields() if self.state else []

    @cached_property
    def tabs(self) -> list[Tab]:
        found = []
        for name, word in _TABS:
            try:
                url = reverse(f"knowledge:{name}", args=[self.kb.pk])
            except NoReverseMatch:
                continue
            if name == "kb-activity" and not self.can_curate:
                continue
            count = self.kb.sources.count() if name == "kb-sources" else None
            found.append(Tab(url=url, word=word, is_current=name == self.tab, count=count))
        return found

    @property
    def progress_text(self) -> str:
        """Where it stands in one line: how much can be searched, how long the rest takes, when it was last synced."""
        counts = self.head.counts
        parts = [
            _("%(done)s of %(total)s searchable") % {"done": number(counts.searchable), "total": number(counts.total)}
        ]
        if (seconds := self.head.seconds_left) is not None:
            parts.append(left_words(seconds))
        return " · ".join([*parts, self.sync_text])

    @property
    def sync_text(self) -> str:
        head = self.head
        if head.is_paused:
            return _("sync paused")
        if head.activity.is_syncing:
            return _("syncing")
        if head.synced_at is None:
            return _("never synced")
        return _("synced %(age)s") % {"age": age_words(head.synced_at)}

    @property
    def shows_progress(self) -> bool:
        """Whether a bar says anything: something is still to be done."""
        return self.head.counts.searchable < self.head.counts.total

    @cached_property
    def strips(self) -> list[Strip]:
        """At most two, the most severe first."""
        found = [self._unreachable(), self._held_back(), self._service(), self._paused()]
        return [strip for strip in found if strip is not None][:2]

    # --- What the poller carries from one look to the next.

    @property
    def interval(self) -> int:
        """Seconds until the next look; 0 when nothing can change by itself."""
        head = self.head
        if not head.is_busy:
            return 0
        moments = [moment for moment in (head.changed_at, head.activity.asked_at) if moment is not None]
        age = (timezone.now() - max(moments)).total_seconds() if moments else 0
        return next((seconds for limit, seconds in _CADENCE if age < limit), _SLOW)

    @cached_property
    def fingerprint(self) -> str:
        """Changes whenever anything above the tabs does."""
        head = self.head
        parts = (
            dict(head.counts.by_status), head.counts.searchable, head.activity.is_syncing, head.is_paused,
            [run.pk for run in head.stopped], head.service_down_since, head.outage.code if head.outage else "",
            head.synced_at, self.interval,
        )  # fmt: skip
        return text_key(repr(parts))[:12]

    @property
    def member_count(self) -> int:
        """Rows there are in all, left-out ones too."""
        return self.head.counts.total + self.head.counts.of(IndexStatus.SKIPPED)

    @property
    def live_url(self) -> str:
        own: dict[str, Any] = {
            "tab": self.tab,
            "rev": self.head.rev,
            "print": self.fingerprint,
            "had": self.request.GET.get("had") or self.entry_count(),
            **self._said,
        }
        query = urlencode(own)
        listed = self.state.query(page=self.state.params.get("page")) if self.state else ""
        return address(reverse("knowledge:kb-live", args=[self.kb.pk]), f"{query}&{listed}" if listed else query)

    @cached_property
    def announcement(self) -> str:
        """What readers are told of the changes since they were last told; "" when it is too early or nothing to say."""
        query = self.request.GET
        told, at = query.get("told", ""), query.get("at", "")
        if not (told.isdigit() and at.isdigit()) or timezone.now().timestamp() - int(at) < _SAID_SECONDS:
            return ""
        more = self.head.counts.searchable - int(told)
        if more <= 0:
            return ""
        words = ngettext("%(count)d more document is searchable", "%(count)d more documents are searchable", more)
        left = self.head.counts.active
        return " ".join([words % {"count": more} + ",", _("%(count)d left.") % {"count": left}])

    @property
    def _said(self) -> dict[str, int]:
        query = self.request.GET
        told, at = query.get("told", ""), query.get("at", "")
        if told.isdigit() and at.isdigit() and not self.announcement:
            return {"told": int(told), "at": int(at)}
        return {"told": self.head.counts.searchable, "at": int(timezone.now().timestamp())}

    # --- Strips.

    def _unreachable(self) -> Strip | None:
        run = self.head.unreachable
        if run is None:
            return None
        facts = {"name": self._source_name(run), "time": calendar_words(run.started_at)}
        if run.reason_code == "root_gone":
            text = _(
                "The folder “%(name)s” cannot be reached since %(time)s. Nothing was removed; searching still works."
            )
        else:
            text = _("The folder “%(name)s” could not be read to its end at %(time)s. Nothing was removed.")
        return Strip(kind="bad", sentence=text % facts, run=run)

    def _held_back(self) -> Strip | None:
        run = self.head.held_back
        if run is None:
            return None
        return Strip(
            kind="warning",
            sentence=held_back_sentence(run, name=self._source_name(run), total=self.head.counts.total),
            run=run,
            is_decision=True,
        )

    def _service(self) -> Strip | None:
        outage, since = self.head.outage, self.head.service_down_since
        if outage is not None:
            return Strip(kind="bad", sentence=self._outage(outage))
        if since is None:
            return None
        text = _("The indexing service fails since %(time)s. It is tried again by itself; searching still works.")
        if self.head.is_served_outside:
            text = _(
                "The indexing service fails since %(time)s. It is tried again by itself; documents open as before."
            )
        return Strip(kind="bad", sentence=text % {"time": calendar_words(since)})

    def _outage(self, outage: ProviderOutage) -> str:
        """What does not work and why. Nobody has to touch a document."""
        reason = reason_for(outage.code)
        if outage.key == self.kb.pk:
            text = _("All documents wait since %(time)s: %(reason)s %(next_step)s")
        else:
            text = _(
                "“%(name)s” does not work since %(time)s: %(reason)s %(next_step)s Documents open as before; searching "
                "and indexing here work again by themselves as soon as it does."
            )
        return text % {
            "name": self.kb.provider_name,
            "time": calendar_words(outage.since),
            "reason": reason.sentence,
            "next_step": reason.next_step,
        }

    def _paused(self) -> Strip | None:
        if self.kb.paused_at is None:
            return None
        text = _("Paused since %(time)s: changes of the files are not followed. Searching still works.")
        return Strip(kind="note", sentence=text % {"time": calendar_words(self.kb.paused_at)})

    def _source_name(self, run: SyncRun) -> str:
        """The folder a run looked at; the root's name where the reader may not see the folder."""
        source = run.source
        if source is None:
            return self.kb.root.name
        is_seen = self.reader.maps[source.root_id].may_enter(source.path)
        return source.path if source.path and is_seen else source.root.name

    def _status_url(self, status: str) -> str:
        if self.state is None:
            return address(self.url, urlencode({"status": status}))
        on: Sequence[str] = self.state.filters.statuses
        wanted = [each for each in on if each != status] if status in on else [*on, status]
        return self.state.url(status=",".join(wanted))

    def _has(self, role: Role) -> bool:
        held = self.head.role
        return held is not None and ROLE_ORDER.index(held) >= ROLE_ORDER.index(role)


def left_words(seconds: float) -> str:
    """Say about how long it still takes."""
    minutes = round(seconds / 60)
    if minutes < 1:
        return _("less than a minute left")
    if minutes < 90:
        return ngettext("about %(count)d min left", "about %(count)d min left", minutes) % {"count": minutes}
    hours = round(minutes / 60)
    return ngettext("about %(count)d h left", "about %(count)d h left", hours) % {"count": hours}


def held_back_sentence(run: SyncRun, *, name: str, total: int) -> str:
    """Say what a sync did not do, and why."""
    facts = {"name": name, "count": number(run.counts.get("removed", 0)), "total": number(total)}
    match run.reason_code:
        case "root_empty":
            return _("The folder “%(name)s” looks empty, so nothing of its %(count)s documents was removed.") % facts
        case "device_changed":
            return (
                _("Another folder stands where “%(name)s” was, so none of %(count)s missing documents was removed.")
                % facts
            )
    return _("The last sync would have removed %(count)s of %(total)s documents, so it removed none.") % facts
