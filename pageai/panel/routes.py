"""What the browser may ask OpenHub: an allow-list of method and path. Whatever is not in it does not exist.

The list follows OpenHub's AI routes. Of them are left out: the banner, the non-streaming query (it writes nothing and
breaks with a conversation), and the old answer route (it reports success and does nothing). Ids are limited to the
letters that OpenHub's ids have, and the path that is asked upstream is made anew from them: nothing that could mean
another path there ever gets that far.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Action(StrEnum):
    """What an allowed request does; the host decides by it what to check and who answers."""

    ME = "me"
    MODELS = "models"
    HEALTH = "health"
    PROMPT = "prompt"
    RECONNECT = "reconnect"
    ABORT = "abort"
    ANSWER = "answer"
    SESSIONS = "sessions"
    MESSAGES = "messages"
    IMAGE = "image"
    RETRY = "retry"
    UNDO = "undo"
    ARCHIVE = "archive"
    SKILLS = "skills"
    SKILL = "skill"
    SYNC_SKILLS = "sync_skills"
    MEMORY = "memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One allowed operation. `query` names the parameters that are passed on."""

    method: str
    path: str
    action: Action
    query: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """An allowed request and the ids in its path."""

    route: Route
    ids: Mapping[str, str] = field(default_factory=dict)

    @property
    def action(self) -> Action:
        return self.route.action

    @property
    def path(self) -> str:
        """The path to ask upstream, made anew from the pattern and the checked ids."""
        return self.route.path.format(**self.ids)


_IDS: dict[str, str] = {
    "session_id": r"ses_[A-Za-z0-9]{1,124}",
    "question_id": r"(?:que|toolu|call)_[A-Za-z0-9_-]{1,124}",
    "image_id": r"[0-9]{1,18}",
    "skill_name": r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}",
}

ROUTES: tuple[Route, ...] = (
    Route(method="GET", path="/api/auth/me", action=Action.ME),
    Route(method="GET", path="/api/models", action=Action.MODELS),
    Route(method="GET", path="/api/health", action=Action.HEALTH),
    Route(method="POST", path="/api/query/stream", action=Action.PROMPT),
    Route(method="GET", path="/api/query/stream/reconnect", action=Action.RECONNECT, query=frozenset({"session_id"})),
    Route(method="POST", path="/api/query/abort", action=Action.ABORT),
    Route(method="POST", path="/api/question/{question_id}/reply", action=Action.ANSWER),
    Route(method="GET", path="/api/sessions", action=Action.SESSIONS, query=frozenset({"page", "page_size"})),
    Route(method="GET", path="/api/sessions/{session_id}/messages", action=Action.MESSAGES),
    Route(method="GET", path="/api/images/{image_id}", action=Action.IMAGE),
    Route(method="POST", path="/api/sessions/{session_id}/retry", action=Action.RETRY),
    Route(method="DELETE", path="/api/sessions/{session_id}/messages/last-turn", action=Action.UNDO),
    Route(method="POST", path="/api/session/archive", action=Action.ARCHIVE),
    Route(method="GET", path="/api/skills", action=Action.SKILLS),
    Route(method="PUT", path="/api/skills/{skill_name}", action=Action.SKILL, query=frozenset({"enabled"})),
    Route(method="POST", path="/api/skills/sync", action=Action.SYNC_SKILLS),
    Route(method="GET", path="/api/memory", action=Action.MEMORY),
)

#: Parts of OpenHub that MNote replaces by a page of its own, by the first part of the API path.
REPLACED: Mapping[str, str] = {
    "auth": "home",
    "admin": "admin",
    "files": "files",
    "knowledge": "knowledge",
    "tasks": "activity",
    "notifications": "activity",
    "smart-entities": "home",
    "smart-entity-tasks": "home",
    "snapshots": "files",
}


def match(method: str, path: str) -> Match | None:
    """Find the allowed operation of a request; None when there is none. `path` is the decoded one, from "/api/" on."""
    for route, pattern in _PATTERNS:
        if route.method == method and (found := pattern.fullmatch(path)):
            return Match(route=route, ids=found.groupdict())
    return None


def is_id(kind: str, value: object) -> bool:
    """Say whether a value of a body or a query has the form of that kind of id."""
    return isinstance(value, str) and re.fullmatch(_IDS[kind], value) is not None


def _patterns() -> Iterator[tuple[Route, re.Pattern[str]]]:
    for route in ROUTES:
        yield route, re.compile(re.sub(r"\{(\w+)\}", lambda found: f"(?P<{found[1]}>{_IDS[found[1]]})", route.path))


_PATTERNS = tuple(_patterns())
