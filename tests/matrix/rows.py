"""What a row of the access table says: a route, a method, and who may."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

#: Who calls: the four people as sessions, nobody, and tokens of bob's that lack something.
PEOPLE = ("nobody", "mallory", "carol", "bob", "alice")
TOKENS = ("revoked", "expired", "closed account", "no scope", "read only", "other base")

#: Any answer that is neither a refusal nor a failure of ours.
MAY = "may"


class Rule(Enum):
    """Who may call a route; every value holds the answer to each of PEOPLE, then to each of TOKENS.

    Pages take no tokens: to them a token is nobody.
    """

    PUBLIC = (MAY,) * 5, (MAY,) * 6
    #: API for members; a token needs knowledge:read.
    READ = (401, 404, MAY, MAY, MAY), (401, 401, 401, 403, MAY, 404)
    #: A list of what the caller sees: strangers get an empty one.
    LIST = (401, MAY, MAY, MAY, MAY), (401, 401, 401, 403, MAY, MAY)
    #: API for members that names no knowledge base: a limited token sees the workspace, with nothing of other bases.
    READ_SCOPE = (401, 404, MAY, MAY, MAY), (401, 401, 401, 403, MAY, MAY)
    CURATE = (401, 404, 403, MAY, MAY), (401, 401, 401, 403, 403, 404)
    CURATE_SCOPE = (401, 404, 403, MAY, MAY), (401, 401, 401, 403, 403, MAY)
    MANAGE = (401, 404, 403, 403, MAY), (401, 401, 401, 403, 403, 404)
    MANAGE_SCOPE = (401, 404, 403, 403, MAY), (401, 401, 401, 403, 403, 403)
    #: Files may be written only with a grant, which nobody here has; bob's token of one base may write into none.
    WRITE_FILE = (401, 404, 403, 403, 403), (401, 401, 401, 403, 403, 403)
    #: API of one's own things, for every person and every token.
    OWN = (401, MAY, MAY, MAY, MAY), (401, 401, 401, MAY, MAY, MAY)
    #: One's own things that a token must not touch.
    OWN_SESSION = (401, MAY, MAY, MAY, MAY), (401, 401, 401, 403, 403, 403)
    #: Things of bob's that nobody else sees.
    BOBS_SESSION = (401, 404, 404, MAY, 404), (401, 401, 401, 403, 403, 403)
    PAGE = (302, MAY, MAY, MAY, MAY), (302,) * 6
    PAGE_READ = (302, 404, MAY, MAY, MAY), (302,) * 6
    PAGE_CURATE = (302, 404, 403, MAY, MAY), (302,) * 6
    PAGE_MANAGE = (302, 404, 403, 403, MAY), (302,) * 6
    PAGE_BOBS = (302, 404, 404, MAY, 404), (302,) * 6
    #: There is nothing for anybody who is no administrator.
    ADMIN = (302, 404, 404, 404, 404), (302,) * 6
    ADMIN_API = (401, 404, 404, 404, 404), (401, 401, 401, 404, 404, 404)

    @property
    def answers(self) -> dict[str, int | str]:
        people, tokens = self.value
        return dict(zip((*PEOPLE, *TOKENS), (*people, *tokens), strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One route and method. `url` fills its pattern for a world; `body` is JSON, or a form for pages."""

    pattern: str
    method: str
    rule: Rule
    url: Callable[[Any], str]
    body: Callable[[Any], Any] = lambda _: None
    form: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)
    but: Mapping[str, int | str] = field(default_factory=dict)
    #: The view reads the database on a connection of its own, so the test's rows must be committed.
    needs_commit: bool = False

    @property
    def answers(self) -> dict[str, int | str]:
        return {**self.rule.answers, **self.but}
