"""The public JSON of references and opened places: one form for API, tools, pages and events (spec 4.3–5.3)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import quote, urlencode

from django.urls import reverse
from django.utils.translation import gettext as _

from knowledge.citations.locators import Locator, LocatorKind
from knowledge.models import Document
from knowledge.providers.base import Chunk, SearchHit
from knowledge.services.asking import Silent
from knowledge.services.chunks import PlacedChunk
from knowledge.services.hints import OpenedReference
from knowledge.services.opening import OpenedPlace
from knowledge.services.passages import Passage, SectionText, Surroundings
from knowledge.services.query import QueryResult
from knowledge.services.references import Reference, sign
from knowledge.services.search import SearchResult
from mnote.models import Root

REFERENCE_SCHEMA = "mnote.knowledge_rag.reference.v1"
OPEN_SCHEMA = "mnote.knowledge_rag.open_reference.v1"
SEARCH_SCHEMA = "mnote.knowledge_rag.search_results.v1"
QUERY_SCHEMA = "mnote.knowledge_rag.query_result.v1"
CONTEXT_SCHEMA = "mnote.knowledge_rag.section_context.v1"
SCOPE_MODE = "post_filter_mapped_references"


def open_url(root: Root, locator: Locator, token: str = "") -> str:
    """Return the document pane's address of a place. It holds no file:// and no absolute path."""
    path = reverse("knowledge:open", args=[root.workspace_id, "-"])[:-1] + quote(locator.resource_path, safe="/")
    query: dict[str, str] = {"root": root.key}
    params = locator.open_params()
    if "lines" in params:
        query["lines"] = "{}-{}".format(*params["lines"])
    for name in ("page", "sheet", "range", "slide"):
        if name in params:
            query[name] = str(params[name])
    if token:
        query["cite"] = token
    return f"{path}?{urlencode(query)}"


def place_label(locator: Locator) -> str:
    """Return the place in a few words of the reader's language, "" when no place is known."""
    if locator.degraded:
        return ""
    parts = locator.parts
    match locator.kind:
        case LocatorKind.PDF_REGION | LocatorKind.IMAGE_REGION:
            return _pages(parts)
        case LocatorKind.WORD_RANGE:
            return _words(parts)
        case LocatorKind.SHEET_RANGE:
            return ", ".join(f"{each['sheet']}!{each['a1']}" for each in parts.get("ranges", []))
        case LocatorKind.SLIDE:
            return ", ".join(_slide(each) for each in parts.get("slides", []))
        case LocatorKind.CSV_ROWS:
            return _range(_("row %(a)s"), _("rows %(a)s–%(b)s"), parts.get("rowRange"))
    return _range(_("line %(a)s"), _("lines %(a)s–%(b)s"), parts.get("lineRange"))


def short_place(locator: Locator) -> str:
    """Return path and place as people write them: "notes/a.md:12-14", "spec.pdf p.3", "book.xlsx Sheet1!A2:D9"."""
    parts, path = locator.parts, locator.resource_path
    if locator.degraded:
        return path
    if "page" in parts:
        return f"{path} p.{parts['page']}"
    if "ranges" in parts:
        return f"{path} {parts['ranges'][0]['sheet']}!{parts['ranges'][0]['a1']}"
    if "slides" in parts:
        return f"{path} s.{parts['slides'][0]['n']}"
    if "paragraphRange" in parts:
        return f"{path} ¶{_dashed(parts['paragraphRange'])}"
    if "tables" in parts:
        return f"{path} t.{parts['tables'][0]['n']}"
    if "rowRange" in parts:
        return f"{path} r.{_dashed(parts['rowRange'])}"
    if "lineRange" in parts:
        return f"{path}:{_dashed(parts['lineRange'])}"
    return path


def citation_label(locator: Locator) -> str:
    """Return e.g. "Page.md / spec.pdf / page 3 / 2 Termination": what a reader recognises, never an id."""
    own = locator.resource_path.rpartition("/")[2]
    owner = [locator.owners[0].rpartition("/")[2]] if locator.owners else []
    place = place_label(locator) if not locator.degraded else _("place not exact")
    heading = locator.section_path[-1:] if not locator.degraded else ()
    return " / ".join(part for part in [*owner, own, place, *heading] if part)


def citation_markdown(locator: Locator, url: str) -> str:
    """Return a Markdown link that opens the place."""
    label = "".join("\\" + char if char in "\\[]`*_<>" else char for char in " ".join(citation_label(locator).split()))
    return f"[{label}]({url.replace('(', '%28').replace(')', '%29')})"


def reference_json(reference: Reference, *, debug: bool = False) -> dict[str, Any]:
    """Return the public form of a reference. `debug` adds the provider's own text, for administrators."""
    document, hit, locator = reference.document, reference.hit, reference.locator
    url = open_url(document.root, locator, reference.token)
    place = locator.to_json(url=url)
    body: dict[str, Any] = {
        "schema": REFERENCE_SCHEMA,
        "evidenceId": hit.chunk_id if hit.chunk_id.startswith("ev_") else None,
        "sourceId": document.id,
        "knowledgeBaseId": document.kb_id,
        "knowledgeBaseName": document.kb.name,
        "provider": document.provider,
        "providerChunkId": hit.chunk_id,
        "providerKnowledgeId": hit.provider_document_id,
        "providerKnowledgeBaseId": hit.provider_kb_id or document.provider_kb_id,
        "chunkIndex": hit.chunk_index,
        "providerOffsets": offsets_json(hit),
        "providerDisplayName": document.name,
        "providerMatchType": hit.match_type,
        "score": hit.score,
        "rootUri": document.root.root_uri,
        "sourcePath": document.source_path,
        "alsoAt": list(reference.also_at),
        "mnoteResourceId": document.resource_id,
        "filePath": document.name,
        "title": document.title or document.name,
        "sectionPath": list(locator.section_path),
        "quote": reference.quote,
        "matchedText": reference.quote,
        "indexStatus": document.index_status,
        "lineStart": locator.parts.get("lineStart"),
        "lineEnd": locator.parts.get("lineEnd"),
        "locator": place,
        "locatorDegraded": locator.degraded,
        "locatorState": locator.state.value,
        "mapState": locator.map_state.value,
        "place": short_place(locator),
        "citationLabel": citation_label(locator),
        "citationMarkdown": citation_markdown(locator, url),
        "citationUrl": url,
        "openUrl": url,
        "openReference": reference.token,
    }
    if debug:
        body["providerContent"] = hit.content
        body["providerMetadata"] = hit.metadata
    return {key: value for key, value in body.items() if value is not None}


def search_json(result: SearchResult, *, is_administrator: bool, debug: bool = False) -> dict[str, Any]:
    """Return the answer to a search. What was dropped for lack of rights is told to administrators only."""
    shown = [reference_json(each, debug=debug and is_administrator) for each in result.references]
    return {"schema": SEARCH_SCHEMA, "results": shown, **_how(result, is_administrator=is_administrator)}


def query_json(result: QueryResult, *, is_administrator: bool, debug: bool = False) -> dict[str, Any]:
    """Return the answer to a question: [1] in `answer` is the first of `citations`."""
    with_text = debug and is_administrator
    cited = enumerate((reference_json(each, debug=with_text) for each in result.citations), start=1)
    return {
        "schema": QUERY_SCHEMA,
        "answer": result.answer.text,
        "isAnswered": bool(result.answer.sentences),
        "references": [reference_json(each, debug=with_text) for each in result.found.references],
        "citations": [{"number": number, **body} for number, body in cited],
        **_how(result.found, is_administrator=is_administrator),
    }


def context_json(opened: OpenedReference, found: Surroundings) -> dict[str, Any]:
    """Return a passage with what stands around it."""
    body = {
        "schema": CONTEXT_SCHEMA,
        "reference": opened_reference_json(opened),
        "passage": opened.place.locator.quote,
        "sectionPath": list(opened.place.locator.section_path),
        "before": [passage_json(opened.place.root, each) for each in found.before],
        "after": [passage_json(opened.place.root, each) for each in found.after],
        "section": section_json(opened.place.root, found.section) if found.section else None,
        "relevant": [passage_json(opened.place.root, each) for each in found.relevant],
        "degraded": found.degraded,
    }
    return {key: value for key, value in body.items() if value is not None}


def offsets_json(passage: SearchHit | Chunk) -> dict[str, int]:
    """Return the provider's own offsets of a passage; they may count another text than ours, and are no place."""
    if passage.provider_start >= 0:
        return {"startAt": passage.provider_start, "endAt": passage.provider_end}
    return {"startAt": passage.char_start, "endAt": passage.char_end}


def chunk_json(root: Root, placed: PlacedChunk) -> dict[str, Any]:
    """Return an indexed passage; its text is that of the file, "" where its place is not known."""
    return {
        "index": placed.chunk.index,
        "chunkId": placed.chunk.chunk_id,
        "providerOffsets": offsets_json(placed.chunk),
        "quote": placed.locator.quote,
        "sectionPath": list(placed.chunk.section_path or placed.locator.section_path),
        "locator": placed.locator.to_json(url=open_url(root, placed.locator)),
    }


def section_json(root: Root, section: SectionText) -> dict[str, Any]:
    """Return a section with as many of its passages as were asked for."""
    return {
        "title": section.title,
        "path": list(section.path),
        "summary": section.summary,
        "blocks": [passage_json(root, each) for each in section.blocks],
        "isCut": section.is_cut,
    }


def passage_json(root: Root, passage: Passage) -> dict[str, Any]:
    """Return a passage and its place."""
    return {"quote": passage.quote, "locator": passage.locator.to_json(url=open_url(root, passage.locator))}


def _how(result: SearchResult, *, is_administrator: bool) -> dict[str, Any]:
    """Return how a search went, the same for results and answers."""
    providers = sorted({kb.provider for kb in result.kbs})
    body: dict[str, Any] = {
        "provider": providers[0] if len(providers) == 1 else "several" if providers else None,
        "providers": providers,
        "sourceScopeMode": SCOPE_MODE,
        "mode": result.mode,
        "droppedUnmapped": result.dropped_unmapped,
        "droppedUnplaced": result.dropped_unplaced,
        "droppedForbidden": result.dropped_forbidden if is_administrator else None,
        "candidates": result.candidates if is_administrator else None,
        "knowledgeBaseIds": [kb.id for kb in result.kbs],
        "unreachable": sorted({each.link.kind for each in result.silent}),
        "outages": [_silent_json(each) for each in result.silent],
        "notes": list(result.notes),
        "milliseconds": result.milliseconds,
    }
    return {key: value for key, value in body.items() if value is not None}


def _silent_json(silent: Silent) -> dict[str, Any]:
    body = {
        "provider": silent.link.kind,
        "name": silent.link.name,
        "code": silent.code,
        "since": silent.since.isoformat() if silent.since else None,
        "knowledgeBaseIds": [kb.id for kb in silent.kbs],
    }
    return {key: value for key, value in body.items() if value is not None}


def opened_reference_json(opened: OpenedReference) -> dict[str, Any]:
    """Return the open-reference payload of an opened reference."""
    return opened_json(opened.place, document=opened.document, chunk_id=opened.chunk_id, also_at=opened.also_at)


def opened_json(
    place: OpenedPlace, *, document: Document | None, chunk_id: str = "", also_at: Iterable[str] = ()
) -> dict[str, Any]:
    """Return the open-reference payload (spec 5.3) of a place that was just read again."""
    locator = place.locator
    token = sign(
        workspace_id=place.root.workspace_id,
        root_key=place.root.key,
        document_id=document.id if document else "",
        locator=locator,
    )
    url = open_url(place.root, locator, token)
    body = {
        "schema": OPEN_SCHEMA,
        "provider": document.provider if document else "local",
        "providerKbId": document.provider_kb_id if document else None,
        "providerKnowledgeId": document.provider_knowledge_id if document else None,
        "providerChunkId": chunk_id or None,
        "sourceId": document.id if document else None,
        "rootUri": place.root.root_uri,
        "sourcePath": place.path,
        "alsoAt": list(also_at),
        "indexStatus": document.index_status if document else None,
        "mnoteResourceId": document.resource_id if document else None,
        "quote": locator.quote,
        "locator": locator.to_json(url=url),
        "locatorState": place.state.value,
        "locatorDegraded": locator.degraded,
        "occurrences": place.occurrences,
        "problem": place.problem or None,
        "openUrl": url,
        "citationUrl": url,
        "citationLabel": citation_label(locator),
        "citationMarkdown": citation_markdown(locator, url),
        "openReference": token,
        "openAction": locator.to_json(url=url)["openAction"],
    }
    return {key: value for key, value in body.items() if value is not None}


def _pages(parts: dict[str, Any]) -> str:
    pages = [each["page"] for each in parts.get("pages", [])]
    return _range(_("page %(a)s"), _("pages %(a)s–%(b)s"), [pages[0], pages[-1]] if pages else None)


def _words(parts: dict[str, Any]) -> str:
    if "paragraphRange" in parts:
        return _range(_("paragraph %(a)s"), _("paragraphs %(a)s–%(b)s"), parts["paragraphRange"])
    return ", ".join(_("table %(n)s") % {"n": each["n"]} for each in parts.get("tables", []))


def _slide(slide: dict[str, Any]) -> str:
    label = _("slide %(n)s") % {"n": slide["n"]}
    return f"{label} ({_('notes')})" if slide.get("notes") else label


def _range(one: str, many: str, bounds: list[int] | None) -> str:
    if not bounds:
        return ""
    first, last = bounds
    return one % {"a": first} if first == last else many % {"a": first, "b": last}


def _dashed(bounds: list[int]) -> str:
    return str(bounds[0]) if bounds[0] == bounds[1] else f"{bounds[0]}-{bounds[1]}"
