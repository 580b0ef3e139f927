"""What the drawer, or the page, of one document shows. Each tab is worked out when its template asks for it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy, pgettext_lazy

from knowledge.citations.locators import MapState
from knowledge.file_words import type_word
from knowledge.models import Document, IndexStatus
from knowledge.parsing.registry import parser_for, type_for_name
from knowledge.parsing.source_map import SourceMap
from knowledge.place_words import places_sentence
from knowledge.reasons import Reason, reason_for
from knowledge.selectors import lamps
from knowledge.selectors.document_facts import equals_of
from knowledge.selectors.document_lists import Neighbours
from knowledge.selectors.kb_folders import places_of
from knowledge.selectors.lamps import KbState
from knowledge.services import artifacts, mapping
from knowledge.views.addresses import files_url, page_image_url, pane_url, raw_url
from knowledge.views.choosing import number_of
from knowledge.views.document_text import ChunksTab, TextTab
from knowledge.views.document_words import StateView, state_of
from knowledge.views.kb_frame import KBFrame
from knowledge.views.list_state import ListState, address
from knowledge.views.processing import Processing
from mnote.exceptions import NotFound

TABS: tuple[tuple[str, Promise], ...] = (
    ("overview", gettext_lazy("Overview")),
    ("preview", gettext_lazy("Preview")),
    ("text", pgettext_lazy("tab of a document", "Text")),
    ("chunks", pgettext_lazy("tab of a document", "Chunks")),
    ("processing", gettext_lazy("Processing")),
)
_PICTURES = frozenset({"png", "jpg", "jpeg", "gif", "webp", "svg", "avif", "bmp", "ico"})
#: Parts of an address that belong to one tab and are left behind with it.
_OWN = ("find", "hit", "p", "from", "to")
_HASH_SHOWN = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Tab:
    key: str
    word: str | Promise
    url: str
    is_current: bool
    count: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """Another document: its path and address; `note` says in which knowledge base, where that is another one."""

    path: str
    url: str
    note: str = ""


class DocumentView:
    """One readable document of a knowledge base. Raises NotFound."""

    def __init__(self, request: HttpRequest, frame: KBFrame, document_id: str) -> None:
        self.request = request
        self.frame = frame
        self.principal = frame.principal
        self.state = ListState(frame.kb, request.GET, places_of(frame.reader))
        self.document = _document(frame, document_id)
        asked = request.GET.get("tab", "")
        self.tab = asked if asked in dict(TABS) else "overview"
        self.position = number_of(request.GET, "n")

    @property
    def name(self) -> str:
        return self.document.name

    @property
    def folder(self) -> str:
        return self.document.source_path.rpartition("/")[0]

    @property
    def tabs(self) -> list[Tab]:
        count = self.document.chunk_count
        return [
            Tab(
                key=key,
                word=word,
                url=self.url(tab=key if key != "overview" else ""),
                is_current=key == self.tab,
                count=count if key == "chunks" and count else None,
            )
            for key, word in TABS
        ]

    @property
    def template(self) -> str:
        return f"knowledge/document_{self.tab}.html"

    @cached_property
    def lamp(self) -> StateView:
        return state_of(self.document)

    @property
    def address(self) -> str:
        """The canonical address of what is shown."""
        own = {name: self.request.GET.get(name, "") for name in _OWN}
        return self.url(tab=self.tab if self.tab != "overview" else "", **own)

    @property
    def list_url(self) -> str:
        """The list this document was opened from."""
        return self.state.url()

    @cached_property
    def neighbours(self) -> Neighbours | None:
        if self.position is None:
            return None
        return self.frame.reader.neighbours(self.state.filters, document_id=self.document.pk, position=self.position)

    @property
    def left_the_list(self) -> bool:
        """Whether it was opened from a list that does not hold it any more."""
        return self.position is not None and self.neighbours is None

    @property
    def previous_url(self) -> str:
        found = self.neighbours
        return self._step_url(found.previous_id, found.position - 1) if found and found.previous_id else ""

    @property
    def next_url(self) -> str:
        found = self.neighbours
        return self._step_url(found.next_id, found.position + 1) if found and found.next_id else ""

    @property
    def pane_url(self) -> str:
        return pane_url(self.document.root, self.document.source_path)

    @property
    def files_url(self) -> str:
        return files_url(self.document.root, self.folder)

    @property
    def batch_url(self) -> str:
        return reverse("knowledge:kb-batch", args=[self.frame.kb.pk])

    @property
    def own_url(self) -> str:
        return reverse("knowledge:document", args=[self.frame.kb.pk, self.document.pk])

    @property
    def filter_fields(self) -> list[tuple[str, str]]:
        """What a form of this document has to keep of its list, as names and values."""
        position = [("n", str(self.position))] if self.position else []
        return [*self.state.fields(), *position]

    def url(self, **parts: Any) -> str:
        """The address of this document in its list, with the given parts."""
        position = {"n": self.position} if self.position else {}
        given = {name: value for name, value in {**position, **parts}.items() if value}
        query = "&".join(part for part in (self.state.query(), urlencode(given)) if part)
        return address(self.own_url, query)

    # --- Overview.

    @property
    def reason(self) -> Reason | None:
        return reason_for(self.document.reason_code) if self.document.reason_code else None

    @property
    def is_failed(self) -> bool:
        return self.document.index_status == IndexStatus.FAILED

    @property
    def is_stale(self) -> bool:
        """Whether search still holds an older version than the file."""
        document = self.document
        older = bool(document.indexed_hash and document.source_hash and document.indexed_hash != document.source_hash)
        return document.index_status == IndexStatus.STALE or (document.is_searchable and older)

    @property
    def is_gone(self) -> bool:
        return self.document.index_status == IndexStatus.DELETED

    @property
    def is_active(self) -> bool:
        return self.document.index_status in (IndexStatus.QUEUED, IndexStatus.PARSING)

    @property
    def is_skipped(self) -> bool:
        return self.document.index_status == IndexStatus.SKIPPED

    @property
    def changed_at(self) -> datetime | None:
        mtime = self.document.mtime_ns
        return datetime.fromtimestamp(mtime / 1e9, tz=UTC) if mtime else None

    @property
    def type(self) -> str | Promise:
        return type_word(self.name)

    @property
    def pages(self) -> int:
        return int(self.document.metadata_json.get("pages") or 0)

    @property
    def lines(self) -> int:
        return int(self.document.metadata_json.get("lines") or 0)

    @property
    def places(self) -> str | Promise:
        """How exactly its passages are known to stand, where the indexing service read the file."""
        document = self.document
        if not document.is_searchable or not mapping.is_read_by_provider(document):
            return ""
        return places_sentence(mapping.facts_of(document.citation_locator_json)[0], document.source_type)

    @property
    def place_counts(self) -> tuple[int, int]:
        """How many passages have their exact place, of how many with words."""
        counts = mapping.facts_of(self.document.citation_locator_json)[1]
        counts.pop(MapState.NO_TEXT, None)
        return counts.get(MapState.EXACT, 0), sum(counts.values())

    @property
    def contradicted_places(self) -> int:
        """How many passages have no place because the indexing service names another page than ours."""
        return mapping.contradicted(self.document.citation_locator_json) if self.places else 0

    @property
    def short_hash(self) -> str:
        return self.document.source_hash.removeprefix("sha256:")[:_HASH_SHOWN]

    @cached_property
    def equals(self) -> list[Link]:
        return [
            Link(
                path=row.source_path,
                url=reverse("knowledge:document", args=[row.kb_id, row.pk]),
                note=row.kb.name if row.kb_id != self.frame.kb.pk else "",
            )
            for row in equals_of(self.principal, self.document)
        ]

    @cached_property
    def other_bases(self) -> list[KbState]:
        """The other knowledge bases this very file is in."""
        lamp = lamps.file_lamp(self.principal, self.document.root, self.document.source_path)
        return [each for each in (lamp.states if lamp else ()) if each.kb_id != self.frame.kb.pk]

    # --- Preview, text, chunks, processing.

    @property
    def is_picture(self) -> bool:
        return self.name.rpartition(".")[2].lower() in _PICTURES

    @property
    def picture_url(self) -> str:
        return raw_url(self.document.root, self.document.source_path)

    @property
    def first_page_url(self) -> str:
        """A picture of the first page of a PDF, "" for other files."""
        if self.document.source_type != "pdf" or self.is_gone:
            return ""
        return page_image_url(self.document.root, self.document.source_path, page=1, w=900)

    @cached_property
    def source_map(self) -> SourceMap | None:
        """The text as it was indexed, or as it was read last; None when there is none (any more)."""
        for source_hash in dict.fromkeys((self.document.indexed_hash, self.document.source_hash)):
            if source_hash and (found := self._map_of(source_hash)) is not None:
                return found
        return None

    @cached_property
    def text(self) -> TextTab | None:
        return TextTab(self, self.source_map) if self.source_map else None

    @cached_property
    def excerpt(self) -> TextTab | None:
        return TextTab(self, self.source_map, lines=40) if self.source_map else None

    @cached_property
    def chunks(self) -> ChunksTab:
        return ChunksTab(self)

    @cached_property
    def processing(self) -> Processing:
        return Processing(self.document)

    def _map_of(self, source_hash: str) -> SourceMap | None:
        """What the parser of this type made of a content, even if today's would make something else of it."""
        found = type_for_name(self.name)
        if found is None or not found.parser:
            return None
        provider = parser_for(self.name).provider_id
        return artifacts.load(workspace_id=self.document.workspace_id, source_hash=source_hash, provider=provider)

    def _step_url(self, document_id: str, position: int) -> str:
        path = reverse("knowledge:document", args=[self.frame.kb.pk, document_id])
        given = {"n": position, **({"tab": self.tab} if self.tab != "overview" else {})}
        query = "&".join(part for part in (self.state.query(), urlencode(given)) if part)
        return address(path, query)


def _document(frame: KBFrame, document_id: str) -> Document:
    rows = frame.reader.readable.select_related("root__workspace", "source__root", "kb__workspace")
    found = rows.filter(pk=document_id).first() if "\0" not in document_id else None
    if found is None:
        raise NotFound
    return found
