"""Any parsed file as what a page shows of it: one kind of body for each kind of file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from knowledge.parsing.source_map import BBox, ResourceKind, SourceMap
from knowledge.rendering.highlighting import language_of_name
from knowledge.rendering.lines import NumberedLines, numbered_lines
from knowledge.rendering.markdown import Links, Note, render_note
from knowledge.rendering.marks import Mark
from knowledge.rendering.pages import Pages, pages_of, render_pages
from knowledge.rendering.passages import Passages, Slides, render_passages, render_slides
from knowledge.rendering.tables import Range, Tables, render_tables
from knowledge.rendering.windows import Wanted

Body = Note | NumberedLines | Pages | Slides | Tables | Passages


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is to be shown: the marks, where to begin, and details of the place that characters cannot say.

    `start` and `end` count the units of the body's window (lines, pages, slides); `line` is a derived line.
    """

    marks: Sequence[Mark] = ()
    start: int | None = None
    end: int | None = None
    line: int | None = None
    page: int | None = None
    slide: int | None = None
    box: BBox | None = None
    cells: tuple[str, Range] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendering:
    """`kind` names what shows `body`: note, lines, pages, slides, tables, passages, or picture, which has none."""

    kind: str
    body: Body | None


def render(source_map: SourceMap, *, path: str, request: Request, links: Links) -> Rendering:
    """Render the window of the file at `path` that is asked for."""
    marks = request.marks
    line = request.line or min((mark.first for mark in marks if mark.is_main), default=None)
    lines = Wanted(start=request.start, end=request.end, focus=line)
    match source_map.kind:
        case ResourceKind.MARKDOWN:
            note = render_note(source_map, path=path, marks=marks, links=links, wanted=lines)
            return Rendering(kind="note", body=note)
        case ResourceKind.TEXT | ResourceKind.CODE:
            language = language_of_name(path.rpartition("/")[2])
            body = numbered_lines(source_map.text, language=language, marks=marks, wanted=lines)
            return Rendering(kind="lines", body=body)
        case ResourceKind.PDF | ResourceKind.IMAGE:
            return Rendering(kind="pages", body=_pages(source_map, request, line))
        case ResourceKind.SLIDES:
            focus = request.slide or (source_map.places[line - 1].slide if line else None)
            wanted = Wanted(start=request.start, end=request.end, focus=focus)
            return Rendering(kind="slides", body=render_slides(source_map, marks=marks, wanted=wanted))
        case ResourceKind.SHEET | ResourceKind.CSV:
            body_of_rows = render_tables(source_map, marks=marks, wanted=lines, cells=request.cells)
            return Rendering(kind="tables", body=body_of_rows)
    return Rendering(kind="passages", body=render_passages(source_map, marks=marks, wanted=lines))


def _pages(source_map: SourceMap, request: Request, line: int | None) -> Pages:
    main = [mark for mark in request.marks if mark.is_main]
    cited = min(pages_of(main, source_map), default=None)
    focus = request.page or cited or (source_map.places[line - 1].page if line else None)
    wanted = Wanted(start=request.start, end=request.end, focus=focus)
    boxes = None
    if request.box is not None and request.page is not None:
        mark = Mark(start=0, end=0, first=1, last=1)
        boxes = {request.page: [(request.box, mark)]}
    return render_pages(source_map, marks=request.marks, wanted=wanted, boxes=boxes)
