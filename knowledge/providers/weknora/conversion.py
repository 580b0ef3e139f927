"""The server's own reading of an original, put together again from its passages.

It repeats the heads of tables and writes things that stand in no file: names of pictures, targets of links, numbers of
lists, marks of slides. They become blanks here, so that what is left is the file's own words at the server's offsets.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

from knowledge.mapping.converted import Converted, Mark, Piece
from knowledge.providers.weknora.prepare import has_words
from knowledge.providers.weknora.reader import OFFER
from knowledge.providers.weknora.rows import ChunkRow

#: A text this long is none that we could have parsed.
_LONGEST = 40_000_000

_IMAGES = re.compile(r"!\[[^\]\n]{0,500}\]\([^)\s]{0,2000}(?:\s\"[^\"\n]{0,500}\")?\)")
_STORED = re.compile(r"!\[[^\]\n]{0,500}\]\(resource://[^)\s]{0,200}\)")
_COMMENTS = re.compile(r"<!--.{0,2000}?-->", re.DOTALL)
_TARGETS = re.compile(r"(?<=\])\([^()\s]{0,2000}(?:\([^()\s]{0,500}\)[^()\s]{0,500}){0,3}(?:\s\"[^\"\n]{0,500}\")?\)")
_FOOTNOTES = re.compile(r"\[\[\d{1,5}\]\]")
_NUMBERS = re.compile(r"^[ \t]*\d{1,5}\.[ \t]", re.MULTILINE)
_SLIDE_WORDS = re.compile(r"^### (?:Notes:|Chart)|^\[unsupported chart\]", re.MULTILINE)
_CHART_HEADS = re.compile(r"^\| Category (?=\|)", re.MULTILINE)
_CHART_WHOLE = re.compile(r"(?<=\d)\.0(?= \|)")
_COLUMNS = re.compile(r"(?<![^,\n])[A-Z]{1,3}: ")
_MIDNIGHTS = re.compile(r" 00:00:00\b")
_WHOLE = re.compile(r"(?<=\d)\.0(?=,|$)", re.MULTILINE)

#: Cells of a row. Merged cells are written down once for each cell that they cover.
_CELLS = {
    "docx": re.compile(r"(?<=\|)[^|\n]+(?=\|)"),
    "xlsx": re.compile(r"(?<![^,\n])[^,\n]+"),
    "xls": re.compile(r"(?<![^,\n])[^,\n]+"),
}
_PAGES_TOO = (_IMAGES, _COMMENTS)
_WORDS_TOO = (*_PAGES_TOO, _TARGETS, _FOOTNOTES, _NUMBERS)
_ADDED: dict[str, tuple[re.Pattern[str], ...]] = {
    "docx": _WORDS_TOO,
    "html": _WORDS_TOO,
    "htm": _WORDS_TOO,
    "mhtml": _WORDS_TOO,
    "epub": _WORDS_TOO,
    "pptx": (*_PAGES_TOO, _SLIDE_WORDS, _CHART_HEADS, _CHART_WHOLE),
    "xlsx": (_IMAGES, _COLUMNS, _MIDNIGHTS, _WHOLE),
    "xls": (_IMAGES, _COLUMNS, _MIDNIGHTS, _WHOLE),
}
_SLIDES = re.compile(r"<!-- Slide number: (\d{1,5}) -->")
_PICTURES = re.compile(r"!\[[^\]\n]{0,400}?_(?:p|page_)(\d{1,5})(?:_(?:img|fig)\d+)?(?:\.\w+)?\]")
_PAGES_OF_PICTURES = re.compile(
    r"!\[[^\]\n]{0,400}?_(?:p|page_)(\d{1,5})(?:_(?:img|fig)\d+)?(?:\.\w+)?\]\(([^)\s]{1,2000})\)"
)


def own_words(text: str, file_type: str) -> str:
    """Return a text of the server, blanks in place of what it added."""
    for pattern in _ADDED.get(file_type.lower(), _PAGES_TOO):
        text = pattern.sub(_blank, text)
    return text


def says_something(content: str) -> bool:
    """Say whether a passage holds more than names of pictures that the server stored and marks of its own."""
    return has_words(_COMMENTS.sub("", _STORED.sub("", content)) if "](" in content or "<!--" in content else content)


def slice_of(content: str, start: int, end: int) -> str:
    """Return a passage without the head of a table that is repeated before it."""
    return content[-(end - start) :] if end > start else ""


def key_of(content: str, start: int, end: int) -> str:
    """Return what recognises a passage, today and after it was read again: offsets and words, without pictures. What a
    model made of a picture has no offsets."""
    words = _IMAGES.sub("", slice_of(content, start, end) if end > start else content)
    return f"{start}-{end}-{hashlib.blake2b(words.encode('utf-8', 'replace'), digest_size=9).hexdigest()}"


def put_together(chunks: Sequence[ChunkRow], file_type: str) -> Converted:
    """Return the converted text of a document from all its passages."""
    rows = sorted((row for row in chunks if _is_slice(row)), key=lambda row: (row.start, row.index))
    letters = [" "] * max((row.end for row in rows), default=0)
    for row in rows:
        words = row.content[-(row.end - row.start) :]  # without characters that the server cannot store
        letters[row.start : row.start + len(words)] = words
    whole = "".join(letters)
    slides = [(found.start(), int(found[1])) for found in _SLIDES.finditer(whole)]
    marks = slides or [(found.start(), int(found[1])) for found in _PICTURES.finditer(whole)]
    pieces = tuple(
        Piece(key=key_of(row.content, row.start, row.end), start=row.start, end=row.end, page=_page(whole, row, slides))
        for row in rows
    )
    text = own_words(whole, file_type)
    return Converted(
        text=text,
        pieces=(*pieces, *_of_pictures(chunks, whole, file_type)),
        echoes=tuple(_echoes(text, file_type)),
        marks=tuple(Mark(at=at, page=page) for at, page in marks),
    )


def _of_pictures(chunks: Iterable[ChunkRow], whole: str, file_type: str) -> Iterator[Piece]:
    """Of what a model made of a picture the page is known: a picture is one, in others the picture's name tells."""
    pages = {found[2]: int(found[1]) for found in _PAGES_OF_PICTURES.finditer(whole)}
    for row in chunks:
        if row.is_of_picture:
            page = 1 if file_type.lower() in OFFER.pictures else pages.get(row.picture)
            key = key_of(row.content, row.start, row.end)
            yield Piece(key=key, start=row.start, end=row.end, page=page, is_of_picture=True)


def _echoes(text: str, file_type: str) -> Iterator[tuple[int, int]]:
    """Yield cells that say the same as the one before them or the one above."""
    cells = _CELLS.get(file_type.lower())
    above: list[str] = []
    start = 0
    for line in text.split("\n") if cells else ():
        found = list(cells.finditer(line)) if cells else []
        words = [cell[0].strip() for cell in found]
        for at, cell in enumerate(found):
            if words[at] and words[at] in (words[at - 1] if at else "", *above[at : at + 1]):
                yield start + cell.start(), start + cell.end()
        above = words
        start += len(line) + 1


def _is_slice(row: ChunkRow) -> bool:
    return not row.is_of_picture and 0 <= row.start < row.end <= _LONGEST


def _page(whole: str, row: ChunkRow, slides: list[tuple[int, int]]) -> int | None:
    """A slide's mark stands before its words; the name of a picture names its page."""
    if slides:
        words = row.start + len(whole[row.start : row.end]) - len(whole[row.start : row.end].lstrip())
        at = bisect_right(slides, (words, 1 << 30))
        return slides[at - 1][1] if at else None
    pages = {int(found[1]) for found in _PICTURES.finditer(whole, row.start, row.end)}
    return pages.pop() if len(pages) == 1 else None


def _blank(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found[0])
