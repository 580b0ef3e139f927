"""What the search pages show: the question and its scope, the answer, each hit and why it is one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from knowledge.citations.locators import LocatorKind
from knowledge.exceptions import public_error
from knowledge.models import IndexStatus, KnowledgeBase
from knowledge.providers.base import ProviderError
from knowledge.querysets import visible_kbs
from knowledge.rendering.matched_words import Excerpt, Match, excerpt_of, marked, matches, missing_words
from knowledge.selectors.counts import counts_for
from knowledge.services import query
from knowledge.services.query import QueryResult
from knowledge.services.references import Reference
from knowledge.services.search import Scope
from knowledge.shapes import citation_label, citation_markdown, open_url, short_place
from knowledge.views import search_words
from knowledge.views.addresses import page_image_url, raw_url
from knowledge.views.choosing import principal_of
from knowledge.views.search_choices import COUNTS, Chosen, chosen_of, reads_everything
from mnote.exceptions import AppError, Invalid, NotFound
from mnote.models import Workspace
from mnote.templatetags.mnote_ui import calendar_words, page_url

EXCERPT_CHARS = 420
_BLANK_LINES = re.compile(r"\n\s*\n")
MAX_QUESTION = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class HitView:
    """One hit as a card shows it. `full` is "" when the excerpt is all of the passage."""

    rank: int
    reference: Reference
    url: str
    excerpt: SafeString
    is_cut_before: bool
    is_cut_after: bool
    full: SafeString | str
    place: str
    section: SafeString
    citation: str
    around_url: str
    document_url: str
    found_by: str | Promise
    words: tuple[str, ...]
    missing: tuple[str, ...]
    score: str
    score_kind: str | Promise

    @property
    def name(self) -> str:
        return self.reference.document.name

    @property
    def status(self) -> str:
        return self.reference.document.index_status

    @property
    def status_text(self) -> str:
        """The lamp's word; of a file that changed since it was indexed what that means here."""
        return _("file changed since") if self.status == IndexStatus.STALE else ""

    @property
    def is_degraded(self) -> bool:
        return self.reference.locator.degraded

    @property
    def picture_url(self) -> str:
        """The picture, or the page of a scan, in which it was found; "" where the passage has words of the file."""
        document, locator = self.reference.document, self.reference.locator
        if self.excerpt or document.index_status != IndexStatus.INDEXED:
            return ""
        if locator.kind is LocatorKind.IMAGE_REGION:
            return raw_url(document.root, document.source_path)
        page = locator.parts.get("page") if locator.kind is LocatorKind.PDF_REGION else None
        return page_image_url(document.root, document.source_path, page=page, w=600) if page else ""

    @property
    def also_at(self) -> tuple[str, ...]:
        return self.reference.also_at

    @property
    def kb(self) -> KnowledgeBase:
        return self.reference.document.kb


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The hits of one document, in the order of their ranks."""

    hits: Sequence[HitView]

    @property
    def first(self) -> HitView:
        return self.hits[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cited:
    """A citation of the answer: its number, where it opens, and what people call it."""

    number: int
    url: str
    label: str
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One sentence of the answer and the citation that says it."""

    text: str
    cited: Cited


class SearchPage:
    """One look at the search page. The search runs when the template first asks for something of it."""

    def __init__(self, request: HttpRequest, kb: KnowledgeBase | None = None) -> None:
        self._request = request
        self._principal = principal_of(request)
        self.kb = kb
        self.chosen: Chosen = chosen_of(request.GET)

    @cached_property
    def kbs(self) -> list[KnowledgeBase]:
        """Every knowledge base that may be searched from here."""
        rows = visible_kbs(self._principal).select_related("workspace", "profile").order_by("workspace__name", "name")
        return [self.kb] if self.kb else list(rows)

    @cached_property
    def searched(self) -> list[KnowledgeBase]:
        """The chosen ones; all when none is chosen. Raises NotFound for one that is not visible."""
        if self.kb or not self.chosen.kb_ids:
            return self.kbs
        found = [kb for kb in self.kbs if kb.id in self.chosen.kb_ids]
        if len(found) != len(set(self.chosen.kb_ids)):
            raise NotFound
        return found

    @property
    def is_asked(self) -> bool:
        return bool(self.chosen.question) and bool(self.searched)

    @property
    def is_too_long(self) -> bool:
        return len(self.chosen.question) > MAX_QUESTION

    @property
    def counts(self) -> tuple[int, ...]:
        return COUNTS

    @property
    def max_question(self) -> int:
        return MAX_QUESTION

    @cached_property
    def _outcome(self) -> tuple[QueryResult | None, AppError | None]:
        if not self.is_asked or self.is_too_long:
            return None, None
        try:
            result = query.ask_everywhere(
                principal=self._principal,
                scopes=self._scopes(),
                question=self.chosen.question,
                top_k=self.chosen.count,
                mode=self.chosen.mode,
            )
        except ProviderError as error:
            return None, public_error(error)
        except Invalid:
            return None, None
        return result, None

    @property
    def result(self) -> QueryResult | None:
        return self._outcome[0]

    @property
    def problem(self) -> AppError | None:
        """Why there is no answer: the indexing service failed."""
        return self._outcome[1]

    @property
    def silent(self) -> list[search_words.Words]:
        """What could not be searched, each in a sentence."""
        return search_words.silent(self.result.found.silent) if self.result else []

    @property
    def down_since(self) -> str:
        """Since when the service fails that gives no answer, "" where nobody knows."""
        since = self.problem.extra.get("since") if self.problem else None
        return calendar_words(datetime.fromisoformat(since)) if since else ""

    @cached_property
    def hits(self) -> list[HitView]:
        references = self.result.found.references if self.result else ()
        return [self._hit(rank, reference) for rank, reference in enumerate(references, start=1)]

    @property
    def groups(self) -> list[Group]:
        by_document: dict[str, list[HitView]] = {}
        for hit in self.hits:
            by_document.setdefault(hit.reference.document.id, []).append(hit)
        return [Group(hits=hits) for hits in by_document.values()]

    @cached_property
    def answer(self) -> list[Said]:
        """The answer's sentences."""
        if self.result is None:
            return []
        by_reference = dict(zip(self.result.answer.cited, self.citations, strict=True))
        return [Said(text=each.text, cited=by_reference[each.reference]) for each in self.result.answer.sentences]

    @cached_property
    def citations(self) -> list[Cited]:
        cited = self.result.citations if self.result else ()
        return [
            Cited(
                number=number,
                url=_address(each),
                label=citation_label(each.locator),
                place=short_place(each.locator),
            )
            for number, each in enumerate(cited, start=1)
        ]

    @cached_property
    def waiting(self) -> int:
        """How many documents of the searched knowledge bases are still to be read."""
        return sum(counts.active for counts in self._counts.values())

    @property
    def is_anything_searchable(self) -> bool:
        return any(counts.searchable for counts in self._counts.values())

    @cached_property
    def _counts(self) -> dict[str, Any]:
        return counts_for(self._principal, self.searched)

    @property
    def candidates(self) -> int | None:
        """How many hits there were to choose from; nobody is told of hits they may not read."""
        if self.result is None or not (self._principal.is_administrator or self._reads_everything):
            return None
        return self.result.found.candidates

    @property
    def dropped_forbidden(self) -> int:
        return self.result.found.dropped_forbidden if self.result and self._principal.is_administrator else 0

    @property
    def notes(self) -> list[str | Promise]:
        return search_words.notes(self.result.found.notes) if self.result else []

    @property
    def announcement(self) -> str:
        return search_words.count_words(len(self.hits)) if self.result else ""

    @property
    def scope_name(self) -> str:
        return search_words.scope_name(self.searched, is_all=self.kb is None and not self.chosen.kb_ids)

    @property
    def path(self) -> str:
        """The page's address without its query."""
        return self._request.path

    def address(self, **changes: Any) -> str:
        return f"{self.path}?{urlencode(self.chosen.query(**changes), doseq=True)}".removesuffix("?")

    @property
    def ungrouped_url(self) -> str:
        return self.address(group="")

    @property
    def grouped_url(self) -> str:
        return self.address(group="document")

    @property
    def widened_url(self) -> str:
        """The same question without anything that narrows it."""
        return self.address(kb=(), path="", type=(), tag=())

    @property
    def several_url(self) -> str:
        """The same question on the page on which several knowledge bases can be chosen."""
        chosen = self.chosen.query(kb=(self.kb.id,) if self.kb else self.chosen.kb_ids)
        return f"{reverse('knowledge:search')}?{urlencode(chosen, doseq=True)}"

    @cached_property
    def _reads_everything(self) -> bool:
        return reads_everything(self._principal, {kb.workspace_id for kb in self.searched})

    def _scopes(self) -> list[Scope]:
        by_workspace: dict[Workspace, list[str]] = {}
        for kb in self.searched:
            by_workspace.setdefault(kb.workspace, []).append(kb.id)
        return [
            Scope(
                workspace=workspace,
                kb_ids=tuple(ids),
                paths=(self.chosen.path,) if self.chosen.path else (),
                tags=self.chosen.tags,
                source_types=self.chosen.types,
            )
            for workspace, ids in by_workspace.items()
        ]

    def _hit(self, rank: int, reference: Reference) -> HitView:
        text = _without_heading(reference)
        found = matches(text, self.chosen.question)
        section = " › ".join(reference.locator.section_path)
        part = excerpt_of(text, found, chars=EXCERPT_CHARS)
        url = _address(reference)
        document = reference.document
        around = {"cite": reference.token, "q": self.chosen.question}
        return HitView(
            rank=rank,
            reference=reference,
            url=url,
            excerpt=_closed_up(marked(text, found, part)),
            is_cut_before=part.is_cut_before,
            is_cut_after=part.is_cut_after,
            full=marked(text, found) if part.is_cut else "",
            place=short_place(reference.locator),
            section=marked(section, matches(section, self.chosen.question)),
            citation=citation_markdown(reference.locator, self._request.build_absolute_uri(url)),
            around_url=f"{reverse('knowledge:search-around')}?{urlencode(around)}",
            document_url=page_url("knowledge:document", document.kb_id, document.id),
            found_by=search_words.found_by(reference.hit.match_type, has_marks=bool(found)),
            words=_as_written(text, found, part),
            missing=tuple(missing_words(self.chosen.question, found)),
            score=search_words.raw_score(reference.hit.score),
            score_kind=search_words.score_kind(reference.hit.match_type),
        )


def _address(reference: Reference) -> str:
    return open_url(reference.document.root, reference.locator, reference.token)


def _closed_up(html: SafeString) -> SafeString:
    """Leave out blank lines. A line break never stands inside a tag."""
    return mark_safe(_BLANK_LINES.sub("\n", html).strip("\n"))  # noqa: S308 it was safe before


def _without_heading(reference: Reference) -> str:
    """Return the passage without the heading it begins with, which stands above it as its section already."""
    text = reference.quote
    heading, _newline, rest = text.partition("\n")
    title = reference.locator.section_path[-1:]
    is_repeated = heading.startswith("#") and (heading.strip("# \t"),) == title and bool(rest.strip())
    return rest.lstrip("\n") if is_repeated else text


def _as_written(text: str, found: Iterable[Match], part: Excerpt) -> tuple[str, ...]:
    """Return the marked words as they stand in the passage, each once, those of the excerpt first."""
    ordered = sorted(found, key=lambda match: not part.start <= match.start < part.end)
    return tuple(
        {text[match.start : match.end].casefold(): text[match.start : match.end] for match in ordered}.values()
    )
