"""Who is asking: a signed-in person, or a token acting for one. Built once per request, passed down everywhere."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mnote.models import User


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """A person, perhaps through a token. `scopes` is None for a session (no narrowing); `kb_ids` and `source_ids` (of
    documents) empty means all."""

    user: User
    token_name: str = ""
    scopes: frozenset[str] | None = None
    kb_ids: frozenset[str] = field(default_factory=frozenset)
    source_ids: frozenset[str] = field(default_factory=frozenset)

    @property
    def is_administrator(self) -> bool:
        """Administrators inspect; a token needs admin:read for it."""
        return self.user.is_staff and (self.scopes is None or "admin:read" in self.scopes)

    def has_scope(self, scope: str) -> bool:
        return self.scopes is None or scope in self.scopes

    def may_use_kb(self, kb_id: str) -> bool:
        return not self.kb_ids or kb_id in self.kb_ids
