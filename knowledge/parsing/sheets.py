"""Spreadsheets (xlsx, xlsb, xls, ods) to a source map: one derived line for each row that holds something."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from io import BytesIO
from typing import Any

import python_calamine as calamine

from knowledge.parsing.archives import Archive, check_not_locked, core_title
from knowledge.parsing.base import ParseCode, ParseError, ParseInput
from knowledge.parsing.derived import Derived
from knowledge.parsing.file_types import type_for_name
from knowledge.parsing.lines import CELL_GAP, one_line
from knowledge.parsing.signatures import OLE, signature_of
from knowledge.parsing.source_map import Place, ResourceKind, SourceMap

_MIDNIGHT = time()


class SheetsParser:
    """Reads workbooks; values are shown without the number format of their cell, dates in ISO form."""

    provider_id = "office"
    revision = "sheets-1"

    def can_parse(self, item: ParseInput) -> bool:
        found = type_for_name(item.name)
        return found is not None and found.kind is ResourceKind.SHEET

    def parse(self, item: ParseInput) -> SourceMap:
        title = _checked_title(item)
        derived = Derived()
        try:
            with calamine.CalamineWorkbook.from_filelike(BytesIO(item.data)) as book:
                names = [sheet.name for sheet in book.sheets_metadata if sheet.typ == calamine.SheetTypeEnum.WorkSheet]
                for name in names:
                    _read_sheet(book.get_sheet_by_name(name), name, derived)
        except calamine.PasswordError as error:
            raise ParseError(ParseCode.ENCRYPTED, "the file is protected by a password") from error
        except calamine.CalamineError as error:
            raise ParseError(ParseCode.CORRUPT, "the workbook cannot be read") from error
        return derived.source_map(self, item, ResourceKind.SHEET, title=title, meta={"sheets": names})


def _checked_title(item: ParseInput) -> str | None:
    """Check the container before the reader trusts it. Raises ParseError."""
    if signature_of(item.data) == OLE:
        check_not_locked(item.data)
        return None
    archive = Archive(item.data, item.limits)
    archive.verify()
    return core_title(archive)


def _read_sheet(sheet: calamine.CalamineSheet, name: str, derived: Derived) -> None:
    if sheet.start is None:
        return
    top, left = sheet.start
    opened = False
    for number, row in enumerate(sheet.to_python(skip_empty_area=True), start=top + 1):
        cells = [show_value(value) for value in row]
        used = [index for index, cell in enumerate(cells) if cell]
        if not used:
            continue
        place = Place(sheet=name, row=number, a1=_a1(number, left + used[0], left + used[-1]))
        if not opened:
            derived.add_blank(place)
            derived.start_block()
            derived.open_section(name)
            opened = True
        derived.add(CELL_GAP.join(cells[used[0] : used[-1] + 1]), place, "table", group=name)


def show_value(value: Any) -> str:
    """Return a cell's value as text: whole numbers without a fraction, dates in ISO form."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:.15g}"
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == _MIDNIGHT else value.isoformat(" ", "seconds")
    if isinstance(value, timedelta):
        return _duration(value)
    if isinstance(value, (date, time)):
        return value.isoformat()
    return one_line(str(value))


def _duration(value: timedelta) -> str:
    seconds = round(abs(value).total_seconds())
    sign = "-" if value < timedelta() else ""
    return f"{sign}{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def _a1(row: int, first: int, last: int) -> str:
    start, end = f"{column_name(first)}{row}", f"{column_name(last)}{row}"
    return start if start == end else f"{start}:{end}"


def column_name(index: int) -> str:
    """Return the letters of a column, 0 for A."""
    letters = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters
