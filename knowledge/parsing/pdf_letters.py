"""A second look at the letters of a page, by the library that draws it.

Of a font that the file only names, the parser takes the letters from a substitute, whose numbers are others: it read
"Q0175" where "Q0179" stands. The drawing library goes by the font's own map, and says where it knows none. So for such
fonts its letters are taken, where both find as many at a place. For a font that the file holds the parser knows more:
it looks at the letters' shapes where the map is wrong.
"""

from __future__ import annotations

import ctypes
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from knowledge.parsing.pdf_layout import Run
from knowledge.parsing.source_map import BBox

#: Points by which the middle of a letter may lie outside the box of its run.
_MARGIN = 1.0
#: Units of a point in which the drawing library tells where something is shown; it gives whole numbers.
_UNITS = 16

Groups = tuple[tuple[Run, ...], ...]
#: Full points from the top -> number, letter, x and y of what is shown there.
Rows = dict[int, list[tuple[int, str, float, float]]]


def with_sure_letters(page: pdfium.PdfPage, groups: Groups) -> Groups:
    """Return the runs of a page with the letters in them that the drawing library knows better."""
    words = page.get_textpage()
    try:
        if _bag(run.text for group in groups for run in group) == _bag([words.get_text_range()]):
            return groups
        sure = _sure_ones(words)
        if not sure:
            return groups
        rows = _rows(page, words, sure)
        return tuple(tuple(_corrected(run, rows) for run in group) for group in groups)
    finally:
        words.close()


def _bag(texts: Iterable[str]) -> Counter[str]:
    return Counter(letter for text in texts for letter in _plain(text) if letter.isalnum())


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _sure_ones(words: pdfium.PdfTextPage) -> frozenset[int]:
    """Return which letters are known better by the drawing library: of fonts that the file does not hold."""
    held: dict[int, bool] = {}
    sure = []
    for index in range(words.count_chars()):
        drawn = pdfium_c.FPDFText_GetTextObject(words, index)
        key = ctypes.addressof(drawn.contents) if drawn else 0
        if key not in held:
            held[key] = not key or pdfium_c.FPDFFont_GetIsEmbedded(pdfium_c.FPDFTextObj_GetFont(drawn)) != 0
        if not held[key] and not pdfium_c.FPDFText_HasUnicodeMapError(words, index):
            sure.append(index)
    return frozenset(sure)


def _rows(page: pdfium.PdfPage, words: pdfium.PdfTextPage, sure: frozenset[int]) -> Rows:
    """Return the letters of a page by the point of height in which their middles are shown; "" for unsure ones."""
    rows: Rows = {}
    for index in range(words.count_chars()):
        letter = chr(pdfium_c.FPDFText_GetUnicode(words, index))
        if letter.isspace() or pdfium_c.FPDFText_IsGenerated(words, index):
            continue
        left, bottom, right, top = words.get_charbox(index)
        x, y = _shown(page, (left + right) / 2, (bottom + top) / 2)
        rows.setdefault(int(y), []).append((index, letter if index in sure else "", x, y))
    return rows


def _shown(page: pdfium.PdfPage, x: float, y: float) -> tuple[float, float]:
    """Turn a point of the page's own space into one of the page as shown, origin top-left."""
    width, height = (round(side * _UNITS) for side in page.get_size())
    across, down = ctypes.c_int(), ctypes.c_int()
    pdfium_c.FPDF_PageToDevice(page, 0, 0, width, height, 0, x, y, across, down)
    return across.value / _UNITS, down.value / _UNITS


def _corrected(run: Run, rows: Rows) -> Run:
    near = range(int(run.bbox[1] - _MARGIN), int(run.bbox[3] + _MARGIN) + 1)
    found = [(index, letter) for row in near for index, letter, x, y in rows.get(row, ()) if _holds(run.bbox, x, y)]
    there = [letter for _index, letter in sorted(found)]
    own = [letter for letter in run.text if not letter.isspace()]
    if len(there) != len(own):
        return run
    sure = iter(
        known if _is_comparable(known) and _plain(mine) != _plain(known) else mine
        for mine, known in zip(own, there, strict=True)
    )
    return replace(run, text="".join(letter if letter.isspace() else next(sure) for letter in run.text))


def _is_comparable(letter: str) -> bool:
    """Letters and digits are; but not of scripts written from the right, which the two give in different order."""
    return letter.isalnum() and unicodedata.bidirectional(letter) in ("L", "EN")


def _holds(box: BBox, x: float, y: float) -> bool:
    left, top, right, bottom = box
    return left - _MARGIN <= x <= right + _MARGIN and top - _MARGIN <= y <= bottom + _MARGIN
