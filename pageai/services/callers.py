"""Who calls a tool, and with what scope: by a binding's token, an API token, or as one fixed person on this machine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mnote.exceptions import Forbidden, NotAuthenticated, NotFound
from mnote.models import TokenScope, User
from mnote.principals import Principal
from mnote.services import tokens
from pageai.models import OpenHubBinding
from pageai.selectors import tool_scopes
from pageai.services import binding_tokens
from pageai.tool_scopes import Limits, ToolScope


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """One proven caller. `principal` is the person as the proof lets them act, before the tool scope narrows it."""

    principal: Principal
    limits: Limits
    binding: OpenHubBinding | None = None

    @property
    def user(self) -> User:
        return self.principal.user

    def scope(self) -> ToolScope:
        """Compute what this caller's tools may see now."""
        workspace = self.binding.workspace if self.binding else None
        return tool_scopes.scope_of(self.principal, workspace=workspace, limits=self.limits)


def authenticate(secret: str) -> Caller:
    """Give the caller of a bearer token.

    Raises:
        NotAuthenticated: no such token, or it opens nothing now. Forbidden: an API token without the scope mcp.
    """
    if secret.startswith(binding_tokens.PREFIX):
        return _of_binding(secret)
    principal = tokens.authenticate(secret)
    if not principal.has_scope(TokenScope.MCP):
        raise Forbidden
    return Caller(principal=principal, limits=Limits(kb_ids=principal.kb_ids or None))


def of_person(username: str, *, kb_ids: Iterable[str] = ()) -> Caller:
    """Give the caller for a person of this machine, perhaps limited to some knowledge bases.

    Raises:
        NotFound: no such person. NotAuthenticated: the account is closed.
    """
    user, limited = session_of(username).user, frozenset(kb_ids)
    principal = Principal(user=user, token_name="stdio", scopes=frozenset({"mcp"}), kb_ids=limited)  # noqa: S106
    return Caller(principal=principal, limits=Limits(kb_ids=limited or None))


def session_of(username: str) -> Principal:
    """Give a person of this machine with all of their rights. Raises NotFound, NotAuthenticated."""
    user = User.objects.filter(username=username).first()
    if user is None:
        raise NotFound
    if not user.is_active:
        raise NotAuthenticated
    return Principal(user=user)


def _of_binding(secret: str) -> Caller:
    token = binding_tokens.authenticate(secret)
    binding = token.binding
    carried = Limits(
        kb_ids=frozenset(token.kb_ids), source_ids=frozenset(token.source_ids) if token.source_ids else None
    )
    return Caller(
        principal=Principal(user=binding.user, token_name=token.prefix, scopes=frozenset({"mcp"})),
        limits=tool_scopes.limits_of(binding).and_also(carried),
        binding=binding,
    )
