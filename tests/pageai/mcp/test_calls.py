"""Tools called in this process, without the wire."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from knowledge.models import Document
from mnote.exceptions import NotAuthenticated
from mnote.models import Access, Root
from mnote.principals import Principal
from mnote.services import tokens, users
from pageai.mcp import calls, tools
from pageai.mcp.calls import Outcome
from pageai.models import BindingToken, OpenHubBinding, ToolCall
from pageai.results import MAX_BYTES, size_of
from pageai.services import binding_tokens, bindings, callers, pages
from pageai.services.callers import Caller
from pageai.tool_catalogue import TOOLS
from tests.factories.knowledge import KnowledgeBaseFactory, SourceFactory
from tests.factories.mnote import GrantFactory, MembershipFactory, RootFactory
from tests.library import Library
from tests.people import People

QUERY = "thirty days notice"
DEFAULTS = [
    "mnote.weknora.search",
    "mnote.weknora.list_sources",
    "mnote.weknora.get_source_status",
    "mnote.weknora.open_reference",
]
EVERYTHING = {
    f"ai.agent.opencode.tools.{each}": True for each in ("evidence", "knowledge_rag", "index", "skill", "documents")
}


def by_token(people: People, name: str, **limits: Any) -> Caller:
    return callers.authenticate(people.token(name, "mcp", **limits))


def by_binding(library: Library, name: str, **metadata: Any) -> Caller:
    principal = library.people.principal(name)
    page = pages.locate(principal=principal, root=library.root, path="notes.txt")
    binding = bindings.open_binding(principal=principal, page=page, metadata=metadata).binding
    return callers.authenticate(binding_tokens.issue(binding=binding)[1])


def call(caller: Caller, tool: str, **arguments: Any) -> Outcome:
    return calls.perform(caller, tool, arguments)


def paths(outcome: Outcome) -> set[str]:
    assert not outcome.is_error, outcome.body
    return {each["sourcePath"] for each in outcome.body["results"]}


def names(caller: Caller) -> list[str]:
    return [tool.name for tool in calls.list_tools(caller)]


def test_search_finds_passages_with_their_citations(library: Library) -> None:
    outcome = call(by_token(library.people, "carol"), "mnote.weknora.search", query=QUERY, **library.scope)

    first = next(each for each in outcome.body["results"] if each["sourcePath"] == "guide/contracts.md")
    document = library.document("guide/contracts.md")
    assert first["quote"].endswith("Notice is given in writing.")
    assert first["citationMarkdown"].startswith("[contracts.md / lines 5–9 / Termination](/w/")
    assert first["providerKnowledgeId"] == document.provider_knowledge_id
    assert all(first[name] for name in ("providerChunkId", "providerKnowledgeBaseId", "openReference"))
    assert outcome.body["schema"] == "mnote.knowledge_rag.search_results.v1"


def test_a_binding_fills_in_the_workspace(library: Library) -> None:
    assert "notes.txt" in paths(call(by_binding(library, "carol"), "mnote.weknora.search", query=QUERY))


def test_a_caller_of_several_workspaces_has_to_name_one(library: Library) -> None:
    other = MembershipFactory(user=library.people.carol).workspace
    caller = by_token(library.people, "carol")

    outcome = call(caller, "mnote.weknora.search", query=QUERY)

    assert outcome.code == "invalid"
    assert set(outcome.body["error"]["workspaceIds"]) == {other.pk, library.people.workspace.pk}
    assert "notes.txt" in paths(call(caller, "mnote.weknora.search", query=QUERY, **library.scope))


def test_a_reference_opens_by_its_token(library: Library) -> None:
    caller = by_token(library.people, "carol")
    [first, *_] = call(caller, "mnote.weknora.search", query=QUERY).body["results"]

    opened = call(caller, "mnote.weknora.open_reference", token=first["openReference"]).body

    assert opened["quote"] == first["quote"]
    assert opened["locatorState"] == "exact"
    assert "placeNote" not in opened


def test_an_edited_file_is_opened_with_the_truth_in_words(library: Library) -> None:
    caller = by_token(library.people, "carol")
    [first, *_] = call(caller, "mnote.weknora.search", query="director salary").body["results"]
    library.write({"private/salary.md": "# Salaries\n\nNothing of it is left.\n"})

    opened = call(caller, "mnote.weknora.open_reference", token=first["openReference"]).body

    assert opened["locatorState"] == "changed"
    assert "no longer in the file" in opened["placeNote"]


def test_a_source_tells_its_state(library: Library) -> None:
    outcome = call(by_token(library.people, "bob"), "mnote.weknora.get_source_status", sourcePath="guide/zh.md")

    [row] = outcome.body["results"]
    assert (row["sourcePath"], row["indexStatus"], row["isSearchable"]) == ("guide/zh.md", "indexed", True)


def test_sources_are_listed_a_page_at_a_time(library: Library) -> None:
    second = KnowledgeBaseFactory(owner=library.people.alice, root=library.root, name="Zweites")
    SourceFactory(kb=second, path="guide")
    Document.objects.filter(kb=library.kb, source_path__startswith="guide/").update(kb=second)
    caller = by_token(library.people, "bob")
    seen: list[str] = []
    after: dict[str, str] = {}
    for _ in range(10):
        body = call(caller, "mnote.weknora.list_sources", limit=1, **after).body
        seen += [each["sourcePath"] for each in body["results"]]
        if body["nextAfter"] is None:
            break
        after = {"after": body["nextAfter"]}

    assert seen == ["notes.txt", "private/salary.md", "guide/contracts.md", "guide/zh.md"]
    assert [each["name"] for each in body["knowledgeBases"]] == ["Handbook", "Zweites"]


def test_every_tool_answers(library: Library) -> None:
    users.set_preferences(user=library.people.carol, values=EVERYTHING)
    caller = by_token(library.people, "carol")
    found = call(caller, "mnote.evidence.search", query=QUERY).body["results"][0]
    arguments: dict[str, dict[str, Any]] = {
        "mnote.weknora.search": {"query": QUERY},
        "mnote.weknora.get_source_status": {"sourcePath": "notes.txt"},
        "mnote.weknora.open_reference": {"sourcePath": "notes.txt"},
        "mnote.evidence.search": {"query": QUERY, "scope": library.scope},
        "mnote.evidence.read": {"evidenceId": found["evidenceId"]},
        "mnote.evidence.open": {"locator": found["source"] | {"quote": found["quote"]}},
        "mnote.knowledge_rag.query": {"question": "When are invoices due?"},
        "mnote.knowledge_rag.open_reference": {"evidenceId": found["evidenceId"], **library.scope},
        "docs_search": {"q": QUERY},
        "docs_read": {"locator": found["source"] | {"quote": found["quote"]}},
    }

    outcomes = {tool.name: call(caller, tool.name, **arguments.get(tool.name, {})) for tool in TOOLS}

    assert {name: outcome.body for name, outcome in outcomes.items() if outcome.is_error} == {}
    assert json.loads(json.dumps(outcomes["mnote.knowledge_rag.query"].body))["isAnswered"] is True


# --- one rule for list and call -------------------------------------------------------------------------------------


def test_the_default_set_is_served_without_any_setting(library: Library) -> None:
    assert names(by_token(library.people, "carol")) == DEFAULTS
    assert names(by_binding(library, "carol")) == DEFAULTS


def test_settings_and_bindings_enable_further_sets(library: Library) -> None:
    users.set_preferences(user=library.people.carol, values={"ai.agent.opencode.tools.index": True})

    assert names(by_token(library.people, "carol")) == [*DEFAULTS, "mnote.index.status"]
    assert names(by_binding(library, "carol", toolSets=["skill"])) == [*DEFAULTS, "mnote.skill.read"]


def test_a_hidden_tool_is_called_like_one_that_never_was(library: Library) -> None:
    caller = by_token(library.people, "carol")
    hidden = [tool.name for tool in TOOLS if tool.name not in DEFAULTS]

    outcomes = [call(caller, name, query=QUERY) for name in (*hidden, "mnote.no.such")]

    assert {outcome.code for outcome in outcomes} == {"unknown-tool"}
    assert len({json.dumps(outcome.body) for outcome in outcomes}) == 1
    assert set(ToolCall.objects.values_list("tool", flat=True)) == {*hidden, "(unknown)"}


@pytest.mark.parametrize("key", ["ai.common.knowledge", "ai.agent.opencode.knowledge"])
def test_knowledge_switched_off_takes_every_tool(library: Library, key: str) -> None:
    users.set_preferences(user=library.people.carol, values={**EVERYTHING, key: False})
    caller = by_token(library.people, "carol")

    assert names(caller) == []
    assert {call(caller, tool.name, query=QUERY).code for tool in TOOLS} == {"unknown-tool"}


def test_an_agent_without_tools_has_none(library: Library) -> None:
    assert names(by_binding(library, "carol", agentId="chat_only")) == []
    assert names(by_binding(library, "bob", agentId="gone")) == []


def test_a_key_that_ends_during_its_call_ends_after_it(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was begun with a good key is answered and written down; the next call is refused."""
    principal = library.people.principal("carol")
    page = pages.locate(principal=principal, root=library.root, path="notes.txt")
    binding = bindings.open_binding(principal=principal, page=page).binding
    secret = binding_tokens.issue(binding=binding)[1]
    search = tools.HANDLERS["mnote.weknora.search"]

    def slow(call: Any) -> Any:
        BindingToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
        return search(call)

    monkeypatch.setitem(tools.HANDLERS, "mnote.weknora.search", slow)
    outcome = call(callers.authenticate(secret), "mnote.weknora.search", query=QUERY)

    assert "notes.txt" in paths(outcome)
    assert list(ToolCall.objects.values_list("outcome", flat=True)) == ["succeeded"]
    with pytest.raises(NotAuthenticated):
        callers.authenticate(secret)


# --- scope ----------------------------------------------------------------------------------------------------------


def test_only_what_the_person_may_read_is_found(library: Library) -> None:
    GrantFactory(root=library.root, user=library.people.carol, prefix="guide", access=Access.NONE)
    caller = by_token(library.people, "carol")

    assert "guide/contracts.md" not in paths(call(caller, "mnote.weknora.search", query=QUERY))
    assert paths(call(caller, "mnote.weknora.list_sources")) == {"notes.txt", "private/salary.md"}
    assert call(caller, "mnote.weknora.get_source_status", sourcePath="guide/zh.md").code == "not-found"


def test_a_sibling_with_the_same_start_is_another_folder(library: Library) -> None:
    library.add({"guide_private/secret.md": "thirty days notice of the secret\n"})
    GrantFactory(root=library.root, user=library.people.carol, prefix="guide_private", access=Access.NONE)
    caller = by_token(library.people, "carol")

    found = paths(call(caller, "mnote.weknora.search", query=QUERY, sourcePaths=["guide"]))

    assert found == {"guide/contracts.md"}
    assert call(caller, "mnote.weknora.open_reference", sourcePath="guide_private/secret.md", **library.scope).is_error


def test_no_path_leads_outside(library: Library) -> None:
    callers_ = [by_token(library.people, name) for name in ("carol", "alice")]

    for path in ("../notes.txt", "guide/../private/salary.md", "/etc/hostname", "x\0y", "guide"):
        for tool in ("mnote.weknora.open_reference", "mnote.weknora.get_source_status"):
            for caller in callers_:
                outcome = call(caller, tool, sourcePath=path, **library.scope)
                assert outcome.code in {"not-found", "invalid"}, (path, tool)


def test_a_stranger_gets_nothing_but_not_found(library: Library) -> None:
    caller = by_token(library.people, "mallory")
    document = library.document("notes.txt")
    token = call(by_token(library.people, "carol"), "mnote.weknora.search", query=QUERY).body["results"][0]

    refused = [
        call(caller, "mnote.weknora.search", query=QUERY, **library.scope),
        call(caller, "mnote.weknora.search", query=QUERY, workspaceId="ws_none"),
        call(caller, "mnote.weknora.list_sources", workspaceId=library.people.workspace.pk),
        call(caller, "mnote.weknora.get_source_status", sourceId=document.pk, **library.scope),
        call(caller, "mnote.weknora.open_reference", token=token["openReference"]),
    ]

    assert {outcome.code for outcome in refused} == {"not-found"}
    assert len({json.dumps(outcome.body) for outcome in refused}) == 1


def test_a_foreign_knowledge_base_is_not_found(library: Library) -> None:
    foreign = KnowledgeBaseFactory(name="Foreign")

    for tool, arguments in (
        ("mnote.weknora.search", {"query": QUERY, "knowledgeBaseIds": [foreign.pk]}),
        ("mnote.weknora.list_sources", {"knowledgeBaseId": foreign.pk}),
    ):
        assert call(by_token(library.people, "carol"), tool, **arguments).code == "not-found"


def test_a_knowledge_base_not_meant_for_tools_is_not_seen(library: Library) -> None:
    library.kb.default_tool_enabled = False
    library.kb.save()
    caller = by_token(library.people, "alice")

    assert call(caller, "mnote.weknora.list_sources").body["knowledgeBases"] == []
    assert paths(call(caller, "mnote.weknora.search", query=QUERY)) == set()
    named = call(caller, "mnote.weknora.search", query=QUERY, knowledgeBaseIds=[library.kb.pk])
    assert named.code == "not-found"
    assert call(caller, "mnote.weknora.open_reference", sourcePath="notes.txt", **library.scope).code == "not-found"


def test_a_binding_narrows_and_never_widens(library: Library) -> None:
    hidden = KnowledgeBaseFactory(
        owner=library.people.alice, root=library.root, name="Hidden", default_tool_enabled=False
    )
    foreign = KnowledgeBaseFactory(name="Foreign")

    none = by_binding(library, "alice", knowledgeBaseIds=[hidden.pk, foreign.pk])
    assert none.scope().kb_ids == ()
    assert paths(call(none, "mnote.weknora.search", query=QUERY)) == set()

    broken = by_binding(library, "bob", knowledgeBaseIds="everything")
    assert broken.scope().kb_ids == ()


def test_a_binding_narrowed_to_a_source_sees_that_source_only(library: Library) -> None:
    only = library.document("notes.txt")
    caller = by_binding(library, "carol", sourceIds=[only.pk], toolSets=["evidence"])

    assert paths(call(caller, "mnote.weknora.search", query=QUERY)) == {"notes.txt"}
    listed = call(caller, "mnote.weknora.list_sources").body
    assert [each["sourcePath"] for each in listed["results"]] == ["notes.txt"]
    assert listed["knowledgeBases"][0]["counts"]["total"] == 1
    found = call(caller, "mnote.evidence.search", query=QUERY).body["results"]
    assert {each["source"]["resourcePath"] for each in found} == {"notes.txt"}
    assert call(caller, "mnote.weknora.open_reference", sourcePath="guide/zh.md", **library.scope).is_error


def test_the_older_tools_reach_no_further(library: Library) -> None:
    only = library.document("notes.txt")
    caller = by_binding(library, "carol", sourceIds=[only.pk], toolSets=["documents"])

    found = call(caller, "docs_search", query=QUERY).body["results"]
    other = [
        call(caller, "docs_read", documentId="local-md:guide~2Fzh.md"),
        call(caller, "docs_read", documentId="local-md:none.md"),
        call(caller, "docs_read", locator={"resourcePath": "guide/zh.md"}),
    ]

    assert {each["path"] for each in found} == {"notes.txt"}
    assert call(caller, "docs_read", documentId=found[0]["documentId"]).body["text"].startswith("Remember the thirty")
    assert {each.code for each in other} == {"evidence_not_found"}
    assert len({json.dumps(each.body) for each in other}) == 1


def test_a_binding_reaches_no_other_workspace(library: Library) -> None:
    caller = by_binding(library, "carol")
    other = MembershipFactory(user=library.people.carol).workspace

    assert call(caller, "mnote.weknora.search", query=QUERY, workspaceId=other.pk).code == "not-found"


def test_a_token_of_a_binding_sees_nothing_that_came_later(library: Library) -> None:
    caller = by_binding(library, "alice")
    later = KnowledgeBaseFactory(owner=library.people.alice, root=library.root, name="Later")

    assert later.pk not in caller.scope().kb_ids
    assert caller.scope().kb_ids == (library.kb.pk,)


def test_an_api_token_limited_to_a_knowledge_base_sees_that_one(library: Library) -> None:
    other = KnowledgeBaseFactory(owner=library.people.alice, root=library.root, name="Other")

    caller = by_token(library.people, "alice", kb_ids=[other.pk])

    assert caller.scope().kb_ids == (other.pk,)
    assert paths(call(caller, "mnote.weknora.search", query=QUERY)) == set()


def test_a_grant_taken_back_counts_from_the_next_call(library: Library) -> None:
    caller = by_token(library.people, "carol")
    [first, *_] = call(caller, "mnote.weknora.search", query="director salary").body["results"]
    GrantFactory(root=library.root, user=library.people.carol, prefix="private", access=Access.NONE)

    assert call(caller, "mnote.weknora.open_reference", token=first["openReference"]).code == "not-found"
    assert "private/salary.md" not in paths(call(caller, "mnote.weknora.search", query="director salary"))


def test_an_account_closed_meanwhile_sees_nothing(library: Library) -> None:
    caller = by_token(library.people, "carol")
    users.deactivate(library.people.carol)

    assert call(caller, "mnote.weknora.search", query=QUERY, **library.scope).code == "not-found"


def test_tools_are_never_administrators(library: Library) -> None:
    library.people.alice.is_staff = True
    library.people.alice.save()
    token, secret = tokens.create_token(user=library.people.alice, name="t", scopes=["mcp", "admin:read"])

    body = call(callers.authenticate(secret), "mnote.weknora.search", query=QUERY, debug=True).body

    assert token.scopes == ["admin:read", "mcp"]
    assert "droppedForbidden" not in body
    assert "providerContent" not in body["results"][0]


# --- arguments and answers ------------------------------------------------------------------------------------------


WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, "nonFieldErrors"),
    ({"query": ""}, "query"),
    ({"query": 7}, "query"),
    ({"query": "x" * 10_001}, "query"),
    ({"query": "a\0b"}, "query"),
    ({"query": QUERY, "topK": 51}, "topK"),
    ({"query": QUERY, "topK": True}, "topK"),
    ({"query": QUERY, "mode": "all"}, "mode"),
    ({"query": QUERY, "tags": "one"}, "tags"),
    ({"query": QUERY, "sourcePaths": ["a"] * 1_001}, "sourcePaths"),
]


def test_wrong_arguments_are_named(people: People) -> None:
    caller = by_token(people, "carol")

    for arguments, place in WRONG:
        outcome = call(caller, "mnote.weknora.search", **arguments)
        assert outcome.code == "invalid", arguments
        assert place in outcome.body["error"]["errors"], arguments
        assert size_of(outcome.body) < 2_000


def test_unknown_arguments_are_ignored(library: Library) -> None:
    outcome = call(by_token(library.people, "carol"), "mnote.weknora.search", query=QUERY, hint="x", limit=3)

    assert "notes.txt" in paths(outcome)


def test_answers_are_never_longer_than_clients_show(library: Library) -> None:
    words = " ".join(f"thirty days notice number {number}" for number in range(200))
    library.add({f"long/{number}.md": f"# Part {number}\n\n{words} {number}\n" for number in range(30)})

    body = call(by_token(library.people, "carol"), "mnote.weknora.search", query=QUERY, topK=50).body

    assert size_of(body) <= MAX_BYTES
    assert body["isCut"] is True
    assert all(each["citationMarkdown"].endswith(")") and each["openReference"] for each in body["results"])
    assert len(body["results"]) >= 5


def test_answers_speak_the_language_of_the_person(library: Library) -> None:
    library.people.carol.language = "zh-hans"
    library.people.carol.save()

    [first, *_] = call(by_token(library.people, "carol"), "mnote.weknora.search", query="director").body["results"]

    assert "行" in first["citationLabel"]


# --- audit ----------------------------------------------------------------------------------------------------------


def test_a_call_leaves_one_row_without_the_question(library: Library) -> None:
    caller = by_binding(library, "carol")
    found = calls.perform(caller, "mnote.weknora.search", {"query": QUERY}, host_run_id="run_1")
    calls.perform(caller, "mnote.weknora.search", {"query": QUERY})
    calls.perform(caller, "mnote.weknora.search", {"query": 1})

    rows = list(ToolCall.objects.order_by("at", "id"))
    first = rows[0]
    assert (first.user, first.binding_id) == (library.people.carol, OpenHubBinding.objects.get().pk)
    assert (first.tool, first.outcome, first.host_run_id) == ("mnote.weknora.search", "succeeded", "run_1")
    assert (first.workspace_id, first.kb_ids) == (library.people.workspace.pk, [library.kb.pk])
    assert (first.result_count, first.agent_id) == (len(found.body["results"]), "openhub")
    assert first.argument_hash == rows[1].argument_hash != rows[2].argument_hash
    assert rows[2].outcome == "invalid"
    assert len(rows) == 3
    assert not any("thirty" in str(value) for row in ToolCall.objects.values() for value in row.values())


def test_the_scope_of_a_person_is_their_own(library: Library) -> None:
    root: Root = RootFactory()
    KnowledgeBaseFactory(root=root, owner=library.people.bob)
    scope = callers.of_person("bob").scope()

    assert scope.kb_ids == (library.kb.pk,)
    assert scope.principal(library.people.bob, token_name="x").kb_ids == {library.kb.pk}
    assert callers.of_person("mallory").scope().principal(library.people.mallory, token_name="x").kb_ids == {"none"}
    assert not Principal(user=library.people.bob, kb_ids=frozenset({"none"})).may_use_kb(library.kb.pk)
