"""Answers made of quotes: deterministic, without a model, every sentence with its citation (spec 4.3)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from knowledge.parsing.source_map import ResourceKind
from knowledge.providers.local.tokens import query_terms, tokens
from knowledge.services.references import Reference

_ENDS = re.compile(r"(?<=[。！？!?；])|(?<=[.])(?=\s|$)")
_JOINED = frozenset({ResourceKind.MARKDOWN, ResourceKind.TEXT, ResourceKind.PDF, ResourceKind.HTML, ResourceKind.MAIL})
_OWN_LINE = re.compile(r"\s*(?:[-*+>|#]|\d+[.)]\s|```)")
#: A question is not an answer, however many words of the asked one it has.
_ASKS = ("?", "？")
_MARKER = re.compile(r"^\s*(?:#{1,6}\s+|[-*+>]\s+|\d+[.)]\s+|\|\s*(?=\S))|\s*\|\s*$")
_WIDE = re.compile(r"(?<=[\u2e80-\u9fff\uff00-\uffef])\s+(?=[\u2e80-\u9fff\uff00-\uffef])")
_MAX_SENTENCES = 4
_MAX_CHARS = 400
#: A further sentence has to say this many words more of the question; one shared word is no answer.
_WORTH_MORE = 2


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
        if chosen and len(best.words & missing) < _WORTH_MORE:
            break
        chosen.append(best)
        missing -= best.words
        candidates = [c for c in candidates if c is not best and c.text != best.text]
    return Answer(sentences=tuple(Sentence(text=c.text, reference=c.reference) for c in chosen))


def _sentences(number: int, reference: Reference, wanted: set[str]) -> list[_Candidate]:
    found = []
    kind = reference.locator.resource_kind
    for place, text in enumerate(sentences_of(_without_titles(reference.locator.quote, kind), kind)):
        words = frozenset(tokens(text)) & wanted
        if words and not text.endswith(_ASKS):
            found.append(_Candidate(text[:_MAX_CHARS], words, number, place))
    return found


def _without_titles(quote: str, kind: ResourceKind) -> str:
    """Leave out headings and code of a note: they name an answer, they are none. A passage of nothing else stays."""
    if kind is not ResourceKind.MARKDOWN:
        return quote
    kept: list[str] = []
    is_code = False
    for line in quote.split("\n"):
        is_fence = line.lstrip().startswith(("```", "~~~"))
        is_code = is_code != is_fence
        if not (is_code or is_fence or line.startswith("#")):
            kept.append(line)
    return "\n".join(kept) if any(line.strip() for line in kept) else quote


def sentences_of(quote: str, kind: ResourceKind) -> list[str]:
    """Split a passage into sentences. Prose runs on over line ends; list items, table rows and headings do not."""
    runs: list[str] = []
    joins = False
    for line in quote.split("\n"):
        stands_alone = kind not in _JOINED or bool(_OWN_LINE.match(line))
        text = _MARKER.sub("", line).strip()
        if joins and text and not stands_alone:
            runs[-1] = f"{runs[-1]} {text}"
        elif text:
            runs.append(text)
        joins = bool(text) and not line.lstrip().startswith(("#", "|"))
    pieces = (_WIDE.sub("", piece).strip() for run in runs for piece in _ENDS.split(run))
    return [piece for piece in pieces if len(piece) > 1]
