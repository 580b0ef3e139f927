"""Sheets and CSV files as tables with the numbers a spreadsheet shows: column letters above, row numbers beside."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

from knowledge.citations.lines import LineIndex
from knowledge.parsing.source_map import Place, ResourceKind, SourceMap
from knowledge.rendering.marks import Anchors, Mark, marks_on
from knowledge.rendering.windows import Bounds, Wanted, Window, window_of

ROWS = 400
WINDOW_CHARS = 160_000
_COLUMNS = 120
_CELL_CHARS = 1_000
_CELL_GAP = " | "
_A1 = re.compile(r"([A-Z]+)(\d+)(?::([A-Z]+)(\d+))?$")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableView:
    """One table: `name` of its sheet, "" for a CSV file, and its rows as HTML. `cut_columns` are not shown."""

    name: str
    head: str
    body: str
    cut_columns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    tables: tuple[TableView, ...]
    window: Window


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """A rectangle of cells, 1-based, inclusive."""

    first_row: int
    last_row: int
    first_column: int
    last_column: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    number: int
    column: int  # of the first cell, 1-based
    cells: tuple[str, ...]
    start: int  # of the line, in the derived text


def render_tables(
    source_map: SourceMap, *, marks: Sequence[Mark], wanted: Wanted, cells: tuple[str, Range] | None = None
) -> Tables:
    """Return the window of rows that is wanted. `cells` (sheet, range) narrows what is marked to these cells."""
    index = LineIndex(source_map.text)

    def cost_of(line: int) -> int:
        start, end = index.span_of(line, line)
        return end - start

    window = window_of(index.count, "row", Bounds(size=ROWS, cost=WINDOW_CHARS, cost_of=cost_of), wanted)
    writer = _Writer(source_map, index, marks, cells)
    numbered = ((source_map.places[line - 1], line) for line in range(window.first, window.last + 1))
    tables = [
        writer.table(sheet or "", [line for _, line in lines])
        for sheet, lines in groupby(numbered, key=lambda each: each[0].sheet)
    ]
    return Tables(tables=tuple(table for table in tables if table.body), window=window)


def parse_range(written: str) -> Range | None:
    """Read a range such as "A2:D9"; None for anything else."""
    match = _A1.fullmatch(written.strip().upper().replace("$", ""))
    if match is None:
        return None
    left, top, right, bottom = match[1], int(match[2]), match[3] or match[1], int(match[4] or match[2])
    columns = sorted((column_number(left), column_number(right)))
    rows = sorted((top, bottom))
    return Range(first_row=rows[0], last_row=rows[1], first_column=columns[0], last_column=columns[1])


def column_number(letters: str) -> int:
    """A -> 1, Z -> 26, AA -> 27."""
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number


def column_letters(number: int) -> str:
    """1 -> A, 27 -> AA."""
    letters = ""
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


class _Writer:
    def __init__(
        self, source_map: SourceMap, index: LineIndex, marks: Sequence[Mark], cells: tuple[str, Range] | None
    ) -> None:
        self._map = source_map
        self._index = index
        self._marks = marks
        self._cells = cells
        self._anchors = Anchors()

    def table(self, sheet: str, lines: Sequence[int]) -> TableView:
        rows = [row for line in lines if (row := self._row(line)) is not None]
        if not rows:
            return TableView(name=sheet, head="", body="")
        left = min(row.column for row in rows)
        right = max(row.column + len(row.cells) - 1 for row in rows)
        shown = min(right, left + _COLUMNS - 1)
        head = self._head(rows[0], left, shown)
        body = "".join(self._line(row, sheet, left, shown) for row in rows)
        return TableView(name=sheet, head=head, body=body, cut_columns=right - shown)

    def _row(self, line: int) -> _Row | None:
        start, end = self._index.span_of(line, line)
        text = self._map.text[start:end]
        place = self._map.places[line - 1]
        if not text or place.row is None:
            return None
        column, cells = _cells_of(text, place)
        return _Row(number=place.row, column=column, cells=cells, start=start)

    def _head(self, _: _Row, left: int, right: int) -> str:
        letters = (column_letters(number) for number in range(left, right + 1))
        return "".join(f'<th scope="col">{each}</th>' for each in letters)

    def _line(self, row: _Row, sheet: str, left: int, right: int) -> str:
        cells = "".join(self._cell(row, sheet, column) for column in range(left, right + 1))
        strong = ' class="first"' if row.number == 1 and self._map.kind is ResourceKind.CSV else ""
        return f'<tr{strong}><th scope="row">{row.number}</th>{cells}</tr>'

    def _cell(self, row: _Row, sheet: str, column: int) -> str:
        number = column - row.column
        if not 0 <= number < len(row.cells):
            return "<td></td>"
        text = row.cells[number]
        start = row.start + sum(len(cell) + len(_CELL_GAP) for cell in row.cells[:number])
        inner = escape(text if len(text) <= _CELL_CHARS else f"{text[:_CELL_CHARS]}…", quote=False)
        mark = self._mark(row, sheet, column, start, start + len(text))
        return f"{self._anchors.opening(mark, tag='td')}{inner}</td>" if mark else f"<td>{inner}</td>"

    def _mark(self, row: _Row, sheet: str, column: int, start: int, end: int) -> Mark | None:
        found = marks_on(self._marks, start, max(end, start + 1))
        if not found or self._cells is None:
            return found[0] if found else None
        wanted, cells = self._cells
        in_row = cells.first_row <= row.number <= cells.last_row
        in_column = cells.first_column <= column <= cells.last_column
        return found[0] if sheet == wanted and in_row and in_column else None


def _cells_of(text: str, place: Place) -> tuple[int, tuple[str, ...]]:
    """Return the first column and the cells of a derived line. Cells that hold the separator themselves cannot be told
    apart: then the row is one cell."""
    cells = tuple(text.split(_CELL_GAP))
    if place.a1 is None:
        return 1, cells
    span = parse_range(place.a1)
    if span is None:
        return 1, cells
    width = span.last_column - span.first_column + 1
    return span.first_column, cells if len(cells) == width else (text,)


def lines_in(source_map: SourceMap, sheet: str, cells: Range) -> Iterator[int]:
    """Yield the derived lines of the rows of a range."""
    for line, place in enumerate(source_map.places, start=1):
        if place.sheet == sheet and place.row is not None and cells.first_row <= place.row <= cells.last_row:
            yield line


def rows_of(source_map: SourceMap, lines: Iterable[int]) -> Iterator[int]:
    """Yield the rows that derived lines stand for."""
    for line in lines:
        row = source_map.places[line - 1].row
        if row is not None:
            yield row
