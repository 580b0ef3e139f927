"""What each tool does: the service of its HTTP call, for the tool scope of its caller."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from knowledge import evidence_shapes, registry_shapes, shapes
from knowledge.api.evidence_calls import documents
from knowledge.api.filters import filtered
from knowledge.api.hints import hint_of, locator_hint
from knowledge.api.scope import Place, place_of
from knowledge.api.serializers.knowledge_bases import CountsSerializer, KnowledgeBaseSerializer, outage_json
from knowledge.api.serializers.sources import SourceSerializer
from knowledge.models import Document, KnowledgeBase
from knowledge.querysets import readable_documents, visible_kbs
from knowledge.selectors.kb_lists import cards_for
from knowledge.services import evidence, hints, query, search, status
from knowledge.services.hints import Hint, OpenedReference
from knowledge.services.passages import Window
from mnote.exceptions import Invalid, NotFound
from mnote.ids import text_key
from mnote.models import Root, Workspace
from mnote.principals import Principal
from pageai.results import Body
from pageai.selectors.agent_settings import tools_for
from pageai.services import provisioning
from pageai.services.callers import Caller
from pageai.skills import SKILL_NAMES, skill_text
from pageai.tool_scopes import ToolScope

SOURCES_SCHEMA = "mnote.knowledge_rag.sources.v1"
SOURCE_STATUS_SCHEMA = "mnote.knowledge_rag.source_status.v1"
INDEX_SCHEMA = "mnote.index_status.v1"
_MAX_STATES = 20
#: What an agent needs to know of a knowledge base.
_BASE = (
    "id", "name", "description", "workspaceId", "rootUri", "provider", "isPaused", "providerOutage", "counts",
    "syncedAt",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A checked call. `data` is the validated body."""

    caller: Caller
    scope: ToolScope
    data: Mapping[str, Any]

    @property
    def principal(self) -> Principal:
        """The person, as far as this call reaches."""
        return self.scope.principal(self.caller.user, token_name=self.caller.principal.token_name)

    @property
    def workspace_id(self) -> str:
        """The workspace that the body names, else the only one; "" when it names none of several."""
        named = self.data.get("workspace_id") or self.data.get("scope", {}).get("workspace_id")
        return str(named or (self.scope.workspace_ids[0] if len(self.scope.workspace_ids) == 1 else ""))

    @property
    def kb_ids(self) -> Sequence[str]:
        """The knowledge bases that the call is about: those it names within its scope, else all of the scope."""
        named = self.data.get("knowledge_base_ids") or [self.data.get("knowledge_base_id")]
        within = [kb_id for kb_id in named if kb_id in self.scope.kb_ids]
        return within or self.scope.kb_ids

    def place(self, data: Mapping[str, Any] | None = None) -> Place:
        """Find workspace and root. Raises NotFound outside the scope, Invalid where a workspace has to be named."""
        if not self.workspace_id:
            message = {"message": "Name one of your workspaces.", "code": "required"}
            raise Invalid(errors={"workspaceId": [message]}, workspace_ids=list(self.scope.workspace_ids))
        if self.workspace_id not in self.scope.workspace_ids:
            raise NotFound
        given = self.data if data is None else data
        return place_of(self.principal, {**given, "workspace_id": self.workspace_id})


def search_knowledge(call: Call) -> Body:
    found = search.search(
        principal=call.principal,
        scope=_search_scope(call),
        query=call.data["query"],
        top_k=call.data["top_k"],
        mode=call.data["mode"],
    )
    return shapes.search_json(evidence.with_owners_in(call.principal, found), is_administrator=False)


def ask(call: Call) -> Body:
    answer = query.ask(
        principal=call.principal,
        scope=_search_scope(call),
        question=call.data["question"],
        top_k=call.data["top_k"],
        mode=call.data["mode"],
    )
    return shapes.query_json(evidence.with_owners_in_answer(call.principal, answer), is_administrator=False)


def open_reference(call: Call) -> Body:
    return shapes.opened_reference_json(_opened(call, hint_of(call.data)))


def list_sources(call: Call) -> Body:
    """List the knowledge bases of the scope, and a page of their sources."""
    kbs = _kbs(call)
    limit = call.data["limit"]
    rows = _page(call, kbs, limit + 1)
    cards = cards_for(call.principal, kbs)
    return {
        "schema": SOURCES_SCHEMA,
        "knowledgeBases": [_base(each) for each in KnowledgeBaseSerializer(cards, many=True).data],
        "results": _sources(call, rows[:limit]),
        "nextAfter": rows[limit - 1].id if len(rows) > limit else None,
    }


def source_status(call: Call) -> Body:
    """Say how a source stands, in each knowledge base that it belongs to."""
    place = call.place()
    rows = readable_documents(call.principal, place.workspace).filter(kb__in=_kbs(call))
    if place.root is not None:
        rows = rows.filter(root=place.root)
    if call.data.get("source_id"):
        rows = rows.filter(id=call.data["source_id"])
    if call.data.get("source_path"):
        rows = rows.filter(path_key=text_key(call.data["source_path"].strip("/")))
    found = list(rows.select_related("root").order_by("kb_id", "id")[:_MAX_STATES])
    if not found:
        raise NotFound
    return {"schema": SOURCE_STATUS_SCHEMA, "results": _sources(call, found)}


def search_evidence(call: Call) -> Body:
    scope = call.data.get("scope", {})
    place = call.place(scope)
    found = evidence.search(
        principal=call.principal,
        scope=evidence.Scope(
            workspace=place.workspace,
            root=place.root,
            document_id=scope.get("target_document_id") or "",
            kb_ids=tuple(scope.get("knowledge_base_ids", ())),
            include_resources=scope.get("include_resources", True),
            include_ocr=scope.get("include_ocr", True),
        ),
        query=call.data["query"],
        top_k=call.data["top_k"],
        mode=call.data["mode"],
    )
    return evidence_shapes.found_json(found, is_administrator=False)


def read_evidence(call: Call) -> Body:
    context = call.data.get("context", {})
    workspace, root_uri = _evidence_place(call)
    reading = evidence.read(
        principal=call.principal,
        workspace=workspace,
        root_uri=root_uri,
        hint=_evidence_hint(call),
        window=Window(
            before=context.get("before", 2),
            after=context.get("after", 2),
            section=context.get("section", True),
            max_chars=context.get("max_chars", 8_000),
        ),
        with_mentions=context.get("owner_mentions", True),
    )
    return evidence_shapes.reading_json(reading)


def open_evidence(call: Call) -> Body:
    workspace, root_uri = _evidence_place(call)
    opened = evidence.open_evidence(
        principal=call.principal, workspace=workspace, root_uri=root_uri, hint=_evidence_hint(call)
    )
    return evidence_shapes.opened_evidence_json(opened)


def older_documents(call: Call) -> Body:
    """Search or read as the HTTP call does; which of both, the body says."""
    return documents(call.principal, {**call.data, "workspace_id": call.place().workspace.pk})


def knowledge_status(call: Call) -> Body:
    place = call.place()
    found = status.status_of(
        principal=call.principal,
        workspace=place.workspace,
        root=place.root,
        kb_id=call.data.get("knowledge_base_id", ""),
    )
    bases = KnowledgeBaseSerializer(found.cards, many=True).data
    return registry_shapes.status_json(found, bases, is_administrator=False)


def index_status(call: Call) -> Body:
    place = call.place()
    found = status.status_of(
        principal=call.principal,
        workspace=place.workspace,
        root=place.root,
        kb_id=call.data.get("knowledge_base_id", ""),
    )
    return {
        "schema": INDEX_SCHEMA,
        "isWorkerAlive": found.is_worker_alive,
        "workerAgeSeconds": found.worker_age,
        "knowledgeBases": [
            {
                "knowledgeBaseId": card.kb.id,
                "name": card.kb.name,
                "isBusy": card.is_busy,
                "isPaused": card.kb.paused_at is not None,
                "providerOutage": outage_json(card),
                "syncedAt": card.synced_at.isoformat() if card.synced_at else None,
                "counts": CountsSerializer(card.counts).data,
            }
            for card in found.cards
        ],
    }


def read_skill(call: Call) -> Body:
    if call.data["name"] not in SKILL_NAMES:
        raise NotFound
    binding = call.caller.binding
    served = tools_for(call.caller.user, binding)
    server = provisioning.mcp_server_of(binding) if binding else ""
    return {"name": SKILL_NAMES[0], "text": skill_text(served, server=server)}


HANDLERS: dict[str, Callable[[Call], Body]] = {
    "mnote.weknora.search": search_knowledge,
    "mnote.weknora.list_sources": list_sources,
    "mnote.weknora.get_source_status": source_status,
    "mnote.weknora.open_reference": open_reference,
    "mnote.evidence.search": search_evidence,
    "mnote.evidence.read": read_evidence,
    "mnote.evidence.open": open_evidence,
    "mnote.knowledge_rag.status": knowledge_status,
    "mnote.knowledge_rag.query": ask,
    "mnote.knowledge_rag.open_reference": open_reference,
    "mnote.index.status": index_status,
    "mnote.skill.read": read_skill,
    "docs_search": older_documents,
    "docs_read": older_documents,
}


def _search_scope(call: Call) -> search.Scope:
    place, data = call.place(), call.data
    return search.Scope(
        workspace=place.workspace,
        root=place.root,
        kb_ids=tuple(data.get("knowledge_base_ids", ())),
        document_ids=tuple(data.get("source_ids", ())),
        paths=tuple(data.get("source_paths", ())),
        tags=tuple(data.get("tags", ())),
        source_types=tuple(data.get("source_types", ())),
    )


def _kbs(call: Call) -> list[KnowledgeBase]:
    """Return the knowledge bases of the scope in the named workspace, or the one that is named. Raises NotFound."""
    kbs = visible_kbs(call.principal, call.place().workspace).select_related("workspace", "root", "owner", "profile")
    wanted = call.data.get("knowledge_base_id")
    found = list((kbs.filter(id=wanted) if wanted else kbs).order_by("name", "id"))
    if wanted and not found:
        raise NotFound
    return found


def _page(call: Call, kbs: Iterable[KnowledgeBase], limit: int) -> list[Document]:
    """Return rows after the named one, knowledge base by knowledge base, in path order."""
    last = _last_seen(call, kbs)
    rows: list[Document] = []
    for kb in kbs:
        if last is not None and last.kb_id != kb.id:
            continue
        matching = filtered(call.principal, kb, dict(call.data)).order_by("sort_path", "id")
        if last is not None:
            matching = matching.filter(sort_path__gte=last.sort_path).exclude(sort_path=last.sort_path, id__lte=last.id)
            last = None
        rows += matching[: limit - len(rows)]
        if len(rows) >= limit:
            break
    return rows


def _base(shown: Mapping[str, Any]) -> Body:
    return {name: shown[name] for name in _BASE}


def _last_seen(call: Call, kbs: Iterable[KnowledgeBase]) -> Document | None:
    after = call.data.get("after")
    if not after:
        return None
    row = readable_documents(call.principal, call.place().workspace).filter(id=after, kb__in=list(kbs)).first()
    if row is None:
        raise NotFound
    return row


def _sources(call: Call, rows: Iterable[Document]) -> list[Any]:
    return list(SourceSerializer(rows, many=True, context={"principal": call.principal}).data)


def _opened(call: Call, hint: Hint) -> OpenedReference:
    place = call.place() if call.workspace_id else None
    root: Root | None = place.root if place else None
    workspace: Workspace | None = place.workspace if place else None
    opened = hints.open_reference(principal=call.principal, workspace=workspace, root=root, hint=hint)
    return evidence.owned(call.principal, opened)


def _evidence_place(call: Call) -> tuple[Workspace | None, str | None]:
    root_uri = call.data.get("locator", {}).get("root_uri")
    if not call.workspace_id:
        return None, root_uri
    place = call.place(call.data.get("scope", {}))
    return place.workspace, place.root.root_uri if place.root else root_uri


def _evidence_hint(call: Call) -> Hint:
    if call.data.get("evidence_id"):
        return Hint(chunk_id=call.data["evidence_id"])
    return locator_hint(call.data["locator"])
