"""The document pane for tests: files of the four people's root, citations of them, and what the page says."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from django.http import HttpResponse
from lxml import html
from lxml.html import HtmlElement

from knowledge.citations.lines import LineIndex
from knowledge.citations.locators import MapState, Resource, locate, whole_resource
from knowledge.services import opening, references
from tests.people import People


@dataclass(frozen=True, slots=True, kw_only=True)
class Pane:
    people: People

    @property
    def folder(self) -> Path:
        return self.people.folder

    def write(self, path: str, content: str | bytes) -> Path:
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else content.encode())
        return target

    def url(self, page: str, path: str = "", /, **query: Any) -> str:
        """The address of a page: open, files, raw, page, tree or find."""
        return f"/w/{self.people.workspace.pk}/{page}/{quote(path)}?{urlencode({'root': 'notes', **query})}"

    def get(self, address: str, who: str | None = "alice", **headers: str) -> HttpResponse:
        return self.people.client(who).get(address, headers=headers)

    def open(self, path: str, who: str | None = "alice", /, **query: Any) -> HttpResponse:
        return self.get(self.url("open", path, **query), who)

    def cite(self, path: str, words: str, *, nth: int = 1) -> str:
        """A token of the words as they stand in the file now; no words cite the file as a whole."""
        place = opening.open_path(principal=self.people.principal("alice"), root=self.people.root, path=path)
        resource = Resource(root_uri=self.people.root.root_uri, path=path)
        if not words:
            locator = whole_resource(
                place.locator.resource_kind,
                resource,
                source_hash=place.locator.source_hash,
                map_state=MapState.NONE,
            )
        else:
            assert place.source_map is not None
            start = -1
            for _ in range(nth):
                start = place.source_map.text.index(words, start + 1)
            chars = (start, start + len(words))
            lines = LineIndex(place.source_map.text).range_of(*chars)
            locator = locate(place.source_map, resource, lines=lines, chars=chars)
        return references.sign(workspace_id=self.people.workspace.pk, root_key="notes", document_id="", locator=locator)


def page(response: HttpResponse) -> HtmlElement:
    return html.document_fromstring(response.content)


def truth(response: HttpResponse) -> str:
    """The state that the strip shows, "" where there is none."""
    return next(iter(page(response).xpath("//*[@data-truth]/@data-truth")), "")


def place(response: HttpResponse) -> str:
    found = page(response).xpath('//*[@data-truth]/span[@class="place"]')
    return found[0].text_content() if found else ""


def cited(response: HttpResponse) -> list[str]:
    """The texts of what is marked as cited, in order."""
    found = page(response).xpath('//*[contains(concat(" ", @class, " "), " cite ") and not(contains(@class, "also"))]')
    return [each.text_content() for each in found]
