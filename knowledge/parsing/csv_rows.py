"""CSV and TSV to a source map: one derived line for each record, placed by the row a spreadsheet shows."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from io import StringIO

from knowledge.parsing.base import ParseInput
from knowledge.parsing.decoding import decode_text
from knowledge.parsing.derived import Derived
from knowledge.parsing.file_types import type_for_name
from knowledge.parsing.lines import CELL_GAP, one_line
from knowledge.parsing.source_map import Place, ResourceKind, SourceMap
from knowledge.parsing.text_size import check_data_size

_DELIMITERS = ",;\t|"
_SAMPLE_ROWS = 50
_SAMPLE_CHARS = 64 * 1024

# One setting for the whole process, so it must not depend on the file: the text is bounded before it comes here.
csv.field_size_limit(2**31 - 1)


class CsvParser:
    """Reads tables in text form."""

    provider_id = "text"
    revision = "csv-1"

    def can_parse(self, item: ParseInput) -> bool:
        found = type_for_name(item.name)
        return found is not None and found.kind is ResourceKind.CSV

    def parse(self, item: ParseInput) -> SourceMap:
        check_data_size(item.data, item.limits)
        decoded = decode_text(item.data, encoding=item.options.get("encoding"))
        delimiter = find_delimiter(decoded.text, default="," if item.name.lower().endswith(".csv") else "\t")
        derived = Derived()
        for number, record in enumerate(read_records(decoded.text, delimiter), start=1):
            cells = [one_line(cell) for cell in record]
            if any(cells):
                derived.add(CELL_GAP.join(cells), Place(row=number), "table", group="rows")
        meta = decoded.meta | {"delimiter": delimiter}
        return derived.source_map(self, item, ResourceKind.CSV, meta=meta)


def find_delimiter(text: str, *, default: str) -> str:
    """Return the delimiter that cuts the first records into the same number of cells, as many as possible."""
    sample = text[:_SAMPLE_CHARS]
    best, best_score = default, (0.0, 0)
    for delimiter in dict.fromkeys((default, *_DELIMITERS)):
        widths = [len(record) for record in _sampled(sample, delimiter) if any(record)]
        common = max(set(widths), key=lambda width: (widths.count(width), width), default=1)
        score = (widths.count(common) / len(widths), common) if common > 1 else (0.0, 0)
        if score > best_score:
            best, best_score = delimiter, score
    return best


def read_records(text: str, delimiter: str) -> Iterator[list[str]]:
    """Yield the records; quoted cells may hold delimiters and line ends.

    A quotation mark that is never closed is taken for an ordinary character, in the whole file.
    """
    lines = StringIO(text, newline="")
    if _is_well_quoted(text, delimiter):
        return csv.reader(lines, delimiter=delimiter)
    return csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE)


def _is_well_quoted(text: str, delimiter: str) -> bool:
    if '"' not in text:
        return True
    try:
        for _ in csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True):
            pass
    except csv.Error as error:
        return "unexpected end of data" not in str(error)
    return True


def _sampled(sample: str, delimiter: str) -> list[list[str]]:
    records = []
    try:
        for record in csv.reader(StringIO(sample, newline=""), delimiter=delimiter):
            records.append(record)
            if len(records) == _SAMPLE_ROWS:
                break
    except csv.Error:
        return []
    return records
