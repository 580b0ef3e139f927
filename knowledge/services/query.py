"""Questions: search, compose an answer of quotes, cite each sentence at its own lines (spec 4.3)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from knowledge.citations.lines import LineIndex
from knowledge.citations.locators import Resource, locate
from knowledge.citations.quotes import QuoteAnchor, QuoteFinder
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
    answer = answers.compose(question, found.references)
    citations = tuple(_narrowed(found.references[number], _said(answer, number)) for number in answer.cited)
    return QueryResult(answer=answer, found=found, citations=citations)


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
