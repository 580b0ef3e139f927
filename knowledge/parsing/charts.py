"""The words and numbers of the charts in slides and documents, as their pictures show them: the titles, then a line for
each category. The chart part of ECMA-376 keeps them beside the workbook they come from; other kinds of chart give
nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

from lxml import etree

from knowledge.parsing.archives import Archive, attribute, child, local_name
from knowledge.parsing.base import ParseError
from knowledge.parsing.lines import CELL_GAP, one_line

#: Days are counted from here, as spreadsheets do.
_DAY_0 = datetime(1899, 12, 30)  # noqa: DTZ001 a day on a chart has no zone
_LAST_DAY = 2_958_465
_CATEGORIES, _VALUES = ("cat", "xVal"), ("val", "yVal")


@dataclass(frozen=True, slots=True)
class _Series:
    name: str
    categories: tuple[tuple[int, str], ...]
    values: dict[int, str]


def charts_in(element: etree._Element, archive: Archive, relations: dict[str, tuple[str, str]]) -> Iterator[str]:
    """Yield the lines of the charts that an element shows. One that is missing or damaged gives none."""
    for shown in element.iter("{*}chart"):
        kind, target = relations.get(attribute(shown, "id") or "", ("", ""))
        if kind == "chart" and archive.has(target):
            try:
                root = archive.xml(target)
            except ParseError:
                continue
            yield from chart_lines(root)


def chart_lines(root: etree._Element) -> Iterator[str]:
    """Yield the lines of one chart."""
    chart, area = child(root, "chart"), child(root, "chart", "plotArea")
    if chart is None or area is None:
        return
    yield from filter(None, (_title(holder) for holder in (chart, *area)))
    series = [_series(element, counts_from_1900=_counts_from_1900(root)) for element in area.iter("{*}ser")]
    for categories, group in groupby(series, key=lambda each: each.categories):
        yield from _rows(categories, list(group))


def _rows(categories: tuple[tuple[int, str], ...], series: list[_Series]) -> Iterator[str]:
    names = [each.name for each in series]
    if any(names):
        yield CELL_GAP.join(names)
    # Without names of their own the points are told apart by their order.
    labels = dict(categories) or dict.fromkeys(sorted({at for each in series for at in each.values}), "")
    for at, label in labels.items():
        cells = [label, *(each.values.get(at, "") for each in series)]
        if any(cells):
            yield CELL_GAP.join(cells if label else cells[1:])


def _series(element: etree._Element, *, counts_from_1900: bool) -> _Series:
    name = child(element, "tx")
    return _Series(
        name=_words(name) if name is not None else "",
        categories=tuple(_points(element, _CATEGORIES, has_days=counts_from_1900).items()),
        values=_points(element, _VALUES, has_days=counts_from_1900),
    )


def _counts_from_1900(root: etree._Element) -> bool:
    """Say whether days are counted as usual; the day of a number is not known otherwise."""
    other = child(root, "date1904")
    return other is None or attribute(other, "val") in {"0", "false"}


def _title(holder: etree._Element) -> str:
    """Return the title of a chart or one of its axes; not that of its series, which is a name."""
    title = child(holder, "title", "tx")
    return _words(title) if title is not None else ""


def _words(element: etree._Element) -> str:
    paragraphs = ["".join(item.text or "" for item in each.iter("{*}t")) for each in element.iter("{*}p")]
    return one_line(" ".join(paragraphs or [item.text or "" for item in element.iter("{*}v")]))


def _points(series: etree._Element, names: tuple[str, ...], *, has_days: bool) -> dict[int, str]:
    """Return what is written at each point, by its number. Of categories in levels the innermost counts."""
    holder = next((item for item in series if local_name(item) in names), None)
    if holder is None:
        return {}
    level = next(holder.iter("{*}lvl"), holder)
    code = next(holder.iter("{*}formatCode"), None)
    is_text = next(holder.iter("{*}numCache", "{*}numLit"), None) is None
    is_date = has_days and code is not None and _is_date(code.text or "")
    points = ((attribute(point, "idx") or "", child(point, "v")) for point in level.iter("{*}pt"))
    found = {int(at): one_line(value.text or "") for at, value in points if at.isdecimal() and value is not None}
    return dict(sorted((at, text if is_text else _number(text, is_date=is_date)) for at, text in found.items()))


def _is_date(code: str) -> bool:
    """Say whether a number format shows a day: outside of quotation marks and colours it names a year, month or day."""
    plain = "".join(code.split('"')[::2]).lower().split(";")[0]
    outside = "".join(piece.rpartition("]")[2] for piece in plain.split("["))
    return "general" not in outside and any(sign in outside for sign in ("y", "mmm", "d"))


def _number(text: str, *, is_date: bool) -> str:
    """Return a number without the digits that only its storage has, a day in ISO form; other text as it is."""
    try:
        value = float(text)
    except ValueError:
        return text
    if is_date and 1 <= value <= _LAST_DAY:
        return (_DAY_0 + timedelta(days=value)).date().isoformat()
    return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:.15g}"
