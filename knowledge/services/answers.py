"""Answers made of quotes: deterministic, without a model, every sentence with its citation (spec 4.3)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from knowledge.parsing.source_map import ResourceKind
from knowledge.providers.local.tokens import Term, query_terms, tokens
from knowledge.services.references import Reference

_ENDS = re.compile(r"(?<=[。！？!?；])|(?<=[.])(?=\s|$)")
_JOINED = frozenset({ResourceKind.MARKDOWN, ResourceKind.TEXT, ResourceKind.PDF, ResourceKind.HTML, ResourceKind.MAIL})
_OWN_LINE = re.compile(r"\s*(?:[-*+>|#]|\d+[.)]\s|```)")
#: A question is not an answer, however many words of the asked one it has.
_ASKS = ("?", "？")
_MARKER = re.compile(r"^\s*(?:#{1,6}\s+|[-*+>]\s+|\d+[.)]\s+|\|\s*(?=\S))|\s*\|\s*$")
_WIDE = re.compile(r"(?<=[\u2e80-\u9fff\uff00-\uffef])\s+(?=[\u2e80-\u9fff\uff00-\uffef])")
#: How a question asks, and the small words between what it is about. They stand in many passages and say nothing.
_ASKING = re.compile(
    r"多长时间|什么时候|多少[天次个钱]?|几[天次个月年点]|多久|一次|每次|为什么|什么|怎么样?|怎样|如何|哪[些个里儿]|是否|有没有|可不可以|能不能|可以|能够|应该|需要|[的把到在是有了和与吗呢]"
    r"|\bhow (?:often|long|much|many|far|old|soon|big|large)\b|\b(?:once|tell|explain|please)\b",
    re.IGNORECASE,
)
_UNSPACED_FROM = "\u2e80"
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
    """Choose the sentences that together cover most of the question's words, best reference first.

    An answer says something of what the question is about; passages that share only the way of asking are none.
    """
    wanted = {term.text for term in query_terms(question)}
    subject = query_terms(_ASKING.sub(" ", question)) or query_terms(question)
    about = [(number, each) for number, each in enumerate(references) if _said(subject, each)]
    candidates = [c for number, each in about for c in _sentences(number, each, wanted)]
    chosen = _chosen(candidates, wanted)
    said = {word for c in chosen for word in _said(subject, references[c.reference], c.text)}
    if not _is_enough({term.text for term in subject}, said):
        return Answer(sentences=())
    return Answer(sentences=tuple(Sentence(text=c.text, reference=c.reference) for c in chosen))


def _chosen(candidates: list[_Candidate], wanted: set[str]) -> list[_Candidate]:
    chosen: list[_Candidate] = []
    missing = set(wanted)
    while candidates and len(chosen) < _MAX_SENTENCES:
        best = max(candidates, key=lambda c: (len(c.words & missing), len(c.words), -c.reference, -c.place))
        if chosen and len(best.words & missing) < _WORTH_MORE:
            break
        chosen.append(best)
        missing -= best.words
        candidates = [c for c in candidates if c is not best and c.text != best.text]
    return chosen


def _is_enough(subject: set[str], said: set[str]) -> bool:
    """A third of the words; of writing without spaces, whose pairs of letters run over words, any."""
    words = {each for each in subject if each < _UNSPACED_FROM}
    return bool(said - words) or 0 < len(words) <= 3 * len(said)


def _said(subject: Iterable[Term], reference: Reference, text: str = "") -> set[str]:
    """Return what of a subject a passage says, or a `text` of it, with the names of where it stands: file, sections."""
    locator = reference.locator
    words = tokens(" ".join([reference.document.name, *locator.section_path, text or locator.quote]))
    known = set(words)
    return {
        term.text
        for term in subject
        if term.text in known or (term.prefix and any(word.startswith(term.text) for word in words))
    }


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
