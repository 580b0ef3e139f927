"""Render one page of a PDF as a picture for the document pane."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO

from knowledge.parsing.base import ParseCode, ParseError
from knowledge.parsing.pdf_files import open_pdf

_MAX_WIDTH = 4000
_MAX_PIXELS = 24_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PageImage:
    """A page as PNG; `width` and `height` are the page as shown, in points."""

    png: bytes
    width: float
    height: float


def render_page(data: bytes, page: int, *, max_width_px: int) -> PageImage:
    """Render page `page` (1-based) at most `max_width_px` wide.

    Raises ParseError: encrypted, corrupt, or no_text for a page that the file does not have.
    """
    with open_pdf(data) as document:
        if not 1 <= page <= len(document):
            raise ParseError(ParseCode.NO_TEXT, f"the file has {len(document)} pages")
        sheet = document[page - 1]
        width, height = sheet.get_size()
        scale = min(max_width_px, _MAX_WIDTH) / max(width, 1)
        scale = min(scale, (_MAX_PIXELS / max(width * height, 1)) ** 0.5)
        output = BytesIO()
        sheet.render(scale=scale).to_pil().save(output, "PNG")
        return PageImage(png=output.getvalue(), width=width, height=height)


def page_sizes(data: bytes, *, max_pages: int) -> list[tuple[float, float]]:
    """Return width and height of the pages as shown, in points, of at most `max_pages`; for files without text.

    Raises ParseError: encrypted, corrupt.
    """
    with open_pdf(data) as document:
        return [document.get_page_size(index) for index in range(min(len(document), max_pages))]
