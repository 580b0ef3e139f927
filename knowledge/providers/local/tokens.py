"""Text to search tokens, the same way for what is stored and what is asked.

SQLite's own tokenizers cannot find words in Chinese, Japanese or Thai, which put no spaces between them, so we cut
the text ourselves and give FTS5 tokens joined by spaces. A change in this module's results needs a new `TOKENIZER_REV`.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import Stemmer  # type: ignore[import-not-found,import-untyped,unused-ignore]

from knowledge.providers.han import FOLD
from knowledge.providers.local.stopwords import STOPWORDS

TOKENIZER_REV = "words-1"

#: Punctuation that may stand inside a token; `schema.py` tells FTS5.
WORD_PUNCTUATION = "_.+#-"

#: Scripts written without spaces, and Hangul, whose words carry endings: kana, bopomofo, Han, Hangul, Thai, Lao,
#: Burmese, Khmer. The katakana middle dot U+30FB separates words.
_UNSPACED = (
    "々〇\u3040-\u30fa\u30fc-\u30ff\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff"
    "\U00020000-\U000323af\u0e01-\u0e4e\u0e81-\u0ece\u1000-\u1049\u1780-\u17d3"
)
_PIECE = re.compile(
    rf"(?P<run>[{_UNSPACED}]+)|(?P<word>[^\W{_UNSPACED}]+(?:[.\-+#]+[^\W{_UNSPACED}]+)*(?:\+\+|\#(?!\#))?)"
)
_JOINT = re.compile(r"[._+#-]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_MARKS = re.compile("[\u0300-\u036f]+")

#: Full-width punctuation and the like that stands in no token: with it gone, Chinese text is mostly NFKC already.
_WIDE_MARKS = re.compile("[\u3000…！＂＄％＆＇（）＊，／：；＜＝＞？＠［＼］＾｀｛｜｝～｡｢｣､･]")

#: Han variants, and the Turkish letters whose case has no counterpart: İ and ı.
_FOLD = FOLD | {0x130: "I", 0x131: "i"}
_FOLDED = re.compile(f"[{''.join(map(chr, _FOLD))}]")

_SPACE = re.compile(r"\s+")

#: Words longer than this (encoded data, mostly) are stored and looked up by their beginning.
_MAX_WORD = 64


@dataclass(frozen=True, slots=True)
class Term:
    """One thing to look for: a whole token, or with `prefix` any token that begins with it."""

    text: str
    prefix: bool = False


def fold(text: str) -> str:
    """Return `text` as it is compared: compatibility forms, case, accents and Han variants gone, spaces single."""
    return _SPACE.sub(" ", _plain(_unify(text))).strip()


def tokens(text: str) -> list[str]:
    """Return the tokens of `text` in order.

    A run of unspaced script gives its pairs of neighbours and then its last character, so that each character of it
    begins a token and a search for one character can look for beginnings.
    """
    found: list[str] = []
    for piece in _PIECE.finditer(_unify(text)):
        run = piece["run"]
        if run:
            found += [run[at : at + 2] for at in range(len(run))]
        else:
            found += _word_tokens(piece["word"])
    return found


def placed_tokens(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the tokens of `text`, each with the characters of `text` that it stands for: where it starts, and ends."""
    unified, starts, ends = _unify_with_places(text)
    for piece in _PIECE.finditer(unified):
        run = piece["run"]
        found = _run_places(run) if run else _word_places(piece["word"])
        for token, start, end in found:
            first, last = piece.start() + start, piece.start() + end - 1
            yield (token, starts[first], ends[last]) if starts else (token, first, last + 1)


def query_terms(query: str) -> list[Term]:
    """Return what to look for, each once, without words that say nothing unless there are no others."""
    terms: dict[Term, None] = {}
    for piece in _PIECE.finditer(_unify(query)):
        run = piece["run"]
        if not run:
            terms.update(dict.fromkeys(Term(word) for word in _word_tokens(piece["word"])))
        elif len(run) == 1:
            terms[Term(run, prefix=True)] = None
        else:
            terms.update(dict.fromkeys(Term(a + b) for a, b in pairwise(run)))
    telling = [term for term in terms if term.text not in _SAYS_NOTHING]
    return telling or list(terms)


def _unify(text: str) -> str:
    """Return `text` in one spelling, case kept. The two searches spare most text the slow calls behind them."""
    if text.isascii():
        return text
    text = unicodedata.normalize("NFKC", _WIDE_MARKS.sub(" ", text))
    return text.translate(_FOLD) if _FOLDED.search(text) else text


def _unify_with_places(text: str) -> tuple[str, list[int], list[int]]:
    """Return the unified text, and where each of its characters begins and ends in `text`; no lists where the places
    are the same."""
    plain = text if text.isascii() else _WIDE_MARKS.sub(" ", text)
    if plain.isascii() or unicodedata.is_normalized("NFKC", plain):
        return plain.translate(_FOLD), [], []
    parts: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    heads = [at for at, character in enumerate(plain) if not at or not _attaches(character)]
    for start, end in pairwise([*heads, len(plain)]):
        part = unicodedata.normalize("NFKC", plain[start:end])
        parts.append(part)
        starts += [start] * len(part)
        ends += [end] * len(part)
    return "".join(parts).translate(_FOLD), starts, ends


def _attaches(character: str) -> bool:
    """Say whether a character is normalised together with the one before it: marks, later parts of a Hangul syllable,
    and the half-width sound marks of Japanese."""
    return (
        unicodedata.category(character)[0] == "M"
        or "\u1160" <= character <= "\u11ff"
        or "\uff9e" <= character <= "\uff9f"
    )


def _plain(text: str) -> str:
    text = text.casefold()
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFD", text)))


@lru_cache(maxsize=100_000)
def _word_tokens(word: str) -> tuple[str, ...]:
    """Return the tokens of a spaced word: itself and, where it is put together (a_b, a.b, aB), its parts."""
    word = word[:_MAX_WORD]
    parts = [part for joined in _JOINT.split(word) for part in _CAMEL.split(joined) if part]
    whole = _stem(_plain(word))
    if len(parts) < 2 and parts == [word]:
        return (whole,)
    return (whole, *(_stem(_plain(part)) for part in parts))


def _run_places(run: str) -> Iterator[tuple[str, int, int]]:
    for at in range(len(run)):
        yield run[at : at + 2], at, min(at + 2, len(run))


def _word_places(word: str) -> Iterator[tuple[str, int, int]]:
    """Yield what `_word_tokens` gives, with the places of the parts in the word."""
    whole, *parts = _word_tokens(word)
    yield whole, 0, len(word)
    at = 0
    pieces = [part for joined in _JOINT.split(word[:_MAX_WORD]) for part in _CAMEL.split(joined) if part]
    for token, piece in zip(parts, pieces, strict=False):
        start = word.index(piece, at)
        at = start + len(piece)
        yield token, start, at


class _Stemmers(threading.local):
    """A stemmer for each thread: stemming keeps its state in the object."""

    def __init__(self) -> None:
        self.english = Stemmer.Stemmer("english", 0)  # our cache is before it


_stemmers = _Stemmers()


def _stem(word: str) -> str:
    return str(_stemmers.english.stemWord(word)) if word.isascii() else word


_SAYS_NOTHING = frozenset(map(_stem, STOPWORDS))
