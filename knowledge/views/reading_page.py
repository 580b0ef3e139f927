"""What the template of the document pane shows of an opened file."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from django.http import HttpRequest
from django.utils.functional import Promise

from knowledge.file_words import type_word
from knowledge.parsing.base import ParseError
from knowledge.parsing.file_types import type_for_name
from knowledge.parsing.source_map import ResourceKind, SourceMap
from knowledge.reasons import Reason, reason_for
from knowledge.rendering.documents import Rendering, render
from knowledge.rendering.markdown_syntax import wiki_names
from knowledge.rendering.pages import Pages, PageView, bare_pages
from knowledge.rendering.windows import Wanted, Window
from knowledge.selectors import lamps
from knowledge.selectors.lamps import FileLamp
from knowledge.services import parsing, references, wiki_links
from knowledge.services.reading import Reading
from knowledge.shapes import citation_markdown, open_url, place_label
from knowledge.views.addresses import files_url, page_image_url, pane_url, raw_url, tree_url, wiki_url
from knowledge.views.choosing import place_query, principal_of
from knowledge.views.lamp_words import tooltip
from knowledge.views.truth import Truth, truth_of
from mnote.exceptions import AppError
from mnote.models import Root
from mnote.services import files

_CONTAINERS = {"note": "prose", "passages": "prose", "slides": "prose", "lines": "lines", "pages": "papers"}
#: Set by the page's script when a person opens the tree beside a document.
TREE_COOKIE = "mnote_tree"
#: Pictures that browsers show.
_PICTURES = frozenset({"png", "jpg", "jpeg", "gif", "webp", "svg", "avif", "bmp", "ico"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Crumb:
    """One step of the way to a file; without address where the way ends."""

    name: str
    url: str = ""


def crumbs_of(root: Root, path: str) -> list[Crumb]:
    """Return the way from the root's folder to `path`."""
    names = path.split("/") if path else []
    above = [Crumb(name=name, url=files_url(root, "/".join(names[: i + 1]))) for i, name in enumerate(names[:-1])]
    own = [Crumb(name=names[-1])] if names else []
    return [Crumb(name=root.name, url=files_url(root) if names else ""), *above, *own]


@dataclass(frozen=True, slots=True, kw_only=True)
class PagePicture:
    """A page with the addresses of its picture in two sizes; numbers as attributes of HTML and SVG want them."""

    page: PageView
    small: str
    large: str = ""

    @property
    def width(self) -> int:
        return round(self.page.width)

    @property
    def height(self) -> int:
        return round(self.page.height)

    @property
    def view_box(self) -> str:
        return f"{self.page.width:.2f} {self.page.height:.2f}"


class NoteLinks:
    """Addresses of what one note points to."""

    def __init__(self, root: Root, note: str, wiki: dict[str, str]) -> None:
        self._root = root
        self._note = note
        self._wiki = wiki

    def file(self, path: str) -> str:
        return pane_url(self._root, path) if path else files_url(self._root)

    def picture(self, path: str) -> str:
        return raw_url(self._root, path)

    def wiki(self, name: str) -> str:
        path = self._wiki.get(name)
        return pane_url(self._root, path) if path else wiki_url(self._root, self._note, name)

    def wiki_picture(self, name: str) -> str:
        path = self._wiki.get(name)
        return raw_url(self._root, path) if path else ""


class ReadingPage:
    """One opened file. Everything is worked out when the template asks for it."""

    def __init__(self, request: HttpRequest, root: Root, reading: Reading) -> None:
        self._request = request
        self._principal = principal_of(request)
        self.root = root
        self.reading = reading
        self.place = reading.place
        self.path = reading.place.path
        self.name = self.path.rpartition("/")[2]
        self.folder = self.path.rpartition("/")[0]

    @property
    def crumbs(self) -> list[Crumb]:
        return crumbs_of(self.root, self.path)

    @cached_property
    def truth(self) -> Truth | None:
        return truth_of(self.reading)

    @property
    def place_words(self) -> str:
        return place_label(self.place.locator)

    @property
    def cited_path(self) -> str:
        return self.reading.token.path if self.reading.token and self.reading.is_renamed else ""

    @property
    def type(self) -> str | Promise:
        return type_word(self.name)

    @cached_property
    def facts(self) -> Any:
        """Size and time of the file, None when they cannot be had now."""
        try:
            return files.stat(principal=self._principal, root=self.root, path=self.path)
        except AppError:
            return None

    @property
    def changed_at(self) -> datetime | None:
        return datetime.fromtimestamp(self.facts.mtime_ns / 1e9, tz=UTC) if self.facts else None

    @cached_property
    def lamp(self) -> FileLamp | None:
        return lamps.file_lamp(self._principal, self.root, self.path)

    @property
    def lamp_title(self) -> str:
        return tooltip(self.lamp) if self.lamp else ""

    @property
    def raw_url(self) -> str:
        return raw_url(self.root, self.path)

    @property
    def download_url(self) -> str:
        return raw_url(self.root, self.path, download=1)

    @property
    def tree_url(self) -> str:
        return tree_url(self.root, "", open=self.path, files=1)

    @cached_property
    def citation(self) -> str:
        """The citation to copy: of the place shown, or of the file."""
        locator = self.place.locator
        token = ""
        if locator.quote and self.place.source_map is not None and not self._is_near:
            token = references.sign(
                workspace_id=self.root.workspace_id,
                root_key=self.root.key,
                document_id=self.reading.token.document_id if self.reading.token else "",
                locator=locator,
            )
        return citation_markdown(locator, self._request.build_absolute_uri(open_url(self.root, locator, token)))

    @property
    def previous_url(self) -> str:
        """The place before this one with the same words."""
        return self._nth_url(self.reading.number - 1)

    @property
    def next_url(self) -> str:
        """The place after this one with the same words."""
        return self._nth_url(self.reading.number + 1)

    def _nth_url(self, number: int) -> str:
        if not 1 <= number <= self.reading.total:
            return ""
        query = place_query(self._request.GET) | {"nth": number}
        return f"{pane_url(self.root, self.path, **query)}#cited"

    @property
    def _is_near(self) -> bool:
        return self.truth is not None and self.truth.state == "changed"

    @cached_property
    def rendering(self) -> Rendering | None:
        """What is shown of the file; None when it cannot be shown."""
        source_map = self.place.source_map
        if source_map is None:
            return self._bare_rendering()
        links = NoteLinks(self.root, self.path, self._wiki(source_map))
        return render(source_map, path=self.path, request=self.reading.request, links=links)

    @property
    def body_template(self) -> str:
        return (
            f"knowledge/reading_{self.rendering.kind}.html" if self.rendering else "knowledge/reading_unreadable.html"
        )

    @property
    def container(self) -> str:
        """The class of what holds the body, which windows that come later are added to."""
        return _CONTAINERS.get(self.rendering.kind, "") if self.rendering else ""

    @property
    def is_tree_open(self) -> bool:
        return self._request.COOKIES.get(TREE_COOKIE) == "open"

    @property
    def has_place(self) -> bool:
        """Whether something on the page is marked."""
        request = self.reading.request
        return self.rendering is not None and bool(request.marks or (request.box and request.page))

    @cached_property
    def reason(self) -> Reason | None:
        """Why the file gives no text; None when it does, or when a picture is all it is."""
        if self.place.source_map is not None or self.is_picture or not self.place.problem:
            return None
        return reason_for(self.place.problem)

    @property
    def remedy(self) -> str | Promise:
        """What can be done about it; nothing about a file that is simply of another type."""
        return "" if self.reason is None or self.place.problem == "unsupported_type" else self.reason.next_step

    @property
    def is_picture(self) -> bool:
        return self.name.rpartition(".")[2].lower() in _PICTURES

    @property
    def window(self) -> Window | None:
        return getattr(self.rendering.body, "window", None) if self.rendering else None

    @property
    def before_url(self) -> str:
        return self._window_url(to=self.window.before) if self.window else ""

    @property
    def after_url(self) -> str:
        return self._window_url(**{"from": self.window.after}) if self.window else ""

    @property
    def page_images(self) -> list[PagePicture]:
        """The pages of the window with the addresses of their pictures."""
        body = self.rendering.body if self.rendering else None
        return [self._picture_of(page) for page in body.pages] if isinstance(body, Pages) else []

    def _picture_of(self, page: PageView) -> PagePicture:
        if self.is_picture:
            return PagePicture(page=page, small=self.raw_url)
        small, large = (page_image_url(self.root, self.path, page=page.number, w=width) for width in (900, 1800))
        return PagePicture(page=page, small=small, large=large)

    def _window_url(self, **bounds: int) -> str:
        return pane_url(self.root, self.path, **(place_query(self._request.GET) | bounds))

    def _bare_rendering(self) -> Rendering | None:
        found = type_for_name(self.name)
        if self.is_picture:
            return Rendering(kind="picture", body=None)
        if found is None or found.kind is not ResourceKind.PDF or self.place.problem == "encrypted":
            return None
        request = self.reading.request
        wanted = Wanted(start=request.start, end=request.end, focus=request.page)
        try:
            with files.open_file(principal=self._principal, root=self.root, path=self.path) as opened:
                sizes = parsing.page_sizes(fd=opened.fd)
        except (ParseError, AppError):
            return None
        return Rendering(kind="pages", body=bare_pages(sizes, wanted=wanted))

    def _wiki(self, source_map: SourceMap) -> dict[str, str]:
        names = wiki_names(source_map.text) if source_map.kind is ResourceKind.MARKDOWN else set()
        if not names:
            return {}
        return wiki_links.near(principal=self._principal, root=self.root, note=self.path, names=sorted(names))
