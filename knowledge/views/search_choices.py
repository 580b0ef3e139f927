"""What narrows a search: read from the address, offered to choose from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict
from django.utils.functional import Promise

from knowledge.file_words import TYPE_WORDS
from knowledge.models import Document, DocumentTag, KnowledgeBase
from knowledge.providers.base import ProviderError
from knowledge.querysets import SEARCHABLE, readable_documents
from knowledge.services.providers import Link, grouped
from knowledge.services.search import MAX_TOP_K
from mnote.models import Access, Root
from mnote.principals import Principal
from mnote.selectors import access

COUNTS = (5, 10, 20, MAX_TOP_K)
_DEFAULT_COUNT = 10
#: How a search can be made; which of them differ depends on the provider.
MODES = ("hybrid", "text")
#: Rows of a knowledge base that are looked at for what occurs in it, and what of that is offered.
_ROWS = 50_000
_FOLDERS, _TAGS = 200, 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The values of the form. Defaults are left out of addresses."""

    question: str = ""
    kb_ids: tuple[str, ...] = ()
    path: str = ""
    types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    count: int = _DEFAULT_COUNT
    mode: str = "hybrid"
    is_grouped: bool = False

    def query(self, **changes: Any) -> list[tuple[str, Any]]:
        values: dict[str, Any] = {
            "q": self.question,
            "kb": self.kb_ids,
            "path": self.path,
            "type": self.types,
            "tag": self.tags,
            "count": "" if self.count == _DEFAULT_COUNT else self.count,
            "mode": "" if self.mode == "hybrid" else self.mode,
            "group": "document" if self.is_grouped else "",
        }
        return [(name, value) for name, value in (values | changes).items() if value]

    @property
    def narrows(self) -> int:
        """How many things narrow the search, for the button that hides them."""
        return bool(self.path) + len(self.types) + len(self.tags) + len(self.kb_ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What occurs in the searched knowledge bases, as far as the reader may read it."""

    types: Sequence[tuple[str, str | Promise]]
    tags: Sequence[str]
    folders: Sequence[str]
    has_modes: bool


def chosen_of(values: QueryDict) -> Chosen:
    """Read the form out of an address. What cannot be used is as if it were not there."""
    count = values.get("count", "")
    mode = values.get("mode", "")
    return Chosen(
        question=values.get("q", "").replace("\0", "").strip(),
        kb_ids=tuple(dict.fromkeys(_plain(values.getlist("kb")))),
        path=values.get("path", "").replace("\0", "").strip("/ "),
        types=tuple(each for each in dict.fromkeys(values.getlist("type")) if each in TYPE_WORDS),
        tags=tuple(dict.fromkeys(_plain(values.getlist("tag")))),
        count=int(count) if count.isascii() and count.isdecimal() and 1 <= int(count) <= MAX_TOP_K else _DEFAULT_COUNT,
        mode=mode if mode in MODES else "hybrid",
        is_grouped=values.get("group") == "document",
    )


def offer_for(principal: Principal, kbs: Sequence[KnowledgeBase]) -> Offer:
    """Return what can be chosen. Looks at a bounded number of rows of each workspace."""
    types: set[str] = set()
    folders: dict[str, None] = {}
    tags: set[str] = set()
    for workspace in {kb.workspace_id: kb.workspace for kb in kbs}.values():
        own = [kb for kb in kbs if kb.workspace_id == workspace.pk]
        rows = readable_documents(principal, workspace).filter(SEARCHABLE, kb__in=own)
        some = Document.objects.filter(pk__in=rows.order_by("kb", "sort_path").values("pk")[:_ROWS])
        types.update(some.order_by().values_list("source_type", flat=True).distinct())
        tags.update(_tags(rows))
        folders |= dict.fromkeys(_folders(rows.order_by("sort_path").values_list("source_path", flat=True)[:_ROWS]))
    return Offer(
        types=[(key, word) for key, word in TYPE_WORDS.items() if key in types],
        tags=sorted(tags, key=str.casefold)[:_TAGS],
        folders=list(folders)[:_FOLDERS],
        has_modes=any(_knows_meanings(link) for link in grouped(kbs)),
    )


def reads_everything(principal: Principal, workspace_ids: Iterable[str]) -> bool:
    """Say whether nothing in these workspaces is closed to the principal."""
    maps = access.access_maps(principal, Root.objects.filter(workspace__in=workspace_ids))
    return all(each.default != Access.NONE and Access.NONE not in each.rules.values() for each in maps.values())


def _tags(rows: Any) -> Iterable[str]:
    found = DocumentTag.objects.filter(document__in=rows.order_by().values("pk")).order_by("name")
    return found.values_list("name", flat=True).distinct()[:_TAGS]


def _folders(paths: Iterable[str]) -> Iterable[str]:
    """Yield folders, each once and with those above it, until enough are found."""
    seen: set[str] = set()
    for path in paths:
        parts = path.split("/")[:-1]
        for depth in range(1, len(parts) + 1):
            folder = "/".join(parts[:depth])
            if folder not in seen:
                seen.add(folder)
                yield folder
        if len(seen) >= _FOLDERS:
            return


def _knows_meanings(link: Link) -> bool:
    try:
        return link.provider().capabilities.semantic
    except ProviderError:
        return False


def _plain(values: Iterable[str]) -> list[str]:
    return [value for value in values if value and "\0" not in value]
