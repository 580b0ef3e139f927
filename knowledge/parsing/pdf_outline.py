"""The bookmarks of a PDF as headings, each on the line that carries its title."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import pypdfium2 as pdfium

from knowledge.parsing.lines import one_line
from knowledge.parsing.outline import Heading
from knowledge.parsing.source_map import Place

_MAX_BOOKMARKS = 5_000
_NO_TITLE = re.compile(
    r"(untitled|microsoft (word|powerpoint|excel) - .*|.*\.(docx?|pptx?|xlsx?|odt|rtf|tex|dvi|indd|qxd|pdf))$",
    re.IGNORECASE,
)
_SPACES = re.compile(r"\W+")


def bookmark_headings(document: pdfium.PdfDocument, lines: Sequence[str], places: Sequence[Place]) -> list[Heading]:
    """Return the bookmarks that stand for a place, in reading order.

    One whose title is not found on its page stands for the first line of that page that is not above its target.
    """
    by_page: dict[int, list[int]] = {}
    for number, place in enumerate(places, start=1):
        if place.page is not None and place.bbox is not None:
            by_page.setdefault(place.page, []).append(number)
    found = [
        Heading(line=line, level=level, title=title)
        for level, title, page, top in _bookmarks(document)
        if (line := _line_of(title, top, by_page.get(page, ()), lines, places)) is not None
    ]
    return sorted(found, key=lambda heading: heading.line)


def document_title(document: pdfium.PdfDocument) -> str | None:
    """Return the title in the file's metadata, unless a program left its own there."""
    title = one_line(document.get_metadata_value("Title").replace("\x00", ""))
    return title if title and not _NO_TITLE.match(title) else None


def _bookmarks(document: pdfium.PdfDocument) -> Iterator[tuple[int, str, int, float | None]]:
    """Yield level, title, page (1-based) and the distance of the target from the page's upper edge."""
    for count, bookmark in enumerate(document.get_toc(max_depth=6)):
        if count >= _MAX_BOOKMARKS:
            return
        target = bookmark.get_dest()
        index = target.get_index() if target is not None else None
        title = one_line(bookmark.get_title().replace("\x00", ""))
        if target is None or index is None or not title:
            continue
        yield bookmark.level + 1, title, index + 1, _top(document, index, target.get_view()[1])


def _top(document: pdfium.PdfDocument, index: int, view: Sequence[float | None]) -> float | None:
    """Return how far below the upper edge of its page a target stands, if it says so."""
    try:
        height = document.get_page_size(index)[1]
    except pdfium.PdfiumError:
        return None  # a damaged page
    return height - view[1] if len(view) >= 2 and view[1] is not None else None


def _line_of(
    title: str, top: float | None, numbers: Sequence[int], lines: Sequence[str], places: Sequence[Place]
) -> int | None:
    wanted = _SPACES.sub("", title).lower()
    for number in numbers:
        line = _SPACES.sub("", lines[number - 1]).lower()
        if wanted and line.endswith(wanted) and len(line) <= len(wanted) + 12:
            return number
    below = [number for number in numbers if top is not None and _bottom(places[number - 1]) >= top]
    return next(iter(below or numbers), None)


def _bottom(place: Place) -> float:
    return place.bbox[3] if place.bbox is not None else 0.0
