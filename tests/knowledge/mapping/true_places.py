"""Whether a mapped passage stands where the recording says, for each kind of file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from knowledge.citations.lines import LineIndex
from knowledge.mapping.document_map import Mapped
from knowledge.parsing.source_map import Place, ResourceKind, SourceMap
from tests.weknora_documents import markers_in

Box = tuple[int, float, float, float, float]


def stands_right(source_map: SourceMap, mapped: Mapped, passage: dict[str, Any]) -> bool:
    """Say whether the lines of a place are those of the passage, by the markers they hold and by what else was written
    down of the true place. `source_map` still has its markers."""
    is_true = _CHECKS[source_map.kind]
    return is_true(source_map, mapped, passage)


def lines_of(source_map: SourceMap, mapped: Mapped) -> Iterator[int]:
    """Yield the lines of a place that hold anything."""
    index = LineIndex(source_map.text)
    for start, end in mapped.spans:
        for line in range(index.line_at(start), index.line_at(end - 1) + 1):
            if source_map.text[slice(*index.span_of(line, line))].strip():
                yield line


def holds_its_markers(source_map: SourceMap, mapped: Mapped, passage: dict[str, Any]) -> bool:
    """Every marker of the passage is in the place, and no other but that of the paragraph it begins in."""
    index, lines = LineIndex(source_map.text), list(lines_of(source_map, mapped))
    there = {marker for line in lines for marker in markers_in(source_map.text[slice(*index.span_of(line, line))])}
    wanted = set(passage.get("markers", ()))
    first = index.span_of(min(lines), min(lines))[1]
    return wanted <= there and there - wanted <= set(markers_in(source_map.text[:first])[-1:])


def _places(source_map: SourceMap, mapped: Mapped) -> list[Place]:
    return [source_map.place_of(line) for line in lines_of(source_map, mapped)]


def _pdf(source_map: SourceMap, mapped: Mapped, passage: dict[str, Any]) -> bool:
    """Besides, each line lies on one that was written down."""
    lines = list(lines_of(source_map, mapped))
    ours = _boxes(source_map, lines)
    doubtful = _boxes(source_map, [line for line in lines if not _is_named(source_map, line, passage)])
    theirs: list[Box] = [tuple(each) for each in passage["expect"]["lines"]]
    return holds_its_markers(source_map, mapped, passage) and bool(ours) and _covered(doubtful, theirs)


def _boxes(source_map: SourceMap, lines: list[int]) -> list[Box]:
    return [(p.page, *p.bbox) for p in map(source_map.place_of, lines) if p.page and p.bbox]


def _is_named(source_map: SourceMap, line: int, passage: dict[str, Any]) -> bool:
    """A line that stands once in the file and, as it is, in the passage is right wherever it was written down."""
    texts = source_map.text.split("\n")
    return texts.count(texts[line - 1]) == 1 and texts[line - 1] in passage["content"].split("\n")


def _covered(some: list[Box], others: list[Box]) -> bool:
    return all(any(_meets(one, other) for other in others) for one in some)


def _meets(one: Box, other: Box) -> bool:
    """Nearly half of the lower one's height, and any of its width."""
    height = min(one[4], other[4]) - max(one[2], other[2])
    width = min(one[3], other[3]) - max(one[1], other[1])
    return one[0] == other[0] and width > 0 and height >= 0.4 * min(one[4] - one[2], other[4] - other[2])


def _sheet(source_map: SourceMap, mapped: Mapped, passage: dict[str, Any]) -> bool:
    """Merged cells repeat their marker at the provider, so the rows of each sheet decide."""
    rows: dict[str, set[int]] = {}
    for place in _places(source_map, mapped):
        assert place.sheet
        assert place.a1
        numbers = [int("".join(filter(str.isdigit, cell))) for cell in place.a1.split(":")]
        rows.setdefault(place.sheet, set()).update(numbers)
    ours = {sheet: (min(found), max(found)) for sheet, found in rows.items()}
    return ours == {each["sheet"]: tuple(each["rows"]) for each in passage["expect"]["ranges"]}


def _slides(source_map: SourceMap, mapped: Mapped, passage: dict[str, Any]) -> bool:
    ours = {place.slide for place in _places(source_map, mapped)}
    is_there = ours == {each["slide"] for each in passage["expect"]["slides"]}
    return is_there and holds_its_markers(source_map, mapped, passage)


_CHECKS: dict[ResourceKind, Callable[[SourceMap, Mapped, dict[str, Any]], bool]] = {
    ResourceKind.PDF: _pdf,
    ResourceKind.WORD: holds_its_markers,
    ResourceKind.SHEET: _sheet,
    ResourceKind.SLIDES: _slides,
    ResourceKind.HTML: holds_its_markers,
}
