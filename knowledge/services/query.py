"""Questions: search, compose an answer of quotes, cite each sentence at its own lines (spec 4.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain

from knowledge.citations.lines import LineIndex
from knowledge.citations.locators import Resource, locate
from knowledge.citations.quotes import QuoteAnchor, QuoteFinder
from knowledge.providers.base import ProviderError
from knowledge.providers.local.tokens import query_terms, tokens
from knowledge.services import answers, parsing, references, search
from knowledge.services.answers import Answer
from knowledge.services.references import Reference
from mnote.principals import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryResult:
    """An answer, the search behind it, and the references it cites, in its order, narrowed to the cited sentences."""

    answer: Answer
    found: search.SearchResult
    citations: tuple[Reference, ...]


def ask(
    *, principal: Principal, scope: search.Scope, question: str, top_k: int = 10, mode: str = "hybrid"
) -> QueryResult:
    """Answer a question from what the caller may read. Raises what `search.search` raises."""
    found = search.search(principal=principal, scope=scope, query=question, top_k=top_k, mode=mode)
    return _answered(question, found)


def ask_everywhere(
    *, principal: Principal, scopes: Sequence[search.Scope], question: str, top_k: int = 10, mode: str = "hybrid"
) -> QueryResult:
    """Answer a question from several workspaces, whose scores mean nothing beside each other.

    Each keeps its own order; a list goes on before the others while it still holds a passage that says more of the
    question than theirs do. A workspace whose provider does not answer is left out, and `silent` is not empty.
    Raises what `ask` raises when none answers.
    """
    if len(scopes) == 1:
        return ask(principal=principal, scope=scopes[0], question=question, top_k=top_k, mode=mode)
    failed: dict[str, ProviderError] = {}
    parts = [
        search.look(principal=principal, scope=scope, query=question, top_k=top_k, mode=mode, failed=failed)
        for scope in scopes
    ]
    failures = [part.failure for part in parts if part.failure is not None]
    if failures and len(failures) == len(parts):
        raise failures[0]
    return _answered(question, _merged(question, parts, top_k))


def _answered(question: str, found: search.SearchResult) -> QueryResult:
    answer = answers.compose(question, found.references)
    citations = tuple(_narrowed(found.references[number], _said(answer, number)) for number in answer.cited)
    return QueryResult(answer=answer, found=found, citations=citations)


def _merged(question: str, parts: Sequence[search.SearchResult], top_k: int) -> search.SearchResult:
    return search.SearchResult(
        references=_in_turn(question, [part.references for part in parts])[:top_k],
        kbs=tuple(chain(*(part.kbs for part in parts))),
        dropped_unmapped=sum(part.dropped_unmapped for part in parts),
        dropped_unplaced=sum(part.dropped_unplaced for part in parts),
        dropped_forbidden=sum(part.dropped_forbidden for part in parts),
        candidates=sum(part.candidates for part in parts),
        milliseconds=sum(part.milliseconds for part in parts),
        mode=parts[0].mode if parts else "hybrid",
        silent=tuple(chain(*(part.silent for part in parts))),
        notes=tuple(dict.fromkeys(chain(*(part.notes for part in parts)))),
    )


def _in_turn(question: str, lists: Sequence[Sequence[Reference]]) -> tuple[Reference, ...]:
    wanted = {term.text for term in query_terms(question)}
    keyed = []
    for place, references_of_one in enumerate(lists):
        said = [_said_of(wanted, each) for each in references_of_one]
        ahead = list(accumulate(reversed(said), max))[::-1]
        keyed += [
            (-best, rank, place, each) for rank, (best, each) in enumerate(zip(ahead, references_of_one, strict=True))
        ]
    return tuple(each for *_, each in sorted(keyed, key=lambda item: item[:3]))


def _said_of(wanted: set[str], reference: Reference) -> int:
    """Count the words of the question that a passage holds; one found by its meaning need not hold any."""
    if reference.hit.match_type != "words":
        return len(wanted)
    return len(wanted & set(tokens(reference.locator.quote)))


def _said(answer: Answer, number: int) -> list[str]:
    return [sentence.text for sentence in answer.sentences if sentence.reference == number]


def _narrowed(reference: Reference, sentences: list[str]) -> Reference:
    """Point a reference at the lines of the sentences taken from it, when all of them are found in its passage."""
    locator, document = reference.locator, reference.document
    source_map = parsing.known(workspace_id=document.workspace_id, source_hash=locator.source_hash, name=document.name)
    finder = QuoteFinder(locator.quote)
    spans = [finder.find(QuoteAnchor.of(sentence))[:1] for sentence in sentences]
    if locator.degraded or source_map is None or not all(spans):
        return reference
    start = locator.char_start + min(span[0].start for span in spans)
    end = locator.char_start + max(span[0].end for span in spans)
    lines = LineIndex(source_map.text).range_of(start, end)
    resource = Resource(
        root_uri=locator.root_uri,
        path=locator.resource_path,
        source_map_path=locator.source_map_path,
        owners=locator.owners,
    )
    narrow = locate(source_map, resource, lines=lines, chars=(start, end))
    token = references.sign(
        workspace_id=document.workspace_id, root_key=document.root.key, document_id=document.id, locator=narrow
    )
    return replace(reference, locator=narrow, token=token)
