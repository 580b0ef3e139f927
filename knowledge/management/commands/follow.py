"""Follow the indexing of one knowledge base, then ask it a question."""

from __future__ import annotations

import signal
import sys
import time
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils.translation import gettext as _

from knowledge import shapes
from knowledge.citations.locators import LocatorState
from knowledge.models import KnowledgeBase
from knowledge.selectors.progress import Progress, progress_of
from knowledge.services import opening, query, references, search
from mnote.exceptions import AppError
from mnote.principals import Principal

_LOOK_SECONDS = 0.5
_SAY_SECONDS = 2.0


class Command(BaseCommand):
    """Print how indexing goes; then the answer with its citations; then wait, when an address was given."""

    help = "Follow the indexing of a knowledge base, then ask it a question."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("kb_id")
        parser.add_argument("--ask", default="")
        parser.add_argument("--address", default="")

    def handle(self, *_args: Any, kb_id: str, ask: str, address: str, **__: Any) -> None:
        kb = KnowledgeBase.objects.select_related("workspace", "owner").get(id=kb_id)
        if address:
            self.stdout.write(_("Sign in once with this link: %(address)s") % {"address": address})
        done = self._follow(kb)
        question = ask or _suggestion(kb)
        opens = self._answer(kb, question) if question and done.searchable else False
        if address:
            self.stdout.write(_("MNote keeps serving. Ctrl-C stops it."))
            self.stdout.flush()
            signal.pause()
        sys.exit(0 if done.searchable and opens else 1)

    def _follow(self, kb: KnowledgeBase) -> Progress:
        """Wait until nothing is waiting or being read, saying how far it is."""
        said = ""
        said_at = 0.0
        while True:
            now = progress_of(kb)
            line = _line(now)
            if line != said and (time.monotonic() - said_at > _SAY_SECONDS or not now.is_busy):
                self.stdout.write(line)
                self.stdout.flush()
                said, said_at = line, time.monotonic()
            if not now.is_busy:
                return now
            time.sleep(_LOOK_SECONDS)

    def _answer(self, kb: KnowledgeBase, question: str) -> bool:
        """Print an answer; return whether one of its citations opens exactly."""
        principal = Principal(user=kb.owner)
        scope = search.Scope(workspace=kb.workspace, kb_ids=(kb.id,))
        result = query.ask(principal=principal, scope=scope, question=question)
        self.stdout.write(f"\n? {question}")
        self.stdout.write(result.answer.text or _("Nothing in these documents answers this."))
        opened = False
        for number, reference in enumerate(result.citations, start=1):
            state = _state(principal, reference)
            opened = opened or state is LocatorState.EXACT
            self.stdout.write(f"  [{number}] {shapes.short_place(reference.locator)}  ({_told(state)})")
        self.stdout.flush()
        return opened


def _line(now: Progress) -> str:
    if now.is_busy and not now.total:
        return _("Looking through the folder …")
    text = _("%(done)d of %(total)d searchable") % {"done": now.searchable, "total": now.total}
    extra = [_("%(n)d failed") % {"n": now.failed}] if now.failed else []
    extra += [_("%(n)d skipped") % {"n": now.skipped}] if now.skipped else []
    return " · ".join([text, *extra])


def _state(principal: Principal, reference: references.Reference) -> LocatorState:
    try:
        return opening.open_citation(principal=principal, token=references.read_token(reference.token)).state
    except AppError:
        return LocatorState.GONE


def _told(state: LocatorState) -> str:
    words = {
        LocatorState.EXACT: _("opens exactly"),
        LocatorState.MOVED: _("moved"),
        LocatorState.CHANGED: _("changed"),
        LocatorState.GONE: _("gone"),
    }
    return words.get(state, state.value)


def _suggestion(kb: KnowledgeBase) -> str:
    """Ask about the longest title when no question was given: something in there will answer it."""
    titles = kb.documents.filter(is_searchable=True).values_list("title", flat=True)[:200]
    return max(titles, key=len, default="")
