"""Answers made of quotes: deterministic, without a model, every sentence with its citation (spec 4.3)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from knowledge.providers.local.tokens import query_terms, tokens
from knowledge.services.references import Reference

_SENTENCE = re.compile(r"[^。！？!?；;\n.]+(?:\.(?=\S)[^。！？!?；;\n.]*)*[。！？!?；;.]*", re.UNICODE)
_MAX_SENTENCES = 4
_MAX_CHARS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """One sentence of an answer and the place in the list of references that says it (0-based)."""

    text: str
    reference: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer as sentences; empty when nothing found says anything about the question."""

    sentences: tuple[Sentence, ...]

    @property
    def cited(self) -> tuple[int, ...]:
        """References in the order in which the answer cites them."""
        return tuple(dict.fromkeys(sentence.reference for sentence in self.sentences))

    @property
    def text(self) -> str:
        """The answer with [1], [2]… after each sentence, numbered in the order of `cited`."""
        order = {reference: number for number, reference in enumerate(self.cited, start=1)}
        return " ".join(f"{sentence.text} [{order[sentence.reference]}]" for sentence in self.sentences)


@dataclass(frozen=True, slots=True)
class _Candidate:
    text: str
    words: frozenset[str]
    reference: int
    place: int


def compose(question: str, references: tuple[Reference, ...]) -> Answer:
    """Choose the sentences that together cover most of the question's words, best reference first."""
    wanted = {term.text for term in query_terms(question)}
    candidates = [c for number, each in enumerate(references) for c in _sentences(number, each, wanted)]
    chosen: list[_Candidate] = []
    missing = set(wanted)
    while candidates and len(chosen) < _MAX_SENTENCES:
        best = max(candidates, key=lambda c: (len(c.words & missing), len(c.words), -c.reference, -c.place))
        if not best.words & missing and chosen:
            break
        chosen.append(best)
        missing -= best.words
        candidates = [c for c in candidates if c is not best and c.text != best.text]
    return Answer(sentences=tuple(Sentence(text=c.text, reference=c.reference) for c in chosen))


def _sentences(number: int, reference: Reference, wanted: set[str]) -> list[_Candidate]:
    found = []
    for place, match in enumerate(_SENTENCE.finditer(reference.locator.quote)):
        text = " ".join(match.group().split()).strip("#|>*-_` ")
        words = frozenset(tokens(text)) & wanted
        if words and len(text) > 1:
            found.append(_Candidate(text[:_MAX_CHARS], words, number, place))
    return found
