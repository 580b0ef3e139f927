"""What the tools of one caller may see (spec 8.1). Pure: the selectors compute it anew for every call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mnote.models import User
from mnote.principals import Principal

#: A principal with an empty limit may use every knowledge base, so an empty scope is written as a base that is none.
_NOTHING = frozenset({"none"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a binding or token narrows the scope to. None narrows nothing, an empty set leaves nothing."""

    kb_ids: frozenset[str] | None = None
    source_ids: frozenset[str] | None = None

    def and_also(self, other: Limits) -> Limits:
        """Both limits at once: it only gets narrower."""
        return Limits(kb_ids=_both(self.kb_ids, other.kb_ids), source_ids=_both(self.source_ids, other.source_ids))


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolScope:
    """Knowledge bases and, where narrowed, sources that a call may see; `source_ids` None means all of those bases."""

    user_id: int
    workspace_ids: tuple[str, ...]
    kb_ids: tuple[str, ...]
    source_ids: tuple[str, ...] | None = None

    def principal(self, user: User, *, token_name: str) -> Principal:
        """Return the person as the tools act for them: never an administrator, never beyond this scope."""
        return Principal(
            user=user,
            token_name=token_name,
            scopes=frozenset({"mcp", "knowledge:read"}),
            kb_ids=frozenset(self.kb_ids) or _NOTHING,
            source_ids=frozenset() if self.source_ids is None else frozenset(self.source_ids) or _NOTHING,
        )

    def as_json(self) -> dict[str, Any]:
        """Return it as `weknoraToolScope` of the bootstrap."""
        return {
            "mnoteUserId": str(self.user_id),
            "workspaceId": self.workspace_ids[0] if len(self.workspace_ids) == 1 else None,
            "knowledgeBaseIds": list(self.kb_ids),
            "sourceIds": None if self.source_ids is None else list(self.source_ids),
        }


def _both(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    if one is None or other is None:
        return other if one is None else one
    return one & other
