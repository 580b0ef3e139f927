"""The order of found blocks: the engine's word score, raised where a block says all of the query, or verbatim."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from knowledge.providers.local.tokens import fold

ALL_TERMS_BONUS = 0.1
PHRASE_BONUS = 0.3
HEAD_PHRASE_BONUS = 0.1

#: A heading alone and front matter answer little; the blocks below carry the words of headings and title in their head.
TYPE_FACTORS = {"heading": 0.7, "front_matter": 0.8}

#: What stands around a phrase and is not part of it: the question mark, quotes.
_EDGES = re.compile(r"^\W+|\W+$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A block that matched. `word_score` is the engine's, higher is better.

    `has_all` says that every term is there; `head` holds the title and headings above the block where it does.
    """

    n: int
    block_id: str
    resource_n: int
    resource_id: str
    ordinal: int
    type: str
    text: str
    char_range: str
    head: tuple[str, ...]
    word_score: float
    has_all: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    candidate: Candidate
    score: float


def ranked(candidates: Iterable[Candidate], query: str) -> list[Ranked]:
    """Return candidates best first; of equal ones the earlier in its document, then the earlier stored."""
    phrase = _EDGES.sub("", fold(query))
    scored = [Ranked(candidate=candidate, score=_score(candidate, phrase)) for candidate in candidates]
    return sorted(scored, key=lambda one: (-one.score, one.candidate.ordinal, one.candidate.n))


def without_repeats(found: Sequence[Ranked]) -> list[Ranked]:
    """Drop a block that repeats the text of a better one of the same content, such as a header row.

    The same text in two contents stays: a reader may be allowed to see only one of them.
    """
    seen: dict[tuple[int, str], Ranked] = {}
    for one in found:
        seen.setdefault((one.candidate.resource_n, one.candidate.text), one)
    return list(seen.values())


def _score(candidate: Candidate, phrase: str) -> float:
    factor = 1.0
    if candidate.has_all:  # asked only there, as folding text is slow
        factor += ALL_TERMS_BONUS + _phrase_bonus(candidate, phrase)
    return candidate.word_score * factor * TYPE_FACTORS.get(candidate.type, 1.0)


def _phrase_bonus(candidate: Candidate, phrase: str) -> float:
    if phrase in fold(candidate.text):
        return PHRASE_BONUS
    return HEAD_PHRASE_BONUS if any(phrase in fold(part) for part in candidate.head) else 0.0
