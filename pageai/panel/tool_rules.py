"""What an agent may do in a root, written as the permission rules of its session. opencode looks at them last, so no
file in the folder can widen them. They are a second fence: who may see a file at all is decided by the resolver.

A pattern is compared with the path below the worktree: the top of a git repository, else "/". Searching by name or
content cannot be limited to folders, and reading follows links to other ones; so files are only given to those who may
read the whole root. Others have MNote's own tools, which filter. A shell is given to nobody.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pageai.panel.opencode import Rule

_ALLOW, _ASK, _DENY = "allow", "ask", "deny"
_ALWAYS = ("question", "todowrite", "todoread", "skill")
_SEARCHING = ("glob", "grep", "list")
_SECRET_FILES = ("*.env", "*.env.*")
_WILD = frozenset("*?[]{}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What a person may do below a root: `default` and the access of each prefix, as "none", "read" or "write"."""

    default: str
    prefixes: Mapping[str, str] = field(default_factory=dict)

    @property
    def covers_the_root(self) -> bool:
        return self.default != "none" and "none" not in self.prefixes.values()

    @property
    def may_write_somewhere(self) -> bool:
        return "write" in {self.default, *self.prefixes.values()}


def rules_for(reach: Reach, *, root: str, worktree: str, mcp_server: str) -> tuple[Rule, ...]:
    """Return the rules of a session in `root`, most general first. `mcp_server` names the only tools of MNote that this
    session sees; those of other sessions in the same folder stay hidden."""
    return tuple(_rules(reach, root, worktree, mcp_server))


def _rules(reach: Reach, root: str, worktree: str, mcp_server: str) -> Iterator[Rule]:
    yield _rule("*", "*", _DENY)
    for name in _ALWAYS:
        yield _rule(name, "*", _ALLOW)
    yield _rule(f"{mcp_server}_*", "*", _ALLOW)
    if reach.covers_the_root:
        yield from _of_files(reach, root, worktree)


def _of_files(reach: Reach, root: str, worktree: str) -> Iterator[Rule]:
    for name in _SEARCHING:
        yield _rule(name, "*", _ALLOW)
    ordered = [("", reach.default), *sorted(reach.prefixes.items(), key=lambda each: each[0].count("/"))]
    for prefix, access in ordered:
        yield from _of_prefix(_below(root, prefix, worktree), access)
    for pattern in _SECRET_FILES:
        yield _rule("read", pattern, _DENY)
    if not reach.may_write_somewhere:  # denied altogether, a tool is not even offered
        yield _rule("edit", "*", _DENY)


def _of_prefix(path: str, access: str) -> Iterator[Rule]:
    reading = _ALLOW if access in {"read", "write"} else _DENY
    changing = _ASK if access == "write" else _DENY
    # A name with a wildcard in it would match more than itself: it may close, never open.
    is_wild = bool(_WILD & set(path))
    patterns = (path, f"{path}/*") if path else ("*",)
    for pattern in patterns:
        yield _rule("read", pattern, _DENY if is_wild else reading)
        yield _rule("edit", pattern, _DENY if is_wild else changing)


def _below(root: str, prefix: str, worktree: str) -> str:
    """Return a folder as patterns name it."""
    whole = f"{root.rstrip('/')}/{prefix}".rstrip("/")
    top = worktree.rstrip("/")
    return whole[len(top) :].strip("/") if whole == top or whole.startswith(f"{top}/") else whole.strip("/")


def _rule(permission: str, pattern: str, action: str) -> Rule:
    return Rule(permission=permission, pattern=pattern, action=action)
