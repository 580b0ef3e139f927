"""Every tool there is for agents: name, set, arguments, and what its model reads about it.

A tool of the set `weknora` is served wherever knowledge is on; one of another set where an agent's settings or a
binding enable that set. `docs_search` and `docs_read` are what agents of an older host call. The underscore twin of a
name ("mnote_weknora_search") is never a name of its own: clients write dots as underscores, and of two tools that then
look alike one would silently win.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

from rest_framework import serializers

from pageai import tool_arguments
from pageai.json_schemas import Schema, schema_of

KNOWLEDGE = "knowledge_rag"


class ToolSet(StrEnum):
    WEKNORA = "weknora"
    EVIDENCE = "evidence"
    ANSWERS = "knowledge_rag"
    INDEX = "index"
    SKILL = "skill"
    DOCUMENTS = "documents"


#: Served without anybody asking for it.
DEFAULT_SETS = frozenset({ToolSet.WEKNORA})
OPTIONAL_SETS = tuple(each for each in ToolSet if each not in DEFAULT_SETS)


@dataclass(frozen=True, kw_only=True)
class Tool:
    """One tool. `description` is written for a model, in English."""

    name: str
    tool_set: ToolSet
    title: str
    description: str
    arguments: type[serializers.Serializer[Any]]

    @cached_property
    def input_schema(self) -> Schema:
        return schema_of(self.arguments)


_CITE = "Cite by copying citationMarkdown as it is."

TOOLS = (
    Tool(
        name="mnote.weknora.search",
        tool_set=ToolSet.WEKNORA,
        title="Search knowledge bases",
        description="Find passages in the documents that this person may read. Each result has the quote, its place "
        f"and citationMarkdown. {_CITE} Ask with the words of the subject, in the language of the documents.",
        arguments=tool_arguments.SearchArguments,
    ),
    Tool(
        name="mnote.weknora.list_sources",
        tool_set=ToolSet.WEKNORA,
        title="List knowledge bases and their sources",
        description="List the knowledge bases that may be searched, with how many documents are in each state, and the "
        "documents in them, a page at a time.",
        arguments=tool_arguments.ListSourcesArguments,
    ),
    Tool(
        name="mnote.weknora.get_source_status",
        tool_set=ToolSet.WEKNORA,
        title="State of a source",
        description="Say whether a document is indexed and up to date, and if not, why and what to do about it.",
        arguments=tool_arguments.SourceStatusArguments,
    ),
    Tool(
        name="mnote.weknora.open_reference",
        tool_set=ToolSet.WEKNORA,
        title="Open a reference",
        description="Read again the place that a result cites, in the file as it is now: whether the quote is still "
        f"there, moved, changed or gone. Give openReference of a result as token. {_CITE}",
        arguments=tool_arguments.OpenReferenceArguments,
    ),
    Tool(
        name="mnote.evidence.search",
        tool_set=ToolSet.EVIDENCE,
        title="Search evidence",
        description="Find passages with their exact place in the local files, whatever knowledge base they belong to. "
        f"{_CITE}",
        arguments=tool_arguments.EvidenceSearchArguments,
    ),
    Tool(
        name="mnote.evidence.read",
        tool_set=ToolSet.EVIDENCE,
        title="Read around evidence",
        description="Read what stands around a passage in the file as it is now: neighbours, section, pages that refer "
        "to it. Give the evidenceId or the locator of a result.",
        arguments=tool_arguments.EvidenceReadArguments,
    ),
    Tool(
        name="mnote.evidence.open",
        tool_set=ToolSet.EVIDENCE,
        title="Open evidence",
        description=f"Open a passage by its evidenceId or locator, with the truth about it now. {_CITE}",
        arguments=tool_arguments.EvidenceOpenArguments,
    ),
    Tool(
        name="mnote.knowledge_rag.status",
        tool_set=ToolSet.ANSWERS,
        title="State of the knowledge bases",
        description="Say how the knowledge bases stand: does the index answer, how many documents are in each state.",
        arguments=tool_arguments.StatusArguments,
    ),
    Tool(
        name="mnote.knowledge_rag.query",
        tool_set=ToolSet.ANSWERS,
        title="Ask the knowledge bases",
        description="Answer a question in sentences taken from the documents, each numbered with its citation. "
        f"{_CITE}",
        arguments=tool_arguments.QuestionArguments,
    ),
    Tool(
        name="mnote.knowledge_rag.open_reference",
        tool_set=ToolSet.ANSWERS,
        title="Open a reference",
        description="Read again the place that an answer cites, in the file as it is now. Give openReference as token.",
        arguments=tool_arguments.OpenReferenceArguments,
    ),
    Tool(
        name="mnote.index.status",
        tool_set=ToolSet.INDEX,
        title="State of the index",
        description="Say how far indexing is: documents by state, what is being worked on, whether a worker is alive.",
        arguments=tool_arguments.StatusArguments,
    ),
    Tool(
        name="mnote.skill.read",
        tool_set=ToolSet.SKILL,
        title="Read a skill",
        description="Read how to search and cite with these tools.",
        arguments=tool_arguments.SkillArguments,
    ),
    Tool(
        name="docs_search",
        tool_set=ToolSet.DOCUMENTS,
        title="Search documents",
        description="Find documents by what they say: give query. Each result has the path, a snippet, and the same "
        f"passage as evidence. {_CITE}",
        arguments=tool_arguments.DocumentArguments,
    ),
    Tool(
        name="docs_read",
        tool_set=ToolSet.DOCUMENTS,
        title="Read a document",
        description="Read a document: give documentId of a result of docs_search for its text, or source.locator of a "
        "result for what stands around the passage.",
        arguments=tool_arguments.DocumentArguments,
    ),
)
BY_NAME = {tool.name: tool for tool in TOOLS}
